/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of a client that compresses, beside others of one that does not: what a node holds does
 * not matter to who only waits for it, and a watch that was set is there whatever the answer was.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>

#include "lib/test.h"

#include "lib/recipe_helpers.h"

static struct pawl_client *plain, *packing;

static int open_both(void **state)
{
    struct pawl_client_options o;
    int rc = client_fixture_start(state);

    if (rc == 0) {
        o = client_fixture_options();
        plain = client_fixture_open(&o);
        o.flags |= PAWL_CLIENT_COMPRESS;
        packing = client_fixture_open(&o);
    }
    return rc;
}

static int close_both(void **state)
{
    pawl_client_close(plain);
    pawl_client_close(packing);
    return client_fixture_stop(state);
}

/* ---- locks ---- */

static struct pawl_lock *new_lock(struct pawl_client *c, const char *path)
{
    struct pawl_lock *l = NULL;

    assert_int_equal(pawl_lock_new(c, path, NULL, &l), 0);
    return l;
}

static void wait_behind(struct pawl_client *first, struct pawl_client *second, const char *path)
{
    struct pawl_lock *a = new_lock(first, path), *b = new_lock(second, path);
    struct told t;

    told_init(&t);
    assert_int_equal(pawl_lock_acquire(a, SOON_MS), 0);
    assert_int_equal(pawl_lock_acquire_async(b, -1, tell_lock, &t), 0);
    until_nodes(plain, path, 2);
    assert_int_equal(pawl_lock_release(a), 0);
    assert_int_equal(told_wait(&t), 0);
    assert_int_equal(pawl_lock_release(b), 0);
    pawl_lock_free(a);
    pawl_lock_free(b);
    until_no_watches();
}

static void one_who_compresses_waits_behind_one_who_does_not(void **state)
{
    (void)state;
    wait_behind(plain, packing, "/packed/behind");
}

static void one_who_does_not_waits_behind_one_who_compresses(void **state)
{
    (void)state;
    wait_behind(packing, plain, "/packed/ahead");
}

static void asked_to_give_up(struct pawl_lock *l, void *told)
{
    (void)l;
    told_end(told, 0);
}

static void revoke_lock(struct pawl_client *holder, struct pawl_client *other,
                        const char *lock_path)
{
    struct told t;
    struct pawl_lock_options o = {
        .size = sizeof(o), .on_revoke = asked_to_give_up, .on_revoke_arg = &t};
    struct pawl_lock *l = NULL;
    char path[256];

    told_init(&t);
    assert_int_equal(pawl_lock_new(holder, lock_path, &o, &l), 0);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), 0);
    pawl_grant_path(pawl_lock_grant(l), path, sizeof(path));
    assert_int_equal(pawl_lock_revoke(other, path), 0);
    assert_int_equal(told_wait(&t), 0);
    pawl_lock_free(l);
    until_nodes(plain, lock_path, 0);
}

static void a_revocation_is_understood_compressed_or_not(void **state)
{
    (void)state;
    revoke_lock(plain, plain, "/packed/revoke/pp");
    revoke_lock(plain, packing, "/packed/revoke/pc");
    revoke_lock(packing, plain, "/packed/revoke/cp");
    revoke_lock(packing, packing, "/packed/revoke/cc");
}

static void participants_are_listed_compressed_or_not(void **state)
{
    struct pawl_lock_options o = {.size = sizeof(o), .data = text_bytes("here")};
    struct pawl_lock *a = NULL, *b = NULL;
    struct pawl_participants *all;
    struct told t;

    (void)state;
    told_init(&t);
    assert_int_equal(pawl_lock_new(plain, "/packed/all", &o, &a), 0);
    assert_int_equal(pawl_lock_new(packing, "/packed/all", &o, &b), 0);
    assert_int_equal(pawl_lock_acquire(a, SOON_MS), 0);
    assert_int_equal(pawl_lock_acquire_async(b, -1, tell_lock, &t), 0);
    until_nodes(plain, "/packed/all", 2);
    assert_int_equal(pawl_participants(packing, "/packed/all", &all), 0);
    assert_int_equal(all->n, 2);
    for (size_t i = 0; i < all->n; i++) {
        assert_int_equal(all->items[i]->data.len, 4);
        assert_memory_equal(all->items[i]->data.data, "here", 4);
    }
    pawl_participants_free(all);
    pawl_lock_free(a);
    assert_int_equal(told_wait(&t), 0);
    pawl_lock_free(b);
}

