/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - <pawl/server.h>, <pawl/ensemble.h> and the hosting of local:DIR in libpawl.so: loaded
 * when first used. */
#define _GNU_SOURCE
#include "half/half.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "os/local_hosting.h"
#include "pawl/version.h"

static pthread_once_t half_once = PTHREAD_ONCE_INIT;
static const struct server_half *half; /* NULL: cannot be loaded */
static char half_error[PATH_MAX + 256];

static void *half_open_beside_us(void)
{
    char path[PATH_MAX];
    const char *slash;
    Dl_info us;

    if (dladdr(&half_once, &us) == 0 || (slash = strrchr(us.dli_fname, '/')) == NULL) {
        return NULL;
    }
    if (snprintf(path, sizeof(path), "%.*s/" SERVER_HALF_FILE, (int)(slash - us.dli_fname),
                 us.dli_fname) >= (int)sizeof(path)) {
        return NULL;
    }
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void half_load(void)
{
    void *file = half_open_beside_us();
    const struct server_half *found;

    if (file == NULL) {
        file = dlopen(SERVER_HALF_FILE, RTLD_NOW | RTLD_LOCAL);
    }
    found = file == NULL ? NULL : dlsym(file, SERVER_HALF_SYMBOL);
    if (found == NULL) {
        snprintf(half_error, sizeof(half_error), "the server half of libpawl cannot be loaded: %s",
                 dlerror());
    } else if (strcmp(found->version, PAWL_VERSION) != 0) {
        snprintf(half_error, sizeof(half_error),
                 "libpawl.so is of version %s, but " SERVER_HALF_FILE " of %s", PAWL_VERSION,
                 found->version);
    } else {
        half = found;
    }
}

static const struct server_half *half_get(void)
{
    pthread_once(&half_once, half_load);
    return half;
}

static int half_explain(char *why, size_t why_size)
{
    if (why != NULL && why_size > 0) {
        snprintf(why, why_size, "%s", half_error);
    }
    return PAWL_ERR_SYSTEM;
}

/* ---- <pawl/server.h> ---- */

/* Without the other half the options stay empty, and the start gives the reason. */
void pawl_server_options_init(struct pawl_server_options *options)
{
    memset(options, 0, sizeof(*options));
    if (half_get() != NULL) {
        half->options_init(options);
    }
}

int pawl_server_start(const struct pawl_server_options *options, struct pawl_server **out,
                      char *why, size_t why_size)
{
    if (half_get() != NULL) {
        return half->start(options, out, why, why_size);
    }
    *out = NULL;
    return half_explain(why, why_size);
}

/* Who has a server has the other half. */
const char *pawl_server_address(const struct pawl_server *server)
{
    return half->address(server);
}

int pawl_server_port(const struct pawl_server *server)
{
    return half->port(server);
}

const char *pawl_server_unix_socket(const struct pawl_server *server)
{
    return half->unix_socket(server);
}

int pawl_server_error(struct pawl_server *server, char *why, size_t why_size)
{
    return half->error(server, why, why_size);
}

enum pawl_server_role pawl_server_role(const struct pawl_server *server)
{
    return half->role(server);
}

int pawl_server_stop(struct pawl_server *server)
{
    return server == NULL ? PAWL_OK : half->stop(server);
}

/* ---- <pawl/ensemble.h> ---- */

void pawl_ensemble_options_init(struct pawl_ensemble_options *options)
{
    memset(options, 0, sizeof(*options));
    if (half_get() != NULL) {
        half->ensemble_options_init(options);
    }
}

int pawl_ensemble_start(const struct pawl_ensemble_options *options, struct pawl_ensemble **out,
                        char *why, size_t why_size)
{
    if (half_get() != NULL) {
        return half->ensemble_start(options, out, why, why_size);
    }
    *out = NULL;
    return half_explain(why, why_size);
}

const char *pawl_ensemble_hosts(const struct pawl_ensemble *ensemble)
{
    return half->ensemble_hosts(ensemble);
}

const char *pawl_ensemble_address(const struct pawl_ensemble *ensemble, int member)
{
    return half->ensemble_address(ensemble, member);
}

int pawl_ensemble_leader(struct pawl_ensemble *ensemble)
{
    return half->ensemble_leader(ensemble);
}

enum pawl_server_role pawl_ensemble_role(struct pawl_ensemble *ensemble, int member)
{
    return half->ensemble_role(ensemble, member);
}

int pawl_ensemble_wait(struct pawl_ensemble *ensemble, int timeout_ms)
{
    return half->ensemble_wait(ensemble, timeout_ms);
}

int pawl_ensemble_stop_member(struct pawl_ensemble *ensemble, int member)
{
    return half->ensemble_stop_member(ensemble, member);
}

int pawl_ensemble_kill_member(struct pawl_ensemble *ensemble, int member)
{
    return half->ensemble_kill_member(ensemble, member);
}

int pawl_ensemble_start_member(struct pawl_ensemble *ensemble, int member)
{
    return half->ensemble_start_member(ensemble, member);
}

int pawl_ensemble_stop(struct pawl_ensemble *ensemble)
{
    return ensemble == NULL ? PAWL_OK : half->ensemble_stop(ensemble);
}

/* ---- local:DIR ---- */

static int half_open_local(const char *dir, void **host)
{
    return half_get() == NULL ? PAWL_ERR_SYSTEM : half->hosting()->open(dir, host);
}

static void half_close_local(void *host)
{
    half->hosting()->close(host);
}

static const struct local_hosting half_hosting = {half_open_local, half_close_local};

__attribute__((constructor)) static void half_register(void)
{
    local_hosting_set(&half_hosting);
}
