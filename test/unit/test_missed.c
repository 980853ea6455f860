/* SPDX-License-Identifier: Apache-2.0 */
#include "server/missed.h"

#include "base/prng.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "server/pipeline.h"
#include "store/acl_table.h"

/* Somebody who writes, and somebody who was away and has a new link now. */
struct pair {
    struct server_fixture f;
    struct connection *writer, *back;
};

static void begin(struct pair *p, const struct server_options *o)
{
    fixture_init(&p->f, o);
    p->writer = fixture_client(&p->f, 40000);
    p->back = fixture_client(&p->f, 40000);
}

/* The writer's share is not what this is about. */
static void write_a(struct pair *p)
{
    p->writer->spent = 0;
    assert_int_equal(fixture_set(&p->f, p->writer, "/a", "x"), PAWL_OK);
}

/* Several paths for each of the lists that stay. */
static void append_set_watches(struct strbuf *b, int64_t seen, const char *const *persistent,
                               const char *const *recursive)
{
    const char *const *lists[] = {persistent, recursive};
    size_t start = b->len;

    jute_write_int(b, 0);
    jute_write_int(b, XID_SET_WATCHES);
    jute_write_int(b, OP_SET_WATCHES2);
    jute_write_long(b, seen);
    for (int i = 0; i < 3; i++) {
        jute_write_int(b, 0);
    }
    for (int i = 0; i < 2; i++) {
        int32_t n = 0;

        for (; lists[i][n] != NULL; n++) {
        }
        jute_write_int(b, n);
        for (int32_t k = 0; k < n; k++) {
            jute_write_str(b, lists[i][k]);
        }
    }
    jute_patch_int(b, start, (int32_t)(b->len - start - 4));
}

static const char *const none[] = {NULL};

static void set_watches(struct pair *p, int64_t seen, const char *const *persistent,
                        const char *const *recursive)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    append_set_watches(&b, seen, persistent, recursive);
    fixture_send(&p->f, p->back, strbuf_bytes(&b));
    strbuf_fini(&b);
}

static const char *trace(struct pair *p)
{
    return fixture_trace(&p->f, p->back);
}

static const char *come_back(struct pair *p, int64_t seen, const char *const *persistent,
                             const char *const *recursive)
{
    set_watches(p, seen, persistent, recursive);
    return trace(p);
}

#define PATHS(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

/* ---- what is told ---- */

static void what_was_missed_is_told_in_order_and_before_the_answer(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, NULL);
    fixture_create(&p.f, p.writer, "/a", "", 0); /* 3 */
    fixture_create(&p.f, p.writer, "/a/b", "", 0);
    fixture_set(&p.f, p.writer, "/a/b", "x");
    fixture_delete(&p.f, p.writer, "/a/b");
    fixture_create(&p.f, p.writer, "/ab", "", 0);
    assert_string_equal(come_back(&p, 3, PATHS("/a"), none),
                        "children /a @4\nchildren /a @6\n-8 OK @7\n");
    assert_string_equal(come_back(&p, 2, none, PATHS("/a/b", "/a")),
                        "created /a @3\ncreated /a/b @4\nchanged /a/b @5\ndeleted /a/b @6\n"
                        "-8 OK @7\n");
    fixture_set(&p.f, p.writer, "/ab", "x"); /* and from here on they are watches as any other */
    fixture_create(&p.f, p.writer, "/a/c", "", 0);
    assert_string_equal(trace(&p), "created /a/c @9\nchildren /a @9\n");
    fixture_fini(&p.f);
}

static void a_watch_that_is_here_already_has_missed_nothing(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, NULL);
    fixture_create(&p.f, p.writer, "/a", "", 0);
    assert_string_equal(come_back(&p, 2, PATHS("/a"), none), "created /a @3\n-8 OK @3\n");
    assert_string_equal(come_back(&p, 2, PATHS("/a"), none), "-8 OK @3\n");
    assert_string_equal(come_back(&p, 2, PATHS("/a"), PATHS("/a")), "created /a @3\n-8 OK @3\n");
    fixture_fini(&p.f);
}

