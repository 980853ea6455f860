/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* explicit_bzero() */
#include "sasl/login.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pawl/error.h"
#include "sasl/jaas.h"

/* Who reads them all at each login would feel more. */
enum { MAX_USERS = 10000 };

/* ---- life ---- */

void sasl_login_wipe(void *data, size_t len)
{
    if (len > 0) {
        explicit_bzero(data, len);
    }
}

static void wipe(char *secret)
{
    if (secret != NULL) {
        explicit_bzero(secret, strlen(secret));
        free(secret);
    }
}

struct sasl_login *sasl_login_new(void)
{
    struct sasl_login *l = calloc(1, sizeof(*l));

    if (l != NULL) {
        l->refs = 1;
    }
    return l;
}

void sasl_login_ref(struct sasl_login *l)
{
    atomic_fetch_add(&l->refs, 1);
}

void sasl_login_unref(struct sasl_login *l)
{
    if (l == NULL || atomic_fetch_sub(&l->refs, 1) > 1) {
        return;
    }
    for (size_t i = 0; i < l->n_users; i++) {
        free(l->users[i].name);
        wipe(l->users[i].password);
    }
    free(l->users);
    free(l->name);
    wipe(l->password);
    free(l->principal);
    free(l->keytab);
    free(l->cache);
    free(l);
}

/* ---- parts ---- */

static int complain(char *why, size_t why_size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, why_size, format, args);
    va_end(args);
    return PAWL_ERR_CONFIG;
}

static char *copy(struct bytes text)
{
    char *out = malloc(text.len + 1);

    if (out != NULL) {
        memcpy(out, text.data, text.len);
        out[text.len] = '\0';
    }
    return out;
}

