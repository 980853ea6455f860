/* SPDX-License-Identifier: Apache-2.0 */
#include "server/read.h"

#include "base/assert.h"
#include "pawl/error.h"
#include "server/missed.h"
#include "store/acl_table.h"
#include "wire/path.h"
#include "wire/utf8.h"

static bool may(const struct server *s, struct connection *c, znode_id id, int32_t perms)
{
    return auth_allows(&c->identity, &s->options.auth, tree_acls(s->tree), tree_acl(s->tree, id),
                       perms);
}

static void write_stat(const struct server *s, znode_id id, struct strbuf *out)
{
    struct stat_record stat;

    tree_stat(s->tree, id, &stat);
    stat_write(out, &stat);
}

static void write_children(const struct server *s, znode_id id, struct strbuf *out)
{
    jute_write_int(out, tree_n_children(s->tree, id));
    for (znode_id c = tree_first_child(s->tree, id); c != 0; c = tree_next_sibling(s->tree, c)) {
        jute_write_buffer(out, tree_name(s->tree, c));
    }
}

/* Each of these appends the body of a success to `out`, or returns why there is none. */

static int read_exists(struct server *s, struct connection *c, const struct request *q,
                       struct strbuf *out)
{
    znode_id id;

    if (path_has_nul(q->path)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    id = tree_find(s->tree, q->path);
    if (id != 0 && !may(s, c, id, PERM_READ)) {
        return PAWL_ERR_NO_AUTH;
    }
    if (q->watch) {
        watch_add(&s->watches, c, q->path, WATCH_DATA);
    }
    if (id == 0) {
        return PAWL_ERR_NO_NODE;
    }
    namespaces_read(&s->stats.namespaces, q->path, 0);
    write_stat(s, id, out);
    return PAWL_OK;
}

/* The node at `path` if it is there and readable. */
static int find_readable(const struct server *s, struct connection *c, struct bytes path,
                         znode_id *out)
{
    znode_id id = tree_find(s->tree, path);

    if (id == 0) {
        return PAWL_ERR_NO_NODE;
    }
    if (!may(s, c, id, PERM_READ)) {
        return PAWL_ERR_NO_AUTH;
    }
    *out = id;
    return PAWL_OK;
}

static int read_data(struct server *s, struct connection *c, const struct request *q,
                     struct strbuf *out)
{
    znode_id id;
    int rc = find_readable(s, c, q->path, &id);

    if (rc != PAWL_OK) {
        return rc;
    }
    if (q->watch) {
        watch_add(&s->watches, c, q->path, WATCH_DATA);
    }
    namespaces_read(&s->stats.namespaces, q->path, tree_data(s->tree, id).len);
    jute_write_buffer(out, tree_data(s->tree, id));
    write_stat(s, id, out);
    return PAWL_OK;
}

static int read_children(struct server *s, struct connection *c, const struct request *q,
                         struct strbuf *out)
{
    znode_id id;
    int rc = find_readable(s, c, q->path, &id);
    size_t start;

    if (rc != PAWL_OK) {
        return rc;
    }
    if (q->watch) {
        watch_add(&s->watches, c, q->path, WATCH_CHILD);
    }
    start = out->len;
    write_children(s, id, out);
    namespaces_read(&s->stats.namespaces, q->path,
                    out->len - start - 4 * ((size_t)tree_n_children(s->tree, id) + 1));
    if (q->type == OP_GET_CHILDREN2) {
        write_stat(s, id, out);
    }
    return PAWL_OK;
}

/* What it costs to walk past a node, in the units of pipeline.c. */
enum { UNITS_PER_NODE = 16 };

/* The last count is kept: whoever asks again pays only after a change. */
static int64_t count_descendants(struct server *s, struct connection *c, znode_id id)
{
    struct descendants *d = &s->descendants;

    if (d->of != id || d->zxid != s->applied_zxid) {
        *d = (struct descendants){id, s->applied_zxid, tree_descendants(s->tree, id)};
        c->spent += UNITS_PER_NODE * d->n;
    }
    return d->n;
}

static int read_all_children_number(struct server *s, struct connection *c, const struct request *q,
                                    struct strbuf *out)
{
    znode_id id;
    int rc = find_readable(s, c, q->path, &id);

