/* SPDX-License-Identifier: Apache-2.0 */
/* quota.c - how many nodes and bytes may be below a node, and how many are.
 *
 * A quota of /a is a pair of nodes: /zookeeper/quota/a/zookeeper_limits, which is ours to write,
 * and /zookeeper/quota/a/zookeeper_stats, which the server keeps. Both are text:
 *
 *   count=5,bytes=100=;byteHardLimit=-1;countHardLimit=-1      -1: no limit
 *
 * Of a path and what is above and below it, one only may have a quota: the server would count for
 * the nearest alone. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/walk.h"
#include "wire/path.h"

#define QUOTA_TOP   "/zookeeper/quota"
#define LIMITS_NAME "zookeeper_limits"
#define STATS_NAME  "zookeeper_stats"

/* -1: no limit */
struct limits {
    int64_t nodes, bytes, hard_nodes, hard_bytes;
};

static const struct {
    char letter;
    size_t offset;
    const char *key, *name;
    int64_t least;
} fields[] = {{'n', offsetof(struct limits, nodes), "count", "nodes_limit", 1},
              {'b', offsetof(struct limits, bytes), "bytes", "bytes_limit", 0},
              {'N', offsetof(struct limits, hard_nodes), "countHardLimit", "nodes_hard_limit", 1},
              {'B', offsetof(struct limits, hard_bytes), "byteHardLimit", "bytes_hard_limit", 0}};
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]) };

static int64_t *field_of(struct limits *limits, size_t i)
{
    return (int64_t *)((char *)limits + fields[i].offset);
}

/* ---- the text ---- */

/* What is not there, or no number, is no limit: that is how servers read it. */
static struct limits limits_parse(struct pawl_bytes text)
{
    struct limits limits = {-1, -1, -1, -1};
    char *copy = must_alloc(text.len + 1), *rest = NULL;

    if (text.len > 0) {
        memcpy(copy, text.data, text.len);
    }
    copy[text.len] = '\0';
    for (char *pair = strtok_r(copy, ",;", &rest); pair != NULL;
         pair = strtok_r(NULL, ",;", &rest)) {
        char *equals = strchr(pair, '=');

        for (size_t i = 0; equals != NULL && i < N_FIELDS; i++) {
            if (strlen(fields[i].key) == (size_t)(equals - pair) &&
                strncmp(fields[i].key, pair, (size_t)(equals - pair)) == 0) {
                *field_of(&limits, i) = strtoll(equals + 1, NULL, 10);
            }
        }
    }
    free(copy);
    return limits;
}

/* Servers before 3.7 know the first two only. */
static void limits_print(const struct limits *limits, struct strbuf *out)
{
    strbuf_printf(out, "count=%" PRId64 ",bytes=%" PRId64, limits->nodes, limits->bytes);
    if (limits->hard_nodes >= 0 || limits->hard_bytes >= 0) {
        strbuf_printf(out, "=;byteHardLimit=%" PRId64 ";countHardLimit=%" PRId64,
                      limits->hard_bytes, limits->hard_nodes);
    }
}

/* ---- the nodes ---- */

static char *quota_folder(const char *path)
{
    return strcmp(path, "/") == 0 ? must_strdup(QUOTA_TOP) : path_joined(QUOTA_TOP, path + 1);
}

static char *quota_node(const char *path, const char *name)
{
    char *folder = quota_folder(path), *node = path_joined(folder, name);

    free(folder);
    return node;
}

static bool is_possible(const struct cli *cli, const char *path)
{
    const char *chroot = cli_chroot(cli);

    if (!path_is_valid(bytes_str(path))) {
        cli_report(cli, path, PAWL_ERR_BAD_ARGUMENTS);
        return false;
    }
    if (path_is_within(bytes_str(path), bytes_str("/zookeeper"))) {
        cli_error(cli, "%s is the server's own: it has no quota", path);
        return false;
    }
    if (chroot[0] != '\0' && strcmp(chroot, "/") != 0) {
        cli_error(cli,
                  "quotas are in /zookeeper, where the chroot %s does not reach; name the "
                  "server without it",
                  chroot);
        return false;
    }
    return true;
}

