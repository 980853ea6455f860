/* SPDX-License-Identifier: Apache-2.0 */
#include "sasl/cyrus.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CYRUS_FILE "libsasl2.so.2"

static struct cyrus cyrus;
static bool is_loaded;
static char trouble[512];

/* ---- what the library asks of us ---- */

static void *mutex_new(void)
{
    pthread_mutex_t *m = malloc(sizeof(*m));

    if (m != NULL) {
        pthread_mutex_init(m, NULL);
    }
    return m;
}

static int mutex_lock(void *m)
{
    return pthread_mutex_lock(m) == 0 ? SASL_OK : SASL_FAIL;
}

static int mutex_unlock(void *m)
{
    return pthread_mutex_unlock(m) == 0 ? SASL_OK : SASL_FAIL;
}

static void mutex_free(void *m)
{
    if (m != NULL) {
        pthread_mutex_destroy(m);
        free(m);
    }
}

/* Which files are loaded: nothing that would look for users elsewhere, and no configuration. */
static int verify_file(void *context, const char *file, sasl_verify_type_t type)
{
    static const char *const wanted[] = {"/libdigestmd5.", "/libgssapiv2."};

    (void)context;
    for (size_t i = 0; type == SASL_VRFY_PLUGIN && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (strstr(file, wanted[i]) != NULL) {
            return SASL_OK;
        }
    }
    return SASL_CONTINUE;
}

/* What it has to say is read where something fails (sasl_errdetail). */
static int drop_line(void *context, int level, const char *message)
{
    (void)context;
    (void)level;
    (void)message;
    return SASL_OK;
}

static int auxprop_init(const sasl_utils_t *utils, int max_version, int *version,
                        sasl_auxprop_plug_t **plug, const char *name)
{
    static char our_name[] = "pawl";
    static sasl_auxprop_plug_t ours = {.auxprop_lookup = cyrus_lookup, .name = our_name};

    (void)utils;
    (void)name;
    if (max_version < SASL_AUXPROP_PLUG_VERSION) {
        return SASL_BADVERS;
    }
    *version = SASL_AUXPROP_PLUG_VERSION;
    *plug = &ours;
    return SASL_OK;
}

/* ---- loading ---- */

/* A pointer to a function, which ISO C does not convert from one to data. */
static bool find(void *library, const char *name, void *out, size_t size)
{
    void *found = dlsym(library, name);

    memcpy(out, &found, size);
    return found != NULL;
}

static const sasl_callback_t callbacks[] = {
    {SASL_CB_VERIFYFILE, ANY_FN(verify_file), NULL},
    {SASL_CB_LOG, ANY_FN(drop_line), NULL},
    {SASL_CB_LIST_END, NULL, NULL},
};

static void start(void)
{
    int rc;

    cyrus.set_mutex(mutex_new, mutex_lock, mutex_unlock, mutex_free);
    rc = cyrus.server_init(callbacks, "pawl");
    rc = rc == SASL_OK ? cyrus.client_init(callbacks) : rc;
    rc = rc == SASL_OK ? cyrus.auxprop_add_plugin("pawl", auxprop_init) : rc;
    if (rc != SASL_OK) {
        snprintf(trouble, sizeof(trouble), "cyrus-sasl cannot be used: %s",
                 cyrus.errstring(rc, NULL, NULL));
        return;
    }
    is_loaded = true;
}

static void load(void)
{
    void *library = dlopen(CYRUS_FILE, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool good = library != NULL;

#define CYRUS_FIND(name) \
    good = good && find(library, "sasl_" #name, &cyrus.name, sizeof(cyrus.name));
    CYRUS_FUNCTIONS(CYRUS_FIND)
#undef CYRUS_FIND
    if (good) {
        start();
    } else {
        snprintf(trouble, sizeof(trouble), "cyrus-sasl (%s) cannot be loaded: %s", CYRUS_FILE,
                 dlerror());
    }
}

const struct cyrus *cyrus_load(const char **why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    *why = trouble;
    return is_loaded ? &cyrus : NULL;
}
