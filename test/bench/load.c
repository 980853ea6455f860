/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - pawl-load, a load generator that speaks the ZooKeeper protocol: options and main.
 *
 * Prints one line of key=value pairs; anything unexpected from the server ends it with a sentence
 * and a status of 1, so a figure always stands for right answers. */
#include "load.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const struct mode *const modes[] = {
    &mode_reads,  &mode_writes, &mode_mix,          &mode_churn, &mode_locks,       &mode_watch,
    &mode_znodes, &mode_idle,   &mode_first_answer, &mode_gap,   &mode_first_write,
};

enum { N_MODES = sizeof(modes) / sizeof(modes[0]) };

static const struct option long_options[] = {
    {"host", required_argument, NULL, 'h'},         {"port", required_argument, NULL, 'p'},
    {"pid", required_argument, NULL, 'P'},          {"connections", required_argument, NULL, 'c'},
    {"outstanding", required_argument, NULL, 'o'},  {"write-percent", required_argument, NULL, 'w'},
    {"nodes", required_argument, NULL, 'n'},        {"data-bytes", required_argument, NULL, 'b'},
    {"locks", required_argument, NULL, 'l'},        {"contenders", required_argument, NULL, 'k'},
    {"znodes", required_argument, NULL, 'z'},       {"warmup", required_argument, NULL, 'W'},
    {"seconds", required_argument, NULL, 's'},      {"max-seconds", required_argument, NULL, 'm'},
    {"snapshot-dir", required_argument, NULL, 'D'}, {"snapshots", required_argument, NULL, 'S'},
    {"ops", required_argument, NULL, 'O'},          {"victim", required_argument, NULL, 'v'},
    {"signal", required_argument, NULL, 'g'},       {"path", required_argument, NULL, 'a'},
    {"log", required_argument, NULL, 'L'},          {NULL, 0, NULL, 0},
};

static _Noreturn void usage(void)
{
    int i;

    fprintf(stderr, "usage: pawl-load MODE --port N[,N...] [options]\n\n");
    for (i = 0; i < N_MODES; i++) {
        fprintf(stderr, "  %-13s %s\n", modes[i]->name, modes[i]->does);
    }
    fprintf(stderr, "\n  --host A          numeric address (127.0.0.1)\n"
                    "  --pid N[,N...]    the servers' processes, to measure their CPU\n"
                    "  --connections N   each with its own session (10)\n"
                    "  --outstanding N   requests under way per connection (1)\n"
                    "  --write-percent N of mode mix (10)\n"
                    "  --nodes N         nodes that are read and written (1000)\n"
                    "  --data-bytes N    their size (100)\n"
                    "  --locks N --contenders N   of mode locks (1, 16)\n"
                    "  --znodes N        of mode znodes (1000000)\n"
                    "  --warmup S --seconds S     not measured, measured (1, 5)\n"
                    "  --max-seconds S   gives up, or stops waiting for snapshots (60)\n"
                    "  --ops N           ends after N operations instead of --seconds\n"
                    "  --snapshot-dir D  tell apart what met a snapshot being written in D\n"
                    "  --snapshots N     go on until N of them were seen (0)\n"
                    "  --victim PID --signal N    of mode gap (-, 9)\n"
                    "  first-answer --port N [--path P] [--log FILE] -- COMMAND ...\n");
    exit(2);
}

static long number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || value < 0 || value > 100000000) {
        die("not a number: %s", text);
    }
    return value;
}

/* Numbers with commas between them; how many there are. */
static int numbers(int *out, char *text)
{
    char *rest = NULL;
    char *word;
    int n = 0;

    for (word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        if (n == SERVERS_MAX) {
            die("more than %d servers", SERVERS_MAX);
        }
        out[n++] = (int)number(word);
    }
    return n;
}

static double seconds(const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (*text == '\0' || *end != '\0' || value < 0 || value > 86400) {
        die("not a time in seconds: %s", text);
    }
    return value;
}

/* The options that are not a single int; returns 0 if `c` is none of them. */
static int set_other(struct options *o, int c, char *value)
{
    switch (c) {
    case 'h':
        o->to.host = value;
        return 1;
    case 'p':
        o->to.n = numbers(o->to.ports, value);
        return 1;
    case 'P':
        o->n_pids = numbers(o->pids, value);
        return 1;
    case 'z':
        o->znodes = number(value);
        return 1;
    case 'O':
        o->ops = number(value);
        return 1;
    case 'W':
        o->warmup_s = seconds(value);
        return 1;
    case 's':
        o->seconds = seconds(value);
        return 1;
    case 'm':
        o->max_seconds = seconds(value);
        return 1;
    case 'D':
        o->snapshot_dir = value;
        return 1;
    case 'a':
        o->path = value;
        return 1;
    case 'L':
        o->log = value;
        return 1;
    default:
        return 0;
    }
}

static int *int_option(struct options *o, int c)
{
    switch (c) {
    case 'c':
        return &o->connections;
    case 'o':
        return &o->outstanding;
    case 'w':
        return &o->write_percent;
    case 'n':
        return &o->nodes;
    case 'b':
        return &o->data_bytes;
    case 'l':
        return &o->locks;
    case 'k':
        return &o->contenders;
    case 'S':
        return &o->snapshots;
    case 'v':
        return &o->victim;
    case 'g':
        return &o->signal;
    default:
        return NULL;
    }
}

static int ports_make_sense(const struct addresses *to)
{
    int i;

    for (i = 0; i < to->n; i++) {
        if (to->ports[i] < 1 || to->ports[i] > 65535) {
            return 0;
        }
    }
    return to->n > 0;
}

static void parse(struct options *o, int argc, char **argv)
{
    int c;

    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (c == '?') {
            usage();
        } else if (!set_other(o, c, optarg)) {
            *int_option(o, c) = (int)number(optarg);
        }
    }
    if (optind < argc) {
        o->command = argv + optind;
    }
    if (!ports_make_sense(&o->to) || o->connections < 1 || o->outstanding < 1 || o->nodes < 1 ||
        o->nodes > 99999 || o->locks < 1 || o->contenders < 1 || o->znodes < 1 ||
        o->write_percent > 100 || o->data_bytes > 65536 - 256) {
        usage();
    }
}

static void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int connections_for(const struct mode *mode, const struct options *o)
{
    if (mode == &mode_locks) {
        return o->locks * o->contenders;
    }
    if (mode == &mode_watch) {
        return o->connections + 1; /* one more to make the change */
    }
    return o->connections;
}

static int run(const struct mode *mode, struct options *o)
{
    if (mode->whole != NULL) {
        return mode->whole(o);
    }
    if (mode == &mode_znodes) { /* all of it counts, and it ends by itself */
        o->warmup_s = 0;
        o->seconds = o->max_seconds;
    }
    return load_run(mode, o, connections_for(mode, o));
}

int main(int argc, char **argv)
{
    struct options o = {
        .to = {.host = "127.0.0.1"},
        .connections = 10,
        .outstanding = 1,
        .write_percent = 10,
        .nodes = 1000,
        .data_bytes = 100,
        .locks = 1,
        .contenders = 16,
        .znodes = 1000000,
        .warmup_s = 1,
        .seconds = 5,
        .max_seconds = 60,
        .path = "/",
        .signal = SIGKILL,
    };
    int i;

    if (argc < 2) {
        usage();
    }
    parse(&o, argc - 1, argv + 1);
    raise_file_limit();
    for (i = 0; i < N_MODES; i++) {
        if (strcmp(argv[1], modes[i]->name) == 0) {
            return run(modes[i], &o);
        }
    }
    usage();
}
