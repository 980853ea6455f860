/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - allocation for the server side, which stops when memory runs out.
 *
 * A replica that skipped a transaction is worse than one that restarts. The client library does
 * not use these: it returns PAWL_ERR_NO_MEMORY. */
#ifndef PAWL_BASE_MEMORY_H
#define PAWL_BASE_MEMORY_H

#include <stddef.h>

#include "base/bytes.h"

void *must_alloc(size_t size);
void *must_zalloc(size_t size);
void *must_realloc(void *p, size_t size);
char *must_strdup(const char *s);

/* The bytes with a NUL behind them; the caller's to free. */
char *must_copy_string(struct bytes b);

#endif
