/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - `pawl`: finds the command, reads its options, runs it. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pawl/version.h>

#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/inherited.h"
#include "cli/settings.h"
#include "cli/shell.h"

static const struct command *const commands[] = {
    &command_lock,
    &command_locks_why, /* before `locks`, which takes what follows for a path */
    &command_locks_gc,
    &command_locks,
    &command_lead,
    &command_semaphore,
    &command_barrier_raise,
    &command_barrier_lift,
    &command_barrier_wait,
    &command_barrier_meet,
    &command_counter_get,
    &command_counter_add,
    &command_counter_set,
    &command_queue_put,
    &command_queue_take,
    &command_queue_ls,
    &command_service_register,
    &command_service_ls,
    &command_service_watch,
    /* nodes */
    &command_ls,
    &command_ls2,
    &command_tree,
    &command_get,
    &command_set,
    &command_create,
    &command_rm,
    &command_deleteall,
    &command_stat,
    &command_exists,
    &command_count,
    &command_watch,
    &command_add_watch,
    &command_sync,
    &command_acl_get,
    &command_acl_set,
    &command_whoami,
    &command_config,
    &command_find,
    &command_grep,
    &command_du,
    &command_cp,
    &command_mv,
    &command_words,
    &command_top,
    &command_console,
    &command_sessions,
    &command_ephemerals,
    &command_quota_get,
    &command_quota_set,
    &command_quota_rm,
    &command_txn,
    &command_export,
    &command_import,
    &command_diff,
    &command_mirror,
    &command_edit,
    &command_reconfig,
    /* files */
    &command_log,
    &command_snapshot,
    &command_history,
    &command_at,
    &command_backup_verify, /* before `backup`, which takes what follows for a folder */
    &command_backup,
    &command_restore,
    &command_shed,
    &command_bench,
    &command_ensemble_init,
    &command_ensemble_rescue,
    &command_server_start,
    &command_server_stop,
    &command_server_status,
    &command_server_restart,
    &command_server_print_cmd,
    &command_doctor,
    &command_completions,
    /* a shell */
    &command_shell,
    &command_help,
    &command_redo,
    &command_connect,
    &command_close,
    &command_printwatches,
    &command_addauth,
    &command_own_ephemerals,
    &command_removewatches,
    &command_version,
    &command_quit,
};
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

const struct command *const *commands_all(size_t *n)
{
    *n = N_COMMANDS;
    return commands;
}

/* ---- help ---- */

static void print_options(const struct option_spec *specs)
{
    for (; specs->letter != 0; specs++) {
        char left[64];

        snprintf(left, sizeof(left), "-%c, --%s%s%s", specs->letter, specs->name,
                 specs->value != NULL ? " " : "", specs->value != NULL ? specs->value : "");
        printf("  %-32s %s\n", left, specs->help);
    }
}

static void print_help(void)
{
    puts("usage: pawl [OPTIONS] COMMAND [ARGUMENTS]\n\ncommands:");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        printf("  %-17s %s\n", commands[i]->name, commands[i]->summary);
    }
    puts("\noptions:");
    print_options(settings_options);
    puts("\npawl COMMAND --help says more of each; see also pawl(1).");
}

static void print_command_help(const struct command *c)
{
    printf("usage: pawl [OPTIONS] %s %s\n\n%s\n", c->name, c->synopsis, c->summary);
    if (c->options[0].letter != 0) {
        puts("");
        print_options(c->options);
    }
    puts("\nThe options of pawl itself (pawl --help) come before the command.");
}

/* ---- finding the command ---- */

static bool is_called(const struct command *c, const char *first, const char *second, int *n_used)
{
    const char *blank = strchr(c->name, ' ');

    *n_used = blank != NULL ? 2 : 1;
    if (blank == NULL) {
        if (strcmp(c->name, first) == 0) {
            return true;
        }
    } else if (second != NULL && strncmp(c->name, first, (size_t)(blank - c->name)) == 0 &&
               first[blank - c->name] == '\0' && strcmp(blank + 1, second) == 0) {
        return true;
    }
    *n_used = 1;
    return c->also != NULL && strcmp(c->also, first) == 0;
}

const struct command *commands_find(int argc, char **argv, int *n_used)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (is_called(commands[i], argv[0], argc > 1 ? argv[1] : NULL, n_used)) {
            return commands[i];
        }
    }
    return NULL;
}

