/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/config_change.h"

#include <stdlib.h>

#include "base/memory.h"
#include "lib/test.h"
#include "pawl/error.h"

#define ONE    "server.1=10.0.0.1:2888:3888:participant;0.0.0.0:2181\n"
#define TWO    "server.2=10.0.0.2:2888:3888:participant;0.0.0.0:2181\n"
#define THREE  "server.3=10.0.0.3:2888:3888:observer;0.0.0.0:2181\n"
#define BEFORE ONE TWO THREE "version=100000000"

static struct bytes text_or_null(const char *text)
{
    return text == NULL ? BYTES_NULL : bytes_str(text);
}

/* The list that comes of it, or the code: "-8". The caller frees it. */
static char *change_of(const char *before, const char *joining, const char *leaving,
                       const char *members, size_t least_voters)
{
    struct config_change change = {.joining = text_or_null(joining),
                                   .leaving = text_or_null(leaving),
                                   .members = text_or_null(members),
                                   .version = INT64_C(0x100000007),
                                   .least_voters = least_voters};
    struct quorum_config from, to;
    struct strbuf why, out;
    char *text;
    int rc;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    strbuf_init(&out, STRBUF_NO_LIMIT);
    assert_true(quorum_config_read(&from, bytes_str(before), &why));
    rc = quorum_config_change(&from, &change, &to, &why);
    assert_int_equal(rc != PAWL_OK, why.len > 0);
    if (rc == PAWL_OK) {
        quorum_config_write(&to, &out);
        quorum_config_fini(&to);
    } else {
        strbuf_printf(&out, "%d", rc);
    }
    text = must_strdup(strbuf_cstr(&out));
    quorum_config_fini(&from);
    strbuf_fini(&why);
    strbuf_fini(&out);
    return text;
}

static void assert_change(const char *joining, const char *leaving, const char *members,
                          const char *expected)
{
    char *text = change_of(BEFORE, joining, leaving, members, 2);

    assert_string_equal(text, expected);
    free(text);
}

static void some_join_and_some_leave(void **state)
{
    (void)state;
    assert_change("server.5=h:1:2;3", "3", NULL,
                  ONE TWO "server.5=h:1:2:participant;0.0.0.0:3\nversion=100000007");
    assert_change(" 4 = h:1:2:observer;c:3 , , server.5=i:1:2;3", " 3 ,,", NULL,
                  ONE TWO "server.4=h:1:2:observer;c:3\nserver.5=i:1:2:participant;0.0.0.0:3\n"
                          "version=100000007");
    assert_change(NULL, NULL, NULL, ONE TWO THREE "version=100000007");
    assert_change("", "", NULL, ONE TWO THREE "version=100000007");
    assert_change(NULL, "77", NULL, ONE TWO THREE "version=100000007"); /* as Apache's */
}

static void who_joins_takes_the_place_of_its_number(void **state)
{
    (void)state;
    assert_change("server.3=10.0.0.3:2888:3888;2181", NULL, NULL,
                  ONE TWO "server.3=10.0.0.3:2888:3888:participant;0.0.0.0:2181\n"
                          "version=100000007");
    assert_change("server.1=10.0.0.9:1:2;3", "1", NULL,
                  "server.1=10.0.0.9:1:2:participant;0.0.0.0:3\n" TWO THREE "version=100000007");
}

static void a_whole_list_takes_the_place_of_the_one_before(void **state)
{
    (void)state;
    assert_change("this,is", "not looked at", "server.7=a:1:2;3,server.8=b:1:2;3\nversion=5",
                  "server.7=a:1:2:participant;0.0.0.0:3\nserver.8=b:1:2:participant;0.0.0.0:3\n"
                  "version=100000007");
    assert_change(NULL, NULL, "server.7=a:1:2,server.8=b:1:2,group.1=7:8,weight.7=2",
                  "server.7=a:1:2:participant\nserver.8=b:1:2:participant\ngroup.1=7:8\n"
                  "weight.7=2\nweight.8=1\nversion=100000007");
}

