/* SPDX-License-Identifier: Apache-2.0 */
/* embedded_server.c - a server inside this program: started in memory, used through the client as
 * any other server would be, and stopped.
 *
 *   cc -std=c99 embedded_server.c $(pkg-config --cflags --libs pawl)
 *
 * C99 and C++11 alike. */
#include <stdio.h>
#include <string.h>

#include <pawl/pawl.h>

#include "usage.h"

static int failed(const char *what, int rc)
{
    fprintf(stderr, "%s: %s\n", what, pawl_strerror(rc));
    return 1;
}

/* ---- what a client does ---- */

static int create_node(struct pawl_client *client, const char *path, const char *text)
{
    struct pawl_create request; /* in C alone: PAWL_CREATE(.path = path, ...) */

    memset(&request, 0, sizeof(request));
    request.size = sizeof(request);
    request.path = path;
    request.data = pawl_str(text);
    return pawl_create(client, &request, NULL);
}

static int print_node(struct pawl_client *client, const char *path)
{
    struct pawl_reply *reply;
    int rc = pawl_get(client, path, NULL, &reply);

    if (rc == PAWL_OK) {
        printf("%s: \"%.*s\"\n", path, (int)reply->data.len, (const char *)reply->data.data);
    }
    pawl_reply_free(reply);
    return rc;
}

static int greet(const char *servers)
{
    struct pawl_client *client;
    int rc;

    if (pawl_open(servers, &client) != PAWL_OK) {
        fprintf(stderr, "%s\n", pawl_open_error());
        return 1;
    }
    rc = create_node(client, "/greeting", "hello from inside");
    if (rc == PAWL_OK) {
        rc = print_node(client, "/greeting");
    }
    pawl_client_close(client);
    return rc == PAWL_OK ? 0 : failed("/greeting", rc);
}

/* ---- the server ---- */

static void print_line(enum pawl_log_level level, const char *line, void *arg)
{
    (void)level;
    fprintf(stdout, "%s: %s\n", (const char *)arg, line);
}

int main(int argc, char **argv)
{
    const char *properties[] = {"tickTime=500", "maxClientCnxns=10"};
    char name[] = "server";
    struct pawl_server_options options;
    struct pawl_server *server;
    char why[512];
    int rc, stopped;

    check_arguments(argc, argv, 0, "embedded_server");
    pawl_server_options_init(&options);
    options.in_memory = 1;
    options.properties = properties;
    options.n_properties = sizeof(properties) / sizeof(properties[0]);
    options.log = print_line;
    options.log_arg = name;
    if (pawl_server_start(&options, &server, why, sizeof(why)) != PAWL_OK) {
        fprintf(stderr, "no server: %s\n", why);
        return 1;
    }
    printf("serving at %s\n", pawl_server_address(server));
    rc = greet(pawl_server_address(server));
    stopped = pawl_server_stop(server);
    if (stopped != PAWL_OK) {
        return failed("the server stopped by itself", stopped);
    }
    printf("stopped\n");
    return rc;
}
