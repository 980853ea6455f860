#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes from a shell: pawl lead, semaphore, barrier, counter, queue, service, locks.

[--server apache]: the same on Apache's server."""
import fcntl
import json
import os
import pty
import signal
import subprocess
import termios

import daemon
import pawl_program
from daemon import wait_until
from held_answers import DELETE, HeldAnswers
from pawl_program import (CONFLICT, NO, NO_NODE, NOT_FOUND, OK, PAWL, REFUSED, SIGNAL, SYSTEM, TIMEOUT,
                          UNREACHABLE, USAGE, TestCase)
from referee import SESSION, RefereeCase, children_of


def state_of(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0]


class Lead(RefereeCase):
    def lead(self, *args, **kwargs):
        return self.begin("-T", SESSION, "lead", *args, **kwargs)

    def begin_turn(self, *how, options=()):
        """A pawl whose command leads."""
        process = self.lead("--pause", "0", *options, "/job", "--", *self.command(*how))
        self.assert_began(process)
        return process

    def assert_began(self, process):
        self.assertRegex(process.stdout.readline(), rb"^began")

    def wait_for_queue(self, n):
        wait_until(lambda: len(self.ok("ls", "/job").split()) == n, "%d in the queue" % n)

    def test_the_command_leads_again_and_again(self):
        process = self.lead("--pause", "0", "/job", "--", "sh", "-c", "echo $PAWL_LOCK_TOKEN; exit 3")
        tokens = [int(process.stdout.readline()) for _ in range(3)]
        self.assertEqual(tokens, sorted(set(tokens)))
        process.terminate()
        process.stdout.read()
        self.assertIn(process.wait(), (SIGNAL + signal.SIGTERM, 3))

    def test_leadership_goes_round(self):
        """Both have their turns: who has led is behind the other."""
        both = [self.lead("/job", "--", *self.command("once")) for _ in range(2)]
        for process in both + both:
            self.assert_began(process)

    def test_once(self):
        self.assertEqual(self.pawl("-T", SESSION, "lead", "--once", "/job", "--", "sh", "-c",
                                   "echo $PAWL_LOCK_PATH; exit 5"), (5, "/job\n", ""))
        self.assertEqual(self.ok("ls", "/job"), "")

    def test_it_is_a_lock_of_curators(self):
        self.begin_turn()
        self.assertRegex(self.ok("ls", "/job"), r"^_c_[0-9a-f-]{36}-lock-\d{10}\n$")
        self.assertEqual(self.pawl("lock", "-n", "/job", "--", "true")[0], TIMEOUT)
        self.assertRegex(self.ok("locks", "/job"), "^holds since ")

    def test_what_will_never_lead(self):
        status, _, errors = self.pawl("lead", "/job", "--", "no-such-program")
        self.assertEqual(status, NOT_FOUND)
        self.assertIn("no-such-program: No such file", errors)
        nobody = "unix:" + os.path.join(self.dir, "nobody")
        self.fails(UNREACHABLE, "-s", nobody, "-C", "200ms", "lead", "/job", "--", "true")
        self.ok("create", "/rw")
        self.ok("create", "/rw/__WRIT__0000000000")
        self.assertIn("a read/write lock", self.fails(CONFLICT, "lead", "/rw", "--", "true"))
        for args, what in ((["/job"], "usage:"), (["/a", "/b", "--", "true"], "usage:"),
                           (["-p", "soon", "/a", "--", "true"], "duration"),
                           (["-d", "NOSUCH", "/a", "--", "true"], "signal"),
                           (["a", "--", "true"], "bad arguments")):
            self.assertIn(what, self.fails(USAGE, "lead", *args))

    def test_a_signal_reaches_the_command(self):
        process = self.begin_turn()
        process.terminate()
        self.assertEqual(process.wait(), SIGNAL + signal.SIGTERM)
        self.assert_next()

    def test_who_is_interrupted_in_the_queue_leaves_nothing(self):
        self.begin_turn()
        waiter = self.lead("/job", "--", "true")
        self.wait_for_queue(2)
        waiter.send_signal(signal.SIGINT)
        self.assertEqual(waiter.wait(), SIGNAL + signal.SIGINT)
        self.assertEqual(self.ok("ls", "/job").count("\n"), 1)

    def test_who_is_interrupted_between_two_turns(self):
        process = self.lead("--pause", "1h", "/job", "--", "echo", "led")
        self.assertEqual(process.stdout.readline(), b"led\n")
        wait_until(lambda: not children_of(process.pid), "the end of the turn")
        process.send_signal(signal.SIGHUP)
        self.assertIn(process.wait(), (SIGNAL + signal.SIGHUP, OK))  # OK: it had yet to begin the pause

    def test_who_is_interrupted_just_when_a_turn_has_ended(self):
        """The command has ended well and has had no signal: its status tells nothing of that."""
        process = self.lead("/job", "--", "sh", "-c", "echo in; read line", stdin=subprocess.PIPE)
        self.addCleanup(process.stdin.close)
        self.assertEqual(process.stdout.readline(), b"in\n")
        turn = children_of(process.pid)[0]
        process.send_signal(signal.SIGSTOP)
        process.stdin.write(b"go on\n")
        process.stdin.flush()
        wait_until(lambda: state_of(turn) == "Z", "the end of the turn")
        process.terminate()
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(), SIGNAL + signal.SIGTERM)

    def test_an_interrupt_from_the_terminal(self):
        ours, theirs = pty.openpty()

        def own_terminal():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        process = self.lead("/job", "--", "sh", "-c", "echo in; exec sleep 3600", stdin=theirs,
                            preexec_fn=own_terminal)
        self.assertEqual(process.stdout.readline(), b"in\n")
        os.write(ours, b"\x03")
        self.assertEqual(process.wait(), SIGNAL + signal.SIGINT)
        os.close(ours)
        os.close(theirs)
        self.assert_next()

    def test_pawl_is_killed(self):
        """The turn goes with it, and the watchdog of the turn ends the command."""
        for how in ((), ("deaf",), ("away", "deaf"), ("chain", "deaf")):
            with self.subTest(how=how):
                process = self.begin_turn(*how)
                process.kill()
                process.wait()
                self.assert_next()

    def test_the_turn_is_killed(self):
        process = self.begin_turn("deaf")
        os.kill(children_of(process.pid)[0], signal.SIGKILL)
        self.assert_began(process)

    def test_the_turn_and_pawl_are_killed(self):
        process = self.begin_turn("away", "deaf")
        turn = children_of(process.pid)[0]
        process.kill()
        try:
            os.kill(turn, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it went with pawl
        process.wait()
        self.assert_next()

    def test_the_watchdog_is_killed(self):
        process = self.begin_turn("away", "deaf")
        turn = children_of(process.pid)[0]
        os.kill(children_of(turn)[0], signal.SIGKILL)
        self.assert_began(process)

    def test_the_server_stops_answering(self):
        process = self.begin_turn("away", "deaf", options=("--leave",))
        turn = children_of(process.pid)[0]
        self.stop_server()
        wait_until(lambda: turn not in children_of(process.pid), "the end of the turn")
        self.server.signal(signal.SIGCONT)
        self.assert_began(process)

    def test_the_node_is_deleted_by_hand(self):
        process = self.begin_turn("deaf")
        self.ok("rm", "/job/" + self.ok("ls", "/job").strip())
        self.assert_began(process)


class Semaphore(RefereeCase):
    def test_no_more_than_so_many(self):
        holders = [self.begin("-T", SESSION, "semaphore", "/sem", "2", "--", "sh", "-c",
                              "echo in; exec sleep 3600") for _ in range(2)]
        for holder in holders:
            self.assertEqual(holder.stdout.readline(), b"in\n")
        self.assertEqual(self.pawl("semaphore", "-n", "/sem", "2", "--", "true"), (TIMEOUT, "", ""))
        self.assertEqual(self.pawl("semaphore", "-n", "-E", "9", "/sem", "2", "--", "true")[0], 9)
        self.assertIn("not acquired in time",
                      self.fails(TIMEOUT, "semaphore", "-w", "100ms", "/sem", "2", "--", "true"))
        holders[0].terminate()
        self.assertEqual(holders[0].wait(), SIGNAL + signal.SIGTERM)
        self.assertEqual(self.pawl("semaphore", "/sem", "2", "--", "sh", "-c", "exit 4")[0], 4)

    def test_bad_input(self):
        for args, what in ((["/sem", "--", "true"], "usage:"), (["/sem", "2"], "usage:"),
                           (["/sem", "0", "--", "true"], "'0' is no number from 1"),
                           (["/sem", "many", "--", "true"], "'many' is no number")):
            self.assertIn(what, self.fails(USAGE, "semaphore", *args))
        self.ok("create", "/lock")
        self.ok("create", "/lock/lock-0000000000")
        self.assertIn("a plain lock", self.fails(CONFLICT, "semaphore", "/lock", "2", "--", "true"))

    def test_a_path_that_cannot_be_listed_is_not_taken_for_unused(self):
        self.ok("create", "-a", "world:anyone:c", "/hidden")
        self.assertIn("/hidden: ", self.fails(REFUSED, "semaphore", "/hidden", "2", "--", "true"))
        self.assertIn("/hidden: ", self.fails(REFUSED, "lock", "-S", "/hidden", "--", "true"))


class Barrier(TestCase):
    def test_who_waits_goes_on_when_it_is_lifted(self):
        self.ok("barrier", "wait", "/b")  # it was never raised
        self.ok("barrier", "raise", "/b")
        self.ok("barrier", "raise", "/b")
        self.assertIn("still up", self.fails(TIMEOUT, "barrier", "wait", "-w", "0", "/b"))
        self.assertIn("still up", self.fails(TIMEOUT, "barrier", "wait", "--timeout", "50ms", "/b"))
        waiter = self.begin("barrier", "wait", "/b")
        self.ok("barrier", "lift", "/b")
        self.ok("barrier", "lift", "/b")
        self.assertEqual(waiter.wait(), OK)

    def test_who_is_interrupted(self):
        self.ok("barrier", "raise", "/b")
        waiter = self.begin("-j", "barrier", "wait", "/b")
        waiter.terminate()  # whatever it was doing
        self.assertIn(waiter.wait(), (SIGNAL + signal.SIGTERM, -signal.SIGTERM))

    def test_a_meeting(self):
        """Again and again at one place, with the same number each time."""
        for _ in range(3):
            both = [self.begin("barrier", "meet", "/m", "3") for _ in range(2)]
            wait_until(lambda: len(self.ok("ls", "/m").split()) == 2
                       if self.pawl("exists", "/m")[0] == OK else False, "two who wait")
            self.assertEqual([p.poll() for p in both], [None, None])
            self.ok("barrier", "meet", "/m", "3")
            self.assertEqual([p.wait() for p in both], [OK, OK])

    def test_a_meeting_that_does_not_take_place(self):
        self.ok("create", "/m")  # the time may be up before it would be made
        self.assertIn("have not come", self.fails(TIMEOUT, "barrier", "meet", "-w", "50ms", "/m", "2"))
        self.assertEqual(self.ok("ls", "/m"), "")

    def test_bad_input(self):
        for command in (["raise"], ["lift", "/a", "/b"], ["wait"], ["meet", "/a"]):
            self.assertIn("usage:", self.fails(USAGE, "barrier", *command))
        self.assertIn("is no number", self.fails(USAGE, "barrier", "meet", "/a", "0"))
        self.assertIn("is no duration", self.fails(USAGE, "barrier", "wait", "-w", "x", "/a"))
        for what in ("raise", "lift", "wait"):
            self.assertIn("bad arguments", self.fails(USAGE, "barrier", what, "a"))


class Counter(TestCase):
    def test_a_number(self):
        self.assertEqual(self.ok("counter", "get", "/n"), "0\n")
        self.assertEqual(self.ok("counter", "add", "/n"), "1\n")
        self.assertEqual(self.ok("counter", "add", "/n", "-43"), "-42\n")
        self.assertEqual(self.ok("counter", "set", "/n", "7"), "7\n")
        self.assertEqual(json.loads(self.ok("-j", "counter", "add", "/n", "3")), {"path": "/n", "value": 10})
        self.assertEqual(json.loads(self.ok("-j", "counter", "get", "/n")), {"path": "/n", "value": 10})

    def test_only_if_it_is_as_expected(self):
        self.assertIn("another number", self.fails(CONFLICT, "counter", "set", "--if", "0", "/n", "5"))
        self.ok("counter", "set", "/n", "5")
        self.assertIn("another number", self.fails(CONFLICT, "counter", "set", "--if", "4", "/n", "6"))
        self.assertEqual(self.ok("counter", "set", "--if", "5", "/n", "6"), "6\n")

    def test_everybody_gets_a_number_of_its_own(self):
        adders = [self.begin("counter", "add", "/n") for _ in range(8)]
        self.assertEqual(sorted(int(p.stdout.read()) for p in adders), list(range(1, 9)))
        self.assertEqual([p.wait() for p in adders], [OK] * 8)

    def test_bad_input(self):
        self.assertEqual(self.ok("counter", "set", "-b", "32", "/small", "2147483647"), "2147483647\n")
        self.assertIn("is no counter of 64 bits", self.fails(REFUSED, "counter", "get", "/small"))
        self.assertIn("is no number", self.fails(USAGE, "counter", "set", "-b", "32", "/small", "2147483648"))
        self.assertIn("32 or 64", self.fails(USAGE, "counter", "get", "-b", "33", "/small"))
        self.assertIn("is no number", self.fails(USAGE, "counter", "add", "/small", "1x"))
        self.assertIn("usage:", self.fails(USAGE, "counter", "set", "/small"))


class Queue(TestCase):
    def items(self):
        return [item["data"] for item in json.loads(self.ok("-j", "queue", "ls", "/q"))]

    def test_what_is_put_is_taken_in_order(self):
        self.ok("queue", "put", "/q", "a", "b b")
        self.ok("queue", "put", "/q", "-", stdin=b"\x00\xff")
        self.assertEqual(self.ok("queue", "ls", "/q").split("\n")[1], "qn-0000000001 b b")
        self.assertEqual(self.ok("queue", "take", "/q"), "a")
        self.assertEqual(json.loads(self.ok("-j", "queue", "take", "/q")), {"data": "b b"})
        self.assertEqual(self.ok("queue", "take", "--try", "/q").encode("utf-8", "surrogateescape"),
                         b"\x00\xff")
        self.assertEqual(self.pawl("queue", "take", "--try", "/q"), (TIMEOUT, "", ""))
        self.assertIn("no item in time", self.fails(TIMEOUT, "queue", "take", "-w", "50ms", "/q"))
        self.assertEqual(self.ok("queue", "ls", "/q"), "")

    def test_who_waits_gets_what_comes(self):
        waiter = self.begin("queue", "take", "/q")
        self.ok("queue", "put", "/q", "news")
        self.assertEqual(waiter.stdout.read(), b"news")
        self.assertEqual(waiter.wait(), OK)

    def test_each_is_taken_once(self):
        takers = [self.begin("queue", "take", "/q") for _ in range(6)]
        self.ok("queue", "put", "/q", *"abcdef")
        self.assertEqual(sorted(p.stdout.read() for p in takers), [b"a", b"b", b"c", b"d", b"e", b"f"])
        self.assertEqual([p.wait() for p in takers], [OK] * 6)

    def test_what_cannot_be_printed_is_put_back(self):
        self.ok("queue", "put", "/q", "a", "b")
        with open("/dev/full", "w") as full:
            done = subprocess.run([PAWL, "queue", "take", "/q"], stdout=full, stderr=subprocess.PIPE,
                                  env=self.env)
        self.assertEqual(done.returncode, SYSTEM)
        self.assertIn(b"the item was put back, at the end", done.stderr)
        self.assertEqual(self.items(), ["b", "a"])

    def test_an_interrupt_while_waiting(self):
        self.ok("queue", "put", "/q", "a")
        self.ok("queue", "take", "/q")
        waiter = self.begin("queue", "take", "/q")
        waiter.terminate()
        self.assertIn(waiter.wait(), (SIGNAL + signal.SIGTERM, -signal.SIGTERM))
        self.ok("queue", "put", "/q", "b")
        self.assertEqual(self.items(), ["b"])

    def test_an_interrupt_just_when_an_item_is_taken(self):
        """The server has deleted it, and we do not know: nobody may be given it twice, nobody must lose it."""
        self.ok("queue", "put", "/q", "a")
        taker = []
        relay = HeldAnswers(self.port, DELETE, lambda: taker[0].send_signal(signal.SIGINT))
        self.addCleanup(relay.close)
        self.use_port(relay.port)
        taker.append(self.begin("queue", "take", "/q"))
        self.assertEqual(taker[0].wait(), SIGNAL + signal.SIGINT)
        self.assertEqual(taker[0].stdout.read(), b"")
        self.use_port(self.port)
        self.assertEqual(self.items(), ["a"])

    def test_what_others_write_cannot_forge_lines(self):
        self.ok("queue", "put", "/q", "a\nqn-0000000009 b\x1b[2J")
        self.assertEqual(self.ok("queue", "ls", "/q"), "qn-0000000000 a\\x0aqn-0000000009 b\\x1b[2J\n")

    def test_bad_input(self):
        self.assertEqual(self.ok("queue", "ls", "/none"), "")
        self.assertEqual(self.ok("-j", "queue", "ls", "/none"), "[]\n")
        self.assertEqual(self.pawl("queue", "take", "-n", "/none"), (TIMEOUT, "", ""))
        self.assertIn("bad arguments", self.fails(USAGE, "queue", "ls", "q"))
        self.assertIn("usage:", self.fails(USAGE, "queue", "put", "/q"))
        self.assertIn("bad arguments", self.fails(USAGE, "queue", "put", "q", "x"))
        self.assertIn("bad arguments", self.fails(USAGE, "queue", "take", "q"))


class Service(TestCase):
    def register(self, *args):
        """A running one, and what it has printed."""
        process = self.begin("-j", "service", "register", "/services", *args)
        return process, json.loads(process.stdout.readline())

    def test_an_instance_is_there_as_long_as_it_is_registered(self):
        self.assertIn("no such node", self.fails(NO_NODE, "service", "ls", "/services"))
        process, printed = self.register("web", "-i", "web-1", "-a", "10.0.0.1", "-p", "80", "-y", '{"a":1}',
                                         "-u", "{scheme}://{address}:{port}/")
        self.assertEqual(self.ok("service", "ls", "/services"), "web\n")
        self.assertEqual(json.loads(self.ok("-j", "service", "ls", "/services")), ["web"])
        self.assertEqual(self.ok("service", "ls", "/services", "web"),
                         "web-1 10.0.0.1 80 - http://10.0.0.1:80/\n")
        listed = json.loads(self.ok("-j", "service", "ls", "/services", "web"))
        self.assertEqual(listed, [printed])
        self.assertEqual({k: printed[k] for k in ("name", "id", "port", "payload", "enabled")},
                         {"name": "web", "id": "web-1", "port": 80, "payload": '{"a":1}', "enabled": True})
        process.terminate()
        self.assertEqual(process.wait(), SIGNAL + signal.SIGTERM)
        self.assertEqual(self.ok("service", "ls", "/services", "web"), "")

    def test_an_id_is_made(self):
        process = self.begin("service", "register", "/services", "web")
        made = process.stdout.readline().decode()
        self.assertRegex(made, r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n$")
        self.assertTrue(self.ok("service", "ls", "/services", "web").startswith(made.strip() + " "))

    def test_what_is_deleted_comes_back(self):
        _, printed = self.register("web")
        self.ok("rm", "/services/web/" + printed["id"])
        wait_until(lambda: self.ok("service", "ls", "/services", "web"), "it to be registered again")

    def test_changes_as_they_happen(self):
        one, _ = self.register("web", "-i", "one", "-p", "1")
        watcher = self.begin("service", "watch", "-n", "3", "/services", "web")
        self.assertRegex(watcher.stdout.readline(), rb"^ADDED one \S+ 1 - -\n$")
        self.assertEqual(watcher.stdout.readline(), b"WATCHING web\n")
        self.register("web", "-i", "two")
        self.assertRegex(watcher.stdout.readline(), rb"^ADDED two ")
        node = "/services/web/two"
        self.ok("set", node, self.ok("get", node).replace('"port":null', '"port":2'))
        self.assertRegex(watcher.stdout.readline(), rb"^CHANGED two \S+ 2 ")
        one.terminate()
        self.assertRegex(watcher.stdout.readline(), rb"^REMOVED one ")
        self.assertEqual(watcher.wait(), OK)

    def test_changes_as_json(self):
        watcher = self.begin("-j", "service", "watch", "/services", "web")
        self.assertEqual(json.loads(watcher.stdout.readline()), {"event": "WATCHING", "name": "web"})
        _, printed = self.register("web", "-i", "one")
        self.assertEqual(json.loads(watcher.stdout.readline()), dict(printed, event="ADDED"))
        watcher.terminate()
        self.assertEqual(watcher.wait(), SIGNAL + signal.SIGTERM)

    def test_bad_input(self):
        self.assertIn("usage:", self.fails(USAGE, "service", "register", "/services"))
        self.assertIn("is no number", self.fails(USAGE, "service", "register", "-p", "0", "/services", "w"))
        self.assertIn("bad arguments",
                      self.fails(USAGE, "service", "register", "-y", "{no json", "/services", "w"))
        self.assertIn("bad arguments", self.fails(USAGE, "service", "ls", "services"))
        self.assertIn("bad arguments", self.fails(USAGE, "service", "watch", "services", "w"))

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PAWL, "service", "register", "/services", "web"], stdout=full,
                                  stderr=subprocess.PIPE, env=self.env)
        self.assertEqual(done.returncode, SYSTEM)
        self.assertEqual(self.ok("service", "ls", "/services", "web"), "")


