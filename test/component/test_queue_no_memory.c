/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out under queues and service discovery: at the first allocation, at the second, and
 * so on until none fails any more. Whoever asked is told, nothing aborts, hangs or leaks, and what
 * was put is consumed. */
#define _GNU_SOURCE
#include "lib/client_fixture.h"
#include "lib/failing_memory.h"
#include "lib/forked_server.h"
#include "lib/test.h"

#include "lib/recipe_helpers.h"

enum { MOST_ALLOCATIONS = 400 };

/* `once` arms memory to fail at the n-th allocation and says whether it did. */
static void run(bool (*once)(struct pawl_client *c, long n))
{
    long n = 0;
    bool failed;

    do {
        struct pawl_client *c = client_fixture_open(NULL);

        failed = once(c, n++);
        assert_true(n < MOST_ALLOCATIONS);
        pawl_client_close(c);
    } while (failed);
    assert_true(n > 5); /* or it is not looked at */
}

/* Without memory to receive the client drops its link; `unsure`: writes that cannot be repeated
 * then say so. */
static bool expect(int rc, bool unsure)
{
    bool failed = failing_memory_disarm();
    bool honest = rc == PAWL_ERR_NO_MEMORY || (unsure && rc == PAWL_ERR_CONNECTION_LOSS);

    if (rc != 0 && !(failed && honest)) {
        fail_msg("%s, and memory %s", pawl_error_name(rc), failed ? "failed" : "did not fail");
    }
    return failed;
}

static int eat(struct pawl_queue *q, const struct pawl_item *item, void *arg)
{
    (void)q;
    (void)item;
    sem_post(arg);
    return 0;
}

/* With locks nothing is lost, whatever fails. */
static bool put_and_consume(struct pawl_client *c, long n)
{
    sem_t eaten;
    struct pawl_queue_options o = {
        .size = sizeof(o), .consumer = eat, .consumer_arg = &eaten, .lock_path = "/m/locks"};
    struct pawl_queue *q = NULL;
    int rc;

    sem_init(&eaten, 0, 0);
    failing_memory_arm(n, 1);
    rc = pawl_queue_new(c, "/m/queue", &o, &q);
    rc = rc != 0 ? rc : pawl_queue_put(q, PAWL_PUT(.item = {"x", 1}), SOON_MS);
    if (rc == 0) {
        wait_semaphore(&eaten);
    }
    pawl_queue_free(q);
    return expect(rc, true);
}

static void what_is_put_is_consumed(void **state)
{
    (void)state;
    run(put_and_consume);
}

static bool offer_and_take(struct pawl_client *c, long n)
{
    struct pawl_simple_queue *q = NULL;
    void *data = NULL;
    size_t len;
    bool failed;
    int rc;

    failing_memory_arm(n, 1);
    rc = pawl_simple_queue_new(c, "/m/simple", &q);
    rc = rc != 0 ? rc : pawl_simple_queue_offer(q, text_bytes("x"));
    rc = rc != 0 ? rc : pawl_simple_queue_take(q, SOON_MS, &data, &len);
    free(data);
    failed = expect(rc, true);
    if (rc != 0 && q != NULL && pawl_simple_queue_take(q, 0, &data, &len) == 0) {
        free(data); /* it was put, or could not be taken */
    }
    pawl_simple_queue_free(q);
    until_nodes(c, "/m/simple", 0);
    return failed;
}

static void a_simple_queue_works_or_says_why_not(void **state)
{
    (void)state;
    run(offer_and_take);
}

static bool register_and_find(struct pawl_client *c, long n, enum pawl_service_type type)
{
    struct pawl_discovery *d = NULL;
    struct pawl_provider *p = NULL;
    struct pawl_instance *one = NULL;
    bool failed;
    int rc;

    failing_memory_arm(n, 1);
    rc = pawl_discovery_new(c, "/m/services", &d);
    rc = rc != 0 ? rc
                 : pawl_discovery_register(d, PAWL_INSTANCE(.name = "web", .id = "1", .type = type),
                                           SOON_MS);
    rc = rc != 0 ? rc : pawl_provider_new(c, "/m/services", "web", NULL, &p);
    rc = rc != 0 ? rc : pawl_provider_wait(p, SOON_MS);
    rc = rc != 0 ? rc : pawl_provider_get(p, &one);
    pawl_instance_free(one);
    pawl_provider_free(p);
    failed = expect(rc, false);
    pawl_discovery_free(d);
    until_nodes(c, "/m/services/web", 0); /* also when it failed */
    return failed;
}

static bool register_static(struct pawl_client *c, long n)
{
    return register_and_find(c, n, PAWL_SERVICE_STATIC);
}

static bool register_numbered(struct pawl_client *c, long n)
{
    return register_and_find(c, n, PAWL_SERVICE_DYNAMIC_SEQUENTIAL);
}

static void what_is_registered_is_found_and_unregistered(void **state)
{
    (void)state;
    run(register_static);
    run(register_numbered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_consumed),
        cmocka_unit_test(a_simple_queue_works_or_says_why_not),
        cmocka_unit_test(what_is_registered_is_found_and_unregistered),
    };

    if (!forked_server_start()) {
        return 1;
    }
    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
