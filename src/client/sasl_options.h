/* SPDX-License-Identifier: Apache-2.0 */
/* sasl_options.h - what the application says of SASL, and the steps of exchanges that the core
 * wishes for. */
#ifndef PAWL_CLIENT_SASL_OPTIONS_H
#define PAWL_CLIENT_SASL_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct engine;
struct pawl_sasl_options;

/* Reads the files. 0; otherwise BAD_ARGUMENTS, NO_MEMORY, or SYSTEM when SASL itself cannot be
 * loaded, and `why` tells. */
int sasl_options_take(const struct pawl_sasl_options *options, struct engine *e, char *why,
                      size_t size);

/* The next step of the link's exchange, with the server's token; the core is told. */
void sasl_options_step(struct engine *e, int64_t now_ms);

#endif
