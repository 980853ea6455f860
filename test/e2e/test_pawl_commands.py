#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every command of pawl: into a pipe, as JSON, and on a terminal. A command that is not in this list
fails the test, so that none is forgotten. What each does in detail is for the other tests.

[--server apache]: the same on Apache's server."""
import json
import os
import re
import signal

from daemon import wait_until
from pawl_program import OK, PAWL, SIGNAL, UNREACHABLE, USAGE, TestCase, main
from terminal import Terminal

CTRL_C = "\x03"

# Arguments of each; with {n} a number that is new each time, {dir} a directory, {data} a server's.
# What is to be there before: setUp(). A list of lists: one after the other.
COMMANDS = {
    "lock": ["/new/lock", "--", "true"], "locks": ["/locks"], "locks why": ["/locks"], "locks gc": ["-n", "/locks"],
    "lead": ["--once", "/new/lead", "--", "true"], "semaphore": ["/new/semaphore", "2", "--", "true"],
    "barrier raise": ["/new/barrier"], "barrier lift": ["/new/barrier"], "barrier wait": ["/new/none"],
    "barrier meet": ["/new/meet", "1"], "counter get": ["/new/counter"], "counter add": ["/new/counter"],
    "counter set": ["/new/counter", "5"], "queue put": ["/new/queue", "a", "b", "c", "d"], "queue take": ["/new/queue"],
    "queue ls": ["/new/queue"], "service ls": ["/services"], "service register": None, "service watch": None,
    "ls": ["-s", "/t"], "ls2": ["/t"], "tree": ["/t"], "get": ["-s", "/t/a"], "set": ["/t/a", "text"],
    "create": ["-s", "/t/made-"], "rm": ["-f", "/t/nothing"], "deleteall": ["-f", "/t/nothing"], "stat": ["/t/a"],
    "exists": ["/t/a"], "count": ["/t"], "watch": None, "addWatch": None, "sync": ["/t"], "acl get": ["/t/a"],
    "acl set": ["/t/a", "world:anyone:cdrwa"], "whoami": [], "config": [], "find": ["/t"], "grep": ["te", "/t"],
    "du": ["/t"], "cp": ["/t/a", "/t/copy{n}"], "mv": ["/t/moving{n}", "/t/moved{n}"], "4lw": ["srvr"],
    "top": ["--once"], "sessions": [], "ephemerals": ["/locks"], "quota get": ["/quota"],
    "quota set": ["-n", "100", "/quota"], "quota rm": ["-n", "/quota"], "txn": ["{dir}/txn"], "export": ["/t"],
    "import": ["-k", "/new/imported", "{dir}/exported"], "diff": ["/t", "/t"], "mirror": ["/t", "/new/mirror"],
    "edit": ["/t/a"], "reconfig": None, "log": ["{data}"], "snapshot": ["{data}"], "history": ["-D", "{data}", "/t"],
    "at": ["-D", "{data}", "end", "ls", "/"], "bench": ["-y", "-n", "10", "reads"], "ensemble init": ["{dir}/ensemble{n}", "3"],
    "ensemble rescue": ["-y", "{dir}/rescued{n}", "{data}"], "backup": ["-D", "{data}", "{dir}/backup{n}"],
    "backup verify": ["{dir}/kept"], "restore": ["{dir}/kept", "{dir}/restored{n}"], "shed": None,
    "server start": None, "server stop": None, "server status": None, "server restart": None, "server print-cmd": None,
    "doctor": None, "console": None, "completions": ["bash"], "shell": ["{dir}/script"], "help": ["lock"], "redo": None, "connect": [],
    "close": [], "printwatches": [], "addauth": ["digest", "me:me"], "getEphemerals": [], "removewatches": None,
    "version": [], "quit": []}
# None: needs more than arguments, and has a test of its own: test_pawl_recipes, _shell, _server, _doctor, _exchange;
# test_console, test_admin.

# Nor where the server answers no words that it does not by itself.
NOT_IN_A_CHROOT = {"quota get", "quota set", "quota rm", "sessions", "top"}

# What they print is text, whoever reads it.
ALWAYS_TEXT = {"completions", "help", "lock", "lead", "semaphore", "edit", "shell"}


