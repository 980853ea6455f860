/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - what only the machine can tell: sizes of folders, the host's name, open files. */
#ifndef PAWL_DAEMON_FACTS_H
#define PAWL_DAEMON_FACTS_H

struct host;
struct server_facts;

/* `host` is a struct host; the strings live until the next call. */
void facts_collect(void *host, struct server_facts *out);

#endif
