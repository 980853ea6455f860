# SPDX-License-Identifier: Apache-2.0
"""The members of an ensemble change while it runs: of ours alone, and mixed with Apache's.

    reconfig.py [--only STORY] KINDS[:LEADER]...

Each story is a change, asked for by clients of leaders and of followers, and what has to be so afterwards: clients
find the list at every member, it is in every member's files and nothing is proposed any more, everybody serves,
and what was written is there. `ppa:a` begins with Apache's as the leader.
"""
import argparse
import signal
import socket
import sys

import changing
import servers
import zkwire as zk
from changing import SECONDS, Changing, members_of, version_of
from patience import wait_until


BAD_ARGUMENTS = -8


def check(e, text, numbers, name, members=None):
    """The list has these, everybody has it, and writes go on."""
    assert sorted(changing.number_of(line) for line in members_of(text)) == sorted(numbers), text
    e.wait_in_force(text, members)
    e.write_and_read(name, members)
    print("  %s: %s, version %s" % (name, sorted(numbers), version_of(text)), flush=True)


def numbers_in(e):
    return sorted(changing.number_of(line) for line in members_of(e.text()))


# -- stories: each leaves an ensemble of the members it found, all running ---------------------------

def first_files(e):
    """Before anything is changed: zoo.cfg is split, and was kept."""
    text = e.text()
    check(e, text, [m.number for m in e.members], "first")
    assert int(version_of(text), 16) & 0xffffffff == 0, text
    for m in e.alive():
        assert "server.%d=" % m.number in m.file(".bak"), m.file(".bak")
        for word in ("server.", "clientPort", "peerType"):
            assert not [x for x in m.file().split("\n") if x.startswith(word)], m.file()


def leave_and_join(e):
    """A follower leaves and goes on as one that does not vote; then it is a member again. Watches fire."""
    leader = e.leader()
    leaver, other = e.followers()[:2]
    before = numbers_in(e)
    with e.client(other) as watcher:
        reply, _ = watcher.call(zk.GET_DATA, {"path": "/zookeeper/config", "watch": True})
        assert reply.err == 0, reply
        text = e.reconfig(leader, leaving="%d" % leaver.number)
        event = watcher.recv()
        assert (event.type, event.path) == (3, "/zookeeper/config"), event
    check(e, text, [n for n in before if n != leaver.number], "left")
    assert leaver.mode() == "follower"
    text = e.reconfig(other, joining=leaver.line(), curConfigId=int(version_of(text), 16))
    check(e, text, before, "joined")


def a_new_member(e, letter):
    """It runs before it is in the list, then is a voter; a member that was killed is replaced by it."""
    before = numbers_in(e)
    fresh = e.make(letter, among=[m for m in e.alive()])
    e.start(fresh)
    assert numbers_in(e) == before
    text = e.reconfig(e.followers()[0], joining=fresh.line())
    check(e, text, before + [fresh.number], "added")
    gone = next(m for m in e.followers() if m is not fresh)
    gone.kill9()
    text = e.reconfig(leaving="%d" % gone.number)
    check(e, text, [n for n in before + [fresh.number] if n != gone.number], "replaced")
    e.members.remove(gone)


def the_leader_leaves(e):
    """Another one leads at once, without an election among all; the old one follows it."""
    before = numbers_in(e)
    leader = e.leader()
    text = e.reconfig(e.followers()[0], leaving="%d" % leader.number)
    wait_until(lambda: leader.mode() == "follower", "the old leader follows", SECONDS)
    check(e, text, [n for n in before if n != leader.number], "led by another")
    assert e.leader() is not leader
    text = e.reconfig(leader, joining=leader.line())
    check(e, text, before, "back")


def there_and_back_as_observer(e):
    """A voter becomes an observer, and the other way round."""
    who = e.followers()[0]
    text = e.reconfig(joining=who.line(role="observer"))
    e.wait_mode(who, "observer")
    check(e, text, numbers_in(e), "observer")
    text = e.reconfig(who, joining=who.line(role="participant"))
    e.wait_mode(who, "follower")
    check(e, text, numbers_in(e), "voter")


def the_leader_observes(e):
    leader = e.leader()
    text = e.reconfig(joining=leader.line(role="observer"))
    e.wait_mode(leader, "observer")
    check(e, text, numbers_in(e), "leader observes")
    text = e.reconfig(joining=leader.line(role="participant"))
    e.wait_mode(leader, "follower")
    check(e, text, numbers_in(e), "leader votes")


def is_closed(port):
    try:
        zk.Conn(port, timeout=5.0).close()
        return False
    except OSError:
        return True


def another_client_port(e):
    """Of a follower and of the leader: who is connected stays connected, the old port is closed."""
    for who in (e.followers()[0], e.leader()):
        old, new = who.port, servers.free_port()
        with e.client(who) as conn:
            text = e.reconfig(e.leader() if who is not e.leader() else e.followers()[0],
                              joining=who.line(client=new))
            who.client_is_at(new)
            wait_until(lambda: is_closed(old), "port %d to be closed" % old, SECONDS)
            reply, _ = conn.call(zk.EXISTS, {"path": "/", "watch": False})
            assert reply.err == 0, reply
        check(e, text, numbers_in(e), "client port of %d" % who.number)
        if who.kind == "p":  # what the files say is in effect
            who.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "was re-read: nothing has changed" in who.log_text(), "a reload", SECONDS)


