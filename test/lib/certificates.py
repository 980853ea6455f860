# SPDX-License-Identifier: Apache-2.0
"""Certificates for the tests of TLS, made by openssl(1): an authority in a folder, and what it signs.

    a = Authority(folder, "ca")
    a.issue("server", "/CN=localhost", names="DNS:localhost,IP:127.0.0.1")
    a.path("server.pem")        # certificate, then key: what pawld takes as a key store
    a.path("server.crt"), a.path("server.key"), a.path("ca.crt")
"""
import os
import shutil
import subprocess
import tempfile

CONFIG = """[ca]
default_ca = here
[here]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
unique_subject = no
email_in_dn = yes
copy_extensions = copy
rand_serial = yes
[any]
commonName = optional
countryName = optional
stateOrProvinceName = optional
localityName = optional
organizationName = optional
organizationalUnitName = optional
emailAddress = optional
streetAddress = optional
domainComponent = optional
userId = optional
serialNumber = optional
title = optional
[req]
distinguished_name = none
[none]
"""
NAMES = "DNS:localhost,IP:127.0.0.1"
FROM, TO = "20200101000000Z", "20991231235959Z"
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"]


def openssl(*args, cwd=None):
    done = subprocess.run(["openssl", *args], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError("openssl %s\n%s" % (" ".join(args), done.stderr))
    return done.stdout


class Authority:
    def __init__(self, folder, name):
        self.folder, self.name = os.path.join(folder, name), name
        os.mkdir(self.folder)
        for file, text in (("ca.cnf", CONFIG), ("index.txt", ""), ("index.txt.attr", "")):
            with open(self.path(file), "w") as f:
                f.write(text)
        openssl("req", "-x509", *KEY, "-keyout", "ca.key", "-out", "ca.crt", "-days", "3650",
                "-subj", "/O=Pawl tests/CN=%s" % name, "-utf8", cwd=self.folder)

    def path(self, file):
        return os.path.join(self.folder, file)

    def read(self, file):
        with open(self.path(file)) as f:
            return f.read()

    def issue(self, file, subject, names=None, begin=FROM, end=TO, key=KEY, multi=False):
        """FILE.key, FILE.crt and FILE.pem, which has both."""
        more = ["-addext", "subjectAltName=" + names] if names else []
        openssl("req", *key, "-config", "ca.cnf", "-keyout", file + ".key", "-out", file + ".csr",
                "-subj", subject, "-utf8", *more, cwd=self.folder)
        openssl("ca", "-batch", "-config", "ca.cnf", "-cert", "ca.crt", "-keyfile", "ca.key", "-in",
                file + ".csr", "-out", file + ".crt", "-notext", "-startdate", begin, "-enddate",
                end, "-preserveDN", "-utf8", cwd=self.folder)
        with open(self.path(file + ".pem"), "w") as f:
            f.write(self.read(file + ".crt") + self.read(file + ".key"))
        return self.path(file + ".pem")

    def revoke(self, file):
        openssl("ca", "-config", "ca.cnf", "-cert", "ca.crt", "-keyfile", "ca.key", "-revoke", file + ".crt",
                cwd=self.folder)

    def crl(self, file, *more):
        """FILE: the list of what was revoked so far. `more` as in -crldays 30, or -crl_nextupdate."""
        openssl("ca", "-config", "ca.cnf", "-cert", "ca.crt", "-keyfile", "ca.key", "-gencrl", "-out",
                file + ".new", *(more or ("-crldays", "30")), cwd=self.folder)
        os.rename(self.path(file + ".new"), self.path(file))
        return self.path(file)

    def pkcs12(self, file, password):
        """FILE.p12 of what was issued as FILE."""
        openssl("pkcs12", "-export", "-in", file + ".pem", "-out", file + ".p12", "-passout",
                "pass:" + password, cwd=self.folder)
        return self.path(file + ".p12")


def for_class(cls):
    """Of a TestCase's class: an authority with a server's certificate, and another one with a stranger's. Their folder goes
    with the class."""
    cls.folder = tempfile.mkdtemp(prefix="pawl-tls-")
    cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
    cls.ca, cls.other = Authority(cls.folder, "ca"), Authority(cls.folder, "other")
    cls.server = cls.ca.issue("server", "/O=Pawl/CN=localhost", names=NAMES)
    cls.stranger = cls.other.issue("stranger", "/CN=mallory")
