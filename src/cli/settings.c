/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/properties.h"
#include "base/strbuf.h"

enum { FILE_LIMIT_BYTES = 1 << 20, CONNECT_TIMEOUT_MS = 10000, SESSION_TIMEOUT_MS = 10000 };

const struct option_spec settings_options[] = {
    {'s', "server", "SERVERS",
     "HOST:PORT,...[/CHROOT], the same behind zks:// for TLS, local:DIRECTORY or unix:SOCKET"},
    {'A', "ca", "FILE", "TLS: who may have signed the servers' certificates"},
    {'E', "cert", "FILE", "TLS: our certificate, with its chain"},
    {'K', "key", "FILE", "TLS: its key, if that is in a file of its own"},
    {'N', "server-name", "NAME", "TLS: to be found in the servers' certificates, not the host's"},
    {'U', "sasl", "FILE", "who we are by SASL: a file with the line NAME:PASSWORD"},
    {'J', "jaas", "FILE", "the same: a JAAS file with a section Client"},
    {'T', "session-timeout", "DURATION", "after so long without us the server ends our session"},
    {'C', "connect-timeout", "DURATION", "wait so long for a server, and for each answer"},
    {'a', "auth", "SCHEME:AUTH", "credentials, such as digest:user:password"},
    {'r', "read-only", NULL, "a read-only server is better than none"},
    {'j', "json", NULL, "print JSON, one value per line"},
    {'V', "version", NULL, "print the version of pawl"},
    {'t', "timeout", "MS", "the session timeout in milliseconds, as zkCli.sh has it"},
    {'W', "waitforconnection", NULL, "always so; zkCli.sh has it"},
    {0, NULL, NULL, NULL}};

static const struct {
    char letter;
    const char *key;
} security_settings[N_CLI_SECURITY] = {
    [CLI_TLS_CA] = {'A', "ca"},       [CLI_TLS_CERTIFICATE] = {'E', "cert"},
    [CLI_TLS_KEY] = {'K', "key"},     [CLI_TLS_NAME] = {'N', "server-name"},
    [CLI_SASL_LOGIN] = {'U', "sasl"}, [CLI_SASL_JAAS] = {'J', "jaas"},
};

/* Where a setting comes from, for messages. */
struct source {
    struct cli *cli;
    const char *file;
    bool has_certificate, has_sasl; /* from before it */
    int status;
};

static int bad_duration(const struct cli *cli, const char *where, const char *key, const char *text)
{
    cli_error(cli, "%s%s: '%s' is no duration such as 500ms, 10s or 2m", where, key, text);
    return EXIT_USAGE;
}

int settings_add_auth(struct cli *cli, const char *place, const char *text)
{
    char *copy = must_strdup(text);
    char *colon = strchr(copy, ':');

    if (colon == NULL || colon == copy) {
        cli_error(cli, "%s is no SCHEME:AUTH such as digest:user:password", place);
        free(copy);
        return EXIT_USAGE;
    }
    *colon = '\0';
    for (size_t i = 0; i < cli->n_auths; i++) {
        if (strcmp(cli->auths[i].scheme, copy) == 0 &&
            strcmp(cli->auths[i].auth.data, colon + 1) == 0) {
            free(copy); /* once is enough */
            return EXIT_OK;
        }
    }
    cli->auths = must_realloc(cli->auths, (cli->n_auths + 1) * sizeof(*cli->auths));
    cli->auths[cli->n_auths++] = (struct pawl_auth){.scheme = copy, .auth = pawl_str(colon + 1)};
    return EXIT_OK;
}

/* A key belongs to its certificate: it is not taken from a place behind that. And who says who we
 * are says all of it. */
static bool is_settled(int setting, bool has_certificate, bool has_sasl)
{
    return (setting == CLI_TLS_KEY && has_certificate) ||
           ((setting == CLI_SASL_LOGIN || setting == CLI_SASL_JAAS) && has_sasl);
}

static bool take_security(const struct source *s, const char *key, const char *value)
{
    struct cli *cli = s->cli;

    for (int i = 0; i < N_CLI_SECURITY; i++) {
        if (strcmp(key, security_settings[i].key) == 0) {
            if (cli->security[i] == NULL && !is_settled(i, s->has_certificate, s->has_sasl)) {
                cli->security[i] = cli->security_read[i] = must_strdup(value);
            }
            return true;
        }
    }
    return false;
}

/* From the command line, else the environment. */
static void read_security(struct cli *cli, const struct args *args)
{
    static const char *const names[N_CLI_SECURITY] = CLI_SECURITY_ENVIRONMENT;

    for (int i = 0; i < N_CLI_SECURITY; i++) {
        const char *value = getenv(names[i]);

        cli->security[i] = args_text(args, security_settings[i].letter);
        if (cli->security[i] == NULL && value != NULL && value[0] != '\0' &&
            !is_settled(i, args_has(args, 'E'), args_has(args, 'U') || args_has(args, 'J'))) {
            cli->security[i] = value;
        }
    }
}

/* One pair of a file. What is set already stays. */
static void take_pair(void *arg, int line, const char *key, const char *value)
{
    struct source *s = arg;
    char where[512];

    if (s->status != EXIT_OK) {
        return; /* one error is enough */
    }
    snprintf(where, sizeof(where), "%s:%d: ", s->file, line);
    if (strcmp(key, "server") == 0) {
        if (s->cli->servers == NULL) {
            s->cli->servers = s->cli->servers_read = must_strdup(value);
        }
    } else if (strcmp(key, "session-timeout") == 0 || strcmp(key, "connect-timeout") == 0) {
        int *out = key[0] == 's' ? &s->cli->session_timeout_ms : &s->cli->connect_timeout_ms;
        int ms;

        if (!duration_parse(value, &ms)) {
            s->status = bad_duration(s->cli, where, key, value);
        } else if (*out < 0) {
            *out = ms;
        }
    } else if (strcmp(key, "auth") == 0) {
        strncat(where, key, sizeof(where) - strlen(where) - 1);
        s->status = settings_add_auth(s->cli, where, value);
    } else if (!take_security(s, key, value)) {
        cli_error(s->cli, "%sthere is no setting '%s'", where, key);
        s->status = EXIT_USAGE;
    }
}

