/* SPDX-License-Identifier: Apache-2.0 */
#include "base/logging.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

enum { LIMIT_INTERVAL_MS = 10000, LINE_BYTES = 8192 };

static log_sink_fn the_sink;
static void *the_sink_arg;
static int64_t (*the_clock)(void);
static _Atomic int the_level = LOG_INFO;
static _Thread_local const struct log_target *the_target;

void logging_set_sink(log_sink_fn sink, void *arg)
{
    the_sink_arg = arg;
    the_sink = sink;
}

void logging_set_clock(int64_t (*clock)(void))
{
    the_clock = clock;
}

void logging_set_level(enum log_level level)
{
    atomic_store(&the_level, (int)level);
}

void logging_use(const struct log_target *target)
{
    the_target = target;
}

const struct log_target *logging_used(void)
{
    return the_target;
}

enum log_level logging_level(void)
{
    if (the_target != NULL) {
        return the_target->level;
    }
    return (enum log_level)atomic_load_explicit(&the_level, memory_order_relaxed);
}

const char *log_level_name(enum log_level level)
{
    static const char *const names[] = {"ERROR", "WARN", "INFO", "DEBUG"};

    return names[level];
}

/* On the stack: a line can be said when memory has run out, and one that is too long is cut instead
 * of lost. */
static void emit(enum log_level level, uint64_t held_back, const char *format, va_list args)
{
    log_sink_fn sink = the_target != NULL ? the_target->sink : the_sink;
    void *arg = the_target != NULL ? the_target->arg : the_sink_arg;
    char line[LINE_BYTES + 64];
    int len;

    if (sink == NULL) {
        return;
    }
    len = vsnprintf(line, LINE_BYTES, format, args);
    if (len >= LINE_BYTES) {
        memcpy(line + LINE_BYTES - 4, "...", 4);
        len = LINE_BYTES - 1;
    }
    if (held_back > 0 && len >= 0) {
        snprintf(line + len, 64, " (and %" PRIu64 " more like it)", held_back);
    }
    sink(level, len < 0 ? format : line, arg);
}

void log_line(enum log_level level, const char *format, ...)
{
    va_list args;

    if (level > logging_level()) {
        return;
    }
    va_start(args, format);
    emit(level, 0, format, args);
    va_end(args);
}

void log_line_limited(struct log_limit *limit, enum log_level level, const char *format, ...)
{
    int64_t now = the_clock != NULL ? the_clock() : 0;
    int64_t next = atomic_load(&limit->next_ms);
    va_list args;

    if (level > logging_level()) {
        return;
    }
    if ((next != 0 && now < next) ||
        !atomic_compare_exchange_strong(&limit->next_ms, &next, now + LIMIT_INTERVAL_MS)) {
        atomic_fetch_add(&limit->held_back, 1);
        return;
    }
    va_start(args, format);
    emit(level, atomic_exchange(&limit->held_back, 0), format, args);
    va_end(args);
}

void assert_failed(const char *expression, const char *file, int line)
{
    log_error("assertion failed: %s at %s:%d; this is a bug, the server stops rather than go on "
              "with state it cannot trust",
              expression, file, line);
    if (the_target == NULL && the_sink == NULL) {
        fprintf(stderr, "assertion failed: %s at %s:%d\n", expression, file, line);
    }
    abort();
}
