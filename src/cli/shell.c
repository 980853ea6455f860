/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/editor.h"
#include "cli/event.h"
#include "cli/inherited.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/line.h"
#include "cli/settings.h"
#include "cli/typed.h"

/* A key is not to be waited for as long as an answer. */
enum { COMPLETION_TIMEOUT_MS = 3000 };

struct shell {
    struct cli *cli;
    struct editor *editor; /* NULL: a script, or a terminal that cannot do it */
    struct typed typed;
    struct strbuf prompt;
    bool is_closed; /* until `connect` */
    bool is_over;   /* by `quit` */
    bool hides_events;
};

/* ---- the connection ---- */

int shell_connect(struct shell *s)
{
    int status;

    if (s->cli->client != NULL) {
        return EXIT_OK;
    }
    if (s->is_closed) {
        cli_error(s->cli, "not connected; see connect");
        return EXIT_UNREACHABLE;
    }
    status = cli_connect(s->cli);
    if (status != EXIT_OK) {
        cli_disconnect(s->cli);
    }
    return status;
}

static int run_connect(struct cli *cli, const struct args *args)
{
    if (cli->shell != NULL) {
        cli_disconnect(cli);
        cli->shell->is_closed = false;
    }
    if (args->n_words > 0) {
        free(cli->servers_read);
        cli->servers = cli->servers_read = must_strdup(args->words[0]);
    }
    cli_catch_signals();
    return cli->shell != NULL ? shell_connect(cli->shell) : cli_connect(cli);
}

static int run_close(struct cli *cli, const struct args *args)
{
    (void)args;
    if (cli->shell != NULL) {
        cli_disconnect(cli);
        cli->shell->is_closed = true;
    }
    return EXIT_OK;
}

/* ---- processes ---- */

/* What of the settings is not in the environment, where those of TLS are put; credentials are for
 * neither the list of processes nor others' eyes. */
static char **argv_for(const struct cli *cli, int argc, char **argv)
{
    char **all = must_zalloc(((size_t)argc + 12) * sizeof(*all)), *text;
    int n = 0;

    all[n++] = must_strdup("pawl");
    all[n++] = must_strdup("-s");
    all[n++] = must_strdup(cli->servers);
    all[n++] = must_strdup("-T");
    all[n++] = asprintf(&text, "%dms", cli->session_timeout_ms) >= 0 ? text : must_strdup("10s");
    all[n++] = must_strdup("-C");
    all[n++] = asprintf(&text, "%dms", cli->connect_timeout_ms) >= 0 ? text : must_strdup("10s");
    if (cli->read_only) {
        all[n++] = must_strdup("-r");
    }
    if (cli->json) {
        all[n++] = must_strdup("-j");
    }
    for (int i = 0; i < argc; i++) {
        all[n++] = must_strdup(argv[i]);
    }
    return all;
}

static void argv_free(char **all)
{
    for (size_t i = 0; all[i] != NULL; i++) {
        free(all[i]);
    }
    free(all);
}

/* As settings.h has it. */
static void set_credentials(const struct cli *cli)
{
    struct strbuf text;

    if (cli->n_auths == 0) {
        return;
    }
    strbuf_init(&text, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < cli->n_auths; i++) {
        strbuf_printf(&text, "%s%s:", i > 0 ? "\n" : "", cli->auths[i].scheme);
        strbuf_append(&text, cli->auths[i].auth.data, cli->auths[i].auth.len);
    }
    setenv(SETTINGS_SHELL_AUTH, strbuf_cstr(&text), 1);
    strbuf_fini(&text);
}

/* ^C at a terminal reaches the process as well; what ends the shell is passed on. */
static int wait_for_process(struct shell *s, pid_t pid)
{
    int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0), how;
    bool was_interrupted = false, has_passed_on = false;
    struct pollfd fds[] = {{.fd = pid_fd, .events = POLLIN},
                           {.fd = cli_signal_fd(), .events = POLLIN}};

    while (pid_fd >= 0 && fds[0].revents == 0) {
        poll(fds, 2, -1);
        was_interrupted = was_interrupted || cli_signal() == SIGINT;
        cli_forget_interrupt(s->cli);
        if (cli_signal() != 0 && !has_passed_on) {
            has_passed_on = true;
            fds[1].fd = -1;
            kill(pid, cli_signal());
        }
    }
    if (pid_fd >= 0) {
        close(pid_fd);
    }
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) {
    }
    if (was_interrupted && s->editor == NULL) {
        raise(SIGINT); /* a script is not to go on */
    }
    return WIFEXITED(how) ? WEXITSTATUS(how) : EXIT_SIGNAL + WTERMSIG(how);
}

