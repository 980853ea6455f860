/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble_judge.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "sim_ensemble.h"
#include "sim_ensemble_list.h"

/* What a leader has proposed. */
struct proposal {
    struct map_entry entry;
    int64_t zxid;
    uint64_t value;
};

typedef unsigned long long hex; /* for printing */

void judge_init(struct judge *j)
{
    map_init(&j->proposals);
}

void judge_fini(struct judge *j)
{
    struct map_entry *e;
    size_t at = 0;

    while ((e = map_drain(&j->proposals, &at)) != NULL) {
        free(e);
    }
    map_fini(&j->proposals);
    toy_history_fini(&j->committed);
}

static struct judged_member *judged(struct sim_member *m)
{
    return &m->cluster->judge.members[m->index];
}

static int name(const struct sim_member *m)
{
    return m->index + 1;
}

/* ---- quorums, counted here ---- */

static bool is_majority(const struct trouble_plan *p, uint32_t set)
{
    int n = 0;

    for (int i = 0; i < p->n_voters; i++) {
        n += (int)(set >> i & 1);
    }
    return n > p->n_voters / 2;
}

static bool wins_group(const struct trouble_plan *p, uint32_t set, int group, int64_t *all)
{
    int64_t got = 0;

    *all = 0;
    for (int i = 0; i < p->n_voters; i++) {
        if (p->groups[i] == group) {
            *all += p->weights[i];
            got += set >> i & 1 ? p->weights[i] : 0;
        }
    }
    return got > *all / 2;
}

/* The list that the first `n` records of a history make. */
static uint64_t list_of(const struct cluster *w, const struct toy_history *h, size_t n)
{
    while (n > 0 && !sim_list_is(h->records[n - 1].value)) {
        n--;
    }
    return n > 0 ? h->records[n - 1].value
                 : sim_list_make(w->plan->first_voters, w->plan->first_observers, 0);
}

static bool is_quorum_of_list(uint64_t list, uint32_t set)
{
    uint32_t voters = sim_list_voters(list);

    return 2 * __builtin_popcount(set & voters) > __builtin_popcount(voters);
}

static bool is_quorum(const struct trouble_plan *p, uint32_t set)
{
    int n_groups = 0, n_won = 0;
    int64_t all;

    if (p->n_groups == 0) {
        return is_majority(p, set);
    }
    for (int group = 0; group < p->n_groups; group++) {
        n_won += wins_group(p, set, group, &all);
        n_groups += all > 0;
    }
    return n_won > n_groups / 2;
}

/* Of the list as of that zxid; and if that is a new one, of the one before it. */
static bool is_quorum_at(const struct sim_member *m, int64_t zxid, uint32_t set)
{
    const struct cluster *w = m->cluster;
    const struct toy_history *h = &m->carrier.disk.history;
    size_t n = toy_history_upto(h, zxid);

    if (!w->plan->lists_change) {
        return is_quorum(w->plan, set);
    }
    if (n > 0 && h->records[n - 1].zxid == zxid && sim_list_is(h->records[n - 1].value) &&
        !is_quorum_of_list(list_of(w, h, n - 1), set)) {
        return false;
    }
    return is_quorum_of_list(list_of(w, h, n), set);
}

/* Who has acked `zxid` to this leader; itself, once it is on its own disk. */
static uint32_t who_acked(struct sim_member *m, int64_t zxid)
{
    const struct judged_member *j = judged(m);
    uint32_t set = 0;

    for (int i = 0; i < m->cluster->n_members; i++) {
        set |= (uint32_t)(j->acks[i] >= zxid) << i;
    }
    if (toy_disk_safe_zxid(&m->carrier.disk) >= zxid &&
        m->carrier.disk.epochs[TOY_CURRENT] >= zxid_epoch(zxid)) {
        set |= (uint32_t)1 << m->index;
    }
    return set;
}

/* ---- proposals ---- */

static struct proposal *find_proposal(struct judge *j, int64_t zxid)
{
    uint64_t hash = (uint64_t)zxid * UINT64_C(0x9e3779b97f4a7c15);
    struct map_entry *e;

