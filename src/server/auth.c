/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/logging.h"
#include "base/map.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "server/distinguished_name.h"
#include "store/acl_table.h"

/* ---- scheme ip: address or address/bits, compared after masking ---- */

struct address {
    uint8_t bytes[16];
    int len; /* 4 or 16 */
};

static bool parse_v4(const char *text, struct address *out)
{
    unsigned part;
    char *end;

    for (int i = 0; i < 4; i++) {
        if (!isdigit((unsigned char)*text)) {
            return false;
        }
        part = (unsigned)strtoul(text, &end, 10);
        if (part > 255 || end - text > 3 || *end != (i < 3 ? '.' : '\0')) {
            return false;
        }
        out->bytes[i] = (uint8_t)part;
        text = end + 1;
    }
    out->len = 4;
    return true;
}

/* One to four hex digits, and nothing else that strtoul would take. */
static bool parse_group(const char **text, uint16_t *out)
{
    char digits[5] = "";
    size_t n = 0;

    while (isxdigit((unsigned char)(*text)[n])) {
        if (n == 4) {
            return false;
        }
        digits[n] = (*text)[n];
        n++;
    }
    *out = (uint16_t)strtoul(digits, NULL, 16);
    *text += n;
    return n > 0;
}

/* Up to eight groups, one "::" allowed. */
static bool parse_v6(const char *text, struct address *out)
{
    uint16_t groups[8];
    int n = 0, gap = -1;

    if (text[0] == ':' && text[1] == ':') {
        gap = 0;
        text += 2;
    }
    while (*text != '\0' && *text != '%') {
        if (n == 8 || !parse_group(&text, &groups[n++])) {
            return false;
        }
        if (*text == ':' && text[1] == ':' && gap < 0) {
            gap = n;
            text += 2;
        } else if (*text == ':') {
            text++;
            if (*text == '\0') {
                return false;
            }
        } else if (*text != '\0' && *text != '%') {
            return false;
        }
    }
    if (gap < 0 ? n != 8 : n > 7) {
        return false;
    }
    memset(out->bytes, 0, sizeof(out->bytes));
    for (int i = 0; i < n; i++) {
        int at = gap >= 0 && i >= gap ? 8 - n + i : i;

        out->bytes[2 * at] = (uint8_t)(groups[i] >> 8);
        out->bytes[2 * at + 1] = (uint8_t)groups[i];
    }
    out->len = 16;
    return true;
}

static bool parse_address(const char *text, struct address *out)
{
    return strchr(text, ':') != NULL ? parse_v6(text, out) : parse_v4(text, out);
}

