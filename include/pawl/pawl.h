/* SPDX-License-Identifier: Apache-2.0 */
/* pawl.h - everything.
 *
 * In the examples at the top of the headers `client` is an open handle, and check(rc, what) is a
 * function of yours that prints pawl_strerror(rc) and ends the program, as in
 * examples/example.h. */
#ifndef PAWL_PAWL_H
#define PAWL_PAWL_H

#include "pawl/barrier.h"
#include "pawl/cache.h"
#include "pawl/client.h"
#include "pawl/counter.h"
#include "pawl/discovery.h"
#include "pawl/election.h"
#include "pawl/ensemble.h"
#include "pawl/error.h"
#include "pawl/grant.h"
#include "pawl/group.h"
#include "pawl/lock.h"
#include "pawl/log.h"
#include "pawl/multilock.h"
#include "pawl/queue.h"
#include "pawl/rwlock.h"
#include "pawl/semaphore.h"
#include "pawl/server.h"
#include "pawl/types.h"
#include "pawl/version.h"

#endif
