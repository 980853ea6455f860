/* SPDX-License-Identifier: Apache-2.0 */
/* reconfig.c - another list of members for an ensemble that runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/text.h"

/* zkCli.sh takes the version in hexadecimal, as `config` shows it behind "version=". */
static bool version_of(const struct args *args, const struct cli *cli, struct pawl_condition *out)
{
    const char *text = args_text(args, 'v');
    long long version;
    char *end;

    if (text == NULL) {
        return true;
    }
    version = strtoll(text, &end, 16);
    if (*text == '\0' || *end != '\0' || version < -1) {
        cli_error(cli, "--version: '%s' is no version such as 100000002, as pawl config shows it",
                  text);
        return false;
    }
    *out = pawl_version(version);
    return true;
}

static bool is_about_members(const char *line)
{
    return strncmp(line, "server.", 7) == 0 || strncmp(line, "group.", 6) == 0 ||
           strncmp(line, "weight.", 7) == 0;
}

/* The server.N, group.N and weight.N lines of a file, with commas between them. */
static int members_of_file(struct cli *cli, const char *file, struct strbuf *out)
{
    struct strbuf text;
    char *rest = NULL;
    int status;

    strbuf_init(&text, INPUT_LIMIT_BYTES);
    status = input_read(cli, file, &text);
    for (char *line = status == EXIT_OK
                          ? strtok_r((char *)(uintptr_t)strbuf_cstr(&text), "\r\n", &rest)
                          : NULL;
         line != NULL; line = strtok_r(NULL, "\r\n", &rest)) {
        if (is_about_members(line)) {
            strbuf_append_str(out, out->len > 0 ? "," : "");
            strbuf_append_str(out, line);
        }
    }
    if (status == EXIT_OK && out->len == 0) {
        cli_error(cli, "%s has no line server.N=HOST:PORT:PORT;PORT", file);
        status = EXIT_USAGE;
    }
    strbuf_fini(&text);
    return status;
}

/* "4=host:..." is short for "server.4=host:...", as zkCli.sh has it. */
static void append_members(struct strbuf *out, const char *list)
{
    while (*list != '\0') {
        size_t len = strcspn(list, ","), n_digits = strspn(list, "0123456789");

        strbuf_append_str(out, n_digits > 0 && list[n_digits] == '=' ? "server." : "");
        strbuf_append(out, list, len + (list[len] == ','));
        list += len + (list[len] == ',');
    }
}

static void print_config(const struct cli *cli, const struct pawl_reply *reply, bool with_stat)
{
    if (cli->json) {
        json_open(NULL, '{');
        json_data("data", reply->data);
        json_stat("stat", &reply->stat);
        json_close('{');
    } else {
        text_data(reply->data);
        if (reply->data.len > 0 && ((const char *)reply->data.data)[reply->data.len - 1] != '\n') {
            putchar('\n');
        }
        if (with_stat) {
            text_stat(&reply->stat);
        }
    }
}

static int check_answer(const struct cli *cli, const struct pawl_reply *reply)
{
    switch (reply == NULL ? PAWL_OK : reply->err) {
    case PAWL_ERR_NO_AUTH:
        cli_error(cli, "this takes the right to write /zookeeper/config; give credentials with "
                       "--auth SCHEME:CREDENTIALS");
        return EXIT_REFUSED;
    case PAWL_ERR_BAD_ARGUMENTS:
        cli_error(cli, "the ensemble refuses such a list: a line of it is "
                       "server.N=HOST:QUORUM-PORT:ELECTION-PORT;CLIENT-PORT, each number and "
                       "address is there once, and a quorum of voters is left");
        return EXIT_USAGE;
    default:
        return cli_check(cli, "/zookeeper/config", reply);
    }
}

static int ask_for(struct cli *cli, const struct pawl_reconfig *request, bool with_stat)
{
    struct pawl_reply *reply;
    int status;

    pawl_reconfig(cli->client, request, &reply);
    status = check_answer(cli, reply);
    if (status == EXIT_OK) {
        print_config(cli, reply, with_stat);
    }
    pawl_reply_free(reply);
    return status;
}

static bool is_one_kind(const struct args *args, const struct cli *cli)
{
    bool by_steps = args_has(args, 'a') || args_has(args, 'r');
    int n_whole = args_has(args, 'm') + args_has(args, 'f');

    if ((by_steps && n_whole > 0) || n_whole > 1 || (!by_steps && n_whole == 0)) {
        cli_error(cli, "say who is added (-a) and removed (-r), or the whole list (-m or -f)");
        return false;
    }
    return true;
}

static int run_reconfig(struct cli *cli, const struct args *args)
{
    struct pawl_reconfig request = {.size = sizeof(request), .leaving = args_text(args, 'r')};
    struct strbuf joining, members;
    int status = EXIT_OK;

    if (!is_one_kind(args, cli) || !version_of(args, cli, &request.only_if)) {
        return EXIT_USAGE;
    }
    strbuf_init(&joining, STRBUF_NO_LIMIT);
    strbuf_init(&members, STRBUF_NO_LIMIT);
    if (args_has(args, 'a')) {
        append_members(&joining, args_text(args, 'a'));
        request.joining = strbuf_cstr(&joining);
    }
    if (args_has(args, 'm')) {
        append_members(&members, args_text(args, 'm'));
    } else if (args_has(args, 'f')) {
        status = members_of_file(cli, args_text(args, 'f'), &members);
    }
    request.members = members.len > 0 ? strbuf_cstr(&members) : NULL;
    if (status == EXIT_OK) {
        status = ask_for(cli, &request, args_has(args, 's'));
    }
    strbuf_fini(&joining);
    strbuf_fini(&members);
    return status;
}

static const struct option_spec reconfig_options[] = {
    {'a', "add", "MEMBERS", "server.4=HOST:2888:3888;2181, several with commas between them"},
    {'r', "remove", "NUMBERS", "4, several with commas between them"},
    {'m', "members", "MEMBERS", "the whole list, instead of both"},
    {'f', "file", "FILE", "the whole list: the lines server.N=... of a file"},
    {'v', "version", "VERSION", "only if the configuration has this version"},
    {'s', "stat", NULL, "print the stat of the configuration, too"},
    {0, NULL, NULL, NULL}};

const struct command command_reconfig = {
    .name = "reconfig",
    .synopsis = "[-a MEMBERS] [-r NUMBERS] | -m MEMBERS | -f FILE [-v VERSION] [-s]",
    .summary = "change the members of the ensemble and print the new list",
    .options = reconfig_options,
    .run = run_reconfig};
