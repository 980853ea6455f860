/* SPDX-License-Identifier: Apache-2.0 */
/* pawl.h - everything. */
#ifndef PAWL_PAWL_H
#define PAWL_PAWL_H

#include "pawl/client.h"
#include "pawl/error.h"
#include "pawl/grant.h"
#include "pawl/lock.h"
#include "pawl/log.h"
#include "pawl/server.h"
#include "pawl/types.h"
#include "pawl/version.h"

#endif
