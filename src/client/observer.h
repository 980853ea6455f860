/* SPDX-License-Identifier: Apache-2.0 */
/* observer.h - steps that are due at a change of state; told before the application's listeners. */
#ifndef PAWL_CLIENT_OBSERVER_H
#define PAWL_CLIENT_OBSERVER_H

#include "base/list.h"
#include "pawl/types.h"

struct engine;

struct observer {
    struct list link;
    void (*fn)(enum pawl_state state, void *arg); /* a step */
    void (*certain)(void *arg); /* a step: the session is certain to live again; or NULL */
    void *arg;
};

void observer_add(struct engine *e, struct observer *o, void (*fn)(enum pawl_state, void *),
                  void *arg);
void observer_remove(struct observer *o);

/* ---- for the engine ---- */

void observers_tell(struct engine *e, enum pawl_state state);
void observers_tell_certain(struct engine *e);

#endif
