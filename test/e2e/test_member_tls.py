# SPDX-License-Identifier: Apache-2.0
"""TLS among members: whose certificate is not good stays outside, both sides say what is wrong with it, and a
good one is enough, without a restart. What strangers send to the ports costs the members nothing."""
import os
import re
import socket

import daemon
import certificates
from certificates import NAMES
from daemon import PATIENCE_SECONDS, run
from patience import wait_until
from test_members import Members


class Case(Members):
    @classmethod
    def setUpClass(cls):
        certificates.for_class(cls)

    def setUp(self):
        super().setUp()
        self.stores = {}
        for n in (1, 2, 3):
            self.show(n, self.ca.issue("member", "/O=Pawl/CN=member %d" % n, names=NAMES))

    def show(self, number, certificate):
        """That member's certificate is this one from now on, at once as a whole."""
        self.stores[number] = os.path.join(self.dir, "member%d.pem" % number)
        os.rename(certificate, self.stores[number])

    def keys(self, number, **more):
        keys = {"sslQuorum": "true", "ssl.quorum.keyStore.location": self.stores[number],
                "ssl.quorum.trustStore.location": self.ca.path("ca.crt")}
        keys.update(more.pop("keys", {}))
        return ["%s=%s" % pair for pair in keys.items()]

    def secure_member(self, number, **kwargs):
        return self.member(number, *self.keys(number, **kwargs))


class Refused(Case):
    def outside(self, certificate, said_here, said_there):
        """Members 1 and 2 agree; 3 with its certificate is not let in. Then it gets a good one."""
        self.show(3, certificate)
        members = [self.secure_member(n) for n in (1, 2)]
        self.wait_modes(members, "leader", "follower")
        third = self.secure_member(3)
        wait_until(lambda: any(re.search(said_there, m.log()) for m in members),
                   lambda: "%r in\n%s" % (said_there, "\n".join(m.log()[-2000:] for m in members)))
        third.wait_log(said_here)
        self.assertEqual(self.mode(third), "")
        self.show(3, self.ca.issue("member", "/O=Pawl/CN=member 3", names=NAMES))
        self.wait_modes(members + [third], "leader", "follower", "follower")
        for m in members + [third]:
            m.stop()

    def test_expired(self):
        late = self.ca.issue("late", "/CN=late", names=NAMES, begin="20200101000000Z", end="20210101000000Z")
        self.outside(late, "the certificate is no longer valid, members will refuse it: CN=late",
                     "the certificate of CN=late has expired on 2021-01-01 00:00:00 UTC")

    def test_of_another_authority(self):
        other = self.other.issue("other", "/CN=other member", names=NAMES)
        self.outside(other, "refuses, with the alert \"unknown CA\": it does not trust who has signed our "
                     "certificate", "the certificate of CN=other member is signed by nobody that is trusted "
                     "here: its issuer is CN=other,O=Pawl tests, and trusted are those in ")

    def test_of_another_name(self):
        wrong = self.ca.issue("wrong", "/CN=wrong", names="DNS:elsewhere.example,IP:192.0.2.1")
        self.outside(wrong, "looking for a leader",
                     "its certificate is for elsewhere.example, 192.0.2.1, (not for 127.0.0.1|and neither for "
                     "127.0.0.1 nor for the address 127.0.0.1)")

    def test_in_the_clear(self):
        members = [self.secure_member(n) for n in (1, 2)]
        self.wait_modes(members, "leader", "follower")
        third = self.member(3)
        wait_until(lambda: any("the other member does not speak TLS" in m.log() for m in members), "the reason")
        third.wait_log("it speaks TLS only, and was dialled in the clear: sslQuorum is true there")
        self.assertEqual(self.mode(third), "")


class Names(Case):
    def test_names_are_not_looked_at_if_that_is_wanted(self):
        keys = {"ssl.quorum.hostnameVerification": "false",
                "ssl.quorum.clientHostnameVerification": "false"}
        for n in (1, 2, 3):
            self.show(n, self.ca.issue("wrong", "/CN=wrong", names="DNS:elsewhere.example"))
        members = [self.secure_member(n, keys=keys) for n in (1, 2, 3)]
        self.wait_modes(members, "leader", "follower", "follower")
        for m in members:
            self.assertContains(m.log(), "Using TLS encrypted quorum communication",
                                "Creating TLS-only quorum server socket")
            m.stop()


class Strangers(Case):
    def open_some(self, port, first, count=200):
        """Connections that begin a handshake and do not go on."""
        socks = []
        for _ in range(count):
            s = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
            self.addCleanup(s.close)
            try:
                s.sendall(first)
            except OSError:
                pass
            socks.append(s)
        return socks

    def test_half_open_handshakes_keep_nobody_out(self):
        members = [self.secure_member(n) for n in (1, 2)]
        self.wait_modes(members, "leader", "follower")
        for place in self.places[:2]:
            for port in (place.election, place.quorum):
                try:
                    self.open_some(port, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
                except ConnectionRefusedError:  # the quorum port of who follows
                    pass
        members.append(self.secure_member(3))
        self.wait_modes(members, "leader", "follower", "follower")
        for m in members:
            m.stop()


class Settings(Case):
    def check(self, number, said, keys):
        code, _, err = run("--check", self.config(number, *self.keys(number, keys=keys)))
        self.assertNotEqual(code, 0)
        self.assertContains(err, said)

    def test_what_cannot_be_used_is_said_before_anything_starts(self):
        for keys, said in (
                ({"ssl.quorum.keyStore.location": "/no/such"},
                 "ssl.quorum.keyStore.location: /no/such: No such file or directory"),
                ({"ssl.quorum.ciphersuites": "TLS_NONSENSE"}, "ssl.quorum.ciphersuites: \"TLS_NONSENSE\""),
                ({"ssl.quorum.allowReverseDnsLookup": "true"}, "ssl.quorum.allowReverseDnsLookup: the name")):
            self.check(1, said, keys)
        lines = [x for x in self.keys(1) if "trustStore" not in x]
        code, _, err = run("--check", self.config(1, *lines))
        self.assertNotEqual(code, 0)
        self.assertContains(err, "ssl.quorum.trustStore.location: is not set")


if __name__ == "__main__":
    daemon.main()
