/* SPDX-License-Identifier: Apache-2.0 */
/* server.c - `pawl server start|stop|status|restart|print-cmd`, in the manner of zkServer.sh. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/commands.h"
#include "cli/files/ready.h"
#include "cli/files/server_config.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/words.h"
#include "os/clock.h"

#define DEFAULT_FILE "/etc/pawl/pawld.cfg"

enum { LOOK_MS = 50, WAIT_MS = 30000, TAIL_BYTES = 600 };

struct job {
    struct cli *cli;
    struct server_config config;
    struct strbuf program, output, process_file;
    int wait_ms;
};

/* ---- the program and its files ---- */

/* The pawld beside this program; else the one that the shell would find. */
static void find_program(struct strbuf *out)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (n > 0) {
        self[n] = '\0';
        slash = strrchr(self, '/');
        snprintf(slash + 1, sizeof(self) - (size_t)(slash + 1 - self), "pawld");
        if (access(self, X_OK) == 0) {
            strbuf_append_str(out, self);
            return;
        }
    }
    strbuf_append_str(out, "pawld");
}

/* `only_where`: it is enough to know where its data are. A member that was removed from its
 * ensemble has a configuration that it could not be started with, and has to be stopped. */
static int job_begin(struct job *j, struct cli *cli, const struct args *args, bool only_where)
{
    const char *file = args_text(args, 'c');

    *j = (struct job){.cli = cli, .wait_ms = WAIT_MS};
    strbuf_init(&j->program, STRBUF_NO_LIMIT);
    strbuf_init(&j->output, STRBUF_NO_LIMIT);
    strbuf_init(&j->process_file, STRBUF_NO_LIMIT);
    if (server_config_read(&j->config, file != NULL ? file : DEFAULT_FILE) != 0 &&
        !(only_where && j->config.config.store.data_dir != NULL)) {
        for (size_t i = 0; i < j->config.errors.n; i++) {
            cli_error(cli, "%s", j->config.errors.line[i]);
        }
        return EXIT_USAGE;
    }
    if (!args_duration(args, cli, 'w', &j->wait_ms)) {
        return EXIT_USAGE;
    }
    find_program(&j->program);
    server_process_file(&j->config, &j->process_file);
    if (args_has(args, 'o')) {
        strbuf_append_str(&j->output, args_text(args, 'o'));
    } else {
        strbuf_printf(&j->output, "%s/pawld.out", j->config.config.store.data_dir);
    }
    return EXIT_OK;
}

static void job_end(struct job *j)
{
    server_config_fini(&j->config);
    strbuf_fini(&j->program);
    strbuf_fini(&j->output);
    strbuf_fini(&j->process_file);
}

/* The first word of what happened to whom; then the rest of it. */
static void tell(const struct job *j, const char *state, int pid, const char *text)
{
    if (j->cli->json) {
        json_open(NULL, '{');
        json_text("state", state);
        if (pid > 0) {
            json_number("process", pid);
        }
        json_close('{');
    } else {
        puts(text);
    }
}

/* ---- status ---- */

/* Anything at all that it says of itself. */
static bool answers(struct job *j, struct strbuf *answer)
{
    struct server_place place;
    char why[128];

    return server_config_place(&j->config, &place) &&
           words_ask_one(j->cli, "srvr", &place, NULL, answer, why, sizeof(why)) == EXIT_OK;
}

static void print_mode(bool is_there, const char *mode)
{
    if (!is_there) {
        puts("Error contacting service. It is probably not running.");
    } else if (mode[0] == '\0') {
        puts("It runs, and waits for the other members.");
    } else {
        printf("Mode: %s\n", mode);
    }
}

static int status_of(struct job *j)
{
    struct server_place place = {0};
    struct strbuf answer;
    char mode[64] = "";
    int pid = server_process(&j->config);
    bool is_there;

    strbuf_init(&answer, STRBUF_NO_LIMIT);
    is_there = answers(j, &answer);
    words_text(&answer, "Mode: ", mode, sizeof(mode));
    server_config_place(&j->config, &place);
    if (j->cli->json) {
        json_open(NULL, '{');
        json_text("state", !is_there ? "stopped" : mode[0] != '\0' ? "serving" : "waiting");
        json_text("mode", mode[0] != '\0' ? mode : NULL);
        json_number("client_port", place.port);
        if (pid > 0) {
            json_number("process", pid);
        }
        json_close('{');
    } else {
        if (place.port > 0) {
            printf("Client port found: %d. Client address: %s.\n", place.port, place.name);
        }
        print_mode(is_there, mode);
    }
    strbuf_fini(&answer);
    return is_there && mode[0] != '\0' ? EXIT_OK : EXIT_NO;
}

/* Its process; 0: there is none; -1: it was reported why that cannot be told. */
static int find_server(struct job *j)
{
    int pid = server_process(&j->config);

    if (pid < 0) {
        cli_error(j->cli, "%s: %s", strbuf_cstr(&j->process_file), strerror(errno));
    }
    return pid;
}

/* ---- start ---- */

