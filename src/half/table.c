/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - all that libpawl-server.so shows. */
#include "half/half.h"

#include "os/local_hosting.h"
#include "pawl/version.h"

const struct server_half pawl_server_half = {
    .version = PAWL_VERSION,
    .options_init = pawl_server_options_init,
    .start = pawl_server_start,
    .address = pawl_server_address,
    .port = pawl_server_port,
    .unix_socket = pawl_server_unix_socket,
    .error = pawl_server_error,
    .role = pawl_server_role,
    .stop = pawl_server_stop,
    .ensemble_options_init = pawl_ensemble_options_init,
    .ensemble_start = pawl_ensemble_start,
    .ensemble_hosts = pawl_ensemble_hosts,
    .ensemble_address = pawl_ensemble_address,
    .ensemble_leader = pawl_ensemble_leader,
    .ensemble_role = pawl_ensemble_role,
    .ensemble_wait = pawl_ensemble_wait,
    .ensemble_stop_member = pawl_ensemble_stop_member,
    .ensemble_kill_member = pawl_ensemble_kill_member,
    .ensemble_start_member = pawl_ensemble_start_member,
    .ensemble_stop = pawl_ensemble_stop,
    .hosting = local_hosting_get,
};
