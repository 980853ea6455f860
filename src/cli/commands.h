/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - every command of `pawl`, in the order in which --help lists them. */
#ifndef PAWL_CLI_COMMANDS_H
#define PAWL_CLI_COMMANDS_H

#include "cli/cli.h"

extern const struct command command_lock, command_locks, command_lead, command_semaphore;
extern const struct command command_locks_why, command_locks_gc;
extern const struct command command_barrier_raise, command_barrier_lift;
extern const struct command command_barrier_wait, command_barrier_meet;
extern const struct command command_counter_get, command_counter_add, command_counter_set;
extern const struct command command_queue_put, command_queue_take, command_queue_ls;
extern const struct command command_service_register, command_service_ls, command_service_watch;
extern const struct command command_ls, command_tree, command_count;
extern const struct command command_get, command_set, command_create, command_rm;
extern const struct command command_deleteall;
extern const struct command command_stat, command_exists, command_watch, command_sync;
extern const struct command command_acl_get, command_acl_set, command_whoami;
extern const struct command command_config;
extern const struct command command_find, command_grep, command_du, command_cp, command_mv;
extern const struct command command_words, command_console;
extern const struct command command_quota_get, command_quota_set, command_quota_rm, command_txn;
extern const struct command command_export, command_import, command_diff, command_edit;
extern const struct command command_reconfig, command_completions;
extern const struct command command_bench, command_mirror, command_ensemble_init;
extern const struct command command_ensemble_rescue;
extern const struct command command_server_start, command_server_stop, command_server_status;
extern const struct command command_server_restart, command_server_print_cmd, command_doctor;
extern const struct command command_log, command_snapshot, command_history, command_at;
extern const struct command command_backup, command_backup_verify, command_restore;
extern const struct command command_shed;
extern const struct command command_shell, command_help, command_redo;
extern const struct command command_addauth, command_removewatches, command_own_ephemerals;
extern const struct command command_version, command_ls2, command_add_watch;
extern const struct command command_sessions, command_ephemerals, command_top;
extern const struct command command_quit, command_connect, command_close, command_printwatches;

/* All of them. */
const struct command *const *commands_all(size_t *n);

/* The one that these words begin with, the first `*n_used` of them; NULL: none. */
const struct command *commands_find(int argc, char **argv, int *n_used);

/* Runs it with the rest of the words. Its exit status. */
int commands_run(struct cli *cli, int argc, char **argv);

#endif
