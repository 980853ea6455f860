/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - `pawl snapshot`: the tree in a snapshot, and whether the file is whole. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/files/filter.h"
#include "cli/files/record_text.h"
#include "cli/files/trees.h"
#include "cli/files/view.h"
#include "cli/json.h"
#include "cli/text.h"
#include "pawl/error.h"
#include "store/snapshot_format.h"
#include "store/snapshot_read.h"

enum snapshot_mode { MODE_LIST, MODE_CHECK, MODE_SUMMARY, MODE_SESSIONS };

struct snapshot_job {
    struct cli *cli;
    struct filter filter;
    enum snapshot_mode mode;
    bool is_long, with_data;
    size_t limit_bytes;
};

/* One file, read. */
struct loaded {
    struct strbuf name; /* as the user knows it */
    int64_t zxid;       /* of the file's name; -1: it does not tell */
    struct snapshot_info info;
    struct tree *tree;
};

/* ---- loading ---- */

static int report_damage(const struct snapshot_job *job, struct loaded *l)
{
    char zxid[40] = "";

    if (l->zxid >= 0) {
        snprintf(zxid, sizeof(zxid), " of transaction 0x%" PRIx64, (uint64_t)l->zxid);
    }
    cli_error(job->cli,
              "%s: the snapshot%s is damaged: %s. Nothing of it can be used; an older one with the "
              "logs since leads to the same tree",
              strbuf_cstr(&l->name), zxid, l->info.reason);
    return EXIT_DAMAGED;
}

static int load(const struct snapshot_job *job, const struct view *v, const char *name,
                struct loaded *l)
{
    struct snapshot_read_options options = {.tree = {.extended_types = true},
                                            .limit_bytes = job->limit_bytes};
    char path[FILE_PATH_BYTES];
    int rc;

    *l = (struct loaded){.zxid = -1};
    strbuf_init(&l->name, STRBUF_NO_LIMIT);
    view_name(v, name, &l->name);
    if (!v->is_file || strcmp(v->real_name, v->name) == 0) {
        l->zxid = file_name_zxid(name, SNAPSHOT_PREFIX);
    }
    file_path(path, v->folder, name);
    rc = snapshot_load(v->disk, path, &options, &l->tree, &l->info);
    if (rc == PAWL_ERR_CORRUPT) {
        return report_damage(job, l);
    }
    if (rc != 0) {
        cli_error(job->cli, "%s", disk_last_error(v->disk));
        return EXIT_SYSTEM;
    }
    return EXIT_OK;
}

static void unload(struct loaded *l)
{
    tree_free(l->tree);
    strbuf_fini(&l->name);
}

/* The digest in the file is that of the tree when it was written. Apache's servers write while
 * transactions go on: the tree in the file may then be ahead of it in parts. */
static const char *digest_state(const struct loaded *l)
{
    if (!l->info.has_digest) {
        return "none";
    }
    if (l->info.digest == tree_digest(l->tree)) {
        return "agrees";
    }
    return "differs";
}

/* ---- the list ---- */

static bool is_wanted(const struct filter *f, const struct tree_walk *w)
{
    struct stat_persisted s;

    tree_persisted(w->tree, w->id, &s);
    return filter_has_zxid(f, s.mzxid) && filter_has_time(f, s.mtime) &&
           filter_has_session(f, s.ephemeral_owner) && filter_has_path(f, strbuf_bytes(&w->path));
}

static void print_node(const struct snapshot_job *job, const struct tree_walk *w)
{
    struct pawl_stat stat;
    char time[40];

    if (job->is_long) {
        tree_client_stat(w->tree, w->id, &stat);
        text_time(stat.mtime, time, sizeof(time));
        printf("0x%-12" PRIx64 " %s %6" PRId32 " %8" PRId32 " 0x%-16" PRIx64 " ",
               (uint64_t)stat.mzxid, time, stat.version, stat.data_length,
               (uint64_t)stat.ephemeral_owner);
    }
    text_escaped(shown(strbuf_bytes(&w->path)));
    if (job->with_data) {
        putchar(' ');
        data_print(tree_data(w->tree, w->id));
    }
    putchar('\n');
}