/* ---- half a command: "barrier", without what is to be done with it ---- */

/* What follows `group` in the name of `c`; NULL: it is none of the group. */
static const char *rest_in_group(const struct command *c, const char *group)
{
    size_t len = strlen(group);

    return strncmp(c->name, group, len) == 0 && c->name[len] == ' ' ? c->name + len + 1 : NULL;
}

static bool is_group(const char *word)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (rest_in_group(commands[i], word) != NULL) {
            return true;
        }
    }
    return false;
}

static void print_group_help(const char *group)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (rest_in_group(commands[i], group) != NULL) {
            printf("usage: pawl [OPTIONS] %s %s\n       %s\n", commands[i]->name,
                   commands[i]->synopsis, commands[i]->summary);
        }
    }
}

/* "raise, lift, wait or meet" */
static void list_group(const char *group, struct strbuf *out)
{
    const char *last = NULL;

    for (size_t i = 0; i < N_COMMANDS; i++) {
        const char *rest = rest_in_group(commands[i], group);

        if (rest != NULL && last != NULL) {
            strbuf_printf(out, "%s%s", out->len > 0 ? ", " : "", last);
        }
        last = rest != NULL ? rest : last;
    }
    strbuf_printf(out, "%s%s", out->len > 0 ? " or " : "", last);
}

static const char *nearest_in_group(const char *group, const char *word)
{
    const char *names[N_COMMANDS];
    size_t n = 0;

    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (rest_in_group(commands[i], group) != NULL) {
            names[n++] = rest_in_group(commands[i], group);
        }
    }
    return nearest_name(word, names, n);
}

static int answer_half(const struct cli *cli, int argc, char **argv)
{
    const char *near = argc > 1 ? nearest_in_group(argv[0], argv[1]) : NULL;
    struct strbuf list;

    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        print_group_help(argv[0]);
        return EXIT_OK;
    }
    strbuf_init(&list, STRBUF_NO_LIMIT);
    list_group(argv[0], &list);
    if (near != NULL) {
        cli_error(cli, "there is no command '%s %s'; is '%s %s' meant? See pawl %s --help", argv[0],
                  argv[1], argv[0], near, argv[0]);
    } else if (argc > 1) {
        cli_error(cli, "there is no command '%s %s': %s is followed by %s", argv[0], argv[1],
                  argv[0], strbuf_cstr(&list));
    } else {
        cli_error(cli, "%s is followed by %s; see pawl %s --help", argv[0], strbuf_cstr(&list),
                  argv[0]);
    }
    strbuf_fini(&list);
    return EXIT_USAGE;
}

static int report_unknown_command(const struct cli *cli, const char *word)
{
    enum { LONGEST = 32 };
    char firsts[N_COMMANDS][LONGEST]; /* of "barrier raise" "barrier" */
    const char *names[2 * N_COMMANDS];
    const char *near;
    size_t n = 0;

    for (size_t i = 0; i < N_COMMANDS; i++) {
        snprintf(firsts[i], LONGEST, "%.*s", (int)strcspn(commands[i]->name, " "),
                 commands[i]->name);
        names[n++] = firsts[i];
        if (commands[i]->also != NULL) {
            names[n++] = commands[i]->also;
        }
    }
    near = nearest_name(word, names, n);
    if (near != NULL) {
        cli_error(cli, "there is no command '%s'; is '%s' meant? See pawl --help", word, near);
    } else {
        cli_error(cli, "there is no command '%s'; see pawl --help", word);
    }
    return EXIT_USAGE;
}

/* ---- running it ---- */

static bool has_right_words(const struct cli *cli, const struct args *args)
{
    const struct command *c = cli->command;

    if (args->n_words < c->min_words || (c->max_words >= 0 && args->n_words > c->max_words) ||
        c->runs_command != (args->command != NULL) ||
        (c->runs_command && args->command[0] == NULL)) {
        cli_error(cli, "usage: pawl %s %s", c->name, c->synopsis);
        return false;
    }
    return true;
}

/* "deleteall" is "rm" with an option of its own. */
static void imply(struct args *args, char letter)
{
    for (int i = 0; args->specs[i].letter != 0; i++) {
        if (args->specs[i].letter == letter) {
            args->values[i] = "";
        }
    }
}

