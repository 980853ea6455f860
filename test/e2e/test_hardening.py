# SPDX-License-Identifier: Apache-2.0
"""What the server gives up by itself, what it leaves on disk, and what `--check` says of a configuration that leaves
things open: each with the setting that mends it, and nothing of one that does not."""
import os
import stat

import daemon
import certificates
from daemon import run

DIGEST = "super:UdxDQl4f9v5oITwcAsO9bmWgHSI="


class Process(daemon.TestCase):
    def limits(self, d):
        with open("/proc/%d/limits" % d.process.pid) as f:
            return next(x for x in f if x.startswith("Max core file size")).split()[4]

    def status(self, d, name):
        with open("/proc/%d/status" % d.process.pid) as f:
            return next(x.split()[1] for x in f if x.startswith(name + ":"))

    def test_no_new_privileges_and_no_core_with_secrets(self):
        d = self.start("-DDigestAuthenticationProvider.superDigest=" + DIGEST)
        self.assertEqual(self.status(d, "NoNewPrivs"), "1")
        self.assertEqual(self.limits(d), "1")
        d.stop()

    def test_a_core_where_it_is_wanted_or_holds_no_secret(self):
        for args in ((), ("-DDigestAuthenticationProvider.superDigest=" + DIGEST, "-Dcore.dumps=true")):
            d = self.start(*args)
            self.assertNotEqual(self.limits(d), "1")
            d.stop()

    def test_files_are_ours_only(self):
        d = self.start("-DsnapCount=10")
        c = d.connect()
        for i in range(100):
            daemon.create(c, "/n%d" % i)
        d.stop()
        found = 0
        for folder, _, files in os.walk(self.data):
            for name in files:
                mode = stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode)
                self.assertEqual(mode & 0o077, 0, "%s is %o" % (name, mode))
                found += 1
        self.assertGreater(found, 2)


class Check(daemon.TestCase):
    @classmethod
    def setUpClass(cls):
        certificates.for_class(cls)

    def setUp(self):
        super().setUp()
        os.mkdir(self.data, 0o700)

    def check(self, lines, mode=0o600, *args):
        path = self.file("c.cfg", "\n".join(["dataDir=" + self.data] + lines) + "\n")
        os.chmod(path, mode)
        code, _, err = run("--check", path, *args)
        self.assertEqual(code, 0, err)
        return err

    def secure(self, *more):
        os.chmod(self.server, 0o600)
        return ["secureClientPort=2281", "ssl.keyStore.location=" + self.server,
                "ssl.trustStore.location=" + self.ca.path("ca.crt")] + list(more)

    def member(self, *more):
        with open(os.path.join(self.data, "myid"), "w") as f:
            f.write("1\n")
        servers = ["server.%d=10.0.0.%d:2888:3888;127.0.0.1:2181" % (n, n) for n in (1, 2, 3)]
        return self.secure("initLimit=10", "syncLimit=5", *servers, *more)

    def member_tls(self, *more):
        return self.member("sslQuorum=true", "ssl.quorum.keyStore.location=" + self.server,
                           "ssl.quorum.trustStore.location=" + self.ca.path("ca.crt"), *more)

    def test_nothing_is_said_of_what_is_closed(self):
        for lines in (self.secure(), self.member_tls(),
                      ["clientPort=2181", "clientPortAddress=127.0.0.1",
                       "DigestAuthenticationProvider.superDigest=" + DIGEST]):
            self.assertNotIn("WARN", self.check(lines))

    def test_what_is_open_is_said_with_what_mends_it(self):
        secret = "DigestAuthenticationProvider.superDigest=" + DIGEST
        for lines, parts in (
                (["clientPort=2181", secret],
                 ("superDigest: the super user's password crosses the network in the clear",
                  "clientPortAddress=127.0.0.1 and a secureClientPort")),
                (["clientPort=2181"], ("clientPort: whoever reaches it", "enforce.auth.enabled=true")),
                (self.secure("ssl.clientAuth=none"), ("ssl.clientAuth: clients need not", "ssl.clientAuth=need")),
                (self.secure("skipACL=yes"), ("skipACL: no permission is checked: remove it",)),
                (["clientPort=2181", "4lw.commands.whitelist=*"], ("4lw.commands.whitelist: whoever",)),
                (self.secure("admin.enableServer=true", "admin.serverAddress=0.0.0.0"),
                 ("admin.serverAddress: whoever", "admin.serverAddress=127.0.0.1")),
                (self.member(), ("sslQuorum: whoever reaches the ports of the members can be one",
                                 "sslQuorum=true")),
                (self.member_tls("portUnification=true"), ("portUnification: members are taken without TLS",)),
                (self.member_tls("ssl.quorum.clientAuth=want"), ("ssl.quorum.clientAuth=need",)),
                (self.member_tls("ssl.quorum.hostnameVerification=false"),
                 ("ssl.quorum.hostnameVerification: whoever has any certificate",))):
            with self.subTest(parts[0]):
                self.assertContains(self.check(lines), *parts)

    def test_secrets_that_others_can_read(self):
        secret = "DigestAuthenticationProvider.superDigest=" + DIGEST
        local = ["clientPort=2181", "clientPortAddress=127.0.0.1"]
        said = self.check(local + [secret], 0o644)
        self.assertContains(said, "superDigest: stands in a file that everybody on this machine can read: chmod 600")
        said = self.check(local, 0o600, "-D" + secret)
        self.assertContains(said, "superDigest: stands on the command line")
        self.assertNotIn(DIGEST, said)
        lines = self.secure()
        os.chmod(self.server, 0o644)
        self.assertContains(self.check(lines), "ssl.keyStore.location: is a file that everybody on this machine")

    def test_a_start_says_none_of_it(self):
        d = self.start()
        self.assertNotIn("whoever reaches it", d.log())
        d.stop()


if __name__ == "__main__":
    daemon.main()
