/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/ready.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int fail(int fd)
{
    int saved = errno;

    close(fd);
    errno = saved;
    return -1;
}

/* Bound without a name, it is given one that nobody has, and that is in no folder. */
int ready_open(char name[READY_NAME_BYTES])
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(a);
    int yes = 1, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -1;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) != 0 ||
        bind(fd, (struct sockaddr *)&a, sizeof(a.sun_family)) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) != 0) {
        return fail(fd);
    }
    len -= (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1;
    snprintf(name, READY_NAME_BYTES, "@%.*s", (int)len, a.sun_path + 1);
    return fd;
}

/* Who sent it, by the kernel's word; 0: it does not say. */
static int sender_of(struct msghdr *message)
{
    struct ucred credentials;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
            memcpy(&credentials, CMSG_DATA(c), sizeof(credentials));
            return credentials.pid;
        }
    }
    return 0;
}

bool ready_heard(int fd, int pid)
{
    static const char word[] = "READY=1";
    char text[64];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {text, sizeof(text)};
    bool is_heard = false;
    ssize_t n;

    do {
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};

        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
        is_heard = n == (ssize_t)strlen(word) && memcmp(text, word, strlen(word)) == 0 &&
                   sender_of(&message) == pid;
    } while (n >= 0 && !is_heard);
    return is_heard;
}
