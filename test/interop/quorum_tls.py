#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""TLS among members, switched on and off again one member at a time under load, as operators do it.

    quorum_tls.py [--kinds ppp] [--stages in the clear,both,TLS and plain,TLS]

Clients write and read as in ensemble_kills.py, and the same checker decides. A stage is a configuration; every
member is stopped and started with it, followers first. In the end, when TLS is all that is spoken, strangers
are turned away at both ports, and members of our kind take new certificates without a restart.
"""
import argparse
import os
import random
import shutil
import socket
import ssl
import struct
import sys

import ensemble_kills as kills
import servers
from patience import wait_until

sys.path.insert(0, os.path.join(servers.REPO, "test", "lib"))
from certificates import NAMES, Authority  # noqa: E402

STAGES = {
    "off": {},
    "taken": {"portUnification": "true"},
    "used": {"portUnification": "true", "sslQuorum": "true"},
    "on": {"sslQuorum": "true"},
}
SECONDS = 60
# FOLLOWERINFO with a LearnerInfo of server 1, and a hello of the election.
LEARNER = struct.pack(">iqiqiqi", 11, 0, 20, 1, 0x10000, 0, -1)
ADDRESS = b"127.0.0.1:1"
HELLO = struct.pack(">qqi", -65536, 9, len(ADDRESS)) + ADDRESS


class Story(kills.Story):
    name = "quorum_tls"

    def __init__(self, options, folder):
        self.ca, self.other = Authority(folder, "ca"), Authority(folder, "other")
        super().__init__(options, folder)
        for m in self.members:
            self.issue(m)
            m.config.update(self.stores(m))

    # -- certificates --

    def issue(self, m):
        """A new one, in the place of the old one at once."""
        new = self.ca.issue("new", "/O=Pawl/CN=member %d" % m.number, names=NAMES)
        os.rename(new, self.store(m))

    def store(self, m):
        return self.ca.path("member%d.pem" % m.number)

    def stores(self, m):
        return {"ssl.quorum.keyStore.location": self.store(m), "ssl.quorum.keyStore.type": "PEM",
                "ssl.quorum.trustStore.location": self.ca.path("ca.crt"),
                "ssl.quorum.trustStore.type": "PEM"}

    # -- the procedure --

    def restart(self, m, stage):
        m.stop()
        for key in ("portUnification", "sslQuorum"):
            m.config.pop(key, None)
        m.config.update(STAGES[stage])
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

    def is_turned_away(self, port, data, context=None):
        """Closed by the other side, before it has said anything of its own."""
        with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as sock:
            try:
                if context:
                    sock = context.wrap_socket(sock, server_hostname="localhost")
                sock.sendall(data)
                got = b""
                while len(got) < 8:
                    more = sock.recv(100)
                    if not more:
                        break
                    got += more
                return len(got) < 8  # an alert, or nothing
            except (ssl.SSLError, ConnectionError):
                return True

    def contexts(self):
        """Without a certificate, and with that of another authority."""
        for certificate in (None, self.other.issue("stranger", "/CN=mallory", names=NAMES)):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(self.ca.path("ca.crt"))
            if certificate:
                context.load_cert_chain(certificate)
            yield context

    def check_strangers(self):
        leader = self.leader()
        for m in self.members:
            for context in [None] + list(self.contexts()):
                assert self.is_turned_away(m.ports[1], HELLO, context), "election port of %d" % m.number
        for context in [None] + list(self.contexts()):
            assert self.is_turned_away(leader.ports[0], LEARNER, context), "quorum port"

    def check_new_certificates(self):
        """The files change while all run; who starts then is let in, and lets in the others."""
        ours = [m for m in self.members if m.kind == "p"]
        before = [m.log_text().count("members are shown the certificate") for m in ours]
        for m in self.members:
            self.issue(m)
        for m, n in zip(ours, before):
            wait_until(lambda: m.log_text().count("members are shown the certificate") > n,
                       "the new certificate of %d" % m.number)
        self.restart(random.Random(self.options.seed).choice(self.members), "on")

    def play(self):
        try:
            self.members_begin(self.options.stages[0])
            for stage in self.options.stages[1:]:
                self.go_to(stage)
            if self.options.stages[-1] == "on":
                self.check_strangers()
                self.check_new_certificates()
            nodes = self.finish()
            print("%s: %s: passed, %s, %d answers, %d nodes%s" % (
                self.name, self.options.kinds, " ".join(self.options.stages), self.n_done(), nodes,
                self.excused()))
        finally:
            for m in self.members:
                m.close()
            shutil.rmtree(self.ca.folder, ignore_errors=True)
            shutil.rmtree(self.other.folder, ignore_errors=True)

    def members_begin(self, stage):
        for m in self.members:
            m.config.update(STAGES[stage])
        self.begin()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kinds", default="ppp", help="ppp, pap, ...: p is pawld")
    parser.add_argument("--stages", default="off,taken,used,on", type=lambda text: text.split(","))
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    return kills.tell(Story, parser.parse_args(), "quorum_tls")


if __name__ == "__main__":
    sys.exit(main())
