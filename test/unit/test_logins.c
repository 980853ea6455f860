/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "daemon/logins.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/logging.h"
#include "daemon/config.h"
#include "lib/test.h"
#include "os/clock.h"
#include "pawl/error.h"
#include "sasl/login.h"

enum { HOUR_MS = 3600 * 1000 };

#define DIGEST "org.apache.zookeeper.server.auth.DigestLoginModule"

static char folder[] = "/tmp/pawl-logins-XXXXXX";
static char jaas_path[64], users_path[64];
static int n_errors;

static void count_line(enum log_level level, const char *line, void *arg)
{
    (void)arg;
    assert_null(strstr(line, "geheim"));
    n_errors += level == LOG_ERROR;
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    fputs(text, f);
    fclose(f);
    chmod(path, 0600);
}

static struct config config_of(bool reload)
{
    return (struct config){.sasl = {.jaas_path = jaas_path,
                                    .users_path = users_path,
                                    .section = (char *)(uintptr_t) "Server",
                                    .reload = reload}};
}

static void files_are_read_again_when_they_change(void **state)
{
    (void)state;
    for (int reload = 0; reload <= 1; reload++) {
        struct config c = config_of(reload == 1);
        int64_t now = clock_monotonic_ms();
        char why[LOGINS_WHY_BYTES];
        struct logins l;

        n_errors = 0;
        write_file(jaas_path, "Server { " DIGEST " required user_a=\"geheim1\"; };");
        write_file(users_path, "b:geheim2\n");
        assert_int_equal(logins_open(&l, &c, why, sizeof(why)), PAWL_OK);
        assert_int_equal(l.clients->n_users, 2);
        write_file(users_path, "b:geheim2\nc:geheim3\n");
        logins_look(&l, &c, now + HOUR_MS, false);
        assert_int_equal(l.clients->n_users, 2 + reload);
        logins_look(&l, &c, now + HOUR_MS, true);
        assert_int_equal(l.clients->n_users, 3);
        write_file(users_path, "geheim4\n");
        logins_look(&l, &c, now + 2 * HOUR_MS, false);
        assert_int_equal(l.clients->n_users, 3);
        assert_int_equal(n_errors, reload);
        logins_look(&l, &c, now + 3 * HOUR_MS, false); /* told once */
        assert_int_equal(n_errors, reload);
        logins_close(&l);
    }
}

static void a_file_for_others_has_nobody_for_clients(void **state)
{
    struct config c = config_of(true);
    char why[LOGINS_WHY_BYTES];
    struct logins l;

    (void)state;
    c.sasl.users_path = NULL;
    write_file(jaas_path, "QuorumServer { " DIGEST " required user_a=\"geheim1\"; };");
    assert_int_equal(logins_open(&l, &c, why, sizeof(why)), PAWL_OK);
    assert_null(l.clients);
    assert_false(logins_has_clients(&c));
    assert_true(logins_are_wanted(&c));
    logins_look(&l, &c, clock_monotonic_ms() + HOUR_MS, true);
    logins_close(&l);
}

static void super_may_have_another_password(void **state)
{
    struct config c = config_of(true);
    char why[LOGINS_WHY_BYTES];
    struct logins l;

    (void)state;
    c.sasl.users_path = NULL;
    c.sasl.super_password = (char *)(uintptr_t) "geheim9";
    write_file(jaas_path, "Server { " DIGEST " required user_super=\"geheim1\"; };");
    assert_int_equal(logins_open(&l, &c, why, sizeof(why)), PAWL_OK);
    assert_string_equal(sasl_login_password(l.clients, bytes_str("super")), "geheim9");
    logins_close(&l);
}

static void what_cannot_be_used_stops_the_start(void **state)
{
    struct config c = config_of(true);
    char why[LOGINS_WHY_BYTES];
    struct logins l;

    (void)state;
    write_file(jaas_path, "Server { " DIGEST " required\nusername=\"a\" password=\"geheim\"; };");
    c.sasl.users_path = NULL;
    assert_int_equal(logins_open(&l, &c, why, sizeof(why)), PAWL_ERR_CONFIG);
    assert_non_null(strstr(why, "names nobody who may come"));
    assert_null(strstr(why, "geheim"));
    logins_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_again_when_they_change),
        cmocka_unit_test(a_file_for_others_has_nobody_for_clients),
        cmocka_unit_test(super_may_have_another_password),
        cmocka_unit_test(what_cannot_be_used_stops_the_start),
    };
    int rc;

    logging_set_sink(count_line, NULL);
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(jaas_path, sizeof(jaas_path), "%s/jaas.conf", folder);
    snprintf(users_path, sizeof(users_path), "%s/users", folder);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(jaas_path);
    unlink(users_path);
    rmdir(folder);
    return rc;
}