class Commands(TestCase):
    server_options = ("-D4lw.commands.whitelist=*",)

    def setUp(self):
        super().setUp()
        self.n = 0
        self.data = os.path.join(self.dir, "files")
        os.makedirs(self.data)
        self.env.update(EDITOR="sed -i s/text/TEXT/", NO_COLOR="1")
        self.file("txn", "set /t/a text\n")
        self.file("script", "get /t/a\n")
        self.ok("import", "/t", stdin=b'{"path":"/"}\n{"path":"/a","data":"text"}\n')
        self.file("exported", self.ok("export", "/t"))
        self.ok("create", "/quota")
        if not self.chroot:
            self.ok("quota", "set", "-n", "50", "/quota")
        self.ok("create", "-p", "/new/queue")
        self.ok("create", "/services")
        self.ok("create", "-p", "/locks/x-lock-0000000000")
        here = "local:" + self.data  # has a log and, when it has ended, maybe a snapshot
        self.ok("-s", here, "create", "/t")
        self.ok("backup", "-D", os.path.join(self.data, "data"), os.path.join(self.dir, "kept"))

    def commands(self):
        listed = re.search(r"commands:\n(.*?)\n\n", self.ok("--help"), re.S)[1]
        return [re.match(r"  (\S+( \S+)?)  ", line)[1] for line in listed.splitlines()]

    def line_for(self, name):
        """The whole command line; None: not here."""
        if COMMANDS[name] is None or self.chroot and name in NOT_IN_A_CHROOT:
            return None
        self.n += 1
        self.ok("create", "/t/moving%d" % self.n)
        return name.split() + [word.format(n=self.n, dir=self.dir, data=os.path.join(self.data, "data")) for word in COMMANDS[name]]

    def each(self, check):
        for name in self.commands():
            line = self.line_for(name)
            if line is not None:
                with self.subTest(command=name):
                    check(name, line)

    def test_none_is_forgotten(self):
        self.assertEqual(sorted(self.commands()), sorted(COMMANDS))

    def test_into_a_pipe(self):
        self.each(lambda name, line: self.ok(*line))

    def test_as_json(self):
        """One value on a line, or nothing; nothing else."""
        def check(name, line):
            for value in self.ok("-j", *line).splitlines() if name not in ALWAYS_TEXT else []:
                json.loads(value)
        self.each(check)

    def test_on_a_terminal(self):
        def check(_name, line):
            terminal = Terminal([PAWL] + line, self.env, self.dir)
            self.addCleanup(terminal.close)
            self.assertEqual(terminal.end(), OK, terminal.text())
            self.assertNotIn("\x1b", terminal.raw.decode())
        self.each(check)

    def test_help(self):
        for name in self.commands():
            with self.subTest(command=name):
                self.assertRegex(self.ok(*name.split(), "--help"), r"^usage: pawl \[OPTIONS\] %s( |\n)" % name)

    def test_unknown_options(self):
        self.each(lambda name, _: self.assertIn("no-such-thing", self.fails(USAGE, *name.split(), "--no-such-thing")))

    def test_misspelt_commands(self):
        """Two letters that have changed places. (A second word may be an argument of the first.)"""
        known = self.commands()
        for name in known:
            wrong = name[:-2] + name[-1] + name[-2]
            words = name.split()
            if len(words[-1]) > 3 and wrong not in known and (len(words) == 1 or words[0] not in known):
                with self.subTest(command=name):
                    self.assertIn("is '%s' meant?" % name, self.fails(USAGE, *wrong.split()))

    def test_no_server(self):
        """The same status, whatever was asked; and nothing that needs none of them asks for one."""
        without = {"log", "snapshot", "history", "at", "ensemble init", "ensemble rescue", "backup", "backup verify",
                   "restore", "completions", "help", "version", "quit", "printwatches", "shell", "close", "connect"}
        def check(name, line):
            if name == "top":  # has its titles all the same
                self.assertEqual(self.pawl("-s", self.nobody(), *line)[0], UNREACHABLE)
            elif name not in without:
                self.fails(UNREACHABLE, "-s", self.nobody(), "-C", "300ms", *line)
        self.each(check)

    def test_an_interrupt(self):
        """Those that go on until they are ended."""
        self.ok("create", "/instances")
        for line in (["watch", "/t"], ["addWatch", "/t"], ["locks", "-w", "/locks"], ["top"], ["barrier", "wait", "/up"],
                     ["barrier", "meet", "/new/two", "2"], ["queue", "take", "/new/empty"], ["create", "-e", "/t/mine"],
                     ["service", "register", "/instances", "s"], ["service", "watch", "/instances", "s"],
                     ["lock", "/held", "--", "sleep", "1000"], ["lead", "/led", "--", "sleep", "1000"],
                     ["get", "-w", "/t/a"], ["bench", "-y", "-d", "1h", "reads"]):
            with self.subTest(line=line):
                self.ok("barrier", "raise", "/up")
                self.ok("rm", "-rf", "/new/empty")
                before = self.ok("ls", "-R", "/")
                terminal = Terminal([PAWL] + line, self.env, self.dir)
                self.addCleanup(terminal.close)
                wait_until(lambda: self.ok("sessions") != "" or line == ["top"], "its session")
                terminal.keys(CTRL_C)
                self.assertEqual(terminal.end(), SIGNAL + signal.SIGINT, terminal.text())
                # What stays is what a recipe leaves in place: no node of a session, nothing of a bench.
                self.assertEqual(self.ok("ephemerals", "/"), "")
                after = [path for path in self.ok("ls", "-R", "/").splitlines() if path not in before.splitlines()]
                self.assertLessEqual(set(after), {"/new/two", "/held", "/led", "/new/empty", "/instances/s", "/up"})


if __name__ == "__main__":
    main()
