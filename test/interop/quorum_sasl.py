#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SASL among members, switched on and off again one member at a time under load, as operators do it.

    quorum_sasl.py [--kinds ppp] [--stages off,taken,used,on]

Clients write and read as in ensemble_kills.py, and the same checker decides. A stage is a configuration; every
member is stopped and started with it, followers first. In the end, when it is required, strangers are turned
away at both ports, members of our kind take new passwords without a restart, and a member with a wrong one stays
outside.
"""
import argparse
import os
import random
import shutil
import socket
import struct
import sys
import tempfile

import ensemble_kills as kills
import servers
from patience import wait_until

sys.path.insert(0, os.path.join(servers.REPO, "test", "lib"))
import sasl_digest  # noqa: E402

STAGES = {
    "off": {},
    "taken": {"quorum.auth.enableSasl": "true"},
    "used": {"quorum.auth.enableSasl": "true", "quorum.auth.learnerRequireSasl": "true"},
    "on": {"quorum.auth.enableSasl": "true", "quorum.auth.learnerRequireSasl": "true",
           "quorum.auth.serverRequireSasl": "true"},
}
SECONDS = 60
MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
# FOLLOWERINFO with a LearnerInfo of server 1, and a hello of the election.
LEARNER = struct.pack(">iqiqiqi", 11, 0, 20, 1, 0x10000, 0, -1)
ADDRESS = b"127.0.0.1:1"
HELLO = struct.pack(">qqi", -65536, 9, len(ADDRESS)) + ADDRESS
MAGIC = 0x5f2435013501edcc


def packet(token, status=0):
    return struct.pack(">qii", MAGIC, status, len(token)) + token


class Story(kills.Story):
    name = "quorum_sasl"

    def __init__(self, options, folder):
        self.secrets = tempfile.mkdtemp(prefix="pawl-quorum-sasl-")
        super().__init__(options, folder)
        for m in self.members:
            self.write_login(m, "geheim one")
            if m.kind == "p" and m.number % 2 == 1:  # a plain file does as well as Java's
                m.config["quorum.auth.loginFile"] = self.login(m)
            elif m.kind == "p":
                m.config["java.security.auth.login.config"] = self.login(m)
            else:
                m.java_opts = list(m.java_opts) + ["-Djava.security.auth.login.config=" + self.login(m)]

    # -- passwords --

    def login(self, m):
        return os.path.join(self.secrets, "member%d" % m.number)

    def write_login(self, m, own, others=("geheim one", "geheim two")):
        """As whom it comes, and who may come: two users, so that passwords can be changed one at a time."""
        names = {"geheim one": "one", "geheim two": "two"}
        if m.kind == "p" and m.number % 2 == 1:
            users = [own] + [o for o in others if o != own]
            text = "".join("%s:%s\n" % (names.get(p, "one"), p) for p in users)
        else:
            users = " ".join('user_%s="%s"' % (names[p], p) for p in others)
            text = ("QuorumServer {\n %s required\n %s;\n};\nQuorumLearner {\n %s required\n username=\"%s\"\n"
                    " password=\"%s\";\n};\n" % (MODULE, users, MODULE, names.get(own, "one"), own))
        with open(self.login(m) + ".new", "w") as f:
            os.chmod(f.name, 0o600)
            f.write(text)
        os.rename(self.login(m) + ".new", self.login(m))

    # -- the procedure --

    def set_stage(self, m, stage):
        for key in STAGES["on"]:
            m.config.pop(key, None)
        m.config.update(STAGES[stage])

    def restart(self, m, stage):
        m.stop()
        self.set_stage(m, stage)
        m.start(wait=False)
        self.wait_settled()
        self.wait_progress(each=True)

    def go_to(self, stage):
        """Followers first; who leads is asked anew each time."""
        left = list(self.members)
        while left:
            m = sorted(left, key=lambda m: m.mode() == "leader")[0]
            left.remove(m)
            self.restart(m, stage)

    # -- what strangers get --

    def talk(self, port, first, password):
        """True: let in. Without a password, or with a wrong one."""
        with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as sock:
            try:
                sock.sendall(first[0])
                if password is not None:
                    sock.sendall(packet(b""))
                    status, challenge = self.receive(sock)
                    answer, _ = sasl_digest.response(challenge, "one", password, service="zookeeper-quorum",
                                                     host="zk-quorum-sasl-md5")
                    sock.sendall(packet(answer))
                    status, _ = self.receive(sock)
                    if status != 1:
                        return False
                sock.sendall(first[1])
                return password is not None or len(sock.recv(100)) > 16
            except (EOFError, ConnectionError):
                return False

    def receive(self, sock):
        magic, status, length = struct.unpack(">qii", self.exactly(sock, 16))
        assert magic == MAGIC, magic
        return status, self.exactly(sock, length)

    def exactly(self, sock, n):
        data = b""
        while len(data) < n:
            more = sock.recv(n - len(data))
            if not more:
                raise EOFError()
            data += more
        return data

    def check_strangers(self):
        leader = self.leader()
        places = [(m.ports[1], (HELLO, b"")) for m in self.members] + [(leader.ports[0], (b"", LEARNER))]
        for port, first in places:
            assert not self.talk(port, first, None), "without a password, port %d" % port
            assert not self.talk(port, first, "geheim wrong"), "with a wrong one, port %d" % port
        assert self.talk(leader.ports[0], (b"", b""), "geheim one"), "with the right one"

    def check_new_passwords(self):
        """Files change while all run: all come as the other user, and then the first one is forgotten. Java's
        has to be started anew for that."""
        for m in self.members:
            self.write_login(m, "geheim two")
        for m in self.members:
            if m.kind != "p":
                self.restart(m, "on")
        for m in self.members:
            self.write_login(m, "geheim two", ("geheim two",))
            if m.kind == "p":
                wait_until(lambda: not self.talk(m.ports[1], (HELLO, b""), "geheim one"),
                           "the first password to be forgotten by %d" % m.number, SECONDS)
        self.restart(random.Random(self.options.seed).choice(self.members), "on")

    def check_wrong_member(self):
        m = random.Random(self.options.seed).choice([m for m in self.members if m.mode() == "follower"])
        m.stop()
        self.write_login(m, "geheim wrong", ("geheim two",))
        m.start(wait=False)
        others = [o for o in self.members if o is not m and o.kind == "p"]
        refused = ("does not accept our name and password", "client response doesn't match")
        wait_until(lambda: any(text in o.log_text() for text in refused for o in others + [m]),
                   "a refusal in the logs", SECONDS * 5)
        assert m.mode() not in ("leader", "follower"), m.mode()
        m.stop()
        self.write_login(m, "geheim two", ("geheim two",))
        m.start(wait=False)
        self.wait_settled()

    def check_logs(self):
        for m in self.members:
            assert "geheim" not in m.log_text(), m.log_path

    def play(self):
        try:
            for m in self.members:
                self.set_stage(m, self.options.stages[0])
            self.begin()
            for stage in self.options.stages[1:]:
                self.go_to(stage)
            if self.options.stages[-1] == "on":
                self.check_strangers()
                self.check_new_passwords()
                self.check_wrong_member()
            self.check_logs()
            nodes = self.finish()
            print("%s: %s: passed, %s, %d answers, %d nodes%s" % (
                self.name, self.options.kinds, " ".join(self.options.stages), self.n_done(), nodes,
                self.excused()))
        finally:
            for m in self.members:
                m.close()
            shutil.rmtree(self.secrets, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kinds", default="ppp", help="ppp, pap, ...: p is pawld")
    parser.add_argument("--stages", default="off,taken,used,on", type=lambda text: text.split(","))
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    return kills.tell(Story, parser.parse_args(), "quorum_sasl")


if __name__ == "__main__":
    sys.exit(main())
