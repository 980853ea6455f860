/* SPDX-License-Identifier: Apache-2.0 */
#include "http/origin.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

static bool is_address(const char *text)
{
    uint8_t address[16];

    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

/* "[::1]:8080", "127.0.0.1:8080", "localhost" without brackets and port; false: too long. */
static bool name_of(const char *host, char *out, size_t size)
{
    bool has_brackets = host[0] == '[';
    const char *from = has_brackets ? host + 1 : host;
    size_t len = strcspn(from, has_brackets ? "]" : ":");

    if (len >= size) {
        return false;
    }
    memcpy(out, from, len);
    out[len] = '\0';
    return true;
}

bool origin_host_is_plain(const char *host)
{
    char name[64];

    return name_of(host, name, sizeof(name)) &&
           (strcasecmp(name, "localhost") == 0 || is_address(name));
}

bool origin_is_foreign(const char *host, const char *origin, const char *fetch_site)
{
    static const char scheme[] = "http://";

    if (fetch_site != NULL && strcasecmp(fetch_site, "same-origin") != 0 &&
        strcasecmp(fetch_site, "none") != 0) {
        return true;
    }
    if (origin == NULL) {
        return false;
    }
    return host == NULL || strncasecmp(origin, scheme, strlen(scheme)) != 0 ||
           strcasecmp(origin + strlen(scheme), host) != 0;
}

bool origin_is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 ||
           strcmp(address, "localhost") == 0;
}