/* In the child: nothing of ours stays with it. */
static void become_server(const char *program, const char *file, int output, const char *ready)
{
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);

    setenv("NOTIFY_SOCKET", ready, 1);
    setsid();
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execlp(program, program, file, (char *)NULL);
    dprintf(STDERR_FILENO, "%s: %s\n", program, strerror(errno));
    _exit(EXIT_NOT_FOUND);
}

static int save_process(struct job *j, int pid)
{
    FILE *file = fopen(strbuf_cstr(&j->process_file), "we");

    if (file == NULL || fprintf(file, "%d", pid) < 0 || fclose(file) != 0) {
        cli_error(j->cli, "%s: %s", strbuf_cstr(&j->process_file), strerror(errno));
        return EXIT_SYSTEM;
    }
    return EXIT_OK;
}

/* What it said last, which is why it ended. */
static void report_end(struct job *j, int wait_status, off_t from)
{
    char text[TAIL_BYTES + 1] = "", *line;
    int fd = open(strbuf_cstr(&j->output), O_RDONLY | O_CLOEXEC);
    struct stat s;
    ssize_t n = 0;

    if (fd >= 0 && fstat(fd, &s) == 0) {
        off_t at = s.st_size - from > TAIL_BYTES ? s.st_size - TAIL_BYTES : from;

        n = pread(fd, text, TAIL_BYTES, at);
        close(fd);
    }
    while (n > 0 && text[n - 1] == '\n') {
        text[--n] = '\0';
    }
    for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        fprintf(stderr, "  %s\n", line);
    }
    cli_error(j->cli, "it ended with status %d; more is in %s",
              WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
                                     : EXIT_SIGNAL + WTERMSIG(wait_status),
              strbuf_cstr(&j->output));
}

/* A member waits for others before it serves; one that stands alone does not. */
static bool is_up(struct job *j)
{
    struct strbuf answer;
    char mode[64];
    bool is_up;

    strbuf_init(&answer, STRBUF_NO_LIMIT);
    is_up = answers(j, &answer);
    words_text(&answer, "Mode: ", mode, sizeof(mode));
    strbuf_fini(&answer);
    return is_up && (mode[0] != '\0' || config_is_ensemble(&j->config.config));
}

/* Until it says that it is ready and answers, or ends, or it takes too long. */
static int wait_for_answer(struct job *j, int pid, int ready_fd, off_t from)
{
    int64_t deadline_ms = clock_monotonic_ms() + j->wait_ms;
    struct pollfd ready = {.fd = ready_fd, .events = POLLIN};
    struct server_place place;
    int wait_status, status = EXIT_TIMEOUT;

    while (status == EXIT_TIMEOUT && clock_monotonic_ms() < deadline_ms) {
        if (waitpid(pid, &wait_status, WNOHANG) == pid) {
            report_end(j, wait_status, from);
            unlink(strbuf_cstr(&j->process_file));
            status = EXIT_SYSTEM;
        } else if (ready.fd >= 0 && !ready_heard(ready.fd, pid)) {
            poll(&ready, 1, LOOK_MS);
        } else if (!server_config_place(&j->config, &place) || is_up(j)) {
            status = EXIT_OK;
        } else {
            ready.fd = -1; /* it was heard */
            poll(&ready, 1, LOOK_MS);
        }
    }
    if (status == EXIT_TIMEOUT) {
        cli_error(j->cli, "process %d does not answer yet; see %s", pid, strbuf_cstr(&j->output));
    }
    return status;
}

/* The child, or -1 after it was reported why there is none. */
static int fork_server(struct job *j, int output, const char *ready)
{
    char *program = must_strdup(strbuf_cstr(&j->program)), *file = must_strdup(j->config.file);
    int pid = fork();

    if (pid == 0) {
        become_server(program, file, output, ready);
    }
    if (pid < 0) {
        cli_error(j->cli, "%s", strerror(errno));
    }
    free(program);
    free(file);
    return pid;
}

static int start_with(struct job *j, int output)
{
    off_t from = lseek(output, 0, SEEK_END);
    char ready[READY_NAME_BYTES], text[64];
    int ready_fd = ready_open(ready), pid, status = EXIT_SYSTEM;

    if (ready_fd < 0) {
        cli_error(j->cli, "%s", strerror(errno));
        return EXIT_SYSTEM;
    }
    pid = fork_server(j, output, ready);
    if (pid > 0) {
        status = save_process(j, pid);
    }
    if (status == EXIT_OK) {
        status = wait_for_answer(j, pid, ready_fd, from);
    }
    close(ready_fd);
    if (status == EXIT_OK) {
        snprintf(text, sizeof(text), "Starting pawld ... STARTED as process %d", pid);
        tell(j, "started", pid, text);
    }
    return status;
}

