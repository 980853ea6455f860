/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - operations made ready; a multi is made of these. */
#ifndef PAWL_CLIENT_OPS_H
#define PAWL_CLIENT_OPS_H

#include "client/prepare.h"

int ops_prepare_create(struct pawl_client *c, const struct pawl_create *given, struct prepared *p);
int ops_prepare_set(struct pawl_client *c, const struct pawl_set *given, struct prepared *p);
int ops_prepare_delete(struct pawl_client *c, const struct pawl_delete *given, struct prepared *p);
int ops_prepare_path(struct pawl_client *c, int32_t op, const char *path, struct prepared *p);

#endif
