/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "client/beacon.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "pawl/error.h"

int beacon_open(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    return fd < 0 ? PAWL_ERR_SYSTEM : fd;
}

void beacon_set(int fd, bool lit)
{
    uint64_t n = 1;

    if (fd < 0) {
        return;
    }
    if (lit) {
        (void)!write(fd, &n, sizeof(n));
    } else {
        (void)!read(fd, &n, sizeof(n));
    }
}

void beacon_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

/* ---- who we are ---- */

static char address[INET6_ADDRSTRLEN] = "127.0.0.1";
static pthread_once_t address_once = PTHREAD_ONCE_INIT;

/* The first IPv4 address that others can reach; asked for once, since it takes system calls. */
static void find_address(void)
{
    struct ifaddrs *all, *i;

    if (getifaddrs(&all) != 0) {
        return;
    }
    for (i = all; i != NULL; i = i->ifa_next) {
        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET &&
            (i->ifa_flags & IFF_UP) != 0 && (i->ifa_flags & IFF_LOOPBACK) == 0) {
            inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr, address,
                      sizeof(address));
            break;
        }
    }
    freeifaddrs(all);
}

void identity_text(char *out, size_t size)
{
    char host[65] = "", since[32];
    time_t now = time(NULL);
    struct tm tm;

    pthread_once(&address_once, find_address);
    gethostname(host, sizeof(host) - 1);
    gmtime_r(&now, &tm);
    strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%SZ", &tm);
    snprintf(out, size, "%s host=%s pid=%ld program=%s since=%s", address, host, (long)getpid(),
             program_invocation_short_name, since);
}
