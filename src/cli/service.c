/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - which services there are, and where: Curator's service discovery. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <pawl/discovery.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/text.h"
#include "os/entropy.h"

/* ---- an instance, printed ---- */

static const char *type_name(enum pawl_service_type type)
{
    switch (type) {
    case PAWL_SERVICE_STATIC:
        return "STATIC";
    case PAWL_SERVICE_PERMANENT:
        return "PERMANENT";
    case PAWL_SERVICE_DYNAMIC_SEQUENTIAL:
        return "DYNAMIC_SEQUENTIAL";
    default:
        return "DYNAMIC";
    }
}

/* NULL: it has none. */
static char *uri_of(const struct pawl_instance *i)
{
    int len = i->uri_spec != NULL ? pawl_instance_uri(i, NULL, 0, NULL, 0) : -1;
    char *uri = len >= 0 ? calloc(1, (size_t)len + 1) : NULL;

    if (uri != NULL) {
        pawl_instance_uri(i, NULL, 0, uri, (size_t)len + 1);
    }
    return uri;
}

static void json_maybe(const char *name, const char *value)
{
    if (value != NULL) {
        json_text(name, value);
    }
}

static void json_instance(const char *event, const struct pawl_instance *i)
{
    char *uri = uri_of(i);

    json_open(NULL, '{');
    json_maybe("event", event);
    json_text("name", i->name);
    json_text("id", i->id);
    json_maybe("address", i->address);
    if (i->port != 0) {
        json_number("port", i->port);
    }
    if (i->ssl_port != 0) {
        json_number("ssl_port", i->ssl_port);
    }
    json_maybe("uri", uri);
    json_maybe("payload", i->payload);
    json_text("type", type_name(i->type));
    json_number("registered", i->registered_ms);
    json_bool("enabled", !i->disabled);
    json_close('{');
    free(uri);
}

/* "ID ADDRESS PORT SSL-PORT URI", with a dash for what is not there. */
static void text_field(const char *value, char behind)
{
    text_escaped(pawl_str(value != NULL && value[0] != '\0' ? value : "-"));
    putchar(behind);
}

static void text_port(int port)
{
    if (port != 0) {
        printf("%d ", port);
    } else {
        fputs("- ", stdout);
    }
}

static void text_instance(const char *event, const struct pawl_instance *i)
{
    char *uri = uri_of(i);

    if (event != NULL) {
        printf("%s ", event);
    }
    text_field(i->id, ' ');
    text_field(i->address, ' ');
    text_port(i->port);
    text_port(i->ssl_port);
    text_field(uri, i->disabled ? ' ' : '\n');
    if (i->disabled) {
        puts("disabled");
    }
    free(uri);
}

static void print_instance(const struct cli *cli, const char *event, const struct pawl_instance *i)
{
    if (cli->json) {
        json_instance(event, i);
    } else {
        text_instance(event, i);
    }
}

/* ---- register ---- */

enum { ID_BYTES = 37 };