static int read_file(struct cli *cli, const char *path)
{
    struct source source = {.cli = cli,
                            .file = path,
                            .has_certificate = cli->security[CLI_TLS_CERTIFICATE] != NULL,
                            .has_sasl = cli->security[CLI_SASL_LOGIN] != NULL ||
                                        cli->security[CLI_SASL_JAAS] != NULL};
    struct properties_error error;
    struct strbuf text;
    char part[4096];
    bool is_unreadable;
    size_t n;
    FILE *file = fopen(path, "re");

    if (file == NULL && access(path, F_OK) != 0) {
        return EXIT_OK; /* most people have none */
    }
    if (file == NULL) {
        cli_error(cli, "%s: %s", path, strerror(errno));
        return EXIT_SYSTEM;
    }
    strbuf_init(&text, FILE_LIMIT_BYTES);
    while ((n = fread(part, 1, sizeof(part), file)) > 0) {
        strbuf_append(&text, part, n);
    }
    is_unreadable = ferror(file) != 0 || text.failed;
    fclose(file);
    if (is_unreadable) {
        cli_error(cli, "%s is no file of settings, or larger than %d bytes", path,
                  FILE_LIMIT_BYTES);
        source.status = EXIT_SYSTEM;
    } else if (properties_parse(strbuf_bytes(&text), take_pair, &source, &error) != PAWL_OK) {
        cli_error(cli, "%s:%d: %s", path, error.line, error.what);
        source.status = EXIT_USAGE;
    }
    strbuf_fini(&text);
    return source.status;
}

static int read_files(struct cli *cli)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char path[4096];
    int status = EXIT_OK;

    if (config != NULL && config[0] != '\0') {
        snprintf(path, sizeof(path), "%s/pawl/pawl.conf", config);
        status = read_file(cli, path);
    } else if (home != NULL) {
        snprintf(path, sizeof(path), "%s/.config/pawl/pawl.conf", home);
        status = read_file(cli, path);
    }
    return status != EXIT_OK ? status : read_file(cli, "/etc/pawl/pawl.conf");
}

static int read_auths(struct cli *cli, const char *variable)
{
    const char *text = getenv(variable);
    char *copy = must_strdup(text != NULL ? text : ""), *rest = NULL;
    int status = EXIT_OK;

    for (char *auth = strtok_r(copy, "\n", &rest); auth != NULL && status == EXIT_OK;
         auth = strtok_r(NULL, "\n", &rest)) {
        status = settings_add_auth(cli, variable, auth);
    }
    free(copy);
    return status;
}

static bool session_timeout_of(const struct args *args, struct cli *cli)
{
    int64_t ms = -1;

    if (!args_number(args, cli, 't', 0, INT32_MAX, &ms)) {
        return false;
    }
    cli->session_timeout_ms = (int)ms;
    return args_duration(args, cli, 'T', &cli->session_timeout_ms);
}

int settings_read(struct cli *cli, const struct args *args)
{
    const char *from_environment = getenv("PAWL_SERVER");
    int status;

    cli->session_timeout_ms = cli->connect_timeout_ms = -1;
    if (!session_timeout_of(args, cli) ||
        !args_duration(args, cli, 'C', &cli->connect_timeout_ms)) {
        return EXIT_USAGE;
    }
    cli->servers = args_text(args, 's');
    if (cli->servers == NULL && from_environment != NULL && from_environment[0] != '\0') {
        cli->servers = from_environment;
    }
    read_security(cli, args);
    cli->json = args_has(args, 'j');
    cli->read_only = args_has(args, 'r');
    status = args_has(args, 'a') ? settings_add_auth(cli, "--auth", args_text(args, 'a')) : EXIT_OK;
    if (status == EXIT_OK) {
        status = read_auths(cli, "PAWL_AUTH");
    }
    if (status == EXIT_OK) {
        status = read_auths(cli, SETTINGS_SHELL_AUTH);
    }
    unsetenv(SETTINGS_SHELL_AUTH);
    if (status == EXIT_OK) {
        status = read_files(cli);
    }
    if (cli->servers == NULL) {
        cli->servers = "localhost:2181";
    }
    cli->sasl = (struct pawl_sasl_options){.size = sizeof(cli->sasl),
                                           .login_file = cli->security[CLI_SASL_LOGIN],
                                           .jaas_file = cli->security[CLI_SASL_JAAS]};
    if (cli->session_timeout_ms < 0) {
        cli->session_timeout_ms = SESSION_TIMEOUT_MS;
    }
    if (cli->connect_timeout_ms < 0) {
        cli->connect_timeout_ms = CONNECT_TIMEOUT_MS;
    }
    return status;
}

void settings_free(struct cli *cli)
{
    for (size_t i = 0; i < cli->n_auths; i++) {
        free((void *)(uintptr_t)cli->auths[i].scheme); /* and the credentials behind it */
    }
    free(cli->auths);
    free(cli->servers_read);
    for (int i = 0; i < N_CLI_SECURITY; i++) {
        free(cli->security_read[i]);
    }
}
