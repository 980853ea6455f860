/* SPDX-License-Identifier: Apache-2.0 */
/* follow.h - takes the list of servers from /zookeeper/config, as Curator's EnsembleTracker does.
 */
#ifndef PAWL_CLIENT_FOLLOW_H
#define PAWL_CLIENT_FOLLOW_H

struct engine;

int follow_config(struct engine *e); /* NO_MEMORY or 0 */

#endif
