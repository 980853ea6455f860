/* SPDX-License-Identifier: Apache-2.0 */
#include "store/quota.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/logging.h"
#include "base/map.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "wire/path.h"

#define QUOTA_ROOT  "/zookeeper/quota"
#define LIMITS_NAME "zookeeper_limits"
#define STATS_NAME  "zookeeper_stats"

/* A path with limits. */
struct quota_path {
    struct map_entry entry;
    uint32_t len;
    uint8_t path[];
};

struct quota {
    struct tree *tree;
    struct map paths;
};

/* ---- the text of limits and statistics: "count=C,bytes=B=;byteHardLimit=H;countHardLimit=H" ----
 */

enum { TRACK_COUNT, TRACK_BYTES, TRACK_COUNT_HARD, TRACK_BYTES_HARD, N_TRACKED };

static const char *const track_keys[N_TRACKED] = {"count", "bytes", "countHardLimit",
                                                  "byteHardLimit"};

struct track {
    int64_t value[N_TRACKED]; /* -1: unset */
};

static bool parse_quota_number(struct bytes text, int64_t *out)
{
    char digits[24];
    char *end;

    if (text.len == 0) {
        *out = -1;
        return true;
    }
    if (text.len >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, text.data, text.len);
    digits[text.len] = '\0';
    errno = 0;
    *out = strtoll(digits, &end, 10);
    return *end == '\0' && errno == 0 && strchr("+-0123456789", digits[0]) != NULL;
}

/* Anybody may have written any number into a statistics node: it wraps, as Java's do. */
static int64_t wrapping_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* One piece, "key=number" with whatever behind a second '='. */
static bool parse_piece(struct bytes piece, struct track *out)
{
    const uint8_t *equals = memchr(piece.data, '=', piece.len);
    struct bytes key, value;
    const uint8_t *second;
    int64_t number;

    if (equals == NULL) {
        return false;
    }
    key = bytes_of(piece.data, (size_t)(equals - piece.data));
    value = bytes_of(equals + 1, piece.len - key.len - 1);
    while (value.len > 0 && value.data[value.len - 1] == '=') { /* Java's split drops these */
        value.len--;
    }
    if (value.len == 0) {
        return false;
    }
    second = memchr(value.data, '=', value.len);
    if (second != NULL) {
        value.len = (size_t)(second - value.data);
    }
    if (!parse_quota_number(value, &number)) {
        return false;
    }
    for (int i = 0; i < N_TRACKED; i++) {
        if (bytes_equal_str(key, track_keys[i])) {
            out->value[i] = number;
        }
    }
    return true;
}

static bool track_parse(struct bytes text, struct track *out)
{
    size_t start = 0;

    *out = (struct track){{-1, -1, -1, -1}};
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.data[i] != ',' && text.data[i] != ';') {
            continue;
        }
        if (i > start && !parse_piece(bytes_of(text.data + start, i - start), out)) {
            return false;
        }
        start = i + 1;
    }
    return true;
}

static void track_print(const struct track *t, struct strbuf *out)
{
    strbuf_printf(out, "count=%" PRId64 ",bytes=%" PRId64, t->value[TRACK_COUNT],
                  t->value[TRACK_BYTES]);
    if (t->value[TRACK_BYTES_HARD] != -1 || t->value[TRACK_COUNT_HARD] != -1) {
        strbuf_append_str(out, "=");
    }
    if (t->value[TRACK_BYTES_HARD] != -1) {
        strbuf_printf(out, ";byteHardLimit=%" PRId64, t->value[TRACK_BYTES_HARD]);
    }
    if (t->value[TRACK_COUNT_HARD] != -1) {
        strbuf_printf(out, ";countHardLimit=%" PRId64, t->value[TRACK_COUNT_HARD]);
    }
}

/* ---- which paths have limits ---- */

static struct quota_path *find_path(const struct quota *q, struct bytes path, uint64_t hash)
{
    for (struct map_entry *e = map_first(&q->paths, hash); e != NULL; e = map_next(e)) {
        struct quota_path *p = container_of(e, struct quota_path, entry);

        if (bytes_equal(bytes_of(p->path, p->len), path)) {
            return p;
        }
    }
    return NULL;
}

static void add_path(struct quota *q, struct bytes path)
{
    uint64_t hash = hash_bytes(path.data, path.len, 0);
    struct quota_path *p;

    if (path.len <= 1 || find_path(q, path, hash) != NULL) {
        return;
    }
    p = must_zalloc(sizeof(*p) + path.len);
    p->len = (uint32_t)path.len;
    memcpy(p->path, path.data, path.len);
    map_insert(&q->paths, &p->entry, hash);
}