static void whoever_lies_about_what_it_saw_is_told_what_is_known_or_nothing(void **state)
{
    struct server_options o = fixture_options();
    struct pair p;

    (void)state;
    o.limits.changes_bytes = 16 * 256;
    begin(&p, &o);
    fixture_create(&p.f, p.writer, "/a", "", 0);
    assert_string_equal(come_back(&p, 0x700000000, PATHS("/a"), none), "-8 OK @3\n");
    assert_string_equal(come_back(&p, INT64_MAX, none, PATHS("/")), "-8 OK @3\n");
    assert_string_equal(come_back(&p, -1, none, PATHS("/a")), "-8 OK @3\n");
    assert_string_equal(come_back(&p, INT64_MIN, PATHS("/"), none), "-8 OK @3\n");
    assert_int_equal(p.f.server->stats.pawl_missed_gaps, 2);
    for (int i = 0; i < 200; i++) {
        fixture_set(&p.f, p.writer, "/a", "x");
    }
    fixture_take(&p.f, p.back);
    assert_string_equal(come_back(&p, 3, PATHS("/b"), none), "-8 OK @203\n");
    assert_int_equal(p.f.server->stats.pawl_missed_gaps, 3);
    fixture_fini(&p.f);
}

static int32_t word_of(struct pair *p)
{
    struct bytes taken = fixture_take(&p->f, p->back);
    struct jute_reader r = jute_reader_of(taken);
    struct jute_reader frame = jute_reader_of(BYTES_NULL);
    int32_t word;

    while (jute_left(&r) > 0) {
        frame = jute_reader_of(jute_read_buffer(&r));
    }
    assert_int_equal(reply_header_read(&frame).xid, XID_SET_WATCHES);
    word = jute_left(&frame) == 0 ? -1 : jute_read_int(&frame);
    assert_int_equal(jute_left(&frame), 0);
    assert_false(frame.failed);
    return word;
}

static void who_asks_for_it_is_told_whether_that_was_all(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, NULL);
    fixture_create(&p.f, p.writer, "/a", "", 0);
    set_watches(&p, 2, PATHS("/a"), none);
    assert_int_equal(word_of(&p), -1);
    set_watches(&p, 2, PATHS("/b", MISSED_EVENTS), none);
    assert_int_equal(word_of(&p), MISSED_EVENTS_TOLD);
    set_watches(&p, 2, PATHS(MISSED_EVENTS), PATHS("/c"));
    assert_int_equal(word_of(&p), MISSED_EVENTS_TOLD);
    set_watches(&p, -1, PATHS(MISSED_EVENTS), PATHS("/d"));
    assert_int_equal(word_of(&p), MISSED_EVENTS_GAP);
    assert_int_equal(watch_count(&p.f.server->watches), 4); /* that path is none of them */
    fixture_fini(&p.f);
}

static void another_tree_has_no_past_here(void **state)
{
    struct pair p;
    struct tree *other;

    (void)state;
    begin(&p, NULL);
    fixture_create(&p.f, p.writer, "/a", "", 0);
    other = tree_new(&(struct tree_options){.extended_types = true});
    tree_add_system_nodes(other);
    server_change(p.f.server, other, 100); /* a snapshot came, or the log was truncated */
    p.back = fixture_client(&p.f, 40000);
    set_watches(&p, 99, PATHS("/a", MISSED_EVENTS), none);
    assert_int_equal(word_of(&p), MISSED_EVENTS_GAP);
    set_watches(&p, 100, PATHS("/b", MISSED_EVENTS), none);
    assert_int_equal(word_of(&p), MISSED_EVENTS_TOLD);
    fixture_fini(&p.f);
}

static void the_past_outlives_a_change_of_role(void **state)
{
    struct pair p;

    (void)state;
    begin(&p, NULL);
    fixture_create(&p.f, p.writer, "/a", "", 0);
    server_change(p.f.server, p.f.server->tree, 0x100000000);
    p.back = fixture_client(&p.f, 40000);
    assert_string_equal(come_back(&p, 2, PATHS("/a"), none), "created /a @3\n-8 OK @4294967297\n");
    fixture_fini(&p.f);
}

/* ---- permissions ---- */

static const uint8_t of_bob[] = "\0\0\0\1\0\0\0\x1f\0\0\0\6digest\0\0\0\x20"
                                "bob:ikIaKsbtGweaHnb/jKn7OHqbunM=";

static struct acl_list bobs(void)
{
    return (struct acl_list){1, bytes_of(of_bob + 4, sizeof(of_bob) - 5)};
}

static void lock_node(struct pair *p, const char *path, const struct acl_list *acl)
{
    struct request q = {.type = OP_SET_ACL, .path = bytes_str(path), .version = -1, .acl = *acl};

    assert_int_equal(fixture_request(&p->f, p->writer, &q, NULL).err, PAWL_OK);
}

