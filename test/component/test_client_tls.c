/* SPDX-License-Identifier: Apache-2.0 */
/* The client with zks://, against a server that takes both on one port. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "lib/certificate.h"
#include "lib/client_fixture.h"
#include "lib/test.h"
#include "tls/tls.h"

static struct certificate authority, named, foreign;
static struct pawl_tls_options tls;

static int start(void **state)
{
    static char key[128];

    certificate_make(&authority, NULL, "authority", NULL);
    certificate_make(&named, &authority, "server", "DNS:localhost,IP:127.0.0.1");
    certificate_make(&foreign, &authority, "foreign", "DNS:example.org");
    tls = *PAWL_TLS_OPTIONS(.ca_file = authority.path);
    snprintf(key, sizeof(key), "ssl.keyStore.location=%s", named.path);
    client_fixture_properties[0] = "client.portUnification=true";
    client_fixture_properties[1] = "ssl.clientAuth=none";
    client_fixture_properties[2] = key;
    return client_fixture_start(state);
}

static int stop(void **state)
{
    certificate_unmake(&authority);
    certificate_unmake(&named);
    certificate_unmake(&foreign);
    return client_fixture_stop(state);
}

/* ---- bytes ---- */

struct answers {
    sem_t all;
    pthread_mutex_t lock;
    int n_left, n_failed;
};

static void on_answer(const struct pawl_reply *reply, void *arg)
{
    struct answers *a = arg;
    bool is_last;

    pthread_mutex_lock(&a->lock);
    a->n_failed += reply->err != PAWL_OK;
    is_last = --a->n_left == 0;
    pthread_mutex_unlock(&a->lock);
    if (is_last) {
        sem_post(&a->all);
    }
}

/* Far more than the kernel takes, and answers come while the rest still waits. */
static void much_may_be_asked_at_once(void **state)
{
    enum { REQUESTS = 20, LEN = 1000000 };
    struct answers a = {.n_left = REQUESTS, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct pawl_client_options o = client_fixture_options();
    char *data = calloc(1, LEN);
    struct behind_proxy b;

    (void)state;
    sem_init(&a.all, 0, 0);
    o.tls = &tls;
    o.session_timeout_ms = 600000; /* however long it takes */
    o.timeout_ms = -1;
    behind_proxy_open(&b, &o);
    assert_int_equal(pawl_create(b.c, PAWL_CREATE(.path = "/much"), NULL), PAWL_OK);
    tcp_proxy_freeze(b.proxy, true);
    for (int i = 0; i < REQUESTS; i++) {
        assert_int_equal(
            pawl_set_async(b.c, PAWL_SET(.path = "/much", .data = {data, LEN}), on_answer, &a),
            PAWL_OK);
    }
    tcp_proxy_freeze(b.proxy, false);
    wait_semaphore(&a.all);
    assert_int_equal(a.n_failed, 0);
    assert_int_equal(tcp_proxy_links(b.proxy), 1);
    behind_proxy_close(&b);
    free(data);
}

/* ---- the end ---- */

static void *close_client(void *arg)
{
    pawl_client_close(arg);
    return NULL;
}

/* The answer to our last request and the server's goodbye come together, at the latest. */
static void a_closed_handle_was_not_suspended(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy b;
    pthread_t closer;

    (void)state;
    o.tls = &tls;
    o.close_timeout_ms = SOON_MS;
    behind_proxy_open(&b, &o);
    tcp_proxy_hold_replies(b.proxy, true);
    pthread_create(&closer, NULL, close_client, b.c);
    wait_until(number_on_server("srvr", "Connections: ") == 1); /* who asks */
    tcp_proxy_hold_replies(b.proxy, false);
    pthread_join(closer, NULL);
    expect_next_state(&b, 1, PAWL_STATE_CLOSED);
    tcp_proxy_free(b.proxy);
}

/* ---- options ---- */

/* The sentence is pawl_open_error()'s. */
static void assert_not_opened(struct pawl_client_options *o, int rc, const char *says)
{
    struct pawl_client *c;

    assert_int_equal(pawl_client_open(o, &c), rc);
    assert_null(c);
    if (strstr(pawl_open_error(), says) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", pawl_open_error(), says);
    }
}

static void assert_refused(struct pawl_client_options *o, const char *says)
{
    assert_not_opened(o, PAWL_ERR_BAD_ARGUMENTS, says);
}

/* It would match every certificate. */
static void an_empty_name_is_refused(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_tls_options t = tls;

    (void)state;
    o.servers = "zks://localhost:1";
    o.tls = &t;
    t.server_name = "";
    assert_refused(&o, "TLS: server_name is empty");
    t.flags = PAWL_TLS_ANY_NAME;
    assert_refused(&o, "TLS: server_name is empty");
}

static void options_that_cannot_be(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_tls_options t = tls;

    (void)state;
    o.tls = &t;
    o.servers = "localhost:1";
    assert_refused(&o, "there are options for TLS, but \"localhost:1\" is no zks://HOST:PORT");
    o.servers = "zks://localhost:1";
    o.flags = PAWL_CLIENT_FOLLOW_CONFIG;
    assert_refused(&o, "PAWL_CLIENT_FOLLOW_CONFIG cannot be used with zks://");
    o.flags = 0;
    t.min_version = (enum pawl_tls_version)11;
    assert_refused(&o, "TLS: min_version is no enum pawl_tls_version");
    t.min_version = PAWL_TLS_1_3;
    t.flags = 2;
    assert_refused(&o, "TLS: there are unknown flags");
    t.flags = 0;
    t.key_file = named.path;
    assert_refused(&o, "TLS: there is a key_file, but no certificate_file");
    t.size = 0;
    assert_refused(&o, "TLS: the options were not begun with PAWL_TLS_OPTIONS()");
}

/* ---- servers ---- */

static struct pawl_server *serve(const struct certificate *own, const char *more, char *servers,
                                 size_t size)
{
    char key[128], why[256] = "";
    const char *properties[] = {"client.portUnification=true", "ssl.clientAuth=none", key, more};
    struct pawl_server_options o;
    struct pawl_server *s;

    snprintf(key, sizeof(key), "ssl.keyStore.location=%s", own->path);
    pawl_server_options_init(&o);
    o.in_memory = 1;
    o.properties = properties;
    o.n_properties = more == NULL ? 3 : 4;
    if (pawl_server_start(&o, &s, why, sizeof(why)) != PAWL_OK) {
        fail_msg("no server: %s", why);
    }
    snprintf(servers, size, "zks://127.0.0.1:%d", pawl_server_port(s));
    return s;
}

static void assert_connects(const char *servers, const struct pawl_tls_options *t)
{
    struct pawl_client_options o = client_fixture_options();

    o.servers = servers;
    o.tls = t;
    pawl_client_close(client_fixture_open(&o));
}

static bool has_trouble(struct pawl_client *c, const char *says)
{
    char why[1024];

    pawl_client_last_error(c, why, sizeof(why));
    return strstr(why, says) != NULL;
}

static void assert_does_not(const char *servers, const struct pawl_tls_options *t, const char *says)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c;

    o.servers = servers;
    o.tls = t;
    assert_int_equal(pawl_client_open(&o, &c), PAWL_OK);
    wait_until(has_trouble(c, says));
    assert_true(pawl_client_session_id(c) == 0);
    pawl_client_close(c);
}

