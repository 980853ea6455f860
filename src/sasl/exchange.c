/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* explicit_bzero() */
#include "sasl/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "pawl/error.h"
#include "sasl/cyrus.h"
#include "sasl/digest_token.h"
#include "sasl/login.h"

/* The names that stand for a host in DIGEST-MD5, and for the realm, which is the same. */
static const struct {
    const char *service, *digest_host;
} names[] = {
    [SASL_CLIENT_AND_SERVER] = {"zookeeper", "zk-sasl-md5"},
    [SASL_MEMBERS] = {"zookeeper-quorum", "zk-quorum-sasl-md5"},
};

/* Beyond those of the library: whose exchange it is that a password is looked up for. */
enum { CB_EXCHANGE = 0x7a6b, N_CALLBACKS = 8 };

struct sasl_exchange {
    const struct cyrus *cyrus;
    struct sasl_login *login;
    bool accepts, is_begun, is_over;
    int n_steps;
    sasl_conn_t *conn;
    sasl_callback_t callbacks[N_CALLBACKS];
    sasl_secret_t *secret;
    struct strbuf token; /* of the other side, with a NUL behind it: the library reads up to that */
    char *name;
    char error[SASL_ERROR_BYTES];
};

static const char *mechanism_of(const struct sasl_login *l)
{
    return l->is_kerberos ? "GSSAPI" : "DIGEST-MD5";
}

/* ---- what the library asks ---- */

static int get_option(void *context, const char *plugin, const char *option, const char **result,
                      unsigned *len)
{
    static const char *const options[][2] = {
        {"auxprop_plugin", "pawl"},
        {"reauth_timeout", "0"}, /* nothing is remembered */
        {"pwcheck_method", "auxprop"},
    };

    (void)context;
    (void)plugin;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strcmp(option, options[i][0]) == 0) {
            *result = options[i][1];
            if (len != NULL) {
                *len = (unsigned)strlen(*result);
            }
            return SASL_OK;
        }
    }
    return SASL_FAIL;
}

static int is_exchange(void)
{
    return SASL_OK;
}

int cyrus_lookup(void *context, sasl_server_params_t *params, unsigned flags, const char *user,
                 unsigned len)
{
    sasl_callback_ft ours;
    struct sasl_exchange *x;
    const char *password;

    (void)context;
    if ((flags & SASL_AUXPROP_AUTHZID) != 0) {
        return SASL_OK;
    }
    if (params->utils->getcallback(params->utils->conn, CB_EXCHANGE, &ours, (void **)&x) !=
        SASL_OK) {
        return SASL_NOUSER;
    }
    password = sasl_login_password(x->login, bytes_of(user, len));
    if (password == NULL) {
        return SASL_NOUSER;
    }
    return params->utils->prop_set(params->propctx, SASL_AUX_PASSWORD, password, 0);
}

static int get_name(void *context, int id, const char **result, unsigned *len)
{
    const struct sasl_exchange *x = context;

    (void)id;
    *result = x->login->name;
    if (len != NULL) {
        *len = (unsigned)strlen(*result);
    }
    return SASL_OK;
}

static int get_secret(sasl_conn_t *conn, void *context, int id, sasl_secret_t **secret)
{
    struct sasl_exchange *x = context;

    (void)conn;
    (void)id;
    *secret = x->secret;
    return SASL_OK;
}

/* The first that is offered. */
static int get_realm(void *context, int id, const char **offered, const char **result)
{
    (void)context;
    (void)id;
    *result = offered == NULL ? NULL : offered[0];
    return *result == NULL ? SASL_FAIL : SASL_OK;
}

/* ---- life ---- */

static void add_callback(struct sasl_exchange *x, size_t *n, unsigned long id, any_fn fn)
{
    x->callbacks[(*n)++] = (sasl_callback_t){id, fn, x};
}

