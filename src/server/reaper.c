/* SPDX-License-Identifier: Apache-2.0 */
#include "server/reaper.h"

#include "base/assert.h"
#include "server/server.h"

enum { MINUTE_US = 60000000 };

void reaper_init(struct server *s)
{
    strbuf_init(&s->reaper.queue, STRBUF_NO_LIMIT);
    s->reaper.look_at_us = s->now_us + s->options.reap_interval_ms * 1000;
}

void reaper_fini(struct server *s)
{
    strbuf_fini(&s->reaper.queue);
}

bool reaper_is_due(const struct tree *tree, const struct stat_persisted *stat, int32_t n_children,
                   int64_t never_used_ms, int64_t wall_ms)
{
    int64_t age_ms = wall_ms - stat->mtime;

    if (n_children > 0) {
        return false;
    }
    switch (tree_owner_kind(tree, stat->ephemeral_owner)) {
    case OWNER_IS_TTL:
        return age_ms > tree_ttl(tree, stat->ephemeral_owner);
    case OWNER_IS_CONTAINER:
        return stat->cversion > 0 /* had a child once */ ||
               (never_used_ms != 0 && age_ms > never_used_ms);
    default:
        return false;
    }
}

static bool reaper_has_queue(const struct reaper *r)
{
    ASSERT(r->queue_at <= r->queue.len);
    return r->queue_at < r->queue.len;
}

static void reaper_look_at(struct server *s, znode_id id, struct strbuf *path)
{
    struct stat_persisted stat;

    tree_persisted(s->tree, id, &stat);
    if (reaper_is_due(s->tree, &stat, tree_n_children(s->tree, id), s->options.reap_never_used_ms,
                      s->wall_ms)) {
        strbuf_clear(path);
        tree_path(s->tree, id, path);
        jute_write_buffer(&s->reaper.queue, strbuf_bytes(path));
    }
}

static void reaper_collect(struct server *s)
{
    struct strbuf path;

    ASSERT(!reaper_has_queue(&s->reaper));
    strbuf_clear(&s->reaper.queue);
    s->reaper.queue_at = 0;
    s->reaper.next_us = s->now_us;
    strbuf_init(&path, STRBUF_NO_LIMIT);
    for (znode_id id = tree_first_reapable(s->tree); id != 0;
         id = tree_next_reapable(s->tree, id)) {
        reaper_look_at(s, id, &path);
    }
    strbuf_fini(&path);
}

static void reaper_submit_next(struct server *s)
{
    struct reaper *r = &s->reaper;
    struct jute_reader reader =
        jute_reader_of(bytes_of(r->queue.data + r->queue_at, r->queue.len - r->queue_at));
    struct request q = {.type = OP_DELETE_CONTAINER};

    q.path = jute_read_buffer(&reader);
    r->queue_at = (size_t)(reader.at - r->queue.data);
    server_submit_own(s, &q, 0);
}

void reaper_tick(struct server *s)
{
    int64_t per_minute = s->options.reap_per_minute > 0 ? s->options.reap_per_minute : 1;
    struct reaper *r = &s->reaper;

    if (s->now_us >= r->look_at_us && !reaper_has_queue(r)) {
        reaper_collect(s);
        r->look_at_us = s->now_us + s->options.reap_interval_ms * 1000;
    }
    while (reaper_has_queue(r) && r->next_us <= s->now_us) {
        reaper_submit_next(s);
        r->next_us += MINUTE_US / per_minute;
    }
    if (!reaper_has_queue(r) && r->queue.len > 0) {
        strbuf_clear(&r->queue);
        r->queue_at = 0;
        strbuf_trim(&r->queue, 0);
    }
}

int64_t reaper_next_us(const struct server *s)
{
    if (!role_leads(s->role)) {
        return INT64_MAX;
    }
    if (reaper_has_queue(&s->reaper)) {
        return s->reaper.next_us;
    }
    return tree_first_reapable(s->tree) == 0 ? INT64_MAX : s->reaper.look_at_us;
}