int shell_spawn(struct shell *s, int argc, char **argv)
{
    char **all = argv_for(s->cli, argc, argv);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, on_quit;
    int status = EXIT_SYSTEM;
    pid_t pid;

    cli_set_environment(s->cli);
    set_credentials(s->cli);
    sigaction(SIGQUIT, &ignore, &on_quit);
    pid = fork();
    if (pid == 0) {
        inherited_restore();
        execv("/proc/self/exe", all);
        _exit(EXIT_CANNOT_RUN);
    }
    unsetenv(SETTINGS_SHELL_AUTH);
    if (pid < 0) {
        cli_error(s->cli, "no process for the command: %s", strerror(errno));
    } else {
        status = wait_for_process(s, pid);
    }
    sigaction(SIGQUIT, &on_quit, NULL);
    argv_free(all);
    return status;
}

/* ---- one line ---- */

static int run_line(struct shell *s, const char *text)
{
    struct line_words words;
    int status = EXIT_USAGE;

    if (!line_split(text, &words)) {
        cli_error(s->cli, "a quote is not closed, or \\ is followed by something unknown");
        return EXIT_USAGE;
    }
    status = words.n > 0 ? commands_run(s->cli, words.n, words.items) : EXIT_OK;
    line_words_free(&words);
    s->cli->command = &command_shell;
    s->cli->line = 0;
    clearerr(stdin); /* ^D has ended the command's input, not ours */
    events_print(s->cli, s->hides_events);
    return status;
}

/* ---- a terminal ---- */

static const char *state_name(const struct shell *s)
{
    switch (s->cli->client != NULL ? pawl_client_state(s->cli->client) : PAWL_STATE_CLOSED) {
    case PAWL_STATE_CONNECTED:
    case PAWL_STATE_RECONNECTED:
        return "CONNECTED";
    case PAWL_STATE_READ_ONLY:
        return "CONNECTEDREADONLY";
    case PAWL_STATE_CLOSED:
        return "CLOSED";
    default:
        return "CONNECTING";
    }
}

static const char *shell_prompt(void *arg)
{
    struct shell *s = arg;
    const char *state = state_name(s);
    bool is_connected = strncmp(state, "CONNECTED", 9) == 0;

    strbuf_clear(&s->prompt);
    strbuf_printf(&s->prompt, "[pawl: %s(%s%s%s) %zu] ", s->cli->servers,
                  !s->cli->in_colour ? ""
                  : is_connected     ? "\1\033[32m\1"
                                     : "\1\033[31m\1",
                  state, s->cli->in_colour ? "\1\033[0m\1" : "", typed_next(&s->typed));
    return strbuf_cstr(&s->prompt);
}

static void shell_on_events(void *arg)
{
    struct shell *s = arg;

    events_print(s->cli, s->hides_events);
}

static void shell_complete(void *arg, struct candidates *c)
{
    struct shell *s = arg;
    struct pawl_client *view;
    struct pawl_reply *reply = NULL;

    if (s->cli->client == NULL ||
        pawl_client_view(s->cli->client, PAWL_VIEW_OPTIONS(.timeout_ms = COMPLETION_TIMEOUT_MS),
                         &view) != PAWL_OK) {
        return;
    }
    if (pawl_children(view, c->parent, NULL, &reply) == PAWL_OK) {
        for (size_t i = 0; i < reply->children.n; i++) {
            complete_add_child(c, reply->children.items[i]);
        }
    }
    pawl_reply_free(reply);
    pawl_client_close(view);
}

static void remember(const char *line, void *arg)
{
    editor_remember(arg, line);
}

/* What is typed at a terminal, until its end. */
static int run_typed(struct shell *s)
{
    const char *line;

    for (;;) {
        enum editor_news news = editor_read(s->editor, &line);

        if (news == EDITOR_END) {
            putchar('\n');
            return EXIT_OK;
        }
        if (news == EDITOR_INTERRUPTED) {
            putchar('\n');
        } else if (line[strspn(line, " \t")] != '\0') {
            editor_remember(s->editor, typed_add(&s->typed, line));
            if (run_line(s, line) == EXIT_SIGNAL + SIGINT) {
                putchar('\n'); /* behind ^C */
            }
        }
        cli_forget_interrupt(s->cli);
        if (cli_signal() != 0 || s->is_over || ferror(stdout)) {
            return cli_signal() != 0 ? EXIT_SIGNAL + cli_signal() : EXIT_OK;
        }
    }
}

static int run_on_terminal(struct shell *s)
{
    const char *no_colour = getenv("NO_COLOR");
    int status;

    s->cli->in_colour = no_colour == NULL || no_colour[0] == '\0';
    typed_open(&s->typed, remember, s->editor);
    shell_connect(s); /* if it fails, the first command tries again */
    cli_forget_interrupt(s->cli);
    status = run_typed(s);
    editor_close(s->editor);
    typed_close(&s->typed);
    return status;
}

/* ---- a script ---- */

