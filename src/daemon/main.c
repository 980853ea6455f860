/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - pawld: the server as a program. */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/logging.h"
#include "daemon/config.h"
#include "daemon/host.h"
#include "daemon/log_sink.h"
#include "pawl/error.h"
#include "pawl/version.h"

static const char usage[] =
    "usage: pawld [options] [zoo.cfg]\n"
    "       pawld --data DIR [--port N]\n"
    "\n"
    "A coordination server that every ZooKeeper client can use as it is.\n"
    "\n"
    "  --data DIR          data folder; needs no configuration file\n"
    "  --port N            client port, 0 picks a free one and prints it (default 2181)\n"
    "  --check             check the configuration, say what is in effect, and exit\n"
    "  -D NAME=VALUE       set a property, as with -Dzookeeper.NAME=VALUE in Java\n"
    "  --log-level LEVEL   error, warn, info (default) or debug\n"
    "  --json              log lines as JSON\n"
    "  --help-keys         every configuration key, with default and meaning\n"
    "  --version           print the version and exit\n"
    "  -h, --help          this text\n"
    "\n"
    "Signals: SIGTERM and SIGINT stop the server, SIGHUP re-reads the configuration file.\n"
    "Exit status: 0 stopped, 1 unexpected error or port in use, 2 invalid configuration,\n"
    "3 data folder not usable or damaged, 10 a snapshot could not be written.\n";

struct arguments {
    const char *file;
    const char *data;
    const char *port;
    const char *log_level;
    const char *properties[64];
    size_t n_properties;
    bool json;
    bool check;
};

enum { OPT_DATA = 256, OPT_PORT, OPT_CHECK, OPT_LEVEL, OPT_JSON, OPT_KEYS, OPT_VERSION };

static const struct option long_options[] = {
    {"data", required_argument, NULL, OPT_DATA},
    {"port", required_argument, NULL, OPT_PORT},
    {"check", no_argument, NULL, OPT_CHECK},
    {"log-level", required_argument, NULL, OPT_LEVEL},
    {"json", no_argument, NULL, OPT_JSON},
    {"help-keys", no_argument, NULL, OPT_KEYS},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void bad_usage(const char *what)
{
    fprintf(stderr, "pawld: %s\n%s", what, usage);
    exit(EXIT_INVALID_CONFIG);
}

static void add_property(struct arguments *a, const char *definition)
{
    if (a->n_properties == sizeof(a->properties) / sizeof(a->properties[0])) {
        bad_usage("too many -D options");
    }
    a->properties[a->n_properties++] = definition;
}

static void print_and_exit(int option)
{
    if (option == OPT_KEYS) {
        config_print_keys(stdout, CONFIG_KEYS_TEXT);
    } else if (option == OPT_VERSION) {
        printf("pawld %s (speaks ZooKeeper %s)\n", PAWL_VERSION, PAWL_ZOOKEEPER_VERSION);
    } else {
        fputs(usage, stdout);
    }
    exit(0);
}

static void parse_arguments(int argc, char **argv, struct arguments *a)
{
    int option;

    *a = (struct arguments){0};
    while ((option = getopt_long(argc, argv, "D:h", long_options, NULL)) != -1) {
        switch (option) {
        case OPT_DATA:
            a->data = optarg;
            break;
        case OPT_PORT:
            a->port = optarg;
            break;
        case OPT_CHECK:
            a->check = true;
            break;
        case OPT_LEVEL:
            a->log_level = optarg;
            break;
        case OPT_JSON:
            a->json = true;
            break;
        case 'D':
            add_property(a, optarg);
            break;
        case OPT_KEYS:
        case OPT_VERSION:
        case 'h':
            print_and_exit(option);
            break;
        default:
            bad_usage("see above");
        }
    }
    if (optind < argc) {
        a->file = argv[optind++];
    }
    if (optind < argc) {
        bad_usage("one configuration file at most");
    }
    if (a->file == NULL && a->data == NULL) {
        bad_usage("a configuration file or --data DIR is needed");
    }
}

/* ---- configuration ---- */

static void load(struct config *c, const struct arguments *a, struct config_lines *errors)
{
    config_init(c);
    for (size_t i = 0; i < a->n_properties; i++) {
        config_set_property(c, a->properties[i], errors);
    }
    if (a->data != NULL) {
        config_set(c, "dataDir", a->data, CONFIG_OPTION, errors);
    }
    if (a->port != NULL) {
        config_set(c, "clientPort", a->port, CONFIG_OPTION, errors);
    } else if (a->file == NULL) {
        config_set(c, "clientPort", "2181", CONFIG_OPTION, errors);
    }
    if (a->log_level != NULL) {
        config_set(c, "log.level", a->log_level, CONFIG_OPTION, errors);
    }
    if (a->json) {
        config_set(c, "log.format", "json", CONFIG_OPTION, errors);
    }
    if (a->file != NULL) {
        config_read_file(c, a->file, errors);
    }
    config_finish(c, errors);
    config_check_supported(c, errors);
}

static void say_all(enum log_level level, const struct config_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        log_line(level, "%s", lines->line[i]);
    }
}

