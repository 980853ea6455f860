/* SPDX-License-Identifier: Apache-2.0 */
/* at.c - `pawl at`: a tree as it was at a moment, from the files of its server. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exported.h"
#include "cli/files/data_dirs.h"
#include "cli/files/record_text.h"
#include "cli/files/trees.h"
#include "cli/json.h"
#include "cli/text.h"
#include "store/acl_table.h"
#include "wire/path.h"

struct looking {
    struct cli *cli;
    const struct args *args;
    struct data_dirs dirs;
    struct tree *tree;
    int64_t zxid;
    const char *path;
};

static int no_node(const struct looking *l)
{
    cli_error(l->cli, "%s: there was no such node at 0x%" PRIx64, l->path, (uint64_t)l->zxid);
    return EXIT_NO_NODE;
}

static void show_json(const struct looking *l, znode_id id)
{
    struct strbuf path;

    strbuf_init(&path, STRBUF_NO_LIMIT);
    tree_path(l->tree, id, &path);
    json_open(NULL, '{');
    json_hex("at", (uint64_t)l->zxid);
    tree_node_json(l->tree, id, &path);
    json_close('{');
    strbuf_fini(&path);
}

static int show_node(const struct looking *l, bool with_data, bool with_stat)
{
    znode_id id = tree_find(l->tree, bytes_str(l->path));
    struct pawl_stat stat;

    if (id == 0) {
        return no_node(l);
    }
    if (l->cli->json) {
        show_json(l, id);
        return EXIT_OK;
    }
    if (with_data) {
        text_data(shown(tree_data(l->tree, id)));
    }
    if (with_stat) {
        tree_client_stat(l->tree, id, &stat);
        text_stat(&stat);
    }
    return EXIT_OK;
}

static int show_get(struct looking *l)
{
    return show_node(l, true, args_has(l->args, 's'));
}

static int show_stat(struct looking *l)
{
    return show_node(l, false, true);
}

/* The names of its children, or the paths of all that is below it. */
static int show_ls(struct looking *l)
{
    bool is_deep = args_has(l->args, 'R');
    znode_id top = tree_find(l->tree, bytes_str(l->path));
    struct tree_walk w;

    if (!tree_walk_from(&w, l->tree, l->path)) {
        tree_walk_fini(&w);
        return no_node(l);
    }
    if (l->cli->json) {
        json_open(NULL, '[');
    }
    while (tree_walk_next(&w) && !ferror(stdout)) {
        struct bytes text = is_deep ? strbuf_bytes(&w.path) : tree_name(l->tree, w.id);

        if (!is_deep && tree_parent(l->tree, w.id) != top) {
            continue;
        }
        if (l->cli->json) {
            json_data(NULL, shown(text));
        } else {
            text_line(shown(text));
        }
    }
    if (l->cli->json) {
        json_close('[');
    }
    tree_walk_fini(&w);
    return EXIT_OK;
}

/* ---- export ---- */

/* To be freed by text_acls_free(). */
static struct pawl_acls acls_of(const struct tree *tree, znode_id id)
{
    struct jute_reader r = jute_reader_of(acl_table_get(tree_acls(tree), tree_acl(tree, id)));
    struct acl_list list = acl_list_read(&r);
    struct jute_reader elements = jute_reader_of(list.elements);
    size_t n = list.count > 0 ? (size_t)list.count : 0;
    struct pawl_acl *items = must_zalloc((n + 1) * sizeof(*items));

    for (size_t i = 0; i < n; i++) {
        struct acl_entry e = acl_entry_read(&elements);

        items[i] = (struct pawl_acl){
            .perms = e.perms, .scheme = must_copy_string(e.scheme), .id = must_copy_string(e.id)};
    }
    return (struct pawl_acls){.items = items, .n = n};
}

