/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/config.h"

#include "lib/test.h"

/* A configuration from its text, which has to be one. */
static struct quorum_config config_of(const char *text)
{
    struct quorum_config c;
    struct strbuf why;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    if (!quorum_config_read(&c, bytes_str(text), &why)) {
        fail_msg("%s: %s", text, strbuf_cstr(&why));
    }
    strbuf_fini(&why);
    return c;
}

static void assert_text(const struct quorum_config *c, const char *expected)
{
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    quorum_config_write(c, &out);
    assert_string_equal(strbuf_cstr(&out), expected);
    strbuf_fini(&out);
}

static void assert_refused(const char *text, const char *because)
{
    struct quorum_config c;
    struct strbuf why;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    if (quorum_config_read(&c, bytes_str(text), &why)) {
        fail_msg("\"%s\" was taken for a configuration", text);
    }
    if (strstr(strbuf_cstr(&why), because) == NULL) {
        fail_msg("\"%s\" was refused because \"%s\", not \"%s\"", text, strbuf_cstr(&why), because);
    }
    assert_int_equal(c.n_members, 0);
    strbuf_fini(&why);
}

static struct quorum_set set_of(const struct quorum_config *c, const char *ids)
{
    struct quorum_set set = QUORUM_SET_EMPTY;

    for (; *ids != '\0'; ids++) {
        quorum_set_add(&set, quorum_config_find(c, *ids - '0'));
    }
    return set;
}

static void assert_quorum(const struct quorum_config *c, const char *ids, bool expected)
{
    struct quorum_set set = set_of(c, ids);

    if (quorum_config_contains(c, &set) != expected) {
        fail_msg("servers \"%s\" are %s quorum", ids, expected ? "not taken for a" : "taken for a");
    }
}

#define THREE                                                         \
    "server.1=a:1:2:participant\nserver.2=b:1:2:participant\nserver." \
    "3=c:1:2:participant\n"

static void more_than_half_of_the_voters_are_a_quorum(void **state)
{
    struct quorum_config three = config_of(THREE "server.4=d:1:2:observer\nversion=0");
    struct quorum_config four = config_of(THREE "server.4=d:1:2:participant\nversion=0");
    struct quorum_config one = config_of("server.7=a:1:2\nversion=0");

    (void)state;
    assert_int_equal(three.n_voters, 3);
    assert_quorum(&three, "", false);
    assert_quorum(&three, "1", false);
    assert_quorum(&three, "13", true);
    assert_quorum(&three, "123", true);
    assert_quorum(&three, "34", false); /* an observer does not count */
    assert_quorum(&four, "12", false);
    assert_quorum(&four, "124", true);
    assert_quorum(&one, "", false);
    assert_quorum(&one, "7", true);
    quorum_config_fini(&three);
    quorum_config_fini(&four);
    quorum_config_fini(&one);
}

#define NINE                                                                                  \
    "server.1=a:1:2\nserver.2=a:1:2\nserver.3=a:1:2\nserver.4=a:1:2\nserver.5=a:1:2\nserver." \
    "6=a:1:2\nserver.7=a:1:2\nserver.8=a:1:2\nserver.9=a:1:2\ngroup.1=1:2:3\ngroup.2=4:5:6\n" \
    "group.3=7:8:9\n"

static void groups_are_won_by_weight_and_counted(void **state)
{
    struct quorum_config c = config_of(NINE "version=0");

    (void)state;
    assert_true(c.hierarchical);
    assert_quorum(&c, "1245", true); /* two of three groups, by two of three each */
    assert_quorum(&c, "123", false); /* one group */
    assert_quorum(&c, "123456789", true);
    assert_quorum(&c, "12378", true);
    assert_quorum(&c, "147", false); /* none */
    assert_quorum(&c, "1234", false);
    quorum_config_fini(&c);
}