static bool parse_network(struct bytes text, struct address *out, int *bits)
{
    char copy[64];
    char *slash, *end;
    long n;

    if (text.len == 0 || text.len >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    slash = strchr(copy, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    if (!parse_address(copy, out)) {
        return false;
    }
    *bits = out->len * 8;
    if (slash != NULL) {
        n = strtol(slash + 1, &end, 10);
        if (!isdigit((unsigned char)slash[1]) || *end != '\0' || n > *bits) {
            return false;
        }
        *bits = (int)n;
    }
    return true;
}

static bool ip_is_valid(struct bytes id)
{
    struct address a;
    int bits;

    return parse_network(id, &a, &bits);
}

/* Everybody has one address, which is the first that was shown. */
static bool ip_matches(const struct identity *i, struct bytes wanted)
{
    struct address a, net;
    int bits;

    if (i->address == NULL || !parse_network(wanted, &net, &bits) ||
        !parse_address(i->address->id, &a) || a.len != net.len) {
        return false;
    }
    for (int bit = 0; bit < bits; bit++) {
        int mask = 0x80 >> bit % 8;

        if ((a.bytes[bit / 8] & mask) != (net.bytes[bit / 8] & mask)) {
            return false;
        }
    }
    return true;
}

/* ---- scheme digest: user:base64(hash(user:password)) ---- */

/* Two parts separated by ':'; as in Java, empty parts at the end do not count. */
static bool digest_is_valid(struct bytes id)
{
    size_t len = id.len;
    size_t n_parts = 1;

    while (len > 0 && id.data[len - 1] == ':') {
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        n_parts += id.data[i] == ':' ? 1 : 0;
    }
    return len > 0 && n_parts == 2;
}

/* Java writes SHA-256, OpenSSL SHA256. NULL: there is none of that name. */
static const EVP_MD *digest_algorithm(const char *name)
{
    const EVP_MD *md = EVP_get_digestbyname(name);
    char plain[32];
    size_t n = 0;

    if (md != NULL) {
        return md;
    }
    for (; *name != '\0' && n < sizeof(plain) - 1; name++) {
        if (*name != '-') {
            plain[n++] = *name;
        }
    }
    plain[n] = '\0';
    return EVP_get_digestbyname(plain);
}

bool auth_digest_is_known(const char *algorithm)
{
    return digest_algorithm(algorithm) != NULL;
}

/* "user:hash"; the caller's to free. NULL when the algorithm is not known. */
static char *digest_id(const char *algorithm, struct bytes auth)
{
    const EVP_MD *md = digest_algorithm(algorithm);
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned char text[2 * EVP_MAX_MD_SIZE];
    const uint8_t *colon = auth.len == 0 ? NULL : memchr(auth.data, ':', auth.len);
    size_t user_len = colon == NULL ? auth.len : (size_t)(colon - auth.data);
    unsigned hash_len = 0;
    struct strbuf id;

    if (md == NULL || EVP_Digest(auth.data, auth.len, hash, &hash_len, md, NULL) != 1) {
        return NULL;
    }
    EVP_EncodeBlock(text, hash, (int)hash_len);
    strbuf_init(&id, STRBUF_NO_LIMIT);
    strbuf_append(&id, auth.data, user_len);
    strbuf_append_str(&id, ":");
    strbuf_append_str(&id, (const char *)text);
    strbuf_cstr(&id);
    return (char *)id.data;
}

static int add_digest(struct identity *i, const struct auth_options *o, struct bytes auth)
{
    char *id;
    int rc;

    if (bytes_is_null(auth)) {
        return PAWL_ERR_AUTH_FAILED;
    }
    id = digest_id(o->digest_algorithm, auth);
    if (id == NULL) {
        log_limited(LOG_ERROR, "digest algorithm %s is not available: authentication refused",
                    o->digest_algorithm);
        return PAWL_ERR_AUTH_FAILED;
    }
    if (o->super_digest != NULL && bytes_equal_secret(bytes_str(id), bytes_str(o->super_digest))) {
        identity_add(i, "super", "");
    }
    rc = identity_add(i, "digest", id);
    free(id);
    return rc;
}

/* ---- scheme x509: the subject of the certificate that the client came with ---- */

static bool x509_matches(const struct identity *i, struct bytes wanted)
{
    return identity_has(i, "x509", wanted);
}

void auth_add_certificate(struct identity *i, const struct auth_options *o, const char *subject)
{
    if (o->x509_super != NULL && strcmp(subject, o->x509_super) == 0) {
        identity_add(i, "super", subject);
    }
    identity_add(i, "x509", subject); /* too long to be kept, it is nobody's */
}

/* There is nothing to show beyond what was seen when it came. */
static int add_x509(const struct identity *i)
{
    return identity_has_scheme(i, "x509") ? PAWL_OK : PAWL_ERR_AUTH_FAILED;
}

/* ---- scheme sasl: who has authenticated so ---- */

/* "service", "service/host@REALM" or "service@REALM". */
struct kerberos_name {
    struct bytes service, host, realm; /* null: there is none */
};

static bool parse_kerberos_name(struct bytes name, struct kerberos_name *out)
{
    const uint8_t *at = name.len == 0 ? NULL : memchr(name.data, '@', name.len);
    const uint8_t *slash;
    struct bytes first;

    *out = (struct kerberos_name){name, BYTES_NULL, BYTES_NULL};
    if (at == NULL) { /* then a '/' means nothing either */
        return true;
    }
    first = bytes_of(name.data, (size_t)(at - name.data));
    out->realm = bytes_of(at + 1, name.len - first.len - 1);
    slash = first.len == 0 ? NULL : memchr(first.data, '/', first.len);
    out->service = slash == NULL ? first : bytes_of(first.data, (size_t)(slash - first.data));
    if (slash != NULL) {
        out->host = bytes_of(slash + 1, first.len - out->service.len - 1);
    }
    return memchr(out->realm.data, '@', out->realm.len) == NULL &&
           memchr(out->realm.data, '/', out->realm.len) == NULL &&
           (out->host.len == 0 || memchr(out->host.data, '/', out->host.len) == NULL);
}

static bool sasl_is_valid(struct bytes id)
{
    struct kerberos_name name;

    return parse_kerberos_name(id, &name);
}

static bool sasl_matches(const struct identity *i, struct bytes wanted)
{
    return identity_has(i, "sasl", wanted) || identity_has(i, "sasl", bytes_str("super"));
}

/* The name as it stands in ACLs. Only those of our own realm are shortened: bob of another one is
 * another bob. */
static bool write_sasl_id(const struct auth_options *o, const char *name, struct strbuf *out)
{
    struct kerberos_name k;
    bool is_ours;

    if (!parse_kerberos_name(bytes_str(name), &k)) {
        return false;
    }
    is_ours = o->sasl_realm != NULL && bytes_equal_str(k.realm, o->sasl_realm);
    strbuf_append_bytes(out, k.service);
    if (!bytes_is_null(k.host) && !(is_ours && o->sasl_remove_host)) {
        strbuf_append_str(out, "/");
        strbuf_append_bytes(out, k.host);
    }
    if (!bytes_is_null(k.realm) && !(is_ours && o->sasl_remove_realm)) {
        strbuf_append_str(out, "@");
        strbuf_append_bytes(out, k.realm);
    }
    return true;
}

static bool is_sasl_super(const struct auth_options *o, const char *id)
{
    for (size_t i = 0; i < o->n_sasl_supers; i++) {
        if (strcmp(o->sasl_supers[i], id) == 0) {
            return true;
        }
    }
    return false;
}

int auth_add_sasl(struct identity *i, const struct auth_options *o, const char *name)
{
    int rc = PAWL_ERR_AUTH_FAILED;
    struct strbuf id;

    strbuf_init(&id, STRBUF_NO_LIMIT);
    if (write_sasl_id(o, name, &id)) {
        if (is_sasl_super(o, strbuf_cstr(&id))) {
            identity_add(i, "super", "");
        }
        rc = identity_add(i, "sasl", strbuf_cstr(&id));
    }
    strbuf_fini(&id);
    return rc;
}

/* ---- the table of schemes ---- */

struct scheme {
    const char *name;
    bool authenticated; /* its ids stand for `auth` in an ACL */
    bool (*is_valid)(struct bytes id);
    bool (*matches)(const struct identity *i, struct bytes wanted);
};

static const struct scheme schemes[] = {
    {"ip", false, ip_is_valid, ip_matches},
    {"digest", true, digest_is_valid, identity_has_digest},
    {"x509", true, distinguished_name_is_valid, x509_matches},
    {"sasl", true, sasl_is_valid, sasl_matches},
};

static bool scheme_is_on(const struct auth_options *o, const char *name)
{
    return strcmp(name, "digest") == 0 ? o->digest_enabled
           : strcmp(name, "x509") == 0 ? o->x509_enabled
           : strcmp(name, "sasl") == 0 ? o->sasl_enabled
                                       : true;
}

static const struct scheme *find_scheme(const struct auth_options *o, struct bytes name)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (bytes_equal_str(name, schemes[i].name)) {
            return scheme_is_on(o, schemes[i].name) ? &schemes[i] : NULL;
        }
    }
    return NULL;
}

