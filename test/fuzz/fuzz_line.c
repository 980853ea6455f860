/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a script: its words, each in quotes with every byte escaped, are the same words. */
#include "base/memory.h"
#include "cli/line.h"
#include "fuzz.h"

static bool recode(struct bytes input, int choice, struct strbuf *out)
{
    char *line = must_copy_string(input);
    struct line_words words;
    bool is_good = line_split(line, &words);

    (void)choice;
    for (int i = 0; is_good && i < words.n; i++) {
        strbuf_append_str(out, " \"");
        for (const char *p = words.items[i]; *p != '\0'; p++) {
            strbuf_printf(out, "\\x%02x", (unsigned char)*p);
        }
        strbuf_append_str(out, "\"");
    }
    if (is_good) {
        MUST(words.items[words.n] == NULL);
        line_words_free(&words);
    }
    free(line);
    return is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    must_be_stable(recode, bytes_of(data, size), 0);
    return 0;
}
