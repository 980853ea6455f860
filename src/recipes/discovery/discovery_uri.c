/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/take.h"
#include "recipes/discovery/discovery.h"

static struct bytes uri_trimmed(const char *start, size_t len)
{
    while (len > 0 && start[0] == ' ') {
        start++;
        len--;
    }
    while (len > 0 && start[len - 1] == ' ') {
        len--;
    }
    return bytes_of(start, len);
}

/* As Curator cuts it: an empty "{}" is no part at all. */
int uri_spec_next(const char **spec, struct bytes *value, bool *variable)
{
    const char *s = *spec;
    size_t len;

    while (s[0] == '{' && s[1] == '}') {
        s += 2;
    }
    if (s[0] == '\0') {
        return 0;
    }
    *variable = s[0] == '{';
    s += *variable;
    len = strcspn(s, "{}");
    if (*variable ? s[len] != '}' : s[len] == '}') {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    *value = *variable ? uri_trimmed(s, len) : bytes_of(s, len);
    *spec = s + len + *variable;
    return 1;
}

/* ---- the URI ---- */

static void append_type(struct strbuf *out, enum pawl_service_type type)
{
    static const char *const names[] = {"dynamic", "static", "permanent", "dynamic_sequential"};

    strbuf_append_str(out, (size_t)type < 4 ? names[type] : names[0]);
}

static void append_port(struct strbuf *out, int port)
{
    if (port != 0) {
        strbuf_printf(out, "%d", port);
    }
}

static void append_text(struct strbuf *out, const char *text)
{
    strbuf_append_str(out, text == NULL ? "" : text);
}

static void append_known(struct strbuf *out, const struct pawl_instance *i, struct bytes name)
{
    if (bytes_equal_str(name, "scheme")) {
        append_text(out, i->ssl_port != 0 ? "https" : "http");
    } else if (bytes_equal_str(name, "name")) {
        append_text(out, i->name);
    } else if (bytes_equal_str(name, "id")) {
        append_text(out, i->id);
    } else if (bytes_equal_str(name, "address")) {
        append_text(out, i->address);
    } else if (bytes_equal_str(name, "port")) {
        append_port(out, i->port);
    } else if (bytes_equal_str(name, "ssl-port")) {
        append_port(out, i->ssl_port);
    } else if (bytes_equal_str(name, "registration-time-utc")) {
        strbuf_printf(out, "%" PRId64, i->registered_ms);
    } else if (bytes_equal_str(name, "service-type")) {
        append_type(out, i->type);
    } else if (bytes_equal_str(name, "[") || bytes_equal_str(name, "]")) {
        append_text(out, name.data[0] == '[' ? "{" : "}");
    }
}

static void append_variable(struct strbuf *out, const struct pawl_instance *i, struct bytes name,
                            const struct pawl_uri_variable *more, size_t n_more)
{
    for (size_t k = 0; k < n_more; k++) {
        if (bytes_equal_str(name, more[k].name)) {
            append_text(out, more[k].value);
            return;
        }
    }
    append_known(out, i, name);
}

int pawl_instance_uri(const struct pawl_instance *given, const struct pawl_uri_variable *more,
                      size_t n_more, char *out, size_t size)
{
    struct pawl_instance i;
    struct strbuf uri;
    struct bytes value;
    const char *spec;
    bool variable;
    int rc;

    if (given == NULL || !take_is_good(given) || (out == NULL && size > 0)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    i = instance_taken(given);
    spec = i.uri_spec == NULL ? "" : i.uri_spec;
    strbuf_init(&uri, INT32_MAX);
    while ((rc = uri_spec_next(&spec, &value, &variable)) == 1) {
        if (variable) {
            append_variable(&uri, &i, value, more, n_more);
        } else {
            strbuf_append_bytes(&uri, value);
        }
    }
    rc = uri.failed ? PAWL_ERR_NO_MEMORY : rc;
    if (rc == 0) {
        rc = snprintf(out, size, "%s", strbuf_cstr(&uri));
    }
    strbuf_fini(&uri);
    return rc;
}
