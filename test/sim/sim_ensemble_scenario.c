/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_scenario.c - a story in a text file, with the trace that it is to have.
 *
 *     # A comment.
 *     members 3
 *     start 1 2 3
 *     run until settled
 *         m3 > LEAD epoch 1
 *     write 3
 *     run 100
 *         m3 > SEND m1 PROPOSAL 0x100000001 8 bytes
 *         ...
 *
 * Lines at the margin are commands; behind each stands, indented, what happened until the next.
 * Every parcel takes one millisecond, every job of a disk two. Of the trace (quorum/trace.h) those
 * lines are shown that tell the story; the rest can be asked for.
 *
 *     members N [observers N]          first of all
 *     counter N, recent BYTES, always-snapshot, weight M N, group M N      behind it
 *     break RULE                       a rule of base/broken.h does not hold
 *     disk M accepted E current E log ZXID...      what is found there at the start
 *     start M..., crash M [power], crash M before TEXT [power]
 *     write M [N], sync M, revalidate M, purge M, resign M
 *     cut M M, heal M M, block M M, unblock M M, reset M M
 *     pause M MS, hold-disk M, release-disk M
 *     drops M, drops-no-more M         connections to its quorum port come to nothing
 *     stranger M, stranger-leaves M    has its quorum port, and takes what comes without a word
 *     diverge M                        finds that its tree is not the others', and stops
 *     damage M N                       ends, and N of its records are left
 *     ruin M...                        all lose power, and of these nothing certain is left
 *     run MS, run until settled, run until TEXT
 *     show WORD..., hide WORD...       which inputs, effects and packets are shown
 *     quiet, loud                      nothing is shown in between
 *     state                            who is what, and has what */
#include "sim_ensemble_scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/broken.h"
#include "base/memory.h"
#include "sim_ensemble.h"

enum { MOST_WORDS = 64, MOST_FILTERS = 64, PATIENCE_US = 600000000, MS_US = 1000 };

struct scenario {
    struct trouble_plan plan;
    struct cluster cluster;
    bool made;
    struct strbuf out;
    const char *awaited; /* "run until": a line that has this ... */
    bool found;          /* ... was there */
    bool is_quiet;
    char shown[MOST_FILTERS][24];
    size_t n_shown;
    char hidden[MOST_FILTERS][24];
    size_t n_hidden;
    char *words[MOST_WORDS];
    size_t n_words;
    char crash_texts[MESH_MEMBERS][64];
};

/* ---- what is shown ---- */

static bool has_word(const char *line, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = strstr(line, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == line || at[-1] == ' ') && strchr(" :", at[len]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool has_one_of(const char *line, char (*words)[24], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (has_word(line, words[i])) {
            return true;
        }
    }
    return false;
}

/* "1.250 m2 > COMMIT ...": without the time. What the cluster itself does is always shown. */
static void take_line(void *arg, const char *text)
{
    struct scenario *s = arg;
    const char *line = text;
    bool of_member;

    if (*text == '-') {
        return; /* a command of ours */
    }
    if (*text >= '0' && *text <= '9') {
        line = strchr(text, ' ') + 1;
    }
    of_member = has_word(line, ">") || has_word(line, "<");
    if (s->awaited != NULL && strstr(line, s->awaited) != NULL) {
        s->found = true;
    }
    if (s->is_quiet) {
        return;
    }
    if (!of_member ||
        (has_one_of(line, s->shown, s->n_shown) && !has_one_of(line, s->hidden, s->n_hidden))) {
        strbuf_printf(&s->out, "    %s\n", line);
    }
}

static void add_filters(char (*list)[24], size_t *n, const struct scenario *s)
{
    for (size_t i = 1; i < s->n_words; i++) {
        ASSERT(*n < MOST_FILTERS);
        snprintf(list[(*n)++], sizeof(list[0]), "%s", s->words[i]);
    }
}

static void remove_filters(char (*list)[24], size_t *n, const struct scenario *s)
{
    for (size_t i = 0; i < *n;) {
        bool named = false;

        for (size_t k = 1; k < s->n_words; k++) {
            named = named || strcmp(list[i], s->words[k]) == 0;
        }
        if (named) {
            memmove(list[i], list[--*n], sizeof(list[0]));
        } else {
            i++;
        }
    }
}

static void show_the_story(struct scenario *s)
{
    static const char *const shown[] = {"SEND",     "APPEND",        "COMMIT", "SAVE_EPOCH",
                                        "TRUNCATE", "LOAD_SNAPSHOT", "LEAD",   "SERVE",
                                        "SEND_LOG", "SEND_SNAPSHOT", "STOP",   "SYNCED"};

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        snprintf(s->shown[s->n_shown++], sizeof(s->shown[0]), "%s", shown[i]);
    }
    snprintf(s->hidden[s->n_hidden++], sizeof(s->hidden[0]), "PING");
}

