#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures libpawl's recipes side by side with Java Curator (Debian's 5.4.0).

Same machine, same run, the same servers (Apache ZooKeeper and pawld, each started once), the clients
taking turns; each cell is the median of its runs. Prints one table and, with --out, writes it to a
file. Loopback only; what is written goes to one folder that is removed at the end.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import time

import table
from bench import REPOSITORY, choose_folder, cpu_model
from runner import pairs, say
from servers import Apache, Pawld

RUN_SECONDS_MAX = 180
JAR_FOLDER = "/usr/share/java"
JARS = ("curator-client", "curator-framework", "curator-recipes", "zookeeper", "zookeeper-jute",
        "guava", "failureaccess", "slf4j-api", "slf4j-nop", "jackson-core", "jackson-databind",
        "jackson-annotations")
HERE = os.path.dirname(os.path.abspath(__file__))


class Curator:
    """Java Curator; compiled into a folder of this run."""

    name = "Curator"

    def __init__(self, folder):
        self.classes = os.path.join(folder, "classes")
        jars = [os.path.join(JAR_FOLDER, jar + ".jar") for jar in JARS]
        self.path = ":".join([jar for jar in jars if os.path.exists(jar)] + [self.classes])

    def missing(self):
        if shutil.which("javac") is None:
            return "no javac"
        if not os.path.exists(os.path.join(JAR_FOLDER, "curator-recipes.jar")):
            return "no libcurator-recipes-java"
        return None

    def prepare(self):
        subprocess.run(["javac", "-nowarn", "-XDsuppressNotes", "-d", self.classes, "-cp", self.path,
                        os.path.join(HERE, "curator", "CuratorBench.java")], check=True)

    def command(self):
        return ["java", "-cp", self.path, "CuratorBench"]


class Pawl:
    """libpawl."""

    name = "pawl"

    def __init__(self, o):
        self.program = os.path.join(o.bin, "recipe-bench-pawl")

    def missing(self):
        return None if os.access(self.program, os.X_OK) else f"{self.program} is not there"

    def prepare(self):
        pass

    def command(self):
        return [self.program]


class Row:
    """Columns are (client, server, more arguments); a bar is (ours, theirs, factor)."""

    def __init__(self, key, title, mode, figure, columns, bars, limit=None):
        self.key, self.title, self.mode, self.figure = key, title, mode, figure
        self.columns, self.bars, self.limit = columns, bars, limit
        self.samples = {}

    def value(self, column):
        samples = self.samples.get(column)
        return statistics.median(s[self.figure] for s in samples) if samples else None

    def show(self, value):
        if value is None:
            return "-"
        if self.figure == "rate":
            return table.rate(value)
        return table.milliseconds(value) if self.figure == "ms" else table.megabytes(value)

    def better(self, ours, theirs):
        """How many times better; a rate wants to be high, the others low."""
        a, b = self.value(ours), self.value(theirs)
        if not a or not b:
            return None
        return a / b if self.figure == "rate" else b / a

    def lines(self):
        for ours, theirs, factor in self.bars:
            ratio = self.better(ours, theirs)
            met = None if ratio is None else ratio >= factor
            bar = f">= {factor:g}x"
            if self.limit:
                met = None if met is None else met and self.value(ours) >= self.limit
                bar += f" and {table.rate(self.limit)}"
            yield [f"{self.title}", ours, self.show(self.value(ours)), theirs,
                   self.show(self.value(theirs)), "-" if ratio is None else f"{ratio:.2f}x", bar,
                   "-" if met is None else "met" if met else "MISSED"]

    def missed(self):
        return any(line[-1] != "met" for line in self.lines())


def both(key, title, mode, bars, **more):
    columns = [("Curator", "Apache"), ("pawl", "Apache"), ("pawl", "pawld")]
    ours = ["pawl on Apache", "pawl on pawld"]
    return Row(key, title, mode, "rate", columns,
               [(one, "Curator on Apache", factor) for one, factor in zip(ours, bars)], **more)