/* The ACL of then decides, not that of now. */
static void nobody_hears_later_what_it_would_not_have_heard_at_once(void **state)
{
    struct request secret = fixture_create_request("/secret", "", 0);
    struct acl_list bob = bobs();
    struct pair p;

    (void)state;
    begin(&p, NULL);
    secret.acl = bob;
    assert_int_equal(fixture_request(&p.f, p.writer, &secret, NULL).err, PAWL_OK); /* 3 */
    fixture_delete(&p.f, p.writer, "/secret");
    fixture_create(&p.f, p.writer, "/secret", "", 0);
    assert_string_equal(come_back(&p, 2, PATHS("/secret"), PATHS("/")),
                        "created /secret @5\n-8 OK @5\n");
    fixture_create(&p.f, p.writer, "/dir", "", 0); /* 6 */
    lock_node(&p, "/dir", &bob);                   /* 7 */
    fixture_take(&p.f, p.back);
    assert_string_equal(come_back(&p, 5, PATHS("/dir"), none), "created /dir @6\n-8 OK @7\n");
    fixture_fini(&p.f);
}

static void whose_the_parent_is_decides_about_its_children(void **state)
{
    struct acl_list bob = bobs();
    struct pair p;

    (void)state;
    begin(&p, NULL);
    fixture_create(&p.f, p.writer, "/dir", "", 0);   /* 3 */
    fixture_create(&p.f, p.writer, "/dir/a", "", 0); /* 4 */
    lock_node(&p, "/dir", &bob);                     /* 5 */
    fixture_delete(&p.f, p.writer, "/dir/a"); /* needs a right on /dir: refused, with a zxid */
    assert_string_equal(come_back(&p, 3, PATHS("/dir"), none), "children /dir @4\n-8 OK @6\n");
    fixture_fini(&p.f);
}

/* ---- one turn after the other ---- */

static struct server_options in_small_turns(void)
{
    struct server_options o = fixture_options();

    o.limits.turn_units = 2000;
    return o;
}

static int count_lines(const char *text, const char *what)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
        n++;
    }
    return n;
}

static void a_long_past_takes_turns_and_what_is_newer_waits(void **state)
{
    struct server_options o = in_small_turns();
    struct request get = fixture_path_request(OP_GET_DATA, "/a");
    struct strbuf b;
    struct pair p;
    int n_turns = 0, n_events = 0;

    (void)state;
    begin(&p, &o);
    fixture_create(&p.f, p.writer, "/a", "", 0); /* 3 */
    for (int i = 0; i < 500; i++) {
        write_a(&p); /* 4 to 503 */
    }
    strbuf_init(&b, STRBUF_NO_LIMIT);
    append_set_watches(&b, 3, none, PATHS("/"));
    fixture_frame(&b, 7, &get);
    fixture_send(&p.f, p.back, strbuf_bytes(&b));
    strbuf_fini(&b);
    assert_non_null(p.back->missed);
    assert_int_equal(p.back->input, INPUT_TURN);
    write_a(&p); /* 504 */
    while (p.back->missed != NULL) {
        const char *text = trace(&p);

        n_events += count_lines(text, "changed /a @");
        assert_null(strstr(text, "OK"));
        assert_null(strstr(text, "@504"));
        assert_true(count_lines(text, "\n") < 64);
        fixture_turn(&p.f);
        n_turns++;
    }
    assert_true(n_turns > 10);
    fixture_turn(&p.f); /* for the read behind it */
    n_events += count_lines(trace(&p), "changed /a @");
    assert_non_null(strstr(strbuf_cstr(&p.f.trace), "changed /a @504\n-8 OK @504\n7 OK @504\n"));
    assert_int_equal(n_events, 501);
    fixture_fini(&p.f);
}

static void who_does_not_read_is_told_no_more(void **state)
{
    struct server_options o = fixture_options();
    struct pair p;
    int n_takes = 0;

    (void)state;
    o.limits.output_pause_bytes = 1000;
    begin(&p, &o);
    fixture_create(&p.f, p.writer, "/a", "", 0);
    for (int i = 0; i < 1000; i++) {
        write_a(&p);
    }
    set_watches(&p, 3, PATHS("/a"), none);
    while (p.back->missed != NULL) {
        assert_int_equal(p.back->input, INPUT_OUTPUT);
        fixture_turn(&p.f);
        assert_true(connection_unread(p.back) < 4000);
        fixture_take(&p.f, p.back);
        n_takes++;
    }
    assert_true(n_takes > 10);
    fixture_fini(&p.f);
}

