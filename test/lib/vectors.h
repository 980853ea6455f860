/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.h - readers of the recorded bytes under test/vectors.
 *
 * Each of them stops the test program with a message when a file cannot be read: a test without
 * its vectors proves nothing. What is handed to a callback is lent until it returns. */
#ifndef PAWL_TEST_VECTORS_H
#define PAWL_TEST_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* The whole file with a NUL behind it; free() its data. */
struct bytes vectors_file(const char *path);

/* Decodes hexadecimal digits up to the first other character; the number of bytes. */
size_t vectors_hex(const char *text, uint8_t *out, size_t capacity);

/* One line of client.txt that has bytes. Variable fields are filled in: the same name always
 * gives the same bytes, and the zxid of a watch event is that of 3.9. */
struct client_line {
    const char *case_name;
    const char *connection;
    bool from_client;
    bool first; /* of its direction on this connection: the handshake */
    struct bytes bytes;
};
typedef void (*client_line_fn)(const struct client_line *line, void *arg);
void vectors_client(const char *path, client_line_fn fn, void *arg);

/* The rows of one table of client.txt, without "| ". Returns how many there were. */
typedef void (*table_row_fn)(const char *row, void *arg);
size_t vectors_table(const char *path, const char *name, table_row_fn fn, void *arg);

/* One message of a file under quorum/: what it means, in the recorder's words, and its bytes. */
struct quorum_message {
    bool from_dialler;
    const char *meaning;
    struct bytes bytes;
};
typedef void (*quorum_message_fn)(const struct quorum_message *message, void *arg);
void vectors_quorum(const char *path, quorum_message_fn fn, void *arg);

/* The payloads of a transaction log, in order, up to the padding. Returns how many. */
typedef void (*log_payload_fn)(struct bytes payload, void *arg);
size_t vectors_log(const char *path, log_payload_fn fn, void *arg);

#endif