static void weights_count_and_groups_without_any_do_not(void **state)
{
    struct quorum_config c =
        config_of(NINE "weight.1=3\nweight.4=0\nweight.7=0\nweight.8=0\nweight.9=0\nversion=0");

    (void)state;
    assert_int_equal(quorum_config_weight(&c, 1), 3);
    assert_int_equal(quorum_config_weight(&c, 2), 1);
    assert_int_equal(quorum_config_weight(&c, 4), 0);
    assert_int_equal(quorum_config_weight(&c, 11), 0);
    assert_quorum(&c, "156", true); /* 3 of 5, 2 of 2; the third group has no weight */
    assert_quorum(&c, "23", false); /* 2 of 5 */
    assert_quorum(&c, "2356", false);
    assert_quorum(&c, "145", false); /* 1 of 2 is not more than half */
    assert_quorum(&c, "178", false); /* one group of two */
    quorum_config_fini(&c);
}

static void the_recorded_text_survives_both_directions(void **state)
{
    static const char *const texts[] = {
        "server.1=127.0.0.1:22221:22231:participant\nserver.2=127.0.0.1:22222:22232:participant\n"
        "server.3=127.0.0.1:22223:22233:participant\nversion=0",
        "server.1=127.0.0.1:22221:22231:participant;127.0.0.1:22211\n"
        "server.4=127.0.0.1:22224:22234:observer;127.0.0.1:22214\nversion=100000000",
        "server.1=h1:1:2|h2:1:2:participant;0.0.0.0:3\nversion=7fffffffffffffff",
        "server.1=[0:0:0:0:0:0:0:1]:1:2:participant;[0:0:0:0:0:0:0:0]:3\nversion=0",
        "server.1=a:1:2:participant\nserver.2=b:1:2:participant\nserver.300=c:1:2:observer\n"
        "group.0=2\ngroup.7=1\nweight.1=0\nweight.2=5\nversion=0",
        "server.1=a:1:2:participant;;0.0.0.0:3\nversion=0",
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        struct quorum_config c = config_of(texts[i]);

        assert_text(&c, texts[i]);
        quorum_config_fini(&c);
    }
}

static void what_is_short_for_something_is_written_in_full(void **state)
{
    struct quorum_config c = config_of("# the lines of a file\nversion : 1F\n"
                                       "server.3=c:5:6:OBSERVER\n"
                                       "server.1 = b:3:4|a:1:2;\\\n   2181\n");

    (void)state;
    assert_text(&c, "server.1=a:1:2|b:3:4:participant;0.0.0.0:2181\n"
                    "server.3=c:5:6:observer\nversion=1f");
    assert_string_equal(c.member[0].address[0].host, "b"); /* kept in the order of the line */
    quorum_config_fini(&c);
    c = config_of("weight.2=4\ngroup.5=1:2\nserver.2=b:1:2\nserver.1=a:1:2");
    assert_text(&c, "server.1=a:1:2:participant\nserver.2=b:1:2:participant\ngroup.5=1:2\n"
                    "weight.1=1\nweight.2=4\nversion=0");
    quorum_config_fini(&c);
}

/* As Java writes them; what is no address stays as it is. */
static void addresses_of_ipv6_are_written_in_eight_groups(void **state)
{
    static const struct {
        const char *given, *written;
    } hosts[] = {
        {"::1", "0:0:0:0:0:0:0:1"},
        {"::", "0:0:0:0:0:0:0:0"},
        {"fe80::", "fe80:0:0:0:0:0:0:0"},
        {"FE80::00a:B", "fe80:0:0:0:0:0:a:b"},
        {"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"},
        {"1:2:3::5:6:7:8", "1:2:3:0:5:6:7:8"},
        {"1::2::3", "1::2::3"},
        {"1:2:3", "1:2:3"},
        {"1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8:9"},
        {"1:2:3:4:5:6:7:8::", "1:2:3:4:5:6:7:8::"},
        {"12345::", "12345::"},
        {"1:", "1:"},
        {":1", ":1"},
        {"fe80::1%eth0", "fe80::1%eth0"},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(hosts); i++) {
        char given[128], written[128];
        struct quorum_config c;

        snprintf(given, sizeof(given), "server.1=[%s]:1:2:participant\nversion=0", hosts[i].given);
        snprintf(written, sizeof(written), "server.1=[%s]:1:2:participant\nversion=0",
                 hosts[i].written);
        c = config_of(given);
        assert_text(&c, written);
        quorum_config_fini(&c);
    }
}