bool auth_scheme_is_known(const char *scheme)
{
    const struct auth_options all = {
        .digest_enabled = true, .x509_enabled = true, .sasl_enabled = true};

    return find_scheme(&all, bytes_str(scheme)) != NULL;
}

int auth_add(struct identity *i, const struct auth_options *o, struct bytes scheme,
             struct bytes auth)
{
    const struct scheme *s = find_scheme(o, scheme);

    if (s == NULL) {
        return PAWL_ERR_AUTH_FAILED;
    }
    if (strcmp(s->name, "digest") == 0) {
        return add_digest(i, o, auth);
    }
    if (strcmp(s->name, "x509") == 0) {
        return add_x509(i);
    }
    if (strcmp(s->name, "sasl") == 0) {
        return PAWL_ERR_AUTH_FAILED; /* it has packets of its own */
    }
    ASSERT(i->address != NULL); /* that of a client was shown first: nothing to add */
    return PAWL_OK;
}

/* The names stand between commas, with blanks around them or not. */
static bool list_names(const char *list, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = list; *p != '\0';) {
        p += strspn(p, ", \t");
        if (strncmp(p, name, len) == 0 && strchr(", \t", p[len]) != NULL) {
            return true; /* strchr() finds the end of the string, too */
        }
        p += strcspn(p, ",");
    }
    return false;
}