/* ---- commands ---- */

static int member_of(const char *word)
{
    int sid = atoi(word);

    ASSERT(sid > 0 && sid <= MESH_MEMBERS);
    return sid - 1;
}

static const char *word_behind(const struct scenario *s, const char *word)
{
    for (size_t i = 1; i + 1 < s->n_words; i++) {
        if (strcmp(s->words[i], word) == 0) {
            return s->words[i + 1];
        }
    }
    return NULL;
}

static bool has(const struct scenario *s, const char *word)
{
    for (size_t i = 1; i < s->n_words; i++) {
        if (strcmp(s->words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static int64_t number_at(const struct scenario *s, size_t i, int64_t otherwise)
{
    return i < s->n_words ? strtoll(s->words[i], NULL, 0) : otherwise;
}

static void make_plan(struct scenario *s)
{
    const char *observers = word_behind(s, "observers");

    trouble_plan_init(&s->plan, (int)number_at(s, 1, 3), observers == NULL ? 0 : atoi(observers));
    s->plan.trouble_us = INT64_MAX;
    s->plan.without_luck = true;
}

static void make_world(struct scenario *s)
{
    jmp_buf *end = s->cluster.end;

    if (!s->made) {
        ASSERT(s->plan.n_voters > 0);
        cluster_init(&s->cluster, &s->plan, &toy_body);
        s->cluster.end = end;
        s->cluster.line = take_line;
        s->cluster.line_arg = s;
        s->made = true;
        for (int i = 0; i < s->cluster.n_members; i++) {
            s->cluster.members[i].clock_ahead_us = 0;
        }
    }
}

/* Voters, then "observers" and those. */
static uint32_t read_list(const struct scenario *s, size_t first_word, uint32_t *observers)
{
    uint32_t voters = 0, *set = &voters;

    *observers = 0;
    for (size_t i = first_word; i < s->n_words; i++) {
        if (strcmp(s->words[i], "observers") == 0) {
            set = observers;
        } else {
            *set |= (uint32_t)1 << member_of(s->words[i]);
        }
    }
    return voters;
}

static bool plan_command(struct scenario *s)
{
    const char *verb = s->words[0];

    if (strcmp(verb, "members") == 0) {
        make_plan(s);
    } else if (strcmp(verb, "counter") == 0) {
        s->plan.counter_limit = number_at(s, 1, 0);
    } else if (strcmp(verb, "first-list") == 0) {
        s->plan.lists_change = true;
        s->plan.first_voters = read_list(s, 1, &s->plan.first_observers);
    } else if (strcmp(verb, "recent") == 0) {
        s->plan.recent_bytes = (size_t)number_at(s, 1, 0);
    } else if (strcmp(verb, "always-snapshot") == 0) {
        s->plan.always_snapshot = true;
    } else if (strcmp(verb, "weight") == 0) {
        s->plan.weights[member_of(s->words[1])] = number_at(s, 2, 1);
    } else if (strcmp(verb, "group") == 0) {
        int group = (int)number_at(s, 2, 1);

        s->plan.groups[member_of(s->words[1])] = group - 1;
        s->plan.n_groups = group > s->plan.n_groups ? group : s->plan.n_groups;
    } else {
        return false;
    }
    return true;
}

static void break_a_rule(const char *name)
{
#define RULE(rule)                   \
    if (strcmp(name, #rule) == 0) {  \
        broken_rule = BROKEN_##rule; \
    }
    BROKEN_RULES(RULE)
#undef RULE
    ASSERT(broken_rule != BROKEN_NONE);
}

/* Records that are on a disk were proposed by somebody before the story begins. */
static void fill_log(struct scenario *s, struct toy_disk *d, size_t first_word)
{
    for (size_t i = first_word; i < s->n_words; i++) {
        int64_t zxid = strtoll(s->words[i], NULL, 0);

        judge_knows(&s->cluster.judge, zxid, (uint64_t)zxid);
        toy_history_add(&d->history, zxid, (uint64_t)zxid);
    }
    d->n_synced = d->history.n;
}

static void fill_disk(struct scenario *s)
{
    struct toy_disk *d = &s->cluster.members[member_of(s->words[1])].carrier.disk;
    const char *accepted = word_behind(s, "accepted"), *current = word_behind(s, "current");

    d->epochs[TOY_ACCEPTED] = accepted == NULL ? 0 : atoi(accepted);
    d->epochs[TOY_CURRENT] = current == NULL ? 0 : atoi(current);
    for (size_t i = 2; i < s->n_words; i++) {
        if (strcmp(s->words[i], "log") == 0) {
            fill_log(s, d, i + 1);
        }
    }
}

static void crash_member(struct scenario *s)
{
    int i = member_of(s->words[1]);
    struct sim_member *m = &s->cluster.members[i];
    bool power = strcmp(s->words[s->n_words - 1], "power") == 0;
    size_t end = s->n_words - (power ? 1 : 0);

    if (!has(s, "before")) {
        cluster_crash(&s->cluster, i, power ? CRASH_POWER : CRASH_KILLED, NOT_BY_ITSELF);
        return;
    }
    s->crash_texts[i][0] = '\0';
    for (size_t k = 3; k < end; k++) {
        size_t len = strlen(s->crash_texts[i]);

        snprintf(s->crash_texts[i] + len, sizeof(s->crash_texts[i]) - len, "%s%s",
                 len > 0 ? " " : "", s->words[k]);
    }
    m->crash_before = s->crash_texts[i];
    m->crash_power = power;
    m->crash_until_us = NOT_BY_ITSELF;
}

/* With a question mark what is logged and not known as committed. */
static void print_history(struct scenario *s, const struct sim_member *m)
{
    const struct sim_carrier *t = &m->carrier;
    const struct toy_history *h = &t->disk.history;

    for (size_t i = 0; i < h->n; i++) {
        strbuf_printf(&s->out, " 0x%" PRIx64 "%s", h->records[i].zxid, i < t->n_applied ? "" : "?");
    }
    if (h->n == 0) {
        strbuf_append_str(&s->out, " nothing");
    }
}

static void print_state(struct scenario *s)
{
    for (int i = 0; i < s->cluster.n_members; i++) {
        const struct sim_member *m = &s->cluster.members[i];
        const struct sim_carrier *t = &m->carrier;

        strbuf_printf(&s->out, "    m%d %s, accepted %" PRId64 " current %" PRId64 ", has", i + 1,
                      !m->runs    ? "is down"
                      : t->leads  ? "leads"
                      : t->serves ? "serves"
                                  : "looks",
                      t->disk.epochs[TOY_ACCEPTED], t->disk.epochs[TOY_CURRENT]);
        print_history(s, m);
        strbuf_append_str(&s->out, "\n");
    }
}

static void run_until_settled(struct scenario *s)
{
    int64_t end = s->cluster.now_us + PATIENCE_US;

    while (!cluster_is_settled(&s->cluster) && s->cluster.now_us < end) {
        cluster_step(&s->cluster, s->cluster.now_us + MS_US);
    }
    if (!cluster_is_settled(&s->cluster)) {
        cluster_violated(&s->cluster, "not settled");
    }
}

static void run_until_line(struct scenario *s, const char *text)
{
    int64_t end = s->cluster.now_us + PATIENCE_US;

    s->awaited = text;
    s->found = false;
    while (!s->found && s->cluster.now_us < end) {
        cluster_step(&s->cluster, s->cluster.now_us + MS_US);
    }
    s->awaited = NULL;
    if (!s->found) {
        cluster_violated(&s->cluster, "there was no \"%s\"", text);
    }
}

static void run_on(struct scenario *s, const char *line)
{
    const char *until = strstr(line, "until ");

    if (until == NULL) {
        int64_t end = s->cluster.now_us + number_at(s, 1, 0) * MS_US;

        while (cluster_step(&s->cluster, end)) {
        }
    } else if (strcmp(until, "until settled") == 0) {
        run_until_settled(s);
    } else {
        run_until_line(s, until + 6);
    }
}

static void start_members(struct scenario *s)
{
    for (size_t i = 1; i < s->n_words; i++) {
        cluster_start(&s->cluster, member_of(s->words[i]));
    }
}

static void hold_disk(struct scenario *s, bool held)
{
    struct sim_member *m = &s->cluster.members[member_of(s->words[1])];

    m->carrier.disk.is_held = held;
    if (!held) {
        sim_member_serve_disk(m);
    }
}

/* What a plan can ask for; begun or ended. */
static bool item_command(struct scenario *s)
{
    static const struct {
        const char *verb;
        enum trouble_kind kind;
        bool ends;
    } verbs[] = {
        {"write", TROUBLE_WRITE, false},
        {"sync", TROUBLE_SYNC, false},
        {"purge", TROUBLE_PURGE, false},
        {"revalidate", TROUBLE_REVALIDATE, false},
        {"resign", TROUBLE_RESIGN, false},
        {"pause", TROUBLE_PAUSE, false},
        {"cut", TROUBLE_CUT, false},
        {"heal", TROUBLE_CUT, true},
        {"block", TROUBLE_BLOCK, false},
        {"unblock", TROUBLE_BLOCK, true},
        {"reset", TROUBLE_RESET, false},
        {"stranger", TROUBLE_STRANGER, false},
        {"stranger-leaves", TROUBLE_STRANGER, true},
        {"drops", TROUBLE_DROPS, false},
        {"drops-no-more", TROUBLE_DROPS, true},
        {"diverge", TROUBLE_DIVERGE, false},
        {"damage", TROUBLE_DAMAGE, false},
    };
    struct trouble_item item = {.for_us = -1};

    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].verb, s->words[0]) == 0) {
            item.kind = verbs[i].kind;
            item.a = member_of(s->words[1]);
            item.b = (int)number_at(s, 2, 1) - 1;
            item.amount = number_at(s, 2, 1);
            item.for_us = item.kind == TROUBLE_PAUSE ? item.amount * MS_US : -1;
            (verbs[i].ends ? cluster_end : cluster_begin)(&s->cluster, &item);
            return true;
        }
    }
    return false;
}

/* "list 3 1 2 3 observers 4": an operator asks m3, which has to lead. */
static void change_list(struct scenario *s)
{
    struct trouble_item item = {.kind = TROUBLE_LIST, .a = member_of(s->words[1]), .for_us = -1};
    uint32_t observers;

    item.set = read_list(s, 2, &observers);
    item.amount = observers;
    cluster_begin(&s->cluster, &item);
}

static void ruin(struct scenario *s)
{
    struct trouble_item item = {.kind = TROUBLE_RUIN, .for_us = -1};

    for (size_t i = 1; i < s->n_words; i++) {
        item.set |= (uint32_t)1 << member_of(s->words[i]);
    }
    cluster_begin(&s->cluster, &item);
}

static bool cluster_command(struct scenario *s, const char *line)
{
    const char *verb = s->words[0];

    if (strcmp(verb, "break") == 0) {
        break_a_rule(s->words[1]);
    } else if (strcmp(verb, "disk") == 0) {
        fill_disk(s);
    } else if (strcmp(verb, "start") == 0) {
        start_members(s);
    } else if (strcmp(verb, "crash") == 0) {
        crash_member(s);
    } else if (strcmp(verb, "run") == 0) {
        run_on(s, line);
    } else if (strcmp(verb, "ruin") == 0) {
        ruin(s);
    } else if (strcmp(verb, "list") == 0) {
        change_list(s);
    } else if (strcmp(verb, "hold-disk") == 0 || strcmp(verb, "release-disk") == 0) {
        hold_disk(s, *verb == 'h');
    } else if (strcmp(verb, "show") == 0) {
        add_filters(s->shown, &s->n_shown, s);
        remove_filters(s->hidden, &s->n_hidden, s);
    } else if (strcmp(verb, "hide") == 0) {
        add_filters(s->hidden, &s->n_hidden, s);
    } else if (strcmp(verb, "quiet") == 0 || strcmp(verb, "loud") == 0) {
        s->is_quiet = *verb == 'q';
    } else if (strcmp(verb, "state") == 0) {
        print_state(s);
    } else {
        return item_command(s);
    }
    return true;
}

static bool command(struct scenario *s, const char *line)
{
    char *copy = must_strdup(line), *rest = NULL;
    bool known;

    s->n_words = 0;
    for (char *word = strtok_r(copy, " ", &rest); word != NULL && s->n_words < MOST_WORDS;
         word = strtok_r(NULL, " ", &rest)) {
        s->words[s->n_words++] = word;
    }
    known = s->n_words > 0 && plan_command(s);
    if (!known) {
        make_world(s);
        known = cluster_command(s, line);
    }
    free(copy);
    return known;
}

/* ---- files ---- */

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    struct strbuf b;
    char piece[4096];
    size_t n;

    if (f == NULL) {
        perror(path);
        exit(2);
    }
    strbuf_init(&b, STRBUF_NO_LIMIT);
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0) {
        strbuf_append(&b, piece, n);
    }
    fclose(f);
    strbuf_cstr(&b);
    return (char *)b.data;
}

