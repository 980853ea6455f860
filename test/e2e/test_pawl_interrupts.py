#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""^C at every moment of a command's life: it ends, says so with its status, and leaves nothing behind
or half-done. The moments are spread over the time that the command takes here; whatever a busy machine makes
of them, what is looked at must be true at each."""
import os
import signal
import subprocess
import time

import daemon
from pawl_program import OK, PAWL, SIGNAL, TestCase

MOMENTS = 12
INTERRUPTED = SIGNAL + signal.SIGINT


class Moments(TestCase):
    def each_moment(self, make_line, check, stdin=b""):
        """check(process, output) after each; `make_line` prepares, and gives the arguments."""
        began = time.monotonic()
        line = make_line()
        check(*self.interrupted(line, None, stdin))
        whole = time.monotonic() - began
        for i in range(MOMENTS):
            line = make_line()
            with self.subTest(line=line, moment=i):
                check(*self.interrupted(line, whole * i / MOMENTS, stdin))

    def interrupted(self, line, after, stdin):
        process = subprocess.Popen([PAWL] + line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.env, cwd=self.dir)
        self.addCleanup(self.finish, process)
        try:
            process.stdin.write(stdin)
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdin = None
        if after is not None:
            time.sleep(after)  # the moment: no condition is waited for
            process.send_signal(signal.SIGINT)
        out, errors = process.communicate()
        # Killed by it before main() has begun; interrupted; or done before it came.
        self.assertIn(process.returncode, (-signal.SIGINT, INTERRUPTED, OK), errors)
        self.assertEqual(self.ok("ephemerals", "/"), "", line)
        return process, out

    def test_locks(self):
        for command in (["lock", "/l", "--", "true"], ["lock", "-S", "/r", "--", "true"], ["semaphore", "/s", "2", "--", "true"],
                        ["lock", "/l", "/m", "/n", "--", "true"], ["lead", "--once", "/e", "--", "true"]):
            self.each_moment(lambda: command, lambda process, out: None)

    def test_those_that_stay(self):
        """They are interrupted in any case."""
        for command in (["create", "-e", "/e"], ["barrier", "meet", "/b", "2"], ["service", "register", "/s", "web"]):
            for i in range(MOMENTS):
                with self.subTest(command=command, moment=i):
                    process, _ = self.interrupted(command, i * 0.01, b"")
                    self.assertNotEqual(process.returncode, OK)

    def test_a_queue(self):
        """An item is in the queue, or was printed; never both, never neither."""
        self.ok("create", "/q")

        def check(process, out):
            left = len(self.ok("queue", "ls", "/q").splitlines())
            self.assertEqual(left + (out == b"item"), 1, (process.returncode, out))

        def one_item():
            self.ok("rm", "-rf", "/q")
            self.ok("queue", "put", "/q", "item")
            return ["queue", "take", "/q"]
        self.each_moment(one_item, check)

    def test_a_move(self):
        """All of it is here, or all of it is there."""
        def check(process, _out):
            found = self.ok("ls", "-R", "/t").split()
            there = ["/t", "/t/to", "/t/to/a", "/t/to/b"]
            here = ["/t", "/t/from", "/t/from/a", "/t/from/b"]
            self.assertIn(found, [there] if process.returncode == OK else [here, there])

        def make():
            self.ok("rm", "-rf", "/t")
            self.ok("import", "-p", "/t/from", stdin=b'{"path":"/"}\n{"path":"/a"}\n{"path":"/b"}\n')
            return ["mv", "/t/from", "/t/to"]
        self.each_moment(make, check)

    def test_an_import(self):
        """-k makes the rest of it."""
        lines = b'{"path":"/"}\n' + b"".join(b'{"path":"/n%d"}\n' % i for i in range(600))

        def make():
            self.ok("rm", "-rf", "/i")
            return ["import", "/i"]

        def check(process, _out):
            if process.returncode != OK:
                self.ok("import", "-k", "/i", stdin=lines)
            self.assertEqual(self.ok("count", "/i"), "600\n")
        self.each_moment(make, check, lines)

    def test_an_editor(self):
        """What was changed and not written stays in a file, and nothing else does."""
        editing = os.path.join(self.dir, "editing")
        os.makedirs(editing)
        self.ok("create", "/c", "old")
        self.env.update(EDITOR="sed -i s/old/new/", TMPDIR=editing)

        def make():
            self.ok("set", "/c", "old")
            return ["edit", "/c"]

        def check(process, _out):
            if process.returncode == OK:
                self.assertEqual((self.ok("get", "/c"), os.listdir(editing)), ("new", []))
            for name in os.listdir(editing):
                os.unlink(os.path.join(editing, name))
        self.each_moment(make, check)


if __name__ == "__main__":
    daemon.main()