bool auth_insists_on_sasl(const struct auth_options *o)
{
    return o->enforced_schemes != NULL && list_names(o->enforced_schemes, "sasl");
}

bool auth_is_sufficient(const struct identity *i, const struct auth_options *o)
{
    struct list *item;

    if (o->enforced_schemes == NULL) {
        return true;
    }
    list_for_each (item, &i->ids) {
        if (list_names(o->enforced_schemes, container_of(item, struct auth_id, link)->scheme)) {
            return true;
        }
    }
    return false;
}

/* ---- evaluation ---- */

static bool entry_matches(const struct identity *i, const struct auth_options *o,
                          const struct acl_entry *e)
{
    const struct scheme *s = find_scheme(o, e->scheme);

    if (s == NULL) {
        return false;
    }
    return s->matches(i, e->id) ||
           (o->sasl_any != NULL && s->matches == sasl_matches &&
            bytes_equal_str(e->id, o->sasl_any) && identity_has_scheme(i, "sasl"));
}

/* A list that fills a frame takes milliseconds to go through, and may be asked for with every few
 * bytes of a request: what came out for a long one is kept for a while. Numbers of lists are used
 * again, so the table's generation belongs to the key. */
enum { LONG_ACL_BYTES = 1024, N_MEMOS = 1024 };

struct acl_memo {
    uint64_t generation;
    uint32_t acl;
    uint32_t n_ids; /* 0: empty */
    int32_t perms;
};

/* What it costs to go through so many bytes of a list, in the units of pipeline.c. */
enum { UNITS_PER_ACL_BYTE = 16 };

static int32_t perms_in(struct identity *who, const struct auth_options *o, struct bytes encoded)
{
    struct jute_reader r = jute_reader_of(encoded);
    int32_t count = jute_read_count(&r);
    int32_t perms = 0;

    who->cost += UNITS_PER_ACL_BYTE * (int64_t)encoded.len;
    for (int32_t i = 0; i < count; i++) {
        struct acl_entry e = acl_entry_read(&r);

        if ((e.perms & ~perms) != 0 && entry_matches(who, o, &e)) {
            perms |= e.perms;
        }
    }
    return perms;
}

