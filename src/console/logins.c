/* SPDX-License-Identifier: Apache-2.0 */
#include "console/logins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool login_token_equals(const char *token, const char *other)
{
    size_t len = strlen(token);
    unsigned char differs = 0;

    if (strlen(other) != len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        differs |= (unsigned char)(token[i] ^ other[i]);
    }
    return differs == 0;
}

static struct login **slot_of(struct logins *l, const char *token)
{
    for (int i = 0; i < LOGINS_MAX; i++) {
        if (l->items[i] != NULL && login_token_equals(l->items[i]->token, token)) {
            return &l->items[i];
        }
    }
    return NULL;
}

static bool is_idle(const struct login *one, int64_t now_ms)
{
    return now_ms - one->used_ms >= LOGIN_IDLE_MS;
}

struct login *logins_find(struct logins *l, const char *token, int64_t now_ms)
{
    struct login **slot = slot_of(l, token);

    if (slot == NULL || is_idle(*slot, now_ms)) {
        return NULL;
    }
    (*slot)->used_ms = now_ms;
    (*slot)->n_users++;
    return *slot;
}

struct login *logins_add(struct logins *l, struct login *new_one)
{
    struct login *gone;
    int oldest = 0;

    for (int i = 0; i < LOGINS_MAX && l->items[oldest] != NULL; i++) {
        if (l->items[i] == NULL || l->items[i]->used_ms < l->items[oldest]->used_ms) {
            oldest = i;
        }
    }
    gone = l->items[oldest];
    l->items[oldest] = new_one;
    new_one->n_users = 1;
    return gone;
}

static struct login *take(struct login **slot)
{
    struct login *one = *slot;

    *slot = NULL;
    return one;
}

struct login *logins_take(struct logins *l, const char *token)
{
    struct login **slot = slot_of(l, token);

    return slot == NULL ? NULL : take(slot);
}

struct login *logins_take_idle(struct logins *l, int64_t now_ms)
{
    for (int i = 0; i < LOGINS_MAX; i++) {
        if (l->items[i] != NULL && is_idle(l->items[i], now_ms)) {
            return take(&l->items[i]);
        }
    }
    return NULL;
}

bool login_unref(struct login *one)
{
    return one != NULL && --one->n_users == 0;
}

void login_free(struct login *one, int timeout_ms)
{
    pawl_client_close_within(one->client, timeout_ms);
    explicit_bzero(one, sizeof(*one));
    free(one);
}

/* ---- tries ---- */

static void forget_try(struct logins *l, int i)
{
    l->tries[i] = l->tries[--l->n_tries];
}

bool logins_may_try(struct logins *l, const char *address, int64_t now_ms)
{
    int n_here = 0;

    for (int i = l->n_tries - 1; i >= 0; i--) {
        if (now_ms - l->tries[i].at_ms >= TRY_MS) {
            forget_try(l, i);
        }
    }
    for (int i = 0; i < l->n_tries; i++) {
        n_here += strcmp(l->tries[i].address, address) == 0;
    }
    if (n_here >= TRIES_PER_ADDRESS || l->n_tries >= TRIES_OF_ALL) {
        return false;
    }
    snprintf(l->tries[l->n_tries].address, sizeof(l->tries[0].address), "%s", address);
    l->tries[l->n_tries++].at_ms = now_ms;
    return true;
}

void logins_succeeded(struct logins *l, const char *address)
{
    for (int i = l->n_tries - 1; i >= 0; i--) {
        if (strcmp(l->tries[i].address, address) == 0) {
            forget_try(l, i);
            return;
        }
    }
}
