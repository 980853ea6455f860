/* SPDX-License-Identifier: Apache-2.0 */
/* config_file.c - a whole file in memory, and the same without its secrets. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "daemon/config_internal.h"
#include "pawl/error.h"

enum { FILE_LIMIT_BYTES = 1024 * 1024 };

static int config_file_read_all(FILE *file, struct strbuf *out)
{
    char chunk[4096];
    size_t n;

    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        strbuf_append(out, chunk, n);
    }
    if (out->failed) {
        errno = EFBIG;
    }
    return ferror(file) || out->failed ? PAWL_ERR_IO : 0;
}

int config_load(const char *path, struct strbuf *out, struct config_lines *errors)
{
    FILE *file = fopen(path, "re");
    int rc = file != NULL ? 0 : PAWL_ERR_NOT_FOUND;

    strbuf_init(out, FILE_LIMIT_BYTES);
    if (rc == 0) {
        rc = config_file_read_all(file, out);
    }
    if (rc != 0) {
        config_lines_add(errors, "%s: cannot be read: %s", path, strerror(errno));
        strbuf_fini(out);
        rc = PAWL_ERR_CONFIG;
    }
    if (file != NULL) {
        fclose(file);
    }
    return rc;
}

/* ---- the file for others to see ---- */

/* A key that is none of ours may be somebody else's secret all the same. */
static bool config_file_is_secret(const char *name)
{
    static const char *const words[] = {"assword", "ecret", "igest", "oken"};
    const char *rest;
    const struct config_key *k = config_key_find(name, &rest);

    if (k != NULL && !k->family) {
        return k->type == CONFIG_TYPE_SECRET;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(name, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

struct file_hiding {
    struct bytes text;
    struct strbuf *out;
    size_t at; /* what is before it has been taken over, or left out */
    int line;  /* that begins there */
};

/* Takes over, or leaves out, all up to the beginning of a line. */
static void config_file_up_to(struct file_hiding *h, int line, bool take)
{
    size_t from = h->at;

    while (h->line < line && h->at < h->text.len) {
        uint8_t c = h->text.data[h->at++];
        bool is_pair = c == '\r' && h->at < h->text.len && h->text.data[h->at] == '\n';

        h->line += (c == '\n' || c == '\r') && !is_pair ? 1 : 0;
    }
    if (take) {
        strbuf_append(h->out, h->text.data + from, h->at - from);
    }
}

/* Whether a backslash at the end of the line that begins here makes the next one part of it. */
static bool config_file_goes_on(const struct file_hiding *h)
{
    size_t at = h->at, n = 0;

    for (; at < h->text.len && h->text.data[at] != '\n' && h->text.data[at] != '\r'; at++) {
        n = h->text.data[at] == '\\' ? n + 1 : 0;
    }
    return n % 2 == 1;
}

static void config_file_hide(void *arg, int line, const char *key, const char *value)
{
    struct file_hiding *h = arg;
    bool goes_on;

    (void)value;
    if (!config_file_is_secret(key)) {
        return;
    }
    config_file_up_to(h, line, true);
    do {
        goes_on = config_file_goes_on(h);
        config_file_up_to(h, h->line + 1, false);
    } while (goes_on && h->at < h->text.len);
    strbuf_printf(h->out, "%s=(not shown)\n", key);
}

bool config_file_text(const struct config *c, struct strbuf *out)
{
    struct properties_error error;
    struct config_lines errors;
    struct file_hiding h = {.out = out, .line = 1};
    struct strbuf text;
    bool good = false;

    if (c->file == NULL) {
        return false;
    }
    config_lines_init(&errors);
    if (config_load(c->file, &text, &errors) == 0) {
        h.text = strbuf_bytes(&text);
        good = properties_parse(h.text, config_file_hide, &h, &error) == 0;
        config_file_up_to(&h, INT_MAX, true);
        strbuf_fini(&text);
    }
    config_lines_fini(&errors);
    return good;
}
