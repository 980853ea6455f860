# SPDX-License-Identifier: Apache-2.0
"""The files of a list of members that changes are Apache's, byte by byte.

Two servers of Apache's and then two of ours live through the same, in the same folders and at the same ports: first
start, a change that is proposed and cannot be committed while a follower is stopped, its end, another one.
"""
import os
import shutil
import sys
import tempfile

import changing
import zkwire as zk
from changing import Changing, version_of
from patience import wait_until

# As an operator has written it.
ODD_CONFIG = """\
# the first line
tickTime=200
initLimit = 100
syncLimit: 300

dataDir=%(data)s
clientPort=%(port)d
clientPortAddress=127.0.0.1
! another remark
reconfigEnabled=true
maxClientCnxns 0
autopurge.snapRetainCount=7
autopurge.purgeInterval=0
maxSessionTimeout=600000
peerType=participant
4lw.commands.whitelist=*
admin.enableServer=false
skipACL=yes
"""


class Odd:
    def write_config(self):
        if not os.path.exists(self.cfg_path):
            with open(self.cfg_path, "w") as f:
                f.write(ODD_CONFIG % {"data": self.data_dir, "port": self.port})
                for key, value in sorted(self.config.items(), reverse=True):
                    if key.startswith("server."):
                        f.write("%s=%s\n" % (key, value))


class OddApache(Odd, changing.KeepingApache):
    pass


class OddPawl(Odd, changing.KeepingPawl):
    pass


def files_of(member):
    """{name: text}"""
    names = [n for n in os.listdir(member.dir) if n.startswith("zoo.cfg")]
    return {name: member.file(name[len("zoo.cfg"):]) for name in names}


def proposed_while_stopped(e, leader, follower, request):
    """What the leader keeps of a change that its only follower has not acknowledged."""
    with e.client(leader) as conn:
        version = version_of(e.text_at(leader))
        follower.pause()
        conn.send(zk.RECONFIG, request)
        text = wait_until(lambda: leader.file(".dynamic.next"), "what is proposed", changing.SECONDS)
        follower.resume()
        while True:
            reply = conn.recv()
            if isinstance(reply, zk.Reply):
                break
        assert reply.err == 0, reply
        assert version_of(reply.body["data"].decode()) > version
        return text


def live(e):
    """[(what, {file: text} or text)], the same for both kinds if all is well."""
    e.start()
    leader, follower = e.leader(), e.followers()[0]
    seen = []

    def note(what):
        e.wait_in_force(e.text())
        for m in e.members:
            seen.append(("%s, member %d" % (what, m.number), files_of(m)))
    note("first start")
    observer = "server.7=127.0.0.1:1:2:observer;127.0.0.1:3"
    request = {"joining": observer, "leaving": None, "members": None, "curConfigId": -1}
    seen.append(("proposed", proposed_while_stopped(e, leader, follower, request)))
    note("an observer")
    e.reconfig(leaving="7")
    note("without it")
    e.reconfig(members=",".join([m.line() for m in e.members] + ["group.1=1:2", "weight.1=2", "weight.2=1"]))
    note("groups")
    return seen


def make(kind, folder, ports):
    changing.KINDS.update(a=OddApache, p=OddPawl)
    e = Changing("")
    shutil.rmtree(e.dir)
    e.dir = folder
    for _ in range(2):
        m = e.make(kind)
        if m.number in ports:
            m.ports, m.port = ports[m.number]
        ports[m.number] = (m.ports, m.port)
        m.fixed_port = m.port
    for m in e.members:
        m.config.update({"server.%d" % o.number: o.entry() for o in e.members})
    return e


def without_versions(text):
    """Sessions of tests take zxids, and not as many in every run."""
    return changing.VERSION.sub("VERSION", text)


def normal(what):
    if isinstance(what, dict):
        return sorted((without_versions(name), without_versions(text)) for name, text in what.items())
    return without_versions(what)


def main():
    folder = tempfile.mkdtemp(prefix="zk-reconfig-files-")
    ports, lives = {}, {}
    for kind in "ap":
        shutil.rmtree(folder, ignore_errors=True)
        with make(kind, folder, ports) as e:
            lives[kind] = live(e)
    for (what, apache), (_, ours) in zip(lives["a"], lives["p"]):
        assert normal(apache) == normal(ours), "%s:\n%s\n--- ours:\n%s" % (what, apache, ours)
        print("the same: %s" % what)
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