/* ---- barriers ---- */

static void tell_barrier(struct pawl_barrier *b, int err, void *told)
{
    (void)b;
    told_end(told, err);
}

static void tell_room(struct pawl_double_barrier *b, int err, void *told)
{
    (void)b;
    told_end(told, err);
}

static void a_barrier_that_others_raised_is_waited_for(void **state)
{
    struct pawl_barrier *up = NULL, *b = NULL;
    struct told t;

    (void)state;
    told_init(&t);
    assert_int_equal(pawl_barrier_new(plain, "/packed/gate", &up), 0);
    assert_int_equal(pawl_barrier_new(packing, "/packed/gate", &b), 0);
    assert_int_equal(pawl_barrier_raise(up), 0);
    assert_int_equal(pawl_barrier_wait(b, 0), PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(pawl_barrier_wait_async(b, -1, tell_barrier, &t), 0);
    until_watches(1);
    assert_int_equal(pawl_barrier_lift(up), 0);
    assert_int_equal(told_wait(&t), 0);
    assert_int_equal(pawl_barrier_raise(up), 0);
    assert_int_equal(pawl_barrier_wait_async(b, -1, tell_barrier, &t), 0);
    until_watches(1);
    pawl_barrier_free(b);
    assert_int_equal(told_wait(&t), PAWL_ERR_CANCELLED);
    assert_int_equal(pawl_barrier_lift(up), 0);
    pawl_barrier_free(up);
    until_no_watches();
}

static void members_of_both_kinds_meet(void **state)
{
    struct pawl_double_barrier *a = NULL, *b = NULL;
    struct told t;

    (void)state;
    told_init(&t);
    assert_int_equal(pawl_double_barrier_new(plain, "/packed/room", 2, &a), 0);
    assert_int_equal(pawl_double_barrier_new(packing, "/packed/room", 2, &b), 0);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(pawl_double_barrier_enter_async(a, -1, tell_room, &t), 0);
        assert_int_equal(pawl_double_barrier_enter(b, SOON_MS), 0);
        assert_int_equal(told_wait(&t), 0);
        assert_int_equal(pawl_double_barrier_leave_async(a, -1, tell_room, &t), 0);
        assert_int_equal(pawl_double_barrier_leave(b, SOON_MS), 0);
        assert_int_equal(told_wait(&t), 0);
    }
    pawl_double_barrier_free(a);
    pawl_double_barrier_free(b);
    until_no_watches();
}

/* ---- values ---- */

/* The read fails and sets its watch: the event comes when nobody is there any more. */
static void a_value_that_cannot_be_unpacked_is_refused_and_forgotten(void **state)
{
    struct pawl_shared_value *v = NULL;

    (void)state;
    assert_int_equal(pawl_create(plain,
                                 PAWL_CREATE(.path = "/packed/value", .data = text_bytes("plain"),
                                             .flags = PAWL_OP_PARENTS),
                                 NULL),
                     0);
    assert_int_equal(pawl_shared_value_new(packing, "/packed/value", text_bytes("seed"), &v), 0);
    assert_int_equal(pawl_shared_value_start(v), PAWL_ERR_DATA_INCONSISTENCY);
    pawl_shared_value_free(v);
    assert_int_equal(
        pawl_set(plain, PAWL_SET(.path = "/packed/value", .data = text_bytes("again")), NULL), 0);
    until_no_watches();
    assert_int_equal(pawl_sync(packing, "/packed/value", NULL), 0);
}