static int32_t perms_in_long(struct identity *who, const struct auth_options *o,
                             const struct acl_table *table, uint32_t acl)
{
    struct acl_memo *m;

    if (who->memo == NULL) {
        who->memo = must_zalloc(N_MEMOS * sizeof(*who->memo));
    }
    m = &who->memo[hash_u64(acl) % N_MEMOS]; /* nobody can choose two that meet */
    if (m->acl != acl || m->n_ids != who->n_in_force ||
        m->generation != acl_table_generation(table)) {
        *m = (struct acl_memo){acl_table_generation(table), acl, who->n_in_force,
                               perms_in(who, o, acl_table_get(table, acl))};
    }
    return m->perms;
}

bool auth_allows(struct identity *who, const struct auth_options *o, const struct acl_table *table,
                 uint32_t acl, int32_t perms)
{
    struct bytes encoded;

    if ((acl_table_world_perms(table, acl) & perms) != 0 || o->skip_acl ||
        identity_may_everything(who)) {
        return true;
    }
    encoded = acl_table_get(table, acl);
    if (encoded.len < 4 || (int32_t)load_u32(encoded.data) <= 0) {
        return acl_table_known(table, acl);
    }
    if (encoded.len >= LONG_ACL_BYTES) {
        return (perms_in_long(who, o, table, acl) & perms) != 0;
    }
    return (perms_in(who, o, encoded) & perms) != 0;
}

/* ---- ACLs of requests ---- */

/* `auth` is replaced by so many ids as there are: the product must not fill the memory. */
enum { MAX_ACL_BYTES = 4 << 20 };

struct seen {
    struct map_entry whole; /* by everything */
    struct map_entry kind;  /* by permissions and scheme */
    struct acl_entry acl;
};

static bool kinds_equal(const struct acl_entry *a, const struct acl_entry *b)
{
    return a->perms == b->perms && bytes_equal(a->scheme, b->scheme);
}

static bool acl_is_seen(const struct map *m, uint64_t hash, const struct acl_entry *e, bool whole)
{
    for (struct map_entry *i = map_first(m, hash); i != NULL; i = map_next(i)) {
        const struct acl_entry *earlier = whole ? &container_of(i, struct seen, whole)->acl
                                                : &container_of(i, struct seen, kind)->acl;

        if (kinds_equal(earlier, e) && (!whole || bytes_equal(earlier->id, e->id))) {
            return true;
        }
    }
    return false;
}

/* Sets repeated[i] for an entry that is there before. False: Java cannot compare a null id with an
 * earlier one, and then gives the whole request up. By hash, since a list may fill a frame. */
static bool find_repeated(const struct acl_list *acl, bool *repeated)
{
    struct seen *seen = must_alloc((size_t)acl->count * sizeof(*seen));
    struct jute_reader r = jute_reader_of(acl->elements);
    struct map wholes, kinds;
    bool comparable = true;

    map_init(&wholes);
    map_init(&kinds);
    for (int32_t i = 0; i < acl->count && comparable; i++) {
        struct acl_entry e = acl_entry_read(&r);
        uint64_t kind = hash_bytes(e.scheme.data, e.scheme.len, (uint32_t)e.perms);
        uint64_t whole = hash_bytes(e.id.data, e.id.len, kind);
        bool kind_known = acl_is_seen(&kinds, kind, &e, false);

        comparable = !bytes_is_null(e.id) || !kind_known;
        repeated[i] = acl_is_seen(&wholes, whole, &e, true);
        seen[i].acl = e;
        if (!repeated[i]) {
            map_insert(&wholes, &seen[i].whole, whole);
        }
        if (!kind_known) {
            map_insert(&kinds, &seen[i].kind, kind);
        }
    }
    map_fini(&wholes);
    map_fini(&kinds);
    free(seen);
    return comparable;
}

/* One entry per authenticated id. Returns how many. */
static int32_t expand_auth(struct identity *i, const struct auth_options *o, int32_t perms,
                           struct strbuf *out)
{
    struct list *item;
    int32_t n = 0;

