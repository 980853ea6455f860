/* SPDX-License-Identifier: Apache-2.0 */
/* host_marks.c - a start on files that are not to be used: marked by a former life, or found to be
 * damaged just now. */
#include <stdio.h>

#include "base/logging.h"
#include "daemon/config.h"
#include "daemon/host_internal.h"
#include "pawl/error.h"
#include "store/epoch.h"
#include "store/mark.h"

/* A member whose files do not make the tree that its log tells of is one that has diverged, before
 * anybody else can notice. Whoever stands alone serves what there is, as ZooKeeper does. */
static int mark_as_loaded(struct host *h)
{
    char text[MARK_TEXT_BYTES];

    if (h->loaded.damaged) {
        return mark_save(h->data_disk, STORE_FOLDER, DAMAGED_FILE, h->loaded.damage);
    }
    if (h->loaded.differs_zxid == 0 || !config_is_ensemble(h->config)) {
        return PAWL_OK;
    }
    host_describe_difference(text, h->loaded.differs_zxid, "as it was loaded");
    return mark_save(h->data_disk, STORE_FOLDER, DIVERGED_FILE, text);
}

static int load_marks(struct host *h, int64_t zxid, struct mark *diverged, struct mark *damaged)
{
    int rc = mark_as_loaded(h);

    if (rc == PAWL_OK && h->config->store.accept_loss) { /* somebody has decided it */
        rc = mark_forget(h->data_disk, STORE_FOLDER, DAMAGED_FILE);
    }
    if (rc == PAWL_OK) {
        rc = mark_load(h->data_disk, STORE_FOLDER, DAMAGED_FILE, damaged);
    }
    if (rc == PAWL_OK) {
        rc = mark_load(h->data_disk, STORE_FOLDER, DIVERGED_FILE, diverged);
    }
    if (rc == PAWL_OK && diverged->is_there && zxid == 0 && !damaged->is_there) {
        diverged->is_there = false; /* somebody has removed all that it was about */
        rc = mark_forget(h->data_disk, STORE_FOLDER, DIVERGED_FILE);
    }
    return rc;
}

/* Alone there is nobody to fetch anything from, and what would be served is known to be wrong, or
 * less than what was acknowledged: somebody has to decide that. */
static int refuse_marked(struct host *h, const char *what, const char *file,
                         const struct mark *mark, struct host_error *error)
{
    return host_set_error(
        error, PAWL_ERR_CORRUPT, EXIT_DATA_FOLDER,
        "the data in %s %s, as " STORE_FOLDER
        "/%s tells: %s. Take the directory of another member; or, to serve this one "
        "as it is, remove that file",
        h->config->store.data_dir, what, file, mark->text);
}

/* What this member has promised keeps it from a leader of before, who does not know of what it may
 * have acknowledged since: without that not even the others can help. */
static int check_promise(struct host *h, struct host_error *error)
{
    int64_t epoch;
    int rc = epoch_load(h->data_disk, STORE_FOLDER, EPOCH_ACCEPTED_FILE, &epoch);

    if (rc == PAWL_OK) {
        return PAWL_OK;
    }
    return host_set_error(
        error, PAWL_ERR_CORRUPT, EXIT_DATA_FOLDER,
        "the data in %s is damaged: %s. And " STORE_FOLDER "/" EPOCH_ACCEPTED_FILE
        ", which tells what this server has promised to the others, %s. Nothing was "
        "changed. Without it this server cannot safely fetch its data from the others. "
        "If no other server has less than it had, move " STORE_FOLDER
        " away, and it begins with nothing",
        h->config->store.data_dir, h->loaded.damage,
        rc == PAWL_ERR_NOT_FOUND ? "is missing" : "cannot be read");
}

/* In an ensemble the others have the right tree. */
int host_look_for_marks(struct host *h, int64_t zxid, struct host_error *error)
{
    struct mark diverged = {0}, damaged = {0};
    int rc = h->loaded.damaged ? check_promise(h, error) : PAWL_OK;

    if (rc != PAWL_OK) {
        return rc;
    }
    rc = load_marks(h, zxid, &diverged, &damaged);
    if (rc != PAWL_OK) {
        return host_set_error(error, rc, EXIT_DATA_FOLDER, "%s", disk_last_error(h->data_disk));
    }
    if (!config_is_ensemble(h->config) && damaged.is_there) {
        return refuse_marked(h, "was found to be damaged", DAMAGED_FILE, &damaged, error);
    }
    if (!config_is_ensemble(h->config) && diverged.is_there) {
        return refuse_marked(h, "was found to differ from that of the ensemble it belonged to",
                             DIVERGED_FILE, &diverged, error);
    }
    h->had_damage = damaged.is_there;
    h->had_diverged = diverged.is_there && !damaged.is_there;
    if (h->had_damage) {
        log_error("the data of this server is damaged: %s", damaged.text);
        log_warn("this server may lack what it once acknowledged (" STORE_FOLDER "/" DAMAGED_FILE
                 "). It votes for nobody, leads nobody and serves nobody until it has fetched "
                 "everything from a leader that the others have elected");
    }
    if (h->had_diverged) {
        log_warn("this server's data was found to differ from the others' (" STORE_FOLDER
                 "/" DIVERGED_FILE
                 ": %s). It leads nobody and serves nobody until it has fetched everything from a "
                 "leader",
                 diverged.text);
    }
    return PAWL_OK;
}
