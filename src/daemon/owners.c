/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/owners.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/host_internal.h"
#include "os/session_file.h"
#include "pawl/error.h"

/* Processes with a connection are looked at every so many ticks only: when they end, the connection
 * does, unless somebody else has a copy of its descriptor. */
enum { TICKS_BETWEEN_ALL = 10 };

struct owner {
    struct map_entry entry;
    struct list link;
    int64_t id;
    struct session_file file;
    int64_t silent_since_ms; /* 0: connected */
};

struct owners {
    struct host *host;
    struct map by_id;
    struct list all;
    bool silent_changed;
    int n_ticks;
    char dir[];
};

static struct owner *owner_find(const struct owners *o, int64_t id)
{
    struct map_entry *e = map_first(&o->by_id, hash_u64((uint64_t)id));

    while (e != NULL && container_of(e, struct owner, entry)->id != id) {
        e = map_next(e);
    }
    return e == NULL ? NULL : container_of(e, struct owner, entry);
}

static struct owner *owner_need(struct owners *o, int64_t id)
{
    struct owner *w = owner_find(o, id);

    if (w == NULL) {
        w = must_zalloc(sizeof(*w));
        w->id = id;
        map_insert(&o->by_id, &w->entry, hash_u64((uint64_t)id));
        list_push_back(&o->all, &w->link);
    }
    return w;
}

static void owner_set_silent(struct owners *o, struct owner *w, int64_t since_ms)
{
    if (w->silent_since_ms != since_ms) {
        w->silent_since_ms = since_ms;
        o->silent_changed = true;
    }
}

static void owner_forget(struct owners *o, struct owner *w)
{
    session_file_remove(o->dir, w->id);
    o->silent_changed = o->silent_changed || w->silent_since_ms != 0;
    map_remove(&o->by_id, &w->entry);
    list_remove(&w->link);
    free(w);
}

static struct session *session_of(const struct owners *o, int64_t id)
{
    return session_find(&member_server(o->host->member)->sessions, id);
}

/* ---- judging ---- */

static void set_time_left(struct owners *o, int64_t id, int64_t left_ms)
{
    host_step(o->host, &(struct member_input){.kind = MEMBER_SESSION_LEFT,
                                              .session_id = id,
                                              .left_ms = left_ms < 0 ? 0 : left_ms});
}

/* The client may have detached, or another process attached, since the file was read. */
static bool has_ended(struct owners *o, struct owner *w)
{
    if (w->file.detached_ms != 0 || process_look(&w->file.owner) != PROCESS_ENDED) {
        return false;
    }
    return session_file_read(o->dir, w->id, &w->file) != PAWL_OK ||
           (w->file.detached_ms == 0 && process_look(&w->file.owner) == PROCESS_ENDED);
}

static bool owner_judge(struct owners *o, struct owner *w)
{
    if (!has_ended(o, w)) {
        return false;
    }
    log_info("process %" PRId64 " has ended, and with it session 0x%" PRIx64, w->file.owner.pid,
             (uint64_t)w->id);
    set_time_left(o, w->id, 0);
    return true;
}

/* ---- the sessions found in the data ---- */

static int64_t listed_since(const struct silent_session *list, size_t n, int64_t id)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i].id == id) {
            return list[i].since_ms;
        }
    }
    return 0;
}

/* Since when it has been silent: as the host before noted it, or it was connected until now. */
static void owner_adopt(struct owners *o, const struct session *s,
                        const struct silent_session *list, size_t n)
{
    struct owner *w = owner_need(o, s->id);
    int64_t now = session_file_now_ms(), since = listed_since(list, n, s->id);

    if (session_file_read(o->dir, s->id, &w->file) != PAWL_OK) {
        w->file = (struct session_file){.owner.boot = "-"};
    }
    if (w->file.detached_ms != 0 && process_is_of_this_boot(&w->file.owner)) {
        since = w->file.detached_ms;
    }
    since = since == 0 || since > now ? now : since;
    owner_set_silent(o, w, since);
    if (!owner_judge(o, w)) {
        set_time_left(o, s->id, s->timeout_ms - (now - since));
    }
}

