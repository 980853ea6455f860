/* SPDX-License-Identifier: Apache-2.0 */
/* logging.h - what the program says of itself.
 *
 * A line is one sentence: what happened, to what, and what to do. Where it goes is decided once by
 * logging_set_sink(). What a client can cause a million times is said with log_limited(): at once
 * the first time, then at most every ten seconds, with the number of times it was held back. */
#ifndef PAWL_BASE_LOGGING_H
#define PAWL_BASE_LOGGING_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* `line` has no newline at its end and is lent until the sink returns. May be called from any
 * thread, several at once. */
typedef void (*log_sink_fn)(enum log_level level, const char *line, void *arg);

/* Both before the first thread starts. Without a sink lines are dropped. `clock` gives monotonic
 * milliseconds and serves log_limited only. */
void logging_set_sink(log_sink_fn sink, void *arg);
void logging_set_clock(int64_t (*clock)(void));

/* Lines above this level are dropped. Any thread, any time. */
void logging_set_level(enum log_level level);

/* Where the lines of some threads go instead, so that each of several servers in a process has a
 * log of its own. */
struct log_target {
    log_sink_fn sink; /* NULL: lines are dropped */
    void *arg;
    enum log_level level;
};

/* For the calling thread; NULL: back to what the process has. A thread hands on to those it starts
 * what it uses itself. */
void logging_use(const struct log_target *target);
const struct log_target *logging_used(void);

/* What applies to the calling thread. */
enum log_level logging_level(void);
const char *log_level_name(enum log_level level);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct log_limit {
    _Atomic int64_t next_ms;
    _Atomic uint64_t held_back;
};
void log_line_limited(struct log_limit *limit, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)                        \
    do {                                      \
        if (logging_level() >= LOG_DEBUG) {   \
            log_line(LOG_DEBUG, __VA_ARGS__); \
        }                                     \
    } while (0)
#define log_limited(level, ...)                        \
    do {                                               \
        static struct log_limit limit_;                \
        log_line_limited(&limit_, level, __VA_ARGS__); \
    } while (0)

#endif
