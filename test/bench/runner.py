# SPDX-License-Identifier: Apache-2.0
"""What all rows need: the load generator run on a server, figures of rates, failures told."""

import contextlib
import os
import subprocess
import sys
import time

import table
from servers import free_port

SETUP_SECONDS_MAX = 120
LOAD_SECONDS_MAX = 900


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def pairs(text):
    """A key=value line of pawl-load, numbers as numbers."""
    result = {}
    for word in text.split():
        key, _, value = word.partition("=")
        try:
            result[key] = float(value)
        except ValueError:
            result[key] = value
    return result


class Runner:
    """Lets servers (or ensembles, which look like one) take turns."""

    def __init__(self, options, folder, servers):
        self.options, self.folder, self.servers = options, folder, servers
        self.load_program = os.path.join(options.bin, "pawl-load")

    def real_servers(self):
        """Those that keep something: the floor has no memory or start worth a figure."""
        return [server for server in self.servers if server.name != "floor"]

    @contextlib.contextmanager
    def failing(self, rows, server):
        """What goes wrong inside is told, and costs `server` its figures in `rows`, no more."""
        try:
            yield
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            say(f"{', '.join(row.key for row in rows)} {server.name} FAILED: {error}")
            for row in rows:
                row.fail(server.name)

    def load(self, arguments, limit_seconds):
        done = subprocess.run([self.load_program] + arguments, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=limit_seconds, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"pawl-load {' '.join(arguments)}: {done.stderr.strip()}")
        return pairs(done.stdout)

    def load_on(self, server, arguments, seconds, warmup, limit_seconds=SETUP_SECONDS_MAX):
        return self.load(arguments + ["--port", str(server.port), "--pid", str(server.pid),
                                      "--seconds", str(seconds), "--warmup", str(warmup)],
                         seconds + warmup + limit_seconds)

    def first_answer(self, server, data, path):
        port = free_port()
        command = server.command(data, port, None)
        return self.load(["first-answer", "--port", str(port), "--path", path,
                          "--log", server.log_path, "--"] + command, SETUP_SECONDS_MAX)

    # The rows that are rates: all servers stay up, and take turns.

    def rates(self, rows):
        if not rows:
            return
        for server in self.servers:
            with self.failing([], server):
                self.warm_up(server)
        for row in rows:
            for _ in range(self.options.runs):
                for server in self.servers:
                    with self.failing([row], server):
                        self.rate_cell(row, server)
        for server in self.servers:
            server.stop()
            server.fresh_data("rates")

    def warm_up(self, server):
        """The JVM compiles what it has seen running: give it the time before the first row."""
        seconds = self.options.first_warmup
        say(f"{server.name}: warming up")
        server.start(server.fresh_data("rates"))
        self.load_on(server, ["mix", "--outstanding", "100"], seconds, 0)
        self.load_on(server, ["writes", "--connections", "50"], seconds / 2, 0)

    def rate_cell(self, row, server):
        if server.name in row.without:
            return
        if not server.running():
            server.start(server.fresh_data("rates"))
        got = self.load_on(server, row.arguments, self.options.seconds, self.options.warmup)
        row.add(server.name, dict({key: got[key] for key in table.LATENCIES}, value=got[row.figure],
                                  cpu=got["cpu_ms_per_100k"], load_cpu=got["load_cpu"]))
        say(f"{row.key} {server.name}: {table.rate(got[row.figure])}, "
            f"CPU {got['cpu_ms_per_100k']:.3g} ms per 100 k, "
            f"p99.9 {got['p999_us'] / 1000:.3g} ms, generator at {got['load_cpu'] * 100:.0f} %")
