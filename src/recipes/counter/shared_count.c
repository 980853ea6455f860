/* SPDX-License-Identifier: Apache-2.0 */
/* shared_count.c - a shared value whose four bytes are a number, the highest byte first. */
#include <stdlib.h>

#include "recipes/counter/shared_value.h"

enum { COUNT_BYTES = 4 };

struct pawl_shared_count {
    struct pawl_shared_value *value;
    struct list listeners; /* struct count_listener; under the lock of the value */
};

struct count_listener {
    struct list link;
    struct pawl_shared_count *count;
    pawl_shared_count_fn fn;
    void *arg;
};

/* A `done` on its way; the count may have been freed when it is told. */
struct count_done {
    struct pawl_shared_count *count;
    pawl_shared_count_done_fn done;
    void *arg;
};

struct count_bytes {
    uint8_t b[COUNT_BYTES];
};

static struct count_bytes shared_count_encode(int32_t count)
{
    uint32_t n = (uint32_t)count;

    return (struct count_bytes){
        {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n}};
}

static bool decode(const struct pawl_versioned *value, struct pawl_versioned_count *out)
{
    const uint8_t *b = value->data.data;

    if (value->data.len < COUNT_BYTES) {
        return false;
    }
    *out = (struct pawl_versioned_count){
        .count =
            (int32_t)((uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]),
        .exists = value->exists,
        .zxid = value->zxid,
        .version = value->version};
    return true;
}

/* Who is told may remove himself, or free the count: nothing is looked at after that. */
static void shared_count_changed(struct pawl_shared_value *v, const struct pawl_versioned *value,
                                 void *arg)
{
    const struct count_listener *l = arg;
    struct pawl_versioned_count count;

    (void)v;
    if (decode(value, &count)) {
        l->fn(l->count, &count, l->arg);
    }
}

static void keep_listener(struct pawl_shared_count *s, struct count_listener *l, bool keep)
{
    if (recipe_look(&s->value->r) == 0) {
        if (keep) {
            list_push_back(&s->listeners, &l->link);
        } else {
            list_remove(&l->link);
        }
        recipe_looked(&s->value->r);
    }
}

