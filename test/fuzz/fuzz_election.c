/* SPDX-License-Identifier: Apache-2.0 */
/* What the servers of an ensemble tell one of them in an election, as it begins with any bytes:
 *
 *   byte  server 0 to 9 of the list (0 and 8 are in none), or what happens instead: time passes,
 *         a role is taken up, left, looked for
 *   frame of a notification, in the first case */
#include "fuzz.h"
#include "quorum/election.h"

enum { ID = 3, TICK = 10, SYNCED, LEAVE, START, REFUSED, KINDS };

struct fuzz_election {
    struct quorum_config config;
    struct election *election;
    struct election_effects effects;
    int64_t now_us;
};

static void fuzz_begin(struct fuzz_election *f, int hierarchical)
{
    static const char *const texts[] = {
        "server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2\nserver.9=d:1:2:observer\nversion=0",
        "server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2\nserver.4=d:1:2\ngroup.1=1:2\n"
        "group.2=3:4\nweight.4=0\nversion=0",
    };
    struct strbuf why;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    MUST(quorum_config_read(&f->config, bytes_str(texts[hierarchical]), &why));
    strbuf_fini(&why);
    f->election = election_new(&(struct election_options){.id = ID, .config = &f->config});
    election_effects_init(&f->effects);
}

static void fuzz_end(struct fuzz_election *f)
{
    election_effects_fini(&f->effects);
    election_free(f->election);
    quorum_config_fini(&f->config);
}

static void fuzz_check(const struct fuzz_election *f)
{
    size_t n_elected = 0;

    for (size_t i = 0; i < f->effects.n; i++) {
        const struct election_effect *e = &f->effects.effect[i];
        struct notification n;

        if (e->kind == ELECTION_NOTIFY) {
            MUST(e->id != ID);
            MUST(notification_read(bytes_of(e->bytes.data + 4, e->bytes.len - 4), &n));
        } else {
            MUST((e->state == MEMBER_LEADING) == (e->id == ID));
            n_elected++;
        }
    }
    MUST(n_elected <= 1);
}

static void fuzz_step(struct fuzz_election *f, struct election_input in)
{
    enum member_state state = election_state(f->election);
    bool idle = election_is_idle(f->election);

    if ((in.kind == ELECTION_SYNCED && (idle || state == MEMBER_LOOKING)) ||
        (in.kind == ELECTION_LEAVE && idle)) {
        return; /* not asked by anybody */
    }
    election_effects_clear(&f->effects);
    election_step(f->election, f->now_us, &in, &f->effects);
    fuzz_check(f);
}

/* The input that begins at `*rest`; false at the end. */
static bool fuzz_next(struct bytes *rest, struct election_input *in)
{
    static const enum election_input_kind kinds[] = {ELECTION_TICK, ELECTION_SYNCED, ELECTION_LEAVE,
                                                     ELECTION_START, ELECTION_REFUSED};
    int what;
    size_t used = 0;

    if (rest->len == 0) {
        return false;
    }
    what = rest->data[0] % KINDS;
    *rest = bytes_of(rest->data + 1, rest->len - 1);
    *in = (struct election_input){.kind = ELECTION_NOTIFICATION, .id = what};
    if (what >= TICK) {
        in->kind = kinds[what - TICK];
        in->id = rest->len > 0 ? rest->data[0] % 5 : 0;
        in->epoch = in->zxid = in->id;
        return true;
    }
    if (notification_frame(*rest, &in->bytes, &used) != STREAM_WHOLE) {
        return false;
    }
    *rest = bytes_of(rest->data + used, rest->len - used);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int hierarchical = take_choice(&data, &size, 2);
    struct bytes rest = bytes_of(data, size);
    struct fuzz_election f = {.now_us = 1000};
    struct election_input in;

    fuzz_begin(&f, hierarchical);
    fuzz_step(&f, (struct election_input){.kind = ELECTION_START, .zxid = 5, .epoch = 1});
    while (fuzz_next(&rest, &in)) {
        f.now_us += in.kind == ELECTION_TICK ? 100000 : 1000;
        fuzz_step(&f, in);
    }
    fuzz_end(&f);
    return 0;
}
