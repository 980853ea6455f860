/* SPDX-License-Identifier: Apache-2.0 */
/* ensemble.c - `pawl ensemble init`: the folders and files that members begin with.
 *
 *   DIR/1/zoo.cfg, DIR/1/data/myid, DIR/2/...      N members on this machine, for trying
 *   DIR/HOST/zoo.cfg, DIR/HOST/myid, ...           one for each named host, to be copied there
 *
 * What exists is never written over: all files are made here, or none is left. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/text.h"

enum { MEMBERS_MAX = 255 };

struct plan {
    struct cli *cli;
    char *dir;          /* absolute */
    const char **hosts; /* NULL: all here */
    int64_t n;
    int64_t client_port, quorum_port, election_port;
    const char *data_dir; /* of named hosts */
    char **made;          /* files and folders so far, in order */
    size_t n_made, capacity;
};

static int system_failed(const struct cli *cli, const char *path)
{
    cli_error(cli, "%s: %s", path, strerror(errno));
    return EXIT_SYSTEM;
}

/* "host" or "[::1]" */
static void append_host(const struct plan *p, int64_t i, struct strbuf *out)
{
    const char *host = p->hosts != NULL ? p->hosts[i] : "127.0.0.1";

    strbuf_printf(out, strchr(host, ':') != NULL ? "[%s]" : "%s", host);
}

/* Members on one machine must not have each other's ports. */
static int64_t port_of(const struct plan *p, int64_t base, int64_t i)
{
    return p->hosts != NULL ? base : base + i;
}

static void member_name(const struct plan *p, int64_t i, char *out, size_t size)
{
    if (p->hosts != NULL) {
        snprintf(out, size, "%s", p->hosts[i]);
    } else {
        snprintf(out, size, "%" PRId64, i + 1);
    }
}

/* ---- the text of a configuration ---- */

static void append_members(const struct plan *p, struct strbuf *out)
{
    for (int64_t i = 0; i < p->n; i++) {
        strbuf_printf(out, "server.%" PRId64 "=", i + 1);
        append_host(p, i, out);
        strbuf_printf(out, ":%" PRId64 ":%" PRId64 ";%" PRId64 "\n", port_of(p, p->quorum_port, i),
                      port_of(p, p->election_port, i), port_of(p, p->client_port, i));
    }
}

static void append_config(const struct plan *p, int64_t i, const char *data, struct strbuf *out)
{
    strbuf_printf(out,
                  "# member %" PRId64 " of %" PRId64 "\n"
                  "dataDir=%s\n"
                  "tickTime=2000\n"
                  "initLimit=10\n"
                  "syncLimit=5\n"
                  "autopurge.snapRetainCount=3\n"
                  "autopurge.purgeInterval=1\n",
                  i + 1, p->n, data);
    if (p->hosts == NULL) {
        strbuf_append_str(out, "admin.enableServer=false\n"); /* one port for all of them */
    }
    if (p->n == 1) {
        strbuf_printf(out, "clientPort=%" PRId64 "\n", p->client_port);
    } else {
        append_members(p, out);
    }
}

/* ---- files ---- */

static void note_made(struct plan *p, const char *path)
{
    if (p->n_made == p->capacity) {
        p->capacity = p->capacity * 2 + 16;
        p->made = must_realloc(p->made, p->capacity * sizeof(*p->made));
    }
    p->made[p->n_made++] = must_strdup(path);
}

/* Backwards, so that folders are empty by then. What others have put there meanwhile stays. */
static void unmake(struct plan *p)
{
    for (size_t i = p->n_made; i-- > 0;) {
        if (unlink(p->made[i]) != 0 && rmdir(p->made[i]) != 0 && errno != ENOENT) {
            cli_error(p->cli, "%s is left behind: %s", p->made[i], strerror(errno));
        }
    }
}

static void free_plan(struct plan *p)
{
    for (size_t i = 0; i < p->n_made; i++) {
        free(p->made[i]);
    }
    free(p->made);
    free(p->dir);
}

static int write_file(struct plan *p, const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    size_t len = strlen(text);
    ssize_t n;

    if (fd < 0) {
        return system_failed(p->cli, path);
    }
    note_made(p, path);
    n = write(fd, text, len);
    if (n >= 0 && n < (ssize_t)len) {
        errno = ENOSPC; /* the next write would say so */
    }
    if (n != (ssize_t)len) {
        system_failed(p->cli, path);
        close(fd);
        return EXIT_SYSTEM;
    }
    return close(fd) == 0 ? EXIT_OK : system_failed(p->cli, path);
}

