/* SPDX-License-Identifier: Apache-2.0 */
/* discovery.h - which services there are, and where.
 *
 *     struct pawl_discovery *d;
 *     struct pawl_provider *web;
 *     struct pawl_instance *one;
 *     char uri[256];
 *     int rc;
 *
 *     check(pawl_discovery_new(client, "/services", &d), "discovery");
 *     rc = pawl_discovery_register(
 *         d, PAWL_INSTANCE(.name = "web", .id = "web-1", .port = 8080,
 *                          .uri_spec = "{scheme}://{address}:{port}/"), -1);
 *     check(rc, "register");
 *
 *     check(pawl_provider_new(client, "/services", "web", NULL, &web), "provider");
 *     check(pawl_provider_wait(web, 10000), "wait");
 *     if (pawl_provider_get(web, &one) == PAWL_OK) {
 *         check(pawl_instance_uri(one, NULL, 0, uri, sizeof(uri)), "uri");
 *         // or, if it does not answer: pawl_provider_note_error(web, one);
 *         pawl_instance_free(one);
 *     }
 *
 * The nodes and the JSON in them are those of Curator's service discovery: C and Java find each
 * other. What is registered stays so until it is unregistered or its process is gone: after the
 * loss of the session, or when somebody has deleted its node, it is registered again, at once. A
 * node that is there and ours is left alone, so that nobody sees a service vanish for no reason.
 * Who registers an id that another process has takes its place; the other has it again when the
 * first goes. */
#ifndef PAWL_DISCOVERY_H
#define PAWL_DISCOVERY_H

#include "pawl/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- instances ---- */

enum pawl_service_type {
    PAWL_SERVICE_DYNAMIC = 0,       /* gone with its process's session */
    PAWL_SERVICE_STATIC,            /* stays until unregistered */
    PAWL_SERVICE_PERMANENT,         /* the same, in Curator's words for somebody else to remove */
    PAWL_SERVICE_DYNAMIC_SEQUENTIAL /* dynamic; the server appends a number to the id */
};

struct pawl_instance {
    size_t size;
    const char *name;      /* of the service */
    const char *id;        /* of this instance; NULL: a random one is made */
    const char *address;   /* NULL: this machine's; "": none */
    int port;              /* 0: none */
    int ssl_port;          /* 0: none */
    const char *payload;   /* JSON, best without spaces; NULL: none. Java wants its class in it:
                            * {"@class":"pkg.Type",...} */
    int64_t registered_ms; /* since 1970; 0: now */
    enum pawl_service_type type;
    const char *uri_spec; /* "{scheme}://{address}:{port}/x", or NULL */
    int disabled;         /* there, but not to be used */
};
#define PAWL_INSTANCE(...) PAWL_SIZED(pawl_instance, __VA_ARGS__)
PAWL_SIZED_TYPE(instance)

/* Several, in the order of their nodes' names. */
struct pawl_instances {
    struct pawl_instance *const *items;
    size_t n;
};

PAWL_API void pawl_instance_free(struct pawl_instance *i);
PAWL_API void pawl_instances_free(struct pawl_instances *list);

/* The bytes of its node; free() them. BAD_ARGUMENTS: the payload is no JSON, or so. */
PAWL_API int pawl_instance_to_json(const struct pawl_instance *i, char **out);

/* Reads what Curator writes, and whatever lacks members or has more. CORRUPT: no JSON object. */
PAWL_API int pawl_instance_from_json(struct pawl_bytes json, struct pawl_instance **out);

struct pawl_uri_variable {
    const char *name;
    const char *value;
};

/* Its uri_spec with the names in braces replaced: scheme (https with an ssl_port), name, id,
 * address, port, ssl-port, registration-time-utc, service-type, `[` and `]` for braces, and what
 * `more` gives, which comes first. Unknown ones become nothing. As snprintf: the length it has,
 * also if `size` is too small; negative: an error. */
PAWL_API int pawl_instance_uri(const struct pawl_instance *i, const struct pawl_uri_variable *more,
                               size_t n_more, char *out, size_t size);

/* ---- registering ---- */

struct pawl_discovery;

PAWL_API int pawl_discovery_new(struct pawl_client *c, const char *base,
                                struct pawl_discovery **out);

/* Unregisters everything that was registered here, in the background. */
PAWL_API void pawl_discovery_free(struct pawl_discovery *d);