static void what_a_peer_must_not_say_is_refused(void **state)
{
    (void)state;
    assert_refused("", "no voter");
    assert_refused("version=0", "no voter");
    assert_refused("server.1=a:1:2:observer\nversion=0", "no voter");
    assert_refused(THREE "dataDir=/tmp\nversion=0", "Unrecognised parameter: dataDir");
    assert_refused(THREE "server.x=a:1:2", "Unrecognised parameter: server.x");
    assert_refused(THREE "server.-4=a:1:2", "Unrecognised parameter");
    assert_refused(THREE "server.99999999999999999999=a:1:2", "Unrecognised parameter");
    assert_refused(THREE "server.1=a:1:2", "there is a server 1 already");
    assert_refused(THREE "version=", "version");
    assert_refused(THREE "version=-1", "version");
    assert_refused(THREE "version=8000000000000000", "version");
    assert_refused(THREE "version=0\nversion=1", "version");
    assert_refused(THREE "version=0x1", "version");
    assert_refused(THREE "group.1=1:2", "Server 3 is not in a group");
    assert_refused(THREE "group.1=1:2\ngroup.2=2:3", "Server 2 is in multiple groups");
    assert_refused(THREE "group.1=1:x:3", "\"x\" is not a number");
    assert_refused(THREE "weight.1=-1", "is no weight");
    assert_refused(THREE "weight.1=2147483648", "is no weight");
    assert_refused(THREE "weight.1=1", "Server 1 is not in a group");
    assert_refused("server.1=a\\u0000b:1:2", "zero byte");
    assert_refused("server.1=\xff:1:2", "bytes that no configuration has");
    assert_refused("server.1=a\\nb:1:2", "does not have the form");
    assert_refused("server.1=a\\\\b:1:2", "does not have the form");
    assert_refused("server.1=:1:2", "does not have the form");
    assert_refused("server.1=a:1", "does not have the form");
    assert_refused("server.1=a:1:2:participant:5", "does not have the form");
    assert_refused("server.1=a:1:2;b:3:4", "does not have the form");
    assert_refused("server.1=a:1:2;1;2;3", "does not have the form");
    assert_refused("server.1=[::1:1:2", "no matching");
    assert_refused("server.1=a:1:70000", "port out of range");
    assert_refused("server.1=a:1:-1", "port out of range");
    assert_refused("server.1=a:b:1", "a port is a number");
    assert_refused("server.1=a:2:2", "must be different");
    assert_refused("server.1=a:1:2:leader", "Unrecognised peertype: leader");
    assert_refused("server.1=a:1:2:observers", "Unrecognised peertype: observers");
    assert_refused("server.1=a:1:2:observer|b:1:2:participant", "similar type");
    assert_refused("server.1=a:1:2\\u12", "line 1");
}

static void an_ensemble_has_its_largest_size(void **state)
{
    struct quorum_config c;
    struct strbuf why;

    (void)state;
    strbuf_init(&why, STRBUF_NO_LIMIT);
    quorum_config_init(&c);
    for (int i = QUORUM_MEMBERS_MAX; i > 0; i--) {
        assert_true(quorum_config_add_server(&c, i, "a:1:2", false, &why));
    }
    assert_false(quorum_config_add_server(&c, 300, "a:1:2", false, &why));
    assert_int_equal(c.n_voters, QUORUM_MEMBERS_MAX);
    assert_int_equal(c.member[0].id, 1);
    assert_int_equal(quorum_config_find(&c, QUORUM_MEMBERS_MAX), QUORUM_MEMBERS_MAX - 1);
    assert_int_equal(quorum_config_find(&c, 0), -1);
    assert_true(quorum_set_has(&c.voters, QUORUM_MEMBERS_MAX - 1));
    strbuf_fini(&why);
    quorum_config_fini(&c);
}

