/* SPDX-License-Identifier: Apache-2.0 */
/* server_config.h - the configuration of a server of this machine, as that server reads it. */
#ifndef PAWL_CLI_FILES_SERVER_CONFIG_H
#define PAWL_CLI_FILES_SERVER_CONFIG_H

#include "cli/args.h"
#include "daemon/config.h"
#include "wire/server_list.h"

struct server_config {
    const char *file;
    struct config config;
    struct config_lines errors;
};

/* 0, or there are errors; server_config_fini() in either case. */
int server_config_read(struct server_config *c, const char *file);
void server_config_fini(struct server_config *c);

/* Where its clients connect. False: nowhere that can be told. `out->name` is the configuration's.
 */
bool server_config_place(const struct server_config *c, struct server_place *out);

/* The process that the file of it names, if it lives and is a server; 0: none; -1: that cannot be
 * told, with errno. */
int server_process(const struct server_config *c);
void server_process_file(const struct server_config *c, struct strbuf *out);

#endif
