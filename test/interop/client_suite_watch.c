/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_watch.c - watches of all kinds, their removal, and what a lost link does to them. */
#include "client_suite.h"

static struct events *new_events(void)
{
    return scratch(sizeof(struct events));
}

static void get_watches_the_next_change(void)
{
    struct pawl_client *c = open_main(), *other = open_other();
    struct events *set = new_events(), *gone = new_events();
    struct pawl_watch on_set = watch_into(set), on_gone = watch_into(gone);

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    EXPECT_OK(DO(get, c, at("a"), &on_set));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at("a"))));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at("a"))));
    expect_events(c, set, 1);
    expect_event(set, 0, PAWL_EVENT_DATA_CHANGED, at("a"));
    EXPECT_OK(DO(get, c, at("a"), &on_gone));
    EXPECT_OK(DO(delete, other, PAWL_DELETE(.path = at("a"))));
    expect_events(c, gone, 1);
    expect_event(gone, 0, PAWL_EVENT_DELETED, at("a"));
    pawl_client_close(other);
    pawl_client_close(c);
}

static void a_failed_get_sets_no_watch(void)
{
    struct pawl_client *c = open_main();
    struct events *e = new_events();
    struct pawl_watch watch = watch_into(e);

    EXPECT_REFUSED(DO(get, c, at("a"), &watch), PAWL_ERR_NO_NODE);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    EXPECT_OK(DO(set, c, PAWL_SET(.path = at("a"))));
    expect_events(c, e, 0);
    pawl_client_close(c);
}

static void exists_watches_for_what_is_not_there(void)
{
    struct pawl_client *c = open_main(), *other = open_other();
    struct events *made = new_events(), *set = new_events();
    struct pawl_watch on_made = watch_into(made), on_set = watch_into(set);

    EXPECT_REFUSED(DO(exists, c, at("a"), &on_made), PAWL_ERR_NO_NODE);
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("a"))));
    expect_events(c, made, 1);
    expect_event(made, 0, PAWL_EVENT_CREATED, at("a"));
    EXPECT_OK(DO(exists, c, at("a"), &on_set));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at("a"))));
    expect_events(c, set, 1);
    expect_event(set, 0, PAWL_EVENT_DATA_CHANGED, at("a"));
    pawl_client_close(other);
    pawl_client_close(c);
}

static void children_watches_the_list(void)
{
    struct pawl_client *c = open_main(), *other = open_other();
    struct events *list = new_events(), *gone = new_events();
    struct pawl_watch on_list = watch_into(list), on_gone = watch_into(gone);

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    EXPECT_OK(DO(children, c, at("a"), &on_list));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at("a"))));
    expect_events(c, list, 0);
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("a/b"))));
    expect_events(c, list, 1);
    expect_event(list, 0, PAWL_EVENT_CHILDREN_CHANGED, at("a"));
    EXPECT_OK(DO(delete, other, PAWL_DELETE(.path = at("a/b"))));
    EXPECT_OK(DO(children, c, at("a"), &on_gone));
    EXPECT_OK(DO(delete, other, PAWL_DELETE(.path = at("a"))));
    expect_events(c, gone, 1);
    expect_event(gone, 0, PAWL_EVENT_DELETED, at("a"));
    pawl_client_close(other);
    pawl_client_close(c);
}

static void the_same_watch_twice_is_one(void)
{
    struct pawl_client *c = open_main();
    struct events *e = new_events(), *second = new_events();
    struct pawl_watch watch = watch_into(e), another = watch_into(second);

    EXPECT_OK(DO(get, c, at(""), &watch));
    EXPECT_OK(DO(get, c, at(""), &watch));
    EXPECT_OK(DO(exists, c, at(""), &watch));
    EXPECT_OK(DO(exists, c, at(""), &another));
    EXPECT_OK(DO(set, c, PAWL_SET(.path = at(""))));
    expect_events(c, e, 1);
    expect_events(c, second, 1);
    pawl_client_close(c);
}

static void a_persistent_watch_stays(void)
{
    struct pawl_client *c = open_main(), *other = open_other();
    struct events *e = new_events();
    struct pawl_watch watch = watch_into(e);

    EXPECT_OK(DO(watch, c, at("a"), PAWL_WATCH_PERSISTENT, &watch));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("a"))));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at("a"))));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("a/b"))));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at("a/b"))));
    EXPECT_OK(DO(delete, other, PAWL_DELETE(.path = at("a/b"))));
    EXPECT_OK(DO(delete, other, PAWL_DELETE(.path = at("a"))));
    expect_events(c, e, 5);
    expect_event(e, 0, PAWL_EVENT_CREATED, at("a"));
    expect_event(e, 1, PAWL_EVENT_DATA_CHANGED, at("a"));
    expect_event(e, 2, PAWL_EVENT_CHILDREN_CHANGED, at("a"));
    expect_event(e, 3, PAWL_EVENT_CHILDREN_CHANGED, at("a"));
    expect_event(e, 4, PAWL_EVENT_DELETED, at("a"));
    pawl_client_close(other);
    pawl_client_close(c);
}

