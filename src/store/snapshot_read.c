/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_read.c - parses straight from the blocks read. Children follow their parent or their
 * siblings nearly always, so the last parent is remembered and few paths are looked up. */
#include "store/snapshot_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "pawl/error.h"
#include "store/acl_table.h"
#include "store/snapshot_format.h"
#include "store/snapshot_source.h"
#include "store/txnlog_format.h"
#include "wire/records.h"

struct acl_number {
    int64_t in_file;
    uint32_t in_table; /* one use of it is held while loading */
};

struct loader {
    struct snapshot_source source;
    size_t limit;
    struct tree *tree;
    struct snapshot_info *info;
    struct acl_number *acls; /* by number in the file */
    size_t n_acls, acl_capacity;
    struct acl_number last_acl;
    uint32_t no_acl; /* for a number that is not in the file */
    bool has_no_acl;
    struct strbuf scratch;
    struct strbuf parent_path;
    znode_id parent;
};

/* ---- fields: each returns false, with the reason noted, when the file does not go on so ---- */

static bool refuse_snapshot(struct loader *l, const char *what)
{
    if (l->info->reason[0] == '\0') {
        snprintf(l->info->reason, sizeof(l->info->reason), "%s at offset %" PRIu64,
                 l->source.bad ? "the compressed data is broken" : what, source_offset(&l->source));
    }
    return false;
}

static const uint8_t *peek(struct loader *l, size_t len)
{
    const uint8_t *p = source_peek(&l->source, len);

    if (p == NULL) {
        refuse_snapshot(l, "the file is cut short");
    }
    return p;
}

static bool read_int(struct loader *l, int32_t *out)
{
    const uint8_t *p = peek(l, 4);

    if (p == NULL) {
        return false;
    }
    *out = (int32_t)load_u32(p);
    l->source.at += 4;
    return true;
}

static bool read_long(struct loader *l, int64_t *out)
{
    const uint8_t *p = peek(l, 8);

    if (p == NULL) {
        return false;
    }
    *out = (int64_t)load_u64(p);
    l->source.at += 8;
    return true;
}

static bool check_length(struct loader *l, int32_t len)
{
    return (len >= 0 && (size_t)len <= l->limit) || refuse_snapshot(l, "impossible length");
}

/* ---- head ---- */

static bool read_header(struct loader *l)
{
    int32_t magic, version;
    int64_t dbid;

    if (!read_int(l, &magic) || !read_int(l, &version) || !read_long(l, &dbid)) {
        return false;
    }
    return (uint32_t)magic == SNAPSHOT_MAGIC || refuse_snapshot(l, "this is not a snapshot");
}

static bool read_sessions(struct loader *l)
{
    int32_t count, timeout_ms;
    int64_t id;

    if (!read_int(l, &count)) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        if (!read_long(l, &id) || !read_int(l, &timeout_ms)) {
            return false;
        }
        tree_session_put(l->tree, id, timeout_ms);
    }
    return true;
}

/* Copies a string of the file into the scratch, length included. */
static bool copy_string(struct loader *l)
{
    const uint8_t *p = peek(l, 4);
    int32_t len;

    if (p == NULL) {
        return false;
    }
    len = (int32_t)load_u32(p);
    len = len == -1 ? 0 : len;
    if (!check_length(l, len) || (p = peek(l, 4 + (size_t)len)) == NULL) {
        return false;
    }
    strbuf_append(&l->scratch, p, 4 + (size_t)len);
    l->source.at += 4 + len;
    return true;
}

/* A vector of ACLs, as it stands, into the scratch. */
static bool copy_acl_list(struct loader *l)
{
    int32_t count, perms;

    strbuf_clear(&l->scratch);
    if (!read_int(l, &count)) {
        return false;
    }
    jute_write_int(&l->scratch, count);
    for (int32_t i = 0; i < count; i++) {
        if (!read_int(l, &perms)) {
            return false;
        }
        jute_write_int(&l->scratch, perms);
        if (!copy_string(l) || !copy_string(l)) {
            return false;
        }
        if (l->scratch.failed) {
            return refuse_snapshot(l, "an ACL is too long");
        }
    }
    return true;
}

static int compare_acls(const void *a, const void *b)
{
    const struct acl_number *x = a, *y = b;

    return x->in_file < y->in_file ? -1 : x->in_file > y->in_file;
}

static void note_acl(struct loader *l, int64_t number)
{
    if (l->n_acls == l->acl_capacity) {
        l->acl_capacity = l->acl_capacity * 2 + 16;
        l->acls = must_realloc(l->acls, l->acl_capacity * sizeof(*l->acls));
    }
    l->acls[l->n_acls++] = (struct acl_number){
        .in_file = number,
        .in_table = acl_table_take(tree_acls(l->tree), strbuf_bytes(&l->scratch)),
    };
}

static bool read_acls(struct loader *l)
{
    int32_t count;
    int64_t number;

    if (!read_int(l, &count)) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        if (!read_long(l, &number) || !copy_acl_list(l)) {
            return false;
        }
        note_acl(l, number);
    }
    if (l->n_acls > 1) {
        qsort(l->acls, l->n_acls, sizeof(*l->acls), compare_acls);
    }
    return true;
}