static int list_nodes(const struct snapshot_job *job, struct loaded *l)
{
    const char *top = job->filter.path != NULL ? job->filter.path : "/";
    struct tree_walk w;
    int status = EXIT_OK;

    if (!tree_walk_from(&w, l->tree, top)) {
        cli_error(job->cli, "%s: there is no %s in it", strbuf_cstr(&l->name), top);
        status = EXIT_NO_NODE;
    }
    while (tree_walk_next(&w) && !ferror(stdout)) {
        if (!is_wanted(&job->filter, &w)) {
            continue;
        }
        if (job->cli->json) {
            json_open(NULL, '{');
            tree_node_json(l->tree, w.id, &w.path);
            json_close('{');
        } else {
            print_node(job, &w);
        }
    }
    tree_walk_fini(&w);
    return status;
}

/* ---- sessions ---- */

struct session {
    int64_t id;
    int32_t timeout_ms;
};

struct sessions {
    struct session *items;
    size_t n;
};

static void add_session(int64_t id, int32_t timeout_ms, void *arg)
{
    struct sessions *s = arg;

    s->items[s->n++] = (struct session){id, timeout_ms};
}

static int compare_sessions(const void *a, const void *b)
{
    int64_t x = ((const struct session *)a)->id, y = ((const struct session *)b)->id;

    return (x > y) - (x < y);
}

static int64_t count_ephemerals(const struct tree *tree, int64_t id)
{
    int64_t n = 0;

    for (znode_id at = tree_first_ephemeral(tree, id); at != 0;
         at = tree_next_ephemeral(tree, at)) {
        n++;
    }
    return n;
}

static void tell_session(const struct cli *cli, const struct session *s, int64_t n_ephemerals)
{
    if (cli->json) {
        json_open(NULL, '{');
        json_hex("session", (uint64_t)s->id);
        json_number("timeout", s->timeout_ms);
        json_number("ephemerals", n_ephemerals);
        json_close('{');
    } else {
        printf("0x%" PRIx64 " %" PRId32 "ms %" PRId64 "\n", (uint64_t)s->id, s->timeout_ms,
               n_ephemerals);
    }
}

static int list_sessions(const struct snapshot_job *job, struct loaded *l)
{
    struct sessions s = {.items = must_zalloc((tree_n_sessions(l->tree) + 1) * sizeof(*s.items))};

    tree_each_session(l->tree, add_session, &s);
    qsort(s.items, s.n, sizeof(*s.items), compare_sessions);
    for (size_t i = 0; i < s.n; i++) {
        if (filter_has_session(&job->filter, s.items[i].id)) {
            tell_session(job->cli, &s.items[i], count_ephemerals(l->tree, s.items[i].id));
        }
    }
    free(s.items);
    return EXIT_OK;
}

/* ---- the verdict, and the summary ---- */

struct counts {
    int64_t bytes, containers, ttls, depth, largest;
    struct strbuf largest_path, widest_path;
    int64_t widest;
};

static int64_t depth_of(struct bytes path)
{
    int64_t depth = 0;

    for (size_t i = 0; i < path.len && path.len > 1; i++) {
        depth += path.data[i] == '/';
    }
    return depth;
}

static void note_if_more(int64_t *most, int64_t n, struct strbuf *path, const struct strbuf *here)
{
    if (n > *most) {
        *most = n;
        strbuf_clear(path);
        strbuf_append_bytes(path, strbuf_bytes(here));
    }
}

static void count_node(struct counts *c, const struct tree_walk *w)
{
    enum owner_kind kind = tree_owner_kind(w->tree, tree_owner(w->tree, w->id));
    int64_t len = (int64_t)tree_data(w->tree, w->id).len;
    int64_t depth = depth_of(strbuf_bytes(&w->path));

    c->bytes += len;
    c->containers += kind == OWNER_IS_CONTAINER;
    c->ttls += kind == OWNER_IS_TTL;
    c->depth = depth > c->depth ? depth : c->depth;
    note_if_more(&c->largest, len, &c->largest_path, &w->path);
    note_if_more(&c->widest, tree_n_children(w->tree, w->id), &c->widest_path, &w->path);
}

static void count_nodes(struct counts *c, const struct loaded *l)
{
    struct tree_walk w;

    *c = (struct counts){.largest = -1, .widest = -1};
    strbuf_init(&c->largest_path, STRBUF_NO_LIMIT);
    strbuf_init(&c->widest_path, STRBUF_NO_LIMIT);
    tree_walk_from(&w, l->tree, "/");
    while (tree_walk_next(&w)) {
        count_node(c, &w);
    }
    tree_walk_fini(&w);
}

