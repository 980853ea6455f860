/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/logins.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/logging.h"
#include "daemon/config_internal.h"
#include "pawl/error.h"
#include "sasl/exchange.h"
#include "sasl/login.h"

enum { LOOK_MS = 1000 };

#define JAAS_KEY  "java.security.auth.login.config"
#define USERS_KEY "sasl.userFile"

bool logins_are_wanted(const struct config *c)
{
    static const char class[] = "SASLAuthenticationProvider";

    for (size_t i = 0; i < c->n_entries; i++) {
        const struct config_entry *e = &c->entry[i];
        size_t len = strlen(e->text);

        if (strncmp(e->name, "authProvider.", strlen("authProvider.")) == 0 &&
            len >= strlen(class) && strcmp(e->text + len - strlen(class), class) == 0) {
            return true;
        }
    }
    return c->sasl.jaas_path != NULL || c->sasl.users_path != NULL;
}

/* ---- files ---- */

/* Java takes a URL, too. */
static const char *path_of(const char *path)
{
    return path != NULL && strncmp(path, "file:", 5) == 0 ? path + 5 : path;
}

typedef int (*read_fn)(struct sasl_login *l, struct bytes text, const char *section, char *why,
                       size_t why_size);

static int read_users(struct sasl_login *l, struct bytes text, const char *section, char *why,
                      size_t why_size)
{
    (void)section;
    return sasl_login_read_users(l, text, why, why_size);
}

/* What is wrong comes with the name of the file. */
static int read_file(struct sasl_login *l, const char *path, read_fn read, const char *section,
                     char *why, size_t why_size)
{
    char reason[SASL_WHY_BYTES] = "";
    struct config_lines errors;
    struct strbuf text;
    int rc;

    config_lines_init(&errors);
    rc = config_load(path, &text, &errors);
    if (rc != PAWL_OK) {
        snprintf(why, why_size, "%s", errors.n > 0 ? errors.line[0] : "cannot be read");
    } else {
        rc = read(l, strbuf_bytes(&text), section, reason, sizeof(reason));
        snprintf(why, why_size, "%s: %s", path, reason);
        sasl_login_wipe(text.data, text.len);
        strbuf_fini(&text);
    }
    config_lines_fini(&errors);
    return rc;
}

/* A section of the JAAS file. PAWL_OK, PAWL_ERR_NOT_FOUND, or what is wrong in `why`. */
static int read_section(const struct config *c, const char *section, struct sasl_login *l,
                        char *why, size_t why_size)
{
    return c->sasl.jaas_path == NULL ? PAWL_ERR_NOT_FOUND
                                     : read_file(l, path_of(c->sasl.jaas_path),
                                                 sasl_login_read_jaas, section, why, why_size);
}

/* Who may come from both files; `key` is the one at fault. PAWL_ERR_NOT_FOUND: nobody is named. */
static int fill_clients(const struct config *c, struct sasl_login *l, const char **key, char *why,
                        size_t why_size)
{
    int rc = read_section(c, c->sasl.section, l, why, why_size);

    *key = JAAS_KEY;
    if (rc != PAWL_OK && rc != PAWL_ERR_NOT_FOUND) {
        return rc;
    }
    if (c->sasl.users_path != NULL) {
        *key = USERS_KEY;
        rc = read_file(l, c->sasl.users_path, read_users, NULL, why, why_size);
    }
    if (rc == PAWL_OK && c->sasl.super_password != NULL) {
        rc = sasl_login_change(l, "super", c->sasl.super_password);
    }
    return rc;
}

static int check_clients(const struct sasl_login *l, const char *key, char *why, size_t why_size)
{
    if (l->is_kerberos) {
        snprintf(why, why_size, "%s: this version has no Kerberos (Krb5LoginModule)", key);
        return PAWL_ERR_CONFIG;
    }
    if (l->n_users == 0) {
        snprintf(why, why_size,
                 "%s names nobody who may come: user_NAME=\"PASSWORD\" in the JAAS file", key);
        return PAWL_ERR_CONFIG;
    }
    return sasl_exchange_is_possible(l, true, why, why_size) ? PAWL_OK : PAWL_ERR_CONFIG;
}

