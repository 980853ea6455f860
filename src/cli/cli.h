/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - what the commands of `pawl` share: where the server is, how a failure ends, how a command
 * is declared.
 *
 * A command is one `struct command`: its names, its options and a function. main.c finds it, parses
 * the options, and returns what the function returns as the exit status. */
#ifndef PAWL_CLI_CLI_H
#define PAWL_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <pawl/client.h>

/* Exit statuses, the same in every command. Those of our own lie where those of a command that we
 * run for somebody are rarely found; 126 and up are as in the shell. */
enum cli_exit {
    EXIT_OK = 0,
    EXIT_NO = 1,            /* the answer is no: it does not exist */
    EXIT_USAGE = 2,         /* the command line is wrong; nothing was done */
    EXIT_NO_NODE = 110,     /* no such node */
    EXIT_CONFLICT = 111,    /* it exists, has children, or has another version */
    EXIT_REFUSED = 112,     /* no permission, or the server does not do that */
    EXIT_UNREACHABLE = 113, /* no server answers */
    EXIT_TIMEOUT = 114,     /* not acquired, or not answered, in time */
    EXIT_LOST = 115,        /* what was held was lost, and the command was ended */
    EXIT_UNKNOWN = 116,     /* a write was sent and not answered: it may have happened */
    EXIT_SYSTEM = 117,      /* this machine: memory, processes, files */
    EXIT_DAMAGED = 118,     /* a file of a server is damaged */
    EXIT_CANNOT_RUN = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_SIGNAL = 128 /* and the number of the signal */
};

enum cli_security {
    CLI_TLS_CA,
    CLI_TLS_CERTIFICATE,
    CLI_TLS_KEY,
    CLI_TLS_NAME,
    CLI_SASL_LOGIN,
    CLI_SASL_JAAS,
    N_CLI_SECURITY
};

struct cli {
    const char *servers;
    char *servers_read;     /* from a file, or NULL */
    int connect_timeout_ms; /* until there is a session, and for every answer */
    int session_timeout_ms;
    bool read_only;
    bool json;
    const char *security[N_CLI_SECURITY]; /* files and a name for zks://, files for SASL; NULL: not
                                           * given */
    char *security_read[N_CLI_SECURITY];  /* those that are from a file of settings */
    struct pawl_sasl_options sasl;
    struct pawl_auth *auths;
    size_t n_auths;
    const struct command *command; /* the one that runs, for messages */
    int line;                      /* of its input, for messages; 0: none */
    struct pawl_client *client;    /* after cli_connect() */
    struct shell *shell;           /* that the command was typed in; NULL: none */
    bool in_colour;                /* errors, prompts and events */
    FILE *errors;                  /* where they go while there is a screen; NULL: stderr */
};

struct args;
struct shell;

struct option_spec {
    char letter; /* 0 ends the table */
    const char *name;
    const char *value; /* "DURATION"; NULL: it takes none */
    const char *help;
};

struct command {
    const char *name;     /* "get", or two words: "acl get" */
    const char *also;     /* the name it has in zkCli.sh, or NULL */
    char also_means;      /* that name has this option given; 0: none */
    const char *synopsis; /* what follows the name */
    const char *summary;
    const struct option_spec *options;
    int min_words, max_words; /* -1: any number */
    bool runs_command;        /* -- COMMAND... follows */
    bool opens_itself;        /* without cli_connect() before it */
    bool is_apart;            /* in a shell: a process of its own, as whatever opens itself is */
    bool is_of_shell;         /* in a shell: opens itself, and yet is none */
    /* Before anything is opened; NULL: run() sees to it. False: it is not, which was reported. */
    bool (*is_good)(struct cli *cli, const struct args *args);
    int (*run)(struct cli *cli, const struct args *args);
};

/* SIGINT, SIGTERM and SIGHUP end blocking calls with CANCELLED from now on, so that the session is
 * closed and nothing stays behind. */
void cli_catch_signals(void);

/* The signal that came; 0: none. */
int cli_signal(void);

/* Readable when a signal has come; after cli_catch_signals(). */
int cli_signal_fd(void);

/* For a shell, which outlives its commands: SIGINT is as if it had not come, and blocking calls
 * work again. Other signals stay. */
void cli_forget_interrupt(struct cli *cli);

/* From now on a signal is only noted, and blocking calls work again if one has come: for what must
 * not be left undone. */
void cli_finish_quietly(struct cli *cli);

/* Waits until `fd` is readable or a signal has come; -1: only for a signal. */
void cli_wait(int fd);

/* Opens the client and waits for a session. EXIT_OK, or the failure is reported. */
int cli_connect(struct cli *cli);

/* From here on we talk to other servers. EXIT_OK, or the failure is reported. */
int cli_change_server(struct cli *cli, const char *servers);

/* Ends the session. No callback runs any more. */
void cli_disconnect(struct cli *cli);

/* The options of the client that the command line asks for; for those who open it themselves. They
 * point into `tls` and `cli`. */
void cli_client_options(const struct cli *cli, struct pawl_client_options *out,
                        struct pawl_tls_options *tls);

/* zks://... */
bool cli_is_secure(const struct cli *cli);

/* What a command that we run finds in its environment, so that `pawl` in it talks to the same
 * servers. */
void cli_set_environment(const struct cli *cli);

/* Reports why there is no session. Returns EXIT_UNREACHABLE. */
int cli_report_unreachable(const struct cli *cli, const struct pawl_client *client);

/* Reports `reply` (NULL: no memory) as a failure at `path`, with what to do about it; returns the
 * exit status for it. EXIT_OK when it is none. What only reads cannot have happened or not. */
int cli_check(const struct cli *cli, const char *path, const struct pawl_reply *reply);
int cli_check_read(const struct cli *cli, const char *path, const struct pawl_reply *reply);
int cli_report(const struct cli *cli, const char *path, int err);

/* Names of nodes and the like: a list in JSON, or a line for each, escaped. */
void cli_print_names(const struct cli *cli, const struct pawl_strings *names);

/* As cli_check(), for a change that has no reply. */
int cli_report_change(const struct cli *cli, const char *path, int err, enum pawl_outcome outcome);

/* "pawl lock: what happened", and a newline. */
void cli_error(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "500ms", "10s", "2m", "1h", "1d"; 0 needs no unit. False: it is none of these, or too long. */
bool duration_parse(const char *text, int *out_ms);

/* "SCHEME:ID:PERMS,..." into a list for text_acls_free(); NULL: none. False: it is none, which was
 * reported. */
bool cli_acls(const struct cli *cli, const char *text, struct pawl_acls *out);

/* What stands behind the servers: "/app"; "": nothing. */
const char *cli_chroot(const struct cli *cli);

/* The nearest of `names` to a mistyped `word`, or NULL. */
const char *nearest_name(const char *word, const char *const *names, size_t n);

#endif
