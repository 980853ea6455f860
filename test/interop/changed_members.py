# SPDX-License-Identifier: Apache-2.0
"""Ours in the place of Apache's, after Apache's have changed their members at run time.

Three of Apache's remove one of them, and do without it. Of the two that are left the one with the larger id
is killed, and pawld started on its folder: zoo.cfg as it was rewritten, the list of the members with its
version, and the data. It leads, with the version that the other one has: who has a newer list than its
leader is turned away.
"""
import os
import shutil
import sys
import tempfile

import ensemble
import pawld_ensemble
import servers
import zkwire as zk
from patience import wait_until

SECONDS = 300
CONFIG = dict(ensemble.BASE_CONFIG, reconfigEnabled="true", skipACL="yes")


def config_of(member):
    conn = pawld_ensemble.connect(member)
    try:
        reply, _ = conn.call(zk.GET_DATA, {"path": "/zookeeper/config", "watch": False})
        return reply.body["data"].decode()
    finally:
        conn.close()


def remove(member, leaving):
    conn = pawld_ensemble.connect(member)
    reply, _ = conn.call(zk.RECONFIG, {"joining": None, "leaving": leaving, "members": None,
                                       "curConfigId": -1})
    assert reply.err == 0, reply
    text = reply.body["data"].decode()
    conn.end_session()
    return text


def text_of(member, suffix):
    with open(member.cfg_path + suffix) as f:
        return f.read()


def is_written(member, version):
    """The list is in force in the files, and nothing is proposed any more."""
    return ("dynamic." + version in text_of(member, "")
            and not os.path.exists(member.cfg_path + ".dynamic.next"))


def have_the_same(a, b):
    """And serve: then who has the larger id is elected."""
    return a.srvr().get("Zxid", "a") == b.srvr().get("Zxid", "b")


def pawld_instead(member):
    """The same member, with what is in its folder."""
    other = servers.PawlServer(dir=member.dir, port=member.port)
    other.write_config = lambda: None
    other.kind = "p"
    return other.start(wait=False)


def leads(server):
    if not server.running():
        raise server.error("has ended")
    try:
        return "Mode: leader" in servers.four_letter_word(server.port, "srvr")
    except OSError:
        return False


def story(members):
    for m in members:
        m.start(wait=False)
    pawld_ensemble.wait_settled(members)
    leader = pawld_ensemble.leader_of(members)
    removed = next(m for m in members if m is not leader)
    first, last = [m for m in members if m is not removed]
    text = remove(leader, "%d" % removed.number)
    removed.kill9()
    version = text.rsplit("version=", 1)[1]
    wait_until(lambda: is_written(first, version) and is_written(last, version),
               "the files of version " + version, SECONDS)
    wait_until(lambda: have_the_same(first, last), "both have the same", SECONDS)
    print("in force: version %s" % version, flush=True)

    last.kill9()
    ours = pawld_instead(last)
    try:
        wait_until(lambda: leads(ours), "ours leads", SECONDS)
        wait_until(lambda: first.mode() == "follower", "Apache's follows ours", SECONDS)
        assert sorted(config_of(ours).split("\n")) == sorted(text.split("\n")), config_of(ours)
        assert sorted(config_of(first).split("\n")) == sorted(text.split("\n")), config_of(first)
        pawld_ensemble.write_and_read([first, ours], "changed")
        assert is_written(last, version)
    finally:
        ours.kill9()


def main():
    folder = tempfile.mkdtemp(prefix="zk-changed-members-")
    members = ensemble.make_members("aaa", folder, CONFIG)
    try:
        story(members)
        print("passed")
    finally:
        for m in members:
            m.kill9()
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
