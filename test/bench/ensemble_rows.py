# SPDX-License-Identifier: Apache-2.0
"""The rows of three servers that agree, ours against Apache's. Clients are spread over all three."""

import signal
import time

import table
from runner import LOAD_SECONDS_MAX, SETUP_SECONDS_MAX, Runner, say

WRITERS = 9  # of the gap
CPU_KEY = "ensemble-writes-50x1"


def rate_row(key, title, bar, *arguments):
    return table.RateRow(f"ensemble-{key}", f"three servers: {title}", bar, list(arguments))


RATE_ROWS = (
    rate_row("reads-50x1", "reads, 50 x 1", 2, "reads", "--connections", "50"),
    rate_row("reads-10x100", "reads, 10 x 100", 10, "reads", "--outstanding", "100"),
    rate_row("writes-50x1", "writes, 50 x 1", 2, "writes", "--connections", "50"),
    rate_row("writes-10x100", "writes, 10 x 100", 6, "writes", "--outstanding", "100"),
    rate_row("writes-1x1", "writes, 1 x 1", 1.8, "writes", "--connections", "1"),
    rate_row("mix-50x1", "90 % reads 10 % writes, 50 x 1", 2, "mix", "--connections", "50"),
    rate_row("mix-10x100", "90 % reads 10 % writes, 10 x 100", 8, "mix", "--outstanding", "100"),
    rate_row("locks-1x16", "lock hand-overs, 1 lock 16 contenders", 2,
             "locks", "--locks", "1", "--contenders", "16"),
    rate_row("locks-64x4", "lock hand-overs, 64 locks 4 contenders", 3,
             "locks", "--locks", "64", "--contenders", "4"),
)
CPU = table.ShareRow("ensemble-cpu", "CPU of all three per 100,000 writes, 50 x 1", 1 / 3,
                     table.milliseconds)
KILLED = table.LimitRow("ensemble-killed", "longest gap in writes, leader killed with -9", 200,
                        table.milliseconds)
STOPPED = table.LimitRow("ensemble-stopped", "longest gap in writes, leader stopped", 60,
                         table.milliseconds)
COLD = table.LimitRow("ensemble-cold", "cold start of three with {n} znodes to the first write",
                      2500, table.milliseconds)
MISSED = table.LimitRow("ensemble-missed", "a member that missed {missed} writes, until synced",
                        1000, table.milliseconds)
GAP_ROWS = ((KILLED, signal.SIGKILL), (STOPPED, signal.SIGTERM))
ALL_ROWS = RATE_ROWS + (CPU, KILLED, STOPPED, COLD, MISSED)


class EnsembleBench(Runner):
    """`servers` are ensembles."""

    def measure(self, rows):
        rates = [row for row in RATE_ROWS if row in rows or (row.key == CPU_KEY and CPU in rows)]
        self.rates(rates)
        self.share_of_cpu(rates)
        self.gaps([(row, number) for row, number in GAP_ROWS if row in rows])
        if MISSED in rows:
            self.missed()
        if COLD in rows:
            self.cold()

    def share_of_cpu(self, rates):
        for row in rates:
            if row.key == CPU_KEY:
                CPU.samples = {name: [{"value": sample["cpu"]} for sample in samples]
                               for name, samples in row.samples.items()}
                CPU.failed = set(row.failed)

    # The leader goes, under load, and comes back.

    def gaps(self, rows):
        if not rows:
            return
        for ensemble in self.servers:
            with self.failing([row for row, _ in rows], ensemble):
                self.warm_up(ensemble)
        for _ in range(self.options.runs):
            for row, number in rows:
                for ensemble in self.servers:
                    with self.failing([row], ensemble):
                        self.gap(row, ensemble, number)
        for ensemble in self.servers:
            ensemble.stop()

    def gap(self, row, ensemble, number):
        leader = ensemble.leader()
        seconds = self.options.warmup
        got = self.load(["gap", "--port", ensemble.port, "--connections", str(WRITERS),
                         "--victim", str(leader.pid), "--signal", str(int(number)),
                         "--warmup", str(seconds), "--seconds", str(seconds)],
                        2 * seconds + SETUP_SECONDS_MAX)
        row.add(ensemble.name, {"value": got["gap_ms"]})
        say(f"{row.key} {ensemble.name}: {got['gap_ms']:.0f} ms without an answered write, "
            f"{got['sessions']:.0f} sessions for {WRITERS} writers")
        leader.wait()
        ensemble.start_again(leader)

    # A follower is away while the others write.

    def missed(self):
        for ensemble in self.servers:
            with self.failing([MISSED], ensemble):
                self.warm_up(ensemble)
        for _ in range(self.options.runs):
            for ensemble in self.servers:
                with self.failing([MISSED], ensemble):
                    self.missed_by_one(ensemble)
        for ensemble in self.servers:
            ensemble.stop()

    def missed_by_one(self, ensemble):
        away = ensemble.follower()
        away.stop()
        ports = ",".join(str(m.port) for m in ensemble.members if m is not away)
        self.load(["writes", "--port", ports, "--outstanding", "100", "--warmup", "0",
                   "--ops", str(self.options.missed), "--max-seconds", str(LOAD_SECONDS_MAX)],
                  LOAD_SECONDS_MAX + SETUP_SECONDS_MAX)
        got = self.load(["first-answer", "--port", str(away.port), "--log", away.log_path, "--"]
                        + ensemble.command(away), SETUP_SECONDS_MAX)
        MISSED.add(ensemble.name, {"value": got["ms"]})
        say(f"{MISSED.key} {ensemble.name}: answers {got['ms']:.0f} ms after its start")
        ensemble.start_again(away)

    # All three start with a big tree.

    def cold(self):
        data = {}
        for ensemble in self.servers:
            with self.failing([COLD], ensemble):
                data[ensemble.name] = self.fill(ensemble)
            ensemble.stop()
        for _ in range(self.options.runs):
            for ensemble in self.servers:
                with self.failing([COLD], ensemble):
                    self.first_write(ensemble, data[ensemble.name])
                ensemble.stop()

    def fill(self, ensemble):
        data = ensemble.fresh_data("full")
        ensemble.start(data)
        count = self.options.znodes
        got = self.load_on(ensemble, ["znodes", "--znodes", str(count), "--outstanding", "100",
                                      "--max-seconds", str(LOAD_SECONDS_MAX)], LOAD_SECONDS_MAX, 0)
        if got["ops"] != count:
            raise RuntimeError(f"{ensemble.name} took {got['ops']:.0f} of {count} znodes in time")
        say(f"three of {ensemble.name}: {count} znodes at {table.rate(got['rate'])}")
        return data

    def first_write(self, ensemble, data):
        began_ns = time.monotonic_ns()
        ensemble.spawn(data)
        got = self.load(["first-write", "--port", ensemble.port, "--connections", str(WRITERS),
                         "--path", "/load/d0000/n0000000"], SETUP_SECONDS_MAX)
        took_ms = (got["at_ns"] - began_ns) / 1e6
        COLD.add(ensemble.name, {"value": took_ms})
        say(f"{COLD.key} {ensemble.name}: first write answered after {took_ms:.0f} ms")
