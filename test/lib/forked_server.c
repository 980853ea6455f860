/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lib/forked_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/client_fixture.h"

static int serve(int report, int until)
{
    char text[16];

    if (client_fixture_start(NULL) != 0) {
        return 1;
    }
    snprintf(text, sizeof(text), "%d", client_fixture_port());
    if (write(report, text, sizeof(text)) != (ssize_t)sizeof(text)) {
        return 1;
    }
    (void)!read(until, text, 1);
    return client_fixture_stop(NULL) == 0 ? 0 : 1;
}

bool forked_server_start(void)
{
    char port[16], address[32];
    int report[2], until[2];
    pid_t pid;

    if (getenv("PAWL_TEST_SERVER") != NULL) {
        return true;
    }
    if (pipe(report) != 0 || pipe(until) != 0 || (pid = fork()) < 0) {
        return false;
    }
    if (pid == 0) {
        close(until[1]);
        _exit(serve(report[1], until[0]));
    }
    close(until[0]);
    if (read(report[0], port, sizeof(port)) != (ssize_t)sizeof(port)) {
        return false;
    }
    snprintf(address, sizeof(address), "127.0.0.1:%s", port);
    return setenv("PAWL_TEST_SERVER", address, 1) == 0;
}