    if (rc == PAWL_OK) {
        /* Under its other name, "", the root counts itself. */
        jute_write_int(out, (int32_t)count_descendants(s, c, id) + (q->path.len == 0 ? 1 : 0));
    }
    return rc;
}

/* Without ADMIN the hashes of digest ids are not for the asker's eyes. */
static void write_acl(const struct server *s, znode_id id, bool redact, struct strbuf *out)
{
    struct bytes encoded = acl_table_get(tree_acls(s->tree), tree_acl(s->tree, id));
    struct jute_reader r = jute_reader_of(encoded);
    int32_t count = jute_read_count(&r);

    if (!redact) {
        strbuf_append_bytes(out, encoded);
        return;
    }
    jute_write_int(out, count);
    for (int32_t i = 0; i < count; i++) {
        struct acl_entry e = acl_entry_read(&r);

        jute_write_int(out, e.perms);
        jute_write_buffer(out, e.scheme);
        auth_write_redacted(out, &e);
    }
}

static int read_acl(struct server *s, struct connection *c, const struct request *q,
                    struct strbuf *out)
{
    znode_id id = tree_find(s->tree, q->path);

    if (id == 0) {
        return PAWL_ERR_NO_NODE;
    }
    if (!may(s, c, id, PERM_READ | PERM_ADMIN)) {
        return PAWL_ERR_NO_AUTH;
    }
    write_acl(s, id, !may(s, c, id, PERM_ADMIN), out);
    write_stat(s, id, out);
    return PAWL_OK;
}

static bool path_is_blank(struct bytes b)
{
    for (size_t i = 0; i < b.len; i++) {
        if (b.data[i] > ' ') {
            return false;
        }
    }
    return true;
}

static int read_ephemerals(struct server *s, struct connection *c, const struct request *q,
                           struct strbuf *out)
{
    bool all = path_is_blank(q->path) || bytes_equal_str(q->path, "/");
    size_t count_at = out->len;
    struct strbuf path;
    int32_t n = 0;

