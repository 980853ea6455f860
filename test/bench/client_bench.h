/* SPDX-License-Identifier: Apache-2.0 */
/* client_bench.h - what the driver of the client benchmark asks of a client library.
 *
 * One program per library: client_bench.c linked with one of client_bench_pawl.c,
 * client_bench_zookeeper.c and client_bench_bare.c. So the CPU and the memory of the process are
 * those of one library, and all run the very same loop. Whatever goes wrong ends the program. */
#ifndef PAWL_BENCH_CLIENT_BENCH_H
#define PAWL_BENCH_CLIENT_BENCH_H

#include <stdbool.h>

enum { DATA_BYTES = 100, CLIENT_TIMEOUT_MS = 30000 };

struct client;

/* "pawl", "zookeeper", "bare" */
extern const char *const client_name;

/* Opens a handle and waits for its session. `servers` as the library wants it: "127.0.0.1:2181".
 */
struct client *client_open(const char *servers);
void client_close(struct client *c);

/* Blocking. A node that is there already is fine for create; get checks the length of the data. */
void client_create(struct client *c, const char *path);
void client_get(struct client *c, const char *path);
void client_set(struct client *c, const char *path);

/* Asynchronous: `answered` is called once, on whichever thread the library likes. */
typedef void (*answered_fn)(void *arg);
void client_get_async(struct client *c, const char *path, answered_fn answered, void *arg);
void client_set_async(struct client *c, const char *path, answered_fn answered, void *arg);

/* Does what there is to be done for asynchronous calls. False: the library has threads for it. */
bool client_turn(struct client *c);

/* The bytes of every node. */
extern const char client_data[DATA_BYTES];

#endif
