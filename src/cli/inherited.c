/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inherited.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static bool ignored[NSIG];
static sigset_t mask;

/* open() gives the lowest number that is free. */
static void fill_standard_descriptors(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

/* With SIGCHLD ignored nobody would hear of a child's end. */
void inherited_keep(void)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;

        ignored[number] = sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
    }
    sigprocmask(SIG_SETMASK, NULL, &mask);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    fill_standard_descriptors();
}

bool inherited_ignores(int number)
{
    return ignored[number];
}

void inherited_restore(void)
{
    for (int number = 1; number < NSIG; number++) {
        if (number != SIGKILL && number != SIGSTOP) {
            signal(number, ignored[number] ? SIG_IGN : SIG_DFL);
        }
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
}