/* EXIT_OK with `*version` -1 when there is none. */
static int read_limits(struct cli *cli, const char *path, struct limits *out, int32_t *version)
{
    char *node = quota_node(path, LIMITS_NAME);
    struct pawl_reply *reply;
    int status = EXIT_OK;

    *version = -1;
    pawl_get(cli->client, node, NULL, &reply);
    if (reply == NULL || reply->err != PAWL_ERR_NO_NODE) {
        status = cli_check_read(cli, node, reply);
    }
    if (reply != NULL && reply->err == PAWL_OK) {
        *out = limits_parse(reply->data);
        *version = reply->stat.version;
    }
    pawl_reply_free(reply);
    free(node);
    return status;
}

static int report_none(const struct cli *cli, const char *path)
{
    cli_error(cli, "%s has no quota", path);
    return EXIT_NO_NODE;
}

/* ---- quota get ---- */

static void print_quota(const struct cli *cli, const char *path, struct limits *limits,
                        const struct limits *used)
{
    if (cli->json) {
        json_open(NULL, '{');
        json_text("path", path);
        json_number("nodes", used->nodes);
        json_number("bytes", used->bytes);
    } else {
        text_escaped(pawl_str(path));
        printf(" nodes=%" PRId64 " bytes=%" PRId64, used->nodes, used->bytes);
    }
    for (size_t i = 0; i < N_FIELDS; i++) {
        int64_t value = *field_of(limits, i);

        if (value >= 0 && cli->json) {
            json_number(fields[i].name, value);
        } else if (value >= 0) {
            printf(" %s=%" PRId64, fields[i].name, value);
        }
    }
    if (cli->json) {
        json_close('{');
    } else {
        putchar('\n');
    }
}

static int show_quota(struct cli *cli, const char *path, struct limits *limits)
{
    char *node = quota_node(path, STATS_NAME);
    struct limits used;
    struct pawl_reply *reply;
    int status;

    pawl_get(cli->client, node, NULL, &reply);
    status = cli_check_read(cli, node, reply);
    if (status == EXIT_OK) {
        used = limits_parse(reply->data);
        print_quota(cli, path, limits, &used);
    }
    pawl_reply_free(reply);
    free(node);
    return status;
}

static int show_if_quota(const struct walk_node *node, void *arg)
{
    const char *below = node->path + strlen(QUOTA_TOP);
    size_t len = strlen(below), name_len = strlen("/" LIMITS_NAME);
    struct limits limits;
    char *path;
    int status;

    if (len < name_len || strcmp(below + len - name_len, "/" LIMITS_NAME) != 0) {
        return EXIT_OK;
    }
    path = len == name_len ? must_strdup("/") : strndup(below, len - name_len);
    limits = limits_parse(node->data);
    status = show_quota(arg, path, &limits);
    free(path);
    return status == EXIT_NO_NODE ? EXIT_OK : status; /* removed meanwhile */
}

static int run_quota_get(struct cli *cli, const struct args *args)
{
    struct walk every = {.cli = cli, .visit = show_if_quota, .arg = cli, .with_data = true};
    const char *path = args->n_words > 0 ? args->words[0] : "/";
    struct limits limits;
    int32_t version;
    int status;

    if (!is_possible(cli, path)) {
        return EXIT_USAGE;
    }
    if (args->n_words == 0) {
        return walk_tree(&every, QUOTA_TOP);
    }
    status = read_limits(cli, path, &limits, &version);
    if (status == EXIT_OK) {
        status = version < 0 ? report_none(cli, path) : show_quota(cli, path, &limits);
    }
    return status;
}

static const struct option_spec no_options[] = {{0, NULL, NULL, NULL}};

const struct command command_quota_get = {
    .name = "quota get",
    .also = "listquota",
    .synopsis = "[PATH]",
    .summary = "print the quota of a node, or all of them, and what is used of it",
    .options = no_options,
    .max_words = 1,
    .run = run_quota_get};

/* ---- quota set ---- */

static bool new_limits(const struct args *args, struct cli *cli, struct limits *limits)
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (!args_number(args, cli, fields[i].letter, fields[i].least, INT64_MAX,
                         field_of(limits, i))) {
            return false;
        }
    }
    return true;
}

static bool has_field(const struct args *args)
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (args_has(args, fields[i].letter)) {
            return true;
        }
    }
    return false;
}

