#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""libpawl and pawl with zks://: every face of the client and the adapters for loops (the examples of
them, as they are), and what is said when a server is not the one that is meant."""
import os
import re
import signal
import socket
import subprocess

import daemon  # finds what follows
import certificates
from certificates import NAMES
from daemon import PATIENCE_SECONDS, wait_until

BIN = os.path.dirname(daemon.PAWLD)
EXAMPLES = {
    "client_blocking": r'/greeting: "hello".*has changed: "good morning".*somebody was faster.*closed',
    "client_async": r"state: CONNECTED.*1000 created, 1000 read, 0 failed.*state: CLOSED",
    "client_epoll": r"/counter: 1.*/counter: 2.*/counter: 3.*3 changes seen",
    "client_libuv": r"/counter: 1.*/counter: 2.*/counter: 3.*3 changes seen",
    "client_libevent": r"/counter: 1.*/counter: 2.*/counter: 3.*3 changes seen",
    "stock": r"CORRECT: 100 in stock, 100 sold, 0 left",
}


def sessions(d):
    """Of those that are connected."""
    return re.findall(r"sid=(0x[0-9a-f]+)", d.word("cons"))


class Case(daemon.TestCase):
    @classmethod
    def setUpClass(cls):
        certificates.for_class(cls)
        cls.client = cls.ca.issue("client", "/O=Pawl/CN=alice")

    def start_tls(self, certificate=None, auth="need", port=0):
        d = self.start("-DsecureClientPort=%d" % port, "-Dssl.clientAuth=" + auth,
                       "-D4lw.commands.whitelist=*",
                       "-Dssl.keyStore.location=" + (certificate or self.server),
                       "-Dssl.trustStore.location=" + self.ca.path("ca.crt"))
        d.secure_port = port or int(d.process.stdout.readline())
        d.servers = "zks://localhost:%d" % d.secure_port
        return d

    def pawl(self, servers, *args, ca=None, cert=None, env=None):
        command = [os.path.join(BIN, "pawl"), "-C", "60s", "-s", servers]
        command += ["--ca", (ca or self.ca).path("ca.crt")]
        command += ["--cert", cert] if cert else []
        done = subprocess.run(command + list(args), capture_output=True, text=True,
                              timeout=PATIENCE_SECONDS, env=dict(os.environ, **(env or {})))
        return done.returncode, done.stdout, done.stderr

    def refused(self, servers, *args, **kwargs):
        """What pawl says: only the first failure counts, so it need not try for long."""
        code, _, said = self.pawl(servers, "-C", "2s", *args, "ls", "/", **kwargs)
        self.assertEqual(code, 113, said)
        return said


class Faces(Case):
    def test_examples(self):
        d = self.start_tls(auth="none")
        env = dict(os.environ, SSL_CERT_FILE=self.ca.path("ca.crt"))
        for name, pattern in EXAMPLES.items():
            program = os.path.join(BIN, name)
            if not os.path.exists(program):
                continue  # libevent is not everywhere
            with self.subTest(name):
                done = subprocess.run([program, d.servers], capture_output=True, text=True, env=env,
                                      timeout=PATIENCE_SECONDS)
                self.assertTrue(re.search(pattern, done.stdout, re.DOTALL), done.stdout + done.stderr)
                self.assertNotIn("Sanitizer", done.stderr)
        d.stop()


class Pawl(Case):
    def test_it_works(self):
        d = self.start_tls()
        text = "x" * 100000
        self.assertEqual(self.pawl(d.servers, "create", "/long", text, cert=self.client)[0], 0)
        self.assertEqual(self.pawl(d.servers, "get", "/long", cert=self.client)[1], text)
        self.assertEqual(self.pawl(d.servers, "create", "/a", "hello", cert=self.client)[0], 0)
        self.assertEqual(self.pawl(d.servers, "get", "/a", cert=self.client)[1], "hello")
        self.assertIn("x509:CN=alice,O=Pawl", self.pawl(d.servers, "whoami", cert=self.client)[1])
        self.assertIn("Mode: standalone", self.pawl(d.servers, "4lw", "srvr", cert=self.client)[1])
        # The command finds the same servers, and who we are, in its environment.
        code, out, said = self.pawl(d.servers, "lock", "/lock", "--", os.path.join(BIN, "pawl"),
                                    "get", "/a", cert=self.client)
        self.assertEqual((code, out), (0, "hello"), said)
        self.assertEqual(self.pawl(d.servers + "/a", "create", "/b", "1", cert=self.client)[0], 0)
        self.assertEqual(self.pawl(d.servers, "get", "/a/b", cert=self.client)[1], "1")
        d.stop()

    def test_a_shell_hands_its_options_on(self):
        """To the processes that it starts, which do not see them on their command line."""
        d = self.start_tls()
        script = os.path.join(self.dir, "script")
        with open(script, "w") as f:
            f.write("lock /lock -- echo held\n")
        # What the command line has replaced is not to come back: that key is not of this certificate.
        env = {"PAWL_CERT": self.stranger, "PAWL_KEY": self.ca.path("server.key"),
               "PAWL_SERVER_NAME": "example.org"}
        for more in ((), ("--key", self.ca.path("client.key"))):
            code, out, said = self.pawl(d.servers, "--server-name", "localhost", *more, "shell", script,
                                        cert=self.client, env=env)
            self.assertEqual((code, out), (0, "held\n"), said)
        d.stop()

    def test_a_key_is_of_the_place_of_its_certificate(self):
        d = self.start_tls()
        os.mkdir(os.path.join(self.dir, "pawl"))
        env = {"XDG_CONFIG_HOME": self.dir}
        with open(os.path.join(self.dir, "pawl", "pawl.conf"), "w") as f:
            f.write("key = %s\ncert = %s\n" % (self.ca.path("server.key"), self.ca.path("server.crt")))
        for cert, variables, name in ((self.client, {}, "alice"),
                                      (None, {"PAWL_CERT": self.client}, "alice"),
                                      (None, {}, "localhost")):
            code, out, said = self.pawl(d.servers, "whoami", cert=cert, env=dict(env, **variables))
            self.assertEqual(code, 0, said)
            self.assertIn("x509:CN=%s,O=Pawl" % name, out)
        d.stop()

    def test_who_is_not_meant(self):
        d = self.start_tls()
        late = self.ca.issue("late", "/CN=late", names=NAMES, begin="20200101000000Z",
                             end="20210101000000Z")
        self.assertContains(self.refused(d.servers, cert=self.client, ca=self.other),
                            "the certificate of CN=localhost,O=Pawl is signed by nobody that is "
                            "trusted here: its issuer is CN=ca,O=Pawl tests", "other/ca.crt")
        self.assertContains(self.refused(d.servers, "--server-name", "example.org",
                                         cert=self.client),
                            "its certificate is for localhost, 127.0.0.1, not for example.org")
        self.assertContains(self.refused("zks://127.0.0.2:%d" % d.secure_port, cert=self.client),
                            "its certificate is for localhost, 127.0.0.1, not for 127.0.0.2")
        self.assertContains(self.refused(d.servers), "lets in only those who show a certificate")
        self.assertContains(self.refused(d.servers, cert=self.stranger),
                            "does not trust who has signed our certificate")
        self.assertContains(self.refused("zks://localhost:%d" % d.port, cert=self.client),
                            "does it speak TLS on this port?")
        d.stop()
        old = self.start_tls(certificate=late, port=0)
        self.assertContains(self.refused(old.servers, cert=self.client),
                            "the certificate of CN=late has expired on 2021-01-01 00:00:00 UTC")
        self.assertIn("the certificate is no longer valid", old.log())
        old.stop()

    def test_bad_options(self):
        for args, said in ((["--server-name", ""], "TLS: server_name is empty"),
                           (["--ca", "/no/such"], "TLS: /no/such: No such file or directory"),
                           (["--cert", self.ca.path("client.crt")], "there is no private key in"),
                           (["--cert", self.ca.path("client.crt"), "--key",
                             self.ca.path("server.key")], "belongs to the private key")):
            for command in (["ls", "/"], ["4lw", "srvr"]):
                done = subprocess.run([os.path.join(BIN, "pawl"), "-s", "zks://localhost:1", *args,
                                       *command], capture_output=True, text=True,
                                      timeout=PATIENCE_SECONDS)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)

    def test_a_server_that_never_answers(self):
        """A handshake that does not go on is given up in time, and another server is tried."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            d = self.start_tls()
            servers = "zks://127.0.0.1:%d,127.0.0.1:%d" % (silent.getsockname()[1], d.secure_port)
            for _ in range(2):  # the list is shuffled
                code, _, said = self.pawl(servers, "-T", "3s", "ls", "/", cert=self.client)
                self.assertEqual(code, 0, said)
            d.stop()

    def test_sessions_survive_a_restart(self):
        d = self.start_tls()
        watcher = subprocess.Popen(
            [os.path.join(BIN, "pawl"), "-C", "120s", "-T", "60s", "-s", d.servers, "--ca",
             self.ca.path("ca.crt"), "--cert", self.client, "watch", "/w"], stdout=subprocess.DEVNULL)
        self.addCleanup(watcher.kill)
        wait_until(lambda: "Total watches:1" in d.word("wchs"), "the client")  # its session is logged
        before = sessions(d)
        self.assertEqual(len(before), 1)
        d.process.send_signal(signal.SIGKILL)
        d.process.wait()
        again = self.start_tls(port=d.secure_port)
        self.assertEqual(wait_until(lambda: sessions(again), "it comes back"), before)
        watcher.send_signal(signal.SIGTERM)
        watcher.wait()
        again.stop()


if __name__ == "__main__":
    daemon.main()