static void json_counts(const struct counts *c, const struct loaded *l)
{
    json_number("data_bytes", c->bytes);
    json_number("ephemerals", tree_n_ephemerals(l->tree));
    json_number("containers", c->containers);
    json_number("ttl_nodes", c->ttls);
    json_number("depth", c->depth);
    json_number("largest_bytes", c->largest);
    json_data("largest_path", shown(strbuf_bytes(&c->largest_path)));
    json_number("most_children", c->widest);
    json_data("most_children_path", shown(strbuf_bytes(&c->widest_path)));
}

static void print_counts(const struct counts *c, const struct loaded *l)
{
    printf("  %-16s %" PRId64 "\n", "bytes of data", c->bytes);
    printf("  %-16s %" PRId64 "\n", "ephemerals", tree_n_ephemerals(l->tree));
    printf("  %-16s %" PRId64 "\n", "containers", c->containers);
    printf("  %-16s %" PRId64 "\n", "TTL nodes", c->ttls);
    printf("  %-16s %" PRId64 "\n", "depth", c->depth);
    printf("  %-16s %" PRId64 " bytes, ", "largest", c->largest);
    text_line(shown(strbuf_bytes(&c->largest_path)));
    printf("  %-16s %" PRId64 ", ", "most children", c->widest);
    text_line(shown(strbuf_bytes(&c->widest_path)));
}

static void json_verdict(struct loaded *l)
{
    json_text("file", strbuf_cstr(&l->name));
    json_text("state", "whole");
    if (l->zxid >= 0) {
        json_hex("zxid", (uint64_t)l->zxid);
    }
    json_number("nodes", tree_count(l->tree));
    json_number("sessions", (int64_t)tree_n_sessions(l->tree));
    json_text("digest", digest_state(l));
    if (l->info.has_digest) {
        json_hex("digest_zxid", (uint64_t)l->info.digest_zxid);
    }
    json_hex("tree_digest", tree_digest(l->tree));
    json_number("bytes", (int64_t)l->info.bytes);
}

static void print_verdict(struct loaded *l)
{
    text_escaped(pawl_str(strbuf_cstr(&l->name)));
    printf(": whole, ");
    if (l->zxid >= 0) {
        printf("transaction 0x%" PRIx64 ", ", (uint64_t)l->zxid);
    }
    printf("%" PRId64 " nodes, %zu sessions, digest %s", tree_count(l->tree),
           tree_n_sessions(l->tree), digest_state(l));
    if (l->info.has_digest && l->info.digest != tree_digest(l->tree)) {
        printf(" (written while transactions went on, up to 0x%" PRIx64 ")",
               (uint64_t)l->info.digest_zxid);
    }
    putchar('\n');
}

static int tell_verdict(const struct snapshot_job *job, struct loaded *l)
{
    bool is_summary = job->mode == MODE_SUMMARY;
    struct counts c;

    count_nodes(&c, l);
    if (job->cli->json) {
        json_open(NULL, '{');
        json_verdict(l);
        if (is_summary) {
            json_counts(&c, l);
        }
        json_close('{');
    } else {
        print_verdict(l);
        if (is_summary) {
            print_counts(&c, l);
        }
    }
    strbuf_fini(&c.largest_path);
    strbuf_fini(&c.widest_path);
    return EXIT_OK;
}

/* ---- the command ---- */

static int show(const struct snapshot_job *job, const struct view *v, const char *name)
{
    struct loaded l;
    int status = load(job, v, name, &l);

    if (status == EXIT_OK) {
        status = job->mode == MODE_LIST       ? list_nodes(job, &l)
                 : job->mode == MODE_SESSIONS ? list_sessions(job, &l)
                                              : tell_verdict(job, &l);
    }
    fflush(stdout);
    unload(&l);
    return status;
}

/* All of a folder are checked and counted; of the newest the nodes are listed. */
static int show_folder(const struct snapshot_job *job, const struct view *v)
{
    bool is_all = job->mode == MODE_CHECK || job->mode == MODE_SUMMARY;
    struct file_list list;
    int status = EXIT_OK;

    if (file_list_load(v->disk, v->folder, SNAPSHOT_PREFIX, &list) != 0) {
        cli_error(job->cli, "%s", disk_last_error(v->disk));
        return EXIT_SYSTEM;
    }
    if (list.count == 0) {
        cli_error(job->cli, "%s: there is no snapshot in it: one is called snapshot.<zxid>",
                  v->given);
        status = EXIT_SYSTEM;
    }
    for (size_t i = is_all || list.count == 0 ? 0 : list.count - 1; i < list.count; i++) {
        int one = show(job, v, list.files[i].name);

        status = one != EXIT_OK ? one : status;
    }
    file_list_fini(&list);
    return status;
}