struct script {
    const char *name; /* NULL: standard input */
    int fd;
    int number; /* of the line */
    struct strbuf text;
    bool is_at_end;
};

/* Standard input is the script's alone: a command that reads it would take the lines behind its
 * own. */
static bool script_open(struct script *script, const struct cli *cli, const char *name)
{
    int nothing;

    *script = (struct script){.name = name};
    if (name != NULL) {
        script->fd = open(name, O_RDONLY | O_CLOEXEC);
    } else {
        script->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
        close(nothing);
    }
    if (script->fd < 0) {
        cli_error(cli, "%s: %s", name != NULL ? name : "standard input", strerror(errno));
        return false;
    }
    strbuf_init(&script->text, INPUT_LIMIT_BYTES);
    return true;
}

static void script_close(struct script *script)
{
    close(script->fd);
    strbuf_fini(&script->text);
}

/* More of it. False: an error, which was reported, or a signal. */
static bool script_read(struct script *script, const struct cli *cli)
{
    char part[65536];
    ssize_t n;

    cli_wait(script->fd);
    if (cli_signal() != 0) {
        return false;
    }
    n = read(script->fd, part, sizeof(part));
    if (n < 0 && errno != EINTR && errno != EAGAIN) {
        cli_error(cli, "%s: %s", script->name != NULL ? script->name : "standard input",
                  strerror(errno));
        return false;
    }
    script->is_at_end = n == 0;
    strbuf_append(&script->text, part, n > 0 ? (size_t)n : 0);
    if (script->text.failed) {
        cli_error(cli, "a line is larger than %d bytes", INPUT_LIMIT_BYTES);
    }
    return !script->text.failed;
}

/* A line, to be freed; NULL: the end, or `*status`. */
static char *script_line(struct script *script, const struct cli *cli, int *status)
{
    struct strbuf *text = &script->text;
    const char *end = NULL;
    size_t len, seen = 0;
    char *line;

    while ((end = text->len > seen ? memchr(text->data + seen, '\n', text->len - seen) : NULL) ==
               NULL &&
           !script->is_at_end) {
        seen = text->len;
        if (!script_read(script, cli)) {
            *status = cli_signal() != 0 ? EXIT_SIGNAL + cli_signal() : EXIT_SYSTEM;
            return NULL;
        }
    }
    if (text->len == 0) {
        return NULL;
    }
    len = end != NULL ? (size_t)(end - (const char *)text->data) : text->len;
    if (memchr(text->data, '\0', len) != NULL) {
        cli_error(cli, "line %d has a zero byte in it", script->number + 1);
        *status = EXIT_USAGE;
        return NULL;
    }
    line = must_copy_string(bytes_of(text->data, len));
    len += end != NULL;
    memmove(text->data, text->data + len, text->len - len);
    text->len -= len;
    script->number++;
    return line;
}

static void report_stop(const struct cli *cli, const struct script *script, const char *line,
                        int status, bool goes_on)
{
    char *shown = typed_without_secrets(line + strspn(line, " \t"));

    cli_error(cli, "%s%sline %d: '%s' has ended with %d%s",
              script->name != NULL ? script->name : "", script->name != NULL ? ", " : "",
              script->number, shown, status, goes_on ? "" : "; what follows was not done");
    free(shown);
}

static int run_script(struct shell *s, const char *name, bool goes_on)
{
    int status = EXIT_OK, first_failure = EXIT_OK;
    struct script script;
    char *line;

    if (!script_open(&script, s->cli, name)) {
        return EXIT_SYSTEM;
    }
    while ((line = script_line(&script, s->cli, &status)) != NULL) {
        typed_add(&s->typed, line);
        status = run_line(s, line);
        if (status != EXIT_OK && cli_signal() == 0 && !ferror(stdout)) {
            report_stop(s->cli, &script, line, status, goes_on);
        }
        free(line);
        first_failure = first_failure == EXIT_OK ? status : first_failure;
        if (s->is_over || cli_signal() != 0 || ferror(stdout) || (status != EXIT_OK && !goes_on)) {
            break;
        }
    }
    script_close(&script);
    typed_close(&s->typed);
    if (first_failure == EXIT_OK && cli_signal() != 0) {
        return EXIT_SIGNAL + cli_signal(); /* also when the last command was done by then */
    }
    return first_failure == EXIT_OK ? status : first_failure;
}

/* ---- the commands ---- */

static int run_shell(struct cli *cli, const struct args *args)
{
    struct shell s = {.cli = cli};
    struct editor_hooks hooks = {
        .prompt = shell_prompt, .complete = shell_complete, .idle = shell_on_events, .arg = &s};
    bool is_typed = args->n_words == 0 && isatty(STDIN_FILENO); /* if without an editor */
    int status;

    cli->shell = &s;
    cli_catch_signals();
    strbuf_init(&s.prompt, STRBUF_NO_LIMIT);
    if (args->n_words == 0) {
        s.editor = editor_open(&hooks);
    }
    status = s.editor != NULL ? run_on_terminal(&s)
                              : run_script(&s, args->n_words > 0 ? args->words[0] : NULL,
                                           args_has(args, 'k') || is_typed);
    strbuf_fini(&s.prompt);
    cli->shell = NULL; /* main.c ends the session */
    cli->command = &command_shell;
    return status;
}