/* Returns when it can be found. The same name and id again: as pawl_discovery_update(); its type
 * cannot change. An unregister that had not ended yet is CANCELLED.
 * OPERATION_TIMEOUT: it goes on in the background. Any other error: it is not registered. */
PAWL_API int pawl_discovery_register(struct pawl_discovery *d, const struct pawl_instance *i,
                                     int timeout_ms);

/* NO_NODE: it was not registered here. */
PAWL_API int pawl_discovery_update(struct pawl_discovery *d, const struct pawl_instance *i,
                                   int timeout_ms);
PAWL_API int pawl_discovery_unregister(struct pawl_discovery *d, const char *name, const char *id,
                                       int timeout_ms);

typedef void (*pawl_discovery_fn)(struct pawl_discovery *d, int err, void *arg);
PAWL_API int pawl_discovery_register_async(struct pawl_discovery *d, const struct pawl_instance *i,
                                           pawl_discovery_fn done, void *arg);
PAWL_API int pawl_discovery_unregister_async(struct pawl_discovery *d, const char *name,
                                             const char *id, pawl_discovery_fn done, void *arg);

/* ---- asking once ---- */

/* reply: children: the names of the services. NO_NODE: nothing was ever registered. */
PAWL_API int pawl_discovery_names(struct pawl_discovery *d, struct pawl_reply **out);

/* A service that is not there has no instances; nodes that cannot be read are left out. */
PAWL_API int pawl_discovery_instances(struct pawl_discovery *d, const char *name,
                                      struct pawl_instances **out);
PAWL_API int pawl_discovery_instance(struct pawl_discovery *d, const char *name, const char *id,
                                     struct pawl_instance **out); /* NO_NODE, CORRUPT */

/* ---- following one service ---- */

struct pawl_service_cache;
typedef void (*pawl_service_fn)(struct pawl_service_cache *s, void *arg);

/* `changed` (or NULL) is called after every change once it is complete, and when it is for the
 * first time; several changes may be reported as one. */
PAWL_API int pawl_service_cache_new(struct pawl_client *c, const char *base, const char *name,
                                    pawl_service_fn changed, void *arg,
                                    struct pawl_service_cache **out);
PAWL_API void pawl_service_cache_free(struct pawl_service_cache *s);

/* Until it is complete. */
PAWL_API int pawl_service_cache_wait(struct pawl_service_cache *s, int timeout_ms);

/* How things stand, without asking the server. While the link is down: as they stood. */
PAWL_API int pawl_service_cache_instances(struct pawl_service_cache *s,
                                          struct pawl_instances **out);

/* ---- choosing an instance ---- */

struct pawl_provider;

enum pawl_strategy { PAWL_STRATEGY_ROUND_ROBIN = 0, PAWL_STRATEGY_RANDOM };

struct pawl_provider_options {
    size_t size;
    enum pawl_strategy strategy;
    int sticky; /* keeps to one instance as long as it can be used */
    /* An instance with so many errors is left out until so long after the first of them. Default 2,
     * 30000. */
    int down_errors;
    int down_ms;
    /* Whether it may be chosen, or NULL. Called inside the library: must be quick, must not call
     * it. */
    int (*filter)(const struct pawl_instance *i, void *arg);
    void *filter_arg;
};
#define PAWL_PROVIDER_OPTIONS(...) PAWL_SIZED(pawl_provider_options, __VA_ARGS__)
PAWL_SIZED_TYPE(provider_options)

PAWL_API int pawl_provider_new(struct pawl_client *c, const char *base, const char *name,
                               const struct pawl_provider_options *options,
                               struct pawl_provider **out);
PAWL_API void pawl_provider_free(struct pawl_provider *p);
PAWL_API int pawl_provider_wait(struct pawl_provider *p, int timeout_ms);

/* One that may be used: not disabled, not down, not filtered out. NO_NODE: there is none. */
PAWL_API int pawl_provider_get(struct pawl_provider *p, struct pawl_instance **out);
PAWL_API int pawl_provider_all(struct pawl_provider *p, struct pawl_instances **out);

/* It did not answer. What counts is its id and when it was registered: one that comes back under
 * its old id begins anew. */
PAWL_API void pawl_provider_note_error(struct pawl_provider *p, const struct pawl_instance *i);

#ifdef __cplusplus
}
#endif

#endif
