/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c - `pawl doctor`: the command, and what it thinks of a configuration. */
#include "cli/files/doctor.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/commands.h"
#include "cli/files/view.h"
#include "cli/json.h"
#include "cli/text.h"
#include "daemon/options.h"

static const char *const finding_names[] = {"good", "note", "risk", "wrong"};

void doctor_tell(struct doctor *d, enum finding kind, const char *where, const char *advice,
                 const char *format, ...)
{
    struct strbuf text;
    va_list args;

    d->n_looked++;
    d->n_risks += kind == FINDING_RISK;
    d->n_wrongs += kind == FINDING_WRONG;
    if (kind == FINDING_GOOD && !d->is_verbose) {
        return;
    }
    strbuf_init(&text, STRBUF_NO_LIMIT);
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    if (d->cli->json) {
        json_open(NULL, '{');
        json_text("finding", finding_names[kind]);
        json_text("where", where);
        json_text("what", strbuf_cstr(&text));
        json_text("advice", advice);
        json_close('{');
    } else {
        printf("%-5s  %s: ", finding_names[kind], where);
        text_escaped(pawl_str(strbuf_cstr(&text))); /* some of it is what a server has said */
        printf("%s%s\n", advice != NULL ? "; " : "", advice != NULL ? advice : "");
    }
    strbuf_fini(&text);
}

/* ---- the configuration ---- */

static void look_at_purge(struct doctor *d, const struct server_config *c)
{
    if (c->config.store.purge_interval_ms <= 0) {
        doctor_tell(d, FINDING_RISK, c->file, "set autopurge.purgeInterval=1",
                    "old logs and snapshots are never removed, and the disk fills");
    } else {
        doctor_tell(d, FINDING_GOOD, c->file, NULL, "old files are removed");
    }
}

static void look_at_sync(struct doctor *d, const struct server_config *c)
{
    if (!c->config.store.force_sync) {
        doctor_tell(d, FINDING_WRONG, c->file, "take forceSync=no out",
                    "writes are acknowledged before they are on disk");
    }
    if (c->config.server.skip_acl) {
        doctor_tell(d, FINDING_RISK, c->file, "take skipACL=yes out", "ACLs are not looked at");
    }
    if (c->config.store.accept_loss) {
        doctor_tell(d, FINDING_RISK, c->file, "take recovery.acceptLoss out",
                    "each start accepts that data are lost");
    }
}

static void look_up(struct doctor *d, const char *where, const char *name)
{
    struct addrinfo *found = NULL;
    int rc = getaddrinfo(name, NULL, NULL, &found);

    if (rc != 0) {
        doctor_tell(d, FINDING_WRONG, where, "correct the name, or /etc/hosts or DNS",
                    "the name %s does not resolve: %s", name, gai_strerror(rc));
    } else {
        doctor_tell(d, FINDING_GOOD, where, NULL, "%s resolves", name);
        freeaddrinfo(found);
    }
}

static void look_at_members(struct doctor *d, const struct server_config *c)
{
    const struct quorum_config *q = &c->config.ensemble.quorum;
    size_t n_voters = q->n_voters;

    for (size_t i = 0; i < q->n_members; i++) {
        for (size_t j = 0; j < q->member[i].n_addresses; j++) {
            look_up(d, c->file, q->member[i].address[j].host);
        }
    }
    if (n_voters > 0 && n_voters % 2 == 0) {
        doctor_tell(d, FINDING_RISK, c->file, "have an odd number",
                    "%zu voters go on without %zu of them, as %zu do", n_voters, (n_voters - 1) / 2,
                    n_voters - 1);
    }
    if (n_voters == 1) {
        doctor_tell(d, FINDING_NOTE, c->file, NULL, "one voter: nothing goes on without it");
    }
}

void doctor_config(struct doctor *d, const struct server_config *c)
{
    for (size_t i = 0; i < c->errors.n; i++) {
        doctor_tell(d, FINDING_WRONG, c->file, NULL, "%s", c->errors.line[i]);
    }
    for (size_t i = 0; i < c->config.warnings.n; i++) {
        doctor_tell(d, FINDING_RISK, c->file, NULL, "%s", c->config.warnings.line[i]);
    }
    look_at_purge(d, c);
    look_at_sync(d, c);
    if (config_is_ensemble(&c->config)) {
        look_at_members(d, c);
    }
    if (c->config.store.log_dir != NULL && c->config.store.data_dir != NULL &&
        strcmp(c->config.store.log_dir, c->config.store.data_dir) == 0) {
        doctor_tell(d, FINDING_NOTE, c->file, NULL,
                    "logs and snapshots share a folder; a disk for the logs alone (dataLogDir) "
                    "makes writes faster");
    }
}

