/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/commands.h"

#include <jansson.h>
#include <stdlib.h>

#include "daemon/config.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "server/report_json.h"

struct asking {
    struct server_fixture f;
    struct config config;
    struct strbuf out;
    struct command_limits limits;
    const char *authorization, *body, *trace_mask;
    json_t *answer;
};

static void begin(struct asking *a)
{
    *a = (struct asking){0};
    fixture_init(&a->f, NULL);
    config_init(&a->config);
    strbuf_init(&a->out, STRBUF_NO_LIMIT);
}

static void end(struct asking *a)
{
    json_decref(a->answer);
    strbuf_fini(&a->out);
    config_fini(&a->config);
    fixture_fini(&a->f);
}

static const char *text_of(const struct asking *a, const char *name)
{
    return json_string_value(json_object_get(a->answer, name));
}

/* Whatever it is, the body is JSON and has `command`. */
static int ask(struct asking *a, const char *name)
{
    struct command_world world = {.config = &a->config,
                                  .members = &a->config.ensemble.quorum,
                                  .file_text = "tickTime=1\n",
                                  .limits = &a->limits};
    struct command_request q = {.command = command_find(name),
                                .spelled = name,
                                .trace_mask = a->trace_mask,
                                .authorization = a->authorization,
                                .ip = "127.0.0.1",
                                .body = a->body == NULL ? BYTES_NULL : bytes_str(a->body)};
    int status;

    assert_non_null(q.command);
    strbuf_clear(&a->out);
    status = command_run(&world, a->f.server, &q, &a->out);
    json_decref(a->answer);
    a->answer = json_loadb((const char *)a->out.data, a->out.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(a->answer);
    assert_non_null(text_of(a, "command"));
    assert_true(json_object_get(a->answer, "error") != NULL);
    return status;
}

static void names_and_aliases_lead_to_the_same(void **state)
{
    (void)state;
    assert_ptr_equal(command_find("mntr"), command_find("monitor"));
    assert_ptr_equal(command_find("conf"), command_find("config"));
    assert_null(command_find(""));
    assert_null(command_find("Monitor"));
    assert_null(command_find("monitor/"));
}

static void a_server_that_does_not_serve_says_so(void **state)
{
    struct asking a;

    (void)state;
    begin(&a);
    a.f.role.kind = ROLE_NONE;
    assert_int_equal(ask(&a, "srvr"), 200);
    assert_string_equal(text_of(&a, "command"), "srvr"); /* as it was asked, like Apache's */
    assert_string_equal(text_of(&a, "error"), command_not_serving);
    assert_int_equal(ask(&a, "mntr"), 200);
    assert_string_equal(text_of(&a, "server_state"), "looking");
    assert_true(json_is_null(json_object_get(a.answer, "error")));
    a.f.role.kind = ROLE_ALONE;
    assert_int_equal(ask(&a, "srvr"), 200);
    assert_string_equal(text_of(&a, "command"), "server_stats");
    end(&a);
}

static void what_is_reset_begins_anew(void **state)
{
    struct asking a;
    struct connection *c;

    (void)state;
    begin(&a);
    c = fixture_client(&a.f, 10000);
    fixture_ping(&a.f, c);
    assert_true(c->stats.received > 0);
    ask(&a, "crst");
    assert_int_equal(c->stats.received, 0);
    assert_true(a.f.server->stats.packets_received > 0);
    ask(&a, "srst");
    assert_int_equal(a.f.server->stats.packets_received, 0);
    end(&a);
}

static void connections_are_listed_by_their_port(void **state)
{
    struct peer secure = {.ip = "10.0.0.1", .port = 7, .is_secure = true};
    static const char *const names[] = {"cons", "stat"};
    struct asking a;

    (void)state;
    begin(&a);
    fixture_connect(&a.f);
    server_connect(a.f.server, &secure, NULL);
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        const json_t *list;

        assert_int_equal(ask(&a, names[i]), 200);
        assert_int_equal(json_array_size(json_object_get(a.answer, "connections")), 1);
        list = json_object_get(a.answer, "secure_connections");
        assert_int_equal(json_array_size(list), 1);
        assert_string_equal(
            json_string_value(json_object_get(json_array_get(list, 0), "remote_socket_address")),
            "10.0.0.1:7");
    }
    end(&a);
}