static void a_recursive_watch_sees_all_below(void)
{
    struct pawl_client *c = open_main(), *other = open_other();
    struct events *e = new_events();
    struct pawl_watch watch = watch_into(e);

    EXPECT_OK(DO(watch, c, at(""), PAWL_WATCH_RECURSIVE, &watch));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("a"))));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("a/b"))));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at("a/b"))));
    EXPECT_OK(DO(delete, other, PAWL_DELETE(.path = at("a/b"))));
    expect_events(c, e, 4);
    expect_event(e, 0, PAWL_EVENT_CREATED, at("a"));
    expect_event(e, 1, PAWL_EVENT_CREATED, at("a/b"));
    expect_event(e, 2, PAWL_EVENT_DATA_CHANGED, at("a/b"));
    expect_event(e, 3, PAWL_EVENT_DELETED, at("a/b"));
    pawl_client_close(other);
    pawl_client_close(c);
}

static void an_event_comes_before_the_read_that_shows_it(void)
{
    struct pawl_client *c = open_main(), *other = open_other();

    for (int i = 0; i < 50; i++) {
        struct events *e = new_events();
        struct pawl_watch watch = watch_into(e);
        struct answer a = {0};

        EXPECT_OK(DO(get, c, at(""), &watch));
        EXPECT_OK(DO(set, other, PAWL_SET(.path = at(""), .data = bytes(text("%d", i)))));
        EXPECT_OK(DO(sync, c, at("")));
        EXPECT_INT(pawl_get_async(c, at(""), NULL, answer_done, &a), PAWL_OK);
        EXPECT_DATA(answer_wait(c, &a), text("%d", i));
        EXPECT_INT(e->n, 1); /* callbacks run in order: no waiting here */
    }
    pawl_client_close(other);
    pawl_client_close(c);
}

static void one_watch_is_removed_of_two(void)
{
    struct pawl_client *c = open_main();
    struct events *one = new_events(), *two = new_events();
    struct pawl_watch on_one = watch_into(one), on_two = watch_into(two);

    EXPECT_OK(DO(get, c, at(""), &on_one));
    EXPECT_OK(DO(get, c, at(""), &on_two));
    EXPECT_OK(DO(unwatch, c, at(""), PAWL_WATCHES_DATA, &on_one));
    expect_events(c, one, 1);
    expect_event(one, 0, PAWL_EVENT_WATCH_REMOVED, at(""));
    EXPECT_INT(DO(unwatch, c, at(""), PAWL_WATCHES_DATA, &on_one)->err, PAWL_ERR_NO_WATCHER);
    EXPECT_OK(DO(set, c, PAWL_SET(.path = at(""))));
    expect_events(c, two, 1);
    expect_event(two, 0, PAWL_EVENT_DATA_CHANGED, at(""));
    expect_events(c, one, 1);
    pawl_client_close(c);
}

static void all_watches_of_a_path_are_removed(void)
{
    struct pawl_client *c = open_main();
    struct events *data = new_events(), *list = new_events(), *all = new_events();
    struct pawl_watch on_data = watch_into(data), on_list = watch_into(list);
    struct pawl_watch on_all = watch_into(all);

    EXPECT_OK(DO(get, c, at(""), &on_data));
    EXPECT_OK(DO(children, c, at(""), &on_list));
    EXPECT_OK(DO(unwatch, c, at(""), PAWL_WATCHES_CHILDREN, NULL));
    expect_events(c, list, 1);
    expect_event(list, 0, PAWL_EVENT_WATCH_REMOVED, at(""));
    expect_events(c, data, 0);
    EXPECT_OK(DO(watch, c, at(""), PAWL_WATCH_PERSISTENT, &on_all));
    EXPECT_OK(DO(unwatch, c, at(""), PAWL_WATCHES_ANY, NULL));
    expect_events(c, data, 1);
    expect_events(c, all, 1);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    EXPECT_OK(DO(set, c, PAWL_SET(.path = at(""))));
    expect_events(c, data, 1);
    expect_events(c, list, 1);
    expect_events(c, all, 1);
    EXPECT_INT(DO(unwatch, c, at(""), PAWL_WATCHES_ANY, NULL)->err, PAWL_ERR_NO_WATCHER);
    pawl_client_close(c);
}

