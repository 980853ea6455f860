#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures pawld side by side with Apache ZooKeeper and with a server that only answers, alone and
as ensembles of three.

Same machine, same run, fsync on in all of them, the servers taking turns; each cell is the median
of its runs. Prints one table and, with --out, writes it to a file. Loopback only; what is written
goes to one folder that is removed at the end.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import ensemble_rows
import table
from runner import LOAD_SECONDS_MAX, SETUP_SECONDS_MAX, Runner, say
from servers import NEVER_SNAPSHOT, Apache, ApacheMember, Ensemble, Floor, Pawld

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLOOR_BAR = 0.6

RATE_ROWS = (
    table.RateRow("reads-50x1", "reads, 50 connections x 1 outstanding", 2.2,
                  ["reads", "--connections", "50"]),
    table.RateRow("reads-10x100", "reads, 10 x 100", 15,
                  ["reads", "--connections", "10", "--outstanding", "100"], floor_bar=FLOOR_BAR),
    table.RateRow("reads-1x1", "reads, 1 x 1", 1.8, ["reads", "--connections", "1"]),
    table.RateRow("writes-50x1", "writes, 50 x 1", 1.5, ["writes", "--connections", "50"]),
    table.RateRow("writes-10x100", "writes, 10 x 100", 8,
                  ["writes", "--connections", "10", "--outstanding", "100"], floor_bar=FLOOR_BAR),
    table.RateRow("churn-50x1", "creates and deletes, 50 x 1", 1.5, ["churn", "--connections", "50"],
                  floor_bar=FLOOR_BAR),
    table.RateRow("writes-1x1", "writes, 1 x 1", 1.7, ["writes", "--connections", "1"]),
    table.RateRow("mix-50x1", "90 % reads 10 % writes, 50 x 1", 1.7,
                  ["mix", "--connections", "50"]),
    table.RateRow("mix-10x100", "90 % reads 10 % writes, 10 x 100", 8,
                  ["mix", "--connections", "10", "--outstanding", "100"]),
    table.RateRow("locks-1x16", "lock hand-overs, 1 lock 16 contenders", 2,
                  ["locks", "--locks", "1", "--contenders", "16"], without=("floor",)),
    table.RateRow("locks-64x4", "lock hand-overs, 64 locks 4 contenders", 2.5,
                  ["locks", "--locks", "64", "--contenders", "4"], without=("floor",)),
    table.RateRow("watch", "one change seen by 1,000 watchers, from change to last", 5,
                  ["watch", "--connections", "1000"]),
    table.RateRow("watch-rounds", "the same, setting the watches again included", 5,
                  ["watch", "--connections", "1000"], figure="rate_window"),
)

MEMORY_LOADED = table.LimitRow("memory-loaded", "memory with {n} znodes, after loading", 250e3,
                               table.megabytes)
MEMORY_FRESH = table.LimitRow("memory-fresh", "memory with {n} znodes, after a restart", 250e3,
                              table.megabytes)
IDLE = table.LimitRow("idle", "memory per idle connection with its session", 4, table.kilobytes)
START_EMPTY = table.LimitRow("start-empty", "start to first answer, empty", 30, table.milliseconds)
START_FULL = table.LimitRow("start-full", "start to first answer, {n} znodes", 1500,
                            table.milliseconds)
SNAPSHOT = table.SnapshotRow("snapshot",
                             "p99.9 of writes during a snapshot of {n} znodes / without", 2)
FULL_TREE_ROWS = (MEMORY_LOADED, MEMORY_FRESH, START_FULL, SNAPSHOT)
ONE_SERVER_ROWS = RATE_ROWS + (MEMORY_LOADED, MEMORY_FRESH, IDLE, START_EMPTY, START_FULL, SNAPSHOT)
ALL_ROWS = ONE_SERVER_ROWS + ensemble_rows.ALL_ROWS


