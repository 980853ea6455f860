/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite.c - libpawl's client against a real server: the table of tests, and their runner.
 *
 *   client_suite SERVERS [--only NAME] [--face FACE] [--ensemble] [--ensemble-only]
 *                [--local-sessions] [--reconfig] [--control] [--quick] [--list]
 *
 * NAME is a part of a test's name. With --control, lines that begin with '!' are orders to whoever
 * started this program, answered by a line on standard input; client_suite.py does it. */
#include "client_suite.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

/* Only a hang reaches it: whatever is waited for inside a test has a limit of its own. */
enum { USUAL_SECONDS = 300 };

struct suite suite;

static const struct test *const tables[] = {
    tests_data,  tests_create, tests_acl,  tests_multi, tests_watch,
    tests_names, tests_calls,  tests_link, tests_life,  tests_ensemble,
};

static const char *const face_names[N_FACES] = {"blocking", "async", "polled", "external"};

struct choice {
    const char *only, *face;
    bool ensemble, ensemble_only, local_sessions, reconfig, quick, list;
    int n_run, n_failed;
};

static void run_in_child(const struct test *test)
{
    suite.test = test->name;
    alarm((unsigned)(test->seconds > 0 ? test->seconds : USUAL_SECONDS));
    test->run();
    exit(0);
}

/* How a child ended, "" when well. */
static const char *ending(int status)
{
    static char words[64];

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return "";
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        return "hangs";
    }
    if (WIFSIGNALED(status)) {
        snprintf(words, sizeof(words), "killed by signal %d", WTERMSIG(status));
    } else {
        snprintf(words, sizeof(words), "exit code %d", WEXITSTATUS(status));
    }
    return words;
}

static void run_one(const struct test *test, enum face face, struct choice *choice)
{
    int64_t began = now_ms();
    const char *suffix = (test->flags & FACES_ALL) != 0 ? face_names[face] : "";
    const char *how;
    int status = 0;
    pid_t pid;

    if (choice->list) {
        printf("%s %s\n", test->name, suffix);
        return;
    }
    suite.face = face;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        run_in_child(test);
    }
    waitpid(pid, &status, 0);
    how = ending(status);
    choice->n_run++;
    choice->n_failed += *how != '\0';
    printf("%s %s %s (%lld ms)%s%s\n", *how == '\0' ? "ok  " : "FAIL", test->name, suffix,
           (long long)(now_ms() - began), *how == '\0' ? "" : ": ", how);
    fflush(stdout);
}

static bool is_wanted(const struct test *test, const struct choice *choice)
{
    if (choice->only != NULL && strstr(test->name, choice->only) == NULL) {
        return false;
    }
    if (((test->flags & SLOW) != 0 && choice->quick) ||
        ((test->flags & NEEDS_ENSEMBLE) == 0 && choice->ensemble_only)) {
        return false;
    }
    if (((test->flags & NEEDS_LOCAL_SESSIONS) != 0) != choice->local_sessions) {
        return false;
    }
    return ((test->flags & NEEDS_ENSEMBLE) == 0 || choice->ensemble) &&
           ((test->flags & NEEDS_RECONFIG) == 0 || choice->reconfig) &&
           ((test->flags & NEEDS_CONTROL) == 0 || suite.control);
}

static void run_table(const struct test *table, struct choice *choice)
{
    for (const struct test *t = table; t->name != NULL; t++) {
        int n_faces = (t->flags & FACES_ALL) != 0 ? N_FACES : 1;

        if (!is_wanted(t, choice)) {
            continue;
        }
        for (int face = 0; face < n_faces; face++) {
            if (choice->face == NULL || strcmp(choice->face, face_names[face]) == 0) {
                run_one(t, (enum face)face, choice);
            }
        }
    }
}

static bool parse(int argc, char **argv, struct choice *choice)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--ensemble") == 0) {
            choice->ensemble = true;
        } else if (strcmp(argv[i], "--ensemble-only") == 0) {
            choice->ensemble_only = true;
        } else if (strcmp(argv[i], "--local-sessions") == 0) {
            choice->local_sessions = true;
        } else if (strcmp(argv[i], "--reconfig") == 0) {
            choice->reconfig = true;
        } else if (strcmp(argv[i], "--control") == 0) {
            suite.control = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            choice->quick = true;
        } else if (strcmp(argv[i], "--list") == 0) {
            choice->list = true;
        } else if (strcmp(argv[i], "--only") == 0 && value != NULL) {
            choice->only = argv[++i];
        } else if (strcmp(argv[i], "--face") == 0 && value != NULL) {
            choice->face = argv[++i];
        } else if (argv[i][0] != '-' && suite.servers == NULL) {
            suite.servers = argv[i];
        } else {
            return false;
        }
    }
    return suite.servers != NULL || choice->list;
}

int main(int argc, char **argv)
{
    struct choice choice = {0};

    if (!parse(argc, argv, &choice)) {
        fprintf(stderr, "usage: client_suite SERVERS [--only NAME] [--face FACE] [--ensemble] "
                        "[--ensemble-only] [--local-sessions] [--reconfig] [--control] [--quick] "
                        "[--list]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_DFL); /* the library must not raise it */
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        run_table(tables[i], &choice);
    }
    if (!choice.list) {
        printf("%d tests, %d failed\n", choice.n_run, choice.n_failed);
    }
    return choice.n_failed == 0 && (choice.n_run > 0 || choice.list) ? 0 : 1;
}