static void set_callbacks(struct sasl_exchange *x)
{
    size_t n = 0;

    add_callback(x, &n, SASL_CB_GETOPT, ANY_FN(get_option));
    if (x->accepts) {
        add_callback(x, &n, CB_EXCHANGE, is_exchange);
    } else if (x->login->name != NULL) {
        add_callback(x, &n, SASL_CB_USER, ANY_FN(get_name));
        add_callback(x, &n, SASL_CB_AUTHNAME, ANY_FN(get_name));
        add_callback(x, &n, SASL_CB_PASS, ANY_FN(get_secret));
        add_callback(x, &n, SASL_CB_GETREALM, ANY_FN(get_realm));
    }
    x->callbacks[n] = (sasl_callback_t){SASL_CB_LIST_END, NULL, NULL};
}

static bool copy_secret(struct sasl_exchange *x)
{
    size_t len;

    if (x->accepts || x->login->password == NULL) {
        return true;
    }
    len = strlen(x->login->password);
    x->secret = malloc(sizeof(*x->secret) + len);
    if (x->secret == NULL) {
        return false;
    }
    x->secret->len = len;
    memcpy(x->secret->data, x->login->password, len + 1);
    return true;
}

/* The link is protected by TLS, or not at all: no layer of the mechanism's own. */
static int set_properties(struct sasl_exchange *x)
{
    sasl_security_properties_t none = {.maxbufsize = 0, .max_ssf = 0};

    return x->cyrus->setprop(x->conn, SASL_SEC_PROPS, &none);
}

static bool open_connection(struct sasl_exchange *x, enum sasl_between between, const char *host)
{
    const char *service = names[between].service;
    const char *name = x->login->is_kerberos ? host : names[between].digest_host;
    int rc = x->accepts ? x->cyrus->server_new(service, name, NULL, NULL, NULL, x->callbacks,
                                               SASL_SUCCESS_DATA, &x->conn)
                        : x->cyrus->client_new(service, name, NULL, NULL, x->callbacks,
                                               SASL_SUCCESS_DATA, &x->conn);

    return rc == SASL_OK && set_properties(x) == SASL_OK;
}

static struct sasl_exchange *exchange_new(struct sasl_login *l, bool accepts,
                                          enum sasl_between between, const char *host)
{
    const char *why;
    const struct cyrus *cyrus = cyrus_load(&why);
    struct sasl_exchange *x = cyrus == NULL ? NULL : calloc(1, sizeof(*x));

    if (x == NULL) {
        return NULL;
    }
    sasl_login_ref(l);
    x->cyrus = cyrus;
    x->login = l;
    x->accepts = accepts;
    strbuf_init(&x->token, SASL_TOKEN_BYTES + 1);
    set_callbacks(x);
    if (!copy_secret(x) || !open_connection(x, between, host)) {
        sasl_exchange_free(x);
        return NULL;
    }
    return x;
}

struct sasl_exchange *sasl_exchange_accept(struct sasl_login *l, enum sasl_between between)
{
    return exchange_new(l, true, between, NULL);
}

struct sasl_exchange *sasl_exchange_dial(struct sasl_login *l, enum sasl_between between,
                                         const char *host)
{
    return exchange_new(l, false, between, host);
}

void sasl_exchange_free(struct sasl_exchange *x)
{
    if (x == NULL) {
        return;
    }
    if (x->conn != NULL) {
        x->cyrus->dispose(&x->conn);
    }
    if (x->secret != NULL) {
        explicit_bzero(x->secret->data, x->secret->len);
        free(x->secret);
    }
    sasl_login_unref(x->login);
    strbuf_fini(&x->token);
    free(x->name);
    free(x);
}

bool sasl_exchange_is_possible(const struct sasl_login *l, bool accepts, char *why, size_t why_size)
{
    const char *trouble;

    (void)accepts;
    if (cyrus_load(&trouble) == NULL) {
        snprintf(why, why_size, "%s; Debian's package is libsasl2-2", trouble);
        return false;
    }
    (void)l;
    return true;
}

/* ---- steps ---- */

