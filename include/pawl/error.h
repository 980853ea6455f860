/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - every error code of Pawl, with its sentence.
 *
 * 0 is success, everything else is negative. Numbers that ZooKeeper has are ZooKeeper's and may
 * cross the wire; ours start at -1000 and never do. */
#ifndef PAWL_ERROR_H
#define PAWL_ERROR_H

#include <pawl/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, number, sentence) */
#define PAWL_ERRORS(X)                                                                      \
    X(SYSTEM, -1, "system error")                                                           \
    X(RUNTIME_INCONSISTENCY, -2, "not attempted: an earlier operation of the multi failed") \
    X(DATA_INCONSISTENCY, -3, "data inconsistency")                                         \
    X(CONNECTION_LOSS, -4, "connection lost: the outcome is not known")                     \
    X(MARSHALLING, -5, "the request could not be decoded")                                  \
    X(UNIMPLEMENTED, -6, "the server does not implement this operation")                    \
    X(OPERATION_TIMEOUT, -7, "the operation took too long")                                 \
    X(BAD_ARGUMENTS, -8, "bad arguments")                                                   \
    X(INVALID_STATE, -9, "the handle is in no state for this call")                         \
    X(UNKNOWN_SESSION, -12, "unknown session")                                              \
    X(NEW_CONFIG_NO_QUORUM, -13, "no quorum of the new configuration is connected")         \
    X(RECONFIG_IN_PROGRESS, -14, "another reconfiguration is in progress")                  \
    X(API, -100, "API error")                                                               \
    X(NO_NODE, -101, "no such node")                                                        \
    X(NO_AUTH, -102, "permission denied by the node's ACL")                                 \
    X(BAD_VERSION, -103, "the version does not match")                                      \
    X(NO_CHILDREN_FOR_EPHEMERALS, -108, "ephemeral nodes cannot have children")             \
    X(NODE_EXISTS, -110, "the node exists already")                                         \
    X(NOT_EMPTY, -111, "the node has children")                                             \
    X(SESSION_EXPIRED, -112, "the session has expired")                                     \
    X(INVALID_CALLBACK, -113, "invalid callback")                                           \
    X(INVALID_ACL, -114, "invalid ACL")                                                     \
    X(AUTH_FAILED, -115, "authentication failed")                                           \
    X(CLOSING, -116, "the handle is being closed")                                          \
    X(NOTHING, -117, "nothing to process")                                                  \
    X(SESSION_MOVED, -118, "the session has moved to another server")                       \
    X(NOT_READ_ONLY, -119, "a read-only server does not take writes")                       \
    X(EPHEMERAL_ON_LOCAL_SESSION, -120, "a local session cannot create ephemeral nodes")    \
    X(NO_WATCHER, -121, "no such watch")                                                    \
    X(REQUEST_TIMEOUT, -122, "no answer to the request in time")                            \
    X(RECONFIG_DISABLED, -123, "reconfiguration is disabled")                               \
    X(SESSION_CLOSED_REQUIRE_AUTH, -124, "the server insists on authentication")            \
    X(QUOTA_EXCEEDED, -125, "quota exceeded")                                               \
    X(THROTTLED_OP, -127, "the server was too busy and did not execute the operation")      \
    X(NO_MEMORY, -1000, "out of memory")                                                    \
    X(IO, -1001, "input/output error")                                                      \
    X(DISK_FULL, -1002, "no space left on the device")                                      \
    X(NOT_FOUND, -1003, "no such file or directory")                                        \
    X(EXISTS, -1004, "exists already")                                                      \
    X(PERMISSION, -1005, "permission denied by the operating system")                       \
    X(BUSY, -1006, "in use by another process")                                             \
    X(CORRUPT, -1007, "damaged data")                                                       \
    X(CONFIG, -1008, "invalid configuration")                                               \
    X(ADDRESS, -1009, "the address cannot be used")                                         \
    X(TOO_LARGE, -1010, "larger than its limit")                                            \
    X(FORKED, -1020, "the handle belongs to the parent process")                            \
    X(WOULD_DEADLOCK, -1021, "the call would wait for itself")                              \
    X(NOT_HELD, -1022, "it is not held, or not by the caller")                              \
    X(LOST, -1023, "it was lost: its session has ended or its node was deleted")            \
    X(CANCELLED, -1024, "cancelled")

enum pawl_error {
    PAWL_OK = 0,
#define X(name, number, sentence) PAWL_ERR_##name = number,
    PAWL_ERRORS(X)
#undef X
};

/* The sentence for `code`, never NULL; static memory. */
PAWL_API const char *pawl_strerror(int code);

/* The name, "NO_NODE"; "UNKNOWN" for a number that is not in the table. */
PAWL_API const char *pawl_error_name(int code);

#ifdef __cplusplus
}
#endif

#endif