static void what_cannot_be_is_refused_as_apaches_does(void **state)
{
    static const struct {
        const char *joining, *leaving, *members;
        int code;
    } cases[] = {
        {"some thing", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"server.4=", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"=h:1:2;3", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"server.4=h:1:2;3=4", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"server.4=h:1:2", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"server.4=h:1:2;;3", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"server.4=h|i:1:2;3", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"server.-4=h:1:2;3", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"server.x=h:1:2;3", NULL, NULL, PAWL_ERR_MARSHALLING},
        {NULL, "x", NULL, PAWL_ERR_MARSHALLING},
        {NULL, "1 2", NULL, PAWL_ERR_MARSHALLING},
        {NULL, "2", NULL, PAWL_ERR_BAD_ARGUMENTS},
        {NULL, "1,2,3", NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"server.2=10.0.0.2:1:2:observer;3", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {NULL, NULL, "", PAWL_ERR_BAD_ARGUMENTS},
        {NULL, NULL, "server.1=a:1:2", PAWL_ERR_BAD_ARGUMENTS},
        {NULL, NULL, "server.1=a:1:2,server.2=b:1:2:observer", PAWL_ERR_MARSHALLING},
        {NULL, NULL, "server.2=b:1:2:observer", PAWL_ERR_MARSHALLING},
        {NULL, NULL, "server.1=a:1:2,server.2=b:1:2,syncLimit=5", PAWL_ERR_BAD_ARGUMENTS},
        {NULL, NULL, "server.1=a:1:2,server.x=b:1:2", PAWL_ERR_MARSHALLING},
        {NULL, NULL, "server.1=a:1:2,server.2=b:1:2,version=x", PAWL_ERR_MARSHALLING},
        {NULL, NULL, "server.1=a:1:2,server.2=b:1:2,group.1=1", PAWL_ERR_BAD_ARGUMENTS},
        {NULL, NULL, "server.1=a:1:2|b:1:2,server.2=c:1:2", PAWL_ERR_BAD_ARGUMENTS},
        /* Apache's takes these. */
        {"server.4=h:1:2;3,server.4=i:1:2;3", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"server.4=10.0.0.1:2888:9;3", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"server.4=10.0.0.1:9:2888;3", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {"server.4=h:9:8;10.0.0.1:3888", NULL, NULL, PAWL_ERR_BAD_ARGUMENTS},
        {NULL, NULL, "server.1=a:1:2,server.2=b:1:2,server.1=c:1:2", PAWL_ERR_BAD_ARGUMENTS},
        {NULL, NULL, "server.1=a:1:2,server.2=a:2:3", PAWL_ERR_BAD_ARGUMENTS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char code[16];

        snprintf(code, sizeof(code), "%d", cases[i].code);
        assert_change(cases[i].joining, cases[i].leaving, cases[i].members, code);
    }
}

static void one_voter_is_enough_where_one_server_is_an_ensemble(void **state)
{
    char *text = change_of(BEFORE, NULL, "2,3", NULL, 1);

    (void)state;
    assert_string_equal(text, ONE "version=100000007");
    free(text);
    text = change_of(BEFORE, NULL, "1,2,3", NULL, 1);
    assert_string_equal(text, "-8");
    free(text);
    text = change_of(BEFORE, NULL, NULL, "", 1);
    assert_string_equal(text, "-5");
    free(text);
}

static void groups_change_only_as_a_whole(void **state)
{
    static const char groups[] = ONE TWO "group.1=1:2\nweight.1=1\nweight.2=1\nversion=100000000";
    char *text = change_of(groups, "server.4=h:1:2;3", NULL, NULL, 2);

    (void)state;
    assert_string_equal(text, "-8");
    free(text);
    text = change_of(groups, NULL, NULL, ONE TWO, 2);
    assert_string_equal(text, ONE TWO "version=100000007");
    free(text);
}

static void an_ensemble_has_its_most_members(void **state)
{
    struct strbuf joining;
    char *text;

    (void)state;
    strbuf_init(&joining, STRBUF_NO_LIMIT);
    for (int i = 0; i < QUORUM_MEMBERS_MAX - 3; i++) {
        strbuf_printf(&joining, "%d=h%d:1:2;3,", i + 10, i);
    }
    text = change_of(BEFORE, strbuf_cstr(&joining), NULL, NULL, 2);
    assert_int_not_equal(text[0], '-');
    free(text);
    strbuf_append_str(&joining, "1000=i:1:2;3");
    text = change_of(BEFORE, strbuf_cstr(&joining), NULL, NULL, 2);
    assert_string_equal(text, "-8");
    free(text);
    strbuf_fini(&joining);
}

static void a_list_is_short_enough_for_an_election(void **state)
{
    struct strbuf joining;
    char *text;

    (void)state;
    strbuf_init(&joining, STRBUF_NO_LIMIT);
    strbuf_append_str(&joining, "4=");
    for (int i = 0; i < 256 << 10; i++) {
        strbuf_append_str(&joining, "h");
    }
    strbuf_append_str(&joining, ":1:2;3");
    text = change_of(BEFORE, strbuf_cstr(&joining), NULL, NULL, 2);
    assert_string_equal(text, "-8");
    free(text);
    strbuf_fini(&joining);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_join_and_some_leave),
        cmocka_unit_test(who_joins_takes_the_place_of_its_number),
        cmocka_unit_test(a_whole_list_takes_the_place_of_the_one_before),
        cmocka_unit_test(what_cannot_be_is_refused_as_apaches_does),
        cmocka_unit_test(one_voter_is_enough_where_one_server_is_an_ensemble),
        cmocka_unit_test(groups_change_only_as_a_whole),
        cmocka_unit_test(an_ensemble_has_its_most_members),
        cmocka_unit_test(a_list_is_short_enough_for_an_election),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
