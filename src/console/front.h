/* SPDX-License-Identifier: Apache-2.0 */
/* front.h - the console behind libmicrohttpd, for whoever has a daemon of it.
 *
 *   headers        front_begin()
 *   body           front_take()        so much of it as is allowed
 *   end of it      front_answer()      a file at once; else the connection is suspended, one of a
 * few threads asks the servers, and resumes it resumed        front_answer()      the answer leaves
 *   completed      front_end()
 *
 * Who waits for servers never holds up the thread that has the sockets. */
#ifndef PAWL_CONSOLE_FRONT_H
#define PAWL_CONSOLE_FRONT_H

#include "console/console.h"
#include "http/mhd.h"

struct front;
struct front_exchange;

/* `wake` is called by any thread when the daemon is to be run: somebody was resumed. NULL: no
 * threads. */
struct front *front_new(const struct console_options *options, void (*wake)(void *arg), void *arg);

/* Nobody is answered any more, and whoever waits is resumed with a refusal. Before the daemon is
 * stopped; front_free() after it. */
void front_stop(struct front *f);
void front_free(struct front *f);

struct front_exchange *front_begin(struct front *f, struct MHD_Connection *connection,
                                   const char *url, const char *method);
void front_take(struct front_exchange *x, const char *data, size_t len);
enum MHD_Result front_answer(struct front_exchange *x);
void front_end(struct front_exchange *x);

#endif