static const struct option_spec no_options[] = {{0, NULL, NULL, NULL}};
static const struct option_spec shell_options[] = {
    {'k', "keep-going", NULL, "of a script: go on after a command that has failed"},
    {0, NULL, NULL, NULL}};

const struct command command_shell = {
    .name = "shell",
    .synopsis = "[-k] [FILE]",
    .summary = "commands one after another, typed or from a file or a pipe, in one session",
    .options = shell_options,
    .max_words = 1,
    .opens_itself = true,
    .run = run_shell};

static void print_old(const char *line, void *arg)
{
    (void)arg;
    puts(line);
}

int shell_print_history(const struct shell *s)
{
    struct typed old;

    if (s == NULL) {
        typed_open(&old, print_old, NULL);
        typed_close(&old);
        return EXIT_OK;
    }
    for (size_t i = s->typed.first; i < typed_next(&s->typed); i++) {
        printf("%zu - %s\n", i, typed_get(&s->typed, i));
    }
    return EXIT_OK;
}

static int run_redo(struct cli *cli, const struct args *args)
{
    struct shell *s = cli->shell;
    const char *line;
    char *copy;
    int64_t n;
    int status;

    if (!number_parse(cli, "NUMBER", args->words[0], 0, INT32_MAX, &n)) {
        return EXIT_USAGE;
    }
    line = s != NULL ? typed_get(&s->typed, (size_t)n) : NULL;
    if (line == NULL || (size_t)n + 1 == typed_next(&s->typed)) {
        cli_error(cli, "there is no line %s; see history", args->words[0]);
        return EXIT_USAGE;
    }
    if (line_is_of(line, command_redo.name)) {
        cli_error(cli, "line %s is a redo itself", args->words[0]); /* which could be of itself */
        return EXIT_USAGE;
    }
    copy = must_strdup(line);
    typed_replace(&s->typed, copy);
    puts(copy);
    status = run_line(s, copy);
    free(copy);
    return status;
}

const struct command command_redo = {.name = "redo",
                                     .synopsis = "NUMBER",
                                     .summary = "run a line of history again",
                                     .options = no_options,
                                     .min_words = 1,
                                     .max_words = 1,
                                     .opens_itself = true,
                                     .is_of_shell = true,
                                     .run = run_redo};

const struct command command_connect = {.name = "connect",
                                        .synopsis = "[SERVERS]",
                                        .summary = "begin a new session, there from now on",
                                        .options = no_options,
                                        .max_words = 1,
                                        .opens_itself = true,
                                        .is_of_shell = true,
                                        .run = run_connect};

const struct command command_close = {.name = "close",
                                      .synopsis = "",
                                      .summary = "end the session of this shell",
                                      .options = no_options,
                                      .opens_itself = true,
                                      .is_of_shell = true,
                                      .run = run_close};

static int run_printwatches(struct cli *cli, const struct args *args)
{
    bool is_hidden = cli->shell != NULL && cli->shell->hides_events;

    if (args->n_words == 0) {
        if (cli->json) {
            json_open(NULL, '{');
            json_bool("printwatches", !is_hidden);
            json_close('{');
        } else {
            printf("printwatches is %s\n", is_hidden ? "off" : "on");
        }
        return EXIT_OK;
    }
    if (strcmp(args->words[0], "on") != 0 && strcmp(args->words[0], "off") != 0) {
        cli_error(cli, "on or off, not '%s'", args->words[0]);
        return EXIT_USAGE;
    }
    if (cli->shell != NULL) {
        cli->shell->hides_events = strcmp(args->words[0], "off") == 0;
    }
    return EXIT_OK;
}

const struct command command_printwatches = {.name = "printwatches",
                                             .synopsis = "[on|off]",
                                             .summary = "print what watches tell in this shell",
                                             .options = no_options,
                                             .max_words = 1,
                                             .opens_itself = true,
                                             .is_of_shell = true,
                                             .run = run_printwatches};

static int run_quit(struct cli *cli, const struct args *args)
{
    (void)args;
    if (cli->shell != NULL) {
        cli->shell->is_over = true;
    }
    return EXIT_OK;
}

const struct command command_quit = {.name = "quit",
                                     .also = "exit",
                                     .synopsis = "",
                                     .summary = "end this shell",
                                     .options = no_options,
                                     .opens_itself = true,
                                     .is_of_shell = true,
                                     .run = run_quit};
