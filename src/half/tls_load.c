/* SPDX-License-Identifier: Apache-2.0 */
/* tls_load.c - TLS in libpawl.so, and in pawl: loaded when the first context is made. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pawl has it for all of its files */
#endif
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <pawl/client.h>

#include "half/tls_half.h"
#include "pawl/error.h"
#include "pawl/version.h"

static pthread_once_t tls_once = PTHREAD_ONCE_INIT;
static const struct tls_half *half; /* NULL: cannot be loaded */
static char half_error[512];

/* Where the file lies that `symbol` is in. */
static void *open_beside(const void *symbol)
{
    char path[PATH_MAX];
    const char *slash;
    Dl_info us;

    if (dladdr(symbol, &us) == 0 || (slash = strrchr(us.dli_fname, '/')) == NULL ||
        snprintf(path, sizeof(path), "%.*s/" TLS_HALF_FILE, (int)(slash - us.dli_fname),
                 us.dli_fname) >= (int)sizeof(path)) {
        return NULL;
    }
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void load(void)
{
    void *file = open_beside(&tls_once);
    const struct tls_half *found;

    if (file == NULL) { /* we are in pawl, and that is elsewhere */
        file = open_beside((const void *)(uintptr_t)pawl_client_open);
    }
    if (file == NULL) {
        file = dlopen(TLS_HALF_FILE, RTLD_NOW | RTLD_LOCAL);
    }
    found = file == NULL ? NULL : dlsym(file, TLS_HALF_SYMBOL);
    if (found == NULL) {
        snprintf(half_error, sizeof(half_error), "this part of libpawl cannot be loaded: %s",
                 dlerror());
    } else if (strcmp(found->version, PAWL_VERSION) != 0) {
        snprintf(half_error, sizeof(half_error),
                 "libpawl.so is of version %s, but " TLS_HALF_FILE " of %s", PAWL_VERSION,
                 found->version);
    } else {
        half = found;
    }
}

int tls_context_new(const struct tls_settings *settings, struct tls_context **out,
                    struct tls_fault *fault)
{
    pthread_once(&tls_once, load);
    if (half != NULL) {
        return half->context_new(settings, out, fault);
    }
    fault->part = TLS_PART_OTHER;
    snprintf(fault->text, sizeof(fault->text), "%s", half_error);
    return PAWL_ERR_SYSTEM;
}

/* Who has a context has the rest. */
void tls_context_ref(struct tls_context *c)
{
    half->context_ref(c);
}

void tls_context_unref(struct tls_context *c)
{
    if (c != NULL) {
        half->context_unref(c);
    }
}

struct tls *tls_new(struct tls_context *c, const char *name)
{
    return half->make(c, name);
}

void tls_free(struct tls *t)
{
    if (t != NULL) {
        half->free(t);
    }
}

bool tls_put(struct tls *t, const void *data, size_t len)
{
    return half->put(t, data, len);
}

int tls_handshake(struct tls *t)
{
    return half->handshake(t);
}

long tls_read(struct tls *t, void *out, size_t size)
{
    return half->read(t, out, size);
}

bool tls_write(struct tls *t, const void *data, size_t len)
{
    return half->write(t, data, len);
}

void tls_finish(struct tls *t)
{
    half->finish(t);
}

struct bytes tls_output(const struct tls *t)
{
    return half->output(t);
}

void tls_sent(struct tls *t, size_t len)
{
    half->sent(t, len);
}

const char *tls_error(const struct tls *t)
{
    return half->error(t);
}

bool tls_ask(struct tls_context *c, const char *name, int fd, struct bytes question, size_t enough,
             int timeout_ms, struct strbuf *answer, char *why, size_t why_size)
{
    return half->ask(c, name, fd, question, enough, timeout_ms, answer, why, why_size);
}
