/* SPDX-License-Identifier: Apache-2.0 */
/* bad_sector.c - for LD_PRELOAD: a disk that cannot read one place of one file.
 *
 *   BAD_SECTOR=log.100000001:4096     reads of a file whose path ends so fail with EIO if they
 * touch that byte */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN_BY_ALL __attribute__((visibility("default")))

typedef ssize_t (*pread_fn)(int fd, void *data, size_t len, off_t offset);

static int is_bad(int fd, size_t len, off_t offset)
{
    const char *bad = getenv("BAD_SECTOR"), *colon = bad != NULL ? strrchr(bad, ':') : NULL;
    char link[64], path[4096];
    size_t name_len;
    ssize_t n;
    off_t at;

    if (colon == NULL) {
        return 0;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path));
    name_len = (size_t)(colon - bad);
    at = (off_t)strtoll(colon + 1, NULL, 10);
    return n >= (ssize_t)name_len && memcmp(path + n - name_len, bad, name_len) == 0 &&
           offset <= at && at < offset + (off_t)len;
}

static ssize_t read_or_fail(const char *name, int fd, void *data, size_t len, off_t offset)
{
    pread_fn next = (pread_fn)dlsym(RTLD_NEXT, name);

    if (is_bad(fd, len, offset)) {
        errno = EIO;
        return -1;
    }
    return next(fd, data, len, offset);
}

SEEN_BY_ALL ssize_t pread(int fd, void *data, size_t len, off_t offset)
{
    return read_or_fail("pread", fd, data, len, offset);
}

SEEN_BY_ALL ssize_t pread64(int fd, void *data, size_t len, off_t offset)
{
    return read_or_fail("pread64", fd, data, len, offset);
}