    jute_write_int(out, 0);
    strbuf_init(&path, STRBUF_NO_LIMIT);
    for (znode_id id = tree_first_ephemeral(s->tree, c->session_id); id != 0;
         id = tree_next_ephemeral(s->tree, id)) {
        strbuf_clear(&path);
        tree_path(s->tree, id, &path);
        c->spent += (int64_t)path.len;
        if (all || (path.len >= q->path.len && memcmp(path.data, q->path.data, q->path.len) == 0)) {
            jute_write_buffer(out, strbuf_bytes(&path));
            n++;
        }
    }
    strbuf_fini(&path);
    jute_patch_int(out, count_at, n);
    return PAWL_OK;
}

static int read_who_am_i(const struct connection *c, struct strbuf *out)
{
    size_t count_at = out->len;
    struct list *item;
    uint32_t n = 0;

    jute_write_int(out, 0);
    list_for_each (item, &c->identity.ids) {
        const struct auth_id *a = container_of(item, struct auth_id, link);

        if (n == c->identity.n_in_force) {
            break;
        }
        jute_write_str(out, a->scheme);
        jute_write_buffer(out, auth_user(a));
        n++;
    }
    jute_patch_int(out, count_at, (int32_t)n);
    return PAWL_OK;
}

/* ---- watches ---- */

enum { WATCHER_CHILDREN = 1, WATCHER_DATA, WATCHER_ANY, WATCHER_PERSISTENT, WATCHER_RECURSIVE };

static unsigned kinds_of(int32_t watcher_type)
{
    switch (watcher_type) {
    case WATCHER_CHILDREN:
        return WATCH_CHILD;
    case WATCHER_DATA:
        return WATCH_DATA;
    case WATCHER_ANY:
        return WATCH_ANY;
    case WATCHER_PERSISTENT:
        return WATCH_PERSISTENT;
    case WATCHER_RECURSIVE:
        return WATCH_RECURSIVE;
    default:
        return 0;
    }
}

static int remove_watches(struct server *s, struct connection *c, const struct request *q)
{
    unsigned kinds = kinds_of(q->watch_type);
    bool found;

    if (kinds == 0) {
        return PAWL_ERR_MARSHALLING;
    }
    found = q->type == OP_CHECK_WATCHES ? (watch_kinds(&s->watches, c, q->path) & kinds) != 0
                                        : watch_remove(&s->watches, c, q->path, kinds);
    return found ? PAWL_OK : PAWL_ERR_NO_WATCHER;
}

static int add_watch(struct server *s, struct connection *c, const struct request *q,
                     struct strbuf *out)
{
    if (q->watch_type != 0 && q->watch_type != 1) {
        return PAWL_ERR_MARSHALLING;
    }
    watch_add(&s->watches, c, q->path, q->watch_type == 0 ? WATCH_PERSISTENT : WATCH_RECURSIVE);
    jute_write_int(out, 0);
    return PAWL_OK;
}

/* What a one-shot watch missed while its client was away, or 0: arm the watch. */
static int32_t missed_once(const struct server *s, int list, struct bytes path, int64_t seen_zxid)
{
    znode_id id = tree_find(s->tree, path);
    struct stat_record stat;

    if (id == 0) {
        return list == 1 ? 0 : EVENT_DELETED;
    }
    tree_stat(s->tree, id, &stat);
    switch (list) {
    case 0:
        return stat.mzxid > seen_zxid ? EVENT_DATA_CHANGED : 0;
    case 1:
        return EVENT_CREATED;
    default:
        return stat.pzxid > seen_zxid ? EVENT_CHILDREN_CHANGED : 0;
    }
}

/* Events go out at once, hence before the reply. */
static void set_once(struct server *s, struct connection *c, int list, struct bytes path,
                     int64_t seen_zxid)
{
    static const enum watch_kind kinds[] = {WATCH_DATA, WATCH_DATA, WATCH_CHILD};
    int32_t event = missed_once(s, list, path, seen_zxid);

    if (event != 0) {
        event_write(&c->out, event, path, -1);
        c->stats.sent++;
        s->stats.packets_sent++;
    } else {
        watch_add(&s->watches, c, path, kinds[list]);
    }
}

enum { ONE_SHOT_LISTS = 3 };

static void set_to_stay(struct server *s, struct connection *c, int list, struct bytes path,
                        struct missed *what)
{
    bool recursive = list > ONE_SHOT_LISTS;

    if (!recursive && bytes_equal_str(path, MISSED_EVENTS)) {
        what->asked = true;
        return;
    }
    watch_add_again(&s->watches, c, path, recursive ? WATCH_RECURSIVE : WATCH_PERSISTENT,
                    what->round);
    what->recursive = what->recursive || recursive;
}

/* `what` gets what is to be told of those that stay. */
static int set_watches(struct server *s, struct connection *c, const struct request *q,
                       struct missed *what)
{
    for (int list = 0; list < q->n_watch_lists; list++) {
        struct jute_reader r = jute_reader_of(q->watches[list].elements);

        if (q->watches[list].count < 0) { /* what came before it stays done */
            return PAWL_ERR_MARSHALLING;
        }
        for (int32_t i = 0; i < q->watches[list].count; i++) {
            struct bytes path = jute_read_buffer(&r);

            if (bytes_is_null(path)) {
                return PAWL_ERR_MARSHALLING;
            }
            path = utf8_repaired(path, &s->repaired);
            if (list < ONE_SHOT_LISTS) {
                set_once(s, c, list, path, q->relative_zxid);
            } else {
                set_to_stay(s, c, list, path, what);
            }
        }
    }
    return PAWL_OK;
}

/* ---- multiRead ---- */

static void multi_read_result(struct strbuf *out, int32_t type, int err)
{
    struct multi_header h = {err == PAWL_OK ? type : -1, false, err};

    multi_header_write(out, &h);
}

static int multi_read_one(struct server *s, struct connection *c, struct request *q,
                          struct strbuf *out)
{
    q->watch = false;
    return q->type == OP_GET_DATA ? read_data(s, c, q, out) : read_children(s, c, q, out);
}

static int multi_read(struct server *s, struct connection *c, const struct request *q,
                      struct strbuf *out)
{
    struct jute_reader r = jute_reader_of(q->multi);
    struct request nested;
    enum multi_step step;
    size_t start = out->len, header_at;
    int rc;