/* It was read once; then somebody who does not compress writes to it, and then one who does. */
static void a_value_follows_what_it_can_unpack(void **state)
{
    struct pawl_shared_value *v = NULL;
    struct pawl_versioned *now;
    bool same = false;

    (void)state;
    assert_int_equal(pawl_shared_value_new(packing, "/packed/follow", text_bytes("seed"), &v), 0);
    assert_int_equal(pawl_shared_value_start(v), 0);
    assert_int_equal(
        pawl_set(plain, PAWL_SET(.path = "/packed/follow", .data = text_bytes("plain")), NULL), 0);
    assert_int_equal(pawl_sync(packing, "/packed/follow", NULL), 0);
    assert_int_equal(
        pawl_set(packing, PAWL_SET(.path = "/packed/follow", .data = text_bytes("last")), NULL), 0);
    for (int64_t end = now_ms() + SOON_MS; !same;) {
        assert_true(now_ms() < end);
        assert_int_equal(pawl_shared_value_get(v, &now), 0);
        same = now->data.len == 4 && memcmp(now->data.data, "last", 4) == 0;
        pawl_versioned_free(now);
    }
    pawl_shared_value_free(v);
    until_no_watches();
}

static void a_semaphore_whose_number_cannot_be_unpacked_is_refused(void **state)
{
    struct pawl_semaphore_options o = {
        .size = sizeof(o), .max_leases = 1, .count = "/packed/count"};
    struct pawl_semaphore *s = NULL;
    struct pawl_lease *lease;

    (void)state;
    assert_int_equal(pawl_create(plain,
                                 PAWL_CREATE(.path = "/packed/count", .data = {"\0\0\0\1", 4},
                                             .flags = PAWL_OP_PARENTS),
                                 NULL),
                     0);
    assert_int_equal(pawl_semaphore_new(packing, "/packed/semaphore", &o, &s), 0);
    assert_int_equal(pawl_semaphore_acquire(s, SOON_MS, &lease), PAWL_ERR_DATA_INCONSISTENCY);
    pawl_semaphore_free(s);
    assert_int_equal(
        pawl_set(plain, PAWL_SET(.path = "/packed/count", .data = {"\0\0\0\2", 4}), NULL), 0);
    until_no_watches();
    assert_int_equal(pawl_sync(packing, "/packed/count", NULL), 0);
}

/* ---- queues ---- */

static int count_item(struct pawl_queue *q, const struct pawl_item *item, void *n)
{
    (void)q;
    assert_int_equal(item->data.len, 6);
    atomic_fetch_add((_Atomic int *)n, 1);
    return 0;
}

/* What cannot be unpacked stays for others, and does not keep what is behind it. */
static void put_behind(const char *path, const char *lock_path)
{
    struct pawl_queue *plainly, *packed;
    _Atomic int n = 0;

    assert_int_equal(pawl_queue_new(plain, path, NULL, &plainly), 0);
    assert_int_equal(pawl_queue_put(plainly, PAWL_PUT(.item = pawl_str("plain")), SOON_MS), 0);
    assert_int_equal(
        pawl_queue_new(packing, path,
                       PAWL_QUEUE_OPTIONS(.consumer = count_item, .consumer_arg = (void *)&n,
                                          .lock_path = lock_path),
                       &packed),
        0);
    assert_int_equal(pawl_queue_put(packed, PAWL_PUT(.item = pawl_str("packed")), SOON_MS), 0);
    wait_until(atomic_load(&n) == 1);
    pawl_queue_free(packed);
    until_nodes(plain, path, 1);
    pawl_queue_free(plainly);
}

static void an_item_that_cannot_be_unpacked_is_passed_over(void **state)
{
    (void)state;
    put_behind("/packed/queue", NULL);
    put_behind("/packed/locked", "/packed/locks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_who_compresses_waits_behind_one_who_does_not),
        cmocka_unit_test(one_who_does_not_waits_behind_one_who_compresses),
        cmocka_unit_test(a_revocation_is_understood_compressed_or_not),
        cmocka_unit_test(participants_are_listed_compressed_or_not),
        cmocka_unit_test(a_barrier_that_others_raised_is_waited_for),
        cmocka_unit_test(members_of_both_kinds_meet),
        cmocka_unit_test(a_value_that_cannot_be_unpacked_is_refused_and_forgotten),
        cmocka_unit_test(a_value_follows_what_it_can_unpack),
        cmocka_unit_test(a_semaphore_whose_number_cannot_be_unpacked_is_refused),
        cmocka_unit_test(an_item_that_cannot_be_unpacked_is_passed_over),
    };

    return cmocka_run_group_tests(tests, open_both, close_both);
}
