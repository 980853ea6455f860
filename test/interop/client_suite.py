#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""libpawl's client on pawld, on Apache ZooKeeper, or on an ensemble of either or both.

    client_suite.py --server pawld|apache|ensemble|local-sessions [--kinds aaa|ppp|pap|...]
                    --program BUILD/client_suite [...]

Starts the servers, runs the program (client_suite.c) on them, and kills, pauses and starts servers
when it asks. `local-sessions` is an ensemble, too, with what read-only servers need. What is not
known here goes to the program: --only NAME, --face FACE, --quick.
"""
import argparse
import base64
import contextlib
import hashlib
import os
import subprocess
import sys

import apache_hole
import ensemble
import servers

SUPER = "super:" + base64.b64encode(hashlib.sha1(b"super:test").digest()).decode()

CONFIG = {
    "tickTime": "200",
    "minSessionTimeout": "400",
    "maxSessionTimeout": "60000",
    "extendedTypesEnabled": "true",
    "znode.container.checkIntervalMs": "300",
}
ENSEMBLE_CONFIG = dict(CONFIG, **{
    "readonlymode.enabled": "true",
    "DigestAuthenticationProvider.superDigest": SUPER,
})

LOCAL_SESSIONS = {"localSessionsEnabled": "true", "localSessionsUpgradingEnabled": "true"}
RECONFIG = {"reconfigEnabled": "true"}


class Single:
    """One server that takes the same orders as an ensemble."""

    def __init__(self, kind):
        self.server = servers.make(kind, config=CONFIG)

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *exc):
        self.server.close()

    @property
    def connect_string(self):
        return self.server.address

    def obey(self, line):
        verb = line.split()[0]
        if verb == "restart":
            self.server.kill9()
            self.server.start()
        elif verb in ("pause", "resume"):
            self.server.process.send_signal(
                servers.signal.SIGSTOP if verb == "pause" else servers.signal.SIGCONT)
        elif verb != "wait":
            raise ValueError("unknown order: " + line)
        return self.server.address

    def settle(self):
        if self.server.running():
            self.server.process.send_signal(servers.signal.SIGCONT)
        else:
            self.server.start()


class Several(ensemble.Ensemble):
    def __init__(self, kinds, more):
        super().__init__(kinds, config=dict(ENSEMBLE_CONFIG, **more))

    def obey(self, line):
        if line.startswith("entry "):
            return self.members[int(line.split()[1]) - 1].entry()
        return super().obey(line)

    def settle(self):
        self.start_missing()


def converse(command, where):
    """Runs the program to its end; returns its exit code."""
    # Tests fork, and their children use the library: TSan has to be told that this is on purpose.
    # What the environment says of it stays: the last of two counts.
    options = "die_after_fork=0 atexit_sleep_ms=0 " + os.environ.get("TSAN_OPTIONS", "")
    env = dict(os.environ, TSAN_OPTIONS=options.strip())
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               bufsize=1, errors="replace", env=env)
    try:
        for line in process.stdout:
            if not line.startswith("!"):
                print(line, end="", flush=True)
                if line.startswith("FAIL"):
                    where.settle()  # it may have left servers dead or paused
                continue
            try:
                answer = where.obey(line[1:].strip())
            except (RuntimeError, ValueError) as e:
                answer = "error: %s" % e
            process.stdin.write(answer.replace("\n", " ") + "\n")
            process.stdin.flush()
        return process.wait(60)
    finally:
        process.kill()
        process.wait()


def judge(name, where, program, arguments):
    """What went wrong, None if nothing."""
    code = converse([program, where.connect_string, "--control"] + arguments, where)
    if code != 0:
        return "client on %s: FAILED" % name
    print("client on %s: passed" % name)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--server", required=True,
                        choices=sorted(servers.KINDS) + ["ensemble", "local-sessions"])
    parser.add_argument("--program", required=True)
    parser.add_argument("--kinds", default="aaa", help="of the ensemble's members")
    options, rest = parser.parse_known_args()
    if options.server == "local-sessions":
        more, flags = LOCAL_SESSIONS, ["--ensemble", "--local-sessions"]
    else:
        more, flags = RECONFIG, ["--ensemble", "--reconfig"]
    if options.server in servers.KINDS:
        with Single(options.server) as where:
            return 1 if judge(options.server, where, options.program, rest) else 0
    with contextlib.ExitStack() as stack:  # the files of all are kept until it is known whose fault it was
        def story():
            where = stack.enter_context(Several(options.kinds, more))
            return judge(options.kinds, where, options.program, flags + rest), where.members
        return apache_hole.play(story)


if __name__ == "__main__":
    sys.exit(main())