static int start(struct job *j)
{
    int pid = find_server(j), output, status;

    if (pid > 0) {
        cli_error(j->cli, "already running as process %d", pid);
    }
    if (pid != 0) {
        return pid > 0 ? EXIT_NO : EXIT_SYSTEM;
    }
    mkdir(j->config.config.store.data_dir, 0755); /* what fails is told by the next line */
    output = open(strbuf_cstr(&j->output), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (output < 0) {
        cli_error(j->cli, "%s: %s", strbuf_cstr(&j->output), strerror(errno));
        return EXIT_SYSTEM;
    }
    status = start_with(j, output);
    close(output);
    return status;
}

/* ---- stop ---- */

/* By a descriptor: the number could come to mean somebody else while we wait. */
static bool wait_gone(int process_fd, int wait_ms)
{
    struct pollfd p = {.fd = process_fd, .events = POLLIN};
    int64_t deadline_ms = clock_monotonic_ms() + wait_ms, left;

    do {
        left = deadline_ms - clock_monotonic_ms();
    } while (poll(&p, 1, left > 0 ? (int)left : 0) < 0 && errno == EINTR);
    return p.revents != 0;
}

static int process_failed(struct job *j, int pid)
{
    int err = errno;

    cli_error(j->cli, "process %d: %s", pid, strerror(err));
    return err == EPERM || err == EACCES ? EXIT_REFUSED : EXIT_SYSTEM;
}

/* The process and a descriptor of it, which is -1 if there is none. EXIT_OK, or it was reported why
 * that cannot be told. */
static int find_process(struct job *j, int *pid, int *process_fd)
{
    int again;

    *process_fd = -1;
    *pid = find_server(j);
    if (*pid <= 0) {
        return *pid == 0 ? EXIT_OK : EXIT_SYSTEM;
    }
    *process_fd = (int)syscall(SYS_pidfd_open, *pid, 0);
    if (*process_fd < 0) {
        return errno == ESRCH ? EXIT_OK : process_failed(j, *pid);
    }
    again = find_server(j); /* it may have ended before we had hold of it */
    if (again != *pid) {
        close(*process_fd);
        *process_fd = -1;
    }
    return again < 0 ? EXIT_SYSTEM : EXIT_OK;
}

static int end_process(struct job *j, int pid, int process_fd)
{
    if (syscall(SYS_pidfd_send_signal, process_fd, SIGTERM, NULL, 0) != 0 && errno != ESRCH) {
        return process_failed(j, pid);
    }
    if (!wait_gone(process_fd, j->wait_ms)) {
        cli_error(j->cli, "process %d was told to stop, and still runs", pid);
        return EXIT_TIMEOUT;
    }
    return EXIT_OK;
}

/* The file goes only with a process that is known to be gone. */
static int stop(struct job *j)
{
    char text[64] = "Stopping pawld ... none to stop";
    int pid, process_fd, status = find_process(j, &pid, &process_fd);
    bool is_one = process_fd >= 0;

    if (is_one) {
        status = end_process(j, pid, process_fd);
        close(process_fd);
        snprintf(text, sizeof(text), "Stopping pawld ... STOPPED process %d", pid);
    }
    if (status == EXIT_OK) {
        unlink(strbuf_cstr(&j->process_file));
        tell(j, "stopped", is_one ? pid : 0, text);
    }
    return status;
}

static int restart(struct job *j)
{
    int status = stop(j);

    return status == EXIT_OK ? start(j) : status;
}

static int print_command(struct job *j)
{
    printf("\"%s\" \"%s\" >>\"%s\" 2>&1 </dev/null\n", strbuf_cstr(&j->program), j->config.file,
           strbuf_cstr(&j->output));
    return EXIT_OK;
}

/* ---- the commands ---- */

static int run_job(struct cli *cli, const struct args *args, int (*run)(struct job *j))
{
    struct job j;
    int status = job_begin(&j, cli, args, run == stop);

    if (status == EXIT_OK) {
        status = run(&j);
    }
    job_end(&j);
    return status;
}

static const struct option_spec server_options[] = {
    {'c', "config", "FILE", "zoo.cfg; " DEFAULT_FILE " if not given"},
    {'w', "wait", "DURATION", "for it to answer, or to end; 30s if not given"},
    {'o', "output", "FILE", "where it writes its log; pawld.out in its dataDir if not given"},
    {0, NULL, NULL, NULL}};

#define SERVER_COMMAND(variable, word, function, text)                                         \
    static int run_##variable(struct cli *cli, const struct args *args)                        \
    {                                                                                          \
        return run_job(cli, args, function);                                                   \
    }                                                                                          \
    const struct command command_server_##variable = {.name = "server " word,                  \
                                                      .synopsis =                              \
                                                          "[-c FILE] [-w DURATION] [-o FILE]", \
                                                      .summary = text,                         \
                                                      .options = server_options,               \
                                                      .opens_itself = true,                    \
                                                      .run = run_##variable}

SERVER_COMMAND(start, "start", start, "start pawld in the background, and wait until it answers");
SERVER_COMMAND(stop, "stop", stop, "stop the pawld that server start has started");
SERVER_COMMAND(status, "status", status_of, "whether it answers, and in which role");
SERVER_COMMAND(restart, "restart", restart, "stop it, if it runs, and start it");
SERVER_COMMAND(print_cmd, "print-cmd", print_command, "the command line that start runs");
