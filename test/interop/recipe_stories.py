# SPDX-License-Identifier: Apache-2.0
"""The stories of curator_recipes.py: what Java and C do together, and what must come of it."""
import collections
import os
import re

import peers

ROUNDS = 15
LONG_MS = 100000


def crowd(stage, n=3):
    """(peer, actor) for n of each side, in turn."""
    return [pair for i in range(n) for pair in ((stage.java, "j%d" % i), (stage.c, "c%d" % i))]


def both_ways(stage):
    """(one side, the other), and then the other way round."""
    return (((stage.java, "j0"), (stage.c, "c0")), ((stage.c, "c0"), (stage.java, "j0")))


def get_all(answers):
    return [answer.get() for answer in answers]


def exclusive(stage, path, *words, n=3, rounds=ROUNDS):
    """Everybody runs the rounds at once; the referee and the counter in the tree must agree."""
    contenders = crowd(stage, n)
    stage.zk.create(path + "-count", b"0", makepath=True)
    get_all([peer.tell(actor, *words) for peer, actor in contenders])
    stage.referee.check(path, [actor for _, actor in contenders], rounds)
    count = int(stage.zk.get(path + "-count")[0])
    assert count == len(contenders) * rounds, "%d rounds counted %d" % (
        len(contenders) * rounds, count)
    assert stage.referee.most[path] == 1
    return "%d entries of %d contenders" % (count, len(contenders))


def n_children(stage, path):
    return len(stage.zk.get_children(path)) if stage.zk.exists(path) else 0


def wait_children(stage, path, n):
    peers.wait_until(lambda: n_children(stage, path) == n, "%d children of %s" % (n, path))


# ---- locks --------------------------------------------------------------------------------------

def mutex(stage):
    said = exclusive(stage, "/i/mutex", "mutex-rounds", "/i/mutex", ROUNDS)
    wait_children(stage, "/i/mutex", 0)
    return said


def mutex_queue(stage):
    """One holds, two queue, in each order of the languages: znodes as recorded, first come first
    served, and both sides name the same participants."""
    for number, order in enumerate(("jcj", "cjc", "jjc", "ccj")):
        path = "/i/queue%d" % number
        actors = [(stage.java if side == "j" else stage.c, "%s%d" % (side, i))
                  for i, side in enumerate(order)]
        answers = []
        for i, (peer, actor) in enumerate(actors):
            answers.append(peer.tell(actor, "mutex-acquire", path, LONG_MS))
            wait_children(stage, path, i + 1)
        assert answers[0].get() == "yes"
        peers.compare(stage, path, "interprocessmutex.txt", "A holds (count 2)", "/v/mutex")
        seen = [peer.ask(watcher, "mutex-participants", path)
                for peer, watcher in ((stage.java, "j9"), (stage.c, "c9"))]
        assert seen[0] == seen[1], seen
        for i in range(2):
            assert answers[i + 1].waits()
            actors[i][0].ask(actors[i][1], "mutex-release", path)
            assert answers[i + 1].get() == "yes"
        actors[2][0].ask(actors[2][1], "mutex-release", path)
        wait_children(stage, path, 0)
    return "jcj cjc jjc ccj"


def mutex_times_out(stage):
    for (peer, actor), (other, other_actor) in both_ways(stage):
        path = "/i/times-out-" + actor
        assert peer.ask(actor, "mutex-acquire", path, LONG_MS) == "yes"
        assert other.ask(other_actor, "mutex-acquire", path, 0) == "no"
        assert other.ask(other_actor, "mutex-acquire", path, 300) == "no"
        wait_children(stage, path, 1)
        peer.ask(actor, "mutex-release", path)
        assert other.ask(other_actor, "mutex-acquire", path, LONG_MS) == "yes"
        other.ask(other_actor, "mutex-release", path)