/* ---- the command ---- */

/* The folders that were named, or those of the configuration. */
static void look_at_folders(struct doctor *d, const struct args *args, const char *data,
                            const char *logs, const struct recovery_options *options)
{
    bool is_there;

    if (data == NULL) {
        return;
    }
    logs = logs != NULL ? logs : data;
    is_there = doctor_folder(d, logs, !args_has(args, 'q'));
    if (strcmp(logs, data) != 0) {
        is_there = doctor_folder(d, data, false) && is_there;
    }
    if (is_there) {
        doctor_files(d, data, logs, options);
    }
}

static void look_at_config(struct doctor *d, const struct args *args, const char *file)
{
    struct server_config c = {0};
    struct recovery_options options;
    struct server_place place;
    struct strbuf servers;
    int rc = server_config_read(&c, file);

    doctor_config(d, &c);
    if (rc == 0) {
        int pid = server_process(&c);

        doctor_machine(d, pid > 0 ? pid : 0);
        options_for_recovery(&c.config, &options);
        look_at_folders(d, args, c.config.store.data_dir, c.config.store.log_dir, &options);
    }
    strbuf_init(&servers, STRBUF_NO_LIMIT);
    if (rc == 0 && server_config_place(&c, &place)) {
        strbuf_printf(&servers, place.port > 0 ? "%s:%d" : "unix:%s", place.name, place.port);
        doctor_servers(d, strbuf_cstr(&servers));
    }
    strbuf_fini(&servers);
    server_config_fini(&c);
}

static void sum_up(const struct doctor *d)
{
    if (d->cli->json) {
        json_open(NULL, '{');
        json_number("looked_at", d->n_looked);
        json_number("wrong", d->n_wrongs);
        json_number("risks", d->n_risks);
        json_close('{');
    } else {
        printf("%" PRId64 " things looked at: %" PRId64 " wrong, %" PRId64 " risky\n", d->n_looked,
               d->n_wrongs, d->n_risks);
    }
}

static int run_doctor(struct cli *cli, const struct args *args)
{
    struct doctor d = {
        .cli = cli, .is_verbose = args_has(args, 'v'), .clock_node = args_text(args, 'W')};
    const char *config = args_text(args, 'c'), *data = args_text(args, 'D');
    struct recovery_options options = {.tree = {.extended_types = true}};
    int64_t limit = 0;

    if (config != NULL && data != NULL) {
        cli_error(cli, "a configuration names its folders: either -c or -D");
        return EXIT_USAGE;
    }
    if (data == NULL && (args_has(args, 'L') || args_has(args, 'm'))) {
        cli_error(cli, "--log-dir and --max-record go with --data-dir");
        return EXIT_USAGE;
    }
    if (!args_number(args, cli, 'm', 1, INT32_MAX, &limit)) {
        return EXIT_USAGE;
    }
    options.limit_bytes = (size_t)limit;
    view_tell_warnings(cli);
    if (config != NULL) {
        look_at_config(&d, args, config);
    } else {
        doctor_machine(&d, 0);
        look_at_folders(&d, args, data, args_text(args, 'L'), &options);
        if (data == NULL || args_has(args, 'a')) {
            doctor_servers(&d, cli->servers);
        }
    }
    sum_up(&d);
    return d.n_wrongs + d.n_risks > 0 ? EXIT_NO : EXIT_OK;
}

static const struct option_spec doctor_options[] = {
    {'c', "config", "FILE", "of a server of this machine: its folders and itself as well"},
    {'D', "data-dir", "FOLDER", "only these files"},
    {'L', "log-dir", "FOLDER", "its dataLogDir, if that is another"},
    {'m', "max-record", "BYTES", "with -D: the longest data there may be; 2097150 if not given"},
    {'a', "ask-servers", NULL, "with -D: look at the servers as well"},
    {'q', "no-disk", NULL, "do not measure the disk, which writes into a file without a name"},
    {'W', "clock-node", "PATH", "make and remove this node to see a leader's clock, if need be"},
    {'v', "verbose", NULL, "tell what is good, too"},
    {0, NULL, NULL, NULL}};

const struct command command_doctor = {
    .name = "doctor",
    .synopsis = "[-c FILE | -D FOLDER [-L FOLDER] [-m BYTES] [-a]] [-q] [-W PATH] [-v]",
    .summary = "look at a configuration, a data folder, running servers: what is wrong or risky",
    .options = doctor_options,
    .opens_itself = true,
    .run = run_doctor};
