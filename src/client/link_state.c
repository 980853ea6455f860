/* SPDX-License-Identifier: Apache-2.0 */
/* link_state.c - the states of the socket; the same for every machine. */
#include "base/assert.h"
#include "client/link.h"

static const uint8_t socket_may_follow[] = {
    [SOCKET_NONE] = 1 << SOCKET_LOOKUP | 1 << SOCKET_DIALING,
    [SOCKET_LOOKUP] = 1 << SOCKET_NONE,
    [SOCKET_DIALING] = 1 << SOCKET_NONE | 1 << SOCKET_SHAKING | 1 << SOCKET_WRITABLE,
    [SOCKET_SHAKING] = 1 << SOCKET_NONE | 1 << SOCKET_WRITABLE,
    [SOCKET_WRITABLE] = 1 << SOCKET_NONE | 1 << SOCKET_FULL,
    [SOCKET_FULL] = 1 << SOCKET_NONE | 1 << SOCKET_WRITABLE,
};

bool link_stands(const struct link *l)
{
    return l->state == SOCKET_WRITABLE || l->state == SOCKET_FULL;
}

bool link_is_dialing(const struct link *l)
{
    return l->state == SOCKET_DIALING || l->state == SOCKET_SHAKING;
}

static void link_check(const struct link *l)
{
    ASSERT((l->fd >= 0) == (link_is_dialing(l) || link_stands(l)));
    ASSERT(l->tls == NULL || l->state == SOCKET_SHAKING || link_stands(l));
    ASSERT((l->lookup != NULL) == (l->state == SOCKET_LOOKUP));
    ASSERT(l->next_address <= l->n_addresses && l->n_addresses <= LINK_MAX_ADDRESSES);
}

void link_move(struct link *l, enum socket_state next)
{
    ASSERT((socket_may_follow[l->state] & 1 << next) != 0);
    l->state = next;
    link_check(l);
}

void link_set_fd(struct link *l, int fd)
{
    l->fd = fd;
    l->number++;
    link_move(l, fd < 0 ? SOCKET_NONE : SOCKET_DIALING);
}
