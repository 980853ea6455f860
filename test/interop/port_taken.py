#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A stranger has the quorum port of the last member, a pawld with the highest id: the others, Apache's or
ours, elect another one with its vote, in whatever round they are, and it follows.

One who lacks something is not elected with its vote. When the port is free it leads.
"""
import argparse
import os
import shutil
import sys
import tempfile

import pawld_ensemble as pe
from patience import wait_until
from stranger import Stranger


def follows(members, deaf):
    pe.wait_settled(members)
    assert deaf.mode() == "follower", "the deaf one is a %s" % deaf.mode()


def restart(members):
    for m in members:
        m.kill9()
    for m in members:
        m.start(wait=False)


def one_of_two_is_elected(members, deaf):
    """With the vote of the deaf one."""
    old = pe.leader_of(members)
    wait_until(lambda: pe.in_step(members), "all in step")
    old.kill9()
    rest = [m for m in members if m is not old]
    follows(rest, deaf)
    pe.write_and_read(rest, "without-%d" % old.number)
    old.start(wait=False)
    follows(members, deaf)


def nobody_who_lacks_something_is_elected(members, deaf):
    late, other = members[0], members[1]
    late.kill9()
    pe.wait_settled([other, deaf])
    pe.write_and_read([other, deaf], "lacked")
    wait_until(lambda: pe.in_step([other, deaf]), "two in step")
    other.kill9()
    deaf.kill9()
    deaf.start(wait=False)
    late.start(wait=False)
    wait_until(lambda: "does not vote for it" in deaf.log_text(), "the line in the log")
    assert late.mode() != "leader" and deaf.mode() != "follower", "there is a leader"
    other.start(wait=False)
    follows(members, deaf)
    assert other.mode() == "leader", "member %d does not lead" % other.number


def story(kinds, folder):
    members = pe.make(kinds, folder)
    deaf = members[-1]
    stranger = Stranger(deaf.ports[0])
    try:
        for m in members:
            m.start(wait=False)
        follows(members, deaf)
        pe.write_and_read(members, "first")
        one_of_two_is_elected(members, deaf)
        one_of_two_is_elected(members, deaf)
        restart(members[:-1])  # their rounds begin again, that of the deaf one does not
        follows(members, deaf)
        restart([deaf])
        follows(members, deaf)
        nobody_who_lacks_something_is_elected(members, deaf)
        assert stranger.taken == [], "somebody has followed the stranger"
        stranger.leave()
        wait_until(lambda: "is this server's now" in deaf.log_text(), "the port")
        pe.write_and_read(members, "last")  # a snapshot's zxid would beat any id
        wait_until(lambda: pe.in_step(members), "all in step")
        old = pe.leader_of(members)
        old.kill9()
        pe.wait_settled([m for m in members if m is not old])
        assert deaf.mode() == "leader", "it does not lead"
        old.start(wait=False)
        pe.wait_settled(members)
        pe.write_and_read(members, "led")
        wait_until(lambda: pe.in_step(members), "all in step")
        print("port_taken: %s: passed, %d nodes" % (kinds, pe.same_trees(members)))
    finally:
        stranger.leave()
        for m in members:
            m.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kinds", nargs="*", default=["aap"], help="three, the last one a p")
    folder = tempfile.mkdtemp(prefix="port-taken-")
    for kinds in parser.parse_args().kinds:
        try:
            story(kinds, os.path.join(folder, kinds))
        except Exception as e:  # whatever it was: the logs are kept
            print("port_taken: %s: FAILED: %s: %s; logs in %s" % (kinds, type(e).__name__, e, folder))
            return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
