/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_sink.h"

#include <time.h>
#include <unistd.h>

#include "base/logging.h"
#include "base/strbuf.h"
#include "os/clock.h"

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

static void append_json_string(struct strbuf *out, const char *s)
{
    strbuf_append_str(out, "\"");
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\') {
            strbuf_append_str(out, "\\");
            strbuf_append(out, s, 1);
        } else if ((unsigned char)*s < 0x20) {
            strbuf_printf(out, "\\u%04x", (unsigned char)*s);
        } else {
            strbuf_append(out, s, 1);
        }
    }
    strbuf_append_str(out, "\"");
}

static void write_line(struct strbuf *line)
{
    strbuf_append_str(line, "\n");
    if (!line->failed && write(STDERR_FILENO, line->data, line->len) < 0) {
        return; /* nowhere left to complain */
    }
}

static void text_sink(enum log_level level, const char *message, void *arg)
{
    struct strbuf line;

    (void)arg;
    strbuf_init(&line, STRBUF_NO_LIMIT);
    append_time(&line, false);
    strbuf_printf(&line, " [myid:1] - %-5s - %s", log_level_name(level), message);
    write_line(&line);
    strbuf_fini(&line);
}

static void json_sink(enum log_level level, const char *message, void *arg)
{
    struct strbuf line;

    (void)arg;
    strbuf_init(&line, STRBUF_NO_LIMIT);
    strbuf_append_str(&line, "{\"time\":\"");
    append_time(&line, true);
    strbuf_printf(&line, "\",\"level\":\"%s\",\"message\":", log_level_name(level));
    append_json_string(&line, message);
    strbuf_append_str(&line, "}");
    write_line(&line);
    strbuf_fini(&line);
}

void log_sink_install(bool json)
{
    logging_set_clock(clock_monotonic_ms);
    logging_set_sink(json ? json_sink : text_sink, NULL);
}