/* `pawl ... | head`: whoever read has had enough. */
static bool is_reader_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

/* Nobody hears of a reader who is gone, as with programs that SIGPIPE ends: it is no failure. */
static int check_output(const struct cli *cli, int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return status;
    }
    if (is_reader_gone()) {
        return EXIT_SIGNAL + SIGPIPE;
    }
    cli_error(cli, "standard output cannot be written");
    return status == EXIT_OK ? EXIT_SYSTEM : status;
}

static int connect_and_run(struct cli *cli, const struct args *args)
{
    int status = EXIT_OK;

    if (!cli->command->opens_itself) {
        cli_catch_signals();
        status = cli->shell != NULL ? shell_connect(cli->shell) : cli_connect(cli);
    }
    if (status == EXIT_OK) {
        status = cli->command->run(cli, args);
    }
    status = check_output(cli, status); /* the answer does not wait for the end of the session */
    if (cli->shell == NULL) {
        cli_disconnect(cli);
    }
    return status;
}

static int run_command(struct cli *cli, int argc, char **argv)
{
    struct args args;
    int n_used, status = EXIT_USAGE;

    if (!args_parse(&args, cli, cli->command->options, argc, argv, true, &n_used)) {
        return EXIT_USAGE;
    }
    if (cli->command->also_means != 0) {
        imply(&args, cli->command->also_means);
    }
    if (args.wants_help) {
        print_command_help(cli->command);
        status = EXIT_OK;
    } else if (has_right_words(cli, &args) &&
               (cli->command->is_good == NULL || cli->command->is_good(cli, &args))) {
        status = connect_and_run(cli, &args);
    }
    args_fini(&args);
    return status;
}

static bool is_process_in_shell(const struct command *c)
{
    return c->is_apart || (c->opens_itself && !c->is_of_shell);
}

int commands_run(struct cli *cli, int argc, char **argv)
{
    int n_used;

    cli->command = commands_find(argc, argv, &n_used);
    if (cli->command == NULL && is_group(argv[0])) {
        return answer_half(cli, argc, argv);
    }
    if (cli->command == NULL) {
        return report_unknown_command(cli, argv[0]);
    }
    if (cli->shell != NULL && is_process_in_shell(cli->command)) {
        return shell_spawn(cli->shell, argc, argv);
    }
    return run_command(cli, argc - n_used, argv + n_used);
}

/* ---- help ---- */

static int run_help(struct cli *cli, const struct args *args)
{
    char **words = (char **)(uintptr_t)args->words;
    int n_used;
    const struct command *c =
        args->n_words > 0 ? commands_find(args->n_words, words, &n_used) : NULL;

    if (args->n_words == 0) {
        print_help();
    } else if (c != NULL) {
        print_command_help(c);
    } else if (is_group(args->words[0])) {
        print_group_help(args->words[0]);
    } else {
        return report_unknown_command(cli, args->words[0]);
    }
    return EXIT_OK;
}

static const struct option_spec help_options[] = {{0, NULL, NULL, NULL}};

const struct command command_help = {.name = "help",
                                     .synopsis = "[COMMAND]",
                                     .summary = "list the commands, or say more of one",
                                     .options = help_options,
                                     .max_words = 2,
                                     .opens_itself = true,
                                     .is_of_shell = true,
                                     .run = run_help};

/* `pawl` alone: whoever types it wants to type more. */
static int run_alone(struct cli *cli)
{
    static char shell[] = "shell";
    char *words[] = {shell, NULL};

    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
        return commands_run(cli, 1, words);
    }
    print_help();
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    struct cli cli = {0};
    struct args args;
    int n_used, status;

    inherited_keep();
    if (!args_parse(&args, &cli, settings_options, argc - 1, argv + 1, false, &n_used)) {
        return EXIT_USAGE;
    }
    if (args.wants_help) {
        print_help();
        status = EXIT_OK;
    } else if (args_has(&args, 'V')) {
        puts("pawl " PAWL_VERSION);
        status = EXIT_OK;
    } else {
        status = settings_read(&cli, &args);
        if (status == EXIT_OK) {
            status = argc - 1 == n_used ? run_alone(&cli)
                                        : commands_run(&cli, argc - 1 - n_used, argv + 1 + n_used);
        }
    }
    args_fini(&args);
    settings_free(&cli);
    return status;
}
