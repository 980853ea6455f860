/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_peer_queues.c - the verbs of the queues. Items are words. */
#include "recipe_peer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pawl/queue.h>

enum { MOST_ITEMS = 16, TAKE_SECONDS = 30 };

static enum pawl_queue_kind kind_of(const char *name)
{
    return strcmp(name, "id") == 0         ? PAWL_QUEUE_ID
           : strcmp(name, "priority") == 0 ? PAWL_QUEUE_PRIORITY
           : strcmp(name, "delay") == 0    ? PAWL_QUEUE_DELAY
                                           : PAWL_QUEUE_PLAIN;
}

static int64_t wall_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* KIND PATH KEY ITEM[,ITEM...]: the key is the id, the priority, or the milliseconds to wait. */
static int queue_put(struct actor *a, char **v, char *out)
{
    struct pawl_queue_options options = {.size = sizeof(options), .kind = kind_of(v[0])};
    struct pawl_bytes items[MOST_ITEMS];
    struct pawl_put put = {.size = sizeof(put), .items = items};
    struct pawl_queue *q = NULL;
    char *save = NULL;
    int rc;

    (void)out;
    for (char *w = strtok_r(v[3], ",", &save); w != NULL && put.n_items < MOST_ITEMS;
         w = strtok_r(NULL, ",", &save)) {
        items[put.n_items++] = (struct pawl_bytes){w, strlen(w)};
    }
    if (options.kind == PAWL_QUEUE_ID) {
        put.id = v[2];
    } else if (options.kind == PAWL_QUEUE_PRIORITY) {
        put.priority = atoi(v[2]);
    } else if (options.kind == PAWL_QUEUE_DELAY) {
        put.due_ms = wall_ms() + atoi(v[2]);
    }
    rc = pawl_queue_new(actor_client(a), v[1], &options, &q);
    if (rc == PAWL_OK) {
        rc = pawl_queue_put(q, &put, PATIENCE_MS);
    }
    pawl_queue_free(q);
    return rc;
}

/* ---- taking ---- */

struct taken {
    pthread_mutex_t lock;
    pthread_cond_t more;
    char *out;
    int n;
};

static int on_item(struct pawl_queue *q, const struct pawl_item *item, void *arg)
{
    struct taken *t = arg;
    size_t len;

    (void)q;
    pthread_mutex_lock(&t->lock);
    len = strlen(t->out);
    snprintf(t->out + len, ANSWER_BYTES - len, "%s%.*s", t->n > 0 ? " " : "", (int)item->data.len,
             (const char *)item->data.data);
    t->n++;
    pthread_cond_signal(&t->more);
    pthread_mutex_unlock(&t->lock);
    return 0;
}

/* KIND PATH N [LOCKS]: the next N items. */
static int queue_take(struct actor *a, char **v, char *out)
{
    struct taken taken = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, out, 0};
    struct pawl_queue_options options = {.size = sizeof(options),
                                         .kind = kind_of(v[0]),
                                         .consumer = on_item,
                                         .consumer_arg = &taken,
                                         .lock_path = v[3]};
    struct pawl_queue *q = NULL;
    struct timespec end;
    int rc = pawl_queue_new(actor_client(a), v[1], &options, &q), n;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += TAKE_SECONDS;
    pthread_mutex_lock(&taken.lock);
    while (rc == PAWL_OK && taken.n < atoi(v[2]) &&
           pthread_cond_timedwait(&taken.more, &taken.lock, &end) == 0) {
    }
    pthread_mutex_unlock(&taken.lock);
    pawl_queue_free(q);
    n = taken.n;
    if (rc == PAWL_OK && n < atoi(v[2])) {
        snprintf(out, ANSWER_BYTES, "only %d items in time", n);
        rc = PAWL_ERR_OPERATION_TIMEOUT;
    }
    return rc;
}

/* PATH ID */
static int queue_remove(struct actor *a, char **v, char *out)
{
    struct pawl_queue_options options = {.size = sizeof(options), .kind = PAWL_QUEUE_ID};
    struct pawl_queue *q = NULL;
    int n = 0, rc = pawl_queue_new(actor_client(a), v[0], &options, &q);

    if (rc == PAWL_OK) {
        rc = pawl_queue_remove(q, v[1], PATIENCE_MS, &n);
    }
    snprintf(out, ANSWER_BYTES, "%d", n);
    pawl_queue_free(q);
    return rc;
}

/* ---- the simple queue ---- */

static int simple_offer(struct actor *a, char **v, char *out)
{
    struct pawl_simple_queue *q = NULL;
    int rc = pawl_simple_queue_new(actor_client(a), v[0], &q);

    if (rc == PAWL_OK) {
        rc = pawl_simple_queue_offer(q, (struct pawl_bytes){v[1], strlen(v[1])});
    }
    pawl_simple_queue_free(q);
    return answer_yes_no(out, rc);
}

static int simple_take(struct actor *a, char **v, char *out)
{
    struct pawl_simple_queue *q = NULL;
    void *data = NULL;
    size_t len = 0;
    int rc = pawl_simple_queue_new(actor_client(a), v[0], &q);

    if (rc == PAWL_OK) {
        rc = pawl_simple_queue_take(q, atoi(v[1]), &data, &len);
    }
    if (rc == PAWL_OK) {
        snprintf(out, ANSWER_BYTES, "%.*s", (int)len, (const char *)data);
    }
    free(data);
    pawl_simple_queue_free(q);
    return rc;
}

const struct verb queue_verbs[] = {{"queue-put", queue_put},       {"queue-take", queue_take},
                                   {"queue-remove", queue_remove}, {"simple-offer", simple_offer},
                                   {"simple-take", simple_take},   {NULL, NULL}};
