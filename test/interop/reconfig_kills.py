# SPDX-License-Identifier: Apache-2.0
"""Members change while they are killed: nothing acknowledged is lost, and all agree on one list in the end.

    reconfig_kills.py [--kinds ppppp] [--rounds N] [--seed N]

All of them run; some are in the list, some are not. In each round a change is asked for, and while it is under way
some are killed with -9: the leader, others, or all. Then everybody is started again; one that is out of the list gets a
file with the members as they are and itself, as an operator writes it. Clients write all the time.
"""
import argparse
import os
import random
import sys
import threading
import time

import changing
import zkwire as zk
from changing import SECONDS, Changing, members_of, version_of
from patience import wait_until


class Writer(threading.Thread):
    """Makes one node after the other, at any member that answers, and notes those that were acknowledged."""

    def __init__(self, e, seed):
        super().__init__(daemon=True)
        self.e, self.rng = e, random.Random(seed)
        self.acknowledged, self.ends, self.failed = [], False, None

    def run(self):
        n = 0
        try:
            while not self.ends:
                conn = self.e.try_client(self.rng.choice(self.e.members))
                while conn is not None and not self.ends:
                    n += 1
                    conn = conn if self.write(conn, n) else None
                time.sleep(0.01)  # nobody serves: not to be asked without a pause
        except Exception as failed:  # noqa: BLE001: told to who waits for us
            self.failed = failed

    def write(self, conn, n):
        try:
            reply, _ = conn.call(zk.CREATE, {"path": "/w-%d" % n, "data": b"x", "acl": zk.WORLD_ALL, "flags": 0})
        except (zk.Closed, zk.Timeout, OSError):
            conn.close()
            return False
        if reply.err == 0:
            self.acknowledged.append(n)
        return True

    def stop(self):
        self.ends = True
        self.join(SECONDS)
        assert not self.is_alive() and self.failed is None, self.failed


def split(e, text):
    """The members in the list, and those that are not."""
    numbers = {changing.number_of(line) for line in members_of(text)}
    return [m for m in e.members if m.number in numbers], [m for m in e.members if m.number not in numbers]


def a_change(e, rng):
    """A request that may be made of the list as it is."""
    inside, outside = split(e, e.text())
    voters = [m for m in inside if not m.observes]
    choices = [("role", m) for m in inside if m.observes or len(voters) > 3]
    choices += [("add", m) for m in outside]
    choices += [("remove", m) for m in inside if m.observes or len(voters) > 3]
    what, who = rng.choice(choices)
    if what == "remove":
        return {"leaving": "%d" % who.number}
    role = "participant" if what == "add" or who.observes else "observer"
    return {"joining": who.line(role=role)}


def note_roles(e):
    """As the list has them now."""
    lines = {changing.number_of(line): line for line in members_of(e.text())}
    for m in e.members:
        m.observes = ":observer;" in lines.get(m.number, "")


def has_itself(member):
    """In the list that its files have in force: without that it does not start."""
    text = member.file()
    if text is None:
        return False
    for line in text.split("\n"):
        if line.startswith("dynamicConfigFile="):
            with open(line.split("=", 1)[1]) as f:
                text = f.read()
    return "server.%d=" % member.number in text


def make_startable(member, inside):
    for suffix in ("", ".dynamic.next"):
        if os.path.exists(member.cfg_path + suffix):
            os.remove(member.cfg_path + suffix)
    member.config.pop("peerType", None)
    for key in [k for k in member.config if k.startswith("server.")]:
        del member.config[key]
    for m in inside + [member]:
        member.config["server.%d" % m.number] = m.entry(role="observer" if m.observes else "participant")


def start_all(e):
    """First those that can be started as they are: who is needed for a leader is among them."""
    for m in e.members:
        if not m.running() and has_itself(m):
            m.start(wait=False)
    inside, _ = wait_until(lambda: try_listed(e), "the list of members", SECONDS)
    note_roles(e)
    for m in e.members:
        if not m.running():
            make_startable(m, inside)
            m.start(wait=False)
    e.wait_serving(*e.members)


def try_listed(e):
    """None: nobody leads yet."""
    leader = next((m for m in e.alive() if m.mode() == "leader"), None)
    text = leader and e.text_at(leader)
    return split(e, text) if text else None


def a_round(e, rng):
    before = int(version_of(e.text()), 16)
    request = a_change(e, rng)
    asker = threading.Thread(target=quietly, args=(e, rng.choice(e.alive()), request), daemon=True)
    victims = rng.choice([[e.leader()], e.followers()[:1], rng.sample(e.members, 2), e.members, []])
    asker.start()
    time.sleep(rng.random() * 0.03)  # the moment is what varies
    for m in victims:
        m.kill9()
    start_all(e)
    asker.join(SECONDS)
    text = e.text()
    assert int(version_of(text), 16) >= before, (text, before)
    note_roles(e)
    return request, [m.number for m in victims], version_of(text)


def quietly(e, member, request):
    """What comes of it is seen in the list."""
    conn = e.try_client(member)
    if conn is not None:
        try:
            conn.call(zk.RECONFIG, dict({"joining": None, "leaving": None, "members": None, "curConfigId": -1},
                                        **request))
        except (zk.Closed, zk.Timeout, OSError):
            pass
        conn.close()


def check_writes(e, writer):
    for m in e.members:
        with e.client(m) as conn:
            conn.call(zk.SYNC, {"path": "/"})
            reply, _ = conn.call(zk.GET_CHILDREN, {"path": "/", "watch": False})
            there = set(reply.body["children"])
        lost = [n for n in writer.acknowledged if "w-%d" % n not in there]
        assert not lost, "member %d lacks %s" % (m.number, lost[:10])


def play(e, rng, rounds):
    e.start()
    note_roles(e)
    writer = Writer(e, rng.random())
    writer.start()
    for i in range(rounds):
        print("round %d: %s; killed %s; version %s" % ((i,) + a_round(e, rng)), flush=True)
    writer.stop()
    e.wait_in_force(e.text())
    check_writes(e, writer)
    print("%d writes acknowledged" % len(writer.acknowledged))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kinds", default="ppppp")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print("reconfig_kills.py --kinds %s --rounds %d --seed %d" % (options.kinds, options.rounds, options.seed),
          flush=True)
    with Changing(options.kinds) as e:
        play(e, random.Random(options.seed), options.rounds)
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
