/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/config_change.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "pawl/error.h"

enum { TEXT_BYTES_MAX = 256 << 10 };

/* --- words --- */

/* Blanks around it do not count, as in Java's trim(). */
static char *trimmed(char *text)
{
    size_t len;

    while (*text != '\0' && (unsigned char)*text <= ' ') {
        text++;
    }
    len = strlen(text);
    while (len > 0 && (unsigned char)text[len - 1] <= ' ') {
        text[--len] = '\0';
    }
    return text;
}

/* The next word of a list, cut off; NULL: there is none. Empty ones are passed over. */
static char *next_word(char **rest, char separator)
{
    while (*rest != NULL) {
        char *word = *rest, *end = strchr(word, separator);

        if (end != NULL) {
            *end++ = '\0';
        }
        *rest = end;
        word = trimmed(word);
        if (*word != '\0') {
            return word;
        }
    }
    return NULL;
}

static bool has_nul(struct bytes text)
{
    return text.len > 0 && memchr(text.data, '\0', text.len) != NULL;
}

/* A number that cannot be read is no bad argument to Java, but a request that cannot be decoded. */
static int read_id(const char *text, int64_t *id, struct strbuf *why)
{
    if (!quorum_config_read_id(text, id)) {
        strbuf_printf(why, "\"%s\" is not the number of a server", text);
        return PAWL_ERR_MARSHALLING;
    }
    return PAWL_OK;
}

/* --- addresses that clash --- */

static bool is_any_host(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

struct place {
    const char *host;
    int port;
};

enum { PLACES_MAX = 2 * 16 + 1 };

/* Everywhere a member listens; an address that is any is another one on every machine. */
static size_t places_of(const struct quorum_member *m, struct place *out)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n_addresses && n + 3 <= PLACES_MAX; i++) {
        if (!is_any_host(m->address[i].host)) {
            out[n++] = (struct place){m->address[i].host, m->address[i].quorum_port};
            out[n++] = (struct place){m->address[i].host, m->address[i].election_port};
        }
    }
    if (m->client_host != NULL && !is_any_host(m->client_host)) {
        out[n++] = (struct place){m->client_host, m->client_port};
    }
    return n;
}

static int check_pair(const struct quorum_member *a, const struct quorum_member *b,
                      struct strbuf *why)
{
    struct place x[PLACES_MAX], y[PLACES_MAX];
    size_t nx = places_of(a, x), ny = places_of(b, y);

    for (size_t i = 0; i < nx * ny; i++) {
        const struct place *p = &x[i / ny], *q = &y[i % ny];

        if (p->port == q->port && strcmp(p->host, q->host) == 0) {
            strbuf_printf(why, "servers %" PRId64 " and %" PRId64 " are both to listen at %s:%d",
                          a->id, b->id, p->host, p->port);
            return PAWL_ERR_BAD_ARGUMENTS;
        }
    }
    return PAWL_OK;
}

static int check_addresses(const struct quorum_config *c, struct strbuf *why)
{
    int rc = PAWL_OK;

    for (size_t i = 0; rc == PAWL_OK && i < c->n_members; i++) {
        for (size_t k = i + 1; rc == PAWL_OK && k < c->n_members; k++) {
            rc = check_pair(&c->member[i], &c->member[k], why);
        }
    }
    return rc;
}

/* --- some leave, some join --- */

static int leave(struct quorum_config *c, char *list, struct strbuf *why)
{
    const char *word;
    int64_t id;
    int rc;

    while ((word = next_word(&list, ',')) != NULL) {
        rc = read_id(word, &id, why);
        if (rc != PAWL_OK) {
            return rc;
        }
        quorum_config_remove(c, id);
    }
    return PAWL_OK;
}

/* "server.5", or "5". */
static int id_of_key(const char *key, int64_t *id, struct strbuf *why)
{
    const char *dot = strrchr(key, '.');

    return read_id(dot == NULL ? key : dot + 1, id, why);
}