/* `out` NULL with PAWL_OK: nobody can authenticate, and nothing is wrong with that. */
static int clients_of(const struct config *c, struct sasl_login **out, const char **key, char *why,
                      size_t why_size)
{
    struct sasl_login *l = sasl_login_new();
    int rc = PAWL_ERR_NO_MEMORY;

    *out = NULL;
    *key = JAAS_KEY;
    snprintf(why, why_size, "no memory");
    if (l != NULL) {
        rc = fill_clients(c, l, key, why, why_size);
        rc = rc == PAWL_OK ? check_clients(l, *key, why, why_size) : rc;
    }
    if (rc == PAWL_OK) {
        *out = l;
        return PAWL_OK;
    }
    sasl_login_unref(l);
    return rc == PAWL_ERR_NOT_FOUND ? PAWL_OK : rc;
}

/* ---- members ---- */

#define LOGIN_KEY "quorum.auth.loginFile"

static int read_own(struct sasl_login *l, struct bytes text, const char *section, char *why,
                    size_t why_size)
{
    int rc = sasl_login_read_self(l, text, why, why_size);

    (void)section;
    return rc == PAWL_OK ? sasl_login_read_users(l, text, why, why_size) : rc;
}

/* One of the two, from the plain file or its section. */
static int read_member(const struct config *c, const char *section, struct sasl_login *l, char *why,
                       size_t why_size)
{
    if (c->member_sasl.login_path != NULL) {
        return read_file(l, c->member_sasl.login_path, read_own, NULL, why, why_size);
    }
    if (c->sasl.jaas_path == NULL) {
        snprintf(why, why_size,
                 "there is neither a JAAS file (java.security.auth.login.config) nor "
                 "quorum.auth.loginFile");
        return PAWL_ERR_CONFIG;
    }
    return read_section(c, section, l, why, why_size);
}

static int check_member(const struct sasl_login *l, bool accepts, const char *section, char *why,
                        size_t why_size)
{
    if (l->is_kerberos) {
        snprintf(why, why_size, "section %s: this version has no Kerberos between members",
                 section);
    } else if (accepts && l->n_users == 0) {
        snprintf(why, why_size, "section %s names nobody who may come: user_NAME=\"PASSWORD\"",
                 section);
    } else if (!accepts && (l->name == NULL || l->password == NULL)) {
        snprintf(why, why_size, "section %s has no username and password", section);
    } else if (sasl_exchange_is_possible(l, accepts, why, why_size)) {
        return PAWL_OK;
    }
    return PAWL_ERR_CONFIG;
}

static int member_login(const struct config *c, bool accepts, struct sasl_login **out, char *why,
                        size_t why_size)
{
    const char *section = accepts ? c->member_sasl.server_section : c->member_sasl.learner_section;
    struct sasl_login *l = sasl_login_new();
    int rc = PAWL_ERR_NO_MEMORY;

    *out = NULL;
    snprintf(why, why_size, "no memory");
    if (l != NULL) {
        rc = read_member(c, section, l, why, why_size);
        rc = rc == PAWL_OK ? check_member(l, accepts, section, why, why_size) : rc;
    }
    if (rc == PAWL_OK) {
        *out = l;
        return PAWL_OK;
    }
    sasl_login_unref(l);
    return rc;
}

