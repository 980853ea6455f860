# SPDX-License-Identifier: Apache-2.0
"""Rows of figures, their bars, and the one table that comes out."""

import statistics

LATENCIES = ("p50_us", "p99_us", "p999_us", "max_us")
CPU_BAR = 1 / 3


def median(samples):
    """The median of each figure over the runs of one cell."""
    return {key: statistics.median(s[key] for s in samples) for key in samples[0]}


def rate(value):
    if value >= 1e6:
        return f"{value / 1e6:.2f} M/s"
    if value >= 1e4:
        return f"{value / 1e3:.0f} k/s"
    return f"{value / 1e3:.2f} k/s"


def milliseconds(value):
    return f"{value:.3g} ms" if value < 1000 else f"{value / 1000:.2f} s"


def megabytes(value_kb):
    return f"{value_kb / 1000:.0f} MB"


def kilobytes(value):
    return f"{value:.2f} KB"


def cpu_text(cell):
    if cell is None or "cpu" not in cell:
        return "-"
    return f"{cell['cpu']:,.0f}" if cell["cpu"] >= 100 else f"{cell['cpu']:.3g}"


def latencies(cell):
    if cell is None or "p50_us" not in cell:
        return "-"
    return " / ".join(f"{cell[key] / 1000:.3g}" for key in LATENCIES)


class Row:
    """A row of the table: figures by server; `value` is the one that counts."""

    def __init__(self, key, title, bar, bar_text, show):
        self.key, self.title = key, title
        self.bar, self.bar_text, self.show = bar, bar_text, show
        self.samples = {}
        self.failed = set()
        self.void = None
        self.floor_bar = None

    def add(self, server, sample):
        self.samples.setdefault(server, []).append(sample)

    def fail(self, server):
        """A server that could not be measured, even once, does not get a figure."""
        self.failed.add(server)

    def cell(self, server):
        if server in self.failed:
            return None
        samples = self.samples.get(server)
        return median(samples) if samples else None

    def text(self, server):
        cell = self.cell(server)
        return self.figure_text(cell) if cell else self.blank(server)

    def figure_text(self, cell):
        return self.show(cell["value"])

    def blank(self, server):
        return "FAILED" if server in self.failed else "-"

    def ratio(self):
        apache, pawld = self.cell("Apache"), self.cell("pawld")
        if not apache or not pawld or apache["value"] <= 0:
            return None
        return pawld["value"] / apache["value"]

    def of_floor(self):
        floor, pawld = self.cell("floor"), self.cell("pawld")
        if not floor or not pawld or floor["value"] <= 0:
            return None
        return pawld["value"] / floor["value"]

    def floor_text(self):
        share = self.of_floor()
        if share is None:
            return "-"
        if self.floor_bar is None:
            return f"{share:.2f}x"
        return f"{share:.2f}x ({'met' if share >= self.floor_bar else 'MISSED'})"

    def met(self):
        raise NotImplementedError

    def missed(self):
        """One of its bars is."""
        return any("MISSED" in text
                   for text in (self.verdict(), self.floor_text(), self.cpu_verdict()))

    def verdict(self):
        met = False if "pawld" in self.failed else self.met()
        if met is None:
            return "-"
        if self.void:
            return f"({self.void})"
        return "met" if met else "MISSED"

    def cpu_ratio(self):
        return None

    def cpu_verdict(self):
        ratio = self.cpu_ratio()
        if ratio is None:
            return "-"
        return "met" if ratio <= CPU_BAR else "MISSED"


class RateRow(Row):
    """At least `bar` times Apache's rate, with at most a third of its CPU; at least `floor_bar` of the
    floor's rate, if there is one."""

    def __init__(self, key, title, bar, arguments, figure="rate", floor_bar=None,
                 without=()):
        super().__init__(key, title, bar, f">= {bar:g}x", rate)
        self.floor_bar = floor_bar
        self.arguments = arguments
        self.figure = figure
        self.without = without  # servers that cannot do it

    def met(self):
        ratio = self.ratio()
        return None if ratio is None else ratio >= self.bar

    def cpu_ratio(self):
        apache, pawld = self.cell("Apache"), self.cell("pawld")
        if not apache or not pawld or apache["cpu"] <= 0:
            return None
        return pawld["cpu"] / apache["cpu"]


class LimitRow(Row):
    """At most `bar`, whatever Apache does."""

    def __init__(self, key, title, bar, show):
        super().__init__(key, title, bar, f"<= {show(bar)}", show)

    def met(self):
        pawld = self.cell("pawld")
        return None if pawld is None else pawld["value"] <= self.bar


class ShareRow(Row):
    """At most `bar` times what Apache needs."""

    def __init__(self, key, title, bar, show):
        super().__init__(key, title, bar, f"<= {bar:.2g}x", show)

    def met(self):
        ratio = self.ratio()
        return None if ratio is None else ratio <= self.bar


class SnapshotRow(LimitRow):
    """p99.9 with a snapshot over p99.9 without: each server is compared with itself."""

    def __init__(self, key, title, bar):
        super().__init__(key, title, bar, lambda value: f"{value:.2f}x")

    def figure_text(self, cell):
        return f"{cell['value']:.2f}x ({cell['with_ms']:.3g} / {cell['without_ms']:.3g} ms)"


HEADER = ("row", "bar", "Apache", "floor", "pawld", "ratio", "verdict", "of floor",
          "CPU Apache", "CPU floor", "CPU pawld", "CPU ratio", "CPU verdict",
          "latency Apache: p50 / p99 / p99.9 / max ms", "latency pawld")


def line(row):
    def cpu(server):
        return cpu_text(row.cell(server))

    def times(value):
        return "-" if value is None else f"{value:.2f}x"

    return (row.title, row.bar_text, row.text("Apache"), row.text("floor"), row.text("pawld"),
            times(row.ratio()), row.verdict(), row.floor_text(), cpu("Apache"), cpu("floor"), cpu("pawld"),
            times(row.cpu_ratio()), row.cpu_verdict(), latencies(row.cell("Apache")),
            latencies(row.cell("pawld")))


def render(rows):
    """A markdown table whose columns also line up on a terminal."""
    lines = [HEADER] + [line(row) for row in rows]
    widths = [max(len(cells[i]) for cells in lines) for i in range(len(HEADER))]

    def one(cells):
        return "| " + " | ".join(text.ljust(width) for text, width in zip(cells, widths)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([one(lines[0]), rule] + [one(cells) for cells in lines[1:]])