static void adopt_all(struct owners *o)
{
    struct session_table *t = &member_server(o->host->member)->sessions;
    struct silent_session *list;
    struct map_entry *e;
    size_t n;

    list = silent_file_read(o->dir, &n);
    map_for_each (e, &t->sessions) {
        owner_adopt(o, container_of(e, struct session, entry), list, n);
    }
    free(list);
}

static void remove_if_unknown(int64_t id, void *arg)
{
    struct owners *o = arg;

    if (session_of(o, id) == NULL) {
        session_file_remove(o->dir, id);
    }
}

/* ---- life ---- */

struct owners *owners_open(struct host *h, const char *dir)
{
    struct owners *o = must_zalloc(sizeof(*o) + strlen(dir) + 1);

    o->host = h;
    strcpy(o->dir, dir);
    map_init(&o->by_id);
    list_init(&o->all);
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        log_warn("%s cannot be made: a session whose process has ended lasts until its timeout",
                 dir);
    }
    session_file_each(dir, remove_if_unknown, o);
    adopt_all(o);
    owners_flush(o);
    return o;
}

void owners_close(struct owners *o)
{
    struct list *item;

    if (o == NULL) {
        return;
    }
    owners_flush(o);
    while ((item = list_pop_front(&o->all)) != NULL) {
        free(container_of(item, struct owner, link));
    }
    map_fini(&o->by_id);
    free(o);
}

/* The first connection of a session decides whose it is; later only the client's own word does. */
void owners_joined(struct owners *o, int64_t session_id, int64_t pid)
{
    struct owner *w = owner_need(o, session_id);
    int rc = session_file_read(o->dir, session_id, &w->file);

    if (rc != PAWL_OK) {
        w->file = (struct session_file){0};
        process_find(pid, &w->file.owner);
        rc = session_file_write(o->dir, session_id, &w->file);
    }
    if (rc != PAWL_OK) {
        log_limited(LOG_WARN, "%s cannot be written: %s", o->dir, pawl_strerror(rc));
    }
    owner_set_silent(o, w, 0);
}

void owners_left(struct owners *o, int64_t session_id)
{
    struct owner *w = owner_find(o, session_id);
    struct session *s = session_of(o, session_id);

    if (w != NULL && s != NULL && s->connection == NULL) {
        owner_set_silent(o, w, session_file_now_ms());
    }
}

void owners_tick(struct owners *o)
{
    bool all = o->n_ticks++ % TICKS_BETWEEN_ALL == 0;
    struct list *item, *next;

    for (item = o->all.next; item != &o->all; item = next) {
        struct owner *w = container_of(item, struct owner, link);
        struct session *s = session_of(o, w->id);

        next = item->next;
        if (s == NULL) {
            owner_forget(o, w);
        } else if (!s->closing && (all || w->silent_since_ms != 0)) {
            owner_judge(o, w);
        }
    }
}

void owners_flush(struct owners *o)
{
    struct silent_session *silent;
    struct list *item;
    size_t n = 0;
    int rc;

    if (!o->silent_changed) {
        return;
    }
    silent = must_alloc((o->by_id.count + 1) * sizeof(*silent));
    list_for_each (item, &o->all) {
        struct owner *w = container_of(item, struct owner, link);

        if (w->silent_since_ms != 0) {
            silent[n++] = (struct silent_session){w->id, w->silent_since_ms};
        }
    }
    rc = silent_file_write(o->dir, silent, n);
    if (rc != PAWL_OK) {
        log_limited(LOG_WARN, "%s/silent cannot be written: %s", o->dir, pawl_strerror(rc));
    }
    o->silent_changed = false;
    free(silent);
}