def other_ports(e):
    """Of a follower, then of the leader, which has to hand over for that."""
    for who in (e.followers()[0], e.leader()):
        ports = (servers.free_port(), servers.free_port())
        text = e.reconfig(joining=who.line(quorum=ports[0], election=ports[1]))
        who.ports = ports
        check(e, text, numbers_in(e), "ports of %d" % who.number)
    # Those who vote find them there.
    e.leader().kill9()
    e.leader()
    e.write_and_read("moved")
    for m in e.members:
        if not m.running():
            e.start(m)


def a_taken_port_is_left(e):
    """A stranger has the quorum port of the member that would lead. The list gives it another one, and it leads."""
    who = max(e.alive(), key=lambda m: m.number)
    if who.kind != "p":
        return  # Apache's is elected all the same, again and again
    who.kill9()
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        wait_until(lambda: try_listen(stranger, who.ports[0]), "the port", SECONDS)
        e.start(who)
        assert "Without it this server can follow, but must not lead" in who.log_text()
        who.ports = (servers.free_port(), who.ports[1])
        text = e.reconfig(joining=who.line())
        check(e, text, numbers_in(e), "another quorum port")
        led = e.leader()
        led.kill9()
        wait_until(lambda: who.mode() == "leader", "member %d as leader" % who.number, SECONDS)
    e.start(led)


def try_listen(sock, port):
    try:
        sock.bind(("127.0.0.1", port))
        sock.listen(1)
        return True
    except OSError:
        return False


def a_whole_list(e):
    """All at once: one leaves and another one's role changes."""
    keep = [m for m in e.alive()]
    leaver = e.followers()[0]
    rest = [m for m in keep if m is not leaver]
    text = e.reconfig(members=",".join(m.line() for m in rest))
    check(e, text, [m.number for m in rest], "whole list")
    text = e.reconfig(members="\n".join(m.line() for m in keep))
    check(e, text, [m.number for m in keep], "whole list again")


def groups_and_weights(e):
    """A list with groups, in which one voter has no weight: it can follow, and those two that have some have to agree. Such a
    list changes only as a whole, and a whole list ends it."""
    first, second, third = sorted(e.alive(), key=lambda m: m.number)[:3]
    rest = [m for m in e.alive() if m not in (first, second, third)]
    keep = [first, second, third] + rest
    lines = [m.line() for m in keep] + ["group.1=" + ":".join("%d" % m.number for m in keep)]
    lines += ["weight.%d=%d" % (m.number, m in (first, second)) for m in keep]
    text = e.reconfig(members=",".join(lines))
    e.wait_in_force(text)
    assert e.ask(leaving="%d" % third.number)[0] == BAD_ARGUMENTS
    for m in [third] + rest:  # none of them is needed
        m.kill9()
    e.write_and_read("weights")
    assert e.leader() in (first, second)
    e.start(third, *rest)
    second.kill9()  # more than half of all that vote are left, and not more than half of the weight
    wait_until(lambda: not [m for m in e.alive() if m.mode() in ("leader", "follower")], "nobody serves", SECONDS)
    e.start(second)
    text = e.reconfig(members=",".join(m.line() for m in keep))
    check(e, text, [m.number for m in keep], "without groups")


def all_are_killed(e):
    """And come back with what they had."""
    text = e.text()
    e.wait_in_force(text)
    for m in e.alive():
        m.kill9()
    e.start(*e.members)
    after = e.text()
    assert version_of(after) == version_of(text), (after, text)
    check(e, after, numbers_in(e), "restarted")


def a_member_was_away(e):
    """While the list changed twice: it finds out."""
    who = e.followers()[0]
    other = next(m for m in e.followers() if m is not who)
    e.wait_in_force(e.text())
    who.kill9()
    for _ in range(2):
        other.client_is_at(servers.free_port())
        text = e.reconfig(e.leader(), joining=other.line())
    e.start(who)
    check(e, text, numbers_in(e), "was away")


STORIES = [first_files, leave_and_join, the_leader_leaves, there_and_back_as_observer, the_leader_observes,
           another_client_port, other_ports, a_taken_port_is_left, a_whole_list, groups_and_weights, a_member_was_away,
           all_are_killed]


def led_by(e, letter):
    """One of that kind leads."""
    while e.leader().kind != letter:
        leader = e.leader()
        leader.kill9()
        e.leader()
        e.start(leader)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", action="append", help="one of " + ", ".join(s.__name__ for s in STORIES))
    parser.add_argument("kinds", nargs="+")
    options = parser.parse_args()
    for kinds in options.kinds:
        letters, _, leader = kinds.partition(":")
        stories = [s for s in STORIES if not options.only or s.__name__ in options.only]
        print("== %s" % kinds, flush=True)
        with Changing(letters) as e:
            e.start()
            for story in stories:
                if leader:
                    led_by(e, leader)
                print("%s; leader: %s" % (story.__name__, e.leader().kind), flush=True)
                story(e)
            if not options.only or "a_new_member" in options.only:
                for letter in sorted(set(letters)):
                    a_new_member(e, letter)
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
