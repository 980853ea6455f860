/* SPDX-License-Identifier: Apache-2.0 */
/* follow.c - takes the list of servers from /zookeeper/config, as Curator's EnsembleTracker does.
 *
 * Each line "server.N=host:port:port[:role];[address:]clientPort" gives one; without a client
 * address, or with a wildcard, it is the member's own host. A standalone server has no such lines,
 * and then the list stays as it is. */
#include "client/follow.h"

#include "client/engine.h"

static bool is_wildcard(struct bytes host)
{
    return bytes_equal_str(host, "0.0.0.0") || bytes_equal_str(host, "::") ||
           bytes_equal_str(host, "0:0:0:0:0:0:0:0") || bytes_equal_str(host, "[::]") ||
           bytes_equal_str(host, "[0:0:0:0:0:0:0:0]") || host.len == 0;
}

/* Up to the last ':' (a port follows), or a bracketed address. */
static struct bytes host_part(struct bytes b)
{
    const uint8_t *end;

    if (b.len > 0 && b.data[0] == '[') {
        end = memchr(b.data, ']', b.len);
        return end == NULL ? bytes_of(b.data, 0) : bytes_of(b.data, (size_t)(end - b.data) + 1);
    }
    end = b.len == 0 ? NULL : memchr(b.data, ':', b.len);
    return end == NULL ? bytes_of(b.data, 0) : bytes_of(b.data, (size_t)(end - b.data));
}

static void add_member(struct strbuf *out, struct bytes line)
{
    const uint8_t *equals = memchr(line.data, '=', line.len);
    const uint8_t *semicolon = memchr(line.data, ';', line.len);
    struct bytes member, client, host, port;

    if (!bytes_starts_with(line, "server.") || equals == NULL || semicolon == NULL ||
        semicolon < equals) {
        return;
    }
    member = bytes_of(equals + 1, (size_t)(semicolon - equals) - 1);
    client = bytes_of(semicolon + 1, line.len - (size_t)(semicolon - line.data) - 1);
    host = host_part(client);
    port = client;
    if (host.len > 0) {
        port = bytes_of(client.data + host.len + 1, client.len - host.len - 1);
    }
    if (is_wildcard(host)) {
        host = host_part(member);
    }
    if (host.len > 0 && port.len > 0) {
        strbuf_append_str(out, out->len == 0 ? "" : ",");
        strbuf_append_bytes(out, host);
        strbuf_append_str(out, ":");
        strbuf_append_bytes(out, port);
    }
}

static void parse_config(struct bytes text, struct strbuf *out)
{
    while (text.len > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.len);
        size_t len = end == NULL ? text.len : (size_t)(end - text.data);

        if (len > 0) {
            add_member(out, bytes_of(text.data, len));
        }
        len += end == NULL ? 0 : 1;
        text = bytes_of(text.data + len, text.len - len);
    }
}

static void read_config(struct pawl_client *c);

static void config_changed(const struct pawl_event *event, void *arg)
{
    if (event->type == PAWL_EVENT_DATA_CHANGED) {
        read_config(arg);
    }
}

static void config_read(const struct pawl_reply *reply, void *arg)
{
    struct strbuf servers;

    if (reply->err != 0 || reply->data.data == NULL) {
        return;
    }
    strbuf_init(&servers, STRBUF_NO_LIMIT);
    parse_config(bytes_of(reply->data.data, reply->data.len), &servers);
    if (servers.len > 0 && !servers.failed) {
        pawl_client_set_servers(arg, strbuf_cstr(&servers));
    }
    strbuf_fini(&servers);
}

static void read_config(struct pawl_client *c)
{
    struct pawl_watch watch = {config_changed, c};

    pawl_config_async(c, &watch, config_read, c);
}

static void state_changed(struct pawl_client *c, enum pawl_state state, void *arg)
{
    (void)arg;
    if (state == PAWL_STATE_CONNECTED || state == PAWL_STATE_RECONNECTED) {
        read_config(c);
    }
}

int follow_config(struct engine *e)
{
    return pawl_client_add_listener(e->face, state_changed, NULL);
}