static void who_is_overtaken_by_the_limit_is_told_of_the_gap(void **state)
{
    struct server_options o = in_small_turns();
    struct pair p;

    (void)state;
    o.limits.changes_bytes = 16 * 1024;
    begin(&p, &o);
    fixture_create(&p.f, p.writer, "/a", "", 0);
    for (int i = 0; i < 200; i++) {
        write_a(&p);
    }
    set_watches(&p, 3, PATHS("/a", MISSED_EVENTS), none);
    assert_non_null(p.back->missed);
    for (int i = 0; i < 1000; i++) {
        write_a(&p);
    }
    fixture_turn(&p.f);
    assert_null(p.back->missed);
    assert_int_equal(word_of(&p), MISSED_EVENTS_GAP);
    fixture_fini(&p.f);
}

static void the_end_of_a_link_or_of_a_role_ends_it(void **state)
{
    struct server_options o = in_small_turns();
    struct pair p;

    (void)state;
    begin(&p, &o);
    fixture_create(&p.f, p.writer, "/a", "", 0);
    for (int i = 0; i < 200; i++) {
        write_a(&p);
    }
    set_watches(&p, 3, PATHS("/a"), none);
    write_a(&p);
    server_disconnect(p.f.server, p.back);
    p.back = fixture_client(&p.f, 40000);
    set_watches(&p, 3, PATHS("/a"), none);
    assert_non_null(p.back->missed);
    server_change(p.f.server, p.f.server->tree, p.f.server->applied_zxid);
    assert_null(p.back->missed);
    fixture_fini(&p.f);
}

static void events_that_wait_count_as_unread(void **state)
{
    struct server_options o = in_small_turns();
    struct pair p;

    (void)state;
    o.limits.output_limit_bytes = 4096;
    begin(&p, &o);
    fixture_create(&p.f, p.writer, "/a", "", 0);
    for (int i = 0; i < 200; i++) {
        write_a(&p);
    }
    set_watches(&p, 3, PATHS("/a"), none);
    for (int i = 0; i < 400; i++) {
        write_a(&p);
    }
    server_tick(p.f.server, p.f.server->now_us);
    assert_int_equal(p.back->state, CONNECTION_CLOSING);
    fixture_fini(&p.f);
}

/* A write is not taken behind it: what the client is told comes before what the write changes. */
static void behind_a_write_in_flight_it_is_as_anywhere(void **state)
{
    struct server_options o = in_small_turns();
    struct request first = fixture_set_request("/a", "1", -1);
    struct request second = fixture_set_request("/a", "2", -1);
    struct strbuf b;
    struct pair p;

    (void)state;
    begin(&p, &o);
    fixture_create(&p.f, p.writer, "/a", "", 0); /* 3 */
    for (int i = 0; i < 200; i++) {
        write_a(&p);
    }
    p.f.hold = true;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    fixture_frame(&b, 1, &first); /* 204 */
    append_set_watches(&b, 3, PATHS("/a"), none);
    fixture_frame(&b, 2, &second); /* 205 */
    fixture_send(&p.f, p.back, strbuf_bytes(&b));
    strbuf_fini(&b);
    assert_int_equal(fixture_in_flight(&p.f), 1);
    p.f.hold = false;
    fixture_commit_all(&p.f);
    assert_memory_equal(trace(&p), "1 OK @204\n", 10);
    for (int i = 0; i < 100; i++) {
        fixture_turn(&p.f);
    }
    assert_null(p.back->missed);
    assert_non_null(strstr(trace(&p), "changed /a @204\n-8 OK @204\nchanged /a @205\n2 OK @205\n"));
    fixture_fini(&p.f);
}

/* ---- random: two who watch the same, one of whom is away now and then ---- */

enum { N_PATHS = 6 };
static const char *const nodes[N_PATHS] = {"/a", "/b", "/a/a", "/a/b", "/a/a/a", "/b/a"};

struct twins {
    struct server_fixture f;
    struct connection *writer, *stays, *leaves;
    struct prng r;
    struct strbuf heard_by[2]; /* events as text */
    int64_t seen;
    bool with_acls;
};

static struct connection *add_credentials(struct twins *t, struct connection *c)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    jute_write_int(&b, 0);
    jute_write_int(&b, XID_AUTH);
    jute_write_int(&b, OP_AUTH);
    jute_write_int(&b, 0);
    jute_write_str(&b, "digest");
    jute_write_str(&b, "bob:pw");
    jute_patch_int(&b, 0, (int32_t)b.len - 4);
    fixture_send(&t->f, c, strbuf_bytes(&b));
    strbuf_fini(&b);
    fixture_take(&t->f, c);
    return c;
}

