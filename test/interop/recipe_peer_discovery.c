/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_peer_discovery.c - the verbs of service discovery. Payloads are words. */
#include "recipe_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pawl/discovery.h>

static void free_discovery(void *thing)
{
    pawl_discovery_free(thing);
}

static const char *const types[] = {"DYNAMIC", "STATIC", "PERMANENT", "DYNAMIC_SEQUENTIAL"};

static enum pawl_service_type type_of(const char *name)
{
    int i = 0;

    while (i < 3 && strcmp(types[i], name) != 0) {
        i++;
    }
    return (enum pawl_service_type)i;
}

static int discovery_of(struct actor *a, const char *base, struct pawl_discovery **out)
{
    int rc = PAWL_OK;

    *out = actor_thing(a, "discovery", base);
    if (*out == NULL) {
        rc = pawl_discovery_new(actor_client(a), base, out);
        actor_keep(a, "discovery", base, *out, free_discovery);
    }
    return rc;
}

/* BASE NAME ID ADDRESS PORT PAYLOAD TYPE */
static int disc_register(struct actor *a, char **v, char *out)
{
    struct pawl_discovery *d;
    char payload[256];
    int rc = discovery_of(a, v[0], &d);

    (void)out;
    snprintf(payload, sizeof(payload), "\"%s\"", v[5]);
    return rc != PAWL_OK ? rc
                         : pawl_discovery_register(
                               d,
                               PAWL_INSTANCE(.name = v[1], .id = v[2], .address = v[3],
                                             .port = atoi(v[4]), .payload = payload,
                                             .registered_ms = 1600000000000, .type = type_of(v[6]),
                                             .uri_spec = "{scheme}://{address}:{port}"),
                               PATIENCE_MS);
}

/* "id=address:port/payload/TYPE/uri" */
static int describe(const struct pawl_instance *i, char *out, size_t size)
{
    size_t quoted = i->payload == NULL ? 0 : strlen(i->payload);
    char uri[256] = "";

    if (quoted < 2 || pawl_instance_uri(i, NULL, 0, uri, sizeof(uri)) < 0) {
        return PAWL_ERR_CORRUPT;
    }
    snprintf(out, size, "%s=%s:%d/%.*s/%s/%s", i->id, i->address, i->port, (int)quoted - 2,
             i->payload + 1, types[i->type], uri);
    return PAWL_OK;
}

/* BASE NAME */
static int disc_find(struct actor *a, char **v, char *out)
{
    struct pawl_instances *found = NULL;
    struct pawl_discovery *d;
    int rc = discovery_of(a, v[0], &d);

    if (rc == PAWL_OK) {
        rc = pawl_discovery_instances(d, v[1], &found);
    }
    for (size_t i = 0; rc == PAWL_OK && i < found->n; i++) {
        size_t len = strlen(out);

        if (i > 0) {
            out[len++] = ' ';
        }
        rc = describe(found->items[i], out + len, ANSWER_BYTES - len);
    }
    pawl_instances_free(found);
    return rc;
}

/* BASE ID, of the service "web" */
static int disc_unregister(struct actor *a, char **v, char *out)
{
    struct pawl_discovery *d;
    int rc = discovery_of(a, v[0], &d);

    (void)out;
    return rc != PAWL_OK ? rc : pawl_discovery_unregister(d, "web", v[1], PATIENCE_MS);
}

const struct verb discovery_verbs[] = {{"disc-register", disc_register},
                                       {"disc-find", disc_find},
                                       {"disc-unregister", disc_unregister},
                                       {NULL, NULL}};