def same_server(key, title, mode, figure, factor, servers, limit=None):
    return Row(key, title, mode, figure, [(c, s) for s in servers for c in ("Curator", "pawl")],
               [(f"pawl on {s}", f"Curator on {s}", factor) for s in servers], limit)


def make_rows(o):
    cache = ["--nodes", str(o.nodes)]
    follow = cache + ["--changes", str(o.changes)]
    queued = ["queued", "--locks", str(o.queued)]
    return [
        both("pairs", "uncontended acquire + release, 1 thread", ["pairs"], (1.3, 2.2)),
        both("contend", "8 contenders, 8 clients, one lock", ["contend", "--clients", "8"],
             (1.2, 2.2)),
        same_server("many", "64 locks, 4 contenders each", ["many", "--locks", "64", "--clients",
                    "4"], "rate", 3, ["pawld"], 15000),
        same_server("cache", f"a cache of {o.nodes:,} children: until initialised",
                    ["cache"] + cache, "ms", 3, ["Apache", "pawld"]),
        same_server("follow", "the same: changes followed", ["follow"] + follow, "rate", 3,
                    ["Apache", "pawld"]),
        same_server("queued", f"memory of a process with {o.queued:,} locks queued", queued,
                    "rss_kb", 10, ["pawld"]),
    ]


class Bench:
    def __init__(self, o, folder):
        self.o = o
        self.servers = {"Apache": Apache(folder), "pawld": Pawld(folder, os.path.abspath(o.pawld))}
        self.clients = {c.name: c for c in (Curator(folder), Pawl(o))}

    def measure(self, rows):
        for who in list(self.clients.values()) + list(self.servers.values()):
            if who.missing():
                sys.exit(f"recipe_bench: {who.missing()}")
        for client in self.clients.values():
            client.prepare()
        try:
            for server in self.servers.values():
                server.start(server.fresh_data("recipes"))
            self.warm_up()
            for row in rows:
                for _ in range(self.o.runs):
                    for client, server in row.columns:
                        self.cell(row, client, server)
        finally:
            for server in self.servers.values():
                server.stop()

    def warm_up(self):
        say("Apache: warming up")  # the JVM compiles what it has seen running
        self.run("pawl", "Apache", "many", "--clients", "4", "--seconds", str(self.o.first_warmup))

    def command(self, client, server, mode, *arguments):
        return self.clients[client].command() + [
            mode, "--servers", f"127.0.0.1:{self.servers[server].port}", *arguments]

    def run(self, client, server, mode, *arguments):
        done = subprocess.run(self.command(client, server, mode, *arguments), capture_output=True,
                              text=True, timeout=RUN_SECONDS_MAX)
        if done.returncode != 0:
            raise RuntimeError(f"{client} {mode} on {server}: {done.stderr.strip()[-400:]}")
        return pairs(done.stdout)

    def cell(self, row, client, server):
        mode, *arguments = row.mode
        if mode in ("cache", "follow"):
            self.run("pawl", server, "make", "--nodes", str(self.o.nodes))
        # The JVM is given longer to compile: what it can do is wanted, not how it starts.
        warmup = self.o.java_warmup if client == "Curator" else self.o.warmup
        arguments += ["--warmup", str(warmup), "--seconds", str(self.o.seconds)]
        if mode == "follow":
            kinds = ("newer", "children") if client == "Curator" else (None,)
            got = max((self.follow(client, server, kind, arguments) for kind in kinds),
                      key=lambda g: g["rate"])
        elif mode == "cache" and client == "Curator":
            got = min((self.run(client, server, mode, *arguments, "--kind", kind)
                       for kind in ("newer", "children")), key=lambda g: g["ms"])
        else:
            got = self.run(client, server, mode, *arguments)
        row.samples.setdefault(f"{client} on {server}", []).append(got)
        say(f"{row.key} {client} on {server}: " + " ".join(
            f"{key}={value:g}" for key, value in got.items() if isinstance(value, float)))

    def follow(self, client, server, kind, arguments):
        """One process has the cache, another makes the changes; of Curator's caches the better."""
        self.run("pawl", server, "make", "--nodes", str(self.o.nodes))
        more = [] if kind is None else ["--kind", kind]
        cache = subprocess.Popen(self.command(client, server, "follow", *arguments, *more),
                                 stdout=subprocess.PIPE, text=True)
        try:
            while "ready=1" not in (line := cache.stdout.readline()):
                if not line:
                    raise RuntimeError(f"{client} on {server}: no cache")
            change = subprocess.run(
                self.command("pawl", server, "change", "--nodes", str(self.o.nodes), "--changes",
                             str(self.o.changes)), input="go\n", capture_output=True, text=True,
                timeout=RUN_SECONDS_MAX)
            if change.returncode != 0:
                raise RuntimeError(change.stderr)
            return pairs(cache.communicate(timeout=RUN_SECONDS_MAX)[0])
        finally:
            cache.kill()
            cache.wait()
            cache.stdout.close()