static void a_trace_mask_is_a_long(void **state)
{
    struct asking a;

    (void)state;
    begin(&a);
    ask(&a, "stmk");
    assert_string_equal(text_of(&a, "error"), "setTraceMask requires long traceMask argument");
    a.trace_mask = "x1";
    ask(&a, "stmk");
    assert_string_equal(text_of(&a, "error"),
                        "setTraceMask requires long traceMask argument, got x1");
    a.trace_mask = "250";
    ask(&a, "stmk");
    assert_int_equal(json_integer_value(json_object_get(a.answer, "tracemask")), 250);
    assert_int_equal(a.f.server->trace_mask, 250);
    end(&a);
}

static void set_root_acl(struct asking *a, const char *scheme, const char *id, int32_t perms)
{
    struct connection *c = fixture_client(&a->f, 10000);
    struct acl_entry entry = {.perms = perms, .scheme = bytes_str(scheme), .id = bytes_str(id)};
    struct request q = fixture_path_request(OP_SET_ACL, "/");
    struct strbuf acl;

    strbuf_init(&acl, STRBUF_NO_LIMIT);
    acl_entry_write(&acl, &entry);
    q.acl = (struct acl_list){1, strbuf_bytes(&acl)};
    assert_int_equal(fixture_request(&a->f, c, &q, NULL).err, 0);
    strbuf_fini(&acl);
}

/* Who may do everything at the root may send clients away. */
static void sending_clients_away_needs_permission(void **state)
{
    struct asking a;

    (void)state;
    begin(&a);
    a.body = "{\"percentage\": 100}";
    assert_int_equal(ask(&a, "shed"), 401);
    assert_string_equal(text_of(&a, "error"), "Auth info is missing for the command");
    a.authorization = "kerberos x";
    assert_int_equal(ask(&a, "shed"), 401);
    assert_string_equal(text_of(&a, "error"), "Not authenticated");
    a.authorization = "ip";
    assert_int_equal(ask(&a, "shed"), 200); /* the root is open */
    set_root_acl(&a, "digest", "bob:cgU3qZj0DBS7JfzAvDKxO7CZ2MY=", PERM_ALL);
    fixture_client(&a.f, 10000);
    assert_int_equal(ask(&a, "shed"), 403);
    assert_string_equal(text_of(&a, "error"), "Not authorized");
    a.authorization = "digest bob:wrong";
    assert_int_equal(ask(&a, "shed"), 403);
    end(&a);
}

static void some_permissions_are_not_all(void **state)
{
    struct asking a;

    (void)state;
    begin(&a);
    a.body = "{\"percentage\": 100}";
    a.authorization = "ip";
    set_root_acl(&a, "world", "anyone", PERM_ALL & ~PERM_ADMIN);
    assert_int_equal(ask(&a, "shed"), 403);
    end(&a);
}

static void clients_are_sent_away(void **state)
{
    struct asking a;
    struct connection *c;

    (void)state;
    begin(&a);
    c = fixture_client(&a.f, 10000);
    fixture_connect(&a.f); /* has no session yet: not counted */
    a.authorization = "ip";
    a.body = "{\"percentage\": 0}";
    assert_int_equal(ask(&a, "shed"), 200);
    assert_int_equal(c->state, CONNECTION_SERVING);
    a.body = "{}";
    assert_int_equal(ask(&a, "shed"), 400);
    a.body = "{\"percentage\": 100}";
    assert_int_equal(ask(&a, "shed"), 200);
    assert_int_equal(json_integer_value(json_object_get(a.answer, "connections_shed")), 1);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    end(&a);
}