static void remove_path(struct quota *q, struct bytes path)
{
    struct quota_path *p = find_path(q, path, hash_bytes(path.data, path.len, 0));

    if (p != NULL) {
        map_remove(&q->paths, &p->entry);
        free(p);
    }
}

/* The deepest quota that `path` is under; a null view when there is none. */
static struct bytes deepest(const struct quota *q, struct bytes path)
{
    struct bytes found = BYTES_NULL;
    struct path_walk walk;
    struct bytes prefix;
    uint64_t hash;

    if (q->paths.count == 0) {
        return found;
    }
    path_walk_begin(&walk, path, 0);
    while (path_walk_next(&walk, &prefix, &hash)) {
        if (find_path(q, prefix, hash) != NULL) {
            found = prefix;
        }
    }
    return found;
}

static znode_id side_node(const struct quota *q, struct bytes path, const char *name)
{
    struct strbuf b;
    znode_id id;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    strbuf_append_str(&b, QUOTA_ROOT);
    strbuf_append_bytes(&b, path);
    strbuf_append_str(&b, "/");
    strbuf_append_str(&b, name);
    id = tree_find(q->tree, strbuf_bytes(&b));
    strbuf_fini(&b);
    return id;
}

static void store_stats(struct quota *q, znode_id id, const struct track *t)
{
    struct strbuf text;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    track_print(t, &text);
    tree_replace_data(q->tree, id, strbuf_bytes(&text));
    strbuf_fini(&text);
}

static void add_usage(struct quota *q, struct bytes path, int64_t bytes, int64_t count)
{
    struct bytes prefix = deepest(q, path);
    struct track stats;
    znode_id id;

    if (bytes_is_null(prefix)) {
        return;
    }
    id = side_node(q, prefix, STATS_NAME);
    if (id == 0 || !track_parse(tree_data(q->tree, id), &stats)) {
        log_limited(LOG_WARN,
                    "quota on %.*s has no usable zookeeper_stats node: its usage is not "
                    "counted",
                    (int)prefix.len, (const char *)prefix.data);
        return;
    }
    stats.value[TRACK_COUNT] = wrapping_sum(stats.value[TRACK_COUNT], count);
    stats.value[TRACK_BYTES] = wrapping_sum(stats.value[TRACK_BYTES], bytes);
    store_stats(q, id, &stats);
}

static void count_subtree(const struct quota *q, znode_id top, struct track *t)
{
    znode_id at = top;

    do {
        t->value[TRACK_COUNT]++;
        t->value[TRACK_BYTES] += (int64_t)tree_data(q->tree, at).len;
        at = tree_next_below(q->tree, top, at);
    } while (at != 0);
}

/* Computes the usage of `path` anew and stores it. */
static void recount(struct quota *q, struct bytes path)
{
    struct track t = {{0, 0, -1, -1}};
    znode_id stats = side_node(q, path, STATS_NAME);
    znode_id top = tree_find(q->tree, path);

    if (top != 0) {
        count_subtree(q, top, &t);
    }
    if (stats != 0) {
        store_stats(q, stats, &t);
    }
}

/* `path` is /zookeeper/quota<P>/<name>: true, with P. */
static bool is_side_node(struct bytes path, const char *name, struct bytes *out)
{
    struct bytes parent;

    if (!bytes_starts_with(path, QUOTA_ROOT "/") || !bytes_equal_str(path_name(path), name)) {
        return false;
    }
    parent = path_parent(path);
    *out = bytes_of(parent.data + strlen(QUOTA_ROOT), parent.len - strlen(QUOTA_ROOT));
    return true;
}

void quota_created(struct quota *q, struct bytes path, int64_t bytes)
{
    struct bytes limited;

    if (is_side_node(path, LIMITS_NAME, &limited)) {
        add_path(q, limited);
    } else if (is_side_node(path, STATS_NAME, &limited)) {
        recount(q, limited);
    }
    add_usage(q, path, bytes, 1);
}

void quota_deleted(struct quota *q, struct bytes path, int64_t bytes)
{
    struct bytes limited;

    if (is_side_node(path, LIMITS_NAME, &limited)) {
        remove_path(q, limited);
    }
    add_usage(q, path, -bytes, -1);
}

void quota_data_changed(struct quota *q, struct bytes path, int64_t bytes)
{
    add_usage(q, path, bytes, 0);
}

static int check_one(const struct track *limits, int hard, int soft, int64_t now)
{
    if (limits->value[hard] > -1) {
        return now > limits->value[hard] ? PAWL_ERR_QUOTA_EXCEEDED : PAWL_OK;
    }
    if (limits->value[soft] > -1 && now > limits->value[soft]) {
        log_limited(LOG_WARN, "quota exceeded: %s is %" PRId64 ", the soft limit is %" PRId64,
                    track_keys[soft], now, limits->value[soft]);
    }
    return PAWL_OK;
}

