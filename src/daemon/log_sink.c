/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_sink.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/logging.h"
#include "base/strbuf.h"
#include "os/clock.h"
#include "wire/utf8.h"

static void append_time(struct strbuf *out, bool json)
{
    int64_t now = clock_wall_ms();
    time_t seconds = (time_t)(now / 1000);
    struct tm t;
    char text[32];

    if (json) {
        gmtime_r(&seconds, &t);
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &t);
        strbuf_printf(out, "%s.%03dZ", text, (int)(now % 1000));
        return;
    }
    localtime_r(&seconds, &t);
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &t);
    strbuf_printf(out, "%s,%03d", text, (int)(now % 1000));
}

static void append_json_string(struct strbuf *out, const char *message)
{
    struct strbuf scratch;
    struct bytes s;

    strbuf_init(&scratch, STRBUF_NO_LIMIT);
    s = utf8_repaired(bytes_of(message, strlen(message)), &scratch);
    strbuf_append_str(out, "\"");
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] == '"' || s.data[i] == '\\') {
            strbuf_append_str(out, "\\");
            strbuf_append(out, &s.data[i], 1);
        } else if (s.data[i] < 0x20) {
            strbuf_printf(out, "\\u%04x", s.data[i]);
        } else {
            strbuf_append(out, &s.data[i], 1);
        }
    }
    strbuf_append_str(out, "\"");
    strbuf_fini(&scratch);
}

/* A line stays a line, whatever a client has put into a name that we quote. */
static void append_printable(struct strbuf *out, const char *s)
{
    for (; *s != '\0'; s++) {
        if ((unsigned char)*s < 0x20 && *s != '\t') {
            strbuf_printf(out, "\\x%02x", (unsigned char)*s);
        } else {
            strbuf_append(out, s, 1);
        }
    }
}

/* ---- where it goes ---- */

static struct {
    pthread_mutex_t lock; /* guards all below */
    int fd;
    bool is_socket;
    bool may_block; /* a pipe or terminal that could not be had without that */
    bool json;
    int64_t my_id;
    bool is_torn;       /* the last line got out in part */
    uint64_t n_dropped; /* since the last one that got out */
} the_log = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* ---- one line ---- */

static void append_text_line(struct strbuf *out, enum log_level level, const char *message)
{
    append_time(out, false);
    strbuf_printf(out, " [myid:%" PRId64 "] - %-5s - ", the_log.my_id, log_level_name(level));
    append_printable(out, message);
    strbuf_append_str(out, "\n");
}

static void append_json_line(struct strbuf *out, enum log_level level, const char *message)
{
    strbuf_append_str(out, "{\"time\":\"");
    append_time(out, true);
    strbuf_printf(out, "\",\"level\":\"%s\",\"message\":", log_level_name(level));
    append_json_string(out, message);
    strbuf_append_str(out, "}\n");
}

/* Another description of the same pipe or terminal, which does not block and leaves the one that we
 * share with others as it is. -1: there is no such thing, or it is not allowed. */
static int log_sink_reopen(int fd)
{
    char name[32];

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return open(name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Bytes taken at once; what is left would have to wait. */
static size_t log_sink_write(const uint8_t *data, size_t len)
{
    struct pollfd ready = {.fd = the_log.fd, .events = POLLOUT};
    ssize_t n;

    if (the_log.may_block && (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0)) {
        return 0;
    }
    n = the_log.is_socket ? send(the_log.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                          : write(the_log.fd, data, len);
    return n < 0 ? 0 : (size_t)n;
}

static bool log_sink_put(enum log_level level, const char *message)
{
    struct strbuf line;
    size_t n = 0;
    bool whole;

    strbuf_init(&line, STRBUF_NO_LIMIT);
    if (the_log.is_torn) {
        strbuf_append_str(&line, "\n");
    }
    (the_log.json ? append_json_line : append_text_line)(&line, level, message);
    if (!line.failed) {
        n = log_sink_write(line.data, line.len);
    }
    whole = !line.failed && n == line.len;
    the_log.is_torn = whole ? false : the_log.is_torn || n > 0;
    strbuf_fini(&line);
    return whole;
}

static bool log_sink_report_dropped(void)
{
    char message[96];

    if (the_log.n_dropped == 0) {
        return true;
    }
    snprintf(message, sizeof(message),
             "%" PRIu64 " log lines were dropped: nobody read them in time", the_log.n_dropped);
    if (!log_sink_put(LOG_WARN, message)) {
        return false;
    }
    the_log.n_dropped = 0;
    return true;
}

static void log_sink_line(enum log_level level, const char *message, void *arg)
{
    (void)arg;
    pthread_mutex_lock(&the_log.lock);
    if (!log_sink_report_dropped() || !log_sink_put(level, message)) {
        the_log.n_dropped++;
    }
    pthread_mutex_unlock(&the_log.lock);
}

void log_sink_install(int fd, bool json, int64_t my_id)
{
    struct stat kind = {0};
    int own = -1;

    pthread_mutex_lock(&the_log.lock);
    the_log.json = json;
    the_log.my_id = my_id;
    (void)!fstat(fd, &kind);
    the_log.is_socket = S_ISSOCK(kind.st_mode);
    if (S_ISFIFO(kind.st_mode) || S_ISCHR(kind.st_mode)) {
        own = log_sink_reopen(fd);
    }
    the_log.fd = own < 0 ? fd : own;
    the_log.may_block = own < 0 && !the_log.is_socket && !S_ISREG(kind.st_mode);
    pthread_mutex_unlock(&the_log.lock);
    logging_set_clock(clock_monotonic_ms);
    logging_set_sink(log_sink_line, NULL);
}