/* What the library says begins with "SASL(-13): ". */
static const char *detail_of(struct sasl_exchange *x)
{
    const char *detail = x->cyrus->errdetail(x->conn);
    const char *behind = detail == NULL ? NULL : strstr(detail, "): ");

    return behind != NULL && strncmp(detail, "SASL(", 5) == 0 ? behind + 3
           : detail != NULL                                   ? detail
                                                              : "failed";
}

static int give_up(struct sasl_exchange *x, const char *why)
{
    x->is_over = true;
    snprintf(x->error, sizeof(x->error), "%s", why);
    return -1;
}

/* Who connects has nothing to say first in DIGEST-MD5. The library would like to, with what it
 * remembers of an earlier exchange, which Java's server does not take: it is not asked. */
static int begin(struct sasl_exchange *x, struct bytes token, const char **out, unsigned *len)
{
    const char *mechanism = mechanism_of(x->login);
    const char *in = token.len == 0 ? NULL : strbuf_cstr(&x->token);

    if (!x->accepts && !x->login->is_kerberos) {
        return x->cyrus->client_start(x->conn, mechanism, NULL, NULL, NULL, NULL);
    }

    return x->accepts
               ? x->cyrus->server_start(x->conn, mechanism, in, (unsigned)token.len, out, len)
               : x->cyrus->client_start(x->conn, mechanism, NULL, out, len, NULL);
}

static int go_on(struct sasl_exchange *x, struct bytes token, const char **out, unsigned *len)
{
    const char *in = strbuf_cstr(&x->token);

    return x->accepts ? x->cyrus->server_step(x->conn, in, (unsigned)token.len, out, len)
                      : x->cyrus->client_step(x->conn, in, (unsigned)token.len, NULL, out, len);
}

/* Who it is: not whom it would like to be (the library lets nobody be another). */
static int finish(struct sasl_exchange *x)
{
    const void *name = NULL;

    if (x->accepts && (x->cyrus->getprop(x->conn, SASL_AUTHUSER, &name) != SASL_OK ||
                       name == NULL || (x->name = strdup(name)) == NULL)) {
        return give_up(x, "nobody knows who it is");
    }
    x->is_over = true;
    return 1;
}

/* What may be handed to the library, which takes the last word of a server for the first one, too,
 * and fails over that (found by fuzzing). The first step is the call that begins. */
static bool is_expected(const struct sasl_exchange *x, struct bytes token)
{
    return digest_token_is_good(token) &&
           (x->accepts || x->n_steps == 1 || digest_token_is_last(token) == (x->n_steps == 3));
}

/* Its first token was a challenge, which anybody can make. */
static bool is_impostor(const struct sasl_exchange *x)
{
    return !x->accepts && !x->login->is_kerberos && x->n_steps > 2;
}

int sasl_exchange_step(struct sasl_exchange *x, struct bytes token, struct bytes *out)
{
    const char *text = NULL;
    unsigned len = 0;
    int rc;

    *out = bytes_of("", 0);
    if (x->is_over || ++x->n_steps > SASL_STEPS || token.len > SASL_TOKEN_BYTES) {
        return give_up(x, "too much is said");
    }
    if (!x->login->is_kerberos && !is_expected(x, token)) {
        return give_up(x, "what is said is no DIGEST-MD5");
    }
    strbuf_clear(&x->token);
    strbuf_append_bytes(&x->token, token);
    if (x->token.failed) {
        return give_up(x, "no memory");
    }
    rc = x->is_begun ? go_on(x, token, &text, &len) : begin(x, token, &text, &len);
    x->is_begun = true;
    if (rc != SASL_OK && rc != SASL_CONTINUE) {
        return give_up(x, is_impostor(x) ? "the server does not know the password itself"
                                         : detail_of(x));
    }
    *out = bytes_of(text == NULL ? "" : text, text == NULL ? 0 : len);
    return rc == SASL_OK ? finish(x) : 0;
}

const char *sasl_exchange_name(const struct sasl_exchange *x)
{
    return x->name;
}

const char *sasl_exchange_error(const struct sasl_exchange *x)
{
    return x->error;
}
