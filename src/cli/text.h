/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - stats, ACLs and data as people read and write them; the forms are those of zkCli.sh. */
#ifndef PAWL_CLI_TEXT_H
#define PAWL_CLI_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <pawl/types.h>

/* Eleven lines. */
void text_stat(const struct pawl_stat *stat);

/* The data as they are. On a terminal without what would confuse it, and with a newline. */
void text_data(struct pawl_bytes data);

/* How many bytes the character is long that `p` begins with; 0: it is none, or one that controls,
 * which a terminal might obey. */
size_t text_plain(const unsigned char *p, size_t len);

/* Such bytes as \x1b: nothing in the data ends a line or is obeyed by a terminal. Names are printed
 * so, too: who knows what a server says. */
void text_escaped(struct pawl_bytes data);

/* The same for what may have several lines. */
void text_message(FILE *to, const char *message);

/* To the end of a line, which nothing in the data can end before. */
void text_line(struct pawl_bytes data);

/* "2026-11-15 02:28:42.123" in the local zone. */
void text_time(int64_t ms, char *out, size_t size);

enum { TEXT_PERMS_BYTES = 6 };

/* "cdrwa" */
void text_perms(int32_t perms, char out[TEXT_PERMS_BYTES]);

int32_t text_perms_of(const char *letters); /* 0: an unknown letter, or none */

/* "world:anyone:cdrwa,digest:user:hash:r" into a list to be freed by text_acls_free(). False: it is
 * none; `*bad` is the part that is not understood, to be freed. */
bool text_acls(const char *text, struct pawl_acls *out, char **bad);
void text_acls_free(struct pawl_acls *acls);

#endif