HEADER = ["row", "ours", "figure", "theirs", "figure", "ratio", "bar", "verdict"]


def render(rows):
    lines = [HEADER] + [line for row in rows for line in row.lines()]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]

    def one(cells):
        return "| " + " | ".join(text.ljust(width) for text, width in zip(cells, widths)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([one(lines[0]), rule] + [one(line) for line in lines[1:]])


def report(o, rows):
    lines = [f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} x {cpu_model()}, Linux "
             f"{platform.release()}; {o.runs} runs of {o.seconds:g} s per cell, medians.", "",
             render(rows)]
    print("\n".join(lines))
    if o.out:
        with open(o.out, "w") as f:
            f.write("\n".join(lines) + "\n")
    if o.json:
        with open(o.json, "w") as f:
            json.dump({row.key: row.samples for row in rows}, f, indent=1)


def parse_options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    build = os.path.join(REPOSITORY, "build", "bin")
    p.add_argument("--pawld", default=os.environ.get("PAWLD", os.path.join(build, "pawld")))
    p.add_argument("--bin", default=build, help="where recipe-bench-pawl is (build/bin)")
    p.add_argument("--rows", default="", help="only these: pairs, contend, many, cache, follow, "
                   "queued; several with commas")
    p.add_argument("--runs", type=int, default=3, help="per cell (3)")
    p.add_argument("--seconds", type=float, default=3, help="measured, per run (3)")
    p.add_argument("--warmup", type=float, default=0.5, help="before that (0.5)")
    p.add_argument("--java-warmup", type=float, default=3, help="the same for Curator (3)")
    p.add_argument("--first-warmup", type=float, default=8, help="of Apache's server (8)")
    p.add_argument("--nodes", type=int, default=10000, help="that a cache holds (10000)")
    p.add_argument("--changes", type=int, default=30000, help="that it follows (30000)")
    p.add_argument("--queued", type=int, default=1000, help="locks whose memory is taken (1000)")
    p.add_argument("--folder", help="where the servers keep their data (build/, else /var/tmp)")
    p.add_argument("--out", help="write the table there, as markdown")
    p.add_argument("--json", help="write all samples there")
    p.add_argument("--strict", action="store_true", help="status 1 if a bar is missed")
    p.add_argument("--quick", action="store_true", help="a smoke test, not a measurement")
    o = p.parse_args()
    if o.quick:
        o.runs, o.seconds, o.warmup, o.java_warmup, o.first_warmup = 1, 0.5, 0.2, 0.5, 1
        o.nodes, o.changes, o.queued = 1000, 2000, 100
    return o


def main():
    o = parse_options()
    wanted = [w for w in o.rows.split(",") if w]
    rows = [r for r in make_rows(o) if not wanted or r.key in wanted]
    if not rows:
        sys.exit(f"recipe_bench: no row is called {o.rows}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = choose_folder(o)
    try:
        Bench(o, folder).measure(rows)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report(o, rows)
    if o.strict and any(row.missed() for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