/* It is kept first: it may run, and remove itself, at once. */
int pawl_shared_count_add_listener(struct pawl_shared_count *s, pawl_shared_count_fn fn, void *arg)
{
    struct count_listener *l;
    int rc;

    if (s == NULL || fn == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    l = malloc(sizeof(*l));
    if (l == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    *l = (struct count_listener){.count = s, .fn = fn, .arg = arg};
    list_init(&l->link);
    keep_listener(s, l, true);
    rc = pawl_shared_value_add_listener(s->value, shared_count_changed, l);
    if (rc != 0) {
        keep_listener(s, l, false);
        free(l);
    }
    return rc;
}

static struct count_listener *take_listener(struct pawl_shared_count *s, pawl_shared_count_fn fn,
                                            void *arg)
{
    struct list *item;

    list_for_each (item, &s->listeners) {
        struct count_listener *l = container_of(item, struct count_listener, link);

        if (l->fn == fn && l->arg == arg) {
            list_remove(&l->link);
            return l;
        }
    }
    return NULL;
}

void pawl_shared_count_remove_listener(struct pawl_shared_count *s, pawl_shared_count_fn fn,
                                       void *arg)
{
    struct count_listener *l;

    if (s == NULL || recipe_look(&s->value->r) != 0) {
        return;
    }
    l = take_listener(s, fn, arg);
    recipe_looked(&s->value->r);
    if (l != NULL) {
        pawl_shared_value_remove_listener(s->value, shared_count_changed, l);
        free(l);
    }
}

static void shared_count_told(struct pawl_shared_value *v, int err, void *arg)
{
    struct count_done d = *(struct count_done *)arg;

    (void)v;
    free(arg);
    if (d.done != NULL) {
        d.done(d.count, err, d.arg);
    }
}

static struct count_done *new_done(struct pawl_shared_count *s, pawl_shared_count_done_fn done,
                                   void *arg)
{
    struct count_done *d = malloc(sizeof(*d));

    if (d != NULL) {
        *d = (struct count_done){s, done, arg};
    }
    return d;
}

/* `rc` is what starting it came to: with an error nobody will be told. */
static int started(int rc, struct count_done *d)
{
    if (rc != 0) {
        free(d);
    }
    return rc;
}

int pawl_shared_count_new(struct pawl_client *c, const char *path, int32_t seed,
                          pawl_shared_count_fn listener, void *arg, struct pawl_shared_count **out)
{
    struct count_bytes bytes = shared_count_encode(seed);
    struct pawl_shared_count *s;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    s = malloc(sizeof(*s));
    if (s == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    *s = (struct pawl_shared_count){.value = NULL};
    list_init(&s->listeners);
    rc = pawl_shared_value_new(c, path, (struct pawl_bytes){bytes.b, COUNT_BYTES}, &s->value);
    if (rc == 0 && listener != NULL) {
        rc = pawl_shared_count_add_listener(s, listener, arg);
    }
    if (rc != 0) {
        pawl_shared_count_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void pawl_shared_count_free(struct pawl_shared_count *s)
{
    struct list *item;

    if (s == NULL) {
        return;
    }
    pawl_shared_value_free(s->value);
    while ((item = list_pop_front(&s->listeners)) != NULL) {
        free(container_of(item, struct count_listener, link));
    }
    free(s);
}

int pawl_shared_count_start(struct pawl_shared_count *s)
{
    return s == NULL ? PAWL_ERR_BAD_ARGUMENTS : pawl_shared_value_start(s->value);
}

int pawl_shared_count_start_async(struct pawl_shared_count *s, pawl_shared_count_done_fn done,
                                  void *arg)
{
    struct count_done *d = s == NULL ? NULL : new_done(s, done, arg);

    if (d == NULL) {
        return s == NULL ? PAWL_ERR_BAD_ARGUMENTS : PAWL_ERR_NO_MEMORY;
    }
    return started(pawl_shared_value_start_async(s->value, shared_count_told, d), d);
}

int pawl_shared_count_get(const struct pawl_shared_count *s, struct pawl_versioned_count *out)
{
    struct pawl_versioned *value;
    int rc =
        s == NULL || out == NULL ? PAWL_ERR_BAD_ARGUMENTS : pawl_shared_value_get(s->value, &value);

    if (rc != 0) {
        return rc;
    }
    rc = decode(value, out) ? 0 : PAWL_ERR_DATA_INCONSISTENCY;
    pawl_versioned_free(value);
    return rc;
}

int pawl_shared_count_set(struct pawl_shared_count *s, int32_t count)
{
    struct count_bytes bytes = shared_count_encode(count);

    return s == NULL ? PAWL_ERR_BAD_ARGUMENTS
                     : pawl_shared_value_set(s->value, (struct pawl_bytes){bytes.b, COUNT_BYTES});
}

int pawl_shared_count_set_async(struct pawl_shared_count *s, int32_t count,
                                pawl_shared_count_done_fn done, void *arg)
{
    struct count_bytes bytes = shared_count_encode(count);
    struct count_done *d = s == NULL ? NULL : new_done(s, done, arg);

    if (d == NULL) {
        return s == NULL ? PAWL_ERR_BAD_ARGUMENTS : PAWL_ERR_NO_MEMORY;
    }
    return started(pawl_shared_value_set_async(s->value, (struct pawl_bytes){bytes.b, COUNT_BYTES},
                                               shared_count_told, d),
                   d);
}

int pawl_shared_count_try_set(struct pawl_shared_count *s,
                              const struct pawl_versioned_count *previous, int32_t count)
{
    struct count_bytes bytes = shared_count_encode(count);
    struct pawl_versioned was;

    if (s == NULL || previous == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    was = (struct pawl_versioned){.zxid = previous->zxid, .version = previous->version};
    return pawl_shared_value_try_set(s->value, &was, (struct pawl_bytes){bytes.b, COUNT_BYTES});
}

int pawl_shared_count_try_set_async(struct pawl_shared_count *s,
                                    const struct pawl_versioned_count *previous, int32_t count,
                                    pawl_shared_count_done_fn done, void *arg)
{
    struct count_bytes bytes = shared_count_encode(count);
    struct count_done *d = s == NULL || previous == NULL ? NULL : new_done(s, done, arg);
    struct pawl_versioned was;

    if (d == NULL) {
        return s == NULL || previous == NULL ? PAWL_ERR_BAD_ARGUMENTS : PAWL_ERR_NO_MEMORY;
    }
    was = (struct pawl_versioned){.zxid = previous->zxid, .version = previous->version};
    return started(pawl_shared_value_try_set_async(s->value, &was,
                                                   (struct pawl_bytes){bytes.b, COUNT_BYTES},
                                                   shared_count_told, d),
                   d);
}