static void random_write(struct twins *t)
{
    const char *path = nodes[prng_below(&t->r, N_PATHS)];
    struct request create = fixture_create_request(path, "", prng_below(&t->r, 4) == 0 ? 1 : 0);

    t->writer->spent = 0;
    switch (prng_below(&t->r, 4)) {
    case 0:
        fixture_set(&t->f, t->writer, path, "x");
        break;
    case 1:
        fixture_delete(&t->f, t->writer, path);
        break;
    default:
        if (t->with_acls && prng_below(&t->r, 2) == 0) {
            create.acl = bobs();
        }
        fixture_request(&t->f, t->writer, &create, NULL);
        break;
    }
}

static const char *const persistent[] = {"/a", "/b", "/a/a", NULL};
static const char *const recursive[] = {"/a/b", "/b", NULL};

/* Only events; replies say how far it has seen. */
static void hear(struct twins *t, struct connection *c, int who)
{
    const char *line = fixture_trace(&t->f, c), *end;

    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        if (strstr(line, "OK") == NULL || strstr(line, "OK") > end) {
            strbuf_append(&t->heard_by[who], line, (size_t)(end + 1 - line));
        }
    }
}

static void return_home(struct twins *t)
{
    struct strbuf b;

    t->leaves = fixture_client(&t->f, 40000);
    if (t->with_acls) {
        add_credentials(t, t->leaves);
    }
    strbuf_init(&b, STRBUF_NO_LIMIT);
    append_set_watches(&b, t->seen, persistent, recursive);
    fixture_send(&t->f, t->leaves, strbuf_bytes(&b));
    strbuf_fini(&b);
}

static void run_twins(uint64_t seed)
{
    struct server_options o = fixture_options();
    struct twins t = {0};

    prng_seed(&t.r, seed);
    o.limits.turn_units = prng_below(&t.r, 2) == 0 ? 500 : 0;
    fixture_init(&t.f, &o);
    strbuf_init(&t.heard_by[0], STRBUF_NO_LIMIT);
    strbuf_init(&t.heard_by[1], STRBUF_NO_LIMIT);
    t.writer = add_credentials(&t, fixture_client(&t.f, 40000));
    t.with_acls = prng_below(&t.r, 2) == 0;
    return_home(&t);
    t.stays = t.leaves;
    t.seen = t.f.server->applied_zxid;
    return_home(&t);
    for (int i = 0; i < 300; i++) {
        random_write(&t);
        fixture_turn(&t.f);
        if (prng_below(&t.r, 10) == 0 && t.leaves->missed == NULL) {
            hear(&t, t.leaves, 1);
            t.seen = t.f.server->applied_zxid;
            server_disconnect(t.f.server, t.leaves);
            for (uint64_t n = prng_below(&t.r, 30); n > 0; n--) {
                random_write(&t);
            }
            return_home(&t);
        }
    }
    while (t.leaves->missed != NULL) {
        fixture_turn(&t.f);
    }
    hear(&t, t.stays, 0);
    hear(&t, t.leaves, 1);
    assert_true(t.heard_by[0].len > 1000);
    assert_string_equal(strbuf_cstr(&t.heard_by[1]), strbuf_cstr(&t.heard_by[0]));
    strbuf_fini(&t.heard_by[0]);
    strbuf_fini(&t.heard_by[1]);
    fixture_fini(&t.f);
}

static void who_was_away_has_heard_the_same_as_who_stayed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        run_twins(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_missed_is_told_in_order_and_before_the_answer),
        cmocka_unit_test(a_watch_that_is_here_already_has_missed_nothing),
        cmocka_unit_test(whoever_lies_about_what_it_saw_is_told_what_is_known_or_nothing),
        cmocka_unit_test(who_asks_for_it_is_told_whether_that_was_all),
        cmocka_unit_test(another_tree_has_no_past_here),
        cmocka_unit_test(the_past_outlives_a_change_of_role),
        cmocka_unit_test(nobody_hears_later_what_it_would_not_have_heard_at_once),
        cmocka_unit_test(whose_the_parent_is_decides_about_its_children),
        cmocka_unit_test(a_long_past_takes_turns_and_what_is_newer_waits),
        cmocka_unit_test(who_does_not_read_is_told_no_more),
        cmocka_unit_test(who_is_overtaken_by_the_limit_is_told_of_the_gap),
        cmocka_unit_test(the_end_of_a_link_or_of_a_role_ends_it),
        cmocka_unit_test(events_that_wait_count_as_unread),
        cmocka_unit_test(behind_a_write_in_flight_it_is_as_anywhere),
        cmocka_unit_test(who_was_away_has_heard_the_same_as_who_stayed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
