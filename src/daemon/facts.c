/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/host_internal.h"
#include "os/socket.h"
#include "store/recovery.h"

enum { REFRESH_MS = 1000 };

/* ---- what changes: measured on whatever thread ---- */

struct sizing {
    struct disk *disk;
    int64_t bytes;
};

static void facts_add_file(const char *name, void *arg)
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

static int64_t facts_folder_bytes(struct disk *disk)
{
    struct sizing sizing = {.disk = disk};

    if (disk != NULL) {
        disk_list(disk, STORE_FOLDER, facts_add_file, &sizing);
    }
    return sizing.bytes;
}

static int64_t facts_megabytes(int name)
{
    return (int64_t)sysconf(name) * (int64_t)sysconf(_SC_PAGESIZE) >> 20;
}

static void facts_measure(void *host)
{
    struct host *h = host;
    struct facts_measured m = {.memory_free_mb = facts_megabytes(_SC_AVPHYS_PAGES)};

    m.data_bytes = facts_folder_bytes(h->data_disk);
    m.log_bytes = h->log_disk == h->data_disk ? m.data_bytes : facts_folder_bytes(h->log_disk);
    count_open_files(&m.n_open_files, &m.max_open_files);
    pthread_mutex_lock(&h->facts.lock);
    h->facts.measured = m;
    h->facts.n_measured++;
    pthread_mutex_unlock(&h->facts.lock);
}

/* ---- the loop ---- */

void facts_look(struct host *h)
{
    struct facts *f = &h->facts;
    struct facts_measured m;
    bool is_news;

    pthread_mutex_lock(&f->lock);
    m = f->measured;
    is_news = f->n_measured != f->n_seen;
    f->n_seen = f->n_measured;
    pthread_mutex_unlock(&f->lock);
    if (!is_news) {
        return;
    }
    f->asked = false;
    f->known.data_dir_bytes = m.data_bytes;
    f->known.log_dir_bytes = m.log_bytes;
    f->known.n_open_files = m.n_open_files;
    f->known.max_open_files = m.max_open_files;
    f->known.memory_free_mb = m.memory_free_mb;
    if (h->txnlog != NULL) {
        struct txnlog_progress p;

        txnlog_thread_progress(h->txnlog, &p);
        f->known.n_slow_syncs = p.n_slow_syncs;
    }
    host_step(h, &(struct member_input){.kind = MEMBER_FACTS, .facts = &f->known});
}

static void facts_on_timer(uv_timer_t *timer)
{
    struct host *h = timer->data;

    if (h->options.keeps_nothing) {
        facts_measure(h);
        facts_look(h);
    } else if (!h->facts.asked) {
        h->facts.asked = true;
        snapshot_thread_call(h->snapshots, facts_measure, h);
    }
}

/* ---- what stays as it is ---- */

static const char *facts_environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value == NULL ? otherwise : value;
}

static void facts_fill_system(struct facts *f)
{
    struct server_facts *k = &f->known;

    uname(&f->system);
    k->host_name = f->system.nodename;
    k->os_name = f->system.sysname;
    k->os_arch = f->system.machine;
    k->os_version = f->system.release;
    k->user_name = facts_environment("USER", facts_environment("LOGNAME", ""));
    k->user_home = facts_environment("HOME", "");
    k->user_dir = getcwd(f->work_dir, sizeof(f->work_dir));
    k->user_dir = k->user_dir == NULL ? "" : k->user_dir;
    k->memory_total_mb = facts_megabytes(_SC_PHYS_PAGES);
    k->memory_max_mb = k->memory_total_mb;
}

static void facts_fill_host(struct host *h)
{
    struct facts *f = &h->facts;
    const struct config *c = h->config;

    f->known.client_port = h->port;
    f->known.secure_client_port = h->secure_port;
    f->known.listen_backlog = c->net.backlog;
    snprintf(f->data_dir, sizeof(f->data_dir), "%s/%s",
             h->options.keeps_nothing ? "" : c->store.data_dir, STORE_FOLDER);
    snprintf(f->log_dir, sizeof(f->log_dir), "%s/%s",
             h->options.keeps_nothing ? "" : c->store.log_dir, STORE_FOLDER);
    f->known.data_dir = f->data_dir;
    f->known.log_dir = f->log_dir;
}

/* Who is in no list any more listens where it did. */
static void facts_fill_ensemble(struct host *h)
{
    struct facts *f = &h->facts;
    const struct quorum_config *q = host_members(h);
    int index = quorum_config_find(q, h->config->ensemble.my_id);

    strbuf_clear(&f->membership);
    quorum_config_write(q, &f->membership);
    f->known.membership = strbuf_cstr(&f->membership);
    f->known.server_id = h->config->ensemble.my_id;
    f->known.init_limit = h->config->ensemble.init_limit;
    f->known.sync_limit = h->config->ensemble.sync_limit;
    if (index >= 0) {
        f->known.quorum_port = q->member[index].address[0].quorum_port;
        f->known.election_port = q->member[index].address[0].election_port;
        f->known.observer = q->member[index].observer;
    }
}

void facts_changed(struct host *h)
{
    if (h->peers != NULL) {
        facts_fill_ensemble(h);
    }
    h->facts.known.client_port = h->port;
    host_step(h, &(struct member_input){.kind = MEMBER_FACTS, .facts = &h->facts.known});
}

void facts_fini(struct facts *f)
{
    strbuf_fini(&f->membership);
}

void facts_start(struct host *h)
{
    pthread_mutex_init(&h->facts.lock, NULL);
    facts_fill_system(&h->facts);
    facts_fill_host(h);
    if (config_is_ensemble(h->config)) {
        strbuf_init(&h->facts.membership, STRBUF_NO_LIMIT);
        facts_fill_ensemble(h);
    }
    facts_measure(h);
    facts_look(h);
    uv_timer_start(&h->refresh, facts_on_timer, REFRESH_MS, REFRESH_MS);
}
