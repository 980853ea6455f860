/* SPDX-License-Identifier: Apache-2.0 */
/* restore.c - a snapshot over HTTP takes the place of all data of a server that stands alone.
 *
 * It is written to a file of the data folder as it comes, and read back by a thread of its own,
 * while the server serves on. If it makes a tree it gets the name under which a leader's snapshot
 * waits for its place (store/received.h), and the server is stopped and opened again on its folder:
 * whenever the power goes, a start finds the old data or the new ones. What was there before is
 * kept in files named replaced.*. */
#include <inttypes.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/statvfs.h>

#include "admin/admin_internal.h"
#include "base/assert.h"
#include "base/logging.h"
#include "daemon/config.h"
#include "daemon/options.h"
#include "os/clock.h"
#include "os/disk_posix.h"
#include "pawl/error.h"
#include "store/received.h"
#include "store/recovery.h"

#define UPLOAD STORE_FOLDER "/tmp.snapshot.restore" /* a start removes it */

void restore_init(struct admin *a)
{
    a->restoring.admin = a;
}

static void close_disks(struct restoring *r)
{
    disk_close(r->file);
    if (r->log_disk != r->disk) {
        disk_posix_close(r->log_disk);
    }
    disk_posix_close(r->disk);
    r->file = NULL;
    r->disk = r->log_disk = NULL;
}

static void give_up(struct restoring *r)
{
    disk_close(r->file);
    r->file = NULL;
    if (r->disk != NULL) {
        disk_remove(r->disk, UPLOAD);
    }
    close_disks(r);
    r->state = RESTORE_IDLE;
}

void restore_fini(struct admin *a)
{
    struct restoring *r = &a->restoring;

    if (r->state == RESTORE_CHECKING) {
        thread_join(r->thread);
    }
    if (r->state != RESTORE_RESTARTING) {
        give_up(r);
    }
    close_disks(r);
}

static void answer(struct restoring *r, unsigned status)
{
    struct exchange *x = r->asker;
    struct response *response;
    struct strbuf body;

    r->asker = NULL;
    if (x == NULL) {
        return;
    }
    strbuf_init(&body, ADMIN_ANSWER_MAX);
    if (status == 200) {
        command_tell_zxid(x->command, r->zxid, &body);
    } else {
        command_refuse(command_name(x->command), NULL, &body);
    }
    response = response_new(r->admin, &body, "application/json", &status);
    exchange_answer(x, status, response);
    response_unref(response);
    strbuf_fini(&body);
}

/* ---- it comes ---- */

/* The server's log needs the disk, too: half of what is free is the most. */
static uint64_t most_bytes(const struct config *c)
{
    struct statvfs s;

    return statvfs(c->store.data_dir, &s) == 0 ? (uint64_t)s.f_bavail * s.f_frsize / 2 : 0;
}

static int open_disks(struct restoring *r, const struct config *c)
{
    bool is_one = strcmp(c->store.data_dir, c->store.log_dir) == 0;
    int rc = disk_posix_open(c->store.data_dir, false, &r->disk);

    if (rc == PAWL_OK && !is_one) {
        rc = disk_posix_open(c->store.log_dir, false, &r->log_disk);
    } else if (rc == PAWL_OK) {
        r->log_disk = r->disk;
    }
    if (rc != PAWL_OK) {
        log_warn("admin server: restore: %s", disk_posix_open_error());
        return rc;
    }
    rc = disk_open(r->disk, UPLOAD, DISK_CREATE, &r->file);
    if (rc != PAWL_OK) {
        log_warn("admin server: restore: %s", disk_last_error(r->disk));
    }
    return rc;
}

void restore_begin(struct admin *a, struct exchange *x)
{
    struct restoring *r = &a->restoring;

    if (r->state != RESTORE_IDLE) {
        struct restoring refused = {.admin = a, .asker = x};

        answer(&refused, 429);
        return;
    }
    *r = (struct restoring){
        .admin = a, .asker = x, .state = RESTORE_RECEIVING, .limit_bytes = most_bytes(a->config)};
    if (open_disks(r, a->config) != PAWL_OK) {
        answer(r, 500);
        give_up(r);
        return;
    }
    log_info("admin server: a snapshot comes in, to be restored");
    x->state = EXCHANGE_ALLOWED;
    MHD_resume_connection(x->connection);
}

