/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tls_options.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/engine.h"
#include "client/take.h"
#include "tls/tls.h"

static int tls_options_fail(int rc, char *why, size_t size, const char *text)
{
    snprintf(why, size, "%s", text);
    return rc;
}

static int tls_options_refuse(char *why, size_t size, const char *text)
{
    return tls_options_fail(PAWL_ERR_BAD_ARGUMENTS, why, size, text);
}

static int tls_options_check(const struct pawl_tls_options *o, char *why, size_t size)
{
    if (o->min_version != PAWL_TLS_DEFAULT && o->min_version != PAWL_TLS_1_2 &&
        o->min_version != PAWL_TLS_1_3) {
        return tls_options_refuse(why, size, "min_version is no enum pawl_tls_version");
    }
    if ((o->flags & ~PAWL_TLS_ANY_NAME) != 0) {
        return tls_options_refuse(why, size, "there are unknown flags");
    }
    if (o->key_file != NULL && o->certificate_file == NULL) {
        return tls_options_refuse(why, size, "there is a key_file, but no certificate_file");
    }
    if (o->server_name != NULL && o->server_name[0] == '\0') {
        return tls_options_refuse(why, size, "server_name is empty");
    }
    return 0;
}

static int tls_options_make(const struct pawl_tls_options *o, struct tls_context **out, char *why,
                            size_t size)
{
    struct tls_settings settings = {
        .key = {.path = o->certificate_file, .password = o->key_password},
        .key_path = o->key_file,
        .trust = {.path = o->ca_file},
        .protocols = o->min_version == PAWL_TLS_1_3 ? "TLSv1.3" : NULL,
        .any_name = (o->flags & PAWL_TLS_ANY_NAME) != 0,
    };
    struct tls_fault fault = {.text = "no memory"};
    int rc = tls_context_new(&settings, out, &fault);

    return rc == 0 ? 0 : tls_options_fail(rc, why, size, fault.text);
}

int tls_options_take(const struct pawl_tls_options *options, struct engine *e, char *why,
                     size_t size)
{
    struct pawl_tls_options o;
    size_t len;
    int rc;

    if (!take_is_good(options)) {
        return tls_options_refuse(why, size, "the options were not begun with PAWL_TLS_OPTIONS()");
    }
    TAKE(o, options);
    rc = tls_options_check(&o, why, size);
    if (rc == 0 && o.server_name != NULL) {
        len = strlen(o.server_name) + 1;
        e->tls.name = malloc(len);
        if (e->tls.name == NULL) {
            return tls_options_fail(PAWL_ERR_NO_MEMORY, why, size, "no memory");
        }
        memcpy(e->tls.name, o.server_name, len);
    }
    return rc != 0 ? rc : tls_options_make(&o, &e->tls.context, why, size);
}
