# SPDX-License-Identifier: Apache-2.0
"""A program on a terminal of its own, for tests that type.

Keys are written only when the program waits for them: its prompt is there, and it has taken the
terminal out of the mode in which the kernel edits lines (ICANON)."""
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time

from patience import PATIENCE_SECONDS, wait_until

ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>]|\([AB0])")


class Terminal:
    def __init__(self, command, env, cwd, columns=200, rows=40, term="xterm"):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=cwd,
            env=dict(env, TERM=term), start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.raw = b""   # all that was printed
        self.seen = 0    # so much of text() was expected already

    def text(self):
        return ESCAPES.sub("", self.raw.decode("utf-8", "replace")).replace("\r", "")

    def read_some(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            part = os.read(self.master, 65536)
        except OSError:  # nobody has the other side any more
            part = b""
        self.raw += part
        return bool(part)

    def expect(self, wanted):
        """Reads until `wanted` has been printed behind what was expected last; gives what is between."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            text = self.text()
            at = text.find(wanted, self.seen)
            if at >= 0:
                between = text[self.seen:at]
                self.seen = at + len(wanted)
                return between
            if time.monotonic() > deadline or not self.read_some(1) and self.process.poll() is not None:
                raise AssertionError("%r was not printed, but:\n%s" % (wanted, text[self.seen:]))

    def edits_lines(self):
        """Whether the kernel does: no key reaches the program then."""
        return bool(termios.tcgetattr(self.master)[3] & termios.ICANON)

    def wait_until_raw(self):
        wait_until(lambda: not self.edits_lines(), "a program that waits for keys")

    def wait_until_cooked(self):
        wait_until(self.edits_lines, "a program that waits for no keys")

    def keys(self, keys):
        os.write(self.master, keys.encode())

    def ready(self, prompt):
        """The text before the prompt; keys may be written now."""
        before = self.expect(prompt)
        self.wait_until_raw()
        return before

    def end(self):
        """The exit status. What is printed is read on, so that nobody waits for that."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise AssertionError("it does not end:\n" + self.text()[self.seen:])
            self.read_some(0.1)
        while self.read_some(0):
            pass
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        os.close(self.master)
