/* SPDX-License-Identifier: Apache-2.0 */
#include "server/role.h"

const char *role_name(enum role_kind kind)
{
    switch (kind) {
    case ROLE_READ_ONLY:
        return "read-only";
    case ROLE_ALONE:
        return "standalone";
    case ROLE_LEADER:
        return "leader";
    case ROLE_FOLLOWER:
        return "follower";
    case ROLE_OBSERVER:
        return "observer";
    default:
        return "looking";
    }
}

const char *role_activity(enum role_kind kind)
{
    switch (kind) {
    case ROLE_LEADER:
        return "leading";
    case ROLE_FOLLOWER:
        return "following";
    case ROLE_OBSERVER:
        return "observing";
    default:
        return "looking";
    }
}
