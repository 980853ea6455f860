/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_sink.h"

#include <string.h>
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
    strbuf_printf(&line, " [myid:1] - %-5s - ", log_level_name(level));
    append_printable(&line, message);
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