static void a_server_must_have_the_name_or_any(void **state)
{
    struct pawl_tls_options t = tls;
    struct certificate other;
    struct pawl_server *s;
    char servers[64];

    (void)state;
    s = serve(&foreign, NULL, servers, sizeof(servers));
    assert_does_not(servers, &t, "its certificate is for example.org, not for 127.0.0.1");
    t.server_name = "example.org";
    assert_connects(servers, &t);
    t.server_name = "example.com";
    assert_does_not(servers, &t, "its certificate is for example.org, not for example.com");
    t.flags = PAWL_TLS_ANY_NAME;
    assert_connects(servers, &t);
    t.server_name = NULL;
    assert_connects(servers, &t);
    certificate_make(&other, NULL, "other", NULL); /* any name, but not anybody's */
    t.ca_file = other.path;
    assert_does_not(servers, &t, "signed by nobody that is trusted here");
    certificate_unmake(&other);
    pawl_server_stop(s);
}

static void a_server_must_have_the_version(void **state)
{
    struct pawl_tls_options t = tls;
    char servers[64];
    struct pawl_server *s;

    (void)state;
    s = serve(&named, "ssl.enabledProtocols=TLSv1.2", servers, sizeof(servers));
    assert_connects(servers, &t);
    t.min_version = PAWL_TLS_1_2;
    assert_connects(servers, &t);
    t.min_version = PAWL_TLS_1_3;
    assert_does_not(servers, &t, "no version of TLS in common");
    pawl_server_stop(s);
}

/* ---- failures ---- */

static int failure; /* of tls_context_new() */

int __real_tls_context_new(const struct tls_settings *settings, struct tls_context **out,
                           struct tls_fault *fault);
int __wrap_tls_context_new(const struct tls_settings *settings, struct tls_context **out,
                           struct tls_fault *fault);

int __wrap_tls_context_new(const struct tls_settings *settings, struct tls_context **out,
                           struct tls_fault *fault)
{
    if (failure == 0) {
        return __real_tls_context_new(settings, out, fault);
    }
    if (failure == PAWL_ERR_SYSTEM) {
        strcpy(fault->text, "this part of libpawl cannot be loaded");
    }
    return failure;
}

/* What is not the caller's fault is not said to be. */
static void failures_keep_their_kind(void **state)
{
    struct pawl_client_options o = client_fixture_options();

    (void)state;
    o.servers = "zks://localhost:1";
    o.tls = &tls;
    failure = PAWL_ERR_SYSTEM;
    assert_not_opened(&o, PAWL_ERR_SYSTEM, "TLS: this part of libpawl cannot be loaded");
    failure = PAWL_ERR_NO_MEMORY;
    assert_not_opened(&o, PAWL_ERR_NO_MEMORY, "TLS: no memory");
    failure = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(much_may_be_asked_at_once),
        cmocka_unit_test(a_closed_handle_was_not_suspended),
        cmocka_unit_test(an_empty_name_is_refused),
        cmocka_unit_test(options_that_cannot_be),
        cmocka_unit_test(a_server_must_have_the_name_or_any),
        cmocka_unit_test(a_server_must_have_the_version),
        cmocka_unit_test(failures_keep_their_kind),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
