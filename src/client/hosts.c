/* SPDX-License-Identifier: Apache-2.0 */
#include "client/hosts.h"

#include <stdlib.h>
#include <string.h>

#include "pawl/error.h"
#include "wire/server_list.h"

static void shuffle(struct hosts *h, struct prng *random)
{
    for (size_t i = h->n; i > 1; i--) {
        size_t j = (size_t)prng_below(random, i);
        struct host_entry t = h->items[i - 1];

        h->items[i - 1] = h->items[j];
        h->items[j] = t;
    }
}

int hosts_parse(const char *servers, bool secure, struct prng *random, struct hosts *out,
                char **chroot)
{
    struct hosts h = {.last = SIZE_MAX};
    struct server_list list;
    int rc = server_list_parse_for(servers, secure, &list);

    if (rc != 0) {
        return rc;
    }
    h.items = calloc(list.n, sizeof(*h.items));
    if (h.items == NULL) {
        server_list_fini(&list);
        return PAWL_ERR_NO_MEMORY;
    }
    for (h.n = 0; h.n < list.n; h.n++) {
        h.items[h.n] =
            (struct host_entry){.name = list.items[h.n].name, .port = list.items[h.n].port};
        list.items[h.n].name = NULL;
    }
    h.is_secure = list.is_secure;
    *chroot = list.chroot;
    list.chroot = NULL;
    server_list_fini(&list);
    shuffle(&h, random);
    *out = h;
    return 0;
}

void hosts_fini(struct hosts *h)
{
    for (size_t i = 0; i < h->n; i++) {
        free(h->items[i].name);
    }
    free(h->items);
    *h = (struct hosts){.last = SIZE_MAX};
}

/* An untried one of the new or of the old servers, in list order from `next`; SIZE_MAX: none. */
static size_t pick_from(struct hosts *h, bool is_new)
{
    for (size_t k = 0; k < h->n; k++) {
        size_t i = (h->next + k) % h->n;

        if (h->items[i].is_new == is_new && !h->items[i].tried) {
            return i;
        }
    }
    return SIZE_MAX;
}

static size_t pick_moving(struct hosts *h, struct prng *random)
{
    bool take_new = (double)prng_below(random, 1 << 30) < h->p_new * (1 << 30);
    size_t i = pick_from(h, take_new);

    if (i == SIZE_MAX) {
        i = pick_from(h, !take_new);
    }
    if (i == SIZE_MAX) {
        h->moving = false;
        return SIZE_MAX;
    }
    h->items[i].tried = true;
    return i;
}

size_t hosts_pick(struct hosts *h, struct prng *random)
{
    size_t i = h->moving ? pick_moving(h, random) : SIZE_MAX;

    if (i == SIZE_MAX) {
        i = h->next;
        h->next = (h->next + 1) % h->n;
    }
    return i;
}

void hosts_connected(struct hosts *h, size_t index)
{
    h->last = index;
    h->next = (index + 1) % h->n;
    h->moving = false;
}

static size_t hosts_find(const struct hosts *h, const struct host_entry *e)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->items[i].port == e->port && strcmp(h->items[i].name, e->name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

bool hosts_change(struct hosts *h, struct hosts *fresh, struct prng *random)
{
    const struct host_entry *current = &h->items[h->last == SIZE_MAX ? 0 : h->last];
    size_t s = h->n, m = fresh->n, n_old = 0, at;
    bool leave;

    for (size_t i = 0; i < m; i++) {
        fresh->items[i].is_new = hosts_find(h, &fresh->items[i]) == SIZE_MAX;
        n_old += fresh->items[i].is_new ? 0 : 1;
    }
    at = hosts_find(fresh, current);
    if (m > s) {
        leave = at == SIZE_MAX ||
                (double)prng_below(random, 1 << 30) >= (double)s / (double)m * (1 << 30);
        fresh->p_new = 1;
    } else {
        leave = at == SIZE_MAX;
        fresh->p_new =
            s == n_old ? 0
                       : 1 - (double)n_old * (double)(s - m) / ((double)m * (double)(s - n_old));
    }
    fresh->moving = leave;
    fresh->last = at;
    hosts_fini(h);
    *h = *fresh;
    *fresh = (struct hosts){.last = SIZE_MAX};
    return leave;
}
