/* SPDX-License-Identifier: Apache-2.0 */
#include "client/sasl_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/engine.h"
#include "client/take.h"
#include "sasl/exchange.h"
#include "sasl/login.h"

enum { FILE_LIMIT_BYTES = 1 << 20 };

static int sasl_options_refuse(char *why, size_t size, const char *text)
{
    snprintf(why, size, "%s", text);
    return PAWL_ERR_BAD_ARGUMENTS;
}

static int sasl_options_check(const struct pawl_sasl_options *o, char *why, size_t size)
{
    bool has_name = o->name != NULL || o->password != NULL;

    if (has_name && (o->name == NULL || o->password == NULL || o->name[0] == '\0')) {
        return sasl_options_refuse(why, size, "a name needs a password, and the other way round");
    }
    if (has_name + (o->login_file != NULL) + (o->jaas_file != NULL) != 1) {
        return sasl_options_refuse(why, size,
                                   "one of name and password, login_file or jaas_file is needed");
    }
    if (o->jaas_section != NULL && o->jaas_file == NULL) {
        return sasl_options_refuse(why, size, "there is a jaas_section, but no jaas_file");
    }
    return 0;
}

/* ---- files ---- */

static int sasl_options_load(const char *path, struct strbuf *out, char *why, size_t size)
{
    FILE *file = fopen(path, "rb");
    char part[4096];
    bool is_bad;
    size_t n;

    if (file == NULL) {
        snprintf(why, size, "%s: %s", path, strerror(errno));
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    while ((n = fread(part, 1, sizeof(part), file)) > 0) {
        strbuf_append(out, part, n);
    }
    sasl_login_wipe(part, sizeof(part));
    is_bad = ferror(file) != 0 || out->failed;
    fclose(file);
    if (is_bad) {
        snprintf(why, size, "%s: cannot be read, or is too large", path);
    }
    return is_bad ? PAWL_ERR_BAD_ARGUMENTS : 0;
}

static int sasl_options_read(const struct pawl_sasl_options *o, struct sasl_login *l, char *why,
                             size_t size)
{
    const char *path = o->jaas_file != NULL ? o->jaas_file : o->login_file;
    char reason[SASL_WHY_BYTES];
    struct strbuf text;
    int rc;

    strbuf_init(&text, FILE_LIMIT_BYTES);
    rc = sasl_options_load(path, &text, why, size);
    if (rc == 0) {
        rc = o->jaas_file != NULL
                 ? sasl_login_read_jaas(l, strbuf_bytes(&text),
                                        o->jaas_section != NULL ? o->jaas_section : "Client",
                                        reason, sizeof(reason))
                 : sasl_login_read_self(l, strbuf_bytes(&text), reason, sizeof(reason));
        snprintf(why, size, "%s: %s", path, reason);
    }
    sasl_login_wipe(text.data, text.len);
    strbuf_fini(&text);
    return rc == PAWL_OK || rc == PAWL_ERR_NO_MEMORY ? rc : PAWL_ERR_BAD_ARGUMENTS;
}

/* ---- all of it ---- */

static int sasl_options_fill(const struct pawl_sasl_options *o, struct sasl_login *l, char *why,
                             size_t size)
{
    int rc = o->name != NULL ? sasl_login_set_self(l, o->name, o->password)
                             : sasl_options_read(o, l, why, size);

    if (rc == 0 && l->is_kerberos) {
        return sasl_options_refuse(why, size, "this version has no Kerberos for clients");
    }
    if (rc == 0 && (l->name == NULL || l->password == NULL)) {
        return sasl_options_refuse(why, size, "there is no username, or no password, in the file");
    }
    if (rc == 0 && !sasl_exchange_is_possible(l, false, why, size)) {
        return PAWL_ERR_SYSTEM;
    }
    return rc;
}

int sasl_options_take(const struct pawl_sasl_options *options, struct engine *e, char *why,
                      size_t size)
{
    struct pawl_sasl_options o;
    int rc;

    if (!take_is_good(options)) {
        return sasl_options_refuse(why, size,
                                   "the options were not begun with PAWL_SASL_OPTIONS()");
    }
    TAKE(o, options);
    rc = sasl_options_check(&o, why, size);
    if (rc != 0) {
        return rc;
    }
    snprintf(why, size, "no memory");
    e->sasl.login = sasl_login_new();
    return e->sasl.login == NULL ? PAWL_ERR_NO_MEMORY
                                 : sasl_options_fill(&o, e->sasl.login, why, size);
}

/* ---- steps ---- */

void sasl_options_step(struct engine *e, int64_t now_ms)
{
    struct core *c = e->core;
    struct bytes token = bytes_of("", 0);
    int rc;

    if (!c->sasl_begun) {
        sasl_exchange_free(e->sasl.exchange);
        e->sasl.exchange =
            sasl_exchange_dial(e->sasl.login, SASL_CLIENT_AND_SERVER, c->hosts.items[c->host].name);
    }
    if (e->sasl.exchange == NULL) {
        core_sasl(c, now_ms, -1, token, "no memory");
        return;
    }
    rc = sasl_exchange_step(e->sasl.exchange,
                            c->sasl_token.len == 0 ? token : strbuf_bytes(&c->sasl_token), &token);
    core_sasl(c, now_ms, rc, token, sasl_exchange_error(e->sasl.exchange));
    if (rc != 0) {
        sasl_exchange_free(e->sasl.exchange);
        e->sasl.exchange = NULL;
    }
}
