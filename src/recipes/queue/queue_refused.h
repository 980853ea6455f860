/* SPDX-License-Identifier: Apache-2.0 */
/* queue_refused.h - items that this handle's consumer has refused: how often, and until when they
 * are left alone.
 *
 * An item that is put again has a new name; its count goes along. The pause doubles each time. Of
 * many the oldest are forgotten, and begin anew. */
#ifndef PAWL_RECIPES_QUEUE_QUEUE_REFUSED_H
#define PAWL_RECIPES_QUEUE_QUEUE_REFUSED_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

enum { REFUSED_FIRST_PAUSE_MS = 100, REFUSED_LONGEST_PAUSE_MS = 10000, MOST_REFUSED = 1024 };

struct refused {
    struct list items; /* the oldest first */
    size_t n;
};

void refused_init(struct refused *r);
void refused_fini(struct refused *r);

/* Refused once more, and put again under another name. Without memory it counts as new. */
void refused_put_again(struct refused *r, const char *name, const char *new_name, int64_t now_ms);

/* It is done. */
void refused_forget(struct refused *r, const char *name);

int refused_times(const struct refused *r, const char *name);
int64_t refused_until_ms(const struct refused *r, const char *name); /* 0: it never was */

#endif
