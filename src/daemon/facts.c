/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/host_internal.h"
#include "os/socket.h"
#include "store/recovery.h"

struct sizing {
    struct disk *disk;
    int64_t bytes;
};

static void add_file(const char *name, void *arg)
{
    struct sizing *sizing = arg;
    struct disk_file *file;
    char path[512];
    uint64_t size;

    snprintf(path, sizeof(path), "%s/%s", STORE_FOLDER, name);
    if (disk_open(sizing->disk, path, DISK_READ, &file) != 0) {
        return;
    }
    if (disk_size(file, &size) == 0) {
        sizing->bytes += (int64_t)size;
    }
    disk_close(file);
}

static int64_t folder_bytes(struct disk *disk)
{
    struct sizing sizing = {.disk = disk};

    if (disk != NULL) {
        disk_list(disk, STORE_FOLDER, add_file, &sizing);
    }
    return sizing.bytes;
}

static int64_t megabytes(int name)
{
    return (int64_t)sysconf(name) * (int64_t)sysconf(_SC_PAGESIZE) >> 20;
}

static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value == NULL ? otherwise : value;
}

static void collect_system(struct facts_memory *memory, struct server_facts *out)
{
    uname(&memory->system);
    out->host_name = memory->system.nodename;
    out->os_name = memory->system.sysname;
    out->os_arch = memory->system.machine;
    out->os_version = memory->system.release;
    out->user_name = environment("USER", environment("LOGNAME", ""));
    out->user_home = environment("HOME", "");
    out->user_dir = getcwd(memory->work_dir, sizeof(memory->work_dir));
    out->user_dir = out->user_dir == NULL ? "" : out->user_dir;
    out->memory_free_mb = megabytes(_SC_AVPHYS_PAGES);
    out->memory_total_mb = megabytes(_SC_PHYS_PAGES);
    out->memory_max_mb = out->memory_total_mb;
    count_open_files(&out->n_open_files, &out->max_open_files);
}

void facts_collect(void *arg, struct server_facts *out)
{
    struct host *h = arg;
    struct facts_memory *memory = &h->facts;
    const struct config *c = h->config;

    out->client_port = h->port;
    out->secure_client_port = -1;
    out->listen_backlog = c->net.backlog;
    snprintf(memory->data_dir, sizeof(memory->data_dir), "%s/%s",
             h->in_memory ? "" : c->store.data_dir, STORE_FOLDER);
    snprintf(memory->log_dir, sizeof(memory->log_dir), "%s/%s",
             h->in_memory ? "" : c->store.log_dir, STORE_FOLDER);
    out->data_dir = memory->data_dir;
    out->log_dir = memory->log_dir;
    out->data_dir_bytes = folder_bytes(h->data_disk);
    out->log_dir_bytes =
        h->log_disk == h->data_disk ? out->data_dir_bytes : folder_bytes(h->log_disk);
    collect_system(memory, out);
}
