/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/json.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/text.h"
#include "wire/server_list.h"

void cli_error(const struct cli *cli, const char *format, ...)
{
    FILE *to = cli->errors != NULL ? cli->errors : stderr;
    char *message;
    va_list args;

    progress_hide();
    fprintf(to, "%spawl%s%s: ", cli->in_colour ? "\033[31m" : "", cli->command != NULL ? " " : "",
            cli->command != NULL ? cli->command->name : "");
    if (cli->line > 0) {
        fprintf(to, "line %d: ", cli->line);
    }
    va_start(args, format);
    if (vasprintf(&message, format, args) >= 0) {
        text_message(to, message);
        free(message);
    }
    va_end(args);
    fputs(cli->in_colour ? "\033[0m\n" : "\n", to);
}

bool duration_parse(const char *text, int *out_ms)
{
    static const struct {
        const char *unit;
        long long ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    char *end;
    double n;

    if (!isdigit((unsigned char)text[0]) || text[1] == 'x' || text[1] == 'X') {
        return false;
    }
    errno = 0;
    n = strtod(text, &end);
    if (errno != 0) {
        return false;
    }
    if (*end == '\0' && n == 0) {
        *out_ms = 0;
        return true;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) == 0 && n * (double)units[i].ms <= INT_MAX) {
            *out_ms = (int)(n * (double)units[i].ms);
            return true;
        }
    }
    return false;
}

bool cli_acls(const struct cli *cli, const char *text, struct pawl_acls *out)
{
    char *bad;

    *out = (struct pawl_acls){0};
    if (text == NULL || text_acls(text, out, &bad)) {
        return true;
    }
    cli_error(cli, "'%s' is no SCHEME:ID:PERMS, with PERMS out of c, d, r, w and a", bad);
    free(bad);
    return false;
}

bool cli_is_secure(const struct cli *cli)
{
    return strncmp(cli->servers, SERVER_SECURE, strlen(SERVER_SECURE)) == 0;
}

const char *cli_chroot(const struct cli *cli)
{
    bool has_none =
        strncmp(cli->servers, "unix:", 5) == 0 || strncmp(cli->servers, "local:", 6) == 0;
    const char *list = cli->servers + (cli_is_secure(cli) ? strlen(SERVER_SECURE) : 0);
    const char *slash = has_none ? NULL : strchr(list, '/');

    return slash != NULL ? slash : "";
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters have to be changed, added or left out, or two to change places: the distance of
 * Damerau and Levenshtein. `to[i][j]`: of the first i letters from the first j. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 32 };
    size_t to[LONGEST + 1][LONGEST + 1];
    size_t len_a = strlen(a), len_b = strlen(b);

    if (len_a > LONGEST || len_b > LONGEST) {
        return LONGEST;
    }
    for (size_t i = 0; i <= len_a; i++) {
        for (size_t j = 0; j <= len_b; j++) {
            if (i == 0 || j == 0) {
                to[i][j] = i + j;
                continue;
            }
            to[i][j] = least(to[i - 1][j], to[i][j - 1]) + 1;
            to[i][j] = least(to[i][j], to[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                to[i][j] = least(to[i][j], to[i - 2][j - 2] + 1);
            }
        }
    }
    return to[len_a][len_b];
}

const char *nearest_name(const char *word, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t best_distance = 3;

    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, names[i]);

        bool is_as_long = best != NULL && strlen(names[i]) == strlen(word);

        if ((d < best_distance || (d == best_distance && is_as_long)) && d < strlen(names[i])) {
            best_distance = d;
            best = names[i];
        }
    }
    for (size_t i = 0; best == NULL && strlen(word) > 1 && i < n; i++) {
        best = strncmp(names[i], word, strlen(word)) == 0 ? names[i] : NULL; /* its beginning */
    }
    return best;
}

/* ---- failures ---- */

