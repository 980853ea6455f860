#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl completions zsh and fish, in those shells if they are there. That of bash is in
test_pawl_exchange.py."""
import os
import shutil
import subprocess
import unittest

import daemon
from pawl_program import PAWL, TestCase
from patience import PATIENCE_SECONDS
from terminal import Terminal

TAB, CTRL_U = "\t", "\x15"
FISH, ZSH = shutil.which("fish"), shutil.which("zsh")

ZSHRC = """PROMPT='ready> ' RPROMPT=
zstyle ':completion:*' list-colors ''
unsetopt zle_bracketed_paste 2>/dev/null; unset zle_bracketed_paste
autoload -Uz compinit && compinit -u -D
source %s
"""


class Completions(TestCase):
    def setUp(self):
        super().setUp()
        self.env["PATH"] = os.path.dirname(PAWL) + ":" + self.env.get("PATH", "/usr/bin:/bin")
        self.ok("create", "-p", "/folder/alpha")
        self.ok("create", "/folder/beta")

    @unittest.skipUnless(FISH, "no fish")
    def test_fish(self):
        script = self.file("pawl.fish", self.ok("completions", "fish"))
        for line, words in (("pawl quo", ["quota"]), ("pawl quota ", ["get", "rm", "set"]),
                            ("pawl quota set --hard-b", ["--hard-bytes"]), ("pawl ls --rec", ["--recursive"]),
                            ("pawl --json get /fol", ["/folder"]), ("pawl --se", ["--server", "--session-timeout"]),
                            ("pawl -s %s ls /folder/" % self.env["PAWL_SERVER"], ["/folder/alpha", "/folder/beta"]),
                            ("pawl quota set /folder/b", ["/folder/beta"]), ("pawl locks ", ["gc", "why"]),
                            ("pawl locks /folder/al", ["/folder/alpha"])):
            done = subprocess.run([FISH, "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line],
                                  env=self.env, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
            got = [candidate.split("\t")[0] for candidate in done.stdout.splitlines()]
            self.assertEqual((sorted(got), done.stderr), (words, ""), line)

    @unittest.skipUnless(ZSH, "no zsh")
    def test_zsh(self):
        script = self.file("_pawl", self.ok("completions", "zsh"))
        self.file(".zshrc", ZSHRC % script)
        shell = Terminal([ZSH, "-i"], dict(self.env, ZDOTDIR=self.dir), self.dir)
        self.addCleanup(shell.close)
        shell.ready("ready> ")
        for typed, becomes in (("pawl quo", "quota "), ("pawl quota set --hard-b", "hard-bytes "),
                               ("pawl ls --rec", "recursive "), ("pawl --json get /fol", "/folder"),
                               ("pawl -s %s ls /folder/al" % self.env["PAWL_SERVER"], "alpha"),
                               ("pawl quota set /folder/b", "beta"), ("pawl locks g", "gc "),
                               ("pawl barrier ra", "raise ")):
            shell.keys(typed)
            shell.expect(typed[-2:])
            shell.keys(TAB)
            rest = becomes[max(i for i in range(len(becomes)) if typed.endswith(becomes[:i])):]
            shell.expect(rest)
            shell.keys(CTRL_U)


if __name__ == "__main__":
    daemon.main()
