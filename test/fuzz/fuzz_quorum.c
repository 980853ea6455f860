/* SPDX-License-Identifier: Apache-2.0 */
/* A leader, a follower or an observer whose peers send anything: they lose their links, or it
 * leaves its role; what it believes of itself (its ASSERTs) holds.
 *
 * The input is a sequence of moves: a byte each, with a packet behind it where it is one. Whatever
 * carries effects out keeps its promises: jobs are answered in order, packets are held back while
 * the history is replaced, and nothing comes from a link that is closed. */
#include "fuzz.h"
#include "lib/quorum_fixture.h"

/* After so long everybody has rested; after as long again nobody abstains any more. */
enum { REST_US = INIT_LIMIT * TICK_US };

enum { LIMIT_BYTES = 1 << 16, N_LINKS = 3, JOBS_MAX = 256, STEPS_MAX = 400 };

struct job {
    enum quorum_input_kind answer;
    struct quorum_input in;
};

struct world {
    struct quorum_fixture f;
    struct job jobs[JOBS_MAX];
    size_t n_jobs;
    link_id links[N_LINKS]; /* 0: down */
    link_id last_link;
    int64_t dialling; /* SID_NOBODY: nobody */
    bool held;
    bool leading;
};

static void push_job(struct world *w, const struct quorum_input *in)
{
    MUST(w->n_jobs < JOBS_MAX);
    w->jobs[w->n_jobs++].in = *in;
}

static void link_is_gone(struct world *w, link_id link)
{
    for (int i = 0; i < N_LINKS; i++) {
        if (w->links[i] == link) {
            w->links[i] = 0;
        }
    }
}

/* A half loaded snapshot is thrown away. */
static void drop_loading(struct world *w)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->n_jobs; i++) {
        if (w->jobs[i].in.kind != QUORUM_IN_SNAPSHOT_LOADED) {
            w->jobs[kept++] = w->jobs[i];
        }
    }
    w->n_jobs = kept;
}

static void carry_out(struct world *w, const struct quorum_effect *e)
{
    struct quorum_input in = {.zxid = e->zxid, .which = e->which, .epoch = e->epoch};

    switch (e->kind) {
    case QUORUM_DO_SAVE_EPOCH:
        in.kind = QUORUM_IN_EPOCH_SAVED;
        push_job(w, &in);
        break;
    case QUORUM_DO_APPEND:
        in.kind = QUORUM_IN_LOG_DURABLE;
        MUST(e->bytes.len > 0 && e->bytes.data[0] + 1 > 0);
        push_job(w, &in);
        break;
    case QUORUM_DO_TRUNCATE:
    case QUORUM_DO_LOAD_SNAPSHOT:
        in.kind = e->kind == QUORUM_DO_TRUNCATE ? QUORUM_IN_TRUNCATED : QUORUM_IN_SNAPSHOT_LOADED;
        w->held = true;
        push_job(w, &in);
        break;
    case QUORUM_DO_SEND_SNAPSHOT:
    case QUORUM_DO_SEND_LOG:
        in.kind = e->kind == QUORUM_DO_SEND_LOG ? QUORUM_IN_LOG_SENT : QUORUM_IN_SNAPSHOT_SENT;
        in.link = e->link;
        push_job(w, &in);
        break;
    case QUORUM_DO_STOP:
        drop_loading(w);
        w->dialling = SID_NOBODY;
        in.kind = QUORUM_IN_STOPPED;
        push_job(w, &in);
        break;
    case QUORUM_DO_CLOSE:
        link_is_gone(w, e->link);
        break;
    case QUORUM_DO_DIAL:
        w->dialling = e->sid;
        break;
    default:
        break;
    }
}

static void after_step(struct world *w)
{
    size_t count = w->f.effects.count;
    struct strbuf all;

    strbuf_init(&all, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < count; i++) {
        if (w->f.effects.items[i].kind == QUORUM_DO_SEND) { /* what it lends can be read */
            packet_write(&all, &w->f.effects.items[i].packet);
        }
    }
    strbuf_fini(&all);
    for (size_t i = 0; i < count; i++) {
        carry_out(w, &w->f.effects.items[i]);
    }
}

static void step(struct world *w, const struct quorum_input *in)
{
    fixture_step(&w->f, in);
    after_step(w);
}

static void elect(struct world *w)
{
    if (w->leading) {
        quorum_fixture_elect_self(&w->f);
    } else {
        quorum_fixture_elect(&w->f, 2);
    }
    after_step(w);
}

