/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/open_files.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"

#include "lib/patience.h"

#define SERVER_CLASS "org.apache.zookeeper.server.quorum.QuorumPeerMain"

struct place {
    char directory[64], config[96];
};

static void place_make(struct place *p)
{
    FILE *f;

    strcpy(p->directory, "/tmp/test_open_files.XXXXXX");
    assert_non_null(mkdtemp(p->directory));
    snprintf(p->config, sizeof(p->config), "%s/zoo.cfg", p->directory);
    f = fopen(p->config, "w");
    assert_non_null(f);
    fprintf(f, "tickTime=2000\ndataDir=%s\n", p->directory);
    fclose(f);
}

static void place_remove(const struct place *p)
{
    unlink(p->config);
    rmdir(p->directory);
}

/* A process with the arguments of a server; it lives until it is killed. */
static pid_t run_as_server(const char *class_path, const char *last)
{
    int stay[2];
    pid_t pid;

    assert_int_equal(pipe(stay), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(stay[0], 0);
        close(stay[1]); /* it ends with us, whatever happens */
        execl("/bin/sh", "java", "-c", "read line", "-cp", class_path, SERVER_CLASS, last,
              (char *)NULL);
        _exit(127);
    }
    close(stay[0]); /* the other end stays open: it reads and nothing comes */
    return pid;
}

static bool finds(const char *directory, pid_t pid)
{
    char who[256] = "", expected[64];

    snprintf(expected, sizeof(expected), "process %d (sh)", (int)pid);
    return open_files_find_zookeeper(directory, who, sizeof(who)) && strstr(who, expected) != NULL;
}

static void stop(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_server_is_noticed_by_its_configuration_file_or_directory(void **state)
{
    struct place p;
    pid_t pid;

    (void)state;
    place_make(&p);
    pid = run_as_server("zookeeper.jar", p.config);
    wait_until(finds(p.directory, pid));
    stop(pid);
    pid = run_as_server("zookeeper.jar", p.directory);
    wait_until(finds(p.directory, pid));
    assert_false(finds("/", pid));
    stop(pid);
    place_remove(&p);
}

/* Whoever names all archives of the system has a class path of that length. */
static void a_server_is_noticed_behind_a_long_class_path(void **state)
{
    static char class_path[100000];
    struct place p;
    pid_t pid;

    (void)state;
    memset(class_path, 'x', sizeof(class_path) - 1);
    place_make(&p);
    pid = run_as_server(class_path, p.config);
    wait_until(finds(p.directory, pid));
    stop(pid);
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_is_noticed_by_its_configuration_file_or_directory),
        cmocka_unit_test(a_server_is_noticed_behind_a_long_class_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