def mutex_revoked(stage):
    for (peer, actor), (other, other_actor) in both_ways(stage):
        path = "/i/revoke-" + actor
        answer = peer.tell(actor, "mutex-revocable", path, LONG_MS)
        wait_children(stage, path, 1)
        node = path + "/" + stage.zk.get_children(path)[0]
        assert stage.zk.get(node)[0] == b"", "a revocable lock's node is empty"
        # Asked before it holds and watches, it need not notice: until it is sure that it does.
        peers.wait_until(lambda: node in data_watches(stage), "the holder's own watch")
        other.ask(other_actor, "mutex-revoke", node)
        assert answer.get() == "yes"
        wait_children(stage, path, 0)


def data_watches(stage):
    return stage.words("wchp")


# ---- read/write lock, semaphores, multi-lock ----------------------------------------------------

def read_write_lock(stage):
    path, contenders, rounds = "/i/rw", crowd(stage), 18
    stage.zk.create(path + "-count", b"0", makepath=True)
    get_all([peer.tell(actor, "rw-rounds", path, rounds) for peer, actor in contenders])
    stage.referee.check(path, [actor for _, actor in contenders], rounds)
    count = int(stage.zk.get(path + "-count")[0])
    assert count == len(contenders) * rounds // 3, count
    wait_children(stage, path, 0)
    return "%d entries, %d of them writes, up to %d readers together" % (
        len(contenders) * rounds, count, stage.referee.most[path])


def read_write_queue(stage):
    """Two readers inside, a writer behind them, a reader behind the writer; znodes as recorded."""
    for number, order in enumerate(("jcjc", "cjcj", "ccjj", "jjcc")):
        path = "/i/rwqueue%d" % number
        actors = [(stage.java if side == "j" else stage.c, "%s%d" % (side, i))
                  for i, side in enumerate(order)]
        answers = []
        for i, ((peer, actor), which) in enumerate(zip(actors, ("read", "read", "write", "read"))):
            answers.append(peer.tell(actor, "rw-acquire", path, which, LONG_MS))
            wait_children(stage, path, i + 1)
        assert get_all(answers[:2]) == ["yes", "yes"]
        compare_but_data(stage, path, "interprocessreadwritelock.txt", "two readers hold", "/v/rw")
        for peer, actor in actors[:2]:
            assert answers[2].waits() and answers[3].waits()
            peer.ask(actor, "rw-release", path, "read")
        assert answers[2].get() == "yes"
        assert answers[3].waits()
        actors[2][0].ask(actors[2][1], "rw-release", path, "write")
        assert answers[3].get() == "yes"
        actors[3][0].ask(actors[3][1], "rw-release", path, "read")
        wait_children(stage, path, 0)


def downgrade(stage):
    """C holds write, takes read, gives write up: Java's queued writer stays out (R-13)."""
    path = "/i/downgrade"
    assert stage.c.ask("c0", "rw-acquire", path, "write", LONG_MS) == "yes"
    writer = stage.java.tell("j0", "rw-acquire", path, "write", LONG_MS)
    wait_children(stage, path, 2)
    assert stage.c.ask("c0", "rw-acquire", path, "read", LONG_MS) == "yes"
    stage.c.ask("c0", "rw-release", path, "write")
    wait_children(stage, path, 2)
    # The writer is woken by that and must queue again: it watches the read node when it has.
    read_node = next(path + "/" + name for name in stage.zk.get_children(path)
                     if "__READ__" in name)
    peers.wait_until(lambda: read_node in data_watches(stage), "the writer behind the reader")
    assert writer.waits()
    stage.c.ask("c0", "rw-release", path, "read")
    assert writer.get() == "yes"
    stage.java.ask("j0", "rw-release", path, "write")


def semaphore(stage):
    path, contenders = "/i/sem", crowd(stage)
    get_all([peer.tell(actor, "sem-rounds", path, ROUNDS, 2) for peer, actor in contenders])
    stage.referee.check(path, [actor for _, actor in contenders], ROUNDS)
    assert stage.referee.most[path] <= 2
    wait_children(stage, path + "/leases", 0)
    wait_children(stage, path + "/locks", 0)
    return "%d leases, up to %d at a time" % (len(contenders) * ROUNDS, stage.referee.most[path])


