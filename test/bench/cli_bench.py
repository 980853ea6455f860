#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `pawl`, the command line, side by side with zkCli.sh, kazoo and etcdctl.

Same machine, same run, the same servers (Apache ZooKeeper and pawld, each started once; etcd with
etcdctl if both are there), the programs taking turns; each cell is the median of its runs. Prints one
table and, with --out, writes it to a file. Loopback only; what is written goes to one folder that is
removed at the end.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time

import table
from bench import REPOSITORY, choose_folder, cpu_model
from recipe_bench import Row, render
from runner import say
from servers import Apache, Pawld, free_port
from process import ServerProcess

RUN_SECONDS_MAX = 3600
START_SECONDS_MAX = 60
ZKCLI = "/usr/share/zookeeper/bin/zkCli.sh"
PYTHON = "/usr/bin/python3"
MEMORY_BAR_KB = 5000

KAZOO = """
import sys
from kazoo.client import KazooClient
client = KazooClient(hosts=sys.argv[1])
client.start()
"""
KAZOO_GET = KAZOO + """
sys.stdout.buffer.write(client.get(sys.argv[2])[0])
client.stop()
"""
KAZOO_STAY = KAZOO + """
sys.stdout.buffer.write(client.get(sys.argv[2])[0])
sys.stdout.flush()
sys.stdin.readline()
client.stop()
"""
# What an export has: data and ACL of every node; and an import: each node with its ACL.
KAZOO_EXPORT = KAZOO + """
import base64, json
def walk(path):
    data = client.get(path)[0]
    acls = [(a.id.scheme, a.id.id, a.perms) for a in client.get_acls(path)[0]]
    print(json.dumps([path, base64.b64encode(data).decode(), acls]))
    for name in client.get_children(path):
        walk(path.rstrip("/") + "/" + name)
walk(sys.argv[2])
client.stop()
"""
KAZOO_IMPORT = KAZOO + """
import base64, json
from kazoo.security import ACL, Id
for line in sys.stdin:
    path, data, acls = json.loads(line)
    client.create(sys.argv[2] + path[len(sys.argv[3]):], base64.b64decode(data),
                  [ACL(perms, Id(scheme, name)) for scheme, name, perms in acls])
client.stop()
"""