/* A sentence that has no room does not make a text right. */
static void it_is_refused_without_room_for_the_reason(void **state)
{
    struct quorum_config c;
    struct strbuf why;

    (void)state;
    strbuf_init(&why, 0);
    assert_false(quorum_config_read(&c, bytes_str("server.1=[a:1:2"), &why));
    assert_false(quorum_config_read(&c, bytes_str("x=y"), &why));
    assert_false(quorum_config_read(&c, bytes_str(THREE "version=g"), &why));
    assert_false(quorum_config_read(&c, bytes_str(THREE "group.1=1"), &why));
    strbuf_fini(&why);
}

static void a_copy_is_the_same_and_of_its_own(void **state)
{
    struct quorum_config a = config_of(
        "server.1=a:1:2|b:1:2;c:3;d:4\nserver.2=[::1]:1:2:observer\ngroup.1=1\nweight.1=2\n"
        "version=5");
    struct quorum_config b;
    struct strbuf text, copied;

    (void)state;
    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_init(&copied, STRBUF_NO_LIMIT);
    quorum_config_write(&a, &text);
    quorum_config_copy(&b, &a);
    quorum_config_fini(&a);
    quorum_config_write(&b, &copied);
    assert_string_equal(strbuf_cstr(&copied), strbuf_cstr(&text));
    quorum_config_fini(&b);
    strbuf_fini(&text);
    strbuf_fini(&copied);
}

static void the_same_voter_is_one_at_the_same_address(void **state)
{
    struct quorum_config a = config_of(THREE "version=5");
    struct quorum_config b =
        config_of("server.1=a:1:2\nserver.2=b:1:3\nserver.3=c:1:2:observer\nversion=6");

    (void)state;
    assert_true(quorum_config_same_voter(&a, &b, 1));
    assert_false(quorum_config_same_voter(&a, &b, 2)); /* elsewhere */
    assert_false(quorum_config_same_voter(&a, &b, 3)); /* an observer */
    assert_false(quorum_config_same_voter(&a, &b, 4));
    quorum_config_fini(&a);
    quorum_config_fini(&b);
}

static void equal_are_the_same_version_or_the_same_members(void **state)
{
    struct quorum_config a = config_of(THREE "version=5");
    struct quorum_config same_version = config_of("server.9=x:1:2\nversion=5");
    struct quorum_config same_members = config_of(THREE "version=6");
    static const char *const different[] = {
        "server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2:observer\nversion=6",
        "server.1=a:1:2\nserver.2=b:1:2\nserver.4=c:1:2\nversion=6",
        "server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:3\nversion=6",
        "server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:3:2\nversion=6",
        "server.1=a:1:2\nserver.2=b:1:2\nserver.3=d:1:2\nversion=6",
        "server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2;1\nversion=6",
        "server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2|d:1:2\nversion=6",
        "server.1=a:1:2\nserver.2=b:1:2\nversion=6",
    };

    (void)state;
    assert_true(quorum_config_equal(&a, &same_version));
    assert_true(quorum_config_equal(&a, &same_members));
    for (size_t i = 0; i < TEST_COUNT(different); i++) {
        struct quorum_config b = config_of(different[i]);

        assert_false(quorum_config_equal(&a, &b));
        quorum_config_fini(&b);
    }
    quorum_config_fini(&a);
    quorum_config_fini(&same_version);
    quorum_config_fini(&same_members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_half_of_the_voters_are_a_quorum),
        cmocka_unit_test(groups_are_won_by_weight_and_counted),
        cmocka_unit_test(weights_count_and_groups_without_any_do_not),
        cmocka_unit_test(the_recorded_text_survives_both_directions),
        cmocka_unit_test(what_is_short_for_something_is_written_in_full),
        cmocka_unit_test(addresses_of_ipv6_are_written_in_eight_groups),
        cmocka_unit_test(what_a_peer_must_not_say_is_refused),
        cmocka_unit_test(an_ensemble_has_its_largest_size),
        cmocka_unit_test(it_is_refused_without_room_for_the_reason),
        cmocka_unit_test(a_copy_is_the_same_and_of_its_own),
        cmocka_unit_test(the_same_voter_is_one_at_the_same_address),
        cmocka_unit_test(equal_are_the_same_version_or_the_same_members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
