/* SPDX-License-Identifier: Apache-2.0 */
#include "server/reaper.h"

void reaper_init(struct server *s)
{
    strbuf_init(&s->reap_queue, STRBUF_NO_LIMIT);
    s->reap_at_us = s->now_us + s->options.reap_interval_ms * 1000;
}

void reaper_fini(struct server *s)
{
    strbuf_fini(&s->reap_queue);
}

static bool is_due(const struct server *s, znode_id id)
{
    struct stat_persisted p;
    int64_t age_ms;

    if (tree_n_children(s->tree, id) > 0) {
        return false;
    }
    tree_persisted(s->tree, id, &p);
    age_ms = s->wall_ms - p.mtime;
    if (tree_owner_kind(s->tree, p.ephemeral_owner) == OWNER_IS_TTL) {
        return age_ms > tree_ttl(s->tree, p.ephemeral_owner);
    }
    if (p.cversion > 0) {
        return true; /* had a child once */
    }
    return s->options.reap_never_used_ms != 0 && age_ms > s->options.reap_never_used_ms;
}

static void collect(struct server *s)
{
    struct strbuf path;

    strbuf_clear(&s->reap_queue);
    s->reap_queue_at = 0;
    s->reap_next_us = s->now_us;
    strbuf_init(&path, STRBUF_NO_LIMIT);
    for (znode_id id = tree_first_reapable(s->tree); id != 0;
         id = tree_next_reapable(s->tree, id)) {
        if (is_due(s, id)) {
            strbuf_clear(&path);
            tree_path(s->tree, id, &path);
            jute_write_buffer(&s->reap_queue, strbuf_bytes(&path));
        }
    }
    strbuf_fini(&path);
}

static void submit_next(struct server *s)
{
    struct jute_reader r = jute_reader_of(
        bytes_of(s->reap_queue.data + s->reap_queue_at, s->reap_queue.len - s->reap_queue_at));
    struct request q = {.type = OP_DELETE_CONTAINER};

    q.path = jute_read_buffer(&r);
    s->reap_queue_at = (size_t)(r.at - s->reap_queue.data);
    server_submit(s, NULL, 0, &q, 0);
}

void reaper_tick(struct server *s)
{
    int64_t per_minute = s->options.reap_per_minute > 0 ? s->options.reap_per_minute : 1;

    if (s->now_us >= s->reap_at_us && s->reap_queue_at == s->reap_queue.len) {
        collect(s);
        s->reap_at_us = s->now_us + s->options.reap_interval_ms * 1000;
    }
    while (s->reap_queue_at < s->reap_queue.len && s->reap_next_us <= s->now_us) {
        submit_next(s);
        s->reap_next_us += 60000000 / per_minute;
    }
    if (s->reap_queue_at == s->reap_queue.len && s->reap_queue.len > 0) {
        strbuf_clear(&s->reap_queue);
        s->reap_queue_at = 0;
        strbuf_trim(&s->reap_queue, 0);
    }
}
