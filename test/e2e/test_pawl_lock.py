#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl lock: a command that runs only while a lock is ours, whatever becomes of pawl, its watchdog,
the server and the command. What tells is the referee (referee.py)."""
import array
import fcntl
import os
import pty
import shutil
import signal
import subprocess
import termios
import time
import unittest

import daemon
from daemon import wait_until
from pawl_program import (CONFLICT, LOST, NOT_FOUND, OK, PAWL, SIGNAL, TIMEOUT, UNREACHABLE, USAGE)
from referee import RefereeCase, children_of

NOBODY = 65534


def has_unread_orders(pid):
    """Whether something lies in a pipe that this process reads from."""
    for name in os.listdir("/proc/%d/fd" % pid):
        path = "/proc/%d/fd/%s" % (pid, name)
        if not os.readlink(path).startswith("pipe:") or os.lstat(path).st_mode & 0o200:
            continue
        fd, count = os.open(path, os.O_RDONLY | os.O_NONBLOCK), array.array("i", [0])
        fcntl.ioctl(fd, termios.FIONREAD, count)
        os.close(fd)
        if count[0] > 0:
            return True
    return False


def is_asleep(pid):
    """Whether it has wanted a processor for less than half of a while, however busy the machine is."""
    def wanted_seconds():
        with open("/proc/%d/schedstat" % pid) as f:
            return sum(int(word) for word in f.read().split()[:2]) / 1e9  # on one, and waiting for one
    began, before = time.monotonic(), wanted_seconds()
    time.sleep(1)  # the while: longer or shorter is as good
    return wanted_seconds() - before < 0.5 * (time.monotonic() - began)


class LockCase(RefereeCase):
    def hold(self, *how, options=()):
        """A pawl whose command has begun."""
        process = self.begin_lock(*how, options=options)
        self.assertRegex(process.stdout.readline(), rb"^began")
        return process

    def begin_lock(self, *how, options=(), **kwargs):
        return self.begin("-T", self.session, "lock", *options, "/job", "--", *self.command(*how), **kwargs)

    def stopped_before_it_starts(self, *command, **kwargs):
        """A pawl that has the lock, and its watchdog, which is stopped with the order to run."""
        before = self.hold()
        process = self.begin("-T", self.session, "lock", "/job", "--", *command, **kwargs)
        wait_until(lambda: self.ok("ls", "/job").count("\n") == 2, "a second one in the queue")
        watchdog = children_of(process.pid)[0]
        os.kill(watchdog, signal.SIGSTOP)
        before.terminate()
        before.wait()
        wait_until(lambda: has_unread_orders(watchdog), "the order to run")
        return process, watchdog


class Status(LockCase):
    session = "60s"  # nobody is waited for who has died, and who is only slow must not be lost

    def lock(self, *args):
        return self.pawl("-T", self.session, "lock", *args)

    def test_the_status_of_the_command_is_ours(self):
        self.assertEqual(self.lock("/l", "--", "sh", "-c", "exit 7"), (7, "", ""))
        self.assertEqual(self.lock("/l", "--", "true"), (OK, "", ""))
        self.assertEqual(self.lock("/l", "--", "sh", "-c", "kill -9 $$"), (SIGNAL + 9, "", ""))
        status, _, errors = self.lock("/l", "--", "no-such-program")
        self.assertEqual(status, NOT_FOUND)
        self.assertIn("no-such-program: No such file", errors)
        self.assertEqual(self.lock("/l", "--", "/")[0], 126)
        self.assertEqual(self.ok("ls", "/l"), "")

    def test_what_the_command_is_told(self):
        status, out, _ = self.lock("/l", "--", "sh", "-c",
                                   "echo $PAWL_LOCK_PATH $PAWL_SERVER $PAWL_LOCK_TOKEN; "
                                   "exec %s stat $PAWL_LOCK_NODE" % PAWL)
        self.assertEqual(status, OK)
        path, server, token = out.split("\n")[0].split()
        self.assertEqual((path, server), ("/l", self.env["PAWL_SERVER"]))
        self.assertIn("cZxid = 0x%x\n" % int(token), out)
        again = self.lock("/l", "--", "sh", "-c", "echo $PAWL_LOCK_TOKEN")[1]
        self.assertGreater(int(again), int(token))

    def test_who_does_not_get_it(self):
        self.hold()
        self.assertEqual(self.lock("--try", "/job", "--", "true"), (TIMEOUT, "", ""))
        self.assertEqual(self.lock("--try", "-E", "5", "/job", "--", "true"), (5, "", ""))
        status, _, errors = self.lock("--timeout", "200ms", "/job", "--", "true")
        self.assertEqual((status, errors), (TIMEOUT, "pawl lock: /job: not acquired in time\n"))
        self.assertEqual(self.lock("/other", "/job", "-n", "--", "true")[0], TIMEOUT)
        self.assertEqual(self.lock("-n", "/other", "--", "true")[0], OK)
        shown = self.ok("locks", "/job")
        self.assertRegex(shown, r"^holds since .* token 0x[0-9a-f]+ .* pid=\d+ program=pawl ")
        self.assertEqual(shown.count("\n"), 1)  # who gave up has left nothing

    def test_a_long_path(self):
        path = "/" + "x" * 3000
        out = self.lock(path, "--", "sh", "-c", "echo $PAWL_LOCK_NODE")[1].strip()
        self.assertRegex(out, "^" + path + r"/\S+-lock-\d{10}$")

    def test_the_command_gets_what_pawl_got(self):
        """Ignored signals (nohup) and closed descriptors."""
        def prepare():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            os.close(0)
            os.close(2)
        process = self.begin("-T", self.session, "lock", "/l", "--", "sh", "-c",
                             "grep SigIgn /proc/self/status; readlink /proc/self/fd/2; exit 3",
                             preexec_fn=prepare)
        ignored, errors = process.stdout.read().decode().splitlines()
        numbers = [n for n in range(1, 32) if int(ignored.split()[1], 16) & 1 << (n - 1)]
        self.assertEqual(set(numbers) - {signal.SIGCHLD}, {signal.SIGHUP})  # the shell resets that
        self.assertEqual(errors, "/dev/null")
        self.assertEqual(process.wait(), 3)

    def test_nohup(self):
        process = self.begin_lock(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertRegex(process.stdout.readline(), rb"^began")
        process.send_signal(signal.SIGHUP)
        process.terminate()
        self.assertEqual(process.wait(), SIGNAL + signal.SIGTERM)

    def test_a_semaphore(self):
        holders = [self.begin("-T", self.session, "lock", "--permits", "2", "/sem", "--", "sh", "-c",
                              "echo in; sleep 3600") for _ in range(2)]
        for holder in holders:
            self.assertEqual(holder.stdout.readline(), b"in\n")
        self.assertEqual(self.lock("-n", "--permits", "2", "/sem", "--", "true")[0], TIMEOUT)
        self.assertIn("a semaphore (pawl semaphore", self.fails(CONFLICT, "lock", "/sem", "--", "true"))
        self.hold()
        self.assertIn("a plain lock", self.fails(CONFLICT, "lock", "-P", "1", "/job", "--", "true"))

    def test_readers_share_and_writers_do_not(self):
        def sharing():
            process = self.begin("-T", self.session, "lock", "--shared", "/rw", "--", "sh", "-c",
                                 "echo in; sleep 3600")
            self.assertEqual(process.stdout.readline(), b"in\n")
        sharing()
        sharing()
        self.assertEqual(self.lock("-n", "--write", "/rw", "--", "true")[0], TIMEOUT)
        status, _, errors = self.lock("-n", "/rw", "--", "true")
        self.assertEqual(status, CONFLICT)
        self.assertIn("--shared or --write", errors)

    def test_bad_input(self):
        for args, what in ((["/l"], "usage:"), (["--", "true"], "usage:"), (["/l", "--"], "usage:"),
                           (["-S", "-W", "/l", "--", "true"], "exclude"),
                           (["-w", "soon", "/l", "--", "true"], "duration"),
                           (["-d", "NOSUCH", "/l", "--", "true"], "signal"),
                           (["-d", "15x", "/l", "--", "true"], "signal"),
                           (["/l", "/m", "/l", "--", "true"], "/l is named twice"),
                           (["l", "--", "true"], "bad arguments")):
            self.assertIn(what, self.fails(USAGE, "lock", *args))
        nobody = "unix:" + os.path.join(self.dir, "nobody")
        self.fails(UNREACHABLE, "-s", nobody, "-C", "200ms", "lock", "/l", "--", "true")

    def test_a_signal_reaches_a_command_that_is_stopped(self):
        process = self.begin("lock", "/job", "--", "sh", "-c", "echo $$; exec sleep 3600")
        command = int(process.stdout.readline())
        os.kill(command, signal.SIGSTOP)
        process.terminate()
        self.assertEqual(process.wait(), SIGNAL + signal.SIGTERM)

    def test_a_signal_reaches_the_command(self):
        process = self.hold()
        process.terminate()
        self.assertEqual(process.wait(), SIGNAL + signal.SIGTERM)
        self.assert_next()

    def test_who_is_interrupted_while_waiting_leaves_nothing(self):
        self.hold()
        waiter = self.begin_lock()
        wait_until(lambda: self.ok("ls", "/job").count("\n") == 2, "a second one in the queue")
        waiter.send_signal(signal.SIGINT)
        self.assertEqual(waiter.wait(), SIGNAL + signal.SIGINT)
        self.assertEqual(self.ok("ls", "/job").count("\n"), 1)

    def test_an_interrupt_before_the_command_has_started(self):
        """^C reaches only those that are there: the command gets it from pawl."""
        ours, theirs = pty.openpty()

        def own_terminal():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        process, watchdog = self.stopped_before_it_starts("sleep", "3600", stdin=theirs,
                                                            preexec_fn=own_terminal)
        os.write(ours, b"\x03")
        self.assertEqual(os.read(ours, 2), b"^C")
        os.kill(watchdog, signal.SIGCONT)
        self.assertEqual(process.wait(), SIGNAL + signal.SIGINT)
        os.close(ours)
        os.close(theirs)
        self.assert_next()

    def test_what_the_command_leaves_running_keeps_the_lock(self):
        process = self.begin("-T", self.session, "lock", "/job", "--", "sh", "-c",
                             "exec 3<&0; (read x <&3) & echo in", stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"in\n")
        self.assertEqual(self.lock("-n", "/job", "--", "true")[0], TIMEOUT)
        process.stdin.close()
        self.assertEqual(process.wait(), OK)
        left = self.begin("-T", self.session, "lock", "--leave", "/job", "--", "sh", "-c",
                          "sleep 1 & exit 3")
        self.assertEqual(left.wait(), 3)


class Hostile(LockCase):
    """However it ends: the next command begins when nothing is left of the one before."""

    def test_pawl_is_killed(self):
        for how in ((), ("deaf",), ("away", "deaf"), ("chain", "deaf")):
            with self.subTest(how=how):
                process = self.hold(*how)
                process.kill()
                process.wait()
                self.assert_next()

    def test_pawl_is_stopped(self):
        process = self.hold("deaf")
        process.send_signal(signal.SIGSTOP)
        self.assert_next()
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(), LOST)

    def test_the_watchdog_is_killed(self):
        process = self.hold("away", "deaf")
        os.kill(children_of(process.pid)[0], signal.SIGKILL)
        self.assertEqual(process.wait(), LOST)
        self.assert_next()

    def test_the_watchdog_is_stopped(self):
        """While pawl has its link that is no harm; then pawl ends what the watchdog cannot."""
        process = self.hold("away", "deaf")
        os.kill(children_of(process.pid)[0], signal.SIGSTOP)
        self.assertEqual(self.pawl("lock", "-n", "/job", "--", "true")[0], TIMEOUT)
        self.server.signal(signal.SIGSTOP)
        self.assertEqual(process.wait(), LOST)
        self.server.signal(signal.SIGCONT)
        self.assert_next()

    def test_who_is_interrupted_beside_a_stopped_watchdog(self):
        self.hold()
        waiter = self.begin_lock()
        wait_until(lambda: self.ok("ls", "/job").count("\n") == 2, "a second one in the queue")
        os.kill(children_of(waiter.pid)[0], signal.SIGSTOP)
        waiter.terminate()
        self.assertEqual(waiter.wait(), SIGNAL + signal.SIGTERM)

    def test_an_order_to_run_that_is_found_too_late(self):
        process, watchdog = self.stopped_before_it_starts("echo", "ran")
        process.kill()
        process.wait()
        after = self.hold()
        os.kill(watchdog, signal.SIGCONT)
        self.assertEqual(process.stdout.read(), b"")  # the watchdog is gone, and nothing was run
        after.terminate()
        after.wait()

    def test_the_server_stops_answering(self):
        process = self.hold("away", "deaf")
        self.server.signal(signal.SIGSTOP)
        self.assertEqual(process.wait(), LOST)  # by its own clock
        self.server.signal(signal.SIGCONT)
        self.assert_next()

    @unittest.skipUnless(os.getuid() == 0 and os.path.exists("/proc/self/schedstat"),
                         "only root can make a program that runs as somebody else")
    def test_what_may_not_be_killed_is_waited_for(self):
        """As by sudo: pawl runs as nobody, its command as root. Waiting takes no time of a processor."""
        python = os.path.join(self.dir, "python-as-root")
        shutil.copy("/usr/bin/python3", python)
        os.chmod(python, 0o4755)
        os.chmod(self.dir, 0o755)
        process = self.begin(
            "-T", self.session, "lock", "/job", "--", python, "-ISc",
            "import os, sys; os.setresuid(0, 0, 0); print('root', flush=True); sys.stdin.read()",
            stdin=subprocess.PIPE, preexec_fn=lambda: os.setresuid(NOBODY, NOBODY, NOBODY))
        if process.stdout.readline() != b"root\n":
            self.skipTest("programs cannot be made to run as root here")
        watchdog = children_of(process.pid)[0]
        self.server.signal(signal.SIGSTOP)
        wait_until(lambda: watchdog not in children_of(process.pid), "pawl to end it in its place")
        wait_until(lambda: is_asleep(process.pid), "pawl to sleep beside what it may not kill")
        self.assertIsNone(process.poll())
        process.stdin.close()
        self.assertEqual(process.wait(), LOST)
        self.server.signal(signal.SIGCONT)

    def test_the_node_is_deleted_by_hand(self):
        process = self.hold("deaf")
        self.ok("rm", "/job/" + self.ok("ls", "/job").strip())
        self.assertEqual(process.wait(), LOST)
        self.assert_next()

    def test_the_warning(self):
        process = self.begin("-T", self.session, "lock", "--on-doubt", "USR1", "/job", "--", "sh", "-c",
                             "trap 'echo warned; exit 4' USR1; echo in; while :; do sleep 0.1; done")
        self.assertEqual(process.stdout.readline(), b"in\n")
        self.server.kill9()
        self.assertEqual(process.stdout.readline(), b"warned\n")
        self.assertEqual(process.wait(), 4)


if __name__ == "__main__":
    daemon.main()
