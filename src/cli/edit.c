/* SPDX-License-Identifier: Apache-2.0 */
/* edit.c - the data of a node in an editor, written back if nobody else has changed them.
 *
 * What was typed is never lost: whatever keeps it from being written, the file stays and is named.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/inherited.h"
#include "cli/input.h"
#include "cli/text.h"

/* A copy of the data in a file of its own. */
struct draft {
    char name[4096];
};

static int draft_make(struct cli *cli, struct draft *d, const char *suffix, struct pawl_bytes data)
{
    const char *folder = getenv("TMPDIR");
    const char *bytes = data.data;
    size_t written = 0;
    ssize_t n = 0;
    int fd;

    snprintf(d->name, sizeof(d->name), "%s/pawl-%s-XXXXXX",
             folder != NULL && folder[0] != '\0' ? folder : "/tmp", suffix);
    fd = mkostemp(d->name, O_CLOEXEC);
    while (fd >= 0 && n >= 0 && written < data.len) {
        n = write(fd, bytes + written, data.len - written);
        written += n > 0 ? (size_t)n : 0;
    }
    if (fd < 0 || n < 0 || close(fd) != 0) {
        cli_error(cli, "%s: %s", d->name, strerror(errno));
        return EXIT_SYSTEM;
    }
    return EXIT_OK;
}

static bool is_same(const struct strbuf *text, struct pawl_bytes data)
{
    return text->len == data.len && (data.len == 0 || memcmp(text->data, data.data, data.len) == 0);
}

/* Runs `command` in a shell, with the names as $1 and $2, and waits for it. */
static int run_in_shell(struct cli *cli, const char *command, const char *one, const char *two)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, on_int, on_quit;
    int how = 0;
    pid_t child;

    sigaction(SIGINT, &ignore, &on_int); /* ^C is the editor's, as with system() */
    sigaction(SIGQUIT, &ignore, &on_quit);
    child = fork();
    if (child == 0) {
        inherited_restore();
        execl("/bin/sh", "sh", "-c", command, "pawl", one, two, (char *)NULL);
        _exit(EXIT_NOT_FOUND);
    }
    while (child > 0 && waitpid(child, &how, 0) < 0 && errno == EINTR) {
    }
    sigaction(SIGINT, &on_int, NULL);
    sigaction(SIGQUIT, &on_quit, NULL);
    if (child < 0) {
        cli_error(cli, "no process for the editor: %s", strerror(errno));
        return EXIT_SYSTEM;
    }
    return WIFEXITED(how) ? WEXITSTATUS(how) : EXIT_SIGNAL + WTERMSIG(how);
}

static int run_editor(struct cli *cli, const struct draft *mine)
{
    const char *editor = getenv("VISUAL");
    struct strbuf command;
    int status;

    if (editor == NULL || editor[0] == '\0') {
        editor = getenv("EDITOR");
    }
    if (editor == NULL || editor[0] == '\0') {
        editor = "vi";
    }
    strbuf_init(&command, STRBUF_NO_LIMIT);
    strbuf_printf(&command, "%s \"$1\"", editor);
    status = run_in_shell(cli, strbuf_cstr(&command), mine->name, NULL);
    strbuf_fini(&command);
    if (status != 0) {
        cli_error(cli, "%s has ended with %d, and nothing was written", editor, status);
        return EXIT_CANNOT_RUN;
    }
    return EXIT_OK;
}

/* Without what a terminal would obey: these are others' data. */
static void show_difference(struct cli *cli, const struct draft *theirs, const struct draft *mine)
{
    struct strbuf text;

    strbuf_init(&text, INPUT_LIMIT_BYTES);
    run_in_shell(cli,
                 "d=$(diff -u --label theirs --label yours \"$1\" \"$2\"); "
                 "printf '%s\\n' \"$d\" >\"$1\"",
                 theirs->name, mine->name);
    if (input_read(cli, theirs->name, &text) == EXIT_OK) {
        text_message(stderr, strbuf_cstr(&text));
    }
    strbuf_fini(&text);
}

/* Somebody else was faster: what differs now is shown. */
static void show_conflict(struct cli *cli, const char *path, const struct draft *mine)
{
    struct pawl_reply *reply;
    struct draft theirs;

    pawl_get(cli->client, path, NULL, &reply);
    if (reply != NULL && reply->err == PAWL_OK &&
        draft_make(cli, &theirs, "theirs", reply->data) == EXIT_OK) {
        show_difference(cli, &theirs, mine);
        unlink(theirs.name);
    }
    pawl_reply_free(reply);
}

/* *is_written: also when there was nothing to write. */
static int write_back(struct cli *cli, const char *path, const struct pawl_reply *before,
                      const struct draft *mine, bool *is_written)
{
    struct pawl_set request = {.size = sizeof(request), .path = path};
    struct pawl_reply *reply = NULL;
    struct strbuf text;
    int status;

    strbuf_init(&text, INPUT_LIMIT_BYTES);
    status = input_read(cli, mine->name, &text);
    request.data = (struct pawl_bytes){text.len > 0 ? (const void *)text.data : "", text.len};
    request.only_if = pawl_version(before->stat.version);
    if (status == EXIT_OK && is_same(&text, before->data)) {
        cli_error(cli, "%s: nothing was changed", path);
        *is_written = true;
    } else if (status == EXIT_OK) {
        pawl_set(cli->client, &request, &reply);
        status = cli_check(cli, path, reply);
        *is_written = status == EXIT_OK;
        if (status == EXIT_CONFLICT) {
            show_conflict(cli, path, mine);
        }
    }
    pawl_reply_free(reply);
    strbuf_fini(&text);
    return status;
}

static bool is_as_before(struct cli *cli, const struct draft *mine, struct pawl_bytes data)
{
    struct strbuf text;
    bool is_it;

    strbuf_init(&text, INPUT_LIMIT_BYTES);
    is_it = input_read(cli, mine->name, &text) == EXIT_OK && is_same(&text, data);
    strbuf_fini(&text);
    return is_it;
}

static int edit_data(struct cli *cli, const char *path, const struct pawl_reply *before)
{
    struct draft mine;
    bool is_written = false;
    int status = draft_make(cli, &mine, "edit", before->data);

    if (status != EXIT_OK) {
        return status;
    }
    status = run_editor(cli, &mine);
    if (status == EXIT_OK) {
        status = write_back(cli, path, before, &mine, &is_written);
    } else {
        is_written = is_as_before(cli, &mine, before->data);
    }
    if (is_written) {
        unlink(mine.name);
    } else {
        cli_error(cli, "what you have written is in %s", mine.name);
    }
    return status;
}

static int run_edit(struct cli *cli, const struct args *args)
{
    const char *path = args->words[0];
    struct pawl_reply *reply;
    int status;

    pawl_get(cli->client, path, NULL, &reply);
    status = cli_check_read(cli, path, reply);
    if (status == EXIT_OK) {
        status = edit_data(cli, path, reply);
    }
    pawl_reply_free(reply);
    return status;
}

static const struct option_spec edit_options[] = {{0, NULL, NULL, NULL}};

const struct command command_edit = {.name = "edit",
                                     .synopsis = "PATH",
                                     .summary = "change the data of a node in $VISUAL or $EDITOR",
                                     .options = edit_options,
                                     .min_words = 1,
                                     .max_words = 1,
                                     .run = run_edit};
