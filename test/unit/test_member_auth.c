/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/member_auth.h"

#include <stdlib.h>

#include "base/strbuf.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "sasl/login.h"
#include "wire/packet.h"

static struct sasl_login *login_of(const char *lines)
{
    struct sasl_login *l = sasl_login_new();
    char why[SASL_WHY_BYTES];

    assert_int_equal(sasl_login_read_self(l, bytes_str(lines), why, sizeof(why)), PAWL_OK);
    assert_int_equal(sasl_login_read_users(l, bytes_str(lines), why, sizeof(why)), PAWL_OK);
    return l;
}

struct pair {
    struct sasl_login *ours, *theirs;
    struct member_sasl dial_rules, accept_rules;
    struct member_auth *dials, *accepts;
    struct strbuf to_acceptor, to_dialler;
    const char *why;
};

static void pair_open(struct pair *p, const char *ours, const char *theirs, bool required)
{
    *p = (struct pair){.ours = login_of(ours), .theirs = login_of(theirs), .why = ""};
    strbuf_init(&p->to_acceptor, STRBUF_NO_LIMIT);
    strbuf_init(&p->to_dialler, STRBUF_NO_LIMIT);
    p->dial_rules = (struct member_sasl){.dials = p->ours};
    p->accept_rules = (struct member_sasl){.accepts = p->theirs, .is_required = required};
    p->dials = member_auth_dial(&p->dial_rules, "localhost", &p->to_acceptor);
    p->accepts = member_auth_accept(&p->accept_rules);
    assert_non_null(p->dials);
    assert_non_null(p->accepts);
}

static void pair_close(struct pair *p)
{
    member_auth_free(p->dials);
    member_auth_free(p->accepts);
    strbuf_fini(&p->to_acceptor);
    strbuf_fini(&p->to_dialler);
    sasl_login_unref(p->ours);
    sasl_login_unref(p->theirs);
}

static void drop(struct strbuf *b, size_t used)
{
    memmove(b->data, b->data + used, b->len - used);
    b->len -= used;
}

/* What has been said so far, a few bytes at a time. */
static enum member_auth_step hear(struct pair *p, bool accepts, size_t piece)
{
    struct strbuf *in = accepts ? &p->to_acceptor : &p->to_dialler;
    struct strbuf *out = accepts ? &p->to_dialler : &p->to_acceptor;
    enum member_auth_step step = MEMBER_AUTH_MORE;
    size_t len = 0, used;

    while (step == MEMBER_AUTH_MORE && len < in->len) {
        len = len + piece < in->len ? len + piece : in->len;
        step = member_auth_take(accepts ? p->accepts : p->dials, bytes_of(in->data, len), &used,
                                out, &p->why);
        drop(in, used);
        len = used > 0 ? 0 : len;
    }
    return step;
}

static void both_sides_know_each_other(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < 200; piece += 33) {
        struct pair p;

        pair_open(&p, "zk:secret", "zk:secret", true);
        assert_int_equal(hear(&p, true, piece), MEMBER_AUTH_MORE);
        assert_int_equal(hear(&p, false, piece), MEMBER_AUTH_MORE);
        assert_int_equal(hear(&p, true, piece), MEMBER_AUTH_DONE);
        assert_int_equal(p.to_acceptor.len, 0);
        assert_int_equal(hear(&p, false, piece), MEMBER_AUTH_DONE);
        assert_int_equal(p.to_dialler.len + p.to_acceptor.len, 0);
        pair_close(&p);
    }
}

/* Byte by byte what Java's member has been recorded to say. */
static void the_first_packet_is_javas(void **state)
{
    static const uint8_t first[] = {0x5f, 0x24, 0x35, 0x01, 0x35, 0x01, 0xed, 0xcc,
                                    0,    0,    0,    0,    0,    0,    0,    0};
    struct pair p;

    (void)state;
    pair_open(&p, "zk:secret", "zk:secret", true);
    assert_int_equal(p.to_acceptor.len, sizeof(first));
    assert_memory_equal(p.to_acceptor.data, first, sizeof(first));
    pair_close(&p);
}