    for (e = map_first(&j->proposals, hash); e != NULL; e = map_next(e)) {
        struct proposal *p = (struct proposal *)e;

        if (p->zxid == zxid) {
            return p;
        }
    }
    return NULL;
}

void judge_knows(struct judge *j, int64_t zxid, uint64_t value)
{
    struct proposal *p;

    if (find_proposal(j, zxid) == NULL) {
        p = must_zalloc(sizeof(*p));
        p->zxid = zxid;
        p->value = value;
        map_insert(&j->proposals, &p->entry, (uint64_t)zxid * UINT64_C(0x9e3779b97f4a7c15));
    }
}

static void proposed(struct sim_member *m, const struct quorum_input *in)
{
    struct judge *j = &m->cluster->judge;

    if (find_proposal(j, in->zxid) != NULL) {
        cluster_violated(m->cluster, "S8: m%d proposes 0x%llx, which was proposed before", name(m),
                         (hex)in->zxid);
    }
    judge_knows(j, in->zxid, m->cluster->body->value(m->cluster, in->bytes));
}

/* ---- what is delivered ---- */

static void check_order(struct sim_member *m, const struct toy_history *h, size_t i)
{
    int64_t before = i == 0 ? 0 : h->records[i - 1].zxid, zxid = h->records[i].zxid;
    struct proposal *p = find_proposal(&m->cluster->judge, zxid);

    if (p == NULL || p->value != h->records[i].value) {
        cluster_violated(m->cluster, "S1: m%d delivers 0x%llx, which nobody has proposed like that",
                         name(m), (hex)zxid);
    }
    if (zxid_epoch(zxid) == zxid_epoch(before) ? zxid != before + 1
                                               : zxid < before || zxid_counter(zxid) != 1) {
        cluster_violated(m->cluster, "S4: m%d delivers 0x%llx behind 0x%llx", name(m), (hex)zxid,
                         (hex)before);
    }
}

void judge_delivered(struct sim_member *m)
{
    struct toy_history *all = &m->cluster->judge.committed;
    const struct toy_history *h = &m->carrier.disk.history;
    size_t n = m->carrier.n_applied, common = n < all->n ? n : all->n;

    if (toy_history_digest(h, common) != toy_history_digest(all, common)) {
        cluster_violated(m->cluster,
                         "S2: m%d has delivered something else: %zu transactions to 0x%llx",
                         name(m), common, common == 0 ? 0 : (hex)h->records[common - 1].zxid);
    }
    for (size_t i = all->n; i < n; i++) {
        check_order(m, h, i);
        toy_history_add(all, h->records[i].zxid, h->records[i].value);
        if (m->cluster->committed != NULL) {
            m->cluster->committed(m->cluster, h->records[i].zxid, h->records[i].value);
        }
    }
}

void judge_answered(struct sim_member *m, enum toy_ask ask, const struct toy_call *call)
{
    struct judge *j = &m->cluster->judge;

    j->n_answered++;
    if (ask == ASK_SYNC && m->carrier.n_applied < call->n_acknowledged) {
        cluster_violated(m->cluster, "sync: m%d shows %zu writes, %zu had been acknowledged before",
                         name(m), m->carrier.n_applied, call->n_acknowledged);
    }
    if (ask == ASK_WRITE && m->carrier.n_applied > j->n_acknowledged) {
        j->n_acknowledged = m->carrier.n_applied;
    }
}

/* ---- leaders ---- */

static void is_first_of(struct sim_member *m, int64_t epoch)
{
    struct judge *j = &m->cluster->judge;

    for (size_t i = 0; i < j->n_leader_epochs; i++) {
        if (j->leader_epochs[i] == epoch) {
            cluster_violated(m->cluster, "S8: m%d leads epoch %lld, which had a leader", name(m),
                             (long long)epoch);
        }
    }
    ASSERT(j->n_leader_epochs < sizeof(j->leader_epochs) / sizeof(j->leader_epochs[0]));
    j->leader_epochs[j->n_leader_epochs++] = epoch;
}

