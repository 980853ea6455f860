/* SPDX-License-Identifier: Apache-2.0 */
/* The files of members that change. What test/vectors/dynamic has was written by Apache's server
 * 3.8.0 on Java 17: zoo.cfg.bak is what it began with, zoo.cfg what was left after it had written
 * it twice, for the versions 100000000 and 1000000a4; long.written is long.cfg in the order of a
 * java.util.Properties. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "daemon/dynamic_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/java_map.h"
#include "lib/sim_disk.h"
#include "lib/test.h"
#include "lib/vectors.h"
#include "pawl/error.h"

#define OLD                                                        \
    "server.1=127.0.0.1:28795:22696:participant;127.0.0.1:29795\n" \
    "server.2=127.0.0.1:21688:31324:participant;127.0.0.1:29031\n" \
    "server.3=127.0.0.1:22661:27470:participant;127.0.0.1:28099\n"
#define NEW                                                        \
    "server.1=127.0.0.1:28795:22696:participant;127.0.0.1:29795\n" \
    "server.3=127.0.0.1:22661:27470:participant;127.0.0.1:28099\n"

enum { SELF = 3 };
#define FIRST  INT64_C(0x100000000)
#define SECOND INT64_C(0x1000000a4)

static void list_of(const char *lines, int64_t version, struct quorum_config *out)
{
    struct strbuf why;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    assert_true(quorum_config_read(out, bytes_str(lines), &why));
    out->version = version;
    strbuf_fini(&why);
}

/* A recorded file. */
static void vector_text(const char *name, struct strbuf *out)
{
    char path[512];
    struct bytes file;

    snprintf(path, sizeof(path), VECTORS "/dynamic/%s", name);
    file = vectors_file(path);
    strbuf_init(out, STRBUF_NO_LIMIT);
    strbuf_append_bytes(out, file);
    free((void *)(uintptr_t)file.data);
}

/* ---- texts ---- */

static void a_file_name_has_the_version(void **state)
{
    (void)state;
    assert_int_equal(dynamic_version_of("/a/zoo.cfg.dynamic.1000000a4"), SECOND);
    assert_int_equal(dynamic_version_of("zoo.cfg.dynamic.0"), 0);
    assert_int_equal(dynamic_version_of("zoo.cfg.dynamic"), 0);
    assert_int_equal(dynamic_version_of("members"), 0);
    assert_int_equal(dynamic_version_of("zoo.cfg."), 0);
    assert_int_equal(dynamic_version_of("x.-1"), 0);
    assert_int_equal(dynamic_version_of("x.7fffffffffffffff"), INT64_MAX);
    assert_int_equal(dynamic_version_of("x.8000000000000000"), 0);
    assert_int_equal(dynamic_version_of("x.10000000000000000"), 0);
}

static void members_are_sorted_as_text(void **state)
{
    struct quorum_config c;
    struct strbuf out;

    (void)state;
    list_of("server.2=b:1:2\nserver.10=c:1:2:observer;7\nserver.1=a:1:2\n", 0x1f, &c);
    strbuf_init(&out, STRBUF_NO_LIMIT);
    dynamic_members(&c, false, &out);
    assert_string_equal(strbuf_cstr(&out), "server.10=c:1:2:observer;0.0.0.0:7\n"
                                           "server.1=a:1:2:participant\n"
                                           "server.2=b:1:2:participant");
    strbuf_clear(&out);
    dynamic_members(&c, true, &out);
    assert_non_null(strstr(strbuf_cstr(&out), "server.2=b:1:2:participant\nversion=1f"));
    strbuf_fini(&out);
    quorum_config_fini(&c);
}

static void put_line(void *arg, const char *key, const char *value)
{
    strbuf_printf(arg, "%s=%s\n", key, value);
}

/* Seventy keys: the map has grown three times. */
static void pairs_are_in_the_order_of_java(void **state)
{
    struct java_map *m = java_map_new();
    struct strbuf in, expected, out;

    (void)state;
    vector_text("long.cfg", &in);
    vector_text("long.written", &expected);
    strbuf_init(&out, STRBUF_NO_LIMIT);
    for (char *line = strtok((char *)(uintptr_t)strbuf_cstr(&in), "\n"); line != NULL;
         line = strtok(NULL, "\n")) {
        char *equals = strchr(line, '=');

        *equals = '\0';
        java_map_put(m, line, "before");
        java_map_put(m, line, equals + 1);
    }
    java_map_each(m, put_line, &out);
    assert_string_equal(strbuf_cstr(&out), strbuf_cstr(&expected));
    java_map_free(m);
    strbuf_fini(&in);
    strbuf_fini(&expected);
    strbuf_fini(&out);
}