/* A quota above or below `path`; to be freed. NULL: none, or `*status`. */
static char *other_quota(struct cli *cli, const char *path, int *status)
{
    char *above = must_strdup(path);
    struct limits limits;
    int32_t version = -1;

    *status = EXIT_OK;
    while (strcmp(above, "/") != 0 && version < 0 && *status == EXIT_OK) {
        char *slash = strrchr(above, '/');

        slash[slash == above ? 1 : 0] = '\0';
        *status = read_limits(cli, above, &limits, &version);
    }
    if (version < 0) {
        free(above);
        return NULL;
    }
    return above;
}

struct below {
    const char *folder;
    char *found;
};

static int note_quota_below(const struct walk_node *node, void *arg)
{
    struct below *b = arg;
    const char *end = node->path + strlen(node->path) - strlen(node->name) - 1;

    if (node->depth > 1 && strcmp(node->name, LIMITS_NAME) == 0 && b->found == NULL) {
        b->found =
            strndup(node->path + strlen(QUOTA_TOP), (size_t)(end - node->path) - strlen(QUOTA_TOP));
    }
    return EXIT_OK;
}

static int check_alone(struct cli *cli, const char *path)
{
    struct below below = {.folder = quota_folder(path)};
    struct walk w = {.cli = cli, .visit = note_quota_below, .arg = &below};
    struct pawl_reply *reply = NULL;
    int status;
    char *other = other_quota(cli, path, &status);

    if (other == NULL && status == EXIT_OK) {
        pawl_exists(cli->client, below.folder, NULL, &reply);
        if (reply != NULL && reply->err == PAWL_OK) {
            status = walk_tree(&w, below.folder);
        }
        pawl_reply_free(reply);
        other = below.found;
    }
    if (other != NULL) {
        cli_error(cli, "%s: %s has a quota already, and of the two one only may; remove that first",
                  path, other);
        status = EXIT_CONFLICT;
    }
    free(other);
    free((char *)(uintptr_t)below.folder);
    return status;
}

static void add_node(struct pawl_multi *m, const char *path, const char *text)
{
    pawl_multi_create(m, &(struct pawl_create){.size = sizeof(struct pawl_create),
                                               .path = path,
                                               .data = pawl_str(text)});
}

/* The folders from /zookeeper/quota down that are missing. */
static int add_folders(struct cli *cli, struct pawl_multi *m, const char *path)
{
    char *folder = quota_folder(path);
    int status = EXIT_OK;

    for (char *at = folder + strlen(QUOTA_TOP); status == EXIT_OK && *at == '/';) {
        char *end = at + 1 + strcspn(at + 1, "/"), kept = *end;
        struct pawl_reply *reply;

        *end = '\0';
        pawl_exists(cli->client, folder, NULL, &reply);
        if (reply != NULL && reply->err == PAWL_ERR_NO_NODE) {
            add_node(m, folder, NULL); /* as zkCli.sh makes them */
        } else {
            status = cli_check_read(cli, folder, reply);
        }
        pawl_reply_free(reply);
        *end = kept;
        at = end;
    }
    free(folder);
    return status;
}

static int run_multi(struct cli *cli, struct pawl_multi *m, const char *path)
{
    struct pawl_reply *reply;
    int status;

    pawl_multi_run(cli->client, m, &reply);
    status = cli_check(cli, path, reply);
    pawl_reply_free(reply);
    return status;
}

/* Limits before the count: it is made when that node is, for those who have limits. */
static int make_quota(struct cli *cli, const char *path, const char *text)
{
    struct pawl_multi *m = pawl_multi_new(cli->client);
    char *limits = quota_node(path, LIMITS_NAME), *stats = quota_node(path, STATS_NAME);
    int status = check_alone(cli, path);

    pawl_multi_check(m, path, -1);
    if (status == EXIT_OK) {
        status = add_folders(cli, m, path);
    }
    if (status == EXIT_OK) {
        add_node(m, limits, text);
        add_node(m, stats, "count=0,bytes=0");
        status = run_multi(cli, m, path);
    }
    pawl_multi_free(m);
    free(limits);
    free(stats);
    return status;
}

static int change_quota(struct cli *cli, const char *path, const char *text, int32_t version)
{
    char *node = quota_node(path, LIMITS_NAME);
    struct pawl_set request = {.size = sizeof(request),
                               .path = node,
                               .data = pawl_str(text),
                               .only_if = pawl_version(version)};
    struct pawl_reply *reply;
    int status;

    pawl_set(cli->client, &request, &reply);
    status = cli_check(cli, node, reply);
    pawl_reply_free(reply);
    free(node);
    return status;
}