static void a_persistent_watch_is_removed(void)
{
    struct pawl_client *c = open_main();
    struct events *e = new_events(), *below = new_events();
    struct pawl_watch watch = watch_into(e), recursive = watch_into(below);

    EXPECT_OK(DO(watch, c, at(""), PAWL_WATCH_PERSISTENT, &watch));
    EXPECT_OK(DO(watch, c, at(""), PAWL_WATCH_RECURSIVE, &recursive));
    EXPECT_OK(DO(unwatch, c, at(""), PAWL_WATCHES_ANY, &watch));
    expect_events(c, e, 1);
    expect_event(e, 0, PAWL_EVENT_WATCH_REMOVED, at(""));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    expect_events(c, below, 1);
    EXPECT_OK(DO(unwatch, c, at(""), PAWL_WATCHES_ANY, &recursive));
    expect_events(c, below, 2);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("b"))));
    expect_events(c, below, 2);
    expect_events(c, e, 1);
    pawl_client_close(c);
}

static void open_through(struct tcp_proxy *relay, struct states *states, struct pawl_client **c)
{
    struct pawl_client_options options;

    options_for_test(&options);
    options.servers = tcp_proxy_address(relay);
    options.on_state = on_state;
    options.on_state_arg = states;
    *c = open_main_with(&options);
}

static void a_watch_is_forgotten_locally_without_a_link(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct states states = {0};
    struct events *e = new_events();
    struct pawl_watch watch = watch_into(e);
    struct pawl_client *c;

    open_through(relay, &states, &c);
    EXPECT_OK(DO(get, c, at(""), &watch));
    tcp_proxy_down(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_SUSPENDED, LONG_MS));
    EXPECT_INT(
        pawl_unwatch_async(c, at(""), PAWL_WATCHES_DATA | PAWL_WATCHES_LOCAL, &watch, NULL, NULL),
        PAWL_OK);
    tcp_proxy_up(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    expect_events(c, e, 1);
    expect_event(e, 0, PAWL_EVENT_WATCH_REMOVED, at(""));
    EXPECT_OK(DO(set, c, PAWL_SET(.path = at(""))));
    expect_events(c, e, 1);
    pawl_client_close(c);
}

/* Each kind at a path of its own: servers before 3.9 keep one kind per path and connection. */
static void watches_are_set_again_after_reconnect(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client *c, *other = open_other();
    struct states states = {0};
    struct events *e[5];
    struct pawl_watch w[5];

    for (int i = 0; i < 5; i++) {
        e[i] = new_events();
        w[i] = watch_into(e[i]);
    }
    open_through(relay, &states, &c);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("p"))));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("r"))));
    EXPECT_OK(DO(get, c, at(""), &w[0]));
    EXPECT_OK(DO(children, c, at(""), &w[1]));
    EXPECT_REFUSED(DO(exists, c, at("a"), &w[2]), PAWL_ERR_NO_NODE);
    EXPECT_OK(DO(watch, c, at("p"), PAWL_WATCH_PERSISTENT, &w[3]));
    EXPECT_OK(DO(watch, c, at("r"), PAWL_WATCH_RECURSIVE, &w[4]));
    tcp_proxy_cut(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    EXPECT_OK(DO(sync, c, "/"));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at(""))));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("a"))));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("p/x"))));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at("p"))));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("r/x"))));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("r/x/y"))));
    expect_events(c, e[0], 1);
    expect_event(e[0], 0, PAWL_EVENT_DATA_CHANGED, at(""));
    expect_events(c, e[1], 1);
    expect_event(e[1], 0, PAWL_EVENT_CHILDREN_CHANGED, at(""));
    expect_events(c, e[2], 1);
    expect_event(e[2], 0, PAWL_EVENT_CREATED, at("a"));
    expect_events(c, e[3], 2);
    expect_event(e[3], 0, PAWL_EVENT_CHILDREN_CHANGED, at("p"));
    expect_event(e[3], 1, PAWL_EVENT_DATA_CHANGED, at("p"));
    expect_events(c, e[4], 2);
    expect_event(e[4], 0, PAWL_EVENT_CREATED, at("r/x"));
    expect_event(e[4], 1, PAWL_EVENT_CREATED, at("r/x/y"));
    pawl_client_close(other);
    pawl_client_close(c);
}