/* Both are needed as soon as it is enabled, as in Java; ours is used when it is to be. */
static int members_of(const struct config *c, struct member_sasl *out, char *why, size_t why_size)
{
    struct sasl_login *dials;
    int rc;

    *out = (struct member_sasl){.is_required = c->member_sasl.required};
    if (!c->member_sasl.enabled || !config_is_ensemble(c)) {
        return PAWL_OK;
    }
    rc = member_login(c, true, &out->accepts, why, why_size);
    if (rc != PAWL_OK) {
        return rc;
    }
    rc = member_login(c, false, &dials, why, why_size);
    if (rc != PAWL_OK) {
        sasl_login_unref(out->accepts);
        *out = (struct member_sasl){0};
    } else if (c->member_sasl.dials) {
        out->dials = dials;
    } else {
        sasl_login_unref(dials);
    }
    return rc;
}

static void members_fini(struct member_sasl *m)
{
    sasl_login_unref(m->accepts);
    sasl_login_unref(m->dials);
    *m = (struct member_sasl){0};
}

/* ---- checks ---- */

bool logins_has_clients(const struct config *c)
{
    char why[LOGINS_WHY_BYTES];
    struct sasl_login *l;
    const char *key;
    bool has;

    has = clients_of(c, &l, &key, why, sizeof(why)) != PAWL_OK || l != NULL;
    sasl_login_unref(l);
    return has; /* what is wrong with the files is said elsewhere */
}

/* Passwords that everybody on the machine can read. */
static void warn_of_mode(struct config *c, const char *key, const char *path)
{
    struct config_place place = config_place_of(c, key);
    struct stat st;

    if (path != NULL && stat(path, &st) == 0 && (st.st_mode & 07) != 0) {
        config_warn(c, &place, key, "%s has passwords, and everybody may read it: chmod 0600 %s",
                    path, path);
    }
}

static void warn_unused(struct config *c, const char *key, const char *sentence)
{
    struct config_place place = config_place_of(c, key);

    if (config_is_given(c, key)) {
        config_warn(c, &place, key, "%s", sentence);
    }
}

/* Names and rules for clients that cannot come. */
static void warn_without_clients(struct config *c)
{
    static const char *const keys[] = {"superUser", "allowSaslFailedClients", "letAnySaslUserDoX",
                                       "SASLAuthenticationProvider.superPassword"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        warn_unused(c, keys[i],
                    "has no effect: no client can authenticate with SASL, "
                    "as there is neither a section Server in a JAAS file "
                    "(java.security.auth.login.config) nor sasl.userFile");
    }
}

static void check_members(struct config *c, struct config_lines *errors)
{
    struct config_place place = config_place_of(c, "quorum.auth.enableSasl");
    char why[LOGINS_WHY_BYTES];
    struct member_sasl m;

    if (members_of(c, &m, why, sizeof(why)) != PAWL_OK) {
        config_fault(errors, &place, "quorum.auth.enableSasl", "%s", why);
        return;
    }
    if (m.accepts != NULL && !m.is_required) {
        config_warn(c, &place, "quorum.auth.enableSasl",
                    "members without a password are let in until quorum.auth.serverRequireSasl is "
                    "true as well");
    }
    warn_of_mode(c, LOGIN_KEY, c->member_sasl.login_path);
    members_fini(&m);
}

void logins_check(struct config *c, struct config_lines *errors)
{
    char why[LOGINS_WHY_BYTES];
    struct sasl_login *l;
    const char *key;

    check_members(c, errors);

    if (clients_of(c, &l, &key, why, sizeof(why)) != PAWL_OK) {
        struct config_place place = config_place_of(c, key);

        config_fault(errors, &place, key, "%s", why);
        return;
    }
    if (l == NULL) {
        warn_without_clients(c);
    } else {
        warn_of_mode(c, JAAS_KEY, path_of(c->sasl.jaas_path));
        warn_of_mode(c, USERS_KEY, c->sasl.users_path);
    }
    if (l == NULL && c->sasl.required) {
        struct config_place place = config_place_of(c, "sessionRequireClientSASLAuth");

        config_fault(errors, &place, "sessionRequireClientSASLAuth",
                     "no client could come: name the users in a JAAS file "
                     "(java.security.auth.login.config, section %s) or in sasl.userFile",
                     c->sasl.section);
    }
    sasl_login_unref(l);
}

