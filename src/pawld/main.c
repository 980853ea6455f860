/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - pawld: the server as a program. */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "admin/admin.h"
#include "base/logging.h"
#include "daemon/announce.h"
#include "daemon/config.h"
#include "daemon/host.h"
#include "daemon/insecure.h"
#include "daemon/log_sink.h"
#include "os/socket.h"
#include "os/thread.h"
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
    "  --accept-loss       start although acknowledged transactions are damaged or missing, from\n"
    "                      the last good one; what is not used is kept in files named aside.*\n"
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
    "3 data folder not usable or damaged, 10 a snapshot could not be written, 14 a member's\n"
    "election port could not be bound.\n";

struct arguments {
    const char *file;
    const char *data;
    const char *port;
    const char *log_level;
    const char *properties[64];
    size_t n_properties;
    bool json;
    bool accept_loss;
    bool check;
};

enum {
    OPT_DATA = 256,
    OPT_PORT,
    OPT_ACCEPT_LOSS,
    OPT_CHECK,
    OPT_LEVEL,
    OPT_JSON,
    OPT_KEYS,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"data", required_argument, NULL, OPT_DATA},
    {"port", required_argument, NULL, OPT_PORT},
    {"accept-loss", no_argument, NULL, OPT_ACCEPT_LOSS},
    {"check", no_argument, NULL, OPT_CHECK},
    {"log-level", required_argument, NULL, OPT_LEVEL},
    {"json", no_argument, NULL, OPT_JSON},
    {"help-keys", no_argument, NULL, OPT_KEYS},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* NULL: getopt_long() has said what is wrong. */
static void bad_usage(const char *what)
{
    if (what != NULL) {
        fprintf(stderr, "pawld: %s\n", what);
    }
    fprintf(stderr, "pawld --help tells what there is\n");
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
        case OPT_ACCEPT_LOSS:
            a->accept_loss = true;
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
            bad_usage(NULL);
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
    if (a->accept_loss) {
        config_set(c, "recovery.acceptLoss", "true", CONFIG_OPTION, errors);
    }
    if (a->json) {
        config_set(c, "log.format", "json", CONFIG_OPTION, errors);
    }
    if (a->file != NULL && config_read_file(c, a->file, errors) != PAWL_OK &&
        access(a->file, R_OK) != 0) {
        return; /* that nothing else is given follows from it, and need not be said */
    }
    config_finish(c, errors);
    config_check_supported(c, errors);
    if (a->check) {
        insecure_check(c);
    }
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
    log_sink_install(STDERR_FILENO, c->log.format == CONFIG_LOG_JSON,
                     config_is_ensemble(c) && c->ensemble.my_id >= 0 ? c->ensemble.my_id : 1);
    logging_set_level((enum log_level)c->log.level);
    say_all(LOG_WARN, &c->warnings);
    if (errors.n > 0) {
        say_all(LOG_ERROR, &errors);
        log_error("Invalid config, exiting abnormally");
        exit(EXIT_INVALID_CONFIG);
    }
    config_lines_fini(&errors);
}

/* ---- readiness ---- */

/* Tells systemd how we are; nothing happens without $NOTIFY_SOCKET. */
static void notify(const char *state)
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
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&a,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
        close(fd);
    }
}

/* ---- signals: a thread of their own waits for them ---- */

struct control {
    struct config *config;
    const struct arguments *arguments;
    pthread_mutex_t lock; /* guards all below */
    struct host *host;    /* NULL: still opening */
    bool reload_wanted;   /* while it was */
    bool stop_wanted;     /* by a signal */
    bool ended;
};

/* On the host's thread. */
static void reload(void *arg)
{
    struct control *control = arg;
    struct config_lines errors, notes;
    struct config fresh;
    enum log_level level;

    config_lines_init(&errors);
    config_lines_init(&notes);
    load(&fresh, control->arguments, &errors);
    if (errors.n > 0) {
        say_all(LOG_ERROR, &errors);
        log_error("the configuration was not re-read: mend the above and send SIGHUP again");
        config_fini(&fresh);
    } else {
        config_reload(control->config, &fresh, &notes);
        level = (enum log_level)control->config->log.level;
        if (level > logging_level()) {
            logging_set_level(level); /* otherwise below: the change itself is still to be said */
        }
        say_all(LOG_WARN, &fresh.warnings);
        say_all(LOG_INFO, &notes);
        log_info("the configuration was re-read%s", notes.n == 0 ? ": nothing has changed" : "");
        logging_set_level(level);
        config_fini(&fresh);
    }
    config_lines_fini(&errors);
    config_lines_fini(&notes);
}

static void stop_by_signal(struct control *control, int number)
{
    log_info("signal %d: stopping", number);
    control->stop_wanted = true;
    notify("STOPPING=1");
    if (control->host == NULL) {
        /* A large folder is being read. Nothing is lost by not waiting for the end of that: a
         * start that is cut off leaves the folder as a crash would. */
        _exit(0);
    }
    host_stop(control->host);
}

/* False: there is nothing left to wait for. */
static bool take_signal(struct control *control, int number)
{
    if (control->ended) {
        return false;
    }
    if (number != SIGHUP) {
        stop_by_signal(control, number);
        return false;
    }
    if (control->host == NULL) {
        control->reload_wanted = true;
    } else {
        host_reload(control->host);
    }
    return true;
}

