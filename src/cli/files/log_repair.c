/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/log_repair.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "cli/files/log_source.h"
#include "cli/json.h"
#include "cli/text.h"
#include "store/txnlog_format.h"

struct copying {
    struct cli *cli;
    FILE *out;
    const char *into;
    struct strbuf record;
    int64_t n, first_zxid, last_zxid;
};

static bool write_header(struct copying *c)
{
    uint8_t header[TXNLOG_HEADER_BYTES] = {0};

    store_u32(header, TXNLOG_MAGIC);
    store_u32(header + 4, TXNLOG_VERSION);
    return fwrite(header, sizeof(header), 1, c->out) == 1;
}

static bool write_record(struct copying *c, const struct txnlog_record *record)
{
    size_t size = record->payload.len + TXNLOG_FRAME_BYTES;
    uint8_t *at;

    strbuf_clear(&c->record);
    if (!strbuf_reserve(&c->record, size)) {
        errno = ENOMEM;
        return false;
    }
    at = c->record.data;
    txnlog_lay_out(at, record->payload);
    store_u64(at, checksum_adler32(1, record->payload.data, record->payload.len));
    c->first_zxid = c->n == 0 ? record->txn.header.zxid : c->first_zxid;
    c->last_zxid = record->txn.header.zxid;
    c->n++;
    return fwrite(at, size, 1, c->out) == 1;
}

/* Stops before a gap as well: nothing that follows one can be trusted to follow. */
static bool copy_records(struct copying *c, struct log_source *s)
{
    struct txnlog_record record;
    bool is_written = write_header(c);

    while (is_written && log_source_next(s, &record) && s->n_gaps == 0) {
        is_written = write_record(c, &record);
    }
    return is_written;
}

static int fail_to_write(const struct copying *c)
{
    int err = errno;

    unlink(c->into);
    cli_error(c->cli, "%s: %s; it is removed", c->into, strerror(err));
    return EXIT_SYSTEM;
}

/* Who could not read the log cannot read its copy either; the server that wrote it can. Only root
 * can give files away: for others it stays theirs. */
static bool take_mode(int fd, const char *from)
{
    struct stat s;

    if (stat(from, &s) != 0) {
        return false;
    }
    if (fchown(fd, s.st_uid, s.st_gid) != 0 && errno != EPERM) {
        return false;
    }
    return fchmod(fd, s.st_mode & 0666) == 0;
}

/* The file is made here: nobody's file is ever written over. */
static int begin(struct copying *c, const char *from)
{
    int fd = open(c->into, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0) {
        cli_error(c->cli, "%s: %s", c->into,
                  errno == EEXIST ? "exists already; a repaired log goes into a new file"
                                  : strerror(errno));
        return EXIT_SYSTEM;
    }
    c->out = take_mode(fd, from) ? fdopen(fd, "wb") : NULL;
    if (c->out == NULL) {
        fail_to_write(c);
        close(fd);
        return EXIT_SYSTEM;
    }
    return EXIT_OK;
}

/* Its name must survive as well. */
static bool sync_folder_of(const char *path)
{
    char *copy = must_strdup(path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_synced = fd >= 0 && fsync(fd) == 0;
    int err = errno;

    free(copy);
    if (fd >= 0) {
        close(fd);
    }
    errno = err;
    return is_synced;
}

/* True: it is on disk. Otherwise errno is of the first that failed. */
static bool finish(struct copying *c, bool is_written)
{
    int err;

    is_written = is_written && fflush(c->out) == 0 && fsync(fileno(c->out)) == 0;
    err = errno;
    if (fclose(c->out) != 0 && is_written) {
        return false;
    }
    errno = err;
    return is_written && sync_folder_of(c->into);
}

static void tell(const struct copying *c, const struct log_source *s)
{
    if (c->cli->json) {
        json_open(NULL, '{');
        json_text("file", c->into);
        json_number("transactions", c->n);
        if (c->n > 0) {
            json_hex("first", (uint64_t)c->first_zxid);
            json_hex("last", (uint64_t)c->last_zxid);
        }
        json_text("was", log_source_state(s));
        json_close('{');
        return;
    }
    text_escaped(pawl_str(c->into));
    printf(": %" PRId64 " transaction%s", c->n, c->n == 1 ? "" : "s");
    if (c->n > 0) {
        printf(", 0x%" PRIx64 " to 0x%" PRIx64, (uint64_t)c->first_zxid, (uint64_t)c->last_zxid);
    }
    putchar('\n');
}

static int copy(struct copying *c, struct log_source *s)
{
    bool is_written;

    if (!s->view->is_file) {
        cli_error(c->cli, "%s is a folder; repair its logs one by one", s->view->given);
        return EXIT_USAGE;
    }
    if (begin(c, s->view->given) != EXIT_OK) {
        return EXIT_SYSTEM;
    }
    is_written = finish(c, copy_records(c, s));
    if (cli_signal() != 0) {
        unlink(c->into);
        return EXIT_SIGNAL + cli_signal();
    }
    if (!is_written) {
        return fail_to_write(c);
    }
    if (s->found == TXNLOG_FAILED) {
        unlink(c->into);
        return log_source_judge(s);
    }
    log_source_judge(s); /* tells what was left out */
    tell(c, s);
    return EXIT_OK;
}

int log_repair(struct cli *cli, const struct filter *filter, const char *path, const char *into,
               size_t limit_bytes)
{
    struct copying c = {.cli = cli, .into = into};
    struct log_source s;
    int status;

    if (filter->path != NULL || filter->has_session || filter->zxids.from != INT64_MIN ||
        filter->times.from != INT64_MIN || filter->times.to != INT64_MAX) {
        cli_error(cli, "--repair keeps all up to a zxid: --zxid ..0x2f and nothing else");
        return EXIT_USAGE;
    }
    cli_catch_signals();
    strbuf_init(&c.record, STRBUF_NO_LIMIT);
    status = log_source_open(&s, cli, path, &filter->zxids, limit_bytes);
    if (status == EXIT_OK) {
        status = copy(&c, &s);
    }
    log_source_close(&s);
    strbuf_fini(&c.record);
    return status;
}