static int exit_of(int err, enum pawl_outcome outcome)
{
    switch (err) {
    case PAWL_OK:
        return EXIT_OK;
    case PAWL_ERR_NO_NODE:
        return EXIT_NO_NODE;
    case PAWL_ERR_NODE_EXISTS:
    case PAWL_ERR_NOT_EMPTY:
    case PAWL_ERR_BAD_VERSION:
        return EXIT_CONFLICT;
    case PAWL_ERR_BAD_ARGUMENTS:
        return EXIT_USAGE;
    case PAWL_ERR_NO_MEMORY:
    case PAWL_ERR_SYSTEM:
        return EXIT_SYSTEM;
    default:
        break;
    }
    if (outcome == PAWL_OUTCOME_UNKNOWN) {
        return EXIT_UNKNOWN;
    }
    switch (err) {
    case PAWL_ERR_OPERATION_TIMEOUT:
        return EXIT_TIMEOUT;
    case PAWL_ERR_CONNECTION_LOSS:
    case PAWL_ERR_SESSION_EXPIRED:
    case PAWL_ERR_CLOSING:
        return EXIT_UNREACHABLE;
    case PAWL_ERR_LOST:
        return EXIT_LOST;
    default:
        return EXIT_REFUSED;
    }
}

/* What to do about it; "" when the sentence is enough. */
static const char *advice_for(int err)
{
    switch (err) {
    case PAWL_ERR_NO_AUTH:
        return "; give credentials with --auth SCHEME:CREDENTIALS";
    case PAWL_ERR_BAD_VERSION:
        return "; somebody has changed it: read it again";
    case PAWL_ERR_BAD_ARGUMENTS:
        return "; a path begins with / and has no empty or dotted parts";
    case PAWL_ERR_OPERATION_TIMEOUT:
        return "; --connect-timeout waits longer for each answer";
    case PAWL_ERR_NO_CHILDREN_FOR_EPHEMERALS:
        return "; its parent belongs to a session";
    default:
        return "";
    }
}

static int report(const struct cli *cli, const char *path, int err, enum pawl_outcome outcome)
{
    if (err != PAWL_OK) {
        cli_error(cli, "%s: %s%s%s", path, pawl_strerror(err), advice_for(err),
                  outcome == PAWL_OUTCOME_UNKNOWN ? "; it may have happened" : "");
    }
    return exit_of(err, outcome);
}

int cli_report(const struct cli *cli, const char *path, int err)
{
    return cli_signal() != 0 ? EXIT_SIGNAL + cli_signal()
                             : report(cli, path, err, PAWL_OUTCOME_REFUSED);
}

int cli_report_change(const struct cli *cli, const char *path, int err, enum pawl_outcome outcome)
{
    return err == PAWL_ERR_CANCELLED ? cli_report(cli, path, err) : report(cli, path, err, outcome);
}

void cli_print_names(const struct cli *cli, const struct pawl_strings *names)
{
    if (cli->json) {
        json_open(NULL, '[');
    }
    for (size_t i = 0; i < names->n; i++) {
        if (cli->json) {
            json_text(NULL, names->items[i]);
        } else {
            text_line(pawl_str(names->items[i]));
        }
    }
    if (cli->json) {
        json_close('[');
    }
}

int cli_check(const struct cli *cli, const char *path, const struct pawl_reply *reply)
{
    return reply == NULL ? cli_report(cli, path, PAWL_ERR_NO_MEMORY)
                         : cli_report_change(cli, path, reply->err, reply->outcome);
}

int cli_check_read(const struct cli *cli, const char *path, const struct pawl_reply *reply)
{
    return cli_report(cli, path, reply == NULL ? PAWL_ERR_NO_MEMORY : reply->err);
}

int cli_report_unreachable(const struct cli *cli, const struct pawl_client *client)
{
    char why[1024];

    pawl_client_last_error(client, why, sizeof(why));
    if (cli_signal() != 0) {
        return EXIT_SIGNAL + cli_signal();
    }
    cli_error(cli, "no session with %s; %s", why[0] != '\0' ? why : cli->servers,
              strstr(why, ": SASL: ") != NULL
                  ? "who we are comes from --sasl, --jaas, PAWL_SASL, PAWL_JAAS or pawl.conf"
                  : "is it running? Name another with -s or PAWL_SERVER");
    return EXIT_UNREACHABLE;
}

/* ---- signals ---- */

static atomic_int caught;
static int caught_fd = -1;
static _Atomic(struct pawl_client *) interruptible;

