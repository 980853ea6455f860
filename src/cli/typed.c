/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/typed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/line.h"

/* A file of more lines or bytes than this is cut down to the newest: TYPED_KEPT lines, or as many
 * as fit into KEPT_BYTES. So it is not written anew at every line. */
enum {
    FILE_LINES_MAX = 2 * TYPED_KEPT,
    FILE_LIMIT_BYTES = 1 << 20,
    KEPT_BYTES = FILE_LIMIT_BYTES / 2,
    LINE_LIMIT_BYTES = 1 << 16 /* a longer one does not go to the file */
};

/* ---- the file ---- */

static char *file_name(void)
{
    const char *file = getenv("PAWL_HISTORY"), *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *name = NULL;
    int len = 0;

    if (file != NULL) {
        return file[0] != '\0' ? must_strdup(file) : NULL;
    }
    if (state != NULL && state[0] == '/') {
        len = asprintf(&name, "%s/pawl/history", state);
    } else if (home != NULL && home[0] == '/') {
        len = asprintf(&name, "%s/.local/state/pawl/history", home);
    }
    return len < 0 ? NULL : name;
}

static void make_folders(char *file)
{
    for (char *slash = strchr(file + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(file, 0700);
        *slash = '/';
    }
}

static bool is_too_large(const char *file)
{
    struct stat info;

    return stat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > FILE_LIMIT_BYTES;
}

/* What would not fit is left out at the beginning, where the oldest lines are. False: nothing is
 * known of what the file has. */
static bool read_bytes(const char *file, struct strbuf *out, bool *is_all)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat stat;
    char part[65536];
    ssize_t n = -1;

    if (fd < 0) {
        return false;
    }
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
        *is_all = stat.st_size <= FILE_LIMIT_BYTES;
        if (!*is_all) {
            lseek(fd, -FILE_LIMIT_BYTES, SEEK_END);
        }
        while ((n = read(fd, part, sizeof(part))) > 0 && !out->failed) {
            strbuf_append(out, part, (size_t)n);
        }
    }
    close(fd);
    return n == 0 && !out->failed;
}

/* Whole lines, each with its end, without a byte that would end them all. False: the file has been
 * read, and has more than that, or another end. */
static bool read_lines(const char *file, struct strbuf *out, const char **lines)
{
    bool is_all, has_end;
    const char *end;

    *lines = "";
    if (!read_bytes(file, out, &is_all)) {
        return true;
    }
    for (size_t i = 0; i < out->len; i++) {
        out->data[i] = out->data[i] != '\0' ? out->data[i] : ' ';
    }
    has_end = out->len == 0 || out->data[out->len - 1] == '\n';
    strbuf_append_str(out, has_end ? "" : "\n");
    *lines = strbuf_cstr(out);
    end = is_all ? NULL : strchr(*lines, '\n'); /* of half a line */
    *lines = end != NULL ? end + 1 : *lines;
    return is_all && has_end;
}

static bool write_all(int fd, const char *text)
{
    size_t len = strlen(text);
    ssize_t n = 1;

    while (len > 0 && n > 0) {
        n = write(fd, text, len);
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return len == 0;
}

/* All or nothing; if not, it is tried again the next time. */
static void write_anew(const char *file, const char *text)
{
    bool is_written;
    char *other;
    int fd;

    if (asprintf(&other, "%s.XXXXXX", file) < 0) {
        return;
    }
    fd = mkostemp(other, O_CLOEXEC);
    if (fd >= 0) {
        is_written = write_all(fd, text);
        is_written = close(fd) == 0 && is_written;
        if (!is_written || rename(other, file) != 0) {
            unlink(other);
        }
    }
    free(other);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (const char *end = strchr(text, '\n'); end != NULL; end = strchr(end + 1, '\n')) {
        n++;
    }
    return n;
}

static void tell_lines(const char *text, void (*old)(const char *line, void *arg), void *arg)
{
    char *copy = must_strdup(text), *rest = NULL;

    for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        old(line, arg);
    }
    free(copy);
}

/* Reads the newest lines into `text`, and cuts the file down if it is too large. */
static const char *take_newest(const char *file, struct strbuf *text)
{
    const char *newest;
    bool may_stay = read_lines(file, text, &newest);
    size_t n = count_lines(newest), len = strlen(newest);

    may_stay = may_stay && n <= FILE_LINES_MAX;
    while (n > TYPED_KEPT || (!may_stay && len > KEPT_BYTES)) {
        const char *next = strchr(newest, '\n') + 1;

        len -= (size_t)(next - newest);
        newest = next;
        n--;
    }
    if (!may_stay) {
        write_anew(file, newest);
    }
    return newest;
}

void typed_open(struct typed *h, void (*old)(const char *line, void *arg), void *arg)
{
    struct strbuf text;

    *h = (struct typed){.file = file_name()};
    if (h->file == NULL) {
        return;
    }
    strbuf_init(&text, 2 * FILE_LIMIT_BYTES);
    tell_lines(take_newest(h->file, &text), old, arg);
    strbuf_fini(&text);
}

/* False: there is none, and that cannot be helped. */
static bool make_room(const char *file)
{
    struct strbuf text;

    if (is_too_large(file)) {
        strbuf_init(&text, 2 * FILE_LIMIT_BYTES);
        take_newest(file, &text);
        strbuf_fini(&text);
    }
    return !is_too_large(file);
}

static void append_to_file(struct typed *h, const char *line)
{
    struct strbuf text;
    int fd;

    if (h->file == NULL || strlen(line) > LINE_LIMIT_BYTES || !make_room(h->file)) {
        return;
    }
    make_folders(h->file);
    fd = open(h->file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0) {
        return;
    }
    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_printf(&text, "%s\n", line);
    if (write(fd, text.data, text.len) < 0) { /* one piece: other shells write here, too */
        free(h->file);
        h->file = NULL;
    }
    strbuf_fini(&text);
    close(fd);
}

/* ---- this shell's ---- */

/* "addauth digest user:password": the rest is nobody's business. Of what is no line nobody knows
 * which part is what: there the word anywhere is enough. */
char *typed_without_secrets(const char *line)
{
    static const char word[] = "addauth";
    struct line_words words;
    bool has_secrets;

    if (line_split(line, &words)) {
        has_secrets = words.n > 0 && strcmp(words.items[0], word) == 0;
        line_words_free(&words);
    } else {
        has_secrets = strstr(line, word) != NULL;
    }
    return must_strdup(has_secrets ? word : line);
}

const char *typed_add(struct typed *h, const char *line)
{
    if (h->n == TYPED_KEPT) {
        free(h->items[0]);
        memmove(h->items, h->items + 1, (h->n - 1) * sizeof(*h->items));
        h->n--;
        h->first++;
    }
    h->items = must_realloc(h->items, (h->n + 1) * sizeof(*h->items));
    h->items[h->n] = typed_without_secrets(line);
    append_to_file(h, h->items[h->n]);
    return h->items[h->n++];
}

size_t typed_next(const struct typed *h)
{
    return h->first + h->n;
}

const char *typed_get(const struct typed *h, size_t n)
{
    return n >= h->first && n < typed_next(h) ? h->items[n - h->first] : NULL;
}

void typed_replace(struct typed *h, const char *line)
{
    if (h->n > 0) {
        free(h->items[h->n - 1]);
        h->items[h->n - 1] = must_strdup(line);
    }
}

void typed_close(struct typed *h)
{
    for (size_t i = 0; i < h->n; i++) {
        free(h->items[i]);
    }
    free(h->items);
    free(h->file);
    *h = (struct typed){0};
}