static void a_wrong_password_is_told_to_both(void **state)
{
    struct pair p;

    (void)state;
    pair_open(&p, "zk:secret", "zk:other", false);
    hear(&p, true, 1000);
    hear(&p, false, 1000);
    assert_int_equal(hear(&p, true, 1000), MEMBER_AUTH_FAILED);
    assert_non_null(strstr(p.why, "SASL: "));
    assert_null(strstr(p.why, "secret"));
    assert_int_equal(hear(&p, false, 1000), MEMBER_AUTH_FAILED);
    assert_string_equal(p.why, "SASL: it does not accept our name and password");
    pair_close(&p);
}

/* An impostor says that all is well without having shown that it knows the password. */
static void a_success_that_proves_nothing_is_none(void **state)
{
    static const char *const tokens[] = {"", "rspauth=ea40f60335c427b5527b84dbabcdfffd"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pair p;

        pair_open(&p, "zk:secret", "zk:secret", true);
        hear(&p, true, 1000);
        hear(&p, false, 1000);
        quorum_auth_write(&p.to_dialler,
                          &(struct quorum_auth){QUORUM_AUTH_SUCCESS, bytes_str(tokens[i])});
        assert_int_equal(hear(&p, false, 1000), MEMBER_AUTH_FAILED);
        assert_string_equal(p.why, "SASL: it lets us in without having shown that it knows us");
        pair_close(&p);
    }
}

static void who_comes_without_is_let_in_if_that_is_allowed(void **state)
{
    static const uint8_t other[] = {0, 0, 0, 11, 0, 0, 0, 0, 0, 0};

    (void)state;
    for (int required = 0; required <= 1; required++) {
        struct pair p;
        size_t used = 1;

        pair_open(&p, "zk:secret", "zk:secret", required == 1);
        assert_int_equal(member_auth_is_plain(p.accepts, bytes_str("")), required == 0);
        assert_int_equal(
            member_auth_take(p.accepts, bytes_of(other, 7), &used, &p.to_dialler, &p.why),
            MEMBER_AUTH_MORE);
        assert_int_equal(member_auth_is_plain(p.accepts, bytes_of(other, 7)), required == 0);
        assert_int_equal(member_auth_take(p.accepts, bytes_of(other, sizeof(other)), &used,
                                          &p.to_dialler, &p.why),
                         required == 1 ? MEMBER_AUTH_FAILED : MEMBER_AUTH_PLAIN);
        assert_int_equal(used, 0);
        pair_close(&p);
    }
}

/* Who has begun to authenticate goes on with it. */
static void nobody_gives_up_halfway_and_is_let_in(void **state)
{
    struct pair p;
    size_t used;

    (void)state;
    pair_open(&p, "zk:secret", "zk:secret", false);
    hear(&p, true, 1000);
    assert_false(member_auth_is_plain(p.accepts, bytes_str("")));
    assert_int_equal(
        member_auth_take(p.accepts, bytes_str("something else"), &used, &p.to_dialler, &p.why),
        MEMBER_AUTH_FAILED);
    pair_close(&p);
}

static void a_token_has_its_limit(void **state)
{
    struct pair p;

    (void)state;
    pair_open(&p, "zk:secret", "zk:secret", true);
    strbuf_clear(&p.to_acceptor);
    jute_write_long(&p.to_acceptor, QUORUM_AUTH_MAGIC);
    jute_write_int(&p.to_acceptor, 0);
    jute_write_int(&p.to_acceptor, 100 << 20);
    assert_int_equal(hear(&p, true, 1000), MEMBER_AUTH_FAILED);
    pair_close(&p);
}

static void without_rules_there_is_nothing_to_do(void **state)
{
    const struct member_sasl none = {0};
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    assert_null(member_auth_accept(NULL));
    assert_null(member_auth_accept(&none));
    assert_null(member_auth_dial(NULL, "a", &out));
    assert_null(member_auth_dial(&none, "a", &out));
    assert_int_equal(out.len, 0);
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_know_each_other),
        cmocka_unit_test(the_first_packet_is_javas),
        cmocka_unit_test(a_wrong_password_is_told_to_both),
        cmocka_unit_test(a_success_that_proves_nothing_is_none),
        cmocka_unit_test(who_comes_without_is_let_in_if_that_is_allowed),
        cmocka_unit_test(nobody_gives_up_halfway_and_is_let_in),
        cmocka_unit_test(a_token_has_its_limit),
        cmocka_unit_test(without_rules_there_is_nothing_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
