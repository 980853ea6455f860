/* SPDX-License-Identifier: Apache-2.0 */
#include "client/local.h"

#include <stdlib.h>
#include <string.h>

#include "pawl/error.h"

static const struct local_hosting *hosting;

struct local {
    void *host;
    char servers[];
};

void local_set_hosting(const struct local_hosting *h)
{
    hosting = h;
}

int local_open(const char *servers, struct local **out, const char **resolved)
{
    static const char scheme[] = "local:";
    const char *dir = servers + strlen(scheme);
    struct local *l;
    int rc;

    *out = NULL;
    if (strncmp(servers, scheme, strlen(scheme)) != 0) {
        return 0;
    }
    if (*dir == '\0') {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    l = calloc(1, sizeof(*l) + strlen(dir) + sizeof("unix:/socket"));
    if (l == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    strcpy(l->servers, "unix:");
    strcat(l->servers, dir);
    strcat(l->servers, "/socket");
    rc = hosting == NULL ? 0 : hosting->open(dir, &l->host);
    if (rc != 0) {
        free(l);
        return rc;
    }
    *out = l;
    *resolved = l->servers;
    return 0;
}

void local_close(struct local *l)
{
    if (l != NULL) {
        if (l->host != NULL) {
            hosting->close(l->host);
        }
        free(l);
    }
}
