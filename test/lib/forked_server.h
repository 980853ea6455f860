/* SPDX-License-Identifier: Apache-2.0 */
/* forked_server.h - the fixture's server in a process of its own, for tests in which memory fails
 * the client only. */
#ifndef PAWL_TEST_FORKED_SERVER_H
#define PAWL_TEST_FORKED_SERVER_H

#include <stdbool.h>

/* First thing in main(): from now on PAWL_TEST_SERVER names it. It ends with this process, however
 * that ends. */
bool forked_server_start(void);

#endif
