/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/server_list.h"

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

static int add(struct server_list *list, const char *name, size_t len, int port)
{
    struct server_place *items;

    if (len == 0 || port < 0) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    items = realloc(list->items, (list->n + 1) * sizeof(*items));
    if (items == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    list->items = items;
    items[list->n] = (struct server_place){.name = copy(name, len), .port = port};
    if (items[list->n].name == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    list->n++;
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

static int default_port(const struct server_list *list)
{
    return list->is_secure ? SERVER_DEFAULT_SECURE_PORT : SERVER_DEFAULT_PORT;
}

/* "host", "host:port", "[v6]", "[v6]:port"; a bare IPv6 address has more than one colon. */
static int add_text(struct server_list *list, const char *s, size_t len)
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
            return add(list, s + 1, (size_t)(end - s) - 1, default_port(list));
        }
        if (end[1] != ':') {
            return PAWL_ERR_BAD_ARGUMENTS;
        }
        return add(list, s + 1, (size_t)(end - s) - 1,
                   parse_port(end + 2, (size_t)(s + len - end) - 2));
    }
    colon = memchr(s, ':', len);
    if (colon == NULL) {
        return add(list, s, len, default_port(list));
    }
    if (memchr(colon + 1, ':', (size_t)(s + len - colon) - 1) != NULL) {
        return add(list, s, is_v6_text(s, len) ? len : 0, default_port(list));
    }
    return add(list, s, (size_t)(colon - s), parse_port(colon + 1, (size_t)(s + len - colon) - 1));
}

static int add_list(struct server_list *list, const char *s, size_t len)
{
    const char *end = s + len, *comma;
    int rc = 0;

    while (rc == 0) {
        comma = memchr(s, ',', (size_t)(end - s));
        rc = add_text(list, s, (size_t)((comma == NULL ? end : comma) - s));
        if (comma == NULL) {
            break;
        }
        s = comma + 1;
    }
    return rc;
}

static bool is_secure(const char *servers)
{
    return strncmp(servers, SERVER_SECURE, strlen(SERVER_SECURE)) == 0;
}

static int parse(const char *servers, bool secure, struct server_list *list)
{
    bool says_so = is_secure(servers);
    const char *slash;
    int rc;

    list->is_secure = secure || says_so;
    servers += says_so ? strlen(SERVER_SECURE) : 0;
    if (!list->is_secure && strncmp(servers, "unix:", 5) == 0) {
        rc = add(list, servers + 5, strlen(servers + 5), 0);
        slash = "";
    } else {
        slash = strchr(servers, '/');
        slash = slash == NULL ? servers + strlen(servers) : slash;
        rc = add_list(list, servers, (size_t)(slash - servers));
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
    list->chroot = copy(slash, strlen(slash));
    return list->chroot == NULL ? PAWL_ERR_NO_MEMORY : 0;
}

int server_list_parse_for(const char *servers, bool secure, struct server_list *out)
{
    struct server_list list = {0};
    int rc = parse(servers, secure, &list);

    if (rc != 0) {
        server_list_fini(&list);
        return rc;
    }
    *out = list;
    return 0;
}

int server_list_parse(const char *servers, struct server_list *out)
{
    return server_list_parse_for(servers, false, out);
}

void server_list_fini(struct server_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].name);
    }
    free(list->items);
    free(list->chroot);
    *list = (struct server_list){0};
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
    struct server_list one = {0};
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
    server_list_fini(&one);
    if (rc != 0) {
        for (; n > 0 && *s == ' '; n--) {
            s++;
        }
        for (; n > 0 && s[n - 1] == ' '; n--) {
        }
        snprintf(out, size, "\"%.*s\": %s", (int)n, s, explain_entry(s, n));
    }
}

void server_list_explain(const char *servers, char *out, size_t size)
{
    bool secure = is_secure(servers);
    const char *slash;

    servers += secure ? strlen(SERVER_SECURE) : 0;
    slash = strchr(servers, '/');
    out[0] = '\0';
    if (!secure && strncmp(servers, "unix:", 5) == 0) {
        snprintf(out, size, "\"%s\": no path of a socket", servers);
        return;
    }
    explain_list(servers, slash == NULL ? strlen(servers) : (size_t)(slash - servers), out, size);
    if (out[0] == '\0' && slash != NULL) {
        snprintf(out, size, "\"%s\": not a valid path for a chroot", slash);
    }
}