static int make_folder(struct plan *p, const char *path)
{
    if (mkdir(path, 0755) != 0) {
        return system_failed(p->cli, path);
    }
    note_made(p, path);
    return EXIT_OK;
}

/* The folder of a member in `folder`, and that of its data, as the configuration names it. */
static void folders_of(const struct plan *p, int64_t i, struct strbuf *folder, struct strbuf *data)
{
    char name[256];

    member_name(p, i, name, sizeof(name));
    strbuf_printf(folder, "%s/%s", p->dir, name);
    if (p->hosts != NULL) {
        strbuf_append_str(data, p->data_dir);
    } else {
        strbuf_printf(data, "%s/data", strbuf_cstr(folder));
    }
}

static int write_member(struct plan *p, int64_t i, struct strbuf *folder, struct strbuf *data)
{
    struct strbuf path, text;
    char my_id[32];
    int status = make_folder(p, strbuf_cstr(folder));

    strbuf_init(&path, STRBUF_NO_LIMIT);
    strbuf_init(&text, STRBUF_NO_LIMIT);
    if (status == EXIT_OK && p->hosts == NULL) {
        status = make_folder(p, strbuf_cstr(data));
    }
    if (status == EXIT_OK) {
        strbuf_printf(&path, "%s/zoo.cfg", strbuf_cstr(folder));
        append_config(p, i, strbuf_cstr(data), &text);
        status = write_file(p, strbuf_cstr(&path), strbuf_cstr(&text));
    }
    if (status == EXIT_OK && p->n > 1) {
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/myid", strbuf_cstr(p->hosts != NULL ? folder : data));
        snprintf(my_id, sizeof(my_id), "%" PRId64 "\n", i + 1);
        status = write_file(p, strbuf_cstr(&path), my_id);
    }
    strbuf_fini(&path);
    strbuf_fini(&text);
    return status;
}

/* ---- what is told ---- */

static void tell_member(const struct plan *p, int64_t i, struct strbuf *folder, struct strbuf *data)
{
    struct strbuf client;

    strbuf_init(&client, STRBUF_NO_LIMIT);
    append_host(p, i, &client);
    strbuf_printf(&client, ":%" PRId64, port_of(p, p->client_port, i));
    if (p->cli->json) {
        json_open(NULL, '{');
        json_number("member", i + 1);
        json_text("folder", strbuf_cstr(folder));
        json_text("data_dir", strbuf_cstr(data));
        json_text("client", strbuf_cstr(&client));
        json_close('{');
    } else if (p->hosts != NULL) {
        printf("%s: copy zoo.cfg there, and myid to %s/myid\n", strbuf_cstr(folder),
               strbuf_cstr(data));
    } else {
        printf("pawl server start -c %s/zoo.cfg\n", strbuf_cstr(folder));
    }
    strbuf_fini(&client);
}

static void tell_servers(const struct plan *p)
{
    struct strbuf list;

    if (p->cli->json) {
        return;
    }
    strbuf_init(&list, STRBUF_NO_LIMIT);
    for (int64_t i = 0; i < p->n; i++) {
        strbuf_append_str(&list, i > 0 ? "," : "");
        append_host(p, i, &list);
        strbuf_printf(&list, ":%" PRId64, port_of(p, p->client_port, i));
    }
    printf("export PAWL_SERVER=%s\n", strbuf_cstr(&list));
    strbuf_fini(&list);
}

/* Writes all of them, until one fails, or tells of all. */
static int each_member(struct plan *p, bool is_told)
{
    int status = EXIT_OK;

    for (int64_t i = 0; i < p->n && status == EXIT_OK; i++) {
        struct strbuf folder, data;

        strbuf_init(&folder, STRBUF_NO_LIMIT);
        strbuf_init(&data, STRBUF_NO_LIMIT);
        folders_of(p, i, &folder, &data);
        if (is_told) {
            tell_member(p, i, &folder, &data);
        } else {
            status = write_member(p, i, &folder, &data);
        }
        strbuf_fini(&folder);
        strbuf_fini(&data);
    }
    return status;
}

static int write_members(struct plan *p)
{
    int status = each_member(p, false);

    if (status == EXIT_OK) {
        each_member(p, true);
        tell_servers(p);
    }
    return status;
}