class Etcd(ServerProcess):
    """One member, for etcdctl."""

    name = "etcd"

    def __init__(self, folder):
        super().__init__(os.path.join(folder, "etcd.log"))
        self.folder, self.port = folder, 0

    def missing(self):
        return None if shutil.which("etcd") and shutil.which("etcdctl") else "no etcd-server and etcd-client"

    def start(self, data):
        self.port = free_port()
        client, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{free_port()}"
        self.spawn(["etcd", "--data-dir", data, "--listen-client-urls", client, "--advertise-client-urls", client,
                    "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                    "--initial-cluster", f"default={peer}"])
        deadline = time.monotonic() + START_SECONDS_MAX
        while subprocess.run(self.command("put", "/bench", "x" * 100), capture_output=True, check=False).returncode:
            if not self.running() or time.monotonic() > deadline:
                raise self.error("did not start")

    def command(self, *words):
        return ["etcdctl", "--endpoints", f"127.0.0.1:{self.port}", *words]

    def fresh_data(self, label):
        path = os.path.join(self.folder, f"etcd-{label}")
        os.makedirs(path)
        return path

    def stop(self):
        self.terminate()


def most_resident_kb(pid):
    """The most that a process had so far; 0: it has ended. Its rusage would count us, who started it, as well."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return next((int(line.split()[1]) * 1.024 for line in f if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


def timed(command, stdin=None, stdout=None, with_memory=False):
    """{"ms"} of a program from before its fork to its end, {"rss_kb"} if wanted; it has to succeed."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdin=stdin or subprocess.DEVNULL, stdout=stdout or subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    rss_kb = 0
    while with_memory and process.poll() is None:
        rss_kb = max(rss_kb, most_resident_kb(process.pid))
        time.sleep(0.01)
    if process.wait() != 0:
        raise RuntimeError(f"{' '.join(command)[:200]} ended with {process.returncode}")
    return {"ms": (time.monotonic() - started) * 1000, "rss_kb": rss_kb}


def resident(command, first_line):
    """{"rss_kb"} of a program that has printed an answer and waits for standard input."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdin.write(first_line)
        process.stdin.flush()
        if not process.stdout.read(1):
            raise RuntimeError(f"{' '.join(command)[:200]} did not answer")
        got = {"rss_kb": most_resident_kb(process.pid)}
        process.stdin.close()
        process.wait(START_SECONDS_MAX)
    return got


class MemoryRow(Row):
    """Ours below a limit, whatever the others need; they are shown beside it."""

    def lines(self):
        for ours, theirs, _factor in self.bars:
            value, ratio = self.value(ours), self.better(ours, theirs)
            met = None if value is None else value < MEMORY_BAR_KB
            yield [self.title, ours, self.show(value), theirs, self.show(self.value(theirs)),
                   "-" if ratio is None else f"{ratio:.2f}x", f"< {MEMORY_BAR_KB / 1000:g} MB",
                   "-" if met is None else "met" if met else "MISSED"]

    def show(self, value):
        return "-" if value is None else f"{value / 1000:.1f} MB"


def make_rows(o):
    gets = [("zkCli.sh", "Apache"), ("kazoo", "Apache"), ("etcdctl", "etcd"), ("pawl", "Apache"), ("pawl", "pawld")]
    walks = [("kazoo", "Apache"), ("pawl", "Apache"), ("pawl", "pawld")]
    ours = ("pawl on Apache", "pawl on pawld")
    large = f"of {o.nodes:,} znodes"
    return [
        Row("get", "one get, from start to end of the program", ["get"], "ms", gets,
            [(one, "zkCli.sh on Apache", 100) for one in ours]
            + [("pawl on pawld", "kazoo on Apache", 1), ("pawl on pawld", "etcdctl on etcd", 1)]),
        MemoryRow("memory", "resident memory after a get", ["memory"], "rss_kb", walks,
                  [("pawl on pawld", "kazoo on Apache", 1)]),
        Row("export", f"export {large}, with ACLs", ["export"], "ms", walks,
            [(one, "kazoo on Apache", 20) for one in ours]),
        MemoryRow("export-memory", f"resident memory of an export {large}", ["export_memory"], "rss_kb", walks,
                  [("pawl on pawld", "kazoo on Apache", 1)]),
        Row("import", f"import {large}, with ACLs", ["import"], "ms", walks,
            [(one, "kazoo on Apache", 20) for one in ours]),
    ]


class Bench:
    def __init__(self, o, folder):
        self.o, self.folder = o, folder
        self.pawl = os.path.join(o.bin, "pawl")
        self.servers = {s.name: s for s in (Apache(folder), Pawld(folder, os.path.abspath(o.pawld)), Etcd(folder))}
        self.n_imports = 0

    def missing(self, client, server):
        """Why that cell cannot be measured here, or None."""
        if client == "zkCli.sh" and not os.path.exists(ZKCLI):
            return "no zkCli.sh (zookeeper)"
        if client == "kazoo" and subprocess.run([PYTHON, "-c", "import kazoo"], capture_output=True, check=False).returncode:
            return "no kazoo (python3-kazoo)"
        if client == "pawl" and not os.access(self.pawl, os.X_OK):
            return f"{self.pawl} is not there"
        return self.servers[server].missing()

    def measure(self, rows):
        cells = {column for row in rows for column in row.columns}
        left_out = {}
        for column in sorted(cells):
            left_out[column] = self.missing(*column)
            if left_out[column]:
                say(f"{column[0]} on {column[1]} is left out: {left_out[column]}")
        try:
            for server in {server for column, why in left_out.items() for server in [column[1]] if not why}:
                self.servers[server].start(self.servers[server].fresh_data("cli"))
                if server != "etcd":
                    self.fill(server, any(row.mode[0] not in ("get", "memory") for row in rows))
            for row in rows:
                for _ in range(self.o.runs):
                    for client, server in row.columns:
                        if not left_out[(client, server)]:
                            self.cell(row, client, server)
        finally:
            for server in self.servers.values():
                server.stop()

    def address(self, server):
        return f"127.0.0.1:{self.servers[server].port}"

    def fill(self, server, with_tree):
        """A node to get, and a tree to export: 1,000 nodes to a folder."""
        lines = [{"path": "/", "data": ""}] + [
            {"path": f"/d{i // 1000:04}" + (f"/n{i:07}" if i % 1000 else ""), "data": "x" * 100}
            for i in range(self.o.nodes if with_tree else 0)]
        text = "".join(json.dumps(line) + "\n" for line in lines).encode()
        base = [self.pawl, "-s", self.address(server)]
        subprocess.run(base + ["create", "/bench", "x" * 100], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(base + ["import", "/tree"], input=text, check=True, stdout=subprocess.DEVNULL,
                       timeout=RUN_SECONDS_MAX)

    def cell(self, row, client, server):
        got = getattr(self, "run_" + row.mode[0])(client, server)
        row.samples.setdefault(f"{client} on {server}", []).append(got)
        say(f"{row.key} {client} on {server}: {row.show(got[row.figure])}")

    def run_get(self, client, server):
        if client == "etcdctl":
            return timed(self.servers[server].command("get", "/bench"))
        address = self.address(server)
        return timed({"pawl": [self.pawl, "-s", address, "get", "/bench"],
                      "zkCli.sh": ["bash", ZKCLI, "-server", address, "get", "/bench"],
                      "kazoo": [PYTHON, "-c", KAZOO_GET, address, "/bench"]}[client])

    def exported(self, client):
        return os.path.join(self.folder, f"exported-{client}")

    def run_memory(self, client, server):
        if client == "pawl":  # a shell that reads a script does what a single command does, and stays
            return resident([self.pawl, "-s", self.address(server), "shell"], b"get /bench\n")
        return resident([PYTHON, "-c", KAZOO_STAY, self.address(server), "/bench"], b"")

    def run_export_memory(self, client, server):
        return self.run_export(client, server, with_memory=True)

    def run_export(self, client, server, with_memory=False):
        with open(self.exported(client), "wb") as out:
            command = {"pawl": [self.pawl, "-s", self.address(server), "export", "/tree"],
                       "kazoo": [PYTHON, "-c", KAZOO_EXPORT, self.address(server), "/tree"]}[client]
            return timed(command, stdout=out, with_memory=with_memory)

    def run_import(self, client, server):
        if not os.path.exists(self.exported(client)):
            self.run_export(client, server)
        self.n_imports += 1
        top = f"/new{self.n_imports}"
        with open(self.exported(client), "rb") as exported:
            command = {"pawl": [self.pawl, "-s", self.address(server), "import", top],
                       "kazoo": [PYTHON, "-c", KAZOO_IMPORT, self.address(server), top, "/tree"]}[client]
            got = timed(command, stdin=exported)
        subprocess.run([self.pawl, "-s", self.address(server), "rm", "-r", top], check=True)
        return got


def report(o, rows):
    lines = [f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} x {cpu_model()}, Linux {platform.release()}; "
             f"{o.runs} runs per cell, medians; 100 B of data, fsync on.", "", render(rows)]
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
    p.add_argument("--bin", default=build, help="where pawl is (build/bin)")
    p.add_argument("--rows", default="", help="only these: get, memory, export, export-memory, import; several with commas")
    p.add_argument("--runs", type=int, default=3, help="per cell (3)")
    p.add_argument("--nodes", type=int, default=1000000, help="that are exported and imported (1000000)")
    p.add_argument("--folder", help="where the servers keep their data (build/, else /var/tmp)")
    p.add_argument("--out", help="write the table there, as markdown")
    p.add_argument("--json", help="write all samples there")
    p.add_argument("--strict", action="store_true", help="status 1 if a bar is missed")
    p.add_argument("--quick", action="store_true", help="a smoke test, not a measurement")
    o = p.parse_args()
    if o.quick:
        o.runs, o.nodes = 1, 2000
    return o


def main():
    o = parse_options()
    wanted = [w for w in o.rows.split(",") if w]
    rows = [r for r in make_rows(o) if not wanted or r.key in wanted]
    if not rows:
        sys.exit(f"cli_bench: no row is called {o.rows}")
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
