#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures libpawl side by side with libzookeeper_mt and with a bare socket loop.

Same machine, same run, same servers (pawld, then Apache ZooKeeper), the three clients taking turns;
each cell is the median of its runs. Prints one table and, with --out, writes it to a file. Loopback
only; what is written goes to one folder that is removed at the end.
"""

import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import table
from bench import REPOSITORY, choose_folder, cpu_model
from runner import pairs, say
from servers import Apache, Pawld

CLIENTS = ("zookeeper", "bare", "pawl")
RUN_SECONDS_MAX = 120
CPU_BAR = 0.5
# Where one call waits for another, client and server may share a core or not; one is several times
# the other, and which it is changes from run to run. Such rows get so many times more runs.
TOSSED_RUNS = 3
BARE_BAR = 0.85
SOCKET_FOLDER_BYTES_MAX = 80  # the path of a Unix socket has to be short
GROWTH_KB_MAX = 256  # of a few megabytes: what malloc keeps or gives back by chance


class Row:
    """A row of the table: samples by client."""

    clients = CLIENTS
    server = "pawld"
    more_runs = 1

    def __init__(self, key, title, mode, arguments):
        self.key, self.title, self.mode, self.arguments = key, title, mode, arguments
        self.samples, self.failed = {}, {}

    def add(self, client, sample):
        self.samples.setdefault(client, []).append(sample)

    def figure(self, client, name=None):
        """The median, or None without a figure."""
        samples = self.samples.get(client)
        if not samples or client in self.failed:
            return None
        return statistics.median(s[name or self.value] for s in samples)

    def ratio(self, name=None, to="zookeeper"):
        ours, theirs = self.figure("pawl", name), self.figure(to, name)
        return ours / theirs if ours is not None and theirs else None

    def met(self):
        """Whether every bar is; None when there is nothing to compare."""
        raise NotImplementedError

    def cells(self):
        def text(client):
            value = self.figure(client)
            if value is None:
                return "FAILED" if client in self.failed else "-"
            return self.show(value)

        return ([self.title, self.bar_text()] + [text(c) for c in CLIENTS]
                + [times(self.ratio()), times(self.ratio(to="bare")), verdict(self.met())]
                + self.cpu_cells())

    def cpu_cells(self):
        return ["-"] * 5

    def missed(self):
        return self.met() is False or bool(self.failed)


class RateRow(Row):
    """At least `bar` times libzookeeper, `bare` times the bare loop, with half of the CPU."""

    value = "rate"

    def __init__(self, key, title, server, arguments, bar=None, bare=None, has_bare=True):
        super().__init__(f"{server.lower()}-{key}", f"{title}, {server}", *arguments)
        self.server, self.bar, self.bare = server, bar, bare
        self.clients = CLIENTS if has_bare else ("zookeeper", "pawl")

    def show(self, value):
        return table.rate(value)

    def bar_text(self):
        parts = [f">= {self.bar:g}x"] if self.bar else []
        parts += [f"{self.bare * 100:.0f} % of bare"] if self.bare else []
        return ", ".join(parts) or "-"

    def met(self):
        bars = [(self.bar, self.ratio()), (self.bare, self.ratio(to="bare"))]
        asked = [(bar, ratio) for bar, ratio in bars if bar and ratio is not None]
        return all(ratio >= bar for bar, ratio in asked) if asked else None

    def cpu_met(self):
        ratio = self.ratio("cpu_ms_per_100k")
        return None if ratio is None else ratio <= CPU_BAR

    def cpu_cells(self):
        def text(client):
            value = self.figure(client, "cpu_ms_per_100k")
            return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

        return ([text(c) for c in CLIENTS]
                + [times(self.ratio("cpu_ms_per_100k")), verdict(self.cpu_met())])

    def missed(self):
        return super().missed() or self.cpu_met() is False


class LimitRow(Row):
    """At most `limit`, whatever others take; and nothing of what `zero` names."""

    def __init__(self, key, title, arguments, value, limit, zero=(), clients=("zookeeper", "pawl")):
        super().__init__(key, title, *arguments)
        self.value, self.limit, self.zero, self.clients = value, limit, zero, clients

    def show(self, value):
        return f"{value:.0f} KB"

    def bar_text(self):
        return f"<= {self.limit:g} KB" + (", nothing else left" if self.zero else "")

    def met(self):
        value = self.figure("pawl")
        if value is None:
            return None
        return value <= self.limit and all(self.figure("pawl", name) == 0 for name in self.zero)


class LocalRow(Row):
    """libpawl on `local:` against libpawl on pawld over TCP, taking turns."""

    value = "rate"
    server = "local"
    more_runs = TOSSED_RUNS

    def __init__(self, key, title, arguments, hosted):
        super().__init__(key, title, *arguments)
        self.hosted = hosted

    def show(self, value):
        return table.rate(value)

    def bar_text(self):
        tcp = self.figure("tcp")
        return ">= TCP" + (f": {table.rate(tcp)}" if tcp else "")

    def met(self):
        ratio = self.ratio(to="tcp")
        return None if ratio is None else ratio >= 1

    def cells(self):
        cells = super().cells()
        cells[HEADER.index("ratio")] = times(self.ratio(to="tcp"))
        return cells


def times(value):
    return "-" if value is None else f"{value:.2f}x"


def verdict(met):
    return "-" if met is None else "met" if met else "MISSED"


def asynchronous(outstanding, *more):
    return ("async", ["--outstanding", str(outstanding), *more])


def rate_rows(server):
    get_bar, set_bar = (10, 5) if server == "pawld" else (1.4, 1.4)
    row = RateRow("get", "blocking get, 1 thread", server, ("blocking", []), 1.3, BARE_BAR)
    row.more_runs = TOSSED_RUNS
    yield row
    yield RateRow("get-8", "blocking get, 8 threads on one handle", server,
                  ("blocking", ["--threads", "8"]), 2, has_bare=False)
    yield RateRow("set", "blocking set, 1 thread", server, ("blocking", ["--writes"]))
    for n in (100, 1000):
        yield RateRow(f"async-get-{n}", f"asynchronous get, {n:,} outstanding", server,
                      asynchronous(n), get_bar)
    for n in (100, 1000):
        yield RateRow(f"async-set-{n}", f"asynchronous set, {n:,} outstanding", server,
                      asynchronous(n, "--writes"), set_bar)


def make_rows(o):
    rates = [row for server in ("pawld", "Apache") for row in rate_rows(server)]
    limits = [
        LimitRow("idle", "memory of an idle handle", ("handles", ["--count", str(o.handles)]),
                 "kb_per_handle", 64),
        LimitRow("growth", f"growth over {o.operations:,} asynchronous gets",
                 ("growth", ["--count", str(o.operations), "--outstanding", "1000"]),
                 "rss_growth_kb", GROWTH_KB_MAX, clients=("pawl",)),
        LimitRow("growth-set", f"growth over {o.operations:,} asynchronous sets",
                 ("growth", ["--count", str(o.operations), "--outstanding", "1000", "--writes"]),
                 "rss_growth_kb", GROWTH_KB_MAX, clients=("pawl",)),
        LimitRow("cycles", f"growth over {o.cycles:,} times open, get, close",
                 ("cycles", ["--count", str(o.cycles)]), "rss_growth_kb", GROWTH_KB_MAX,
                 ("descriptors_growth", "threads_growth")),
    ]
    local = [LocalRow(f"local-{op}-{where}", f"local: blocking {op} from {who}",
                      ("blocking", arguments), where == "other")
             for op, arguments in (("get", []), ("set", ["--writes"]))
             for where, who in (("host", "the hosting process"), ("other", "another process"))]
    return rates + limits + local


class Bench:
    def __init__(self, o, folder):
        self.o, self.folder = o, folder
        self.servers = {"pawld": Pawld(folder, os.path.abspath(o.pawld)), "Apache": Apache(folder)}

    def program(self, client):
        return os.path.join(self.o.bin, f"client-bench-{client}")

    def leave_out_missing(self, rows):
        for client in CLIENTS:
            if not os.access(self.program(client), os.X_OK):
                say(f"{client} is left out: {self.program(client)} is not there")
                for row in rows:
                    row.clients = [c for c in row.clients if c != client]

    def command(self, client, mode, servers, *arguments):
        return [self.program(client), mode, "--servers", servers, "--warmup",
                str(self.o.warmup), "--seconds", str(self.o.seconds), *arguments]

    def run(self, *arguments):
        command = self.command(*arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}: "
                               f"{done.stderr.strip()[-300:]}")
        return pairs(done.stdout)

    @contextlib.contextmanager
    def failing(self, row, client):
        """What goes wrong inside is told, and costs `client` its figure in `row`, no more."""
        try:
            yield
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            say(f"{row.key} {client} FAILED: {error}")
            row.failed[client] = str(error)

    def measure(self, rows):
        self.leave_out_missing(rows)
        for name, server in self.servers.items():
            mine = [row for row in rows if row.server == name]
            if not mine:
                continue
            if server.missing():
                say(f"{name} is left out: {server.missing()}")
                continue
            server.start(server.fresh_data("clients"))
            try:
                self.on_server(mine, f"127.0.0.1:{server.port}")
            finally:
                server.stop()
        self.local([row for row in rows if row.server == "local"])

    def on_server(self, rows, address):
        self.run("bare", "setup", address)
        if rows[0].server == "Apache":
            say("Apache: warming up")  # the JVM compiles what it has seen running
            for more in ([], ["--writes"]):
                self.run("bare", "async", address, "--seconds", str(self.o.first_warmup), *more)
        for row in rows:
            for _ in range(self.o.runs * row.more_runs):
                for client in row.clients:
                    with self.failing(row, client):
                        self.cell(row, client, address)

    def cell(self, row, client, address, column=None):
        got = self.run(client, row.mode, address, *row.arguments)
        row.add(column or client, got)
        say(f"{row.key} {column or client}: " + " ".join(f"{key}={value:g}" for key, value in got.items()
                                               if isinstance(value, float)))

    # `local:`: once as the host, once beside one; pawld meanwhile on the same disk.

    def local(self, rows):
        if not rows:
            return
        pawld = self.servers["pawld"]
        folder = os.path.join(self.folder, "local")
        if len(folder) > SOCKET_FOLDER_BYTES_MAX:
            folder = tempfile.mkdtemp(prefix="pawl-", dir="/var/tmp")
        os.makedirs(folder, exist_ok=True)
        pawld.start(pawld.fresh_data("tcp"))
        try:
            tcp = f"127.0.0.1:{pawld.port}"
            self.run("bare", "setup", tcp)
            self.run("pawl", "setup", f"local:{folder}")
            for row in rows:
                for _ in range(self.o.runs * row.more_runs):
                    with self.failing(row, "tcp"):
                        self.cell(row, "pawl", tcp, "tcp")
                    with self.failing(row, "pawl"), self.host(row.hosted, folder):
                        self.cell(row, "pawl", f"local:{folder}")
        except (RuntimeError, subprocess.SubprocessError) as error:
            say(f"local: is left out: {error}")
        finally:
            pawld.stop()
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def host(self, wanted, folder):
        if not wanted:
            yield
            return
        process = subprocess.Popen(self.command("pawl", "host", f"local:{folder}"),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            if "ready=1" not in process.stdout.readline():
                raise RuntimeError("no host")
            yield
        finally:
            process.stdin.close()
            process.wait(RUN_SECONDS_MAX)
            process.stdout.close()


HEADER = ["row", "bar", "libzookeeper", "bare loop", "libpawl", "ratio", "of bare", "verdict",
          "CPU libzookeeper", "CPU bare", "CPU libpawl", "CPU ratio", "CPU verdict"]


def render(rows):
    """A markdown table whose columns also line up on a terminal."""
    lines = [HEADER] + [row.cells() for row in rows]
    widths = [max(len(cells[i]) for cells in lines) for i in range(len(HEADER))]

    def one(cells):
        return "| " + " | ".join(text.ljust(width) for text, width in zip(cells, widths)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([one(lines[0]), rule] + [one(cells) for cells in lines[1:]])


def report(o, rows):
    lines = [
        f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} x {cpu_model()}, Linux "
        f"{platform.release()}; {o.runs} runs of {o.seconds:g} s per cell, medians; 100 B of data, "
        "1,000 nodes.",
        "CPU is the client process's, in ms per 100,000 operations; its bar is half of "
        "libzookeeper's.", "",
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
    p.add_argument("--bin", default=build, help="where client-bench-* are (build/bin)")
    p.add_argument("--rows", default="", help="only rows whose name starts so: pawld, apache-get, "
                   "pawld-async-set, idle, growth, cycles, local; several with commas")
    p.add_argument("--runs", type=int, default=3, help="per cell (3)")
    p.add_argument("--seconds", type=float, default=2, help="measured, per run (2)")
    p.add_argument("--warmup", type=float, default=0.5, help="before that (0.5)")
    p.add_argument("--first-warmup", type=float, default=8, help="of Apache's server (8)")
    p.add_argument("--handles", type=int, default=200, help="idle ones (200)")
    p.add_argument("--operations", type=int, default=1000000, help="whose memory is watched")
    p.add_argument("--cycles", type=int, default=1000, help="of open and close")
    p.add_argument("--folder", help="where the servers keep their data (build/, else /var/tmp)")
    p.add_argument("--out", help="write the table there, as markdown")
    p.add_argument("--json", help="write all samples there")
    p.add_argument("--strict", action="store_true", help="status 1 if a bar is missed")
    p.add_argument("--quick", action="store_true", help="a smoke test, not a measurement")
    o = p.parse_args()
    if o.quick:
        o.runs, o.seconds, o.warmup, o.first_warmup = 1, 0.4, 0.1, 1
        o.handles, o.operations, o.cycles = 50, 100000, 100
    return o


def main():
    o = parse_options()
    wanted = [w for w in o.rows.split(",") if w]
    rows = [r for r in make_rows(o) if not wanted or any(r.key.startswith(w) for w in wanted)]
    if not rows:
        sys.exit(f"client_bench: no row is called {o.rows}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = choose_folder(o)
    try:
        Bench(o, folder).measure(rows)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report(o, rows)
    if any(row.failed for row in rows):
        return 1
    return 1 if o.strict and any(row.missed() for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