def semaphore_queue(stage):
    """Two leases out, one waits for the next, one behind it; znodes as recorded."""
    for number, order in enumerate(("jcjc", "cjcj")):
        path = "/i/semqueue%d" % number
        actors = [(stage.java if side == "j" else stage.c, "%s%d" % (side, i))
                  for i, side in enumerate(order)]
        take = ("sem-acquire", path, 2, LONG_MS)
        for peer, actor in actors[:2]:
            assert peer.ask(actor, *take) == "yes"
        third = actors[2][0].tell(actors[2][1], *take)
        wait_children(stage, path + "/leases", 3)
        fourth = actors[3][0].tell(actors[3][1], *take)
        wait_children(stage, path + "/locks", 2)
        compare_but_data(stage, path, "interprocesssemaphorev2.txt", "2 of 2 leases out", "/v/sem")
        assert third.waits() and fourth.waits()
        actors[0][0].ask(actors[0][1], "sem-return", path)
        assert third.get() == "yes"
        assert fourth.waits()
        actors[1][0].ask(actors[1][1], "sem-return", path)
        assert fourth.get() == "yes"
        for peer, actor in actors[2:]:
            peer.ask(actor, "sem-return", path)
        wait_children(stage, path + "/leases", 0)


def semaphore_with_shared_count(stage):
    """One lease; the other side raises the count, and who waits gets one; both ways."""
    for (peer, actor), (other, other_actor) in both_ways(stage):
        path = "/i/semshared-" + actor
        count = path + "-count"
        take = ("sem-shared", path, count, LONG_MS)
        assert peer.ask(actor, *take) == "yes"
        assert stage.zk.get(count)[0] == (1).to_bytes(4, "big")
        waiting = other.tell(other_actor, *take)
        wait_children(stage, path + "/leases", 2)
        assert waiting.waits()
        peer.ask(actor + "x", "count-set", count, 2)
        assert waiting.get() == "yes"
        for who, name in ((peer, actor), (other, other_actor)):
            who.ask(name, "sem-return", path)
        wait_children(stage, path + "/leases", 0)


def semaphore_mutex(stage):
    return exclusive(stage, "/i/semmutex", "semaphore-mutex-rounds", "/i/semmutex", ROUNDS)


def multi_lock(stage):
    return exclusive(stage, "/i/multi1", "multi-rounds", "/i/multi1,/i/multi2", ROUNDS)


def compare_but_data(stage, base, vector, title, vector_base):
    """The recorded ones have data of their own choice; names and modes must be the same."""
    def without_data(shapes):
        rest = collections.Counter()
        for (name, mode, _), n in shapes.items():
            rest[name, mode] += n
        return rest
    live = peers.live_shapes(stage, base)
    recorded = peers.recorded_shapes(vector, title, vector_base)
    assert without_data(live) == without_data(recorded), (live, recorded)
    assert all(data in ("empty", "address") for _, _, data in live), live


# ---- elections ----------------------------------------------------------------------------------

def latch(stage):
    """Three in line, in each order of the languages: led in turn as the first ones close."""
    for number, order in enumerate(("jcj", "cjc")):
        path = "/i/latch%d" % number
        actors = [(stage.java if side == "j" else stage.c, "%s%d" % (side, i))
                  for i, side in enumerate(order)]
        for i, ((peer, actor), name) in enumerate(zip(actors, ("idA", "idB", "idC"))):
            peer.ask(actor, "latch-start", path, name)
            wait_children(stage, path, i + 1)
        assert actors[0][0].ask(actors[0][1], "latch-await", path, LONG_MS) == "yes"
        live = peers.live_shapes(stage, path)
        recorded = peers.recorded_shapes("leaderlatch.txt", "A leader", "/v/latch")
        # There the third one has no id.
        assert named(live, "idC") == named(recorded, "empty"), (live, recorded)
        for peer, actor in actors:
            assert peer.ask(actor, "latch-participants", path) == "idA* idB idC"
        for i in range(3):
            peer, actor = actors[i]
            assert peer.ask(actor, "latch-await", path, LONG_MS) == "yes"
            for other, other_actor in actors[i + 1:]:
                assert other.ask(other_actor, "latch-leads", path) == "no"
            peer.ask(actor, "latch-close", path)
        wait_children(stage, path, 0)