    identity_open(i);
    list_for_each (item, &i->ids) {
        const struct auth_id *a = container_of(item, struct auth_id, link);
        const struct scheme *s = find_scheme(o, bytes_str(a->scheme));

        if (s != NULL && s->authenticated) {
            acl_entry_write(out,
                            &(struct acl_entry){perms, bytes_str(a->scheme), bytes_str(a->id)});
            n++;
        }
    }
    return n;
}

/* How many entries `e` became; 0 when it is not valid. A null id where one is looked at is a
 * request that cannot be decoded. */
static int fix_entry(struct identity *who, const struct auth_options *o, const struct acl_entry *e,
                     struct strbuf *out, int32_t *n)
{
    const struct scheme *s;

    if (bytes_is_null(e->scheme)) {
        return PAWL_ERR_INVALID_ACL;
    }
    if (bytes_equal_str(e->scheme, "auth")) {
        *n = expand_auth(who, o, e->perms, out);
        return *n > 0 ? PAWL_OK : PAWL_ERR_INVALID_ACL;
    }
    if (bytes_is_null(e->id)) {
        return PAWL_ERR_MARSHALLING;
    }
    if (bytes_equal_str(e->scheme, "world") && bytes_equal_str(e->id, "anyone")) {
        acl_entry_write(out, e);
        *n = 1;
        return PAWL_OK;
    }
    s = find_scheme(o, e->scheme);
    if (s == NULL || !s->is_valid(e->id)) {
        return PAWL_ERR_INVALID_ACL;
    }
    acl_entry_write(out, e);
    *n = 1;
    return PAWL_OK;
}

static int fix_entries(struct identity *who, const struct auth_options *o,
                       const struct acl_list *acl, const bool *repeated, struct strbuf *out)
{
    struct jute_reader r = jute_reader_of(acl->elements);
    size_t start = out->len;
    int32_t total = 0;

    jute_write_int(out, 0);
    for (int32_t i = 0; i < acl->count; i++) {
        struct acl_entry e = acl_entry_read(&r);
        int32_t n = 0;
        int rc;

        if (repeated[i]) {
            continue;
        }
        rc = fix_entry(who, o, &e, out, &n);
        if (rc != PAWL_OK) {
            return rc;
        }
        if (out->len - start > MAX_ACL_BYTES) {
            return PAWL_ERR_INVALID_ACL;
        }
        total += n;
    }
    jute_patch_int(out, start, total);
    return PAWL_OK;
}

int auth_fix_acl(struct identity *who, const struct auth_options *o, const struct acl_list *acl,
                 struct strbuf *out)
{
    bool one = false;
    bool *repeated;
    int rc;

    if (acl->count <= 0) {
        return PAWL_ERR_INVALID_ACL;
    }
    if (acl->count == 1) { /* nearly all of them */
        return fix_entries(who, o, acl, &one, out);
    }
    repeated = must_zalloc((size_t)acl->count * sizeof(*repeated));
    rc = find_repeated(acl, repeated) ? fix_entries(who, o, acl, repeated, out)
                                      : PAWL_ERR_MARSHALLING;
    free(repeated);
    return rc;
}

/* ---- showing ---- */

struct bytes auth_user(const struct auth_id *id)
{
    const char *colon;

    if (strcmp(id->scheme, "digest") == 0) {
        colon = strchr(id->id, ':');
        return bytes_of(id->id, colon == NULL ? strlen(id->id) : (size_t)(colon - id->id));
    }
    return auth_scheme_is_known(id->scheme) ? bytes_str(id->id) : bytes_str("");
}

void auth_write_redacted(struct strbuf *out, const struct acl_entry *e)
{
    struct bytes id = e->id;
    const uint8_t *colon;

    if (bytes_equal_str(e->scheme, "digest") && id.len > 0 &&
        (colon = memchr(id.data, ':', id.len)) != NULL) {
        size_t user_len = (size_t)(colon - id.data);

        jute_write_int(out, (int32_t)(user_len + 2));
        strbuf_append(out, id.data, user_len);
        strbuf_append_str(out, ":x");
        return;
    }
    jute_write_buffer(out, id);
}