static void finish_job(struct world *w)
{
    struct quorum_input in;

    if (w->n_jobs == 0) {
        return;
    }
    in = w->jobs[0].in;
    memmove(w->jobs, w->jobs + 1, --w->n_jobs * sizeof *w->jobs);
    if (in.kind == QUORUM_IN_STOPPED) {
        in.zxid = quorum_status(w->f.quorum).last_zxid;
    }
    if (in.kind == QUORUM_IN_TRUNCATED || in.kind == QUORUM_IN_SNAPSHOT_LOADED ||
        in.kind == QUORUM_IN_STOPPED) {
        w->held = false;
    }
    step(w, &in);
    if (in.kind == QUORUM_IN_STOPPED) {
        for (int i = 0; i < 2; i++) {
            w->f.now_us += REST_US;
            step(w, &(struct quorum_input){.kind = QUORUM_IN_TICK});
        }
        elect(w);
    }
}

static void toggle_link(struct world *w, int i)
{
    struct quorum_input in = {.kind = QUORUM_IN_LINK_UP, .sid = SID_NOBODY};

    if (w->links[i] != 0) {
        in.kind = QUORUM_IN_LINK_DOWN;
        in.link = w->links[i];
        w->links[i] = 0;
    } else {
        if (!w->leading && i == 0) {
            in.sid = w->dialling == SID_NOBODY ? 2 : w->dialling;
        }
        in.link = ++w->last_link;
        w->links[i] = in.link;
    }
    step(w, &in);
}

static bool give_packet(struct world *w, int i, struct bytes *input)
{
    struct packet p;
    size_t used;

    if (packet_read(*input, LIMIT_BYTES, &p, &used) != STREAM_WHOLE) {
        return false;
    }
    if (w->links[i] == 0) {
        toggle_link(w, i);
    }
    if (w->links[i] != 0 && !w->held) {
        step(w,
             &(struct quorum_input){.kind = QUORUM_IN_PACKET, .link = w->links[i], .packet = &p});
    }
    *input = bytes_of(input->data + used, input->len - used);
    return true;
}

static void client_asks(struct world *w, int what)
{
    struct quorum_status s = quorum_status(w->f.quorum);
    int64_t start = zxid_make(s.current_epoch, 0);
    struct packet request = {.type = PACKET_REQUEST, .zxid = -1, .auth.count = -1};

    if (!s.serving) {
        return;
    }
    if (!w->leading) {
        step(w, &(struct quorum_input){.kind = QUORUM_IN_FORWARD, .packet = &request});
    } else if (what % 2 == 0) {
        step(w, &(struct quorum_input){.kind = QUORUM_IN_PROPOSE,
                                       .zxid = (s.last_zxid > start ? s.last_zxid : start) + 1,
                                       .bytes = bytes_str("payload")});
    } else {
        step(w, &(struct quorum_input){.kind = QUORUM_IN_SYNC, .link = w->links[what / 2 % 3]});
    }
}

static bool move(struct world *w, struct bytes *input)
{
    int what = input->data[0];
    int which = what >> 3;

    *input = bytes_of(input->data + 1, input->len - 1);
    switch (what & 7) {
    case 4:
        finish_job(w);
        return true;
    case 5:
        w->f.now_us += which * (TICK_US / 4);
        step(w, &(struct quorum_input){.kind = QUORUM_IN_TICK});
        return true;
    case 6:
        toggle_link(w, which % N_LINKS);
        return true;
    case 7:
        client_asks(w, which);
        return true;
    default:
        return give_packet(w, which % N_LINKS, input);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int choice = take_choice(&data, &size, 6);
    int role = choice % 3;
    struct bytes input = bytes_of(data, size);
    struct world w = {.leading = role == 0, .dialling = SID_NOBODY};

    quorum_fixture_init(&w.f, role == 0 ? 3 : role == 1 ? 1 : 4, 3, 1);
    w.f.options.recent_bytes = 64;
    quorum_fixture_start(&w.f, choice < 3 ? 0 : 0x100000005, choice < 3 ? 0 : 1, NULL);
    elect(&w);
    for (int i = 0; i < STEPS_MAX && input.len > 0 && w.n_jobs < JOBS_MAX - 64; i++) {
        if (!move(&w, &input)) {
            break;
        }
    }
    quorum_fixture_fini(&w.f);
    return 0;
}
