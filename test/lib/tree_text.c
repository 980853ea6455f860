/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/tree_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "store/acl_table.h"
#include "store/tree.h"

struct row {
    const struct tree *tree;
    znode_id id;
    char *path;
};

static int compare_rows(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->path, ((const struct row *)b)->path);
}

/* Every node, by path; the caller frees. */
static struct row *rows_of(const struct tree *t, size_t *count)
{
    struct row *rows = must_alloc((size_t)tree_count(t) * sizeof(*rows));
    struct strbuf path;
    size_t n = 0;

    for (znode_id id = 1; id < tree_walk_limit(t); id++) {
        if (tree_exists(t, id)) {
            strbuf_init(&path, STRBUF_NO_LIMIT);
            tree_path(t, id, &path);
            rows[n++] = (struct row){t, id, must_strdup(strbuf_cstr(&path))};
            strbuf_fini(&path);
        }
    }
    qsort(rows, n, sizeof(*rows), compare_rows);
    *count = n;
    return rows;
}

static void put_data(struct strbuf *out, struct bytes data)
{
    static const char digits[] = "0123456789abcdef";

    if (bytes_is_null(data)) {
        strbuf_append_str(out, "data=null");
        return;
    }
    strbuf_append_str(out, "data=hex:");
    for (size_t i = 0; i < data.len; i++) {
        strbuf_append(out, &digits[data.data[i] >> 4], 1);
        strbuf_append(out, &digits[data.data[i] & 15], 1);
    }
}

static void put_acl(struct strbuf *out, struct bytes encoded)
{
    struct jute_reader r = jute_reader_of(encoded);
    int32_t count = jute_read_count(&r);

    for (int32_t i = 0; i < count; i++) {
        struct acl_entry e = acl_entry_read(&r);

        strbuf_printf(out, "%s%d:%.*s:%.*s", i == 0 ? "" : ";", e.perms, (int)e.scheme.len,
                      (const char *)e.scheme.data, (int)e.id.len, (const char *)e.id.data);
    }
}

static void put_node(struct strbuf *out, const struct row *row)
{
    struct stat_record s;

    tree_stat(row->tree, row->id, &s);
    strbuf_printf(out, "path=%s\n  ", row->path);
    put_data(out, tree_data(row->tree, row->id));
    strbuf_append_str(out, "\n  acl=");
    put_acl(out, acl_table_get(tree_acls(row->tree), tree_acl(row->tree, row->id)));
    strbuf_printf(out,
                  "\n  czxid=0x%" PRIx64 " mzxid=0x%" PRIx64 " pzxid=0x%" PRIx64 " ctime=%" PRId64
                  " mtime=%" PRId64 " version=%d cversion=%d aversion=%d ephemeralOwner=0x%" PRIx64
                  " dataLength=%d numChildren=%d\n",
                  (uint64_t)s.czxid, (uint64_t)s.mzxid, (uint64_t)s.pzxid, s.ctime, s.mtime,
                  s.version, s.cversion, s.aversion, (uint64_t)s.ephemeral_owner, s.data_length,
                  s.n_children);
}

static void put_persisted(struct strbuf *out, const struct row *row)
{
    uint32_t acl = tree_acl(row->tree, row->id);
    struct stat_persisted s;

    tree_persisted(row->tree, row->id, &s);
    strbuf_printf(out, "node path=%s ", strcmp(row->path, "/") == 0 ? "\"\"" : row->path);
    put_data(out, tree_data(row->tree, row->id));
    strbuf_printf(out,
                  " aclId=%" PRId64 " czxid=0x%" PRIx64 " mzxid=0x%" PRIx64 " pzxid=0x%" PRIx64
                  " ctime=%" PRId64 " mtime=%" PRId64
                  " version=%d cversion=%d aversion=%d ephemeralOwner=0x%" PRIx64 "\n",
                  acl == ACL_OPEN ? -1 : (int64_t)acl, (uint64_t)s.czxid, (uint64_t)s.mzxid,
                  (uint64_t)s.pzxid, s.ctime, s.mtime, s.version, s.cversion, s.aversion,
                  (uint64_t)s.ephemeral_owner);
}

static void put_rows(const struct tree *t, struct strbuf *out,
                     void (*put)(struct strbuf *out, const struct row *row))
{
    size_t n;
    struct row *rows = rows_of(t, &n);

    for (size_t i = 0; i < n; i++) {
        put(out, &rows[i]);
        free(rows[i].path);
    }
    free(rows);
}

void tree_text(const struct tree *t, struct strbuf *out)
{
    put_rows(t, out, put_node);
}

struct session_row {
    int64_t id;
    int32_t timeout_ms;
};

struct session_rows {
    struct session_row *rows;
    size_t n;
};

static void note_session(int64_t id, int32_t timeout_ms, void *arg)
{
    struct session_rows *s = arg;

    s->rows[s->n++] = (struct session_row){id, timeout_ms};
}

static int compare_sessions(const void *a, const void *b)
{
    const struct session_row *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static void put_acl_row(uint32_t id, struct bytes encoded, void *arg)
{
    struct strbuf *out = arg;

    strbuf_printf(out, "acl id=%u list=", id);
    put_acl(out, encoded);
    strbuf_append_str(out, "\n");
}

void tree_text_persisted(const struct tree *t, struct strbuf *out)
{
    struct session_rows s = {must_alloc((tree_n_sessions(t) + 1) * sizeof(*s.rows)), 0};

    tree_each_session(t, note_session, &s);
    qsort(s.rows, s.n, sizeof(*s.rows), compare_sessions);
    for (size_t i = 0; i < s.n; i++) {
        strbuf_printf(out, "session=0x%" PRIx64 " timeout=%d\n", (uint64_t)s.rows[i].id,
                      s.rows[i].timeout_ms);
    }
    free(s.rows);
    acl_table_each(tree_acls(t), put_acl_row, out);
    put_rows(t, out, put_persisted);
}