def named(shapes, data):
    """With the data of latch nodes as they are, but one kind under a name of its own."""
    return sorted((name, mode, "third" if d == data and name else d, n)
                  for (name, mode, d), n in shapes.items())


def selector(stage):
    """Leadership goes round among four, and all see the same participants."""
    path, actors = "/i/selector", crowd(stage, 2)
    for i, (peer, actor) in enumerate(actors):
        peer.ask(actor, "selector-start", path, "id-" + actor)
        wait_children(stage, path, i + 1)
    for turn in range(2 * len(actors)):
        peer, actor = actors[turn % len(actors)]
        assert peer.ask(actor, "selector-await", path, LONG_MS) == "yes"
        wait_children(stage, path, len(actors))
        order = [actors[(turn + i) % len(actors)][1] for i in range(len(actors))]
        expected = " ".join("id-" + name + ("*" if i == 0 else "") for i, name in enumerate(order))
        for watcher, watching in actors:
            peers.wait_until(
                lambda: watcher.ask(watching, "selector-participants", path) == expected, expected)
            assert (watcher.ask(watching, "selector-leads", path) == "yes") == (watching == actor)
        peer.ask(actor, "selector-yield", path)
    for peer, actor in actors:
        peer.ask(actor, "selector-close", path)
    wait_children(stage, path, 0)
    return "%d turns" % (2 * len(actors))


def leader_killed(stage):
    """kill -9 of a process that holds a mutex, leads a latch and a selector: the other language
    takes over all three; both ways at once."""
    victims = (stage.new_java("victim java"), stage.new_c("victim c"))
    cases = []
    for victim, (heir, actor), side in zip(victims, ((stage.c, "c"), (stage.java, "j")), "jc"):
        victim.wait_ready()
        for what in ("mutex", "latch", "selector"):
            path = "/i/killed-%s-%s" % (side, what)
            cases.append((victim, heir, "%s-%s" % (actor, what), what, path))
    for victim, heir, actor, what, path in cases:
        hold(victim, "v-" + what, what, path).get()
        wait_children(stage, path, 1)
    answers = []
    for victim, heir, actor, what, path in cases:
        answers.append(hold(heir, actor, what, path))
        wait_children(stage, path, 2)
    assert all(answer.waits() for answer in answers)
    for victim in victims:
        victim.kill9()
    assert get_all(answers) == ["yes"] * len(answers)


def hold(peer, actor, what, path):
    """The answer comes, "yes", when the actor has it."""
    if what == "mutex":
        return peer.tell(actor, "mutex-acquire", path, LONG_MS)
    peer.ask(actor, what + "-start", path, actor)
    return peer.tell(actor, what + "-await", path, LONG_MS)


# ---- barriers -----------------------------------------------------------------------------------

def barrier(stage):
    """Raised by one side, waited for by both, lifted by the other; both ways."""
    for (peer, actor), (other, other_actor) in both_ways(stage):
        path = "/i/barrier-" + actor
        waiters = [(stage.java, "j1"), (stage.c, "c1"), (stage.java, "j2"), (stage.c, "c2")]
        peer.ask(actor, "barrier-set", path)
        peers.compare(stage, path, "distributedbarrier.txt", "set", "/v/barrier")
        answers = [w.tell(name, "barrier-wait", path, LONG_MS) for w, name in waiters]
        peers.wait_until(lambda: data_watches(stage).count("0x") >= len(waiters), "four that wait")
        assert all(answer.waits() for answer in answers)
        assert other.ask(other_actor, "barrier-wait", path, 0 if other is stage.c else 1) == "no"
        other.ask(other_actor, "barrier-remove", path)
        assert get_all(answers) == ["yes"] * len(waiters)