/* A write of theirs would be answered to nobody. */
static void who_is_in_the_middle_of_something_stays(void **state)
{
    struct connection *idle, *half, *busy, *unread;
    struct asking a;

    (void)state;
    begin(&a);
    idle = fixture_client(&a.f, 10000);
    half = fixture_client(&a.f, 10000);
    busy = fixture_client(&a.f, 10000);
    unread = fixture_client(&a.f, 10000);
    strbuf_append_str(&half->in, "half a request");
    busy->in_flight_bytes = 100;
    strbuf_append_str(&unread->out, "an answer");
    a.authorization = "ip";
    a.body = "{\"percentage\": 100}";
    assert_int_equal(ask(&a, "shed"), 200);
    assert_int_equal(json_integer_value(json_object_get(a.answer, "connections_shed")), 1);
    assert_int_equal(idle->state, CONNECTION_CLOSING);
    assert_int_equal(half->state, CONNECTION_SERVING);
    assert_int_equal(busy->state, CONNECTION_SERVING);
    assert_int_equal(unread->state, CONNECTION_SERVING);
    strbuf_clear(&half->in);
    strbuf_clear(&unread->out);
    busy->in_flight_bytes = 0;
    end(&a);
}

static void as_many_go_as_are_to_go(void **state)
{
    struct asking a;

    (void)state;
    begin(&a);
    for (int i = 0; i < 10; i++) {
        fixture_client(&a.f, 10000);
    }
    a.authorization = "ip";
    a.body = "{\"percentage\": 30}";
    assert_int_equal(ask(&a, "shed"), 200);
    assert_int_equal(json_integer_value(json_object_get(a.answer, "connections_shed")), 3);
    end(&a);
}

static void a_snapshot_takes_permission_and_time(void **state)
{
    struct asking a;

    (void)state;
    begin(&a);
    a.config.admin.snapshot_enabled = true;
    a.config.admin.rate_limit_ms = 5000;
    assert_int_equal(ask(&a, "snapshot"), 401);
    a.authorization = "ip";
    assert_int_equal(ask(&a, "snapshot"), COMMAND_GOES_ON);
    assert_int_equal(ask(&a, "snap"), 429);
    assert_true(json_is_null(json_object_get(a.answer, "error")));
    assert_in_range(a.limits.retry_after_s, 1, 5);
    a.f.server->now_us += 5000 * 1000;
    assert_int_equal(ask(&a, "snapshot"), COMMAND_GOES_ON);
    a.config.admin.snapshot_enabled = false;
    assert_int_equal(ask(&a, "snapshot"), 503);
    a.f.role.kind = ROLE_NONE;
    assert_int_equal(ask(&a, "snapshot"), 200);
    assert_string_equal(text_of(&a, "error"), command_not_serving);
    a.f.role.kind = ROLE_ALONE;
    end(&a);
}

static void a_restore_takes_permission_and_a_server_alone(void **state)
{
    struct asking a;

    (void)state;
    begin(&a);
    a.config.admin.restore_enabled = true;
    a.config.admin.rate_limit_ms = 5000;
    assert_true(command_takes_post(command_find("restore")));
    assert_true(command_takes_upload(command_find("rest")));
    assert_int_equal(ask(&a, "restore"), 401);
    a.authorization = "ip";
    a.f.role.kind = ROLE_FOLLOWER;
    assert_int_equal(ask(&a, "restore"), 409);
    assert_non_null(strstr(text_of(&a, "error"), "is not restored alone"));
    a.f.role.kind = ROLE_ALONE;
    assert_int_equal(ask(&a, "restore"), COMMAND_GOES_ON);
    assert_int_equal(ask(&a, "rest"), 429);
    a.config.admin.restore_enabled = false;
    assert_int_equal(ask(&a, "restore"), 503);
    set_root_acl(&a, "world", "anyone", PERM_ALL & ~PERM_ADMIN);
    assert_int_equal(ask(&a, "restore"), 403);
    end(&a);
}