/* A fuzzy snapshot may name a list that was made after the lists were written; the log brings it
 * again. Until then nobody may do anything with the node: one entry that grants nothing, as an
 * empty list lets everybody in. (With ZooKeeper every access to such a node fails.) */
static uint32_t unknown_acl(struct loader *l)
{
    static const uint8_t nobody[] = "\0\0\0\1\0\0\0\0\0\0\0\5world\0\0\0\6anyone";

    if (!l->has_no_acl) {
        l->no_acl = acl_table_take(tree_acls(l->tree), bytes_of(nobody, sizeof(nobody) - 1));
        l->has_no_acl = true;
    }
    return l->no_acl;
}

static uint32_t acl_of(struct loader *l, int64_t number)
{
    struct acl_number key = {.in_file = number}, *found;

    if (number == SNAPSHOT_OPEN_ACL) {
        return ACL_OPEN;
    }
    if (number == l->last_acl.in_file) {
        return l->last_acl.in_table;
    }
    found =
        l->n_acls == 0 ? NULL : bsearch(&key, l->acls, l->n_acls, sizeof(*l->acls), compare_acls);
    key.in_table = found != NULL ? found->in_table : unknown_acl(l);
    l->last_acl = key;
    return key.in_table;
}

/* ---- nodes ---- */

struct node {
    struct bytes path, data;
    int64_t acl;
    struct stat_persisted stat;
};

static bool set_root(struct loader *l, const struct node *n)
{
    znode_id root = tree_find(l->tree, bytes_str("/"));

    if (n->stat.ephemeral_owner != 0) {
        return refuse_snapshot(l, "the root has an owner");
    }
    tree_replace_data(l->tree, root, n->data);
    tree_set_acl(l->tree, root, acl_of(l, n->acl), n->stat.aversion);
    tree_set_persisted(l->tree, root, &n->stat);
    return true;
}

static znode_id find_parent(struct loader *l, struct bytes path)
{
    if (l->parent == 0 || !bytes_equal(path, strbuf_bytes(&l->parent_path))) {
        l->parent = tree_find(l->tree, path);
        strbuf_clear(&l->parent_path);
        strbuf_append_bytes(&l->parent_path, path);
    }
    return l->parent;
}

static const uint8_t *last_slash_of_node(struct bytes path)
{
    const uint8_t *p = path.data + path.len;

    while (p > path.data && p[-1] != '/') {
        p--;
    }
    return p > path.data ? p - 1 : NULL;
}

static bool add_node(struct loader *l, const struct node *n)
{
    const uint8_t *slash = last_slash_of_node(n->path);
    size_t parent_len;
    struct bytes name;
    znode_id parent;
    uint32_t acl;

    if (n->path.len == 0) {
        return set_root(l, n);
    }
    if (slash == NULL || n->path.data[0] != '/') {
        return refuse_snapshot(l, "a path does not start with '/'");
    }
    parent_len = (size_t)(slash - n->path.data);
    name = bytes_of(slash + 1, n->path.len - parent_len - 1);
    parent = find_parent(l, bytes_of(n->path.data, parent_len));
    if (parent == 0) {
        return refuse_snapshot(l, "a node comes before its parent");
    }
    if (name.len == 0 || tree_child(l->tree, parent, name) != 0) {
        return refuse_snapshot(l, "a node comes twice or has no name");
    }
    acl = acl_of(l, n->acl);
    acl_table_ref(tree_acls(l->tree), acl);
    tree_add(l->tree, parent, name, n->data, acl, &n->stat);
    return true;
}

enum { NODE_FIXED_BYTES = 8 + STAT_PERSISTED_BYTES };

/* The node at the source's position, whose path has `path_len` bytes, in one piece. */
static bool read_snapshot_node(struct loader *l, size_t path_len, struct node *n)
{
    const uint8_t *p = peek(l, 4 + path_len + 4);
    struct jute_reader stat;
    size_t data_len;
    int32_t len;

    if (p == NULL) {
        return false;
    }
    len = (int32_t)load_u32(p + 4 + path_len);
    data_len = len == -1 ? 0 : (size_t)len;
    if (len != -1 && !check_length(l, len)) {
        return false;
    }
    p = peek(l, 8 + path_len + data_len + NODE_FIXED_BYTES);
    if (p == NULL) {
        return false;
    }
    n->path = bytes_of(p + 4, path_len);
    p += 8 + path_len;
    n->data = len == -1 ? BYTES_NULL : bytes_of(p, data_len);
    p += data_len;
    n->acl = (int64_t)load_u64(p);
    stat = jute_reader_of(bytes_of(p + 8, STAT_PERSISTED_BYTES));
    n->stat = stat_persisted_read(&stat);
    l->source.at = p + NODE_FIXED_BYTES;
    return true;
}