def double_barrier(stage):
    """Six enter and leave together, twice; nobody is through before the last has come."""
    path, actors = "/i/double", crowd(stage)
    for _ in range(2):
        last_peer, last = actors[-1]
        answers = [peer.tell(actor, "double-enter", path, len(actors), LONG_MS)
                   for peer, actor in actors[:-1]]
        wait_children(stage, path, len(actors) - 1)
        assert all(answer.waits() for answer in answers)
        assert last_peer.ask(last, "double-enter", path, len(actors), LONG_MS) == "yes"
        assert get_all(answers) == ["yes"] * (len(actors) - 1)
        answers = [peer.tell(actor, "double-leave", path, len(actors), LONG_MS)
                   for peer, actor in actors[1:]]
        peers.wait_until(lambda: n_children(stage, path) <= 3, "others to be on their way out")
        assert all(answer.waits() for answer in answers)
        first_peer, first = actors[0]
        assert first_peer.ask(first, "double-leave", path, len(actors), LONG_MS) == "yes"
        assert get_all(answers) == ["yes"] * (len(actors) - 1)
        wait_children(stage, path, 0)
        actors = actors[1:] + actors[:1]


def double_barrier_nodes(stage):
    path = "/i/double-nodes"
    actors = [(stage.java, "j0"), (stage.c, "c0"), (stage.java, "j1")]
    answers = []
    for i, (peer, actor) in enumerate(actors):
        answers.append(peer.tell(actor, "double-enter", path, 3, LONG_MS))
        if i < 2:
            wait_children(stage, path, i + 1)
    assert get_all(answers) == ["yes"] * 3
    peers.compare(stage, path, "distributeddoublebarrier.txt", "inside", "/v/dbl")
    get_all([peer.tell(actor, "double-leave", path, 3, LONG_MS) for peer, actor in actors])
    wait_children(stage, path, 0)


# ---- numbers ------------------------------------------------------------------------------------

def shared_count(stage):
    path, actors, steps = "/i/count", crowd(stage), 25
    get_all([peer.tell(actor, "count-add", path, steps) for peer, actor in actors])
    total = len(actors) * steps
    for peer, actor in actors:
        assert peer.ask(actor, "count-await", path, total, LONG_MS) == "yes"
    data, stat = stage.zk.get(path)
    assert data == total.to_bytes(4, "big") and stat.version == total, (data, stat)
    for (peer, actor), (other, other_actor) in both_ways(stage):
        peer.ask(actor, "count-set", path, -2)
        assert other.ask(other_actor, "count-await", path, -2, LONG_MS) == "yes"
        peers.compare(stage, path, "sharedvalue-sharedcount.txt", "setCount(-2)", "/v/sc")
        other.ask(other_actor, "count-set", path, 7)
        assert peer.ask(actor, "count-await", path, 7, LONG_MS) == "yes"
    return "%d steps, none lost" % total


def shared_value(stage):
    for (peer, actor), (other, other_actor) in both_ways(stage):
        path = "/i/value-" + actor
        assert peer.ask(actor, "value-await", path, "seed", LONG_MS) == "yes"
        assert other.ask(other_actor, "value-await", path, "seed", LONG_MS) == "yes"
        for i in range(5):
            peer.ask(actor, "value-set", path, "one-%d" % i)
            assert other.ask(other_actor, "value-await", path, "one-%d" % i, LONG_MS) == "yes"
            other.ask(other_actor, "value-set", path, "two-%d" % i)
            assert peer.ask(actor, "value-await", path, "two-%d" % i, LONG_MS) == "yes"