static int write_limits(struct cli *cli, const char *path, const struct limits *limits,
                        int32_t version)
{
    struct strbuf text;
    int status;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    limits_print(limits, &text);
    status = version < 0 ? make_quota(cli, path, strbuf_cstr(&text))
                         : change_quota(cli, path, strbuf_cstr(&text), version);
    strbuf_fini(&text);
    return status;
}

static int run_quota_set(struct cli *cli, const struct args *args)
{
    const char *path = args->words[0];
    struct limits limits = {-1, -1, -1, -1}, checked;
    int32_t version;
    int status;

    if (!has_field(args)) {
        cli_error(cli, "which limit? -n NODES, -b BYTES, -N NODES or -B BYTES");
        return EXIT_USAGE;
    }
    if (!is_possible(cli, path) || !new_limits(args, cli, &checked)) {
        return EXIT_USAGE;
    }
    status = read_limits(cli, path, &limits, &version);
    if (status == EXIT_OK) {
        new_limits(args, cli, &limits);
        status = write_limits(cli, path, &limits, version);
    }
    return status;
}

static const struct option_spec set_options[] = {
    {'n', "nodes", "NUMBER", "so many nodes, itself included; more are reported by the server"},
    {'b', "bytes", "NUMBER", "so many bytes of data; more are reported by the server"},
    {'N', "hard-nodes", "NUMBER", "more nodes are refused, if the server has enforceQuota"},
    {'B', "hard-bytes", "NUMBER", "more bytes are refused, if the server has enforceQuota"},
    {0, NULL, NULL, NULL}};

const struct command command_quota_set = {
    .name = "quota set",
    .also = "setquota",
    .synopsis = "[-n NODES] [-b BYTES] [-N NODES] [-B BYTES] PATH",
    .summary = "limit what may be below a node; other limits of it stay",
    .options = set_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_quota_set};

/* ---- quota rm ---- */

static void remove_empty_folders(struct cli *cli, const char *path)
{
    char *folder = quota_folder(path);
    int err = PAWL_OK;

    while (err == PAWL_OK && strcmp(folder, QUOTA_TOP) != 0) {
        struct pawl_delete request = {.size = sizeof(request), .path = folder};

        err = pawl_delete(cli->client, &request, NULL);
        *strrchr(folder, '/') = '\0';
    }
    free(folder);
}

static int remove_quota(struct cli *cli, const char *path)
{
    struct pawl_multi *m = pawl_multi_new(cli->client);
    char *limits = quota_node(path, LIMITS_NAME), *stats = quota_node(path, STATS_NAME);
    int status;

    pawl_multi_delete(m, &(struct pawl_delete){.size = sizeof(struct pawl_delete), .path = stats});
    pawl_multi_delete(m, &(struct pawl_delete){.size = sizeof(struct pawl_delete), .path = limits});
    status = run_multi(cli, m, path);
    if (status == EXIT_OK) {
        remove_empty_folders(cli, path);
    }
    pawl_multi_free(m);
    free(limits);
    free(stats);
    return status;
}

static int run_quota_rm(struct cli *cli, const struct args *args)
{
    const char *path = args->words[0];
    struct limits limits;
    int32_t version;
    int status;

    if (!is_possible(cli, path)) {
        return EXIT_USAGE;
    }
    status = read_limits(cli, path, &limits, &version);
    if (status != EXIT_OK) {
        return status;
    }
    if (version < 0) {
        return report_none(cli, path);
    }
    if (!has_field(args)) {
        return remove_quota(cli, path);
    }
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (args_has(args, fields[i].letter)) {
            *field_of(&limits, i) = -1;
        }
    }
    return write_limits(cli, path, &limits, version);
}

static const struct option_spec rm_options[] = {
    {'n', "nodes", NULL, "only the limit of nodes"},
    {'b', "bytes", NULL, "only the limit of bytes"},
    {'N', "hard-nodes", NULL, "only the hard limit of nodes"},
    {'B', "hard-bytes", NULL, "only the hard limit of bytes"},
    {0, NULL, NULL, NULL}};

const struct command command_quota_rm = {.name = "quota rm",
                                         .also = "delquota",
                                         .synopsis = "[-n] [-b] [-N] [-B] PATH",
                                         .summary = "remove a quota, or some of its limits",
                                         .options = rm_options,
                                         .min_words = 1,
                                         .max_words = 1,
                                         .run = run_quota_rm};
