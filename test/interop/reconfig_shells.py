# SPDX-License-Identifier: Apache-2.0
"""zkCli.sh's reconfig and config, and pawl's, on three members of ours: each adds and removes an observer, and is
told why it may not."""
import os
import subprocess
import sys

import tree_dump
from changing import Changing, version_of
from zkcli import Shell

SECONDS = 120
USAGE, CONFLICT, REFUSED = 2, 111, 112  # exit codes of pawl


def zkcli(e):
    """One session of Java's shell; what it prints after each command."""
    shell = Shell(",".join(m.address for m in e.members))
    try:
        shell.run("ls /")  # what it says when it connects comes before

        def says(command, *expected):
            lines = shell.run(command)
            for text in expected:
                assert any(text in line for line in lines), (command, text, lines)
        says("config", "server.1=127.0.0.1:", "version=")
        says("reconfig -add 9=127.0.0.1:1:2:observer;127.0.0.1:3", "Insufficient permission")
        says("reconfig -remove 1,2", "Arguments are not valid")
        says("reconfig -v 7 -remove 9", "version No is not valid")
        says("reconfig -add 7=127.0.0.1:1:2;3,8=127.0.0.1:4:5;6,9=127.0.0.1:7:8;9", "No quorum of new config is connected")
        says("addauth digest " + tree_dump.SUPER)
        says("reconfig -add 9=127.0.0.1:1:2:observer;127.0.0.1:3", "Committed new configuration:",
             "server.9=127.0.0.1:1:2:observer;127.0.0.1:3", "version=")
        says("config -c", "127.0.0.1:3")
        says("reconfig -remove 9", "Committed new configuration:")
    finally:
        shell.end()


def pawl(e, *arguments, status=0):
    program = os.path.join(os.path.dirname(e.members[0].binary), "pawl")
    run = subprocess.run([program, "-s", ",".join(m.address for m in e.members)] + list(arguments),
                         capture_output=True, text=True, timeout=SECONDS)
    assert run.returncode == status, run
    return run.stdout + run.stderr


def pawls_own(e):
    before = pawl(e, "config")
    assert "credentials" in pawl(e, "reconfig", "-r", "1", status=REFUSED)
    auth = ("-a", "digest:" + tree_dump.SUPER)
    text = pawl(e, *auth, "reconfig", "-a", "9=127.0.0.1:1:2:observer;127.0.0.1:3", "-v", version_of(before).strip())
    assert "server.9=127.0.0.1:1:2:observer;127.0.0.1:3\n" in text, text
    pawl(e, *auth, "reconfig", "-r", "9", "-v", version_of(before).strip(), status=CONFLICT)
    assert "refuses such a list" in pawl(e, *auth, "reconfig", "-r", "1,2", status=USAGE)
    text = pawl(e, *auth, "reconfig", "-r", "9")
    assert "server.9" not in text, text


def main():
    with Changing("ppp", dict(tree_dump.SUPER_CONFIG, skipACL="no")) as e:
        e.start()
        zkcli(e)
        pawls_own(e)
        e.wait_in_force(e.text())
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