static int join_one(struct quorum_config *joiners, char *rest, bool several, struct strbuf *why)
{
    const char *key = next_word(&rest, '=');
    const char *value = next_word(&rest, '=');
    int64_t id;
    int rc;

    if (key == NULL || value == NULL || next_word(&rest, '=') != NULL) {
        strbuf_append_str(why, "Wrong format of server string");
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = id_of_key(key, &id, why);
    if (rc != PAWL_OK) {
        return rc;
    }
    if (id < 0) {
        strbuf_printf(why, "%" PRId64 " is not the number of a server", id);
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (!quorum_config_add_server(joiners, id, value, several, why)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (joiners->member[quorum_config_find(joiners, id)].client_host == NULL) {
        strbuf_append_str(
            why, "Wrong format of server string - each server should have 3 ports specified");
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return PAWL_OK;
}

/* They take the places of members with their ids. */
static int seat(struct quorum_config *c, struct quorum_config *joiners, struct strbuf *why)
{
    for (size_t i = 0; i < joiners->n_members; i++) {
        quorum_config_remove(c, joiners->member[i].id);
    }
    if (c->n_members + joiners->n_members > QUORUM_MEMBERS_MAX) {
        strbuf_printf(why, "an ensemble has at most %d members", (int)QUORUM_MEMBERS_MAX);
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    for (size_t i = 0; i < joiners->n_members; i++) {
        quorum_config_insert(c, &joiners->member[i]);
    }
    free(joiners->member);
    quorum_config_init(joiners);
    return PAWL_OK;
}

static int join(struct quorum_config *c, char *list, bool several, struct strbuf *why)
{
    struct quorum_config joiners;
    int rc = PAWL_OK;
    char *word;

    quorum_config_init(&joiners);
    while (rc == PAWL_OK && (word = next_word(&list, ',')) != NULL) {
        rc = join_one(&joiners, word, several, why);
    }
    if (rc == PAWL_OK) {
        rc = seat(c, &joiners, why);
    }
    quorum_config_fini(&joiners);
    return rc;
}

static int change_some(const struct quorum_config *from, const struct config_change *change,
                       struct quorum_config *out, struct strbuf *why)
{
    char *leaving = bytes_is_null(change->leaving) ? NULL : must_copy_string(change->leaving);
    char *joining = bytes_is_null(change->joining) ? NULL : must_copy_string(change->joining);
    int rc;

    quorum_config_copy(out, from);
    rc = leave(out, leaving, why);
    if (rc == PAWL_OK) {
        rc = join(out, joining, change->several_addresses, why);
    }
    free(leaving);
    free(joining);
    return rc;
}

static int change_by_parts(const struct quorum_config *from, const struct config_change *change,
                           struct quorum_config *out, struct strbuf *why)
{
    if (from->hierarchical) {
        strbuf_append_str(why, "Incremental reconfiguration requested but last configuration seen "
                               "has a non-majority quorum system");
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (has_nul(change->leaving) || has_nul(change->joining)) {
        strbuf_append_str(why, "there are bytes that no configuration has");
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return change_some(from, change, out, why);
}

/* --- all anew --- */

static int check_numbers_of_all(const struct quorum_config *c, size_t least_voters,
                                struct strbuf *why)
{
    bool observers = c->n_members > c->n_voters;

    /* Java's are not bad arguments, but exceptions of another kind. */
    if ((c->n_voters == 0 && (observers || least_voters == 1)) ||
        (c->n_voters == 1 && observers && least_voters > 1)) {
        strbuf_append_str(why, "Observers w/o quorum is an invalid configuration");
        return PAWL_ERR_MARSHALLING;
    }
    return PAWL_OK;
}

static int check_several(const struct quorum_config *c, bool several, struct strbuf *why)
{
    for (size_t i = 0; i < c->n_members && !several; i++) {
        if (c->member[i].n_addresses > 1) {
            strbuf_append_str(why, "Multiple address feature is disabled");
            return PAWL_ERR_BAD_ARGUMENTS;
        }
    }
    return PAWL_OK;
}

static int change_all(const struct config_change *change, struct quorum_config *out,
                      struct strbuf *why)
{
    char *text = must_alloc(change->members.len + 1);
    int rc;

    for (size_t i = 0; i < change->members.len; i++) {
        text[i] = (char)(change->members.data[i] == ',' ? '\n' : change->members.data[i]);
    }
    rc = quorum_config_read_any(out, bytes_of(text, change->members.len), why);
    free(text);
    if (rc == PAWL_OK) {
        rc = check_several(out, change->several_addresses, why);
    }
    return rc == PAWL_OK ? check_numbers_of_all(out, change->least_voters, why) : rc;
}

/* --- both --- */

static int check_voters(const struct quorum_config *c, size_t least, struct strbuf *why)
{
    if (c->n_voters < least) {
        strbuf_printf(why, "Reconfig failed - new configuration must include at least %zu %s",
                      least, least == 1 ? "follower" : "followers");
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return PAWL_OK;
}

/* It goes with every notification of an election, which takes no more than 512 KiB. */
static int check_size(const struct quorum_config *c, struct strbuf *why)
{
    struct strbuf text;
    size_t len;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    quorum_config_write(c, &text);
    len = text.len;
    strbuf_fini(&text);
    if (len > TEXT_BYTES_MAX) {
        strbuf_printf(why, "a list of members has at most %d bytes", (int)TEXT_BYTES_MAX);
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return PAWL_OK;
}

int quorum_config_change(const struct quorum_config *from, const struct config_change *change,
                         struct quorum_config *out, struct strbuf *why)
{
    int rc;

    ASSERT(why->len == 0);
    quorum_config_init(out);
    rc = bytes_is_null(change->members) ? change_by_parts(from, change, out, why)
                                        : change_all(change, out, why);
    if (rc == PAWL_OK) {
        rc = check_addresses(out, why);
    }
    if (rc == PAWL_OK) {
        rc = check_voters(out, change->least_voters, why);
    }
    if (rc == PAWL_OK) {
        rc = check_size(out, why);
    }
    if (rc != PAWL_OK) {
        quorum_config_fini(out);
        quorum_config_init(out);
        return rc;
    }
    out->version = change->version;
    return PAWL_OK;
}
