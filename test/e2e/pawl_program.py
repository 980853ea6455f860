# SPDX-License-Identifier: Apache-2.0
"""pawl as a program, for the tests of this folder."""
import array
import fcntl
import os
import signal
import subprocess
import sys
import termios

import daemon
import servers
from patience import PATIENCE_SECONDS

PAWL = os.path.join(os.path.dirname(daemon.PAWLD), "pawl")

OK, NO, USAGE = 0, 1, 2
NO_NODE, CONFLICT, REFUSED, UNREACHABLE, TIMEOUT, LOST = range(110, 116)
UNKNOWN, SYSTEM, NOT_FOUND, SIGNAL = 116, 117, 127, 128


# A server for all tests, each below a node of its own, instead of a pawld for each: see main().
shared_server = None


def main():
    """[--server apache]: on Apache's server, which takes too long to start for each test."""
    global shared_server
    if "--server" not in sys.argv:
        daemon.main()
    at = sys.argv.index("--server")
    kind = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    config = {"tickTime": "300", "extendedTypesEnabled": "true",
              "maxSessionTimeout": daemon.LONG_SESSION_MS}
    with servers.make(kind, config=config) as server:
        shared_server = server
        daemon.main()


def unread_bytes(pipe):
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


class TestCase(daemon.TestCase):
    """A server, and `pawl` that finds it by PAWL_SERVER alone."""

    server_options = ()

    def setUp(self):
        super().setUp()
        self.env = dict(os.environ, HOME=self.dir)
        self.env.pop("XDG_CONFIG_HOME", None)
        self.server = shared_server or self.start(*self.server_options)
        self.port, self.chroot = self.server.port, ""
        if shared_server is not None:
            self.use_port(self.port)
            self.chroot = "/" + self.id()
            self.ok("create", self.chroot)
        self.use_port(self.port)

    def use_port(self, port):
        """pawl finds its server there from now on."""
        self.env["PAWL_SERVER"] = "localhost:%d%s" % (port, self.chroot)

    def nobody(self):
        """A server that is not there. A port may be anybody's."""
        return "unix:" + os.path.join(self.dir, "nobody")

    def stop_server(self):
        """SIGSTOP; it goes on with the end of the test at the latest."""
        self.server.signal(signal.SIGSTOP)
        self.addCleanup(self.server.signal, signal.SIGCONT)

    def pawl(self, *args, stdin=b"", env=None):
        """To its end. Gives (status, output, errors); output as text unless it is none."""
        done = subprocess.run([PAWL] + [str(a) for a in args], input=stdin, capture_output=True,
                              timeout=PATIENCE_SECONDS, env=dict(self.env, **(env or {})), cwd=self.dir)
        return done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode()

    def ok(self, *args, **kwargs):
        """What it prints; it must succeed, and report nothing."""
        status, out, errors = self.pawl(*args, **kwargs)
        self.assertEqual((status, errors), (OK, ""), args)
        return out

    def fails(self, status, *args, **kwargs):
        """What it reports: one line; it must fail like this, and print nothing."""
        got, out, errors = self.pawl(*args, **kwargs)
        self.assertEqual((got, out), (status, ""), (args, errors))
        self.assertEqual(errors.count("\n"), 1, errors)
        return errors

    def begin(self, *args, **kwargs):
        """A running pawl with its output as a pipe; ended with the test."""
        process = subprocess.Popen([PAWL] + [str(a) for a in args], stdout=subprocess.PIPE,
                                   env=self.env, cwd=self.dir, **kwargs)
        self.addCleanup(self.finish, process)
        return process

    @staticmethod
    def finish(process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait()
        process.stdout.close()
