/* SPDX-License-Identifier: Apache-2.0 */
/* persistent_touch.c - the child `touch` of a node of PAWL_MODE_TTL, written so that the node
 * lives. */
#include <string.h>

#include "client/beacon.h"
#include "recipes/node/persistent_node.h"

void persistent_touch_later(struct pawl_persistent_node *n)
{
    if (!n->r.freed && !n->closed) {
        timer_set(n->r.e, &n->touch_timer, machine_now_ms() + (n->o.ttl_ms + 1) / 2);
    }
}

static void touch_made(const struct pawl_reply *reply, void *node)
{
    struct pawl_persistent_node *n = node;

    (void)reply; /* at the next tick, then */
    n->touching = false;
    persistent_touch_later(n);
    recipe_unref(&n->r);
}

static void touched(const struct pawl_reply *reply, void *node)
{
    struct pawl_persistent_node *n = node;
    char text[IDENTITY_BYTES];
    int rc = -1;

    if (reply->err == PAWL_ERR_NO_NODE && n->there && !n->r.freed) {
        identity_text(text, sizeof(text));
        rc = pawl_create_async(n->r.client,
                               PAWL_CREATE(.path = n->touch, .data = {text, strlen(text)},
                                           .mode = PAWL_MODE_TTL, .ttl_ms = n->o.ttl_ms,
                                           .acls = n->o.acls, .flags = PAWL_OP_OR_SET),
                               touch_made, n);
    }
    if (rc != 0) {
        n->touching = false;
        persistent_touch_later(n);
        recipe_unref(&n->r);
    }
}

void persistent_touch(void *node)
{
    struct pawl_persistent_node *n = node;
    char text[IDENTITY_BYTES];

    identity_text(text, sizeof(text));
    if (n->there && !n->touching &&
        pawl_set_async(
            n->r.client,
            PAWL_SET(.path = n->touch, .data = {text, strlen(text)}, .flags = PAWL_OP_IDEMPOTENT),
            touched, n) == 0) {
        n->touching = true;
        recipe_ref(&n->r);
    } else {
        persistent_touch_later(n);
    }
}
