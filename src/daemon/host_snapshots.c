/* SPDX-License-Identifier: Apache-2.0 */
/* host_snapshots.c - snapshots that somebody asks for.
 *
 * One is answered by the first snapshot that was begun behind the asking, whoever else wanted that.
 * What is being written when somebody asks is older, so it is waited for and followed by another. A
 * member that loses its leader gives a snapshot up; then it is tried again, if it serves again. */
#include <inttypes.h>
#include <stdio.h>

#include "daemon/config.h"
#include "daemon/host_internal.h"
#include "daemon/options.h"
#include "pawl/error.h"
#include "store/recovery.h"

enum { TRIES = 5 };

static void answer(struct host *h, struct host_snapshot_call *call, int rc)
{
    char name[FILE_NAME_BYTES];

    list_remove(&call->link);
    call->rc = rc;
    if (rc == PAWL_OK) {
        call->zxid = h->last_snapshot.zxid;
        snapshot_name(name, call->zxid, options_codec(h->config));
        snprintf(call->path, sizeof(call->path), "%s/" STORE_FOLDER "/%s",
                 h->config->store.data_dir, name);
    }
    call->done(call);
}

static void answer_all(struct host *h, int rc)
{
    struct list *item, *next;

    for (item = h->snapshot_calls.next; item != &h->snapshot_calls; item = next) {
        struct host_snapshot_call *call = container_of(item, struct host_snapshot_call, link);

        next = item->next;
        if (rc != PAWL_OK || h->last_snapshot.zxid >= call->least_zxid) {
            answer(h, call, rc);
        }
    }
}

/* Those who are left want another one. */
static void begin(struct host *h)
{
    struct list *item;

    list_for_each (item, &h->snapshot_calls) {
        if (++container_of(item, struct host_snapshot_call, link)->n_tries > TRIES) {
            answer_all(h, PAWL_ERR_BUSY);
            return;
        }
    }
    host_step(h, &(struct member_input){.kind = MEMBER_SNAPSHOT});
}

void host_take_snapshot(struct host *h, struct host_snapshot_call *call)
{
    call->n_tries = 0;
    call->least_zxid = member_server(h->member)->applied_zxid;
    list_init(&call->link);
    if (h->snapshots == NULL || h->options.disk != NULL) { /* there is no file of it */
        answer(h, call, PAWL_ERR_UNIMPLEMENTED);
        return;
    }
    list_push_back(&h->snapshot_calls, &call->link);
    if (!member_snapshot_is_coming(h->member)) {
        begin(h);
    }
}

bool host_snapshot_is_wanted(const struct host *h)
{
    return !list_empty(&h->snapshot_calls);
}

void host_snapshot_failed(struct host *h, int rc)
{
    answer_all(h, rc);
}

void host_look_at_wanted(struct host *h)
{
    if (!host_snapshot_is_wanted(h) || member_snapshot_is_coming(h->member)) {
        return;
    }
    if (!server_takes_clients(member_server(h->member))) {
        answer_all(h, PAWL_ERR_CLOSING);
        return;
    }
    begin(h);
}

void host_snapshot_written(struct host *h)
{
    answer_all(h, PAWL_OK);
    host_look_at_wanted(h);
}