bool restore_take(struct admin *a, const void *data, size_t len)
{
    struct restoring *r = &a->restoring;

    ASSERT(r->state == RESTORE_RECEIVING);
    if (len > r->limit_bytes - r->bytes) {
        log_warn("admin server: restore: it is longer than the %" PRIu64
                 " bytes that are half of the free space",
                 r->limit_bytes);
        return false;
    }
    if (disk_write(r->file, r->bytes, data, len) != PAWL_OK) {
        log_warn("admin server: restore: %s", disk_last_error(r->disk));
        return false;
    }
    r->bytes += len;
    if (r->bytes - r->counted >= ADMIN_STREAM_BYTES) {
        r->counted = r->bytes;
        exchange_link(r->asker)->since_us = clock_monotonic_us();
    }
    return true;
}

/* ---- it is checked, on a thread of its own ---- */

static int check(struct restoring *r)
{
    struct snapshot_read_options options;
    struct recovery_options recovery;
    struct snapshot_info info;
    struct tree *tree;
    int rc;

    options_for_recovery(r->admin->config, &recovery);
    options = (struct snapshot_read_options){recovery.tree, recovery.limit_bytes};
    rc = disk_sync(r->file);
    if (rc == PAWL_OK) {
        rc = snapshot_load(r->disk, UPLOAD, &options, &tree, &info);
    }
    if (rc == PAWL_ERR_CORRUPT) {
        log_warn("admin server: restore: what was sent is no snapshot: %s", info.reason);
        return rc;
    }
    if (rc != PAWL_OK) {
        return rc;
    }
    tree_free(tree);
    r->zxid = info.last_zxid;
    if (info.last_zxid < 0) {
        log_warn("admin server: restore: the snapshot does not tell its zxid, as those of 3.9 do");
        return PAWL_ERR_CORRUPT;
    }
    return PAWL_OK;
}

static void *check_and_adopt(void *arg)
{
    struct restoring *r = arg;
    int wake_fd = r->admin->wake_fd;

    r->rc = check(r);
    if (r->rc == PAWL_OK) {
        r->rc = received_adopt(r->disk, r->log_disk, STORE_FOLDER, UPLOAD, r->zxid);
    }
    if (r->rc != PAWL_OK && r->rc != PAWL_ERR_CORRUPT) {
        log_warn("admin server: restore: %s", disk_last_error(r->disk));
    }
    atomic_store(&r->is_checked, true);
    eventfd_write(wake_fd, 1);
    return NULL;
}

void restore_whole(struct admin *a)
{
    struct restoring *r = &a->restoring;

    ASSERT(r->state == RESTORE_RECEIVING);
    r->state = RESTORE_CHECKING;
    atomic_store(&r->is_checked, false);
    if (thread_start(&r->thread, "pawl-restore", 0, check_and_adopt, r) != PAWL_OK) {
        log_warn("admin server: restore: no thread can be started");
        give_up(r);
        answer(r, 500);
    }
}

/* ---- it counts ---- */

static void restart(struct restoring *r)
{
    struct host *host = atomic_load(&r->admin->host);

    log_info("a restore: all data are replaced by the snapshot 0x%" PRIx64 "; the server is opened "
             "again on it",
             (uint64_t)r->zxid);
    r->state = RESTORE_RESTARTING;
    close_disks(r);
    atomic_store(&r->admin->restart_wanted, true);
    host_stop(host);
}

void restore_turn(struct admin *a)
{
    struct restoring *r = &a->restoring;

    if (r->asker != NULL && r->state >= RESTORE_CHECKING) { /* who waits for it is not slow */
        exchange_link(r->asker)->since_us = clock_monotonic_us();
    }
    if (r->state == RESTORE_CHECKING && atomic_load(&r->is_checked)) {
        thread_join(r->thread);
        if (r->rc == PAWL_OK) {
            restart(r);
        } else {
            give_up(r);
            answer(r, 500);
        }
    } else if (r->state == RESTORE_RESTARTING && !atomic_load(&a->restart_wanted) &&
               !atomic_load(&a->let_go_wanted) && atomic_load(&a->host) != NULL) {
        r->state = RESTORE_IDLE;
        answer(r, 200);
    }
}

/* What was sent whole is restored, though nobody be there to hear of it. */
void restore_gone(struct admin *a, const struct exchange *x)
{
    struct restoring *r = &a->restoring;

    if (r->asker == x) {
        r->asker = NULL;
        if (r->state == RESTORE_RECEIVING) {
            give_up(r);
        }
    }
}

void restore_end(struct admin *a)
{
    answer(&a->restoring, 503);
}