/* Apache's writes these so that it reads something else the next time. */
static void what_is_special_is_read_again_as_it_was(void **state)
{
    const char *text =
        "dataDir=C:\\\\zk\\u00e4\nserver.1=a:1:2\nclientPort=1\n\\#x=\\\\u1\nk\\=y= a\\tb";
    struct strbuf out, again;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    assert_true(dynamic_static(bytes_str(text), "/d/zoo.cfg.dynamic.1", false, &out));
    assert_non_null(strstr(strbuf_cstr(&out), "dataDir=C:\\\\zk\\u00E4\n"));
    assert_non_null(strstr(strbuf_cstr(&out), "clientPort=1\n"));
    assert_non_null(strstr(strbuf_cstr(&out), "\\#x=\\\\u1\n"));
    assert_non_null(strstr(strbuf_cstr(&out), "k\\=y=a\\u0009b\n"));
    assert_null(strstr(strbuf_cstr(&out), "server.1"));
    assert_true(dynamic_static(strbuf_bytes(&out), "/d/zoo.cfg.dynamic.1", true, &again));
    assert_null(strstr(strbuf_cstr(&again), "clientPort"));
    assert_non_null(strstr(strbuf_cstr(&again), "dataDir=C:\\\\zk\\u00E4\n"));
    assert_false(dynamic_static(bytes_str("a=\\u00"), "/d/x", true, &again));
    strbuf_fini(&out);
    strbuf_fini(&again);
}

/* ---- files ---- */

struct place {
    struct sim_disk *disk;
    struct dynamic_files *files;
    struct quorum_config before, after;
};

static void place_init(struct place *p, uint64_t seed)
{
    struct strbuf text;

    vector_text("zoo.cfg.bak", &text);
    p->disk = sim_disk_new(seed);
    sim_disk_put(p->disk, "zoo.cfg", strbuf_bytes(&text));
    strbuf_fini(&text);
    p->files = dynamic_files_on(sim_disk_disk(p->disk), "/srv/zk", "zoo.cfg");
    list_of(OLD, FIRST, &p->before);
    list_of(NEW, SECOND, &p->after);
}

static void place_fini(struct place *p)
{
    dynamic_files_close(p->files);
    sim_disk_free(p->disk);
    quorum_config_fini(&p->before);
    quorum_config_fini(&p->after);
}

static int64_t proposed_version(struct place *p)
{
    struct quorum_config c;
    struct strbuf why;
    int64_t version = 0;
    int rc;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    rc = dynamic_files_proposed(p->files, &c, &why);
    if (rc == PAWL_OK) {
        version = c.version;
        quorum_config_fini(&c);
    } else {
        assert_int_equal(rc, PAWL_ERR_NOT_FOUND);
    }
    strbuf_fini(&why);
    return version;
}

static void assert_file(struct place *p, const char *name, const char *vector)
{
    struct strbuf expected;

    vector_text(vector, &expected);
    assert_true(bytes_equal(sim_disk_get(p->disk, name), strbuf_bytes(&expected)));
    strbuf_fini(&expected);
}

static void all_is_written_as_apache_writes_it(void **state)
{
    struct place p;

    (void)state;
    place_init(&p, 1);
    assert_int_equal(dynamic_files_back_up(p.files), PAWL_OK);
    assert_int_equal(dynamic_files_activate(p.files, &p.before, SELF), PAWL_OK);
    assert_int_equal(dynamic_files_propose(p.files, &p.after), PAWL_OK);
    assert_true(
        bytes_equal_str(sim_disk_get(p.disk, "zoo.cfg.dynamic.next"), NEW "version=1000000a4"));
    assert_int_equal(proposed_version(&p), SECOND);
    assert_int_equal(dynamic_files_activate(p.files, &p.after, SELF), PAWL_OK);
    assert_file(&p, "zoo.cfg", "zoo.cfg");
    assert_file(&p, "zoo.cfg.bak", "zoo.cfg.bak");
    assert_file(&p, "zoo.cfg.dynamic.1000000a4", "zoo.cfg.dynamic.1000000a4");
    assert_int_equal(proposed_version(&p), 0);
    place_fini(&p);
}

static void a_newer_proposal_outlives_an_activation(void **state)
{
    struct place p;

    (void)state;
    place_init(&p, 1);
    assert_int_equal(dynamic_files_propose(p.files, &p.after), PAWL_OK);
    assert_int_equal(dynamic_files_activate(p.files, &p.before, SELF), PAWL_OK);
    assert_int_equal(proposed_version(&p), SECOND);
    place_fini(&p);
}

/* Which list zoo.cfg says is in force, and that it is there. */
static int64_t version_in_force(struct place *p)
{
    struct bytes text = sim_disk_get(p->disk, "zoo.cfg");
    char copy[4096], name[64];
    const char *at;
    int64_t version;

    assert_true(!bytes_is_null(text) && text.len < sizeof(copy));
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    at = strstr(copy, "dynamicConfigFile=/srv/zk/");
    if (at == NULL) {
        assert_file(p, "zoo.cfg", "zoo.cfg.bak");
        return 0;
    }
    assert_int_equal(sscanf(at, "dynamicConfigFile=/srv/zk/%63s", name), 1);
    version = dynamic_version_of(name);
    text = sim_disk_get(p->disk, name);
    assert_true(bytes_equal_str(text, version == FIRST ? OLD : NEW) ||
                (text.len + 1 == strlen(version == FIRST ? OLD : NEW) &&
                 memcmp(text.data, version == FIRST ? OLD : NEW, text.len) == 0));
    return version;
}

