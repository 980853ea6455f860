/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration file. */
#define _GNU_SOURCE /* memfd_create */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/config.h"
#include "fuzz.h"

/* The keys that make the reader open further files are not taken at their word here. */
static bool names_a_file(const uint8_t *data, size_t size)
{
    return memmem(data, size, "dynamicConfigFile", 17) != NULL;
}

static void read_config(const char *path)
{
    struct config_lines errors;
    struct config c;
    int rc;

    config_init(&c);
    config_lines_init(&errors);
    rc = config_read_file(&c, path, &errors);
    MUST((rc == 0) == (errors.n == 0));
    if (rc == 0) {
        rc = config_finish(&c, &errors);
        MUST((rc == 0) == (errors.n == 0));
    }
    config_lines_fini(&errors);
    config_fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd;

    if (names_a_file(data, size)) {
        return 0;
    }
    fd = memfd_create("zoo.cfg", 0);
    MUST(fd >= 0);
    MUST(write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    read_config(path);
    close(fd);
    return 0;
}
