# SPDX-License-Identifier: Apache-2.0
"""pawl as a program, for the tests of this folder."""
import array
import fcntl
import os
import signal
import subprocess
import termios

import daemon
from patience import PATIENCE_SECONDS

PAWL = os.path.join(os.path.dirname(daemon.PAWLD), "pawl")

OK, NO, USAGE = 0, 1, 2
NO_NODE, CONFLICT, REFUSED, UNREACHABLE, TIMEOUT, LOST = range(110, 116)
SYSTEM, NOT_FOUND, SIGNAL = 117, 127, 128


def unread_bytes(pipe):
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


class TestCase(daemon.TestCase):
    """A server, and `pawl` that finds it by PAWL_SERVER alone."""

    server_options = ()

    def setUp(self):
        super().setUp()
        self.server = self.start(*self.server_options)
        self.env = dict(os.environ, HOME=self.dir, PAWL_SERVER="localhost:%d" % self.server.port)
        self.env.pop("XDG_CONFIG_HOME", None)

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