/* As Curator makes them: a random UUID. */
static void make_id(char out[ID_BYTES])
{
    unsigned char b[16];
    int at = 0;

    entropy_fill(b, sizeof(b));
    b[6] = (unsigned char)(0x40 | (b[6] & 0x0f));
    b[8] = (unsigned char)(0x80 | (b[8] & 0x3f));
    for (int i = 0; i < 16; i++) {
        at += snprintf(out + at, (size_t)(ID_BYTES - at),
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", b[i]);
    }
}

static bool is_good_instance(struct cli *cli, const struct args *args)
{
    int64_t port;

    return args_number(args, cli, 'p', 1, 65535, &port) &&
           args_number(args, cli, 'S', 1, 65535, &port);
}

static bool instance_of(struct cli *cli, const struct args *args, struct pawl_instance *out,
                        char made_id[ID_BYTES])
{
    int64_t port = 0, ssl_port = 0;

    if (!args_number(args, cli, 'p', 1, 65535, &port) ||
        !args_number(args, cli, 'S', 1, 65535, &ssl_port)) {
        return false;
    }
    make_id(made_id);
    *out = (struct pawl_instance){.size = sizeof(*out),
                                  .name = args->words[1],
                                  .id = args_has(args, 'i') ? args_text(args, 'i') : made_id,
                                  .address = args_text(args, 'a'),
                                  .port = (int)port,
                                  .ssl_port = (int)ssl_port,
                                  .payload = args_text(args, 'y'),
                                  .uri_spec = args_text(args, 'u')};
    return true;
}

static int print_registered(struct cli *cli, struct pawl_discovery *d,
                            const struct pawl_instance *i)
{
    struct pawl_instance *found = NULL;
    int err = pawl_discovery_instance(d, i->name, i->id, &found); /* with its address and time */

    if (err != PAWL_OK) {
        return cli_report(cli, i->name, err);
    }
    if (cli->json) {
        json_instance(NULL, found);
    } else {
        text_line(pawl_str(found->id));
    }
    pawl_instance_free(found);
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_OK : EXIT_SYSTEM;
}

static int register_until_ended(struct cli *cli, struct pawl_discovery *d,
                                const struct pawl_instance *i)
{
    int err = pawl_discovery_register(d, i, cli->connect_timeout_ms), status;

    if (err != PAWL_OK) {
        return cli_report(cli, i->name, err);
    }
    status = print_registered(cli, d, i);
    if (status == EXIT_OK) {
        cli_wait(-1); /* it is kept registered, over links and sessions, by the library */
        status = EXIT_SIGNAL + cli_signal();
    }
    return status;
}

static int run_register(struct cli *cli, const struct args *args)
{
    struct pawl_discovery *d = NULL;
    struct pawl_instance instance;
    char made_id[ID_BYTES];
    int err, status;

    if (!instance_of(cli, args, &instance, made_id)) {
        return EXIT_USAGE;
    }
    err = pawl_discovery_new(cli->client, args->words[0], &d);
    status = err == PAWL_OK ? register_until_ended(cli, d, &instance)
                            : cli_report(cli, args->words[0], err);
    pawl_discovery_free(d);
    return status;
}

static const struct option_spec register_options[] = {
    {'i', "id", "ID", "of this instance; a random one by default"},
    {'a', "address", "ADDRESS", "this machine's by default"},
    {'p', "port", "NUMBER", "none by default"},
    {'S', "ssl-port", "NUMBER", "none by default"},
    {'u', "uri", "SPEC", "such as {scheme}://{address}:{port}/"},
    {'y', "payload", "JSON", "whatever else is to be known of it"},
    {0, NULL, NULL, NULL}};

const struct command command_service_register = {
    .name = "service register",
    .synopsis = "[OPTIONS] BASE NAME",
    .summary = "register an instance of a service below BASE until ended, and print its id",
    .options = register_options,
    .min_words = 2,
    .max_words = 2,
    .is_apart = true,
    .is_good = is_good_instance,
    .run = run_register};

/* ---- ls ---- */

static int list_names(struct cli *cli, struct pawl_discovery *d, const char *base)
{
    struct pawl_reply *reply = NULL;
    int status;

    pawl_discovery_names(d, &reply);
    status = cli_check_read(cli, base, reply);
    if (status == EXIT_OK) {
        cli_print_names(cli, &reply->children);
    }
    pawl_reply_free(reply);
    return status;
}

static int list_instances(struct cli *cli, struct pawl_discovery *d, const char *name)
{
    struct pawl_instances *all;
    int err = pawl_discovery_instances(d, name, &all);

    if (err != PAWL_OK) {
        return cli_report(cli, name, err);
    }
    if (cli->json) {
        json_open(NULL, '[');
    }
    for (size_t i = 0; i < all->n; i++) {
        print_instance(cli, NULL, all->items[i]);
    }
    if (cli->json) {
        json_close('[');
    }
    pawl_instances_free(all);
    return EXIT_OK;
}

static int run_service_ls(struct cli *cli, const struct args *args)
{
    struct pawl_discovery *d = NULL;
    int err = pawl_discovery_new(cli->client, args->words[0], &d), status;

    if (err != PAWL_OK) {
        status = cli_report(cli, args->words[0], err);
    } else if (args->n_words == 1) {
        status = list_names(cli, d, args->words[0]);
    } else {
        status = list_instances(cli, d, args->words[1]);
    }
    pawl_discovery_free(d);
    return status;
}

static const struct option_spec no_options[] = {{0, NULL, NULL, NULL}};

const struct command command_service_ls = {
    .name = "service ls",
    .synopsis = "BASE [NAME]",
    .summary = "show the services below BASE, or the instances of one",
    .options = no_options,
    .min_words = 1,
    .max_words = 2,
    .run = run_service_ls};

/* ---- watch ---- */

struct following {
    struct cli *cli;
    struct pawl_service_cache *cache;
    int changed_fd;
    int64_t n_left;              /* events until the end; -1: no end */
    struct pawl_instances *seen; /* what has been printed; NULL: nothing yet */
};

/* On the thread of callbacks: the main one prints. */
static void following_on_change(struct pawl_service_cache *s, void *arg)
{
    struct following *f = arg;

    (void)s;
    eventfd_write(f->changed_fd, 1);
}

static const struct pawl_instance *find_in(const struct pawl_instances *all, const char *id)
{
    for (size_t i = 0; all != NULL && i < all->n; i++) {
        if (strcmp(all->items[i]->id, id) == 0) {
            return all->items[i];
        }
    }
    return NULL;
}

static bool is_same(const struct pawl_instance *a, const struct pawl_instance *b)
{
    char *one = NULL, *other = NULL;
    bool same = pawl_instance_to_json(a, &one) == PAWL_OK &&
                pawl_instance_to_json(b, &other) == PAWL_OK && strcmp(one, other) == 0;

    free(one);
    free(other);
    return same;
}

static void print_event(struct following *f, const char *event, const struct pawl_instance *i)
{
    if (f->n_left != 0) {
        print_instance(f->cli, event, i);
        f->n_left -= f->n_left > 0 && f->seen != NULL ? 1 : 0; /* those at first are none */
    }
}

static void print_changes(struct following *f, const struct pawl_instances *now)
{
    for (size_t i = 0; f->seen != NULL && i < f->seen->n; i++) {
        if (find_in(now, f->seen->items[i]->id) == NULL) {
            print_event(f, "REMOVED", f->seen->items[i]);
        }
    }
    for (size_t i = 0; i < now->n; i++) {
        const struct pawl_instance *before = find_in(f->seen, now->items[i]->id);

        if (before == NULL) {
            print_event(f, "ADDED", now->items[i]);
        } else if (!is_same(before, now->items[i])) {
            print_event(f, "CHANGED", now->items[i]);
        }
    }
}

static void print_watching(const struct cli *cli, const char *name)
{
    if (cli->json) {
        json_open(NULL, '{');
        json_text("event", "WATCHING");
        json_text("name", name);
        json_close('{');
    } else {
        printf("WATCHING ");
        text_line(pawl_str(name));
    }
}

/* What has changed since the last time; several changes of one instance are one. */
static int catch_up(struct following *f, const char *name)
{
    struct pawl_instances *now;
    int err = pawl_service_cache_instances(f->cache, &now);

    if (err != PAWL_OK) {
        return cli_report(f->cli, name, err);
    }
    print_changes(f, now);
    if (f->seen == NULL) {
        print_watching(f->cli, name);
    }
    fflush(stdout);
    pawl_instances_free(f->seen);
    f->seen = now;
    return EXIT_OK;
}

static int follow(struct following *f, const char *name)
{
    int err = pawl_service_cache_wait(f->cache, f->cli->connect_timeout_ms);
    int status = err == PAWL_OK ? EXIT_OK : cli_report(f->cli, name, err);

    while (status == EXIT_OK && f->n_left != 0 && !ferror(stdout)) {
        eventfd_t n;

        if (f->seen != NULL) {
            cli_wait(f->changed_fd);
        }
        if (cli_signal() != 0) {
            return EXIT_SIGNAL + cli_signal();
        }
        eventfd_read(f->changed_fd, &n);
        status = catch_up(f, name);
    }
    return status;
}

static bool is_good_watch(struct cli *cli, const struct args *args)
{
    int64_t n;

    return args_number(args, cli, 'n', 1, INT64_MAX, &n);
}

static int run_service_watch(struct cli *cli, const struct args *args)
{
    const char *name = args->words[1];
    struct following f = {.cli = cli, .n_left = -1};
    int err, status;

    if (!args_number(args, cli, 'n', 1, INT64_MAX, &f.n_left)) {
        return EXIT_USAGE;
    }
    f.changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    err = pawl_service_cache_new(cli->client, args->words[0], name, following_on_change, &f,
                                 &f.cache);
    status = err == PAWL_OK ? follow(&f, name) : cli_report(cli, args->words[0], err);
    pawl_service_cache_free(f.cache);
    cli_disconnect(cli); /* no callback any more */
    pawl_instances_free(f.seen);
    close(f.changed_fd);
    return status;
}

static const struct option_spec watch_options[] = {
    {'n', "events", "NUMBER", "end after so many events"},
    {0, NULL, NULL, NULL}};

const struct command command_service_watch = {
    .name = "service watch",
    .synopsis = "[-n NUMBER] BASE NAME",
    .summary = "print the instances of a service, and each change of them, until ended",
    .options = watch_options,
    .min_words = 2,
    .max_words = 2,
    .is_apart = true,
    .is_good = is_good_watch,
    .run = run_service_watch};