static bool is_command(const char *line)
{
    return *line != '\0' && *line != ' ' && *line != '#';
}

/* Plays it; the file as it would have to be is in `out`. False: what a line says is not known. */
static bool play(struct scenario *s, char *text)
{
    char *next;

    for (char *line = text; line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (*line == ' ') {
            continue; /* what was expected */
        }
        strbuf_printf(&s->out, "%s\n", line);
        if (is_command(line) && !command(s, line)) {
            fprintf(stderr, "not known: %s\n", line);
            return false;
        }
    }
    return true;
}

static void print_difference(const char *path, const char *expected, const char *got)
{
    size_t same = 0, line = 1, begin = 0;

    for (; expected[same] == got[same] && got[same] != '\0'; same++) {
        if (got[same] == '\n') {
            line++;
            begin = same + 1;
        }
    }
    printf("%s:%zu: expected, and got:\n-%.*s\n+%.*s\n", path, line,
           (int)strcspn(expected + begin, "\n"), expected + begin, (int)strcspn(got + begin, "\n"),
           got + begin);
}

static int compare(struct scenario *s, const char *path, const char *expected, bool write)
{
    const char *got = strbuf_cstr(&s->out);
    FILE *f;

    if (strcmp(got, expected) == 0) {
        return 0;
    }
    if (write) {
        f = fopen(path, "w");
        ASSERT(f != NULL && fputs(got, f) >= 0 && fclose(f) == 0);
        return 0;
    }
    print_difference(path, expected, got);
    printf("the whole of it:\n%s", got);
    return 1;
}

int scenario_run(const char *path, bool write)
{
    struct scenario *s = must_zalloc(sizeof(*s));
    char *expected = read_file(path), *volatile text = must_strdup(expected);
    volatile bool known = true;
    jmp_buf end;
    int rc;

    strbuf_init(&s->out, STRBUF_NO_LIMIT);
    show_the_story(s);
    s->cluster.end = &end;
    if (setjmp(end) == 0) { /* a rule that is broken ends the story, too, and its trace says so */
        known = play(s, text);
    }
    rc = known ? compare(s, path, expected, write) : 2;
    if (s->made && s->cluster.why[0] == '\0') {
        cluster_fini(&s->cluster);
    }
    strbuf_fini(&s->out);
    trouble_plan_fini(&s->plan);
    free(text);
    free(expected);
    free(s);
    return rc;
}