static void leads(struct sim_member *m, int64_t epoch)
{
    struct judge *j = &m->cluster->judge;
    const struct sim_carrier *t = &m->carrier;

    is_first_of(m, epoch);
    /* Who was stopped while it was elected may find out late that there is a later leader. */
    if (t->n_applied < toy_history_upto(&j->committed, zxid_make(epoch, 0))) {
        cluster_violated(m->cluster, "S3: m%d leads with %zu of %zu transactions", name(m),
                         t->n_applied, j->committed.n);
    }
    if (t->disk.epochs[TOY_CURRENT] != epoch) {
        cluster_violated(m->cluster, "T2: m%d leads an epoch that is not on its disk", name(m));
    }
    if (!is_quorum_at(m, zxid_make(epoch, 0),
                      who_acked(m, zxid_make(epoch, 0)) | (uint32_t)1 << m->index)) {
        cluster_violated(m->cluster, "T6: m%d leads without a quorum of NEWLEADER's acks", name(m));
    }
}

/* Of a transaction of its own epochs; those before are in the history that a quorum has. */
static void commits(struct sim_member *m, int64_t zxid)
{
    if (zxid_epoch(zxid) >= m->carrier.epoch && !is_quorum_at(m, zxid, who_acked(m, zxid))) {
        cluster_violated(m->cluster, "T6: m%d commits 0x%llx without a quorum", name(m), (hex)zxid);
    }
}

static void leader_sends(struct sim_member *m, const struct packet *p)
{
    if ((p->type == PACKET_COMMIT || p->type == PACKET_COMMIT_AND_ACTIVATE) && m->carrier.leads) {
        commits(m, p->zxid);
    } else if (p->type == PACKET_LEADER_INFO &&
               m->carrier.disk.epochs[TOY_ACCEPTED] < zxid_epoch(p->zxid)) {
        cluster_violated(m->cluster, "P1: m%d invites to an epoch that is not on its disk",
                         name(m));
    }
}

/* ---- learners ---- */

/* P10: of what it acks the last list is on disk. */
static void check_list(struct sim_member *m, int64_t zxid)
{
    const struct toy_disk *d = &m->carrier.disk;
    int64_t needed, saved;

    if (!m->cluster->plan->lists_change) {
        return;
    }
    needed =
        sim_list_version(list_of(m->cluster, &d->history, toy_history_upto(&d->history, zxid)));
    saved = sim_list_version(d->next_list != 0 ? d->next_list : d->list);
    if (saved < needed) {
        cluster_violated(m->cluster, "P10: m%d acks 0x%llx, the list 0x%llx is not on its disk",
                         name(m), (hex)zxid, (hex)needed);
    }
}

static void learner_acks(struct sim_member *m, int64_t zxid)
{
    struct judged_member *j = judged(m);
    struct judged_link *l = &j->leader;
    const struct toy_disk *d = &m->carrier.disk;
    bool of_leader = zxid_counter(zxid) == 0;

    if (of_leader) {
        int64_t expected = l->last_commit > l->snapshot ? l->last_commit : l->snapshot;

        if (d->epochs[TOY_CURRENT] != zxid_epoch(zxid)) {
            cluster_violated(m->cluster, "T2: m%d acks NEWLEADER, its epoch is not on disk",
                             name(m));
        }
        if (!l->acked && (toy_disk_safe_zxid(d) < expected || d->is_stale)) {
            cluster_violated(m->cluster, "T2: m%d acks NEWLEADER, its history is not on disk",
                             name(m));
        }
        if (toy_disk_safe_zxid(d) < l->settled) {
            cluster_violated(m->cluster, "T2: m%d acks NEWLEADER, 0x%llx is not on its disk",
                             name(m), (hex)l->settled);
        }
        l->acked = true;
    } else if (d->epochs[TOY_CURRENT] < zxid_epoch(zxid)) {
        cluster_violated(m->cluster, "T2: m%d acks 0x%llx, its epoch is not on disk", name(m),
                         (hex)zxid);
    } else if (toy_disk_safe_zxid(d) < zxid) {
        cluster_violated(m->cluster, "T1: m%d acks 0x%llx, which is not on disk", name(m),
                         (hex)zxid);
    } else if (!l->acked) {
        cluster_violated(m->cluster, "T4: m%d acks a proposal before NEWLEADER", name(m));
    }
    j->acked_zxid = zxid > j->acked_zxid && !of_leader ? zxid : j->acked_zxid;
    check_list(m, zxid);
}

