#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Backups and restored folders change hands between Apache ZooKeeper and pawld.

    backups.py [--pawl PROGRAM] [--seed N]

A server of each kind is written to (while it takes snapshots, also compressed ones) and backed up by
`pawl backup` while it runs, twice, the second time into the same folder. Then it is asked for its tree.
What `pawl restore` makes of the backup must be that tree on a server of either kind: data, ACLs, all
fields of Stat. So must be the backup itself, as the snapshot and the logs that it is.

Then mixed ensembles: each member is backed up while all run, then all is restored as docs/operating.md has
it, from the files of one member, by one and by the other kind of server; what came after the backup is gone.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

import ensemble
import servers
import tree_dump
import zkwire as zk
from patience import PATIENCE_SECONDS

CONFIG = {"extendedTypesEnabled": "true", "snapCount": "40", "tickTime": "500", **tree_dump.SUPER_CONFIG}
SESSION_MS = 100000


def run(program, *args):
    done = subprocess.run([program, *args], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    if done.returncode != 0:
        sys.exit("pawl %s: %d, %s" % (args, done.returncode, done.stderr))
    print(done.stdout.strip())


def write(conn, chance, n):
    for i in range(n):
        path = "/b%d" % chance.randrange(50)
        data = bytes(chance.randrange(256) for _ in range(chance.randrange(400)))
        kind = chance.randrange(4)
        if kind < 2:
            conn.call(zk.CREATE, {"path": path, "data": data, "acl": zk.WORLD_ALL, "flags": 0})
        elif kind == 2:
            conn.call(zk.SET_DATA, {"path": path, "data": data, "version": -1})
        else:
            conn.call(zk.DELETE, {"path": path, "version": -1})


def tree_of(kind, folder):
    """The tree that a server of that kind shows on a copy of a folder."""
    place = tempfile.mkdtemp(prefix="pawl-backups-")
    try:
        shutil.copytree(folder, os.path.join(place, "data"))
        with servers.make(kind, dir=place, config=CONFIG) as server:
            return tree_dump.dump(server.port)
    finally:
        shutil.rmtree(place)


def compare(what, wanted, got):
    lines = tree_dump.differences(wanted, got, leave_out=("/zookeeper/config",))  # a leader's start sets it
    if lines:
        sys.exit("%s:\n%s" % (what, "\n".join(lines[:20])))
    print("%s: the same %d nodes" % (what, len(wanted)))


def round_trip(program, kind, compression, chance, place):
    backup, restored = os.path.join(place, "backup"), os.path.join(place, "restored")
    config = dict(CONFIG, **({"snapshot.compression.method": compression} if compression else {}))
    with servers.make(kind, config=config) as server:
        conn = tree_dump.connect_super(server.port, SESSION_MS)
        write(conn, chance, 150)
        run(program, "backup", "-D", server.data_dir, backup)
        write(conn, chance, 150)
        conn.end_session()
        wanted = tree_dump.dump(server.port)
        run(program, "backup", "-D", server.data_dir, backup)
    run(program, "backup", "verify", backup)
    run(program, "restore", backup, restored)
    for other in ("apache", "pawld"):
        name = "%s%s, backed up, " % (kind, " (%s)" % compression if compression else "")
        compare(name + "restored for %s" % other, wanted, tree_of(other, restored))
        compare(name + "read by %s" % other, wanted, tree_of(other, backup))


def restore_one(e, program, backup, first):
    """From a backup into the folder of one member; those of the others are put aside."""
    e.end()
    for m in e.members:
        if m is not first:
            shutil.move(os.path.join(m.data_dir, "version-2"), os.path.join(m.dir, "put-aside"))
    run(program, "restore", "--replace", backup, first.data_dir)
    others = [m for m in e.members if m is not first]
    for m in (first, others[0]):
        m.start(wait=False)
    e.wait_leader()
    e.start_missing()


def ensemble_trip(program, kinds, first, chance, place):
    """`first` is the number of the member that is restored."""
    with ensemble.Ensemble(kinds, config=CONFIG) as e:
        conn = tree_dump.connect_super(e.wait_leader().port, SESSION_MS)
        write(conn, chance, 100)
        conn.end_session()
        wanted = tree_dump.dump(e.leader().port)
        e.wait_for(lambda: len({m.srvr().get("Zxid") for m in e.members}) == 1, "all to have the same")
        backups = [os.path.join(place, "backup%d" % m.number) for m in e.members]
        for m, backup in zip(e.members, backups):
            run(program, "backup", "-D", m.data_dir, backup)
            run(program, "backup", "verify", backup)
        conn = tree_dump.connect_super(e.wait_leader().port, SESSION_MS)
        write(conn, chance, 50)
        conn.end_session()
        restore_one(e, program, backups[first % len(backups)], e.members[first - 1])
        for m in e.members:
            compare("%s, restored from number %d: number %d" % (kinds, first, m.number), wanted,
                    tree_dump.dump(m.port))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pawl", default=os.path.join(servers.REPO, "build", "bin", "pawl"))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("%s --seed %d" % (sys.argv[0], args.seed))
    for kind, compression in (("apache", ""), ("apache", "gz"), ("pawld", "")):
        with tempfile.TemporaryDirectory(prefix="pawl-backups-") as place:
            round_trip(args.pawl, kind, compression, random.Random(args.seed), place)
    for kinds, first in (("pap", 1), ("ppa", 3)):
        with tempfile.TemporaryDirectory(prefix="pawl-backups-") as place:
            ensemble_trip(args.pawl, kinds, first, random.Random(args.seed), place)


if __name__ == "__main__":
    main()
