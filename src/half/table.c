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
    .stop = pawl_server_stop,
    .hosting = local_hosting_get,
};