static void cli_on_signal(int number)
{
    struct pawl_client *client = interruptible;
    uint64_t one = 1;
    int saved = errno;

    if (number != SIGINT || caught == 0) { /* what ends a shell is not hidden by what does not */
        caught = number;
    }
    if (write(caught_fd, &one, sizeof(one)) > 0 && client != NULL) {
        pawl_client_interrupt(client);
    }
    errno = saved;
}

void cli_catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = cli_on_signal};

    if (caught_fd >= 0) {
        return; /* by the shell */
    }
    caught_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction old;

        sigaction(numbers[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) { /* nohup */
            sigaction(numbers[i], &action, NULL);
        }
    }
}

int cli_signal(void)
{
    return caught;
}

int cli_signal_fd(void)
{
    return caught_fd;
}

/* One that comes on the way is found by the last look, and told again. */
void cli_forget_interrupt(struct cli *cli)
{
    int interrupt = SIGINT;
    eventfd_t n;

    atomic_compare_exchange_strong(&caught, &interrupt, 0);
    eventfd_read(caught_fd, &n);
    pawl_client_resume(cli->client);
    if (caught != 0) {
        eventfd_write(caught_fd, 1);
        pawl_client_interrupt(cli->client);
    }
}

void cli_finish_quietly(struct cli *cli)
{
    interruptible = NULL;
    pawl_client_resume(cli->client);
}

void cli_wait(int fd)
{
    struct pollfd fds[] = {{.fd = caught_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};

    while (caught == 0 && poll(fds, 2, -1) < 0 && errno == EINTR) {
    }
}

/* ---- the connection ---- */

void cli_set_environment(const struct cli *cli)
{
    static const char *const names[N_CLI_SECURITY] = CLI_SECURITY_ENVIRONMENT;

    setenv("PAWL_SERVER", cli->servers, 1);
    for (int i = 0; i < N_CLI_SECURITY; i++) {
        if (cli->security[i] != NULL) {
            setenv(names[i], cli->security[i], 1);
        } else {
            unsetenv(names[i]); /* such as a key of a certificate that is not used */
        }
    }
}

void cli_client_options(const struct cli *cli, struct pawl_client_options *out,
                        struct pawl_tls_options *tls)
{
    *tls = (struct pawl_tls_options){.size = sizeof(*tls),
                                     .ca_file = cli->security[CLI_TLS_CA],
                                     .certificate_file = cli->security[CLI_TLS_CERTIFICATE],
                                     .key_file = cli->security[CLI_TLS_KEY],
                                     .server_name = cli->security[CLI_TLS_NAME]};
    pawl_client_options_init(out);
    out->servers = cli->servers;
    out->session_timeout_ms = cli->session_timeout_ms;
    out->timeout_ms = cli->connect_timeout_ms;
    out->flags = cli->read_only ? PAWL_CLIENT_READ_ONLY : 0;
    out->auths = cli->auths;
    out->n_auths = cli->n_auths;
    out->tls = cli_is_secure(cli) ? tls : NULL;
    out->sasl = cli->sasl.login_file != NULL || cli->sasl.jaas_file != NULL ? &cli->sasl : NULL;
}

int cli_connect(struct cli *cli)
{
    struct pawl_client_options options;
    struct pawl_tls_options tls;

    cli_client_options(cli, &options, &tls);
    if (pawl_client_open(&options, &cli->client) != PAWL_OK) {
        cli_error(cli, "%s", pawl_open_error());
        return EXIT_USAGE;
    }
    interruptible = cli->client;
    if (caught != 0) {
        pawl_client_interrupt(cli->client);
    }
    if (pawl_client_wait_connected(cli->client, cli->connect_timeout_ms) != PAWL_OK) {
        return cli_report_unreachable(cli, cli->client);
    }
    return EXIT_OK;
}

void cli_disconnect(struct cli *cli)
{
    interruptible = NULL;
    pawl_client_close(cli->client);
    cli->client = NULL;
}

int cli_change_server(struct cli *cli, const char *servers)
{
    cli_disconnect(cli);
    cli->servers = servers;
    return cli_connect(cli);
}