/* Unlike a server, its files tell which nodes are containers or have a TTL. */
static void export_node(const struct looking *l, const struct tree_walk *w, const char *below)
{
    int64_t owner = tree_owner(l->tree, w->id);
    enum owner_kind kind = tree_owner_kind(l->tree, owner);
    struct pawl_acls acls = acls_of(l->tree, w->id);
    struct stat_persisted stat;
    struct exported n = {.path = below,
                         .data = shown(tree_data(l->tree, w->id)),
                         .acls = args_has(l->args, 'A') ? NULL : &acls,
                         .is_ephemeral = kind == OWNER_SESSION,
                         .is_container = kind == OWNER_IS_CONTAINER,
                         .has_children = tree_n_children(l->tree, w->id) > 0,
                         .ttl_ms = kind == OWNER_IS_TTL ? tree_ttl(l->tree, owner) : 0};

    tree_persisted(l->tree, w->id, &stat);
    n.sequence = stat.cversion;
    n.mtime_ms = stat.mtime;
    exported_print(&n, args_has(l->args, 't') ? EXPORT_TAR : EXPORT_LINES);
    text_acls_free(&acls);
}

static int show_export(struct looking *l)
{
    size_t top = strcmp(l->path, "/") == 0 ? 0 : strlen(l->path);
    struct tree_walk w;

    if (!tree_walk_from(&w, l->tree, l->path)) {
        tree_walk_fini(&w);
        return no_node(l);
    }
    while (tree_walk_next(&w) && !ferror(stdout)) {
        const char *path = strbuf_cstr(&w.path);

        if (top > 0 || !path_is_within(bytes_str(path), bytes_str("/zookeeper"))) {
            export_node(l, &w, path[top] != '\0' ? path + top : "/");
        }
    }
    exported_end(args_has(l->args, 't') ? EXPORT_TAR : EXPORT_LINES);
    tree_walk_fini(&w);
    return EXIT_OK;
}

/* ---- the command ---- */

static int show_diff(struct looking *l)
{
    const char *when = l->args->n_words > 3 ? l->args->words[3] : "end";
    struct tree *other = NULL;
    int64_t zxid;
    int status = data_dirs_when(&l->dirs, when, &zxid);

    if (status == EXIT_OK) {
        status = data_dirs_tree(&l->dirs, zxid, &other);
    }
    if (status == EXIT_OK) {
        status = trees_compare(l->cli, l->tree, other, l->path);
        tree_free(other);
    }
    return status;
}

static const struct {
    const char *name;
    int max_words;
    int (*show)(struct looking *l);
} questions[] = {{"get", 3, show_get},
                 {"ls", 3, show_ls},
                 {"stat", 3, show_stat},
                 {"export", 3, show_export},
                 {"diff", 4, show_diff}};
enum { N_QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

static int answer(struct looking *l, int (*show)(struct looking *l))
{
    int status = data_dirs_open(&l->dirs, l->cli, l->args);

    if (status == EXIT_OK) {
        status = data_dirs_when(&l->dirs, l->args->words[0], &l->zxid);
    }
    if (status == EXIT_OK) {
        status = data_dirs_tree(&l->dirs, l->zxid, &l->tree);
    }
    if (status == EXIT_OK) {
        status = show(l);
        tree_free(l->tree);
    }
    data_dirs_close(&l->dirs);
    return status;
}

static int run_at(struct cli *cli, const struct args *args)
{
    struct looking l = {.cli = cli, .args = args, .path = args->words[2]};

    for (size_t i = 0; i < N_QUESTIONS; i++) {
        if (strcmp(args->words[1], questions[i].name) == 0 &&
            args->n_words <= questions[i].max_words) {
            return answer(&l, questions[i].show);
        }
    }
    cli_error(cli, "usage: pawl at %s", cli->command->synopsis);
    return EXIT_USAGE;
}

static const struct option_spec at_options[] = {DATA_DIR_OPTIONS,
                                                {'s', "stat", NULL, "get: the stat as well"},
                                                {'R', "recursive", NULL, "ls: all that is below"},
                                                {'t', "tar", NULL, "export: a tar"},
                                                {'A', "no-acls", NULL, "export: without the ACLs"},
                                                {0, NULL, NULL, NULL}};

const struct command command_at = {
    .name = "at",
    .synopsis = "-D FOLDER [-L FOLDER] ZXID|TIME|end get|ls|stat|export|diff PATH [ZXID|TIME|end]",
    .summary = "a tree as it was then, from its server's files; diff: what has changed since",
    .options = at_options,
    .min_words = 3,
    .max_words = 4,
    .opens_itself = true,
    .run = run_at};
