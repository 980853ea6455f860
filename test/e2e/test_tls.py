#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""TLS for clients: who is let in and under which name, what strangers can do before that, which files
are taken, and what is said of those that are not."""
import json
import os
import re
import shutil
import socket
import ssl
import urllib.request

import daemon  # finds what follows
import certificates
from certificates import NAMES, openssl
from daemon import AnyConn, PATIENCE_SECONDS, opened, run, wait_until, z

INVALID_ACL = -114


def tls_context(authority, certificate=None, version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.path("ca.crt"))
    if certificate:
        context.load_cert_chain(certificate)
    if version:
        context.minimum_version = context.maximum_version = version
    return context


def tls_socket(port, context, name="localhost", address="127.0.0.1"):
    sock = socket.create_connection((address, port), timeout=PATIENCE_SECONDS)
    return context.wrap_socket(sock, server_hostname=name)


def metric(text, name):
    """Of an answer to mntr."""
    return int(re.search(r"^zk_%s\t(\d+)$" % name, text, re.M).group(1))


def is_ended(sock):
    """Whether the other side has ended it, in whatever way."""
    try:
        while sock.recv(65536):
            pass
        return True
    except socket.timeout:
        return False
    except OSError:
        return True


class Case(daemon.TestCase):
    @classmethod
    def setUpClass(cls):
        certificates.for_class(cls)
        cls.client = cls.ca.issue("client", "/C=DE/O=Example, Inc./CN=alice", names="IP:127.0.0.1")
        cls.admin = cls.ca.issue("admin", "/O=Pawl/CN=admin")

    def keys(self, **more):
        pairs = {"ssl.keyStore.location": self.server,
                 "ssl.trustStore.location": self.ca.path("ca.crt"), "secureClientPort": "0"}
        pairs.update(more.pop("keys", {}))
        return ["-D%s=%s" % pair for pair in pairs.items() if pair[1] is not None]

    def start_tls(self, *args, keys=None, **kwargs):
        d = self.start(*self.keys(keys=keys or {}), *args, **kwargs)
        if (keys or {}).get("secureClientPort", "0") == "0":
            d.secure_port = int(d.process.stdout.readline())
        return d

    def session(self, port, certificate=None, authority=None, **kwargs):
        context = tls_context(authority or self.ca, certificate, **kwargs)
        return opened(AnyConn(tls_socket(port, context)))


class Clients(Case):
    def test_both_versions_and_long_answers(self):
        d = self.start_tls("-Djute.maxbuffer=4194304")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            c = self.session(d.secure_port, self.client, version=version)
            path = "/v%d" % version
            data = os.urandom(1 << 20)
            self.assertEqual(daemon.create(c, path, data), 0)
            for _ in range(3):
                self.assertEqual(daemon.get(c, path), data)
            self.assertEqual(c.sock.version(), {771: "TLSv1.2", 772: "TLSv1.3"}[int(version)])
        d.stop()

    def test_ids_of_certificates(self):
        d = self.start_tls(keys={"X509AuthenticationProvider.superUser": "CN=admin,O=Pawl"})
        alice, admin, plain = (self.session(d.secure_port, self.client),
                               self.session(d.secure_port, self.admin), d.connect())
        name = r"CN=alice,O=Example\, Inc.,C=DE"
        acl = [z.acl(31, "x509", name)]
        fields = {"path": "/hers", "data": b"1", "acl": acl, "flags": 0}
        self.assertEqual(plain.call(z.CREATE, fields)[0].err, 0)
        self.assertEqual(plain.call(z.GET_DATA, {"path": "/hers", "watch": False})[0].err, z.NO_AUTH)
        self.assertEqual(daemon.get(alice, "/hers"), b"1")
        self.assertEqual(daemon.get(admin, "/hers"), b"1")
        fields = {"path": "/auth", "data": b"", "acl": [z.acl(31, "auth", "")], "flags": 0}
        self.assertEqual(alice.call(z.CREATE, fields)[0].err, 0)
        got = alice.call(z.GET_ACL, {"path": "/auth"})[0].body["acl"]
        self.assertEqual([(a["id"]["scheme"], a["id"]["id"]) for a in got], [("x509", name)])
        self.assertEqual(plain.call(z.CREATE, dict(fields, path="/x"))[0].err, INVALID_ACL)
        bad = [z.acl(31, "x509", "no name")]
        self.assertEqual(alice.call(z.CREATE, dict(fields, path="/x", acl=bad))[0].err, INVALID_ACL)
        d.stop()

    def test_the_admin_server_lists_them_apart(self):
        d = self.start_tls("-Dadmin.enableServer=true", "-Dadmin.serverPort=0")
        d.wait_log(r"admin server at http://\S+")
        url = re.search(r"admin server at (http://\S+)", d.log())[1] + "/connections"
        plain, secure = d.connect(), self.session(d.secure_port, self.client)
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            said = json.load(answer)
        for c, name in ((plain, "connections"), (secure, "secure_connections")):
            self.assertEqual([row["remote_socket_address"] for row in said[name]],
                             ["%s:%d" % c.sock.getsockname()])
        d.stop()

    def test_who_is_let_in(self):
        d = self.start_tls()
        late = self.ca.issue("late", "/CN=late", begin="20200101000000Z", end="20210101000000Z")
        for what, certificate in (("none", None), ("another's", self.stranger), ("expired", late)):
            with self.subTest(what):
                try:
                    sock = tls_socket(d.secure_port, tls_context(self.ca, certificate))
                    self.assertTrue(is_ended(sock))
                except OSError:
                    pass
        d.wait_log("shows no certificate, and one is needed")
        self.session(d.secure_port, self.client)
        d.stop()

    def test_the_reason_is_logged(self):
        # One reason each: what strangers can cause is logged at most every ten seconds.
        late = self.ca.issue("late2", "/CN=late", begin="20200101000000Z", end="20210101000000Z")
        for certificate, said in (
                (self.stranger, "the certificate of CN=mallory is signed by nobody that is trusted "
                                "here: its issuer is CN=other,O=Pawl tests"),
                (late, "the certificate of CN=late has expired on 2021-01-01 00:00:00 UTC")):
            d = self.start_tls()
            try:
                is_ended(tls_socket(d.secure_port, tls_context(self.ca, certificate)))
            except OSError:
                pass
            d.wait_log(said)
            d.stop()

    def test_certificates_wanted_or_not(self):
        for mode in ("want", "none"):
            d = self.start_tls(keys={"ssl.clientAuth": mode,
                                     "ssl.trustStore.location":
                                     None if mode == "none" else self.ca.path("ca.crt")},
                               data=self.data + mode)
            nameless = self.session(d.secure_port)
            self.assertEqual(daemon.create(nameless, "/a"), 0)
            fields = {"path": "/x", "data": b"", "acl": [z.acl(31, "auth", "")], "flags": 0}
            self.assertEqual(nameless.call(z.CREATE, fields)[0].err, INVALID_ACL)
            named = self.session(d.secure_port, self.client)
            self.assertEqual(named.call(z.CREATE, fields)[0].err,
                             0 if mode == "want" else INVALID_ACL)
            if mode == "want":
                with self.assertRaises(OSError):
                    sock = tls_socket(d.secure_port, tls_context(self.ca, self.stranger))
                    sock.sendall(b"ruok")
                    if not sock.recv(1):
                        raise OSError("ended")
            d.stop()

    def test_who_shows_none_is_counted(self):
        d = self.start_tls("-D4lw.commands.whitelist=*", keys={"ssl.clientAuth": "want"})
        self.session(d.secure_port, self.client)
        local = [self.session(d.secure_port)]
        if daemon.has_ipv6():
            local.append(opened(AnyConn(tls_socket(d.secure_port, tls_context(self.ca),
                                                   address="::1"))))
        text = d.word("mntr")
        self.assertEqual(metric(text, "non_mtls_local_conn_count"), len(local))
        self.assertEqual(metric(text, "non_mtls_remote_conn_count"), 0)
        for c in local:
            c.sock.close()
        wait_until(lambda: metric(d.word("mntr"), "non_mtls_local_conn_count") == 0, "they are gone")
        d.stop()

    def test_addresses_in_certificates(self):
        d = self.start_tls(keys={"ssl.clientHostnameVerification": "true"})
        self.session(d.secure_port, self.client)
        sock = tls_socket(d.secure_port, tls_context(self.ca, self.admin))
        self.assertTrue(is_ended(sock))
        d.wait_log(r"comes from an address that its certificate \(CN=admin,O=Pawl\) does not name")
        d.stop()

    def test_enforced(self):
        d = self.start_tls(keys={"enforce.auth.enabled": "true", "enforce.auth.schemes": "x509"})
        self.assertEqual(daemon.create(self.session(d.secure_port, self.client), "/a"), 0)
        plain = d.connect()
        self.assertEqual(daemon.create(plain, "/b"), -124)
        d.stop()

    def test_words_inside_tls(self):
        d = self.start_tls()
        sock = tls_socket(d.secure_port, tls_context(self.ca, self.client))
        self.assertIn("Mode: standalone", daemon.four_letter_word(sock, "srvr"))
        d.stop()


    def test_a_goodbye_is_answered(self):
        """A request and the end of what is sent, in one segment."""
        d = self.start_tls()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        # With 1.3 a ticket would come behind the handshake.
        context = tls_context(self.ca, self.client, ssl.TLSVersion.TLSv1_2)
        t = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        s = socket.create_connection(("127.0.0.1", d.secure_port), timeout=PATIENCE_SECONDS)
        while True:
            try:
                t.do_handshake()
                break
            except ssl.SSLWantReadError:
                s.sendall(outgoing.read())
                incoming.write(s.recv(65536))
        t.write(b"srvr")
        try:
            t.unwrap()
        except ssl.SSLError:
            pass  # the other side has not said it yet
        s.sendall(outgoing.read())
        # `t` has ended and decrypts no more, but a goodbye alone is much shorter than an answer.
        length = sum(len(data) for data in iter(lambda: s.recv(65536), b""))
        self.assertGreater(length, 100)
        d.stop()


class Unified(Case):
    def test_one_port_for_both(self):
        d = self.start_tls(keys={"client.portUnification": "true", "secureClientPort": None,
                                 "ssl.handshakeDetectionTimeoutMillis": "300"})
        d.secure_port = d.port
        over_tls, plain = self.session(d.port, self.client), d.connect()
        self.assertEqual(daemon.create(over_tls, "/a", b"1"), 0)
        self.assertEqual(daemon.get(plain, "/a"), b"1")
        self.assertIn("Mode: standalone", d.word("srvr"))
        silent = socket.create_connection(("127.0.0.1", d.port), timeout=PATIENCE_SECONDS)
        self.assertTrue(is_ended(silent))
        d.stop()


class Strangers(Case):
    def test_plain_bytes_on_the_tls_port(self):
        d = self.start_tls()
        for data in (b"ruok", b"\0\0\0\x2d" + bytes(45), b"GET / HTTP/1.0\r\n\r\n", os.urandom(4096)):
            sock = socket.create_connection(("127.0.0.1", d.secure_port), timeout=PATIENCE_SECONDS)
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            self.assertTrue(is_ended(sock))
        d.wait_log("does not speak TLS")
        self.session(d.secure_port, self.client)
        d.stop()

    def test_tls_on_the_plain_port(self):
        d = self.start_tls()
        with self.assertRaises(OSError):
            tls_socket(d.port, tls_context(self.ca, self.client))
        d.connect()
        d.stop()

    def test_handshakes_that_do_not_end(self):
        d = self.start_tls(keys={"netty.server.outstandingHandshake.limit": "20",
                                 "nio.sessionlessCnxnTimeout": "600000", "maxClientCnxns": "0",
                                 "4lw.commands.whitelist": "*"})
        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"
        half = []
        for _ in range(60):
            s = socket.create_connection(("127.0.0.1", d.secure_port), timeout=PATIENCE_SECONDS)
            s.sendall(hello)
            half.append(s)
        # Those that have taken longest had to go, and whoever means it gets in all the same.
        self.assertEqual(daemon.create(self.session(d.secure_port, self.client), "/a"), 0)
        for s in half[:40]:
            self.assertTrue(is_ended(s))
        text = d.word("mntr")
        self.assertIn(metric(text, "outstanding_tls_handshake"), (19, 20))
        self.assertGreaterEqual(metric(text, "tls_handshake_exceeded"), 40)
        d.stop()

    def test_five_thousand_half_open(self):
        """With the limits as they are by default, but for those of one address: memory stays, clients come and go."""
        d = self.start_tls(keys={"maxClientCnxns": "0", "4lw.commands.whitelist": "*"})
        first = self.session(d.secure_port, self.client)
        self.assertEqual(daemon.create(first, "/a"), 0)
        before = d.memory_kib()
        half = []
        for i in range(5000):
            s = socket.create_connection(("127.0.0.1", d.secure_port), timeout=PATIENCE_SECONDS)
            s.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" + bytes(300))
            half.append(s)
            if len(half) > 400:  # those that were given up long ago
                half.pop(0).close()
            if i % 1000 == 999:
                self.assertEqual(daemon.get(first, "/a"), b"")
                self.assertEqual(daemon.get(self.session(d.secure_port, self.client), "/a"), b"")
        text = d.word("mntr")
        self.assertLessEqual(metric(text, "outstanding_tls_handshake"), 250)
        self.assertGreaterEqual(metric(text, "tls_handshake_exceeded"), 4000)
        if not os.environ.get("PAWL_SANITIZE"):
            self.assertLess(d.memory_kib() - before, 60 << 10)
        for s in half:
            s.close()
        d.stop()

    def test_handshakes_have_their_time(self):
        d = self.start_tls(keys={"nio.sessionlessCnxnTimeout": "300"})
        for data in (b"", b"\x16\x03\x01"):
            s = socket.create_connection(("127.0.0.1", d.secure_port), timeout=PATIENCE_SECONDS)
            s.sendall(data)
            self.assertTrue(is_ended(s))
        d.wait_log("its TLS handshake has not ended in time")
        d.stop()

    def test_byte_by_byte(self):
        d = self.start_tls()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        t = tls_context(self.ca, self.client).wrap_bio(incoming, outgoing, server_hostname="localhost")
        s = socket.create_connection(("127.0.0.1", d.secure_port), timeout=PATIENCE_SECONDS)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def until(step):
            while True:
                try:
                    done = step()
                except ssl.SSLWantReadError:
                    done = None
                for byte in outgoing.read():
                    s.sendall(bytes([byte]))
                if done is not None:
                    return done
                incoming.write(s.recv(1))
        until(lambda: t.do_handshake() or True)
        t.write(b"srvr")
        self.assertTrue(until(lambda: t.read(10)))
        d.stop()


class Files(Case):
    def check(self, keys, *parts):
        pairs = {"ssl.keyStore.location": self.server, "secureClientPort": "0",
                 "ssl.trustStore.location": self.ca.path("ca.crt")}
        pairs.update(keys)
        args = ["-D%s=%s" % pair for pair in pairs.items() if pair[1] is not None]
        for mode in (["--check"], []):
            code, _, log = run("--data", self.data, "--port", "0", *mode, *args)
            self.assertEqual(code, 2, log)
            self.assertContains(log, *parts)

    def test_bad_values_are_named(self):
        jks = os.path.join(self.dir, "store.jks")
        with open(jks, "wb") as f:
            f.write(bytes.fromhex("feedfeed00000002") + bytes(100))
        p12 = self.ca.pkcs12("server", "secret")
        self.file("empty.pem", "nothing\n")
        self.file("garbage.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        mixed = self.file("mixed.pem", self.ca.read("server.crt") + self.ca.read("client.key"))
        openssl("pkey", "-in", self.ca.path("server.key"), "-aes256", "-passout", "pass:right",
                "-out", os.path.join(self.dir, "locked.key"))
        with open(os.path.join(self.dir, "locked.key")) as f:
            locked = self.file("locked.pem", self.ca.read("server.crt") + f.read())
        store, trust = "ssl.keyStore.location", "ssl.trustStore.location"
        self.check({store: None}, "ssl.keyStore.location: there is no certificate to show")
        self.check({store: "/no/such"}, "ssl.keyStore.location: /no/such: No such file")
        self.check({store: jks}, "Java key store (JKS)", "keytool -importkeystore -srckeystore " + jks)
        self.check({store: os.path.join(self.dir, "empty.pem")}, "is neither PEM nor PKCS#12")
        self.check({store: self.ca.path("server.crt")}, "there is no private key in")
        self.check({store: self.ca.path("server.key")}, "there is no certificate in")
        self.check({store: mixed}, "no certificate in %s belongs to the private key" % mixed)
        self.check({store: locked}, "ssl.keyStore.password: the key in", "no password is given")
        self.check({store: locked, "ssl.keyStore.password": "wrong"}, "the password is wrong")
        self.check({store: p12}, "it has a password, and none is given")
        self.check({store: p12, "ssl.keyStore.password": "wrong"}, "the password is wrong")
        self.check({store: p12, "ssl.keyStore.passwordPath": "/no/such"},
                   "ssl.keyStore.passwordPath: /no/such: No such file")
        self.check({store: p12, "ssl.keyStore.type": "PEM"}, "ssl.keyStore.type: \"PEM\" is not what")
        self.check({"ssl.keyStore.type": "BCFKS"}, "\"BCFKS\" is no type of store")
        self.check({trust: None}, "ssl.trustStore.location: is not set", "clientAuth=none")
        self.check({trust: os.path.join(self.dir, "garbage.pem")}, "a certificate in", "cannot be read")
        self.check({trust: self.ca.path("server.key")}, "there is no certificate in")
        self.check({"ssl.enabledProtocols": "TLSv1.1"}, "ssl.enabledProtocols: \"TLSv1.1\" is not")
        self.check({"ssl.protocol": "SSLv3"}, "ssl.protocol: \"SSLv3\" is not offered")
        self.check({"ssl.ciphersuites": "TLS_AES_128_GCM_SHA256,NONSENSE"}, "\"NONSENSE\" is no cipher")
        self.check({"ssl.ciphersuites": "TLS_AES_128_GCM_SHA256", "ssl.enabledProtocols": "TLSv1.2"},
                   "no suite in it for the versions")
        self.check({"ssl.clientAuth": "maybe"}, "need, want or none")
        self.check({"ssl.crl": "true"}, "not fetched over the network")
        self.check({"ssl.authProvider": "mine"}, "allowed is x509")
        code, _, log = run("--data", self.data, "--port", "0", "--check", *self.keys())
        self.assertEqual(code, 0, log)

    def test_secrets_are_not_shown(self):
        p12 = self.ca.pkcs12("server", "hunter2")
        code, out, log = run("--data", self.data, "--port", "0", "--check", *self.keys(
            keys={"ssl.keyStore.location": p12, "ssl.keyStore.password": "hunter2"}))
        self.assertEqual(code, 0, log)
        self.assertNotIn("hunter2", out + log)

    def test_stores_of_all_kinds(self):
        p12 = self.ca.pkcs12("server", "secret")
        secret = self.file("word", "secret\n")
        trust = os.path.join(self.dir, "trust.p12")
        openssl("pkcs12", "-export", "-nokeys", "-in", self.ca.path("ca.crt"), "-out", trust,
                "-passout", "pass:secret")
        for n, keys in enumerate((
                {"ssl.keyStore.location": p12, "ssl.keyStore.password": "secret",
                 "ssl.keyStore.type": "PKCS12"},
                {"ssl.keyStore.location": p12, "ssl.keyStore.passwordPath": secret,
                 "ssl.keyStore.password": "not this one"},
                {"ssl.trustStore.location": trust, "ssl.trustStore.passwordPath": secret},
                {"ssl.ciphersuites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
                {"ssl.protocol": "TLSv1.2"}, {"ssl.enabledProtocols": "TLSv1.3"})):
            d = self.start_tls(keys=keys, data=self.data + str(n))
            c = self.session(d.secure_port, self.client)
            if n >= 3:
                self.assertEqual(c.sock.version(), "TLSv1.3" if n == 5 else "TLSv1.2")
            d.stop()

    def test_new_certificates_are_taken(self):
        key = os.path.join(self.dir, "key.pem")
        trust = os.path.join(self.dir, "trust.pem")
        shutil.copy(self.server, key)
        shutil.copy(self.ca.path("ca.crt"), trust)
        d = self.start_tls(keys={"ssl.keyStore.location": key, "ssl.trustStore.location": trust})
        before = self.session(d.secure_port, self.client)
        self.assertEqual(daemon.create(before, "/a"), 0)

        with open(key, "w") as f:  # what cannot be used changes nothing
            f.write("half of a file")
        d.wait_log("those from before stay in use")
        self.session(d.secure_port, self.client)

        theirs = self.other.issue("server", "/O=Other/CN=localhost", names=NAMES)
        shutil.copy(theirs, key)
        shutil.copy(self.other.path("ca.crt"), trust)
        d.wait_log("clients are shown the certificate of CN=localhost,O=Other", 1)

        def is_new():
            try:
                return self.session(d.secure_port, self.stranger, self.other)
            except (OSError, EOFError, AssertionError):
                return None
        wait_until(is_new, "a session by the new certificates")
        with self.assertRaises(OSError):
            tls_socket(d.secure_port, tls_context(self.ca, self.client))
        self.assertEqual(daemon.get(before, "/a"), b"")  # lives on
        d.stop()


class Revoked(Case):
    def is_let_in(self, d, certificate):
        try:
            self.session(d.secure_port, certificate)
            return True
        except (OSError, EOFError, z.Closed):
            return False

    def test_who_is_revoked_while_the_server_runs(self):
        eve = self.ca.issue("eve", "/CN=eve")
        crl = self.ca.crl("clients.crl")
        d = self.start_tls(keys={"ssl.crl.location": crl})
        self.assertTrue(self.is_let_in(d, eve))
        self.ca.revoke("eve")
        self.ca.crl("clients.crl")
        wait_until(lambda: not self.is_let_in(d, eve), "eve is kept out")
        d.wait_log("the certificate of CN=eve has been revoked, says the list of CN=ca,O=Pawl tests in ")
        self.assertTrue(self.is_let_in(d, self.client))
        d.stop()

    def test_what_is_not_known_lets_nobody_in(self):
        old = self.ca.crl("old.crl", "-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", "20210101000000Z")
        for crl, said in ((self.other.crl("other.crl"), "there is no list of CN=ca,O=Pawl tests in"),
                          (old, "the list of CN=ca,O=Pawl tests in .* is out of date")):
            d = self.start_tls(keys={"ssl.crl": "true", "ssl.crl.location": crl})
            self.assertFalse(self.is_let_in(d, self.client))
            d.wait_log(said)
            if crl == old:
                d.wait_log("a revocation list is out of date, none of the clients will be let in whom it is "
                           "about: that of CN=ca,O=Pawl tests in .*old.crl, since 2021-01-01 00:00:00 UTC")
            d.stop()

    def test_the_keys_are_honest(self):
        for keys, said in (({"ssl.crl": "true"}, "ssl.crl: revocation lists are not fetched over the network"),
                           ({"ssl.ocsp": "true"}, "ssl.ocsp: nobody is asked over the network"),
                           ({"ssl.crl.location": self.server}, "ssl.crl.location: there is no revocation list"),
                           ({"fips-mode": "true"}, "fips-mode: OpenSSL's provider \"fips\" cannot be loaded")):
            if "fips-mode" in keys and os.path.exists("/usr/lib/x86_64-linux-gnu/ossl-modules/fips.so"):
                continue
            code, _, err = run("--check", "--data", self.dir, *self.keys(keys=keys))
            self.assertNotEqual(code, 0)
            self.assertContains(err, said)


class Days(Case):
    def test_how_long_the_certificate_is_valid(self):
        d = self.start_tls("-D4lw.commands.whitelist=*")
        wait_until(lambda: "zk_tls_certificate_days_left" in d.word("mntr"), "the metric")
        self.assertGreater(metric(d.word("mntr"), "tls_certificate_days_left"), 20000)
        d.stop()


if __name__ == "__main__":
    daemon.main()
