/* SPDX-License-Identifier: Apache-2.0 */
/* tls_options.h - what the application says of TLS, into what links are made with. */
#ifndef PAWL_CLIENT_TLS_OPTIONS_H
#define PAWL_CLIENT_TLS_OPTIONS_H

#include <stddef.h>

struct engine;
struct pawl_tls_options;

/* Reads the files; `options` NULL: all of it at zero. 0; otherwise BAD_ARGUMENTS, NO_MEMORY, or
 * SYSTEM when TLS itself cannot be loaded, and `why` tells. */
int tls_options_take(const struct pawl_tls_options *options, struct engine *e, char *why,
                     size_t size);

#endif