/* ---- the command ---- */

static bool is_host(const char *word)
{
    return word[0] != '\0' && word[0] != '-' && word[0] != '.' && strlen(word) < 250 &&
           word[strspn(
               word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:")] == '\0';
}

static bool take_hosts(struct plan *p, const struct args *args)
{
    p->hosts = args->words + 1;
    p->n = args->n_words - 1;
    for (int64_t i = 0; i < p->n; i++) {
        if (!is_host(p->hosts[i])) {
            cli_error(p->cli, "'%s' is no name of a host", p->hosts[i]);
            return false;
        }
        for (int64_t j = 0; j < i; j++) {
            if (strcmp(p->hosts[i], p->hosts[j]) == 0) {
                cli_error(p->cli, "%s is there twice", p->hosts[i]);
                return false;
            }
        }
    }
    return true;
}

/* One word of digits is a number of members, everything else are hosts. */
static bool take_members(struct plan *p, const struct args *args)
{
    const char *word = args->words[1];

    if (args->n_words == 2 && word[strspn(word, "0123456789")] == '\0') {
        return number_parse(p->cli, "N", word, 1, MEMBERS_MAX, &p->n);
    }
    return take_hosts(p, args);
}

static bool ports_fit(const struct plan *p)
{
    int64_t span = p->hosts != NULL ? 1 : p->n;
    int64_t bases[] = {p->client_port, p->quorum_port, p->election_port};

    for (int i = 0; i < 3; i++) {
        if (bases[i] + span - 1 > 65535) {
            cli_error(p->cli, "the ports end at 65535");
            return false;
        }
        for (int j = 0; j < i; j++) {
            if (bases[i] < bases[j] + span && bases[j] < bases[i] + span) {
                cli_error(p->cli, "the ports of clients, quorum and election overlap");
                return false;
            }
        }
    }
    return true;
}

/* The folder is made if it does not exist; one that has something in it is refused member by
 * member. */
static int find_dir(struct plan *p, const char *dir)
{
    if (mkdir(dir, 0755) == 0) {
        note_made(p, dir);
    } else if (errno != EEXIST) {
        return system_failed(p->cli, dir);
    }
    p->dir = realpath(dir, NULL);
    return p->dir != NULL ? EXIT_OK : system_failed(p->cli, dir);
}

static int run_init(struct cli *cli, const struct args *args)
{
    const char *data_dir = args_text(args, 'D');
    struct plan p = {.cli = cli,
                     .client_port = 2181,
                     .quorum_port = 2888,
                     .election_port = 3888,
                     .data_dir = data_dir != NULL ? data_dir : "/var/lib/pawl"};
    int status;

    if (!take_members(&p, args) || !args_number(args, cli, 'p', 1, 65535, &p.client_port) ||
        !args_number(args, cli, 'q', 1, 65535, &p.quorum_port) ||
        !args_number(args, cli, 'e', 1, 65535, &p.election_port) || !ports_fit(&p)) {
        return EXIT_USAGE;
    }
    status = find_dir(&p, args->words[0]);
    if (status == EXIT_OK) {
        status = write_members(&p);
    }
    fflush(stdout);
    if (status != EXIT_OK) {
        unmake(&p);
    }
    if (status == EXIT_OK && p.n % 2 == 0) {
        cli_error(cli, "%" PRId64 " members go on without %" PRId64 " of them, as %" PRId64 " do",
                  p.n, (p.n - 1) / 2, p.n - 1);
    }
    free_plan(&p);
    return status;
}

static const struct option_spec init_options[] = {
    {'p', "client-port", "NUMBER", "of the first member; 2181 if not given"},
    {'q', "quorum-port", "NUMBER", "2888 if not given"},
    {'e', "election-port", "NUMBER", "3888 if not given"},
    {'D', "data-dir", "FOLDER", "of named hosts; /var/lib/pawl if not given"},
    {0, NULL, NULL, NULL}};

const struct command command_ensemble_init = {
    .name = "ensemble init",
    .synopsis = "[-p NUMBER] [-q NUMBER] [-e NUMBER] [-D FOLDER] FOLDER N|HOST...",
    .summary = "write folders and files of N members for trying here, or for these hosts",
    .options = init_options,
    .min_words = 2,
    .max_words = -1,
    .opens_itself = true,
    .run = run_init};