def atomics(stage):
    """Both widths, counted from both sides at once: the exact sum."""
    actors, steps = crowd(stage), 25
    total = len(actors) * steps
    for kind, path, width in (("atomic", "/i/long", 8), ("int", "/i/int", 4)):
        get_all([peer.tell(actor, kind + "-add", path, steps) for peer, actor in actors])
        for peer, actor in actors[:2]:
            assert peer.ask(actor, kind + "-get", path) == str(total)
        data, stat = stage.zk.get(path)
        assert data == total.to_bytes(width, "big") and stat.version == total - 1, (data, stat)
    for (peer, actor), (other, other_actor) in both_ways(stage):
        peer.ask(actor, "atomic-set", "/i/long", -1)
        assert other.ask(other_actor, "atomic-get", "/i/long") == "-1"
        compare_one(stage, "/i/long", "distributedatomic.txt", "/v/al", b"\xff" * 8)
    return "2 x %d steps, none lost" % total


def compare_one(stage, path, vector, vector_base, data):
    shapes = peers.recorded_shapes(vector, "", vector_base)
    assert ("", "PERSISTENT", "hex:" + data.hex()) in shapes, shapes
    live = peers.live_shapes(stage, path)
    assert list(live) == [("", "PERSISTENT", "hex:" + data.hex())], live


# ---- queues -------------------------------------------------------------------------------------

def queues(stage):
    """Items put by one side, or by both in turn, and taken by the other, in order."""
    for (peer, actor), (other, other_actor) in both_ways(stage):
        path = "/i/q-" + actor
        peer.ask(actor, "queue-put", "plain", path, "-", "one")
        peer.ask(actor, "queue-put", "plain", path, "-", "a,bb,c")
        other.ask(other_actor, "queue-put", "plain", path, "-", "last")
        live = peers.live_shapes(stage, path)
        recorded = peers.recorded_shapes("distributedqueue.txt", "node data", "/v/q")
        one = ("/queue-SEQ", "PERSISTENT", "hex:0001000101000000036f6e6502")
        folder = ("", "PERSISTENT", "address")
        assert one in live and one in recorded and folder in live and folder in recorded, live
        assert other.ask(other_actor, "queue-take", "plain", path, 5) == "one a bb c last"
        wait_children(stage, path, 0)
        # With locks: at least once, and nothing left of them.
        for word in ("x", "y"):
            peer.ask(actor, "queue-put", "plain", path, "-", word)
        assert other.ask(other_actor, "queue-take", "plain", path, 2, path + "-locks") == "x y"
        wait_children(stage, path, 0)
        wait_children(stage, path + "-locks", 0)