static int replace(char **field, struct bytes value)
{
    char *fresh = copy(value);

    if (fresh == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    wipe(*field);
    *field = fresh;
    return PAWL_OK;
}

static struct sasl_user *find_user(const struct sasl_login *l, struct bytes name)
{
    for (size_t i = 0; i < l->n_users; i++) {
        if (bytes_equal_str(name, l->users[i].name)) {
            return &l->users[i];
        }
    }
    return NULL;
}

const char *sasl_login_password(const struct sasl_login *l, struct bytes name)
{
    const struct sasl_user *u = find_user(l, name);

    return u == NULL ? NULL : u->password;
}

static bool grow(struct sasl_login *l)
{
    struct sasl_user *more;

    if ((l->n_users & (l->n_users + 1)) != 0 && l->n_users != 0) { /* 0, 1, 3, 7, 15, ... */
        return true;
    }
    more = realloc(l->users, (2 * l->n_users + 1) * sizeof(*more));
    if (more != NULL) {
        l->users = more;
    }
    return more != NULL;
}

/* The last of a name counts, as in Java. */
static int add_user(struct sasl_login *l, struct bytes name, struct bytes password)
{
    struct sasl_user *known = find_user(l, name);
    struct sasl_user u;

    if (known != NULL) {
        return replace(&known->password, password);
    }
    u = (struct sasl_user){copy(name), copy(password)};
    if (u.name == NULL || u.password == NULL || !grow(l)) {
        free(u.name);
        wipe(u.password);
        return PAWL_ERR_NO_MEMORY;
    }
    l->users[l->n_users++] = u;
    return PAWL_OK;
}

int sasl_login_change(struct sasl_login *l, const char *name, const char *password)
{
    struct sasl_user *u = find_user(l, bytes_str(name));

    return u == NULL ? PAWL_OK : replace(&u->password, bytes_str(password));
}

/* ---- JAAS ---- */

struct jaas_login {
    struct sasl_login *login;
    bool is_kerberos, is_known; /* the module that is read */
    bool use_keytab;
    int rc;
};

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static int take_kerberos(struct jaas_login *j, const char *option, const char *value)
{
    struct sasl_login *l = j->login;

    if (strcmp(option, "principal") == 0) {
        return replace(&l->principal, bytes_str(value));
    }
    if (strcmp(option, "keyTab") == 0) {
        return replace(&l->keytab, bytes_str(value));
    }
    if (strcmp(option, "ticketCache") == 0) {
        return replace(&l->cache, bytes_str(value));
    }
    j->use_keytab = j->use_keytab || (strcmp(option, "useKeyTab") == 0 && !strcmp(value, "true"));
    return PAWL_OK; /* what is left is about Java's own ways */
}

static int take_digest(struct jaas_login *j, const char *option, const char *value)
{
    struct sasl_login *l = j->login;

    if (strncmp(option, "user_", 5) == 0) {
        return l->n_users == MAX_USERS ? PAWL_ERR_CONFIG
                                       : add_user(l, bytes_str(option + 5), bytes_str(value));
    }
    if (strcmp(option, "username") == 0) {
        return replace(&l->name, bytes_str(value));
    }
    return strcmp(option, "password") == 0 ? replace(&l->password, bytes_str(value)) : PAWL_OK;
}

static bool take_option(void *arg, const char *module, const char *option, const char *value)
{
    struct jaas_login *j = arg;

    if (option == NULL) {
        j->is_kerberos = ends_with(module, "Krb5LoginModule");
        j->is_known = j->is_kerberos || ends_with(module, "DigestLoginModule");
        j->login->is_kerberos = j->login->is_kerberos || j->is_kerberos;
        return true;
    }
    if (j->is_known) {
        j->rc = j->is_kerberos ? take_kerberos(j, option, value) : take_digest(j, option, value);
    }
    return j->rc == PAWL_OK;
}

int sasl_login_read_jaas(struct sasl_login *l, struct bytes text, const char *section, char *why,
                         size_t why_size)
{
    struct jaas_login j = {.login = l};
    struct jaas_error error;
    int n = jaas_parse(text, section, take_option, &j, &error);

    if (j.rc == PAWL_ERR_NO_MEMORY) {
        return complain(why, why_size, "no memory"), j.rc;
    }
    if (n < 0) {
        return complain(why, why_size, "line %d: %s", error.line,
                        j.rc == PAWL_ERR_CONFIG ? "there are too many users" : error.what);
    }
    if (n == 0) {
        return complain(why, why_size, "there is no section %s", section), PAWL_ERR_NOT_FOUND;
    }
    if (!l->is_kerberos && l->n_users == 0 && l->name == NULL) {
        return complain(why, why_size,
                        "section %s has neither user_NAME nor username and password of a "
                        "DigestLoginModule, nor a Krb5LoginModule",
                        section);
    }
    if (l->is_kerberos && !j.use_keytab && l->keytab != NULL) {
        return complain(why, why_size, "section %s: keyTab without useKeyTab=true has no effect",
                        section);
    }
    return PAWL_OK;
}

/* ---- lines of names and passwords ---- */

/* Takes the next line off the front. */
static struct bytes next_line(struct bytes *text)
{
    const uint8_t *end = memchr(text->data, '\n', text->len);
    struct bytes line = bytes_of(text->data, end == NULL ? text->len : (size_t)(end - text->data));
    size_t taken = end == NULL ? text->len : line.len + 1;

    *text = bytes_of(text->data + taken, text->len - taken);
    while (line.len > 0 && line.data[line.len - 1] == '\r') {
        line.len--;
    }
    return line;
}

typedef int (*user_fn)(struct sasl_login *l, struct bytes name, struct bytes password);

static int take_line(struct sasl_login *l, struct bytes line, int number, user_fn take, char *why,
                     size_t why_size)
{
    const uint8_t *colon = memchr(line.data, ':', line.len);
    size_t len = colon == NULL ? 0 : (size_t)(colon - line.data);
    int rc;

    if (memchr(line.data, '\0', line.len) != NULL) {
        return complain(why, why_size, "line %d has a NUL in it", number);
    }
    if (len == 0 || len + 1 == line.len) {
        return complain(why, why_size, "line %d is not of the form NAME:PASSWORD", number);
    }
    if (l->n_users == MAX_USERS) {
        return complain(why, why_size, "line %d: there are too many users", number);
    }
    rc = take(l, bytes_of(line.data, len), bytes_of(colon + 1, line.len - len - 1));
    return rc == PAWL_OK ? PAWL_OK : (complain(why, why_size, "no memory"), rc);
}

/* `n`: how many lines were somebody's. */
static int read_lines(struct sasl_login *l, struct bytes text, user_fn take, int *n, char *why,
                      size_t why_size)
{
    *n = 0;
    for (int number = 1; text.len > 0; number++) {
        struct bytes line = next_line(&text);
        int rc;

        if (line.len == 0 || line.data[0] == '#') {
            continue;
        }
        rc = take_line(l, line, number, take, why, why_size);
        if (rc != PAWL_OK) {
            return rc;
        }
        (*n)++;
    }
    return PAWL_OK;
}

int sasl_login_read_users(struct sasl_login *l, struct bytes text, char *why, size_t why_size)
{
    int n;

    return read_lines(l, text, add_user, &n, why, why_size);
}

static int take_self(struct sasl_login *l, struct bytes name, struct bytes password)
{
    int rc;

    if (l->name != NULL) {
        return PAWL_OK;
    }
    rc = replace(&l->name, name);
    return rc == PAWL_OK ? replace(&l->password, password) : rc;
}

int sasl_login_set_self(struct sasl_login *l, const char *name, const char *password)
{
    return take_self(l, bytes_str(name), bytes_str(password));
}

int sasl_login_read_self(struct sasl_login *l, struct bytes text, char *why, size_t why_size)
{
    int n;
    int rc = read_lines(l, text, take_self, &n, why, why_size);

    if (rc == PAWL_OK && n == 0) {
        return complain(why, why_size, "there is no line of the form NAME:PASSWORD");
    }
    return rc;
}
