/* SPDX-License-Identifier: Apache-2.0 */
/* commit.h - a transaction is agreed upon: it is applied, watches fire, the client is answered. */
#ifndef PAWL_SERVER_COMMIT_H
#define PAWL_SERVER_COMMIT_H

#include "server/server.h"

void commit_init(struct server *s);

#endif
