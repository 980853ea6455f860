/* SPDX-License-Identifier: Apache-2.0 */
#include "client/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "pawl/error.h"
#include "wire/path.h"

static char *copy(const char *s, size_t len)
{
    char *out = malloc(len + 1);

    if (out != NULL) {
        memcpy(out, s, len);
        out[len] = '\0';
    }
    return out;
}

/* Digits only, 1 to 65535; -1 otherwise. */
static int parse_port(const char *s, size_t len)
{
    long port = 0;

    if (len == 0 || len > 5) {
        return -1;
    }
    for (size_t i = 0; i < len; i++) {
        if (s[i] < '0' || s[i] > '9') {
            return -1;
        }
        port = port * 10 + (s[i] - '0');
    }
    return port >= 1 && port <= 65535 ? (int)port : -1;
}

static int add(struct hosts *h, const char *name, size_t len, int port)
{
    struct host_entry *items;

    if (len == 0 || port < 0) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    items = realloc(h->items, (h->n + 1) * sizeof(*items));
    if (items == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    h->items = items;
    items[h->n] = (struct host_entry){.name = copy(name, len), .port = port};
    if (items[h->n].name == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    h->n++;
    return 0;
}

static bool is_v6_text(const char *s, size_t len)
{
    size_t zone = 0;

    while (zone < len && s[zone] != '%') {
        zone++;
    }
    for (size_t i = 0; i < zone; i++) {
        if (strchr("0123456789abcdefABCDEF:.", s[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool has_space(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)s[i] <= ' ') {
            return true;
        }
    }
    return false;
}

/* "host", "host:port", "[v6]", "[v6]:port"; a bare IPv6 address has more than one colon. */
static int add_text(struct hosts *h, const char *s, size_t len)
{
    const char *colon;

    while (len > 0 && *s == ' ') {
        s++;
        len--;
    }
    while (len > 0 && s[len - 1] == ' ') {
        len--;
    }
    if (has_space(s, len)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (len > 0 && *s == '[') {
        const char *end = memchr(s, ']', len);

        if (end == NULL) {
            return PAWL_ERR_BAD_ARGUMENTS;
        }
        if (end == s + len - 1) {
            return add(h, s + 1, (size_t)(end - s) - 1, HOSTS_DEFAULT_PORT);
        }
        if (end[1] != ':') {
            return PAWL_ERR_BAD_ARGUMENTS;
        }
        return add(h, s + 1, (size_t)(end - s) - 1,
                   parse_port(end + 2, (size_t)(s + len - end) - 2));
    }
    colon = memchr(s, ':', len);
    if (colon == NULL) {
        return add(h, s, len, HOSTS_DEFAULT_PORT);
    }
    if (memchr(colon + 1, ':', (size_t)(s + len - colon) - 1) != NULL) {
        return add(h, s, is_v6_text(s, len) ? len : 0, HOSTS_DEFAULT_PORT);
    }
    return add(h, s, (size_t)(colon - s), parse_port(colon + 1, (size_t)(s + len - colon) - 1));
}

static int add_list(struct hosts *h, const char *s, size_t len)
{
    const char *end = s + len, *comma;
    int rc = 0;

    while (rc == 0) {
        comma = memchr(s, ',', (size_t)(end - s));
        rc = add_text(h, s, (size_t)((comma == NULL ? end : comma) - s));
        if (comma == NULL) {
            break;
        }
        s = comma + 1;
    }
    return rc;
}

static void shuffle(struct hosts *h, struct prng *random)
{
    for (size_t i = h->n; i > 1; i--) {
        size_t j = (size_t)prng_below(random, i);
        struct host_entry t = h->items[i - 1];

        h->items[i - 1] = h->items[j];
        h->items[j] = t;
    }
}

static int parse(const char *servers, struct hosts *h, char **chroot)
{
    const char *slash;
    int rc;

    if (strncmp(servers, "unix:", 5) == 0) {
        rc = add(h, servers + 5, strlen(servers + 5), 0);
        slash = "";
    } else {
        slash = strchr(servers, '/');
        slash = slash == NULL ? servers + strlen(servers) : slash;
        rc = add_list(h, servers, (size_t)(slash - servers));
    }
    if (rc != 0) {
        return rc;
    }
    if (strcmp(slash, "/") == 0) {
        slash = "";
    }
    if (*slash != '\0' && !path_is_valid(bytes_str(slash))) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    *chroot = copy(slash, strlen(slash));
    return *chroot == NULL ? PAWL_ERR_NO_MEMORY : 0;
}

int hosts_parse(const char *servers, struct prng *random, struct hosts *out, char **chroot)
{
    struct hosts h = {.last = SIZE_MAX};
    int rc = parse(servers, &h, chroot);

    if (rc != 0) {
        hosts_fini(&h);
        return rc;
    }
    shuffle(&h, random);
    *out = h;
    return 0;
}

/* ---- what is wrong ---- */

/* Of one entry; NULL: nothing. */
static const char *explain_entry(const char *s, size_t len)
{
    const char *end = memchr(s, ']', len), *colon = memchr(s, ':', len);

    if (len == 0) {
        return "an empty entry";
    }
    if (has_space(s, len)) {
        return "a blank inside a name";
    }
    if (*s == '[' && end == NULL) {
        return "no ] behind the address";
    }
    if (*s == '[' && end != s + len - 1 && end[1] != ':') {
        return "something else than :PORT behind ]";
    }
    if (end == s + 1 || (*s != '[' && colon == s)) {
        return "no name";
    }
    if (*s != '[' && colon != NULL &&
        memchr(colon + 1, ':', (size_t)(s + len - colon) - 1) != NULL) {
        return "two colons, but no IPv6 address";
    }
    return "the port is not a number from 1 to 65535";
}

static void explain_list(const char *s, size_t len, char *out, size_t size)
{
    struct hosts one = {.last = SIZE_MAX};
    const char *end = s + len, *comma;
    size_t n;
    int rc;

    while (true) {
        comma = memchr(s, ',', (size_t)(end - s));
        n = (size_t)((comma == NULL ? end : comma) - s);
        rc = add_text(&one, s, n);
        if (rc != 0 || comma == NULL) {
            break;
        }
        s = comma + 1;
    }
    hosts_fini(&one);
    if (rc != 0) {
        for (; n > 0 && *s == ' '; n--) {
            s++;
        }
        for (; n > 0 && s[n - 1] == ' '; n--) {
        }
        snprintf(out, size, "\"%.*s\": %s", (int)n, s, explain_entry(s, n));
    }
}

void hosts_explain(const char *servers, char *out, size_t size)
{
    const char *slash = strchr(servers, '/');

    out[0] = '\0';
    if (strncmp(servers, "unix:", 5) == 0) {
        snprintf(out, size, "\"%s\": no path of a socket", servers);
        return;
    }
    explain_list(servers, slash == NULL ? strlen(servers) : (size_t)(slash - servers), out, size);
    if (out[0] == '\0' && slash != NULL) {
        snprintf(out, size, "\"%s\": not a valid path for a chroot", slash);
    }
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