class Bench(Runner):
    """The rows of one server."""

    # Memory per connection.

    def idle(self):
        for _ in range(self.options.runs):
            for server in self.real_servers():
                with self.failing([IDLE], server):
                    server.start(server.fresh_data("idle"))
                    self.idle_cell(server)
                server.stop()

    def idle_cell(self, server):
        # A first small crowd, so that what is allocated once is not charged to the connections.
        with_few = self.rss_with_connections(server, 100)
        with_many = self.rss_with_connections(server, self.options.idle)
        value = (with_many - with_few) * 1.024 / (self.options.idle - 100)
        IDLE.add(server.name, {"value": value})
        say(f"idle {server.name}: {value:.2f} KB per connection")

    def rss_with_connections(self, server, count):
        process = subprocess.Popen(
            [self.load_program, "idle", "--port", str(server.port), "--connections", str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            if "ready=1" not in process.stdout.readline():
                raise RuntimeError(f"{server.name} does not take {count} connections")
            return server.rss_kb()
        finally:
            process.stdin.close()
            process.wait(SETUP_SECONDS_MAX)
            process.stdout.close()

    # Time to the first answer of an empty server.

    def start_empty(self):
        for _ in range(self.options.runs):
            for server in self.real_servers():
                with self.failing([START_EMPTY], server):
                    got = self.first_answer(server, server.fresh_data("empty"), "/")
                    START_EMPTY.add(server.name, {"value": got["ms"]})
                    say(f"start-empty {server.name}: {got['ms']:.1f} ms, "
                        f"stopped in {got['stop_ms']:.0f} ms")

    # What needs the big tree.

    def full_tree(self, rows):
        if not rows:
            return
        for _ in range(self.options.runs):
            for server in self.real_servers():
                self.full_tree_run(server, rows)

    def full_tree_run(self, server, rows):
        data = server.fresh_data("full")
        with self.failing(rows, server):
            self.fill(server, data)
            if MEMORY_FRESH in rows or START_FULL in rows:
                self.restart(server, data)
        if SNAPSHOT in rows:
            with self.failing([SNAPSHOT], server):
                self.snapshot(server, data)
        server.stop()
        shutil.rmtree(data, ignore_errors=True)

    def fill(self, server, data):
        count = self.options.znodes
        server.start(data)
        got = self.load_on(server, ["znodes", "--znodes", str(count), "--outstanding", "100",
                                    "--max-seconds", str(LOAD_SECONDS_MAX)], LOAD_SECONDS_MAX, 0)
        if got["ops"] != count:
            raise RuntimeError(f"{server.name} took {got['ops']:.0f} of {count} znodes in time")
        rss = server.rss_kb() * 1.024
        MEMORY_LOADED.add(server.name, {"value": rss})
        server.stop()
        say(f"{server.name}: {count} znodes at {table.rate(got['rate'])}, {table.megabytes(rss)}")

    def restart(self, server, data):
        got = self.first_answer(server, data, "/load/d0000/n0000000")
        rss = got["rss_kb"] * 1.024
        START_FULL.add(server.name, {"value": got["ms"]})
        MEMORY_FRESH.add(server.name, {"value": rss})
        say(f"{server.name}: first answer after {got['ms']:.0f} ms, {table.megabytes(rss)}")

    def snapshot(self, server, data):
        o = self.options
        quiet = self.writes_on_full(server, data, NEVER_SNAPSHOT, [])
        busy = self.writes_on_full(server, data, o.snap_count, [
            "--snapshot-dir", os.path.join(data, "version-2"), "--snapshots", str(o.snapshots)])
        if busy["snapshots"] < 1:
            raise RuntimeError(f"{server.name} wrote no snapshot within the window")
        with_ms, without_ms = busy["p999_snapshot_us"] / 1000, quiet["p999_us"] / 1000
        sample = {key: busy[key.replace("_us", "_snapshot_us")] for key in table.LATENCIES}
        SNAPSHOT.add(server.name, dict(sample, value=with_ms / without_ms, with_ms=with_ms,
                                       without_ms=without_ms))
        say(f"snapshot {server.name}: p99.9 {with_ms:.3g} ms with, {without_ms:.3g} ms without; "
            f"{busy['snapshots']:.0f} snapshots took {busy['snapshot_seconds']:.2f} s; "
            f"{table.rate(busy['rate'])} with, {table.rate(quiet['rate'])} without")

    def writes_on_full(self, server, data, snap_count, arguments):
        server.start(data, snap_count)
        try:
            return self.load_on(server, ["writes", "--connections", "50"] + arguments,
                                self.options.seconds, self.options.first_warmup)
        finally:
            server.stop()


def parse_options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--pawld", default=os.environ.get(
        "PAWLD", os.path.join(REPOSITORY, "build", "bin", "pawld")), help="the server to measure")
    p.add_argument("--bin", default=os.path.join(REPOSITORY, "build", "bin"),
                   help="where pawl-load and pawl-floor are (build/bin)")
    p.add_argument("--servers", default="Apache,floor,pawld")
    p.add_argument("--rows", default="", help="only rows whose name starts so: "
                   + ", ".join(row.key for row in ALL_ROWS))
    p.add_argument("--runs", type=int, default=3, help="per cell (3)")
    p.add_argument("--seconds", type=float, default=3, help="measured, per run (3)")
    p.add_argument("--warmup", type=float, default=1, help="before that (1)")
    p.add_argument("--first-warmup", type=float, default=5, help="once per server start (5)")
    p.add_argument("--znodes", type=int, default=1000000)
    p.add_argument("--missed", type=int, default=100000, help="writes that a member missed (100000)")
    p.add_argument("--idle", type=int, default=5000, help="idle connections (5000)")
    p.add_argument("--snap-count", type=int, default=60000, help="of the snapshot row")
    p.add_argument("--snapshots", type=int, default=2, help="to wait for there")
    p.add_argument("--folder", help="where the servers keep their data (build/, else /var/tmp)")
    p.add_argument("--out", help="write the table there, as markdown")
    p.add_argument("--json", help="write all samples there")
    p.add_argument("--strict", action="store_true", help="status 1 if a bar is missed, "
                   "not only if a server failed")
    p.add_argument("--quick", action="store_true", help="a minute or so: one short run, small tree")
    o = p.parse_args()
    if o.quick:
        o.runs, o.seconds, o.warmup, o.first_warmup = 1, 0.6, 0.2, 1.5
        o.znodes, o.idle, o.snap_count, o.snapshots = 50000, 1000, 10000, 1
        o.missed = 10000
    return o


