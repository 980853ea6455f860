/* SPDX-License-Identifier: Apache-2.0 */
/* ensemble.h - an ensemble of servers inside your own process.
 *
 * For tests of programs that are to survive the loss of a server. Members are real ones: each is
 * what pawld is, on threads of its own, and they elect and agree over TCP on 127.0.0.1. Three in
 * memory serve after some ten milliseconds:
 *
 *     struct pawl_ensemble_options options;
 *     struct pawl_ensemble *ensemble;
 *     char why[256];
 *     int leader;
 *
 *     pawl_ensemble_options_init(&options);
 *     if (pawl_ensemble_start(&options, &ensemble, why, sizeof(why)) != PAWL_OK) {
 *         fprintf(stderr, "no ensemble: %s\n", why);
 *         return 1;
 *     }
 *     // ... pawl_open(pawl_ensemble_hosts(ensemble), &client) ...
 *     leader = pawl_ensemble_leader(ensemble);
 *     check(pawl_ensemble_kill_member(ensemble, leader), "kill");
 *     // ... the program under test goes on with the two others ...
 *     check(pawl_ensemble_start_member(ensemble, leader), "start");
 *     check(pawl_ensemble_wait(ensemble, 10000), "wait");
 *     check(pawl_ensemble_stop(ensemble), "stop");
 *
 * One member of an ensemble across several programs is a server with a server_id, see
 * <pawl/server.h>; what is said there of threads, signals, files and fork() is true here of each
 * member. Several ensembles may run in one process. Every function may be called from any thread,
 * but not from within the log function. */
#ifndef PAWL_ENSEMBLE_H
#define PAWL_ENSEMBLE_H

#include <stddef.h>

#include <pawl/api.h>
#include <pawl/error.h>
#include <pawl/log.h>
#include <pawl/server.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_ensemble;

#define PAWL_ENSEMBLE_MEMBERS_MAX 32

struct pawl_ensemble_options {
    size_t size; /* of this struct; pawl_ensemble_options_init() sets it */

    /* Members are numbered from 1 on, the voters first. More than half of the voters must run for
     * anything to be served. */
    int n_voters;    /* at least 1 */
    int n_observers; /* with the voters PAWL_ENSEMBLE_MEMBERS_MAX at most */

    /* Member N keeps its data in the directory folder/N, which is made if it is missing and can be
     * given to pawld afterwards. NULL: in memory, until pawl_ensemble_stop(). */
    const char *folder;

    /* tickTime. Sessions may have timeouts from 2 ticks to 40 seconds, or to 20 ticks if that is
     * more. A member that has ended is given up at once, one that is silent after 50 ticks. */
    int tick_ms;

    /* For each member, as in struct pawl_server_options; dataDir, dataLogDir, dynamicConfigFile and
     * server.N are the ensemble's business. */
    const char *const *properties;
    size_t n_properties;

    /* The log of all members, one line at a time: "server 2: ...". Must not call functions of this
     * header. */
    pawl_log_fn log; /* NULL: silent */
    void *log_arg;
    enum pawl_log_level log_level;
};

/* Three voters in memory, ticks of 200 ms; silent, and from level INFO on if a log function is
 * given. */
PAWL_API void pawl_ensemble_options_init(struct pawl_ensemble_options *options);

/* Starts all members and waits until each of them serves. The options and what they point to may go
 * afterwards, log_arg excepted.
 *
 * Ports are chosen here, before any member is made, and stay the members' until
 * pawl_ensemble_stop(): nobody else can come by them, not even while a member is stopped.
 *
 * Otherwise nothing is left running, and up to `why_size` bytes at `why` (may be NULL) say what is
 * wrong: codes are those of pawl_server_start(), and OPERATION_TIMEOUT if the members did not
 * agree within a minute. */
PAWL_API int pawl_ensemble_start(const struct pawl_ensemble_options *options,
                                 struct pawl_ensemble **out, char *why, size_t why_size);

/* What to connect to: the addresses of all members, "127.0.0.1:40123,127.0.0.1:40127,...", also
 * of those that do not run. Lent until pawl_ensemble_stop(). */
PAWL_API const char *pawl_ensemble_hosts(const struct pawl_ensemble *ensemble);

/* The same of one member; NULL if there is no such member. */
PAWL_API const char *pawl_ensemble_address(const struct pawl_ensemble *ensemble, int member);

/* The member that leads at this moment; 0: none. */
PAWL_API int pawl_ensemble_leader(struct pawl_ensemble *ensemble);

/* What a member is at this moment; NOT_SERVING also if it does not run or there is none. */
PAWL_API enum pawl_server_role pawl_ensemble_role(struct pawl_ensemble *ensemble, int member);

/* Waits until there is a leader and all members that run serve, up to timeout_ms; -1: for ever.
 * OPERATION_TIMEOUT; or what has ended a member that stopped by itself. */
PAWL_API int pawl_ensemble_wait(struct pawl_ensemble *ensemble, int timeout_ms);

/* ---- members ----
 *
 * BAD_ARGUMENTS: there is no such member. INVALID_STATE: it runs already, or does not run. */

/* Ends a member as SIGTERM ends pawld: what it has accepted is on disk. Returns what ended it if it
 * had stopped by itself. */
PAWL_API int pawl_ensemble_stop_member(struct pawl_ensemble *ensemble, int member);

/* Ends a member as kill -9 and the loss of power would: connections break off, nothing is brought
 * to disk any more, and in memory all that had not been synced is undone. */
PAWL_API int pawl_ensemble_kill_member(struct pawl_ensemble *ensemble, int member);

/* Starts a member again, with what it had kept, at the same address. It serves when it has caught
 * up with the leader: pawl_ensemble_wait(). Errors are those of pawl_server_start(). */
PAWL_API int pawl_ensemble_start_member(struct pawl_ensemble *ensemble, int member);

/* Stops all members and frees the ensemble; takes milliseconds. Returns what ended a member, if one
 * had stopped by itself. NULL is allowed. */
PAWL_API int pawl_ensemble_stop(struct pawl_ensemble *ensemble);

#ifdef __cplusplus
}
#endif

#endif