    while ((step = multi_next(&r, true, &nested)) == MULTI_OP) {
        header_at = out->len;
        /* The same large node, again and again: a small request for more than there is memory. */
        if (bytes_is_null(nested.path) ||
            (int64_t)(header_at - start) > s->options.limits.output_limit_bytes) {
            return PAWL_ERR_MARSHALLING;
        }
        multi_read_result(out, nested.type, PAWL_OK);
        rc = multi_read_one(s, c, &nested, out);
        if (rc != PAWL_OK) {
            out->len = header_at;
            multi_read_result(out, nested.type, rc);
            jute_write_int(out, rc);
        }
    }
    multi_header_write(out, &(struct multi_header){-1, true, -1});
    return step == MULTI_END ? PAWL_OK : PAWL_ERR_MARSHALLING;
}

/* ---- foresight ---- */

enum { NAME_BYTES = 64, SHORT_ANSWER_BYTES = 128 };

/* The node as it will be when all that is in flight has been applied, as far as that is known. */
static void look_ahead(const struct server *s, struct bytes path, struct node_view *out)
{
    if (s->proposer != NULL) {
        pending_look(&s->proposer->prepare.pending, path, out);
    } else {
        node_view_of(s->tree, path, out);
    }
}

static int64_t expected_of_node(const struct server *s, const struct request *q)
{
    struct node_view view;

    if (bytes_is_null(q->path)) {
        return SHORT_ANSWER_BYTES;
    }
    look_ahead(s, q->path, &view);
    if (!view.exists) {
        return SHORT_ANSWER_BYTES;
    }
    switch (q->type) {
    case OP_GET_DATA:
        return SHORT_ANSWER_BYTES + view.data_len;
    case OP_GET_CHILDREN:
    case OP_GET_CHILDREN2:
        return SHORT_ANSWER_BYTES + (int64_t)NAME_BYTES * view.n_children;
    default:
        return SHORT_ANSWER_BYTES + (int64_t)acl_table_get(tree_acls(s->tree), view.acl).len;
    }
}

int64_t read_expected_bytes(const struct server *s, struct bytes frame)
{
    struct jute_reader r = jute_reader_of(frame);
    const struct op *op;
    struct request q;

    jute_read_int(&r);
    op = op_find(jute_read_int(&r));
    if (op == NULL || !request_read(op, &r, &q)) {
        return SHORT_ANSWER_BYTES;
    }
    switch (q.type) {
    case OP_GET_DATA:
    case OP_GET_CHILDREN:
    case OP_GET_CHILDREN2:
    case OP_GET_ACL:
        return expected_of_node(s, &q);
    case OP_GET_ALL_CHILDREN_NUMBER: /* short, but long to find out */
    case OP_GET_EPHEMERALS:
    case OP_MULTI_READ:
    case OP_SET_WATCHES2: /* it may take turns: no write is taken behind it before it is answered */
        return s->options.limits.output_pause_bytes + 1;
    default:
        return SHORT_ANSWER_BYTES + 2 * (int64_t)frame.len;
    }
}

/* ---- dispatch ---- */

static struct bytes sync_answer(const struct server *s, struct bytes path)
{
    bool taken = s->role->counts_requests && bytes_equal_str(path, SIGN_OF_LIFE);

