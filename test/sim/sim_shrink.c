/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void selection_all(struct selection *s, size_t n)
{
    s->kept = must_alloc((n + 1) * sizeof(bool));
    memset(s->kept, true, n);
    s->n = s->n_kept = n;
}

void selection_listed(struct selection *s, size_t n, const char *list)
{
    char *end;

    selection_all(s, n);
    memset(s->kept, false, n);
    s->n_kept = 0;
    for (; *list >= '0' && *list <= '9'; list = *end == ',' ? end + 1 : end) {
        unsigned long i = strtoul(list, &end, 10);

        if (i < n && !s->kept[i]) {
            s->kept[i] = true;
            s->n_kept++;
        }
    }
}

void selection_fini(struct selection *s)
{
    free(s->kept);
    *s = (struct selection){0};
}

bool selection_has(const struct selection *s, size_t item)
{
    return item < s->n && s->kept[item];
}

void selection_print(const struct selection *s)
{
    const char *comma = "";

    for (size_t i = 0; i < s->n; i++) {
        if (s->kept[i]) {
            printf("%s%zu", comma, i);
            comma = ",";
        }
    }
    printf("%s", s->n_kept == 0 ? "none" : "");
}

/* Leaves out the `many` kept items from the `at`-th on; false: then nothing fails any more. */
static bool leave_out(struct selection *s, size_t at, size_t many,
                      bool (*fails)(void *, const struct selection *), void *arg)
{
    bool *before = must_alloc((s->n + 1) * sizeof(bool));
    size_t seen = 0, n_before = s->n_kept;
    bool failed;

    memcpy(before, s->kept, s->n * sizeof(bool));
    for (size_t i = 0; i < s->n; i++) {
        if (s->kept[i] && seen++ >= at && seen <= at + many) {
            s->kept[i] = false;
            s->n_kept--;
        }
    }
    failed = fails(arg, s);
    if (!failed) {
        memcpy(s->kept, before, s->n * sizeof(bool));
        s->n_kept = n_before;
    }
    free(before);
    return failed;
}

/* Half of it, a quarter of it, ... single items, as long as it goes on failing. */
void selection_shrink(struct selection *s, size_t most_tries,
                      bool (*fails)(void *arg, const struct selection *s), void *arg)
{
    size_t many = s->n_kept / 2, tries = 0;
    bool shorter;

    while (many > 0 && tries < most_tries) {
        shorter = false;
        for (size_t at = 0; at < s->n_kept && tries < most_tries; tries++) {
            if (leave_out(s, at, many, fails, arg)) {
                shorter = true;
            } else {
                at += many;
            }
        }
        many = many > 1 ? many / 2 : shorter ? 1 : 0;
    }
}