def choose_folder(o):
    build = os.path.join(REPOSITORY, "build")
    parent = o.folder or (build if os.path.isdir(build) else "/var/tmp")
    os.makedirs(parent, exist_ok=True)
    kind = subprocess.run(["stat", "-f", "-c", "%T", parent], capture_output=True, text=True,
                          check=True).stdout.strip()
    if kind in ("tmpfs", "ramfs"):
        say(f"warning: {parent} is {kind}: durable writes cost nothing there")
    return tempfile.mkdtemp(prefix="bench-", dir=parent)


def choose_servers(o, folder):
    known = {"Apache": Apache(folder), "floor": Floor(folder, os.path.join(o.bin, "pawl-floor")),
             "pawld": Pawld(folder, os.path.abspath(o.pawld))}
    chosen = []
    for name in o.servers.split(","):
        if name not in known:
            sys.exit(f"bench: no server is called {name}")
        why = known[name].missing()
        if why:
            say(f"{name} is left out: {why}")
        else:
            chosen.append(known[name])
    return chosen


def choose_ensembles(o, folder, servers):
    """Three of each of those that were chosen; the floor agrees with nobody."""
    make = {"Apache": lambda label: ApacheMember(folder, label),
            "pawld": lambda label: Pawld(folder, os.path.abspath(o.pawld), label)}
    return [Ensemble(folder, server.name, make[server.name]) for server in servers
            if server.name in make]


def choose_rows(o):
    wanted = [w for w in o.rows.split(",") if w]
    rows = [r for r in ALL_ROWS if not wanted or any(r.key.startswith(w) for w in wanted)]
    if not rows:
        sys.exit(f"bench: no row is called {o.rows}")
    for row in FULL_TREE_ROWS + (ensemble_rows.COLD, ensemble_rows.MISSED):
        row.title = row.title.format(n=f"{o.znodes:,}", missed=f"{o.missed:,}")
        if (o.missed != 100000) if row is ensemble_rows.MISSED else (o.znodes != 1000000):
            row.void = "not at this size"
    return rows


def cpu_model():
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def report(o, rows):
    lines = [
        f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} x {cpu_model()}, Linux "
        f"{platform.release()}; {o.runs} runs of {o.seconds:g} s per cell, medians; 100 B of data, "
        "fsync on, Apache with -Xmx4g (members of three with -Xmx3g).",
        "CPU is the servers', in ms per 100,000 operations; its bar is a third of Apache's, that of the floor 0.60 "
        "where one is named. Of three "
        "servers it is the sum, and their clients are spread over them.",
        f"Load average {' '.join(f'{load:.1f}' for load in os.getloadavg())} at the end.", "",
        table.render(rows)]
    print("\n".join(lines))
    if o.out:
        with open(o.out, "w") as f:
            f.write("\n".join(lines) + "\n")
    if o.json:
        with open(o.json, "w") as f:
            json.dump({row.key: row.samples for row in rows}, f, indent=1)


def measure_alone(bench, rows):
    bench.rates([row for row in rows if row in RATE_ROWS])
    if START_EMPTY in rows:
        bench.start_empty()
    if IDLE in rows:
        bench.idle()
    bench.full_tree([row for row in rows if row in FULL_TREE_ROWS])


def main():
    o = parse_options()
    rows = choose_rows(o)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    folder = choose_folder(o)
    servers = choose_servers(o, folder)
    ensembles = choose_ensembles(o, folder, servers)
    try:
        measure_alone(Bench(o, folder, servers), rows)
        ensemble_rows.EnsembleBench(o, folder, ensembles).measure(rows)
    finally:
        for server in servers + ensembles:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    report(o, rows)
    if any(row.failed for row in rows):
        return 1
    return 1 if o.strict and any(row.missed() for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