int quota_check(const struct quota *q, struct bytes path, int64_t bytes, int64_t count)
{
    struct bytes prefix = deepest(q, path);
    struct track limits, stats;
    znode_id limits_id, stats_id;
    int rc = PAWL_OK;

    if (bytes_is_null(prefix)) {
        return PAWL_OK;
    }
    limits_id = side_node(q, prefix, LIMITS_NAME);
    if (limits_id == 0) {
        return PAWL_OK;
    }
    if (!track_parse(tree_data(q->tree, limits_id), &limits)) {
        return PAWL_ERR_MARSHALLING;
    }
    stats_id = side_node(q, prefix, STATS_NAME);
    if (stats_id == 0) {
        return PAWL_OK;
    }
    if (!track_parse(tree_data(q->tree, stats_id), &stats)) {
        return PAWL_ERR_MARSHALLING;
    }
    if (count != 0) {
        rc = check_one(&limits, TRACK_COUNT_HARD, TRACK_COUNT,
                       wrapping_sum(stats.value[TRACK_COUNT], count));
    }
    if (rc == PAWL_OK && bytes != 0) {
        rc = check_one(&limits, TRACK_BYTES_HARD, TRACK_BYTES,
                       wrapping_sum(stats.value[TRACK_BYTES], bytes));
    }
    return rc;
}

static void load_below(struct quota *q, znode_id top)
{
    struct bytes limited;
    struct strbuf path;

    strbuf_init(&path, STRBUF_NO_LIMIT);
    for (znode_id at = tree_next_below(q->tree, top, top); at != 0;
         at = tree_next_below(q->tree, top, at)) {
        if (tree_n_children(q->tree, at) > 0 ||
            !bytes_equal_str(tree_name(q->tree, at), LIMITS_NAME)) {
            continue;
        }
        strbuf_clear(&path);
        tree_path(q->tree, at, &path);
        if (is_side_node(strbuf_bytes(&path), LIMITS_NAME, &limited)) {
            add_path(q, limited);
            recount(q, limited);
        }
    }
    strbuf_fini(&path);
}

struct quota *quota_new(struct tree *tree)
{
    struct quota *q = must_zalloc(sizeof(*q));
    znode_id top = tree_find(tree, bytes_str(QUOTA_ROOT));

    q->tree = tree;
    map_init(&q->paths);
    if (top != 0) {
        load_below(q, top);
    }
    return q;
}

void quota_free(struct quota *q)
{
    struct map_entry *e;
    size_t at = 0;

    if (q == NULL) {
        return;
    }
    while ((e = map_drain(&q->paths, &at)) != NULL) {
        free(container_of(e, struct quota_path, entry));
    }
    map_fini(&q->paths);
    free(q);
}

static int64_t first_set(int64_t hard, int64_t soft)
{
    return hard > -1 ? hard : soft;
}

static void quota_row_of(const struct quota *q, const struct quota_path *p, quota_row_fn fn,
                         void *arg)
{
    struct bytes path = bytes_of(p->path, p->len);
    znode_id limits_id = side_node(q, path, LIMITS_NAME);
    znode_id stats_id = side_node(q, path, STATS_NAME);
    struct track limits, stats;

    if (limits_id == 0 || stats_id == 0 || !track_parse(tree_data(q->tree, limits_id), &limits) ||
        !track_parse(tree_data(q->tree, stats_id), &stats)) {
        return;
    }
    fn(&(struct quota_row){path,
                           first_set(limits.value[TRACK_COUNT_HARD], limits.value[TRACK_COUNT]),
                           first_set(limits.value[TRACK_BYTES_HARD], limits.value[TRACK_BYTES]),
                           stats.value[TRACK_COUNT], stats.value[TRACK_BYTES]},
       arg);
}

static int quotas_by_path(const void *a, const void *b)
{
    const struct quota_path *x = *(struct quota_path *const *)a;
    const struct quota_path *y = *(struct quota_path *const *)b;

    return bytes_order(bytes_of(x->path, x->len), bytes_of(y->path, y->len));
}

void quota_each(const struct quota *q, quota_row_fn fn, void *arg)
{
    const struct quota_path **sorted = must_alloc((q->paths.count + 1) * sizeof(*sorted));
    struct map_entry *e;
    size_t n = 0;

    map_for_each (e, &q->paths) {
        sorted[n++] = container_of(e, struct quota_path, entry);
    }
    qsort(sorted, n, sizeof(*sorted), quotas_by_path);
    for (size_t i = 0; i < n; i++) {
        quota_row_of(q, sorted[i], fn, arg);
    }
    free(sorted);
}
