/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int read_all(struct cli *cli, const char *name, int fd, struct strbuf *out)
{
    char part[65536];
    ssize_t n;

    do {
        cli_wait(fd);
        if (cli_signal() != 0) {
            return EXIT_SIGNAL + cli_signal();
        }
        n = read(fd, part, sizeof(part));
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            cli_error(cli, "%s: %s", name, strerror(errno));
            return EXIT_SYSTEM;
        }
        strbuf_append(out, part, n > 0 ? (size_t)n : 0);
    } while (n != 0 && !out->failed);
    if (out->failed) {
        cli_error(cli, "%s: larger than %d bytes", name, INPUT_LIMIT_BYTES);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

int input_read(struct cli *cli, const char *file, struct strbuf *out)
{
    int fd, status;

    if (strcmp(file, "-") == 0) {
        return read_all(cli, "standard input", STDIN_FILENO, out);
    }
    fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        cli_error(cli, "%s: %s", file, strerror(errno));
        return EXIT_SYSTEM;
    }
    status = read_all(cli, file, fd, out);
    close(fd);
    return status;
}

int input_data(struct cli *cli, const char *word, struct strbuf *input, struct pawl_bytes *out)
{
    int status;

    *out = pawl_str(word);
    if (word == NULL || strcmp(word, "-") != 0) {
        return EXIT_OK;
    }
    status = input_read(cli, "-", input);
    *out = (struct pawl_bytes){input->len > 0 ? (const void *)input->data : "", input->len};
    return status;
}