class Locks(RefereeCase):
    def hold(self, *args, command=("sh", "-c", "echo in; exec sleep 3600")):
        """A pawl that is in the queue, and holds the lock unless somebody is ahead of it."""
        path = args[-1]
        before = self.queue(path)
        process = self.begin("-T", SESSION, "lock", *args, "--", *command)
        wait_until(lambda: self.queue(path) == before + 1, "another one in the queue of %s" % path)
        return process

    def queue(self, path):
        status, out, _ = self.pawl("ls", path)
        return len(out.split()) if status == OK else 0

    def why(self, *paths, status=OK):
        got, out, errors = self.pawl("-j", "locks", "why", *paths)
        self.assertEqual((got, errors), (status, ""))
        return json.loads(out)

    def test_who_waits_for_whom(self):
        self.assertEqual(self.ok("locks", "why", "/job"), "/job: nobody holds it, and nobody waits\n")
        self.assertEqual(self.why("/job"), [])
        for _ in range(3):
            self.hold("/job")
        lines = self.ok("locks", "why", "/job").split("\n")
        self.assertRegex(lines[0], r"^/job: 0x\w+ \(.* host=.* pid=\d+ .*\) holds it since \d{4}-")
        self.assertRegex(lines[1], r"^/job: 0x\w+ .* waits since .* for 0x\w+ .*, which holds it$")
        self.assertRegex(lines[2], r"^/job: 0x\w+ .* waits since .* for 0x\w+ .*, which waits itself$")
        first, second, third = self.why("/job")
        self.assertEqual([p["does"] for p in (first, second, third)], ["holds", "waits", "waits"])
        self.assertEqual((second["behind"], third["behind"]), (first["path"], second["path"]))
        self.assertEqual(second["behind_session"], first["session"])

    def test_readers_wait_for_writers(self):
        self.hold("-S", "/rw")
        self.hold("-S", "/rw")
        self.hold("-W", "/rw")
        self.hold("-S", "/rw")
        one, two, writer, last = self.why("/rw")
        self.assertEqual([p["does"] for p in (one, two, writer, last)], ["holds", "holds", "waits", "waits"])
        self.assertEqual((writer["behind"], last["behind"]), (two["path"], writer["path"]))

    def test_a_semaphore(self):
        """Its nodes are in two folders; the last lease may be of one who still waits for room."""
        holders = [self.begin("-T", SESSION, "semaphore", "/sem", "2", "--", "sh", "-c",
                              "echo in; exec sleep 3600") for _ in range(2)]
        for holder in holders:
            self.assertEqual(holder.stdout.readline(), b"in\n")
        for n in (1, 2):
            self.begin("-T", SESSION, "semaphore", "/sem", "2", "--", "true")
            wait_until(lambda: self.queue("/sem/locks") == n, "one who waits")
        wait_until(lambda: self.queue("/sem/leases") == 3, "the lease of the first who waits")
        shown = json.loads(self.ok("-j", "locks", "/sem"))
        self.assertEqual([p["does"] for p in shown], ["holds", "holds", "waits", "waits"])
        self.assertEqual(len({p["session"] for p in shown}), 4)
        self.assertEqual([p["does"] for p in self.why("/sem")], ["holds", "holds", "waits", "waits"])
        lines = self.ok("locks", "why", "/sem").split("\n")
        self.assertRegex(lines[1], r"^/sem: 0x\w+ .* has a lease since ")
        self.assertRegex(lines[2], r"^/sem: 0x\w+ .* waits since .* for one of 2 leases$")

    def test_two_that_wait_in_a_circle(self):
        """Each has the first of its two locks before either asks for the second."""
        self.ok("create", "/a")
        self.ok("create", "/b")
        one, two = Session(self), Session(self)
        one.place("/a")
        two.place("/b")
        one.place("/b")
        self.assertEqual(len(self.why("/a", "/b")), 3)
        two.place("/a")
        shown = self.why("/a", "/b", status=NO)
        self.assertEqual(len(shown), 5)
        circle = shown[-1]["circle"]
        self.assertEqual({(e["session"], e["lock"], e["waits_for"]) for e in circle},
                         {(one.name, "/b", two.name), (two.name, "/a", one.name)})
        status, out, _ = self.pawl("locks", "why", "/a", "/b")
        self.assertEqual(status, NO)
        self.assertIn("they wait in a circle: 0x", out)
        self.assertEqual(len(self.why("/a")), 2)  # one lock is no circle

    def test_places_of_nobody(self):
        self.hold("/job")
        left = "/job/_c_00000000-0000-0000-0000-000000000000-lock-0000000001"
        self.ok("create", left)
        self.ok("create", "/job/notes-0000000002")
        waiter = self.hold("/job", command=("true",))
        self.assertEqual(self.ok("locks", "gc", "-n", "/job").split()[0], "left")
        status, out, errors = self.pawl("locks", "gc", stdin=b"no\n")
        self.assertEqual((status, out.split()[0]), (OK, "left"))
        self.assertIn(left + " belongs to no session: remove it? [y/N] ", errors)
        self.assertEqual(self.pawl("locks", "gc")[1].split()[0], "left")  # no answer is a no
        status, out, _ = self.pawl("-j", "locks", "gc", "/job", stdin=b"y\n")
        self.assertEqual([(o["path"], o["removed"]) for o in json.loads(out)], [(left, True)])
        self.assertEqual(self.ok("locks", "gc", "--yes"), "")
        self.ok("exists", "/job/notes-0000000002")
        self.assertIsNone(waiter.poll())


