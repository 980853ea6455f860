/* SPDX-License-Identifier: Apache-2.0 */
/* config_change.h - what a client's wish for other members makes of a configuration.
 *
 * Either all members anew, or some leave and some join:
 *
 *   members  server.1=...,server.2=...      or one per line; groups and weights as well
 *   leaving  3,4                            ids
 *   joining  server.5=...,6=...             takes the place of a member with that id
 *
 * What Apache's server refuses is refused with its code. So is what it takes and no ensemble could
 * run with: a member that is named twice, two members at one address. */
#ifndef PAWL_QUORUM_CONFIG_CHANGE_H
#define PAWL_QUORUM_CONFIG_CHANGE_H

#include "quorum/config.h"

struct config_change {
    struct bytes joining, leaving; /* null: nobody */
    struct bytes members;          /* not null: nothing else counts */
    int64_t version;               /* of what comes of it */
    size_t least_voters;           /* 1 or, where one server alone is no ensemble, 2 */
    bool several_addresses;        /* per member are allowed */
};

/* PAWL_OK: `out` is the caller's; or a code for the client, and `why` has a sentence. */
int quorum_config_change(const struct quorum_config *from, const struct config_change *change,
                         struct quorum_config *out, struct strbuf *why);

#endif
