# SPDX-License-Identifier: Apache-2.0
"""pawld as a program, for the tests of this folder: run it, talk to it, look at what it leaves."""
import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(REPO, "test", "interop"), os.path.join(REPO, "test", "lib")]

import secrets_of  # noqa: E402
import zkwire as z  # noqa: E402
from patience import PATIENCE_SECONDS, wait_until  # noqa: E402
from process import ServerProcess  # noqa: E402

PAWLD = os.environ.get("PAWLD") or os.path.join(REPO, "build", "bin", "pawld")
LOCK_FILE = "pawl.lock"

# Nobody sends pings here: sessions are to live through all that a test does beside them.
LONG_SESSION_MS = 600000


def run(*args, env=None, timeout=PATIENCE_SECONDS, **kwargs):
    """pawld to its end. Gives (exit code, what it printed, what it logged)."""
    done = subprocess.run([PAWLD] + [str(a) for a in args], capture_output=True, text=True,
                          timeout=timeout, env=dict(os.environ, **(env or {})), **kwargs)
    return done.returncode, done.stdout, done.stderr


class Daemon(ServerProcess):
    """A running pawld. With --port 0 it prints its port when it serves, and that is waited for."""

    name = "pawld"

    def __init__(self, folder, *args, port=0, env=None, preexec=None, wait=True):
        # Beside the directory: what a test compares of that must not change with the log.
        fd, log_path = tempfile.mkstemp(prefix=os.path.basename(folder) + ".log.",
                                        dir=os.path.dirname(folder))
        os.close(fd)
        super().__init__(log_path)
        command = [PAWLD] + [str(a) for a in args]
        if port is not None:
            command += ["--port", str(port)]
        self.port = port
        self.command = command
        self.spawn(command, stdout=subprocess.PIPE, env=dict(os.environ, **(env or {})),
                   preexec_fn=preexec, cwd=folder)
        if port == 0 and wait:
            line = self.process.stdout.readline()
            if not line:
                raise self.error("ended with %d" % self.process.wait())
            self.port = int(line)

    def log(self):
        return self.log_text()

    def wait_log(self, pattern, times=1):
        return wait_until(lambda: len(re.findall(pattern, self.log())) >= times,
                          "%r in the log, which is:\n%s" % (pattern, self.log()))

    def stop(self):
        """SIGTERM, and an error unless it ends well."""
        self.end()

    def close(self):
        if self.process.poll():
            print("pawld had ended with %d:\n%s" % (self.process.poll(), self.log()[-3000:]))
        self.kill9()
        self.process.stdout.close()
        log = self.log()
        os.unlink(self.log_path)
        secrets_of.check(self.command, log)

    def memory_kib(self):
        """What it has in memory of its own."""
        with open("/proc/%d/status" % self.process.pid) as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))

    def connect(self, timeout_ms=LONG_SESSION_MS):
        return opened(z.Conn(self.port), timeout_ms)

    def word(self, word):
        return four_letter_word(socket.create_connection(("127.0.0.1", self.port)), word)


class AnyConn(z.Conn):
    """Over a socket that is connected already, of whatever family."""

    def open_socket(self, port, timeout, rcvbuf):
        port.settimeout(timeout)
        return port


def opened(conn, timeout_ms=LONG_SESSION_MS):
    conn.handshake(timeout_ms=timeout_ms)
    return conn


def connect_unix(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    return sock


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
            return True
    except OSError:
        return False


def four_letter_word(sock, word):
    with sock:
        sock.settimeout(PATIENCE_SECONDS)
        sock.sendall(word.encode())
        text = b""
        while True:
            part = sock.recv(65536)
            if not part:
                return text.decode()
            text += part


# -- what clients do ------------------------------------------------------------------------------

OPEN_ACL = [z.acl(31, "world", "anyone")]
PERSISTENT, EPHEMERAL, CONTAINER, TTL = 0, 1, 4, 5


def create(conn, path, data=b"", flags=PERSISTENT, ttl=None):
    """The error of the answer."""
    fields = {"path": path, "data": data, "acl": OPEN_ACL, "flags": flags}
    if ttl is not None:
        return conn.call(z.CREATE_TTL, dict(fields, ttl=ttl))[0].err
    op = z.CREATE_CONTAINER if flags == CONTAINER else z.CREATE
    return conn.call(op, fields)[0].err


def set_data(conn, path, data):
    return conn.call(z.SET_DATA, {"path": path, "data": data, "version": -1})[0].err


def get(conn, path):
    """The data, or None when there is no such node."""
    reply = conn.call(z.GET_DATA, {"path": path, "watch": False})[0]
    if reply.err == z.NO_NODE:
        return None
    assert reply.err == 0, reply
    return reply.body["data"]


def delete(conn, path):
    return conn.call(z.DELETE, {"path": path, "version": -1})[0].err


def children(conn, path):
    return sorted(conn.call(z.GET_CHILDREN, {"path": path, "watch": False})[0].body["children"])


# -- folders --------------------------------------------------------------------------------------

def contents(folder):
    """Everything in a folder, with modes and checksums; only lock files are left out."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(top, name)
            relative = os.path.relpath(path, folder)
            if name == LOCK_FILE:
                continue
            digest = ""
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    digest = hashlib.sha256(f.read()).hexdigest()
            found[relative] = (os.stat(path).st_mode, digest)
    return found


def files(folder, prefix):
    """Names in version-2 that begin with `prefix`, by their zxid."""
    names = [n for n in os.listdir(os.path.join(folder, "version-2")) if n.startswith(prefix + ".")]
    return sorted(names, key=lambda name: int(name.split(".")[1], 16))


# -- the tests ------------------------------------------------------------------------------------

class TestCase(unittest.TestCase):
    """Each test has a folder of its own, `dir`, and the servers it started are gone at its end."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="pawl-e2e-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.data = os.path.join(self.dir, "data")

    def start(self, *args, data=None, **kwargs):
        d = Daemon(self.dir, "--data", data or self.data,
                   "-DmaxSessionTimeout=%d" % LONG_SESSION_MS, *args, **kwargs)
        self.addCleanup(d.close)
        return d

    def start_file(self, text, *args, **kwargs):
        d = Daemon(self.dir, self.file("zoo.cfg", text), *args, **kwargs)
        self.addCleanup(d.close)
        return d

    def file(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def assertContains(self, text, *parts):
        for part in parts:
            self.assertIn(part, text)


def main():
    if not os.access(PAWLD, os.X_OK):
        sys.exit("no pawld at %s: build it, or set PAWLD" % PAWLD)
    unittest.main(verbosity=2, warnings="ignore")  # sockets end with their test