static void changes_during_a_cut_are_told_once_after_it(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client *c, *other = open_other();
    struct states states = {0};
    struct events *data = new_events(), *list = new_events(), *made = new_events();
    struct pawl_watch on_data = watch_into(data), on_list = watch_into(list);
    struct pawl_watch on_made = watch_into(made);

    open_through(relay, &states, &c);
    EXPECT_OK(DO(get, c, at(""), &on_data));
    EXPECT_OK(DO(children, c, at(""), &on_list));
    EXPECT_REFUSED(DO(exists, c, at("a"), &on_made), PAWL_ERR_NO_NODE);
    tcp_proxy_down(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_SUSPENDED, LONG_MS));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at(""))));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at(""))));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("a"))));
    EXPECT_INT(data->n + list->n + made->n, 0);
    tcp_proxy_up(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    expect_events(c, data, 1);
    expect_event(data, 0, PAWL_EVENT_DATA_CHANGED, at(""));
    expect_events(c, list, 1);
    expect_events(c, made, 1);
    expect_event(made, 0, PAWL_EVENT_CREATED, at("a"));
    pawl_client_close(other);
    pawl_client_close(c);
}

/* More paths than fit into one setWatches request. */
static void many_watches_are_set_again_in_chunks(void)
{
    enum { N = 8000 };
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_client *c, *other = open_other();
    struct states states = {0};
    struct events *e = new_events();
    struct pawl_watch watch = watch_into(e);
    char *long_name = scratch(200);
    struct answer *a = scratch(N * sizeof(*a));

    memset(long_name, 'n', 180);
    open_through(relay, &states, &c);
    for (int i = 0; i < N; i++) {
        EXPECT_INT(pawl_exists_async(c, at(text("%s%d", long_name, i)), &watch, answer_done, &a[i]),
                   PAWL_OK);
    }
    EXPECT_REFUSED(answer_wait(c, &a[N - 1]), PAWL_ERR_NO_NODE);
    tcp_proxy_cut(relay);
    EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
    EXPECT_OK(DO(sync, c, "/"));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at(text("%s%d", long_name, 0)))));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at(text("%s%d", long_name, N / 2)))));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at(text("%s%d", long_name, N - 1)))));
    expect_events(c, e, 3);
    pawl_client_close(other);
    pawl_client_close(c);
}

static void watches_hear_of_the_end_of_the_session(void)
{
    struct pawl_client *c = open_main();
    struct events *once = new_events(), *stays = new_events();
    struct pawl_watch on_once = watch_into(once), on_stays = watch_into(stays);

    EXPECT_OK(DO(get, c, at(""), &on_once));
    EXPECT_OK(DO(watch, c, at(""), PAWL_WATCH_PERSISTENT, &on_stays));
    pawl_client_close(c);
    EXPECT_INT(once->n, 1);
    expect_event(once, 0, PAWL_EVENT_SESSION, at(""));
    EXPECT_INT(once->items[0].state, PAWL_STATE_CLOSED);
    EXPECT_INT(stays->n, 1);
    expect_event(stays, 0, PAWL_EVENT_SESSION, at(""));
}

const struct test tests_watch[] = {
    {"get_watches_the_next_change", get_watches_the_next_change, FACES_ALL, 0},
    {"a_failed_get_sets_no_watch", a_failed_get_sets_no_watch, FACES_ALL, 0},
    {"exists_watches_for_what_is_not_there", exists_watches_for_what_is_not_there, FACES_ALL, 0},
    {"children_watches_the_list", children_watches_the_list, FACES_ALL, 0},
    {"the_same_watch_twice_is_one", the_same_watch_twice_is_one, FACES_ALL, 0},
    {"a_persistent_watch_stays", a_persistent_watch_stays, FACES_ALL, 0},
    {"a_recursive_watch_sees_all_below", a_recursive_watch_sees_all_below, FACES_ALL, 0},
    {"an_event_comes_before_the_read_that_shows_it", an_event_comes_before_the_read_that_shows_it,
     FACES_ALL, 0},
    {"one_watch_is_removed_of_two", one_watch_is_removed_of_two, FACES_ALL, 0},
    {"all_watches_of_a_path_are_removed", all_watches_of_a_path_are_removed, FACES_ALL, 0},
    {"a_persistent_watch_is_removed", a_persistent_watch_is_removed, FACES_ALL, 0},
    {"a_watch_is_forgotten_locally_without_a_link", a_watch_is_forgotten_locally_without_a_link,
     FACES_ALL, 0},
    {"watches_are_set_again_after_reconnect", watches_are_set_again_after_reconnect, FACES_ALL, 0},
    {"changes_during_a_cut_are_told_once_after_it", changes_during_a_cut_are_told_once_after_it,
     FACES_ALL, 0},
    {"many_watches_are_set_again_in_chunks", many_watches_are_set_again_in_chunks, 0, 0},
    {"watches_hear_of_the_end_of_the_session", watches_hear_of_the_end_of_the_session, FACES_ALL,
     0},
    {0},
};