static void our_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
}

static void *wait_for_signals(void *arg)
{
    struct control *control = arg;
    bool more = true;
    sigset_t set;
    int number;

    thread_set_name("pawl-signals");
    our_signals(&set);
    while (more) {
        if (sigwait(&set, &number) == 0) {
            pthread_mutex_lock(&control->lock);
            more = take_signal(control, number);
            pthread_mutex_unlock(&control->lock);
        }
    }
    return NULL;
}

static void block_signals(void)
{
    sigset_t set;

    our_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file over `ulimit -f` is an error of write(), and is told */
}

static int main_fail(const struct host_error *error)
{
    log_error("%s", error->text);
    if (error->exit_code == EXIT_DATA_FOLDER) {
        log_error("Unable to access datadir, exiting abnormally");
    }
    return error->exit_code;
}

/* From here on signals reach the host, also one that came while it was opening. */
static void let_signals_in(struct control *control, struct host *host)
{
    host_on_reload(host, reload, control);
    pthread_mutex_lock(&control->lock);
    control->host = host;
    if (control->reload_wanted) {
        host_reload(host);
    }
    pthread_mutex_unlock(&control->lock);
}

static void end_signals(struct control *control, pthread_t signals)
{
    pthread_mutex_lock(&control->lock);
    control->ended = true;
    pthread_mutex_unlock(&control->lock);
    pthread_kill(signals, SIGTERM); /* if it was not a signal that ended us */
    pthread_join(signals, NULL);
}

static void tell_ports(const struct config *c, const struct host *host)
{
    if (c->net.client_port == 0) {
        printf("%d\n", host_port(host));
        fflush(stdout);
    }
    if (c->net.secure_port == 0) {
        printf("%d\n", host_secure_port(host));
        fflush(stdout);
    }
}

/* The host is to be opened again: a port that was any one stays the same. */
static void keep_ports(struct config *c, const struct host *host)
{
    if (c->net.client_port == 0) {
        c->net.client_port = host_port(host);
    }
    if (c->net.secure_port == 0) {
        c->net.secure_port = host_secure_port(host);
    }
}

/* The host is no longer there for signals. Whether it is to be opened again, on other data. */
static bool take_from_signals(struct control *control, const struct admin *admin, int rc)
{
    bool is_again;

    pthread_mutex_lock(&control->lock);
    is_again = rc == PAWL_OK && admin_wants_restart(admin) && !control->stop_wanted;
    control->host = NULL;
    control->ended = !is_again;
    pthread_mutex_unlock(&control->lock);
    return is_again;
}

static int serve_host(struct control *control, struct admin **admin, bool *is_again,
                      struct host_error *error)
{
    struct host *host;
    int rc = host_open(control->config, &(struct host_options){0}, &host, error);

    *is_again = false;
    if (rc != PAWL_OK) {
        return rc;
    }
    admin_serve(*admin, host);
    let_signals_in(control, host);
    tell_ports(control->config, host);
    announce_ready(control->config, host_port(host), host_secure_port(host));
    notify("READY=1");
    rc = host_run(host, error);
    *is_again = take_from_signals(control, *admin, rc);
    if (*is_again) {
        keep_ports(control->config, host);
        admin_let_go(*admin);
    } else {
        admin_close(*admin);
        *admin = NULL;
    }
    host_close(host);
    return rc;
}

static int serve_until_stopped(struct control *control, struct host_error *error)
{
    /* Before the host: reading a large folder takes its time, and probes want to know. */
    struct admin *admin = admin_open(control->config);
    bool is_again;
    int rc;

    do {
        rc = serve_host(control, &admin, &is_again, error);
    } while (is_again);
    admin_close(admin);
    return rc;
}

static int serve(struct config *config, const struct arguments *arguments)
{
    struct control control = {
        .config = config, .arguments = arguments, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct host_error error = {0};
    pthread_t signals;
    int rc;

    if (pthread_create(&signals, NULL, wait_for_signals, &control) != 0) {
        log_error("no thread can be started: %s", strerror(errno));
        return EXIT_UNEXPECTED;
    }
    rc = serve_until_stopped(&control, &error);
    end_signals(&control, signals);
    return rc == PAWL_OK ? 0 : main_fail(&error);
}

/* Nothing that we run can become more than we are, and nothing runs anyway. A core would have the
 * keys and passwords in it: a limit of one byte keeps it from a file and from whoever collects
 * cores through a pipe, where a limit of zero means the former only. */
static void drop_what_is_not_needed(const struct config *c)
{
    struct rlimit core;

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!c->core_dumps && insecure_has_secrets(c) && getrlimit(RLIMIT_CORE, &core) == 0 &&
        core.rlim_max >= 1) {
        core.rlim_cur = 1;
        setrlimit(RLIMIT_CORE, &core);
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct config config;
    int status = 0;

    parse_arguments(argc, argv, &arguments);
    block_signals();
    raise_file_limit();
    load_or_exit(&config, &arguments);
    if (arguments.check) {
        config_print_effective(&config, stdout, false);
    } else {
        drop_what_is_not_needed(&config);
        announce_start(&config);
        status = serve(&config, &arguments);
        announce_stopped(status);
    }
    config_fini(&config);
    return status;
}
