/* SPDX-License-Identifier: Apache-2.0 */
/* Who is there: groupmember.txt. */
#define _GNU_SOURCE
#include "lib/cache_log.h"
#include "lib/client_fixture.h"
#include "lib/test.h"
#include "pawl/group.h"

static struct pawl_group *join(struct pawl_client *c, const char *path, const char *id,
                               const char *data)
{
    struct pawl_group_options o = {.size = sizeof(o)};
    struct pawl_group *g;

    if (data != NULL) {
        o.data = text_bytes(data);
    }
    assert_int_equal(pawl_group_join(c, path, id, &o, &g), 0);
    return g;
}

/* "m1=p1 m2=..." */
static void members(const struct pawl_group *g, char *out, size_t size)
{
    struct pawl_nodes *nodes;
    size_t n = 0;

    assert_int_equal(pawl_group_members(g, &nodes), 0);
    out[0] = '\0';
    for (size_t i = 0; i < nodes->n; i++) {
        n += (size_t)snprintf(out + n, size - n, "%s%s=%s", i == 0 ? "" : " ",
                              nodes->items[i]->name, (const char *)nodes->items[i]->data.data);
    }
    pawl_nodes_free(nodes);
}

static void until_members(const struct pawl_group *g, const char *expected)
{
    char now[256];

    for (int64_t end = now_ms() + SOON_MS;;) {
        members(g, now, sizeof(now));
        if (strcmp(now, expected) == 0) {
            return;
        }
        if (now_ms() >= end) {
            assert_string_equal(now, expected);
        }
    }
}

static void members_come_and_go(void **state)
{
    struct pawl_client *a = client_fixture_open(NULL), *b = client_fixture_open(NULL);
    struct pawl_group *m1 = join(a, "/groups/g", "m1", "p1"), *m2, *guest;

    (void)state;
    until_members(m1, "m1=p1"); /* always ourselves */
    m2 = join(b, "/groups/g", "m2", "p2");
    guest = join(b, "/groups/g", NULL, NULL);
    assert_int_equal(pawl_group_wait(m2, SOON_MS), 0);
    assert_int_equal(pawl_group_wait(guest, SOON_MS), 0);
    until_members(m1, "m1=p1 m2=p2");
    until_members(guest, "m1=p1 m2=p2");
    assert_int_equal(pawl_group_set(m2, text_bytes("p3")), 0);
    until_members(m1, "m1=p1 m2=p3");
    pawl_group_leave(m2);
    until_members(m1, "m1=p1");
    pawl_client_close(a); /* a member that dies */
    until_members(guest, "");
    pawl_group_leave(m1);
    pawl_group_leave(guest);
    pawl_client_close(b);
}

static void a_member_is_there_again_after_its_session(void **state)
{
    struct pawl_client_options co = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct pawl_group *m, *guest = join(other, "/groups/h", NULL, NULL);
    struct behind_proxy b;

    (void)state;
    co.session_timeout_ms = SHORT_SESSION_MS;
    behind_proxy_open(&b, &co);
    m = join(b.c, "/groups/h", "m", "p");
    until_members(guest, "m=p");
    tcp_proxy_accept(b.proxy, false);
    tcp_proxy_cut(b.proxy);
    until_members(guest, "");
    until_members(m, "m=p");
    tcp_proxy_accept(b.proxy, true);
    until_members(guest, "m=p");
    pawl_group_leave(m);
    until_members(guest, "");
    pawl_group_leave(guest);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

struct leaving {
    sem_t done;
};

static void leave_at_once(struct pawl_group *g, const struct pawl_cache_event *event, void *arg)
{
    struct leaving *l = arg;

    if (event->type == PAWL_CACHE_EVENT_CREATED) {
        pawl_group_leave(g);
        sem_post(&l->done);
    }
}

static void a_member_may_leave_inside_its_callback(void **state)
{
    struct leaving l;
    struct pawl_group_options o = {
        .size = sizeof(o), .data = text_bytes("x"), .on_event = leave_at_once, .on_event_arg = &l};
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_group *g;

    (void)state;
    sem_init(&l.done, 0, 0);
    assert_int_equal(pawl_group_join(c, "/groups/i", "me", &o, &g), 0);
    wait_semaphore(&l.done);
    pawl_client_close(c);
}

static void bad_arguments_are_refused(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct pawl_group *g;

    (void)state;
    assert_int_equal(pawl_group_join(c, "/g", "a/b", NULL, &g), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_group_join(c, "/g", "", NULL, &g), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_group_join(NULL, "/g", "a", NULL, &g), PAWL_ERR_BAD_ARGUMENTS);
    pawl_group_leave(NULL);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_and_go),
        cmocka_unit_test(a_member_is_there_again_after_its_session),
        cmocka_unit_test(a_member_may_leave_inside_its_callback),
        cmocka_unit_test(bad_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
