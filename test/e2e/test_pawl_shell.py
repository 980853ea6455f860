#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl shell: at a terminal, and as a script from a file or a pipe."""
import os
import signal
import stat
import subprocess

import daemon
from patience import wait_until
from pawl_program import (NO, NO_NODE, OK, PAWL, REFUSED, SIGNAL, UNREACHABLE, USAGE, TestCase)
from terminal import Terminal

TAB, UP, BACKSPACE = "\t", "\x1b[A", "\x7f"
CTRL_A, CTRL_C, CTRL_D, CTRL_R = "\x01", "\x03", "\x04", "\x12"


class Typed(TestCase):
    """At a terminal. `prompt(n)` is what stands before line number n."""

    def setUp(self):
        super().setUp()
        self.env["NO_COLOR"] = "1"
        self.env["PAWL_HISTORY"] = os.path.join(self.dir, "typed")

    def prompt(self, n, state="CONNECTED"):
        return "[pawl: %s(%s) %d] " % (self.env["PAWL_SERVER"], state, n)

    def open(self, *args, n=0, state="CONNECTED"):
        terminal = Terminal([PAWL] + list(args), self.env, self.dir)
        self.addCleanup(terminal.close)
        terminal.ready(self.prompt(n, state))
        self.n = n
        return terminal

    def type(self, terminal, line, state="CONNECTED"):
        """Gives what is printed for it."""
        terminal.keys(line + "\n")
        terminal.expect("\n")
        self.n += 1
        return terminal.ready(self.prompt(self.n, state))

    def quit(self, terminal):
        terminal.keys(CTRL_D)
        self.assertEqual(terminal.end(), OK, terminal.text())

    def test_commands_in_one_session(self):
        shell = self.open("shell")
        self.assertEqual(self.type(shell, "create -e /mine data"), "/mine\n")
        self.assertEqual(self.type(shell, "ls /"), "mine\nzookeeper\n")
        self.assertEqual(self.type(shell, 'create "/with blank" "two words"'), "/with blank\n")
        self.assertEqual(self.type(shell, "get '/with blank'"), "two words\n")
        self.assertIn("no such node", self.type(shell, "get /none"))
        self.assertIn("is 'create' meant?", self.type(shell, "craete /x"))
        self.assertEqual(self.type(shell, "# nothing"), "")
        self.assertIn("quote", self.type(shell, "get '/half"))
        self.ok("exists", "/mine")
        self.quit(shell)
        self.assertEqual(self.pawl("exists", "/mine")[0], NO)  # at once: the session was closed

    def test_alone_it_is_a_shell(self):
        shell = self.open()
        self.assertEqual(self.type(shell, "exists /zookeeper"), "")
        shell.keys("quit\n")
        self.assertEqual(shell.end(), OK)

    def test_keys(self):
        shell = self.open("shell")
        shell.keys("et /zookeeper" + CTRL_A + "g")
        self.type(shell, "")
        self.type(shell, "create /typed one")
        shell.keys(UP + BACKSPACE * 3)
        self.assertIn("exists already", self.type(shell, "two"))
        shell.keys(CTRL_R + "typed one")
        self.assertIn("exists already", self.type(shell, ""))
        self.assertEqual(self.ok("get", "/typed"), "one")
        self.type(shell, "set /typed gr\u00fc\u00dfe")
        self.assertEqual(self.ok("get", "/typed"), "gr\u00fc\u00dfe")
        self.quit(shell)

    def test_words_are_completed(self):
        self.ok("create", "-p", "/folder/first/below")
        self.ok("create", "/folder/final", "data")
        self.ok("create", "/folder/with blank")
        shell = self.open("shell")
        shell.keys("cre" + TAB)
        shell.expect("create ")
        shell.keys("/fol" + TAB)
        shell.expect("/folder")
        shell.keys("/new" + "\n")
        self.n += 1
        shell.ready(self.prompt(self.n))
        self.ok("exists", "/folder/new")
        shell.keys("get /folder/fi" + TAB)
        self.assertIn("final", shell.expect("first"))   # both are shown, and the line again
        shell.ready("get /folder/fi")
        shell.keys("n" + TAB)
        shell.expect("al")
        self.assertEqual(self.type(shell, ""), "data\n")
        shell.keys("ls /folder/w" + TAB)
        shell.expect("with")
        shell.keys(CTRL_C)
        shell.ready(self.prompt(self.n))
        shell.keys("barrier ra" + TAB)
        shell.expect("ise ")
        self.type(shell, "/up")
        self.ok("exists", "/up")
        shell.keys("rm --rec" + TAB)
        shell.expect("ursive ")
        self.type(shell, "/folder")
        self.assertEqual(self.pawl("exists", "/folder")[0], NO)
        self.quit(shell)

    def test_an_interrupt_clears_the_line(self):
        shell = self.open("shell")
        shell.keys("create /never")
        shell.expect("create /never")
        shell.keys(CTRL_C)
        shell.ready(self.prompt(0))
        self.assertEqual(self.type(shell, "exists /zookeeper"), "")
        self.assertEqual(self.pawl("exists", "/never")[0], NO)
        self.quit(shell)

    def test_an_interrupt_ends_the_command_and_not_the_shell(self):
        self.ok("create", "-p", "/up")
        shell = self.open("shell")
        self.type(shell, "create -e /mine")
        self.n += 1
        shell.keys("barrier wait /up\n")  # in the shell
        shell.wait_until_cooked()
        shell.keys(CTRL_C)
        shell.ready(self.prompt(self.n))
        self.n += 1
        shell.keys("watch /up\n")  # a process
        shell.expect("WATCHING /up\n")
        shell.keys(CTRL_C)
        shell.ready(self.prompt(self.n))
        self.n += 1
        shell.keys("lock /lock -- sh -c 'echo runs; exec sleep 1000'\n")
        shell.expect("\nruns\n")
        self.ok("exists", "/mine")
        shell.keys(CTRL_C)
        shell.ready(self.prompt(self.n))
        self.assertEqual(self.ok("locks", "/lock"), "")
        self.assertEqual(self.type(shell, "getAllChildrenNumber /up"), "0\n")
        self.ok("exists", "/mine")  # the session is the same
        self.quit(shell)

    def test_a_signal_that_ends_it(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            shell = self.open("shell")
            self.type(shell, "create -e /mine")
            shell.process.send_signal(number)
            self.assertEqual(shell.end(), SIGNAL + number)
            self.assertEqual(self.pawl("exists", "/mine")[0], NO)
        shell = self.open("shell")
        shell.keys("watch /\n")
        shell.expect("WATCHING /\n")
        shell.process.send_signal(signal.SIGTERM)
        self.assertEqual(shell.end(), SIGNAL + signal.SIGTERM)

    def test_what_watches_tell_comes_while_a_line_is_typed(self):
        self.ok("create", "/w", "0")
        shell = self.open("shell")
        self.assertEqual(self.type(shell, "get -w /w"), "0\n")
        self.assertEqual(self.type(shell, "addWatch -m PERSISTENT /w"), "")
        shell.keys("exists /z")
        shell.expect("exists /z")
        self.ok("create", "/w/below")
        shell.expect("CHILDREN /w\n")
        shell.ready(self.prompt(2) + "exists /z")  # the line is there again
        self.assertEqual(self.type(shell, "ookeeper"), "")
        shell.keys("removewatches /w\n")
        shell.expect("REMOVED /w\n")  # before the prompt, or above it
        self.n += 1
        shell.ready(self.prompt(self.n))
        self.assertIn("no such watch", self.type(shell, "removewatches /w"))
        self.quit(shell)

    def test_what_watches_tell_can_be_hidden(self):
        self.ok("create", "/w", "0")
        shell = self.open("shell")
        self.assertEqual(self.type(shell, "printwatches off"), "")
        self.assertEqual(self.type(shell, "printwatches"), "printwatches is off\n")
        self.type(shell, "stat -w /w")
        self.assertEqual(self.type(shell, "set /w 1"), "")
        self.assertEqual(self.type(shell, "sync"), "")
        self.type(shell, "printwatches on")
        self.type(shell, "ls -w /w")
        shell.keys("create /w/below\n")
        shell.expect("CHILDREN /w\n")
        self.n += 1
        shell.ready(self.prompt(self.n))
        self.quit(shell)

    def test_credentials_that_are_typed(self):
        shell = self.open("shell")
        self.assertEqual(self.type(shell, "addauth digest me:secret"), "")
        self.assertIn("digest:me", self.type(shell, "whoami"))
        self.type(shell, "create /mine x auth::cdrwa")
        self.assertEqual(self.type(shell, "lock /mine -- echo held"), "held\n")
        self.type(shell, "connect")
        self.assertEqual(self.type(shell, "get /mine"), "x\n")
        self.assertIn("0 - addauth\n", self.type(shell, "history"))
        for line in ("'addauth' digest me:secret", "\"add\\x61uth\" digest me:secret",
                     "addauth digest 'me:secret"):
            self.type(shell, line)
            self.assertIn("%d - addauth\n" % (self.n - 1), self.type(shell, "history"))
        self.quit(shell)
        with open(self.env["PAWL_HISTORY"]) as f:
            self.assertNotIn("secret", f.read())

    def test_input_of_a_command(self):
        shell = self.open("shell")
        shell.keys("create /from-keys -\n")
        shell.wait_until_cooked()
        shell.keys("line" + "\n" + CTRL_D)
        self.n += 1
        shell.ready(self.prompt(self.n))
        self.assertEqual(self.ok("get", "/from-keys"), "line\n")
        self.assertEqual(self.type(shell, "exists /from-keys"), "")
        self.quit(shell)

    def test_history(self):
        shell = self.open("shell")
        self.type(shell, "exists /zookeeper")
        self.type(shell, "create /h 1")
        self.assertEqual(self.type(shell, "history"),
                         "0 - exists /zookeeper\n1 - create /h 1\n2 - history\n")
        self.ok("rm", "/h")
        self.assertEqual(self.type(shell, "redo 1"), "create /h 1\n/h\n")
        self.ok("exists", "/h")
        self.assertIn("no line 9", self.type(shell, "redo 9"))
        self.assertIn("no number", self.type(shell, "redo x"))
        self.assertIn("redo itself", self.type(shell, "redo 4"))
        self.quit(shell)
        self.assertEqual(stat.S_IMODE(os.stat(self.env["PAWL_HISTORY"]).st_mode), 0o600)
        shell = self.open("shell")
        self.ok("rm", "/h")
        shell.keys(UP * 6)
        shell.expect("create /h 1")
        self.assertEqual(self.type(shell, ""), "/h\n")
        self.quit(shell)
        self.assertIn("create /h 1\nhistory\nredo 1\n", self.ok("history"))

    def test_a_history_that_cannot_be_written(self):
        for place in ("/dev/full", "/proc/none/history", self.dir):
            self.env["PAWL_HISTORY"] = place
            shell = self.open("shell")
            self.assertEqual(self.type(shell, "exists /zookeeper"), "")
            self.assertEqual(self.type(shell, "exists /zookeeper"), "")
            self.quit(shell)

    def test_a_history_that_is_long_or_no_text(self):
        with open(self.env["PAWL_HISTORY"], "wb") as f:
            f.write(b"\xff\x00\x1b[2J\n" + b"x" * (2 << 20) + b"\n" +
                    b"".join(b"get /%d\n" % i for i in range(3000)) + b"create /last")
        shell = self.open("shell")
        shell.keys(UP)
        shell.expect("create /last")
        self.assertEqual(self.type(shell, ""), "/last\n")
        self.quit(shell)
        with open(self.env["PAWL_HISTORY"], errors="replace") as f:
            self.assertEqual(f.read(), "".join("get /%d\n" % i for i in range(2001, 3000)) +
                             "create /last\n" * 2)
        self.assertEqual(self.ok("history").splitlines()[0], "get /2002")

    def test_colours(self):
        del self.env["NO_COLOR"]
        shell = self.open("shell")
        self.assertIn(b"(\x1b[32mCONNECTED\x1b[0m)", shell.raw)
        self.type(shell, "get /none")
        self.assertIn(b"\x1b[31mpawl get: /none", shell.raw)
        self.quit(shell)

    def test_closing_and_connecting(self):
        shell = self.open("shell")
        self.type(shell, "close", state="CLOSED")
        self.assertIn("not connected; see connect", self.type(shell, "ls /", state="CLOSED"))
        self.type(shell, "connect")
        self.assertEqual(self.type(shell, "exists /zookeeper"), "")
        self.quit(shell)

    def test_without_a_server_it_is_a_shell_all_the_same(self):
        server, self.env["PAWL_SERVER"] = self.env["PAWL_SERVER"], self.nobody()
        shell = Terminal([PAWL, "-C", "100ms", "shell"], self.env, self.dir)
        self.addCleanup(shell.close)
        self.assertIn("no session", shell.ready(self.prompt(0, "CLOSED")))
        self.n = 0
        self.assertIn("no session", self.type(shell, "ls /", state="CLOSED"))
        self.env["PAWL_SERVER"] = server
        wait_until(lambda: self.connects(shell, server), "a session")
        self.assertEqual(self.type(shell, "exists /zookeeper"), "")
        self.quit(shell)

    def connects(self, shell, server):
        """Whether it did: with a patience of 100 ms it may take several times."""
        shell.keys("connect %s\n" % server)
        shell.expect("[pawl: %s(" % server)
        self.n += 1
        state = shell.expect(") %d] " % self.n)
        shell.wait_until_raw()
        return state == "CONNECTED"

    def test_a_terminal_that_cannot_edit(self):
        """Lines as the kernel edits them: no prompt, nothing for a terminal to obey, and what fails ends nothing."""
        for term in ("dumb", ""):
            shell = Terminal([PAWL, "shell"], self.env, self.dir, term=term)
            self.addCleanup(shell.close)
            shell.keys("get /none\n")
            shell.expect("pawl get: /none: no such node")
            shell.keys("create -e /mine\n")
            shell.expect("\n/mine\n")
            shell.keys(CTRL_D)
            self.assertEqual(shell.end(), NO_NODE)  # of the first that has failed
            self.assertNotIn(b"[pawl:", shell.raw)
            self.assertNotIn(b"\x1b", shell.raw)
            self.assertEqual(self.pawl("exists", "/mine")[0], NO)
        self.assertFalse(os.path.exists(self.env["PAWL_HISTORY"]))


class Scripts(TestCase):
    def script(self, text):
        path = os.path.join(self.dir, "script")
        with open(path, "wb") as f:
            f.write(text)
        return path

    def test_a_file_and_a_pipe(self):
        text = b"create /s 1\n\n# a comment\nget /s # and one more\nrm /s"
        self.assertEqual(self.ok("shell", self.script(text)), "/s\n1")
        self.assertEqual(self.ok("shell", stdin=text), "/s\n1")
        self.assertEqual(self.ok("shell", stdin=b""), "")

    def test_one_session(self):
        self.assertEqual(self.ok("shell", stdin=b"create -e /e\nexists /e\nls /\nquit\nget /none\n"),
                         "/e\ne\nzookeeper\n")
        self.assertEqual(self.pawl("exists", "/e")[0], NO)

    def test_the_first_error_ends_it(self):
        path = self.script(b"create /s\n\n  get /none\ncreate /t\n")
        for args, stdin, where in ((("shell", path), b"", path + ", line 3"),
                                   (("shell",), open(path, "rb").read(), "line 3")):
            status, out, errors = self.pawl(*args, stdin=stdin)
            self.assertEqual((status, out), (NO_NODE, "/s\n"))
            self.assertEqual(errors.splitlines()[1],
                             "pawl shell: %s: 'get /none' has ended with 110; what follows was not done"
                             % where)
            self.assertEqual(self.pawl("exists", "/t")[0], NO)
            self.ok("rm", "/s")

    def test_it_goes_on_if_wanted(self):
        status, out, errors = self.pawl("shell", "-k", stdin=b"get /none\ncreate /\ncreate /t\n")
        self.assertEqual((status, out), (NO_NODE, "/t\n"))
        self.assertIn("line 2: 'create /' has ended with", errors)

    def test_bad_lines(self):
        for text, said in ((b"nonsense\n", "no command 'nonsense'"), (b"get '/half\n", "quote"),
                           (b"get \0\n", "zero byte"), (b"get\n", "usage"), (b"get --nose /\n", "no option"),
                           (b"acl\n", "get or set")):
            status, out, errors = self.pawl("shell", stdin=b"exists /zookeeper\n" + text)
            self.assertEqual((status, out), (USAGE, ""), text)
            self.assertIn(said, errors)
            self.assertIn("line 2", errors)
        self.assertIn("No such file", self.pawl("shell", "/none")[2])
        with open("/dev/zero", "rb") as endless:
            self.assertNotEqual(self.begin("shell", stdin=endless).wait(), OK)

    def test_commands_that_are_processes(self):
        text = b"lock /lock -- sh -c 'echo held; cat; exit 7'\ncreate /t\n"
        status, out, errors = self.pawl("shell", stdin=text)
        self.assertEqual((status, out), (7, "held\n"))  # and its input is not the script
        self.assertIn("line 1", errors)
        self.assertEqual(self.pawl("exists", "/t")[0], NO)

    def test_credentials_go_with_processes(self):
        text = b"create -a auth::cdrwa /mine x\nlock /mine -- echo held\n"
        self.assertEqual(self.ok("-a", "digest:me:secret", "shell", stdin=text), "/mine\nheld\n")
        self.assertEqual(self.ok("get", "/mine", env={"PAWL_AUTH": "digest:me:secret"}), "x")
        self.assertIn("no SCHEME:AUTH", self.fails(USAGE, "ls", "/", env={"PAWL_AUTH": "nonsense"}))

    def test_a_redo_of_a_redo(self):
        """However it is written: it could be one of itself."""
        status, _, errors = self.pawl("shell", "-k", stdin=b"""'redo' 1\n"r\\x65do" 0\nredo 0\nredo 1\n""")
        self.assertEqual(status, USAGE, errors)
        self.assertIn("line 0 is a redo itself", errors)
        self.assertIn("line 1 is a redo itself", errors)

    def test_credentials_are_not_printed(self):
        for line in (b"addauth nosuch me:secret", b" 'addauth' nosuch me:secret",
                     b"addauth digest me:secret secret", b"addauth digest 'me:secret",
                     b"'addauth digest me:secret"):
            status, out, errors = self.pawl("shell", stdin=line)
            self.assertNotEqual(status, OK)
            self.assertNotIn("secret", out + errors)
            self.assertIn("line 1: 'addauth' has ended with", errors)
        for place in (("-a", "secret"), ("-a", ":secret")):
            self.assertEqual(self.fails(USAGE, *place, "ls", "/"),
                             "pawl: --auth is no SCHEME:AUTH such as digest:user:password\n")
        self.assertNotIn("secret", self.fails(USAGE, "ls", "/", env={"PAWL_AUTH": "secret"}))
        folder = os.path.join(self.dir, ".config", "pawl")
        os.makedirs(folder)
        with open(os.path.join(folder, "pawl.conf"), "w") as f:
            f.write("\nauth = secret\n")
        self.assertEqual(self.fails(USAGE, "ls", "/"),
                         "pawl: %s/pawl.conf:2: auth is no SCHEME:AUTH such as digest:user:password\n" % folder)

    def test_credentials_do_not_go_with_others_programs(self):
        """But for what they would have had without us."""
        text = (b"create /e x\naddauth digest me:typed\n"
                b"lock /lock -- sh -c 'env | grep ^PAWL_'\nedit /e\n")
        seen = os.path.join(self.dir, "seen")
        for variables in ({}, {"PAWL_AUTH": "digest:me:own"}):
            _, out, errors = self.pawl("-a", "digest:me:given", "shell", "-k", stdin=text,
                                       env=dict(variables, VISUAL="env | grep ^PAWL_ > %s; true" % seen))
            with open(seen) as f:
                out += f.read()
            self.assertEqual(out.count("PAWL_SERVER="), 2, out + errors)
            for secret in ("me:typed", "me:given"):
                self.assertNotIn(secret, out)
            self.assertEqual(out.count("PAWL_AUTH=digest:me:own\n"), 2 * len(variables))
            self.ok("rm", "/e")

    def test_answers_come_line_by_line(self):
        shell = self.begin("shell", stdin=subprocess.PIPE)
        for i in range(3):
            shell.stdin.write(b"create -s /n-\n")
            shell.stdin.flush()
            self.assertEqual(shell.stdout.readline(), b"/n-%010d\n" % i)
        shell.stdin.close()
        self.assertEqual(shell.wait(), OK)

    def test_a_signal_ends_a_script(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            shell = self.begin("shell", stdin=subprocess.PIPE)
            shell.stdin.write(b"create -e /e\n")
            shell.stdin.flush()
            self.assertEqual(shell.stdout.readline(), b"/e\n")
            shell.send_signal(number)
            self.assertEqual(shell.wait(), SIGNAL + number)
            shell.stdin.close()
            self.assertEqual(self.pawl("exists", "/e")[0], NO)

    def test_without_a_server(self):
        self.env["PAWL_SERVER"] = self.nobody()
        status, _, errors = self.pawl("-C", "100ms", "shell", stdin=b"history\nls /\n")
        self.assertEqual(status, UNREACHABLE)
        self.assertIn("line 2", errors)


class NamesOfZkCli(TestCase):
    """Beside what test/interop/zkcli_script.py compares."""

    def test_options_before_the_command(self):
        self.ok("-server", self.env["PAWL_SERVER"], "-timeout", "5000", "-waitforconnection", "ls", "/")
        self.assertIn("no number", self.fails(USAGE, "-timeout", "5s", "ls", "/"))

    def test_forms_of_data(self):
        self.ok("create", "/d", "-", stdin=bytes(range(20)))
        self.assertEqual(self.ok("get", "-b", "/d"), "AAECAwQFBgcICQoLDA0ODxAREhM=\n")
        self.assertEqual(self.ok("get", "-x", "/d"),
                         "00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  |................|\n"
                         "00000010  10 11 12 13                                       |....|\n00000014\n")
        self.ok("set", "-b", "/d", "aGk=")
        self.assertEqual(self.ok("get", "/d"), "hi")
        for bad in ("aGk", "a===", "a\x01k=", "aGk=aGk="):
            self.assertIn("no base64", self.fails(USAGE, "set", "-b", "/d", bad))
        self.assertIn("one of", self.fails(USAGE, "get", "-b", "-x", "/d"))

    def test_lists_and_removal(self):
        self.ok("create", "-p", "/a/b/c")
        self.assertEqual(self.ok("ls2", "/a").splitlines()[0], "b")
        self.assertContains(self.ok("ls2", "/a"), "numChildren = 1\n")
        self.assertContains(self.ok("getAcl", "-s", "/a"), "world:anyone:cdrwa\n", "aclVersion = 0\n")
        self.ok("setAcl", "-R", "/a", "world:anyone:cdr")
        self.assertEqual(self.ok("getAcl", "/a/b/c"), "world:anyone:cdr\n")
        self.assertIn("-R", self.fails(USAGE, "setAcl", "-R", "-v", "1", "/a", "world:anyone:r"))
        self.ok("rmr", "/a/b")
        self.ok("deleteall", "/a", "-b", "100")
        self.assertIn("no number", self.fails(USAGE, "deleteall", "/a", "-b", "x"))

    def test_a_single_command_waits_for_its_watch(self):
        self.ok("create", "/w", "0")
        for args, change, event in ((("get", "-w", "/w"), ("set", "/w", "1"), b"CHANGED /w\n"),
                                    (("ls", "-s", "-w", "/w"), ("create", "/w/x"), b"CHILDREN /w\n"),
                                    (("stat", "-w", "/w"), ("rm", "-r", "/w"), b"DELETED /w\n")):
            waits = self.begin(*args)
            self.assertNotEqual(waits.stdout.read(1), b"")  # the watch is set with the answer
            self.ok(*change)
            self.assertTrue(waits.stdout.read().endswith(event))
            self.assertEqual(waits.wait(), OK)

    def test_what_is_of_a_shell_does_no_harm_outside(self):
        for words in (("close",), ("quit",), ("exit",), ("connect",), ("printwatches", "off"),
                      ("addauth", "digest", "a:b"), ("history",), ("help",), ("help", "get"),
                      ("version",), ("getEphemerals",), ("help", "acl")):
            self.ok(*words)
        self.assertEqual(self.fails(USAGE, "redo", "1"), "pawl redo: there is no line 1; see history\n")
        for options in (("-R",), ("-d",), ("-z", "1-2"), ("-D", self.dir)):  # of a node's history
            self.assertEqual(self.fails(USAGE, "history", *options), "pawl history: the history of which node?\n")
        self.fails(REFUSED, "removewatches", "/")
        self.fails(UNREACHABLE, "-C", "100ms", "connect", self.nobody())

    def test_the_servers_of_a_configuration(self):
        self.assertEqual(self.ok("config", "-c").strip(), self.ok("config").partition("version=")[2].strip())


if __name__ == "__main__":
    daemon.main()