static void watch_many(struct asking *a, int n)
{
    struct connection *c = fixture_client(&a->f, 10000);
    char path[64];

    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "/watched-%06d", i);
        fixture_exists(&a->f, c, path, true);
    }
}

static void a_list_that_is_too_long_is_refused(void **state)
{
    struct asking a;

    (void)state;
    begin(&a);
    watch_many(&a, 25001);
    ask(&a, "wchp");
    assert_non_null(strstr(text_of(&a, "error"), "25001 rows"));
    assert_null(json_object_get(a.answer, "path_to_session_ids"));
    ask(&a, "wchs");
    assert_int_equal(json_integer_value(json_object_get(a.answer, "num_total_watches")), 25001);
    end(&a);
}

/* Paths may be as long as a megabyte. */
static void a_list_ends_at_its_bytes(void **state)
{
    char *path = malloc(900001);
    struct asking a;
    struct connection *c;

    (void)state;
    begin(&a);
    c = fixture_client(&a.f, 10000);
    memset(path, 'x', 900000);
    path[0] = '/';
    path[900000] = '\0';
    for (int i = 0; i < 12; i++) {
        path[1] = (char)('a' + i);
        fixture_exists(&a.f, c, path, true);
    }
    for (int i = 0; i < 2; i++) {
        ask(&a, i == 0 ? "wchc" : "wchp");
        assert_int_equal(json_integer_value(json_object_get(a.answer, "left_out")), 2);
        assert_true(a.out.len < REPORT_JSON_BYTES + 1000000);
    }
    free(path);
    end(&a);
}

static void every_command_answers_in_json(void **state)
{
    static const char *const names[] = {
        "configuration", "connections", "dirs",          "dump",    "environment",
        "hash",          "icfg",        "isro",          "leader",  "monitor",
        "orst",          "observers",   "ruok",          "srvr",    "stats",
        "sysp",          "voting_view", "watch_summary", "watches", "watches_by_path",
        "zabstate",      "gtmk",        "top",
    };
    struct asking a;
    struct connection *c;

    (void)state;
    begin(&a);
    c = fixture_client(&a.f, 10000);
    fixture_create(&a.f, c, "/\"<script>\xc3\xbc", "", 1);
    fixture_get(&a.f, c, "/\"<script>\xc3\xbc", true);
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        assert_int_equal(ask(&a, names[i]), 200);
    }
    ask(&a, "icfg");
    assert_string_equal(text_of(&a, "initial_configuration"), "tickTime=1\n");
    ask(&a, "leader");
    assert_string_equal(text_of(&a, "error"), "server is not initialized");
    end(&a);
}

static void the_index_names_what_there_is(void **state)
{
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    command_index("/commands", &out);
    assert_non_null(
        strstr(strbuf_cstr(&out), "<a href=\"/commands/zabstate\">zabstate</a>\n<br/>\n"));
    assert_non_null(strstr(strbuf_cstr(&out), "snapshot\">snapshot<"));
    assert_non_null(strstr(strbuf_cstr(&out), "restore\">restore<"));
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_aliases_lead_to_the_same),
        cmocka_unit_test(a_server_that_does_not_serve_says_so),
        cmocka_unit_test(what_is_reset_begins_anew),
        cmocka_unit_test(connections_are_listed_by_their_port),
        cmocka_unit_test(a_trace_mask_is_a_long),
        cmocka_unit_test(sending_clients_away_needs_permission),
        cmocka_unit_test(some_permissions_are_not_all),
        cmocka_unit_test(clients_are_sent_away),
        cmocka_unit_test(who_is_in_the_middle_of_something_stays),
        cmocka_unit_test(as_many_go_as_are_to_go),
        cmocka_unit_test(a_snapshot_takes_permission_and_time),
        cmocka_unit_test(a_restore_takes_permission_and_a_server_alone),
        cmocka_unit_test(a_list_that_is_too_long_is_refused),
        cmocka_unit_test(a_list_ends_at_its_bytes),
        cmocka_unit_test(every_command_answers_in_json),
        cmocka_unit_test(the_index_names_what_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
