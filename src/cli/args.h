/* SPDX-License-Identifier: Apache-2.0 */
/* args.h - the words of a command line, against the options of a command.
 *
 * Options may stand before, between and behind the other words, with one dash or two before a long
 * name: zkCli.sh has `-server`. `--` ends them. */
#ifndef PAWL_CLI_ARGS_H
#define PAWL_CLI_ARGS_H

#include "cli/cli.h"

enum { ARGS_OPTIONS_MAX = 24 };

struct args {
    const struct option_spec *specs;
    const char *values[ARGS_OPTIONS_MAX]; /* by place in the table; NULL: not given */
    const char **words;
    int n_words;
    char **command; /* behind `--`, ended by NULL; NULL: there was no `--` */
    bool wants_help;
};

/* True: parsed; args_fini() when done. False: the failure was reported. Unless `everywhere`, the
 * first word that is no option ends the parsing; `*n_used` words were used then. */
bool args_parse(struct args *a, const struct cli *cli, const struct option_spec *specs, int argc,
                char **argv, bool everywhere, int *n_used);
void args_fini(struct args *a);

bool args_has(const struct args *a, char letter);

/* NULL: not given. */
const char *args_text(const struct args *a, char letter);

/* `*out` is left alone when the option was not given. False: it is none, which was reported. */
bool args_duration(const struct args *a, const struct cli *cli, char letter, int *out_ms);
bool args_number(const struct args *a, const struct cli *cli, char letter, int64_t min, int64_t max,
                 int64_t *out);

/* The same for a word; `what` it is, for the message. */
bool number_parse(const struct cli *cli, const char *what, const char *text, int64_t min,
                  int64_t max, int64_t *out);

#endif
