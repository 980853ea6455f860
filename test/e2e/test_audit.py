# SPDX-License-Identifier: Apache-2.0
"""The audit log: a file of its own, ours only, moved away and opened again; who a client was by all that it has
shown; and no secret in it. interop/audit compares with Apache's."""
import os
import re
import signal
import stat

import daemon
import certificates
from daemon import wait_until, z
from test_tls import AnyConn, opened, tls_context, tls_socket


class Case(daemon.TestCase):
    def start_audit(self, *args, **kwargs):
        self.path = os.path.join(self.dir, "audit.log")
        return self.start("-Daudit.enable=true", "-Daudit.file=" + self.path, *args, **kwargs)

    def lines(self, path=None):
        with open(path or self.path) as f:
            return f.read().splitlines()

    def wait_line(self, *parts, path=None):
        wait_until(lambda: any(all(p in line for p in parts) for line in self.lines(path)),
                   lambda: "%s in\n%s" % (parts, "\n".join(self.lines(path))))


class Files(Case):
    def test_a_file_of_its_own(self):
        d = self.start_audit()
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        c = d.connect()
        daemon.create(c, "/a")
        self.wait_line("operation=create\tznode=/a\tznode_type=persistent\tresult=success\tzxid=0x")
        self.assertRegex(self.lines()[-1], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO audit.Slf4jAuditLogger: "
                         r"session=0x[0-9a-f]+\tuser=127.0.0.1\tip=127.0.0.1\t")
        d.stop()
        self.assertRegex(self.lines()[0], "user=[^\t]+\toperation=serverStart\tresult=success$")
        self.assertRegex(self.lines()[-1], "user=[^\t]+\toperation=serverStop\tresult=invoked$")
        self.assertNotIn("Slf4jAuditLogger", d.log())

    def test_moved_away_and_opened_again(self):
        d = self.start_audit()
        c = d.connect()
        daemon.create(c, "/before")
        self.wait_line("/before")
        os.rename(self.path, self.path + ".1")
        daemon.create(c, "/between")
        self.wait_line("/between", path=self.path + ".1")
        d.process.send_signal(signal.SIGHUP)
        wait_until(lambda: os.path.exists(self.path), "the new file")
        daemon.create(c, "/after")
        self.wait_line("/after")
        self.assertNotIn("/after", "\n".join(self.lines(self.path + ".1")))
        d.stop()

    def test_a_file_that_cannot_be_had(self):
        code, _, err = daemon.run("--data", self.dir, "--port", "0", "-Daudit.enable=true",
                                  "-Daudit.file=/no/such/folder/audit.log")
        self.assertEqual(code, 2)
        self.assertContains(err, "audit.file: /no/such/folder/audit.log: No such file or directory")

    def test_what_cannot_be_written_is_counted(self):
        """A pipe that nobody empties: nobody waits for it, and what is missing is said."""
        self.path = os.path.join(self.dir, "audit.log")
        os.mkfifo(self.path)
        reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        d = self.start("-Daudit.enable=true", "-Daudit.file=" + self.path)
        c = d.connect()
        for i in range(1000):
            daemon.create(c, "/n%d" % i)
        d.wait_log("audit lines are lost: ")
        got = b""
        while b"audit lines were dropped" not in got:
            daemon.set_data(c, "/n0", b"x")
            try:
                got += os.read(reader, 65536)
            except BlockingIOError:
                pass
        self.assertRegex(got.decode(), r"ERROR audit.Slf4jAuditLogger: \d+ audit lines were dropped")
        d.stop()


class Who(Case):
    def test_names_and_no_secrets(self):
        d = self.start_audit()
        c = d.connect()
        c.call(z.AUTH, {"type": 0, "scheme": "digest", "auth": b"bob:open sesame"}, xid=-4)
        daemon.create(c, "/a")
        acl = [z.acl(31, "digest", "bob:T3BlbiBzZXNhbWUgaXMgbm90IHNobw==")]
        c.call(z.SET_ACL, {"path": "/a", "acl": acl, "version": -1})
        self.wait_line("operation=setAcl", "acl=digest:bob:(not shown):cdrwa")
        text = "\n".join(self.lines())
        self.assertRegex(text, r"identity=ip:127.0.0.1,digest:bob\taddress=127.0.0.1:\d+")
        self.assertNotIn("sesame", text)
        self.assertNotIn("T3Blbi", text)
        d.stop()

    def test_certificates(self):
        certificates.for_class(type(self))
        client = self.ca.issue("client", "/C=DE/CN=alice")
        d = self.start_audit("-DsecureClientPort=0", "-Dssl.keyStore.location=" + self.server,
                             "-Dssl.trustStore.location=" + self.ca.path("ca.crt"))
        port = int(d.process.stdout.readline())
        c = opened(AnyConn(tls_socket(port, tls_context(self.ca, client))))
        daemon.create(c, "/hers")
        self.wait_line("znode=/hers", "user=127.0.0.1,CN=alice,C=DE\t", "\tcertificate=CN=alice,C=DE")
        d.stop()

    def test_the_error_is_there(self):
        d = self.start_audit()
        c = d.connect()
        daemon.set_data(c, "/missing", b"")
        self.wait_line("ERROR audit", "operation=setData\tznode=/missing\tresult=failure", "\terr=-101")
        d.stop()

    def test_a_path_cannot_forge_a_line(self):
        d = self.start_audit()
        c = d.connect()
        daemon.create(c, "/a\nuser=root\toperation=delete")
        daemon.create(c, "/last")
        self.wait_line("/last")
        self.assertFalse([x for x in self.lines() if re.match("user=root\toperation=delete", x)])
        self.assertTrue(all("audit.Slf4jAuditLogger" in x for x in self.lines()))
        d.stop()


if __name__ == "__main__":
    daemon.main()