/* ---- the gate ---- */

static void *gate_begin(struct sasl_gate *g)
{
    struct logins *l = (struct logins *)((char *)g - offsetof(struct logins, gate));

    return sasl_exchange_accept(l->clients, SASL_CLIENT_AND_SERVER);
}

static int gate_step(void *exchange, struct bytes token, struct bytes *out)
{
    return sasl_exchange_step(exchange, token, out);
}

static const char *gate_name(const void *exchange)
{
    return sasl_exchange_name(exchange);
}

static const char *gate_error(const void *exchange)
{
    return sasl_exchange_error(exchange);
}

static void gate_end(void *exchange)
{
    sasl_exchange_free(exchange);
}

/* ---- life ---- */

static void stamp_all(const struct config *c, struct secure_stamp *out)
{
    secure_stamp_of(path_of(c->sasl.jaas_path), &out[0]);
    secure_stamp_of(c->sasl.users_path, &out[1]);
    secure_stamp_of(c->member_sasl.login_path, &out[2]);
}

static void take_over(struct logins *l, struct sasl_login *fresh)
{
    sasl_login_unref(l->clients);
    l->clients = fresh;
    log_info("SASL: %zu users may authenticate with DIGEST-MD5", fresh->n_users);
}

int logins_open(struct logins *l, const struct config *c, char *why, size_t why_size)
{
    struct sasl_login *fresh;
    const char *key;
    int rc;

    *l = (struct logins){
        .gate = {gate_begin, gate_step, gate_name, gate_error, gate_end},
    };
    stamp_all(c, l->stamps); /* before they are read: a change behind that is seen */
    rc = clients_of(c, &fresh, &key, why, why_size);
    if (rc == PAWL_OK && fresh != NULL) {
        take_over(l, fresh);
    }
    rc = rc == PAWL_OK ? members_of(c, &l->members, why, why_size) : rc;
    if (rc == PAWL_OK && l->members.accepts != NULL) {
        log_info("SASL: members %s, and those that come %s",
                 l->members.dials != NULL ? "are shown our password" : "are not shown our password",
                 l->members.is_required ? "must show theirs" : "may show theirs");
    }
    return rc;
}

void logins_close(struct logins *l)
{
    members_fini(&l->members);
    sasl_login_unref(l->clients);
    l->clients = NULL;
}

static void reload_members(struct logins *l, const struct config *c)
{
    char why[LOGINS_WHY_BYTES];
    struct member_sasl fresh;

    if (members_of(c, &fresh, why, sizeof(why)) == PAWL_OK) {
        members_fini(&l->members);
        l->members = fresh;
    } else {
        log_error("SASL: the passwords of members have changed but cannot be used, those from "
                  "before stay: %s",
                  why);
    }
}

static void reload_clients(struct logins *l, const struct config *c)
{
    char why[LOGINS_WHY_BYTES] = "nobody is named any more";
    struct sasl_login *fresh;
    const char *key;

    if (clients_of(c, &fresh, &key, why, sizeof(why)) == PAWL_OK && fresh != NULL) {
        take_over(l, fresh);
    } else {
        log_error("SASL: the users have changed but cannot be used, those from before stay: %s: %s",
                  key, why);
    }
}

void logins_look(struct logins *l, const struct config *c, int64_t now_ms, bool now)
{
    struct secure_stamp fresh[LOGINS_FILES];

    if ((l->clients == NULL && l->members.accepts == NULL) ||
        (!now && (!c->sasl.reload || now_ms - l->looked_ms < LOOK_MS))) {
        return;
    }
    l->looked_ms = now_ms;
    stamp_all(c, fresh);
    if (now || memcmp(fresh, l->stamps, sizeof(fresh)) != 0) {
        memcpy(l->stamps, fresh, sizeof(fresh));
        if (l->clients != NULL) {
            reload_clients(l, c);
        }
        if (l->members.accepts != NULL) {
            reload_members(l, c);
        }
    }
}