static void learner_sends(struct sim_member *m, const struct packet *p)
{
    struct judged_link *l = &judged(m)->leader;

    if (p->type == PACKET_ACK) {
        learner_acks(m, p->zxid);
    } else if (p->type == PACKET_ACK_EPOCH) {
        l->ack_epoch_sent = true;
        if (m->carrier.disk.epochs[TOY_ACCEPTED] < l->epoch) {
            cluster_violated(m->cluster, "T2: m%d promises an epoch that is not on its disk",
                             name(m));
        }
    } else if (l->ack_epoch_sent && !l->acked) {
        cluster_violated(m->cluster, "T4: m%d sends something before the ack of NEWLEADER",
                         name(m));
    }
}

static void learner_gets(struct sim_member *m, const struct packet *p)
{
    struct judged_link *l = &judged(m)->leader;

    switch (p->type) {
    case PACKET_LEADER_INFO:
        l->epoch = zxid_epoch(p->zxid);
        break;
    case PACKET_NEW_LEADER:
        l->settled = l->acked ? l->last_proposal : 0;
        break;
    case PACKET_TRUNC:
        if (zxid_epoch(p->zxid) != zxid_epoch(m->carrier.disk.history.zxid)) {
            cluster_violated(m->cluster, "TRUNC: m%d is to go back from 0x%llx to 0x%llx", name(m),
                             (hex)m->carrier.disk.history.zxid, (hex)p->zxid);
        }
        l->snapshot = p->zxid;
        break;
    case PACKET_SNAP:
        l->snapshot = p->zxid;
        break;
    case PACKET_PROPOSAL:
        if (p->zxid <= l->last_proposal) {
            cluster_violated(m->cluster, "T3: m%d gets 0x%llx behind 0x%llx", name(m), (hex)p->zxid,
                             (hex)l->last_proposal);
        }
        l->last_proposal = p->zxid;
        break;
    case PACKET_COMMIT:
    case PACKET_COMMIT_AND_ACTIVATE:
        if (p->zxid <= l->last_commit || (p->zxid > l->last_proposal && p->zxid > l->snapshot)) {
            cluster_violated(m->cluster, "T3: m%d gets COMMIT 0x%llx behind 0x%llx", name(m),
                             (hex)p->zxid, (hex)l->last_commit);
        }
        l->last_commit = p->zxid;
        break;
    default:
        break;
    }
}

/* ---- votes ---- */

static void votes(struct sim_member *m, struct bytes frame)
{
    struct judged_member *j = judged(m);
    struct notification n;

    ASSERT(notification_read(bytes_of(frame.data + 4, frame.len - 4), &n));
    if (n.state != MEMBER_LOOKING || n.leader != sim_member_sid(m)) {
        return;
    }
    /* Others may still propose it with what it had before it was truncated and started again, and
     * it believes them. As a leader it would find that a quorum is ahead of it. */
    if (n.zxid > m->carrier.disk.history.zxid) {
        return;
    }
    if (n.zxid > toy_disk_safe_zxid(&m->carrier.disk)) {
        cluster_violated(m->cluster, "P8: m%d votes with 0x%llx, which is not on its disk", name(m),
                         (hex)n.zxid);
    }
    if (n.zxid < j->acked_zxid) {
        cluster_violated(m->cluster, "P9: m%d votes with 0x%llx, it has acked 0x%llx", name(m),
                         (hex)n.zxid, (hex)j->acked_zxid);
    }
    if (n.peer_epoch < j->vote_epoch || (n.peer_epoch == j->vote_epoch && n.zxid < j->vote_zxid)) {
        cluster_violated(m->cluster, "T8: m%d votes with epoch %lld zxid 0x%llx, it was further",
                         name(m), (long long)n.peer_epoch, (hex)n.zxid);
    }
    j->vote_epoch = n.peer_epoch;
    j->vote_zxid = n.zxid;
}

