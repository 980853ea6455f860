/* SPDX-License-Identifier: Apache-2.0 */
/* rwlock.c - two locks in one queue, each with its marker; what makes them one is the rules. */
#include "pawl/rwlock.h"

#include <stdlib.h>
#include <string.h>

#include "client/prepare.h"
#include "client/take.h"
#include "recipes/lock/lock.h"

/* The markers have the same length, so that the order does not depend on them. */
static const char read_marker[] = "__READ__", write_marker[] = "__WRIT__";

struct pawl_rwlock {
    struct pawl_lock *reader, *writer;
};

/* The holder of the other half who is the same as `h`; NULL: there is none. */
static struct holder *other_half(const struct holder *h)
{
    struct pawl_rwlock *rw = h->lock->owner;

    return lock_holder(h->lock == rw->reader ? rw->writer : rw->reader, h->thread);
}

/* ---- reading ---- */

/* Ours, in the session that we have now: a read node may take its place. NULL: none. */
static struct holder *writing(const struct contender *reader)
{
    struct holder *w = other_half(container_of(reader, struct holder, contender));
    enum pawl_grant_state state = w == NULL ? PAWL_GRANT_NONE : w->contender.grant.state;
    bool alive = state == PAWL_GRANT_CERTAIN || state == PAWL_GRANT_IN_DOUBT;

    return alive && w->contender.grant.session_id == reader->r->e->core->session_id ? w : NULL;
}

static const char *write_name(const struct holder *w)
{
    return strrchr(w->contender.grant.path, '/') + 1;
}

/* With the token of its own node, which is younger than those of the writers who wait, the reader
 * would make theirs too old. */
static const char *place_of_writer(struct contender *reader, int64_t *token)
{
    struct holder *w = writing(reader);

    if (w == NULL) {
        return NULL;
    }
    *token = (int64_t)w->contender.grant.token;
    return contender_key(write_name(w), write_marker, NULL);
}

/* Only a listing that shows both nodes proves that no other writer got between them. */
static bool place_is_ours(struct contender *reader, const struct pawl_strings *names)
{
    struct holder *w = writing(reader);

    if (w == NULL) {
        return false;
    }
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(names->items[i], write_name(w)) == 0) {
            return true;
        }
    }
    grant_lose(&w->contender.grant); /* deleted by somebody else */
    return false;
}

static bool rwlock_is_writer(const char *name)
{
    return strstr(name, write_marker) != NULL;
}

/* The nearest writer ahead is the last to go. One in our own place is ourselves. */
static bool may_read(const struct contender *c, const struct pawl_strings *names, size_t own,
                     size_t *watch)
{
    bool free_to_read = true;

    for (size_t i = 0; i < own; i++) {
        if (rwlock_is_writer(names->items[i]) &&
            contender_before(c, names->items[i], names->items[own])) {
            *watch = i;
            free_to_read = false;
        }
    }
    return free_to_read;
}

static bool no_writer(const struct contender *c, const struct pawl_strings *names)
{
    if (writing(c) != NULL) {
        return true;
    }
    for (size_t i = 0; i < names->n; i++) {
        if (rwlock_is_writer(names->items[i])) {
            return false;
        }
    }
    return true;
}

static const struct contender_rule read_rule = {.holds = may_read,
                                                .is_free = no_writer,
                                                .place = place_of_writer,
                                                .place_is_ours = place_is_ours};

/* ---- writing ---- */

static int admit_writer(struct holder *h)
{
    struct holder *reader = other_half(h);

    if (reader == NULL || reader->depth == 0) {
        return 0;
    }
    return reader->contender.grant.state == PAWL_GRANT_LOST ? PAWL_ERR_LOST
                                                            : PAWL_ERR_WOULD_DEADLOCK;
}

/* ---- life ---- */

static int new_half(struct pawl_rwlock *rw, struct pawl_client *c, const char *path,
                    struct pawl_lock_options *o, const char *marker, struct pawl_lock **out)
{
    int rc;

    o->marker = marker;
    rc = lock_new(c, path, o, out);
    if (rc == 0) {
        (*out)->owner = rw;
        lock_set_rule(*out, marker == read_marker ? write_marker : read_marker,
                      marker == read_marker ? &read_rule : NULL);
    }
    return rc;
}

static int rwlock_fill(struct pawl_rwlock *rw, struct pawl_client *c, const char *path,
                       struct pawl_lock_options *o)
{
    int rc = new_half(rw, c, path, o, read_marker, &rw->reader);

    rc = rc != 0 ? rc : new_half(rw, c, path, o, write_marker, &rw->writer);
    if (rc == 0) {
        rw->writer->admit = admit_writer;
    }
    return rc;
}

int pawl_rwlock_new(struct pawl_client *c, const char *path,
                    const struct pawl_lock_options *options, struct pawl_rwlock **out)
{
    struct pawl_lock_options o = {.size = sizeof(o)};
    struct pawl_rwlock *rw;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (!take_is_good(options)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (options != NULL) {
        take_struct(&o, sizeof(o), options);
    }
    if (c == NULL || out == NULL || !prepare_is_good_path(path, false) || o.marker != NULL ||
        o.permits > 1 || o.driver != NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rw = calloc(1, sizeof(*rw));
    rc = rw == NULL ? PAWL_ERR_NO_MEMORY : rwlock_fill(rw, c, path, &o);
    if (rc != 0) {
        pawl_rwlock_free(rw);
        return rc;
    }
    *out = rw;
    return 0;
}

/* The reader first: only he looks at the other half in steps of his own. */
void pawl_rwlock_free(struct pawl_rwlock *rw)
{
    if (rw != NULL) {
        lock_free(rw->reader);
        lock_free(rw->writer);
        free(rw);
    }
}

struct pawl_lock *pawl_rwlock_reader(struct pawl_rwlock *rw)
{
    return rw == NULL ? NULL : rw->reader;
}

struct pawl_lock *pawl_rwlock_writer(struct pawl_rwlock *rw)
{
    return rw == NULL ? NULL : rw->writer;
}
