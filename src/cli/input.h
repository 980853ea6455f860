/* SPDX-License-Identifier: Apache-2.0 */
/* input.h - what comes from a file or from standard input; data for a node. */
#ifndef PAWL_CLI_INPUT_H
#define PAWL_CLI_INPUT_H

#include "base/strbuf.h"
#include "cli/cli.h"

/* A node cannot be larger by default; what is, the server refuses. */
enum { INPUT_LIMIT_BYTES = 64 << 20 };

/* All of a file; "-" is standard input. EXIT_OK, or the failure was reported. A signal ends it. */
int input_read(struct cli *cli, const char *file, struct strbuf *out);

/* `word` as it is; "-": what comes from standard input, which is read into `input`; NULL: no data.
 * EXIT_OK, or the failure was reported. */
int input_data(struct cli *cli, const char *word, struct strbuf *input, struct pawl_bytes *out);

#endif
