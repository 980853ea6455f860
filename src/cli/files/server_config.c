/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/server_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int server_config_read(struct server_config *c, const char *file)
{
    int rc;

    c->file = file;
    config_init(&c->config);
    config_lines_init(&c->errors);
    rc = config_read_file(&c->config, file, &c->errors);
    return rc == 0 ? config_finish(&c->config, &c->errors) : rc;
}

void server_config_fini(struct server_config *c)
{
    config_lines_fini(&c->errors);
    config_fini(&c->config);
}

bool server_config_place(const struct server_config *c, struct server_place *out)
{
    const char *address = c->config.net.client_address;

    if (c->config.net.client_port > 0) {
        bool is_any =
            address == NULL || strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;

        *out = (struct server_place){.name = (char *)(uintptr_t)(is_any ? "localhost" : address),
                                     .port = c->config.net.client_port};
        return true;
    }
    *out = (struct server_place){.name = c->config.net.unix_socket};
    return out->name != NULL;
}

/* The name that zkServer.sh uses. */
void server_process_file(const struct server_config *c, struct strbuf *out)
{
    strbuf_printf(out, "%s/zookeeper_server.pid", c->config.store.data_dir);
}

static bool is_name_of_server(const char *name)
{
    return strncmp(name, "pawld", 5) == 0;
}

/* What everybody may know of a process; its program only who may trace it. */
static int is_server_by_name(int pid)
{
    char path[64], name[32] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return errno == ENOENT ? 0 : -1;
    }
    if (fgets(name, sizeof(name), file) == NULL) {
        name[0] = '\0'; /* it has just ended */
    }
    fclose(file);
    return is_name_of_server(name);
}

/* A number may have come to belong to somebody else since it was written. 1, 0, or -1 with errno.
 */
static int is_server(int pid)
{
    char link[64], program[512];
    const char *name;
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/%d/exe", pid);
    n = readlink(link, program, sizeof(program) - 1);
    if (n < 0) {
        return errno == ENOENT || errno == ESRCH ? 0 : is_server_by_name(pid);
    }
    program[n] = '\0';
    name = strrchr(program, '/');
    return is_name_of_server(name != NULL ? name + 1 : program);
}

/* The number in the file; 0: no file, or none in it; -1 with errno. */
static int saved_process(const struct server_config *c)
{
    struct strbuf path;
    FILE *file;
    int pid = 0;

    strbuf_init(&path, STRBUF_NO_LIMIT);
    server_process_file(c, &path);
    file = fopen(strbuf_cstr(&path), "re");
    strbuf_fini(&path);
    if (file == NULL) {
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    }
    if (fscanf(file, "%d", &pid) != 1 || pid <= 1) {
        pid = ferror(file) ? -1 : 0;
    }
    fclose(file);
    return pid;
}

int server_process(const struct server_config *c)
{
    int pid = saved_process(c);
    int is_one = pid > 0 ? is_server(pid) : 0;

    if (pid < 0 || is_one < 0) {
        return -1;
    }
    return is_one ? pid : 0;
}
