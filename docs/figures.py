#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""figures.py [--write] ROOT: README's few figures are those of docs/benchmarks.md.

Between the marks "figures: begin" and "figures: end" of README.md: with --write the rows are taken from the tables of
docs/benchmarks.md anew; without, the test is that they are the same."""
import pathlib
import re
import sys

# What README calls it; the row in docs/benchmarks.md (of several the last one); the command that measures it.
ROWS = [
    ("reads, 100 outstanding on each of 10 connections", r"reads, 10 x 100", "make bench"),
    ("writes, the same", r"writes, 10 x 100", "make bench"),
    ("reads, 50 connections, one at a time", r"reads, 50 (?:connections )?x 1(?: outstanding)?", "make bench"),
    ("writes, 50 connections, one at a time", r"writes, 50 x 1", "make bench"),
    ("memory with a million nodes", r"memory with 1,000,000 z?nodes, after loading", "make bench"),
    ("start to the first answer with a million nodes", r"start to first answer, 1,000,000 z?nodes", "make bench"),
    ("no write answered after `kill -9` of a leader", r"longest gap in writes, leader killed with -9", 'make bench BENCH="--rows ensemble"'),
]
MARKS = re.compile(r"(<!-- figures: begin.*?-->\n)(.*?)(<!-- figures: end -->)", re.S)


def cells(line):
    return [c.strip() for c in line.strip().strip("|").split("|")]


def find(text, pattern):
    """{column: cell} of the row."""
    found, head = None, None
    for line in text.splitlines():
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells(line)
        elif re.fullmatch(pattern, cells(line)[0]):
            found = dict(zip(head, cells(line)))
    if found is None or not {"Apache", "pawld", "ratio"} <= set(found):
        sys.exit("docs/benchmarks.md has no row '%s' with Apache, pawld and ratio: change ROWS of docs/figures.py" % pattern)
    return found


def table(text):
    lines = ["| | Apache | pawld | ratio | by |", "|---|---|---|---|---|"]
    for name, pattern, command in ROWS:
        row = find(text, pattern)
        lines.append("| %s | %s | %s | %s | `%s` |" % (name, row["Apache"], row["pawld"], row["ratio"], command))
    return "\n".join(lines) + "\n"


def main(arguments):
    root = pathlib.Path([a for a in arguments if a != "--write"][0])
    readme = root / "README.md"
    text, wanted = readme.read_text(), table((root / "docs/benchmarks.md").read_text())
    now = MARKS.search(text)
    if now is None:
        sys.exit("README.md has no place for figures")
    if "--write" in arguments:
        readme.write_text(text[:now.start(2)] + wanted + text[now.end(2):])
    elif now[2] != wanted:
        print("README's figures are not those of docs/benchmarks.md; docs/figures.py --write . makes them:\n" + wanted)
        return 1
    print("%d figures" % len(ROWS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
