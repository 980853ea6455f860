#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Java's shell (zkCli.sh) says the same on pawld as on Apache ZooKeeper.

    zkcli.py --server pawld|apache

Runs the commands of zkcli_commands.txt on a fresh Apache server and on a fresh server under test and
compares what the shell prints, command by command; times, session ids and ports are masked, zxids
are not. Events are printed by another thread of the shell, so they are compared as a list of their
own, in order.
"""
import argparse
import difflib
import os
import re
import select
import subprocess
import sys
import time

import servers

HERE = os.path.dirname(os.path.abspath(__file__))
JARS = ":".join(os.path.join(servers.JAR_FOLDER, j) for j in ("zookeeper.jar", "slf4j-nop.jar"))
SHELL = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", JARS,
         "org.apache.zookeeper.ZooKeeperMain"]
COMMAND_SECONDS = 120
CONFIG = {"extendedTypesEnabled": "true", "enforceQuota": "true"}

# Single commands on the command line: what matters is the exit code too.
ONE_SHOTS = (["ls", "/"], ["get", "/none"], ["create", "/one-shot", "x"], ["get", "/one-shot"],
             ["delete", "/one-shot"], ["nosuch"])

MASKS = (
    (re.compile(r"^([cm]time = ).*"), r"\1TIME"),
    (re.compile(r"127\.0\.0\.1:\d+"), "SERVER"),
    (re.compile(r"0x1[0-9a-f]{14,15}\b"), "SESSION"),
)


class Shell:
    """One run of the shell that is fed line by line."""

    def __init__(self, address):
        self.process = subprocess.Popen(
            SHELL + ["-waitforconnection", "-server", address], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.text = b""
        self.n_marks = 0

    def run(self, command):
        """The lines printed by one command. Behind it goes one whose answer nobody can miss."""
        self.n_marks += 1
        mark = "/mark%d@" % self.n_marks
        self.process.stdin.write(("%s\nget %s\n" % (command, mark)).encode())
        self.process.stdin.flush()
        return self.read_until("Node does not exist: " + mark)

    def read_until(self, mark):
        deadline = time.monotonic() + COMMAND_SECONDS
        while True:
            for i, line in enumerate(self.text.split(b"\n")[:-1]):
                if mark.encode() in line:
                    lines = self.text.split(b"\n")
                    self.text = b"\n".join(lines[i + 1:])
                    return [part.decode() for part in lines[:i]]
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError("the shell does not answer; so far: %r" % self.text)
            part = os.read(self.process.stdout.fileno(), 65536)
            if not part:
                rest, self.text = self.text.decode().split("\n"), b""
                return rest
            self.text += part

    def end(self):
        self.process.stdin.close()
        return self.process.wait(COMMAND_SECONDS)


def read_commands():
    """A list of sessions, each a list of commands."""
    sessions = [[]]
    with open(os.path.join(HERE, "zkcli_commands.txt")) as f:
        for line in f:
            line = line.strip()
            if line == "--":
                sessions.append([])
            elif line and not line.startswith("#"):
                sessions[-1].append(line)
    return sessions


def mask(line):
    for pattern, replacement in MASKS:
        line = pattern.sub(replacement, line)
    return line


def split_events(lines):
    """(what the command printed, the events printed in between). That the shell closes its own
    handle is no event of the server's, and the shell may end before it is printed."""
    printed, events = [], []
    for line in lines:
        if line.startswith("WatchedEvent"):
            events += [] if "state:Closed" in line else [line]
        elif line not in ("WATCHER::", ""):
            printed.append(mask(line))
    return printed, events


def in_any_order(command, printed):
    """The order of these answers is that of a hash table in Java: it means nothing."""
    if command.startswith("getEphemerals"):
        return [line if line[0] != "[" else str(sorted(line.strip("[]").split(", ")))
                for line in printed]
    return sorted(printed) if command == "whoami" else printed


def transcript(server):
    """All that the shell says on a server, as lines of text."""
    text = []
    for commands in read_commands():
        shell = Shell(server.address)
        events = []
        try:
            for command in commands[:-1]:
                printed, more = split_events(shell.run(command))
                events += more
                text += ["$ " + command] + in_any_order(command, printed)
            printed, more = split_events(shell.run(commands[-1]))
            text += ["$ " + commands[-1]] + printed + ["exit code %d" % shell.end()]
            text += ["# events"] + events + more
        finally:
            shell.process.kill()
    return text + one_shots(server)


def one_shots(server):
    text = []
    for command in ONE_SHOTS:
        done = subprocess.run(SHELL + ["-server", server.address] + command, text=True,
                              timeout=2 * COMMAND_SECONDS, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        printed, _ = split_events(done.stdout.splitlines())
        text += ["$ zkCli.sh " + " ".join(command)] + printed
        text.append("exit code %d" % done.returncode)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--server", choices=sorted(servers.KINDS), required=True)
    parser.add_argument("--print", action="store_true", help="show the whole transcript")
    options = parser.parse_args()
    with servers.make(options.server, config=CONFIG) as server:
        got = transcript(server)
        server.end()
    with servers.ApacheServer(config=CONFIG) as server:
        wanted = transcript(server)
    if options.print:
        print("\n".join(got))
    n_commands = sum(line.startswith("$ ") for line in wanted)
    lines = list(difflib.unified_diff(wanted, got, "apache", options.server, n=3, lineterm=""))
    if lines:
        print("\n".join(lines))
    print("zkCli on %s: %d commands, %s" % (options.server, n_commands,
                                            "FAILED" if lines else "the same as on Apache's"))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
