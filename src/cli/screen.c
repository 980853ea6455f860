/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* What is reported is standard error's again. */
static void stop_hearing(struct screen *s)
{
    if (s->cli->errors != NULL) {
        fclose(s->cli->errors); /* `reported` is whole now */
        s->cli->errors = NULL;
    }
}

/* A file that standard error goes to is better than a screen; so it is without memory. */
static void hear_anew(struct screen *s)
{
    stop_hearing(s);
    free(s->reported);
    s->reported = NULL;
    s->reported_len = 0;
    if (isatty(STDERR_FILENO)) {
        s->cli->errors = open_memstream(&s->reported, &s->reported_len);
    }
}

void screen_open(struct screen *s, struct cli *cli)
{
    *s = (struct screen){.cli = cli};
    fputs("\033[?1049h\033[?25l\033[2J", stdout); /* another screen, without a cursor */
    hear_anew(s);
}

void screen_begin(struct screen *s)
{
    hear_anew(s);
    fputs("\033[H", stdout);
}

void screen_end(struct screen *s)
{
    const char *line, *end;

    if (s->cli->errors != NULL) {
        fflush(s->cli->errors);
    }
    line = s->reported != NULL ? s->reported : "";
    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        printf("%.*s\033[K\r\n", (int)(end - line), line);
    }
    fputs("\033[J", stdout);
    fflush(stdout);
}

void screen_close(struct screen *s)
{
    stop_hearing(s);
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (s->reported != NULL) {
        fputs(s->reported, stderr);
    }
    free(s->reported);
}
