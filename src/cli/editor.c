/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/editor.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/event.h"
#include "cli/text.h"
#include "cli/typed.h"

/* So many candidates are shown. */
enum { SHOWN_MAX = 200 };

struct editor {
    struct editor_hooks hooks;
    EditLine *el;
    History *history;
    struct strbuf line; /* without its end */
};

/* libedit does not free the names of functions that were added to it (map.c). */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:wcsdup\n";
}
#endif

/* ---- keys ---- */

static struct editor *editor_of(EditLine *el)
{
    struct editor *e = NULL;

    el_get(el, EL_CLIENTDATA, &e);
    return e;
}

/* Until there is a key: 1. A signal: -1. */
static int wait_for_key(struct editor *e)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = cli_signal_fd(), .events = POLLIN},
                               {.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = events_fd(), .events = POLLIN}};
        int n = poll(fds, 3, -1);

        if (cli_signal() != 0) {
            errno = EINTR;
            return -1;
        }
        if (n > 0 && fds[2].revents != 0) {
            fputs("\r\033[K", stdout);
            e->hooks.idle(e->hooks.arg);
            fflush(stdout);
            el_set(e->el, EL_REFRESH);
        } else if (n > 0 && fds[1].revents != 0) {
            return 1;
        }
    }
}

/* A character may be several bytes; what is none is left out. */
static int editor_on_key(EditLine *el, wchar_t *out)
{
    mbstate_t state = {0};
    size_t used = (size_t)-2;
    char byte;

    while (used == (size_t)-2) {
        ssize_t n;

        if (wait_for_key(editor_of(el)) < 0) {
            return -1;
        }
        n = read(STDIN_FILENO, &byte, 1);
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
            return (int)n; /* the terminal has gone */
        }
        used = n > 0 ? mbrtowc(out, &byte, 1, &state) : used;
        if (used == (size_t)-1) {
            state = (mbstate_t){0};
            used = (size_t)-2;
        }
    }
    return 1;
}

/* ---- completion ---- */

/* What differs between them: of paths the last part. */
static const char *shown(const struct candidates *c, size_t i)
{
    return c->parent != NULL ? strrchr(c->items[i], '/') + 1 : c->items[i];
}

static void show(const struct candidates *c)
{
    struct winsize size = {.ws_col = 80};
    size_t n = c->n < SHOWN_MAX ? c->n : SHOWN_MAX, width = 0, columns;

    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    for (size_t i = 0; i < n; i++) {
        width = strlen(shown(c, i)) > width ? strlen(shown(c, i)) : width;
    }
    columns = size.ws_col / (width + 2) > 0 ? size.ws_col / (width + 2) : 1;
    putchar('\n');
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(shown(c, i));

        text_escaped((struct pawl_bytes){shown(c, i), len});
        if ((i + 1) % columns == 0 || i + 1 == n) {
            putchar('\n');
        } else {
            printf("%*s", (int)(width + 2 - len), "");
        }
    }
    if (n < c->n) {
        printf("and %zu more\n", c->n - n);
    }
    fflush(stdout);
}

/* A path may go on below, everything else is a whole word. */
static unsigned char insert(EditLine *el, const struct candidates *c)
{
    char *common = complete_common(c);
    size_t typed = strlen(c->word);
    unsigned char result = CC_ERROR;

    if (strlen(common) > typed && el_insertstr(el, common + typed) == 0) {
        result = CC_REFRESH;
    }
    if (c->n == 1 && c->parent == NULL && strcmp(common, c->items[0]) == 0) {
        el_insertstr(el, " ");
        result = CC_REFRESH;
    }
    free(common);
    return result;
}

static unsigned char editor_on_tab(EditLine *el, int key)
{
    struct editor *e = editor_of(el);
    const LineInfo *line = el_line(el);
    struct candidates c;
    unsigned char result;

    (void)key;
    complete_line(line->buffer, (size_t)(line->cursor - line->buffer), &c);
    if (c.parent != NULL) {
        e->hooks.complete(e->hooks.arg, &c);
        complete_sort(&c);
    }
    result = insert(el, &c);
    if (result == CC_ERROR && c.n > 1) {
        show(&c);
        result = CC_REDISPLAY;
    }
    candidates_fini(&c);
    return result;
}

/* ---- lines ---- */

static char *editor_prompt(EditLine *el)
{
    struct editor *e = editor_of(el);

    return (char *)(uintptr_t)e->hooks.prompt(e->hooks.arg); /* libedit only reads it */
}

/* Characters as the user has them; without a locale as everybody has them now. */
static void choose_characters(void)
{
    if (setlocale(LC_CTYPE, "") == NULL || MB_CUR_MAX == 1) {
        setlocale(LC_CTYPE, "C.UTF-8");
    }
}

static bool is_terminal_good(void)
{
    const char *term = getenv("TERM");

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term != NULL && term[0] != '\0' &&
           strcmp(term, "dumb") != 0;
}

static void bind_keys(struct editor *e)
{
    el_set(e->el, EL_CLIENTDATA, e);
    el_set(e->el, EL_SIGNAL, 0); /* signals are ours */
    el_set(e->el, EL_EDITOR, "emacs");
    el_set(e->el, EL_PROMPT_ESC, editor_prompt, '\1');
    el_set(e->el, EL_GETCFN, editor_on_key);
    el_set(e->el, EL_HIST, history, e->history);
    el_set(e->el, EL_ADDFN, "pawl-complete", "complete a word", editor_on_tab);
    el_set(e->el, EL_BIND, "^I", "pawl-complete", NULL);
    el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(e->el, EL_BIND, "\\e[3~", "ed-delete-next-char", NULL);
    el_set(e->el, EL_BIND, "\\e[1;5D", "ed-prev-word", NULL);
    el_set(e->el, EL_BIND, "\\e[1;5C", "em-next-word", NULL);
}

struct editor *editor_open(const struct editor_hooks *hooks)
{
    struct editor *e;
    HistEvent event;

    if (!is_terminal_good()) {
        return NULL;
    }
    choose_characters();
    e = must_zalloc(sizeof(*e));
    e->hooks = *hooks;
    e->history = history_init();
    e->el = el_init("pawl", stdin, stdout, stderr);
    if (e->history == NULL || e->el == NULL) {
        editor_close(e);
        return NULL;
    }
    strbuf_init(&e->line, STRBUF_NO_LIMIT);
    history(e->history, &event, H_SETSIZE, TYPED_KEPT);
    history(e->history, &event, H_SETUNIQUE, 1);
    bind_keys(e);
    return e;
}

void editor_close(struct editor *e)
{
    if (e == NULL) {
        return;
    }
    if (e->el != NULL) {
        el_end(e->el);
    }
    if (e->history != NULL) {
        history_end(e->history);
    }
    strbuf_fini(&e->line);
    free(e);
}

void editor_remember(struct editor *e, const char *line)
{
    HistEvent event;

    history(e->history, &event, H_ENTER, line);
}

enum editor_news editor_read(struct editor *e, const char **line)
{
    const char *text;
    int len = 0;

    el_resize(e->el);
    text = el_gets(e->el, &len);
    if (text == NULL || len <= 0) {
        return cli_signal() != 0 ? EDITOR_INTERRUPTED : EDITOR_END;
    }
    strbuf_clear(&e->line);
    strbuf_append(&e->line, text, (size_t)len - (text[len - 1] == '\n'));
    *line = strbuf_cstr(&e->line);
    return EDITOR_LINE;
}