/* A leader has ordered it back. */
static void ordered_back(struct sim_member *m, int64_t zxid)
{
    struct judged_member *j = judged(m);

    j->vote_zxid = zxid < j->vote_zxid ? zxid : j->vote_zxid;
    j->acked_zxid = zxid < j->acked_zxid ? zxid : j->acked_zxid;
}

/* ---- hooks ---- */

void judge_link_up(struct sim_member *m, uint64_t link, int64_t sid, bool dialled)
{
    (void)sid;
    if (dialled) {
        judged(m)->leader = (struct judged_link){.link = link};
    }
}

void judge_input(struct sim_member *m, const struct quorum_input *in)
{
    int peer;

    if (in->kind == QUORUM_IN_PROPOSE) {
        proposed(m, in);
    } else if (in->kind == QUORUM_IN_PACKET && in->link == judged(m)->leader.link) {
        learner_gets(m, in->packet);
    } else if (in->kind == QUORUM_IN_PACKET && in->packet->type == PACKET_ACK) {
        peer = mesh_peer(&m->cluster->mesh, in->link);
        if (in->packet->zxid > judged(m)->acks[peer]) { /* who comes again acks NEWLEADER again */
            judged(m)->acks[peer] = in->packet->zxid;
        }
    }
}

static void check_mark(struct sim_member *m)
{
    if (m->carrier.disk.diverged) {
        cluster_violated(m->cluster, "diverged: m%d takes up a role with a tree that is wrong",
                         name(m));
    }
    if (m->carrier.disk.damaged) {
        cluster_violated(m->cluster, "damaged: m%d takes up a role with a part of its history",
                         name(m));
    }
}

void judge_effect(struct sim_member *m, const struct quorum_effect *e)
{
    switch (e->kind) {
    case QUORUM_DO_NOTIFY:
        votes(m, e->bytes);
        break;
    case QUORUM_DO_SEND:
        if (e->link == judged(m)->leader.link) {
            learner_sends(m, &e->packet);
        } else {
            leader_sends(m, &e->packet);
        }
        break;
    case QUORUM_DO_LISTEN:
        for (int i = 0; i < MESH_MEMBERS; i++) {
            judged(m)->acks[i] = 0;
        }
        break;
    case QUORUM_DO_LEAD:
        check_mark(m);
        if (m->cluster->is_ruined) {
            cluster_violated(m->cluster,
                             "damaged: m%d leads, although a majority has lost "
                             "something",
                             name(m));
        }
        leads(m, e->epoch);
        break;
    case QUORUM_DO_SERVE:
        check_mark(m);
        break;
    case QUORUM_DO_TURN:
        is_first_of(m, e->epoch);
        m->cluster->judge.n_turns++;
        break;
    case QUORUM_DO_COMMIT:
        if (m->carrier.leads) {
            commits(m, e->zxid);
        }
        break;
    case QUORUM_DO_TRUNCATE:
    case QUORUM_DO_LOAD_SNAPSHOT:
        ordered_back(m, e->zxid);
        break;
    default:
        break;
    }
}

static void check_epochs(struct sim_member *m)
{
    const struct toy_disk *d = &m->carrier.disk;

    if (d->epochs[TOY_ACCEPTED] < d->epochs[TOY_CURRENT] ||
        d->epochs[TOY_ACCEPTED] < zxid_epoch(d->history.zxid)) {
        cluster_violated(m->cluster, "T5: m%d has accepted %lld, current %lld, and 0x%llx", name(m),
                         (long long)d->epochs[TOY_ACCEPTED], (long long)d->epochs[TOY_CURRENT],
                         (hex)d->history.zxid);
    }
}

void judge_step(struct sim_member *m)
{
    check_epochs(m);
}

void judge_recovered(struct sim_member *m)
{
    check_epochs(m);
    if (m->carrier.disk.history.zxid < judged(m)->acked_zxid && !m->carrier.disk.damaged) {
        cluster_violated(m->cluster, "T1: m%d has lost 0x%llx, which it has acked", name(m),
                         (hex)judged(m)->acked_zxid);
    }
}