static int show_path(const struct snapshot_job *job, const char *path)
{
    struct view v;
    int status = view_open(&v, job->cli, path, SNAPSHOT_PREFIX);

    if (status != EXIT_OK) {
        return status;
    }
    status = v.is_file ? show(job, &v, v.name) : show_folder(job, &v);
    view_close(&v);
    return status;
}

static int load_path(const struct snapshot_job *job, const char *path, struct loaded *l)
{
    struct view v;
    int status = view_open(&v, job->cli, path, SNAPSHOT_PREFIX);

    *l = (struct loaded){0};
    if (status != EXIT_OK) {
        return status;
    }
    if (v.is_file) {
        status = load(job, &v, v.name, l);
    } else {
        cli_error(job->cli, "%s is a folder; name two snapshots to be compared", path);
        status = EXIT_USAGE;
    }
    view_close(&v);
    return status;
}

static int compare_files(const struct snapshot_job *job, const char *left, const char *right)
{
    struct loaded a = {0}, b = {0};
    int status = load_path(job, left, &a);

    if (status == EXIT_OK) {
        status = load_path(job, right, &b);
    }
    if (status == EXIT_OK) {
        status = trees_compare(job->cli, a.tree, b.tree,
                               job->filter.path != NULL ? job->filter.path : "/");
    }
    unload(&a);
    unload(&b);
    return status;
}

static bool modes_are_clear(const struct cli *cli, const struct args *args)
{
    if (args_has(args, 'c') + args_has(args, 'u') + args_has(args, 'C') + args_has(args, 'e') > 1) {
        cli_error(cli, "of --check, --summary, --sessions and --compare one can be asked for");
        return false;
    }
    if (args_has(args, 'C') && args->n_words != 1) {
        cli_error(cli, "two snapshots are compared: pawl snapshot --compare OTHER FILE");
        return false;
    }
    return true;
}

static int run_snapshot(struct cli *cli, const struct args *args)
{
    struct snapshot_job job = {.cli = cli,
                               .mode = args_has(args, 'c')   ? MODE_CHECK
                                       : args_has(args, 'u') ? MODE_SUMMARY
                                       : args_has(args, 'e') ? MODE_SESSIONS
                                                             : MODE_LIST,
                               .is_long = args_has(args, 'l'),
                               .with_data = args_has(args, 'd')};
    int64_t limit = 0;
    int status = EXIT_OK;

    if (!modes_are_clear(cli, args) || !filter_read(&job.filter, cli, args) ||
        !args_number(args, cli, 'm', 1, INT32_MAX, &limit)) {
        return EXIT_USAGE;
    }
    view_tell_warnings(cli);
    job.limit_bytes = (size_t)limit;
    if (args_has(args, 'C')) {
        return compare_files(&job, args->words[0], args_text(args, 'C'));
    }
    for (int i = 0; i < args->n_words; i++) {
        int one = show_path(&job, args->words[i]);

        status = one != EXIT_OK ? one : status;
    }
    return status;
}

static const struct option_spec snapshot_options[] = {
    FILTER_OPTIONS,
    {'l', "long", NULL, "with the last change, its time, version, length and owner"},
    {'d', "data", NULL, "with the data"},
    {'c', "check", NULL, "only say whether it is whole"},
    {'u', "summary", NULL, "count what is in it"},
    {'e', "sessions", NULL, "list the sessions: id, timeout, ephemeral nodes"},
    {'C', "compare", "OTHER", "what differs from this snapshot: - + !"},
    {'m', "max-record", "BYTES", "the longest data there may be; 2097150 if not given"},
    {0, NULL, NULL, NULL}};

const struct command command_snapshot = {
    .name = "snapshot",
    .synopsis = "[-z RANGE] [-t RANGE] [-p PATH] [-S ID] [-l] [-d] [-c | -u | -e | -C OTHER] "
                "FILE|FOLDER...",
    .summary = "show, check or compare snapshots of Apache's server or ours",
    .options = snapshot_options,
    .min_words = 1,
    .max_words = -1,
    .opens_itself = true,
    .run = run_snapshot};
