#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A quorum that is lost for good, of servers of both kinds: `pawl ensemble rescue`.

    rescue.py KINDS...

All of KINDS ("aap") have the first writes, the last one of them has not the later ones, and its folder is all that is left. The
new folder goes to all but the first, which comes back with its old files when the others serve: it must not lead, and
gets their tree.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import pawld_ensemble as pe
import servers
from patience import wait_until

SECONDS = 120
PAWL = os.path.join(os.path.dirname(os.environ.get("PAWLD") or os.path.join(servers.REPO, "build", "bin", "pawld")), "pawl")


def write(member, prefix):
    conn = pe.connect(member)
    for i in range(10):
        pe.create(conn, "/%s%d" % (prefix, i), b"d" * i)
    conn.close()


def names(member):
    conn = pe.connect(member)
    reply, _ = conn.call(pe.zk.GET_CHILDREN, {"path": "/", "watch": False})
    conn.close()
    return {name.rstrip("0123456789") for name in reply.body["children"]} - {"zookeeper"}


def epoch(member, name):
    with open(os.path.join(member.data_dir, "version-2", name)) as f:
        return int(f.read())


def lose(members):
    for m in members:
        m.start(wait=False)
    pe.wait_settled(members)
    write(members[0], "early")
    wait_until(lambda: pe.in_step(members), "all in step", SECONDS)
    members[-1].kill9()
    pe.wait_settled(members[:-1])
    write(members[0], "late")
    wait_until(lambda: pe.in_step(members[:-1]), "both in step", SECONDS)
    for m in members[:-1]:
        m.kill9()


def rescue(members, folder):
    new = os.path.join(folder, "new")
    done = subprocess.run([PAWL, "ensemble", "rescue", "-n", str(len(members)), "--yes", new, members[-1].data_dir],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "missing: whatever" in done.stdout, done
    for m in members[1:]:
        old = os.path.join(m.data_dir, "version-2")
        os.rename(old, old + ".old")
        shutil.copytree(os.path.join(new, "version-2"), old)


def play(kinds, folder):
    members = pe.make(kinds, folder)
    try:
        lose(members)
        last = max(epoch(m, "acceptedEpoch") for m in members)
        rescue(members, folder)
        for m in members[1:]:
            m.start(wait=False)
        pe.wait_settled(members[1:])
        write(members[1], "new")
        assert names(members[1]) == {"early", "new"}, names(members[1])
        assert min(epoch(m, "currentEpoch") for m in members[1:]) > last + 999
        members[0].start(wait=False)
        pe.wait_settled(members)
        assert members[0].mode() == "follower", "who has the old files leads"
        write(members[0], "newer")
        wait_until(lambda: pe.in_step(members), "all in step", SECONDS)
        pe.same_trees(members)
        assert names(members[0]) == {"early", "new", "newer"}, names(members[0])
        print("rescue: %s: passed" % kinds, flush=True)
    finally:
        for m in members:
            m.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kinds", nargs="+")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="rescue-")
    for kinds in options.kinds:
        try:
            play(kinds, os.path.join(folder, kinds))
        except Exception as e:  # whatever it was: the logs are kept
            print("rescue: %s: FAILED: %s: %s; logs in %s" % (kinds, type(e).__name__, e, folder))
            return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
