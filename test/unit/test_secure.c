/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/secure.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/logging.h"
#include "daemon/config.h"
#include "lib/certificate.h"
#include "lib/test.h"
#include "os/clock.h"
#include "pawl/error.h"
#include "tls/tls.h"

enum { HOUR_MS = 3600 * 1000 };

static int n_warnings, n_errors;

static void count_line(enum log_level level, const char *line, void *arg)
{
    (void)arg;
    if (level == LOG_WARN) {
        assert_non_null(
            strstr(line, "the certificate for clients is valid for 0 days more: CN=server"));
    }
    n_warnings += level == LOG_WARN;
    n_errors += level == LOG_ERROR;
}

static struct config config_of(struct certificate *server, bool reload)
{
    return (struct config){
        .net.client_port = -1,
        .tls = {.key_path = server->path, .client_certificate = TLS_CLIENT_NONE, .reload = reload}};
}

/* Once a day, whether the files are looked at or not. */
static void an_end_that_is_near_is_told(void **state)
{
    (void)state;
    for (int reload = 0; reload <= 1; reload++) {
        int64_t now = clock_monotonic_ms();
        struct certificate server;
        struct tls_fault fault;
        struct secure s;
        struct config c;

        certificate_make(&server, NULL, "server", NULL);
        c = config_of(&server, reload == 1);
        n_warnings = 0;
        assert_int_equal(secure_open(&s, &c, SECURE_CLIENTS, &fault), PAWL_OK);
        assert_int_equal(n_warnings, 1);
        secure_look(&s, &c, now + 23 * HOUR_MS, false);
        assert_int_equal(n_warnings, 1);
        secure_look(&s, &c, now + 25 * HOUR_MS, false);
        assert_int_equal(n_warnings, 2);
        secure_look(&s, &c, now + 48 * HOUR_MS, false);
        assert_int_equal(n_warnings, 2);
        secure_close(&s);
        certificate_unmake(&server);
    }
}

/* What cannot be used is told when it is read. */
static void files_are_read_as_they_are_asked_for(void **state)
{
    (void)state;
    for (int reload = 0; reload <= 1; reload++) {
        int64_t now = clock_monotonic_ms();
        struct certificate server;
        struct tls_fault fault;
        struct secure s;
        struct config c;

        certificate_make(&server, NULL, "server", NULL);
        c = config_of(&server, reload == 1);
        n_errors = 0;
        assert_int_equal(secure_open(&s, &c, SECURE_CLIENTS, &fault), PAWL_OK);
        fclose(fopen(server.path, "w"));
        secure_look(&s, &c, now + HOUR_MS, false);
        assert_int_equal(n_errors, reload);
        secure_look(&s, &c, now + 2 * HOUR_MS, false);
        assert_int_equal(n_errors, reload);
        secure_look(&s, &c, now + 2 * HOUR_MS, true); /* SIGHUP */
        assert_int_equal(n_errors, reload + 1);
        secure_close(&s);
        certificate_unmake(&server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_is_near_is_told),
        cmocka_unit_test(files_are_read_as_they_are_asked_for),
    };

    logging_set_sink(count_line, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
