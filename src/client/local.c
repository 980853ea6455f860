/* SPDX-License-Identifier: Apache-2.0 */
#include "client/local.h"

#include <stdlib.h>
#include <string.h>

#include "client/hosts.h"
#include "os/local_hosting.h"
#include "os/session_file.h"
#include "pawl/error.h"

struct local {
    void *host;
    char servers[];
};

int local_open(const char *servers, struct local **out, const char **resolved)
{
    static const char scheme[] = "local:";
    const struct local_hosting *hosting = local_hosting_get();
    const char *dir;
    struct local *l;
    int rc;

    *out = NULL;
    if (strncmp(servers, scheme, strlen(scheme)) != 0) {
        return 0;
    }
    dir = servers + strlen(scheme);
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
            local_hosting_get()->close(l->host);
        }
        free(l);
    }
}

static int on_sockets(const struct hosts *hosts, int64_t session_id,
                      int (*change)(const char *socket_path, int64_t id))
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < hosts->n; i++) {
        rc = hosts->items[i].port == 0 ? change(hosts->items[i].name, session_id) : 0;
    }
    return rc;
}

int local_detach(const struct hosts *hosts, int64_t session_id)
{
    return on_sockets(hosts, session_id, session_file_detach);
}

int local_attach(const struct hosts *hosts, int64_t session_id)
{
    return on_sockets(hosts, session_id, session_file_attach);
}