static void load_or_exit(struct config *c, const struct arguments *a)
{
    struct config_lines errors;

    config_lines_init(&errors);
    load(c, a, &errors);
    log_sink_install(c->log.format == CONFIG_LOG_JSON);
    logging_set_level((enum log_level)c->log.level);
    say_all(LOG_WARN, &c->warnings);
    if (errors.n > 0) {
        say_all(LOG_ERROR, &errors);
        fprintf(stderr, "Invalid config, exiting abnormally\n");
        exit(EXIT_INVALID_CONFIG);
    }
    config_lines_fini(&errors);
}

/* ---- signals: a thread of their own waits for them ---- */

struct control {
    struct host *host;
    struct config *config;
    const struct arguments *arguments;
};

/* On the host's thread. */
static void reload(void *arg)
{
    struct control *control = arg;
    struct config_lines errors, notes;
    struct config fresh;

    config_lines_init(&errors);
    config_lines_init(&notes);
    load(&fresh, control->arguments, &errors);
    if (errors.n > 0) {
        say_all(LOG_ERROR, &errors);
        log_error("the configuration was not re-read: mend the above and send SIGHUP again");
        config_fini(&fresh);
    } else {
        config_reload(control->config, &fresh, &notes);
        say_all(LOG_INFO, &notes);
        logging_set_level((enum log_level)control->config->log.level);
        config_fini(&fresh);
    }
    config_lines_fini(&errors);
    config_lines_fini(&notes);
}

static void *wait_for_signals(void *arg)
{
    struct control *control = arg;
    sigset_t set;
    int number;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    for (;;) {
        if (sigwait(&set, &number) != 0) {
            continue;
        }
        if (number == SIGHUP) {
            host_reload(control->host, reload, control);
            continue;
        }
        log_info("signal %d: stopping", number);
        host_stop(control->host);
        return NULL;
    }
}

static void block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Tells systemd that the server is ready; nothing happens without $NOTIFY_SOCKET. */
static void notify_ready(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd;

    if (path == NULL || strlen(path) >= sizeof(a.sun_path)) {
        return;
    }
    strcpy(a.sun_path, path);
    if (a.sun_path[0] == '@') {
        a.sun_path[0] = '\0';
    }
    fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (fd >= 0) {
        sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (struct sockaddr *)&a,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
        close(fd);
    }
}

static int fail(const struct host_error *error)
{
    log_error("%s", error->text);
    if (error->exit_code == EXIT_DATA_FOLDER) {
        fprintf(stderr, "Unable to access datadir, exiting abnormally\n");
    }
    return error->exit_code;
}

static int serve(struct config *config, const struct arguments *arguments)
{
    struct control control = {.config = config, .arguments = arguments};
    struct host_error error = {0};
    pthread_t signals;
    int rc = host_open(config, false, &control.host, &error);

    if (rc != PAWL_OK) {
        return fail(&error);
    }
    pthread_create(&signals, NULL, wait_for_signals, &control);
    if (config->net.client_port == 0) {
        printf("%d\n", host_port(control.host));
        fflush(stdout);
    }
    notify_ready();
    rc = host_run(control.host, &error);
    pthread_kill(signals, SIGTERM); /* if it was not a signal that ended us */
    pthread_join(signals, NULL);
    host_close(control.host);
    return rc == PAWL_OK ? 0 : fail(&error);
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct config config;
    int status = 0;

    parse_arguments(argc, argv, &arguments);
    block_signals();
    load_or_exit(&config, &arguments);
    if (arguments.check) {
        config_print_effective(&config, stdout, false);
    } else {
        status = serve(&config, &arguments);
    }
    config_fini(&config);
    return status;
}
