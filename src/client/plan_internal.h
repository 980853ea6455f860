/* SPDX-License-Identifier: Apache-2.0 */
/* plan_internal.h - what the kinds of plans share. */
#ifndef PAWL_CLIENT_PLAN_INTERNAL_H
#define PAWL_CLIENT_PLAN_INTERNAL_H

#include "client/plan.h"

/* Sends the request of the stage; when that cannot be, the call ends with the reason. */
bool plan_go(struct engine *e, struct plan *p, enum plan_stage stage);

struct bytes plan_parent(const struct plan *p); /* of the main path */

/* ---- plan_create.c ---- */

/* Each looks at an answer. True: the call goes on. */
bool plan_create_step(struct engine *e, struct plan *p);
bool plan_set_step(struct engine *e, struct plan *p);
bool plan_undo_step(struct engine *e, struct plan *p);

/* ---- plan_delete.c ---- */

bool plan_delete_step(struct engine *e, struct plan *p);

#endif