def queue_shared(stage):
    """Java and C put, Java and C take: each item comes out once."""
    path, n = "/i/q-shared", 20
    putters = [stage.java.tell("j%d" % i, "queue-put", "plain", path, "-", "j%d-%d" % (i, k))
               for i in range(2) for k in range(n)]
    putters += [stage.c.tell("c%d" % i, "queue-put", "plain", path, "-", "c%d-%d" % (i, k))
                for i in range(2) for k in range(n)]
    get_all(putters)
    wait_children(stage, path, 4 * n)
    takers = [stage.java.tell("j0", "queue-take", "plain", path, n // 2, path + "-locks"),
              stage.c.tell("c0", "queue-take", "plain", path, n // 2, path + "-locks")]
    taken = " ".join(get_all(takers)).split()
    left = 4 * n - len(taken)
    if left:
        taken += stage.c.ask("c1", "queue-take", "plain", path, left, path + "-locks").split()
    assert sorted(taken) == sorted("%s%d-%d" % (side, i, k) for side in "jc" for i in range(2)
                                   for k in range(n)), taken
    wait_children(stage, path, 0)


def id_queue(stage):
    for (peer, actor), (other, other_actor) in both_ways(stage):
        path = "/i/idq-" + actor
        peer.ask(actor, "queue-put", "id", path, "id-1", "x")
        peer.ask(actor, "queue-put", "id", path, "id/2|z", "y")
        compare_sequences(stage, path, "distributedidqueue.txt", "ids 'id-1'", "/v/idq")
        assert other.ask(other_actor, "queue-remove", path, "id-1") == "1"
        assert other.ask(other_actor, "queue-take", "id", path, 1) == "y"


def priority_queue(stage):
    words = (("5", "p5"), ("0", "p0"), ("-1", "p-1"), ("2147483647", "p2147483647"),
             ("-2147483648", "p-2147483648"))
    for (peer, actor), (other, other_actor) in both_ways(stage):
        path = "/i/pq-" + actor
        for priority, word in words:
            peer.ask(actor, "queue-put", "priority", path, priority, word)
        compare_sequences(stage, path, "distributedpriorityqueue.txt", "name = queue-", "/v/pq")
        taken = other.ask(other_actor, "queue-take", "priority", path, 5)
        assert taken == "p-2147483648 p-1 p0 p5 p2147483647", taken


def compare_sequences(stage, path, vector, title, vector_base):
    """Names to the last letter: the folder is new, so the numbers are those recorded."""
    recorded = exact_nodes(vector, title, vector_base)
    live = {name: stage.zk.get(path + "/" + name)[0] for name in stage.zk.get_children(path)}
    assert live == recorded, (live, recorded)


def exact_nodes(vector, title, base):
    nodes, inside, name = {}, False, None
    with open(os.path.join(peers.VECTORS, vector)) as f:
        for line in f:
            if line.startswith("## "):
                inside = line[3:].startswith(title)
            elif inside and line.startswith("  " + base + "/"):
                name = line.strip()[len(base) + 1:]
            elif inside and name and "data=hex:" in line:
                nodes[name] = bytes.fromhex(line.split("data=hex:")[1].split()[0])
                name = None
    return nodes


def delay_queue(stage):
    for (peer, actor), (other, other_actor) in both_ways(stage):
        path = "/i/dq-" + actor
        peer.ask(actor, "queue-put", "delay", path, 700, "later")
        peer.ask(actor, "queue-put", "delay", path, -1000, "past")
        for name in stage.zk.get_children(path):
            assert re.fullmatch(r"queue-\|[0-9A-F]{11}\|\d{10}", name), name
        assert other.ask(other_actor, "queue-take", "delay", path, 2) == "past later"


def simple_queue(stage):
    for (peer, actor), (other, other_actor) in both_ways(stage):
        path = "/i/sq-" + actor
        peer.ask(actor, "simple-offer", path, "x")
        other.ask(other_actor, "simple-offer", path, "y")
        live = peers.live_shapes(stage, path)
        recorded = peers.recorded_shapes("simpledistributedqueue.txt", "", "/v/sq")
        assert set(recorded) >= {("", "CONTAINER", "empty"), ("/qn-SEQ", "PERSISTENT", "x")}
        assert live == {("", "CONTAINER", "empty"): 1, ("/qn-SEQ", "PERSISTENT", "x"): 1,
                        ("/qn-SEQ", "PERSISTENT", "y"): 1}, live
        assert other.ask(other_actor, "simple-take", path, LONG_MS) == "x"
        assert peer.ask(actor, "simple-take", path, LONG_MS) == "y"
        late = other.tell(other_actor, "simple-take", path, LONG_MS)
        peers.wait_until(lambda: waits_for_child(stage), "the taker to wait")
        peer.ask(actor, "simple-offer", path, "late")
        assert late.get() == "late"


def waits_for_child(stage):
    """Child watches are not in wchp; wchs counts them."""
    return re.search(r"Total watches:[1-9]", stage.words("wchs")) is not None


# ---- discovery ----------------------------------------------------------------------------------

def discovery(stage):
    """Registered by one side, found by the other; the same bytes from both."""
    bodies = []
    for (peer, actor), (other, other_actor) in both_ways(stage):
        base = "/i/disc-" + actor
        peer.ask(actor, "disc-register", base, "web", "id-1", "10.1.2.3", 8080, "role", "DYNAMIC")
        peer.ask(actor, "disc-register", base, "web", "id-2", "10.1.2.4", 8081, "role", "STATIC")
        other.ask(other_actor, "disc-register", base, "web", "id-3", "10.1.2.5", 8082, "x",
                  "DYNAMIC")
        expected = " ".join((
            "id-1=10.1.2.3:8080/role/DYNAMIC/http://10.1.2.3:8080",
            "id-2=10.1.2.4:8081/role/STATIC/http://10.1.2.4:8081",
            "id-3=10.1.2.5:8082/x/DYNAMIC/http://10.1.2.5:8082"))
        for reader, name in ((peer, actor), (other, other_actor)):
            assert reader.ask(name, "disc-find", base, "web") == expected
        live = peers.live_shapes(stage, base)
        bodies.append({(name, mode, data) for name, mode, data in live})
        for who, name, service in ((peer, actor, "id-1"), (peer, actor, "id-2"),
                                   (other, other_actor, "id-3")):
            who.ask(name, "disc-unregister", base, service)
        assert n_children(stage, base + "/web") == 0
    assert bodies[0] == bodies[1], bodies


def group(stage):
    """Members of both languages see each other come, come back and go."""
    path = "/i/group"
    members = [(stage.java, "j0", "m1"), (stage.c, "c0", "m2"), (stage.java, "j1", "m3"),
               (stage.c, "c1", "m4")]
    for peer, actor, name in members:
        peer.ask(actor, "group-join", path, name, "by-" + actor)
    everybody = ",".join("%s=by-%s" % (name, actor) for _, actor, name in members)
    for peer, actor, _ in members:
        assert peer.ask(actor, "group-await", path, everybody, LONG_MS) == everybody
    live = peers.live_shapes(stage, path)
    recorded = peers.recorded_shapes("groupmember.txt", "", "/v/group")
    assert {(bool(name), mode) for name, mode, _ in live} == {
        (bool(name), mode) for name, mode, _ in recorded}, (live, recorded)
    for name in ("m1", "m2"):  # deleted by a stranger: made again by its owner
        before = stage.zk.exists(path + "/" + name).czxid
        stage.zk.delete(path + "/" + name)
        peers.wait_until(lambda: (stage.zk.exists(path + "/" + name) or stage.zk.exists(path))
                         .czxid > before, "%s to come back" % name)
    for peer, actor, _ in members:
        assert peer.ask(actor, "group-await", path, everybody, LONG_MS) == everybody
    for i, (peer, actor, name) in enumerate(members[:-1]):
        peer.ask(actor, "group-leave", path)
        rest = ",".join("%s=by-%s" % (other, who) for _, who, other in members[i + 1:])
        for other, who, _ in members[i + 1:]:
            assert other.ask(who, "group-await", path, rest, LONG_MS) == rest
    members[-1][0].ask(members[-1][1], "group-leave", path)
    wait_children(stage, path, 0)


STORIES = [
    (mutex, "mutex-rounds"),
    (mutex_queue, "mutex-acquire"),
    (mutex_times_out, "mutex-acquire"),
    (mutex_revoked, "mutex-revoke"),
    (read_write_lock, "rw-rounds"),
    (read_write_queue, "rw-acquire"),
    (downgrade, "rw-acquire"),
    (semaphore, "sem-rounds"),
    (semaphore_queue, "sem-acquire"),
    (semaphore_with_shared_count, "sem-shared"),
    (semaphore_mutex, "semaphore-mutex-rounds"),
    (multi_lock, "multi-rounds"),
    (latch, "latch-start"),
    (selector, "selector-start"),
    (leader_killed, "latch-start"),
    (barrier, "barrier-set"),
    (double_barrier, "double-enter"),
    (double_barrier_nodes, "double-enter"),
    (shared_count, "count-add"),
    (shared_value, "value-set"),
    (atomics, "atomic-add"),
    (queues, "queue-put"),
    (queue_shared, "queue-put"),
    (id_queue, "queue-remove"),
    (priority_queue, "queue-put"),
    (delay_queue, "queue-put"),
    (simple_queue, "simple-offer"),
    (discovery, "disc-register"),
    (group, "group-join"),
]