    return taken ? bytes_str(SIGN_OF_LIFE_TAKEN) : path;
}

static int read_answer(struct server *s, struct connection *c, const struct request *q,
                       struct strbuf *out)
{
    switch (q->type) {
    case OP_PING:
        return PAWL_OK;
    case OP_MULTI_READ:
        return multi_read(s, c, q, out);
    case OP_SET_WATCHES:
    case OP_SET_WATCHES2:
        return PAWL_OK; /* done before the reply was begun */
    case OP_WHO_AM_I:
        return read_who_am_i(c, out);
    case OP_GET_EPHEMERALS:
        return read_ephemerals(s, c, q, out);
    case OP_SYNC:
        jute_write_buffer(out, sync_answer(s, q->path));
        return PAWL_OK;
    default:
        break;
    }
    if (bytes_is_null(q->path) && q->type != OP_REMOVE_WATCHES) {
        return PAWL_ERR_MARSHALLING;
    }
    switch (q->type) {
    case OP_EXISTS:
        return read_exists(s, c, q, out);
    case OP_GET_DATA:
        return read_data(s, c, q, out);
    case OP_GET_CHILDREN:
    case OP_GET_CHILDREN2:
        return read_children(s, c, q, out);
    case OP_GET_ACL:
        return read_acl(s, c, q, out);
    case OP_GET_ALL_CHILDREN_NUMBER:
        return read_all_children_number(s, c, q, out);
    case OP_CHECK_WATCHES:
    case OP_REMOVE_WATCHES:
        return remove_watches(s, c, q);
    case OP_ADD_WATCH:
        return add_watch(s, c, q, out);
    default:
        return PAWL_ERR_MARSHALLING; /* a write that could not be decoded */
    }
}

static bool sets_to_stay(const struct request *q)
{
    return q->n_watch_lists > ONE_SHOT_LISTS &&
           q->watches[ONE_SHOT_LISTS].count + q->watches[ONE_SHOT_LISTS + 1].count > 0;
}

static void read_error(struct connection *c, int32_t xid, int64_t zxid, int err)
{
    reply_end(&c->out, reply_begin(&c->out, xid, zxid, err));
}

/* False: it is answered as others are. */
static bool execute_watches(struct server *s, struct connection *c, int32_t xid,
                            const struct request *q)
{
    struct missed what = {.round = c->n_rounds + 1};
    int rc = set_watches(s, c, q, &what);

    if (rc != PAWL_OK) {
        read_error(c, xid, s->applied_zxid, rc);
        return true;
    }
    if (sets_to_stay(q)) {
        missed_begin(s, c, xid, q->relative_zxid, &what);
        return true;
    }
    return false;
}

void read_execute(struct server *s, struct connection *c, int32_t xid, int32_t type,
                  struct jute_reader body)
{
    const struct op *op = op_find(type);
    struct request q;
    size_t start;
    int rc;

    ASSERT(c->state == CONNECTION_SERVING);
    ASSERT(c->missed == NULL);
    ASSERT(c->session != NULL);
    if (op == NULL || op->kind == OP_KIND_INSIDE) {
        read_error(c, xid, -1, PAWL_ERR_UNIMPLEMENTED);
        connection_close_after_flush(s, c);
        return;
    }
    if (!request_read(op, &body, &q) || op->kind == OP_KIND_WRITE) {
        read_error(c, xid, s->applied_zxid, PAWL_ERR_MARSHALLING);
        return;
    }
    q.path = utf8_repaired(q.path, &s->repaired);
    if (q.n_watch_lists > 0 && execute_watches(s, c, xid, &q)) {
        return;
    }
    start = reply_begin(&c->out, type == OP_PING ? XID_PING : xid, s->applied_zxid, PAWL_OK);
    rc = read_answer(s, c, &q, &c->out);
    if (rc != PAWL_OK) {
        c->out.len = start;
        start = reply_begin(&c->out, xid, s->applied_zxid, rc);
    }
    reply_end(&c->out, start);
    ASSERT(!c->out.failed);
}