class Session:
    """Places in the queues of locks, as a client has them that takes several."""

    def __init__(self, test):
        self.chroot = test.chroot
        self.conn = daemon.z.Conn(test.port)
        self.conn.handshake(timeout_ms=daemon.LONG_SESSION_MS)
        test.addCleanup(self.conn.close)
        self.name = "0x%x" % self.conn.session_id

    def place(self, lock):
        fields = {"path": self.chroot + lock + "/lock-", "data": b"", "acl": daemon.OPEN_ACL, "flags": 3}
        assert self.conn.call(daemon.z.CREATE, fields)[0].err == 0


class HalfACommand(TestCase):
    def test_what_can_follow(self):
        self.assertEqual(self.fails(USAGE, "barrier"), "pawl: barrier is followed by raise, lift, wait or meet; "
                                                       "see pawl barrier --help\n")
        self.assertIn("acl is followed by get or set", self.fails(USAGE, "acl"))
        self.assertIn("there is no command 'queue peek': queue is followed by put, take or ls",
                      self.fails(USAGE, "queue", "peek", "/q"))
        self.assertIn("is followed by", self.fails(USAGE, "counter", "-b", "32"))

    def test_help(self):
        shown = self.ok("service", "--help")
        self.assertEqual(shown.count("usage: "), 3)
        for command in ("lead", "semaphore", "barrier meet", "counter set", "queue take", "service watch"):
            self.assertIn("usage: pawl [OPTIONS] %s " % command, self.ok(*command.split(), "--help"))
            self.assertIn("  %s " % command, self.ok("--help"))


if __name__ == "__main__":
    pawl_program.main()
