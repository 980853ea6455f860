/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "daemon/audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/logging.h"
#include "base/strbuf.h"
#include "daemon/config.h"
#include "os/clock.h"
#include "pawl/error.h"

/* ---- one line ---- */

/* As Java's pattern for this file has it: 2026-01-31 12:34:56,789 INFO audit.Slf4jAuditLogger: ...
 */
static void append_line(struct strbuf *out, bool is_failure, const char *text)
{
    int64_t now = clock_wall_ms();
    time_t seconds = (time_t)(now / 1000);
    struct tm t;
    char date[32];

    localtime_r(&seconds, &t);
    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &t);
    strbuf_printf(out, "%s,%03d %s audit.Slf4jAuditLogger: %s\n", date, (int)(now % 1000),
                  is_failure ? "ERROR" : "INFO", text);
}

static bool put_line(struct audit_log *l, bool is_failure, const char *text)
{
    struct strbuf line;
    ssize_t n = 0;
    bool is_whole;

    strbuf_init(&line, STRBUF_NO_LIMIT);
    strbuf_append_str(&line, l->is_torn ? "\n" : "");
    append_line(&line, is_failure, text);
    if (!line.failed && l->fd >= 0) {
        n = write(l->fd, line.data, line.len);
    }
    is_whole = n > 0 && (size_t)n == line.len;
    l->is_torn = !is_whole && (l->is_torn || n > 0);
    strbuf_fini(&line);
    return is_whole;
}

static bool report_dropped(struct audit_log *l)
{
    char text[96];

    if (l->n_dropped == 0) {
        return true;
    }
    snprintf(text, sizeof(text), "%" PRIu64 " audit lines were dropped: they could not be written",
             l->n_dropped);
    if (!put_line(l, true, text)) {
        return false;
    }
    l->n_dropped = 0;
    return true;
}

static void line_to_file(void *arg, bool is_failure, const char *text)
{
    struct audit_log *l = arg;

    if (report_dropped(l) && put_line(l, is_failure, text)) {
        return;
    }
    l->n_dropped++;
    log_limited(LOG_ERROR, "audit lines are lost: %s cannot be written to: %s", l->path,
                strerror(errno));
}

static void line_to_log(void *arg, bool is_failure, const char *text)
{
    (void)arg;
    log_line(is_failure ? LOG_ERROR : LOG_INFO, "audit.Slf4jAuditLogger: %s", text);
}

/* ---- life ---- */

/* O_NONBLOCK: not for ever on a pipe that nobody reads. */
static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600);
}

static void find_user(struct audit_log *l)
{
    struct passwd entry, *found = NULL;
    char text[1024];

    if (getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) == 0 && found != NULL) {
        snprintf(l->user, sizeof(l->user), "%s", found->pw_name);
    } else {
        snprintf(l->user, sizeof(l->user), "%u", (unsigned)geteuid());
    }
}

int audit_log_open(struct audit_log *l, const struct config *c, struct audit *out, char *why,
                   size_t why_size)
{
    *l = (struct audit_log){.fd = -1, .path = c->audit.path};
    *out = (struct audit){0};
    if (!c->audit.enabled) {
        return PAWL_OK;
    }
    log_info("ZooKeeper audit is enabled."); /* in its words */
    if (l->path != NULL && (l->fd = open_file(l->path)) < 0) {
        snprintf(why, why_size, "audit.file: %s: %s", l->path, strerror(errno));
        return PAWL_ERR_SYSTEM;
    }
    find_user(l);
    *out = (struct audit){
        .line = l->path != NULL ? line_to_file : line_to_log, .arg = l, .user = l->user};
    return PAWL_OK;
}

void audit_log_close(struct audit_log *l)
{
    if (l->fd >= 0) {
        close(l->fd);
        l->fd = -1;
    }
}

void audit_log_reopen(struct audit_log *l)
{
    int fd = l->path == NULL || l->fd < 0 ? -1 : open_file(l->path);

    if (fd >= 0) {
        close(l->fd);
        l->fd = fd;
        l->is_torn = false;
    } else if (l->fd >= 0) {
        log_error("audit: %s cannot be opened again, the one that was open stays in use: %s",
                  l->path, strerror(errno));
    }
}