static bool read_nodes(struct loader *l)
{
    struct node n;
    const uint8_t *p;
    int32_t path_len;

    for (;;) {
        p = peek(l, 4);
        if (p == NULL) {
            return false;
        }
        path_len = (int32_t)load_u32(p);
        if (!check_length(l, path_len)) {
            return false;
        }
        if (path_len == 1) {
            p = peek(l, 5);
            if (p != NULL && p[4] == '/') {
                l->source.at += 5;
                return true;
            }
        }
        if (!read_snapshot_node(l, (size_t)path_len, &n) || !add_node(l, &n)) {
            return false;
        }
        l->info->n_nodes++;
    }
}

/* ---- tail ---- */

static bool read_seal(struct loader *l)
{
    uint32_t sum = source_sum(&l->source);
    int64_t stored;

    if (!read_long(l, &stored)) {
        return false;
    }
    strbuf_clear(&l->scratch);
    if (!copy_string(l)) {
        return false;
    }
    return (uint64_t)stored == sum || refuse_snapshot(l, "the checksum does not match");
}

/* Early 3.6 wrote a string where the digest is now. */
static bool read_digest(struct loader *l)
{
    int32_t version;
    int64_t digest = 0;

    if (!read_long(l, &l->info->digest_zxid) || !read_int(l, &version)) {
        return false;
    }
    if (version < SNAPSHOT_DIGEST_VERSION) {
        strbuf_clear(&l->scratch);
        return copy_string(l);
    }
    if (!read_long(l, &digest)) {
        return false;
    }
    l->info->digest = (uint64_t)digest;
    l->info->has_digest = version == SNAPSHOT_DIGEST_VERSION && l->info->digest_zxid > 0;
    return true;
}

static bool read_tail(struct loader *l)
{
    if (!read_seal(l)) {
        return false;
    }
    if (source_peek(&l->source, 1) == NULL && !l->source.bad) {
        return true; /* 3.5 and older end here */
    }
    if (!read_digest(l) || !read_seal(l)) {
        return false;
    }
    if (source_peek(&l->source, 8 + 8 + 4) == NULL && !l->source.bad) {
        return true; /* 3.6 to 3.8 end here */
    }
    return read_long(l, &l->info->last_zxid) && read_seal(l);
}

/* ---- public ---- */

static void loader_fini(struct loader *l)
{
    for (size_t i = 0; i < l->n_acls; i++) {
        acl_table_release(tree_acls(l->tree), l->acls[i].in_table);
    }
    if (l->has_no_acl) {
        acl_table_release(tree_acls(l->tree), l->no_acl);
    }
    free(l->acls);
    strbuf_fini(&l->scratch);
    strbuf_fini(&l->parent_path);
    source_fini(&l->source);
}

int snapshot_load(struct disk *disk, const char *path, const struct snapshot_read_options *options,
                  struct tree **out, struct snapshot_info *info)
{
    struct loader l = {.info = info, .last_acl.in_file = SNAPSHOT_OPEN_ACL};
    struct disk_file *file;
    bool whole;
    int rc = disk_open(disk, path, DISK_READ, &file);

    *info = (struct snapshot_info){.last_zxid = -1};
    if (rc != 0) {
        return rc;
    }
    l.limit = options->limit_bytes != 0 ? options->limit_bytes : TXNLOG_DEFAULT_LIMIT;
    l.tree = tree_new(&options->tree);
    strbuf_init(&l.scratch, 4 * l.limit);
    strbuf_init(&l.parent_path, STRBUF_NO_LIMIT);
    source_init(&l.source, file, snapshot_codec_of(path));
    whole =
        read_header(&l) && read_sessions(&l) && read_acls(&l) && read_nodes(&l) && read_tail(&l);
    info->bytes = source_offset(&l.source);
    rc = l.source.error != 0 ? l.source.error : whole ? 0 : PAWL_ERR_CORRUPT;
    loader_fini(&l);
    if (rc != 0) {
        tree_free(l.tree);
        return rc;
    }
    *out = l.tree;
    return 0;
}

static int read_ends(struct disk *disk, const char *path, uint8_t *head, uint8_t *tail,
                     uint64_t *size)
{
    struct disk_file *file;
    size_t n;
    int rc = disk_open(disk, path, DISK_READ, &file);

    if (rc != 0) {
        return rc;
    }
    memset(head, 0, 8);
    memset(tail, 0, 5);
    rc = disk_size(file, size);
    if (rc == 0) {
        rc = disk_read(file, 0, head, 8, &n);
    }
    if (rc == 0 && *size >= 5) {
        rc = disk_read(file, *size - 5, tail, 5, &n);
    }
    disk_close(file);
    return rc;
}

int snapshot_looks_whole(struct disk *disk, const char *path, bool *out)
{
    uint8_t head[8], tail[5];
    uint64_t size;
    int rc = read_ends(disk, path, head, tail, &size);

    if (rc != 0) {
        return rc;
    }
    switch (snapshot_codec_of(path)) {
    case SNAPSHOT_GZIP:
        *out = head[0] == 0x1f && head[1] == 0x8b;
        break;
    case SNAPSHOT_SNAPPY:
        *out = size >= SNAPPY_HEADER_BYTES && memcmp(head, SNAPPY_MAGIC, 8) == 0;
        break;
    default:
        *out = size >= 10 && memcmp(tail, "\0\0\0\1/", 5) == 0;
        break;
    }
    return 0;
}