/* The power goes at every call in turn: the members that were proposed are in force or still
 * proposed, and zoo.cfg is whole. */
static void a_proposal_is_never_forgotten(void **state)
{
    bool is_done = false;

    (void)state;
    for (uint64_t n = 1; !is_done; n++) {
        struct place p;

        place_init(&p, n);
        assert_int_equal(dynamic_files_activate(p.files, &p.before, SELF), PAWL_OK);
        assert_int_equal(dynamic_files_propose(p.files, &p.after), PAWL_OK);
        sim_disk_crash_at(p.disk, sim_disk_calls(p.disk) + n);
        is_done = dynamic_files_activate(p.files, &p.after, SELF) == PAWL_OK;
        sim_disk_restart(p.disk, n % 2 == 0 ? SIM_LOSE_ALL : SIM_LOSE_SOME);
        if (version_in_force(&p) != SECOND) {
            assert_false(is_done);
            assert_int_equal(version_in_force(&p), FIRST);
            assert_int_equal(proposed_version(&p), SECOND);
        }
        place_fini(&p);
    }
}

/* A call that fails is told, and leaves what was there. */
static void a_failure_leaves_what_was_there(void **state)
{
    bool is_done = false;

    (void)state;
    for (uint64_t n = 1; !is_done; n++) {
        struct place p;

        place_init(&p, n);
        assert_int_equal(dynamic_files_activate(p.files, &p.before, SELF), PAWL_OK);
        sim_disk_fail_at(p.disk, sim_disk_calls(p.disk) + n, PAWL_ERR_DISK_FULL);
        is_done = dynamic_files_propose(p.files, &p.after) == PAWL_OK;
        assert_int_equal(version_in_force(&p), FIRST);
        assert_true(is_done || strlen(dynamic_files_error(p.files)) > 0);
        place_fini(&p);
    }
}

static void a_proposal_that_cannot_be_read_is_told(void **state)
{
    struct quorum_config c;
    struct strbuf why;
    struct place p;

    (void)state;
    place_init(&p, 1);
    sim_disk_put(p.disk, "zoo.cfg.dynamic.next", bytes_str("server.1=a:1\nversion=2"));
    strbuf_init(&why, STRBUF_NO_LIMIT);
    assert_int_equal(dynamic_files_proposed(p.files, &c, &why), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(strbuf_cstr(&why), "/srv/zk/zoo.cfg.dynamic.next: "));
    strbuf_fini(&why);
    place_fini(&p);
}

/* ---- modes, on a real disk ---- */

static void put_real(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void assert_mode_and_remove(const char *dir, const char *name, mode_t mode)
{
    char path[128];
    struct stat s;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, mode);
    assert_int_equal(unlink(path), 0);
}

/* Also over what a crash has left, which is readable. */
static void what_has_passwords_stays_secret(void **state)
{
    char dir[] = "/tmp/pawl-dynamic-XXXXXX", path[128];
    struct dynamic_files *files;
    struct quorum_config c;
    struct strbuf why;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/zoo.cfg.tmp", dir);
    put_real(path, "", 0666);
    snprintf(path, sizeof(path), "%s/zoo.cfg", dir);
    put_real(path, "dataDir=/d\nssl.keyStore.password=secret\n", 0640);
    strbuf_init(&why, STRBUF_NO_LIMIT);
    assert_int_equal(dynamic_files_open(path, &files, &why), PAWL_OK);
    list_of(OLD, FIRST, &c);
    assert_int_equal(dynamic_files_back_up(files), PAWL_OK);
    assert_int_equal(dynamic_files_activate(files, &c, SELF), PAWL_OK);
    dynamic_files_close(files);
    assert_mode_and_remove(dir, "zoo.cfg", 0640);
    assert_mode_and_remove(dir, "zoo.cfg.bak", 0640);
    snprintf(path, sizeof(path), "%s/zoo.cfg.dynamic.100000000", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    quorum_config_fini(&c);
    strbuf_fini(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_name_has_the_version),
        cmocka_unit_test(members_are_sorted_as_text),
        cmocka_unit_test(pairs_are_in_the_order_of_java),
        cmocka_unit_test(what_is_special_is_read_again_as_it_was),
        cmocka_unit_test(all_is_written_as_apache_writes_it),
        cmocka_unit_test(a_newer_proposal_outlives_an_activation),
        cmocka_unit_test(a_proposal_is_never_forgotten),
        cmocka_unit_test(a_failure_leaves_what_was_there),
        cmocka_unit_test(a_proposal_that_cannot_be_read_is_told),
        cmocka_unit_test(what_has_passwords_stays_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
