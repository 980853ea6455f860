#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the code on purpose, a line at a time, and shows which test notices.

    mutants.py --build DIR [--jobs N] [--quick] [NAME...]

A file *.mutation in this folder is one mutation:

    why: what would go wrong
    file: src/recipes/core/grant.c
    in: grant_held
    find: return g->session_id == id;
    replace: return true;
    test: pawl-recipe-sim --scenario R-01
    test: pawl-recipe-sim --recipe lock --seed 1 --seeds 100

`find` is a whole line without its indentation, the first such in the function `in`; `replace` is what stands in its place. The tests are
tried in order until one fails; `quick: yes` puts a mutation among those that `make test` tries.

Neither the sources nor the build are touched: the changed file is compiled apart, with the build's own command, and each test is
linked once more with that object in front of the libraries, where the linker prefers it. Ends with 1 if a mutation is not noticed or does not
fit any more."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TEST_SECONDS = 300


class Unfit(Exception):
    pass


def read_mutation(path):
    m = {"name": path.stem, "test": []}
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        key, _, value = line.partition(":")
        value = value.strip()
        if key == "test":
            m["test"].append(value)
        else:
            m[key] = value
    for key in ("why", "file", "in", "find", "replace"):
        if key not in m:
            raise SystemExit(f"{path}: no '{key}:'")
    return m


def mutated(m):
    """The text of the file with its one line changed."""
    path = ROOT / m["file"]
    if not path.exists():
        raise Unfit(f"no file {m['file']}")
    lines = path.read_text().splitlines()
    # The definition: the name at a line that begins in the first column, and the brace below.
    name = re.compile(r"^[a-z].*\b" + re.escape(m["in"]) + r"\(")
    begins = [i for i, l in enumerate(lines) if name.match(l)]
    for begin in begins:
        body = begin
        while body < len(lines) and not lines[body].startswith("{"):
            if lines[body].rstrip().endswith(";"):
                break
            body += 1
        if body == len(lines) or not lines[body].startswith("{"):
            continue
        for i in range(body, len(lines)):
            if lines[i].strip() == m["find"]:
                indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
                lines[i] = indent + m["replace"]
                return "\n".join(lines) + "\n"
            if lines[i].startswith("}"):
                break
    raise Unfit(f"{m['in']}() in {m['file']} has no such line")


class Build:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        commands = json.loads((self.folder / "compile_commands.json").read_text())
        # A file that tests compile once more, in a form of their own, counts as in its layer.
        commands.sort(key=lambda c: "CMakeFiles/pawl_" in c["command"])
        self.commands = {pathlib.Path(c["file"]).resolve(): c for c in commands}
        self.links = {p.parent.name.removesuffix(".dir"): p for p in self.folder.rglob("link.txt")}

    def compile(self, source, text, out):
        """`text` as if it were `source`: found beside it, and its own."""
        c = self.commands.get((ROOT / source).resolve())
        if c is None:
            raise Unfit(f"{source} is not compiled")
        copy = out / pathlib.Path(source).name
        copy.write_text(text)
        command = shlex.split(c["command"])
        at = command.index("-o")
        command[at + 1] = str(out / "mutant.o")
        command[-1] = str(copy)
        command += ["-iquote", str((ROOT / source).parent), "-w"]
        r = subprocess.run(command, cwd=c["directory"], capture_output=True, text=True)
        if r.returncode != 0:
            raise Unfit("does not compile: " + r.stderr.strip().splitlines()[0])

    def link(self, target, out):
        if target not in self.links:
            raise Unfit(f"no test {target}")
        path = self.links[target]
        command = shlex.split(path.read_text())
        at = command.index("-o")
        command[at + 1] = str(out / target)
        command.insert(at, str(out / "mutant.o"))
        r = subprocess.run(command, cwd=path.parent.parent.parent, capture_output=True, text=True)
        if r.returncode != 0:
            raise Unfit(f"{target} does not link: " + r.stderr.strip().splitlines()[-1])
        return out / target


def what_it_said(r):
    """The line of a test's output that says most."""
    lines = [l.strip() for l in (r.stdout + "\n" + r.stderr).splitlines() if l.strip()]
    for pattern in (r"^seed \d+ at", r"ERROR: \w+Sanitizer", r"runtime error", r"[Aa]ssert", r"FAILED"):
        for l in lines:
            if re.search(pattern, l):
                return l[:110]
    return f"exit code {r.returncode}" if not lines else lines[-1][:110]


def run_one(build, m):
    """(noticed, by what)"""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        out = pathlib.Path(folder)
        build.compile(m["file"], mutated(m), out)
        linked = {}
        for test in m["test"]:
            words = shlex.split(test)
            if words[0] not in linked:
                linked[words[0]] = build.link(words[0], out)
            try:
                r = subprocess.run([linked[words[0]]] + words[1:], cwd=folder, capture_output=True, text=True,
                                   errors="replace", timeout=TEST_SECONDS, env=dict(os.environ, TMPDIR=folder))
            except subprocess.TimeoutExpired:
                return True, f"{test}: does not end"
            if r.returncode != 0:
                return True, f"{test}: {what_it_said(r)}"
        return False, "NOBODY"


def judge(build, m):
    try:
        return m, *run_one(build, m)
    except Unfit as e:
        return m, False, f"DOES NOT FIT: {e}"


def report_places(chosen):
    """A line that was changed or moved takes its mutation out of use: that is said at once."""
    n_bad = 0
    for m in chosen:
        try:
            mutated(m)
        except Unfit as e:
            print(f"{m['name']}: {e}")
            n_bad += 1
    print(f"{len(chosen)} mutations, {n_bad} without their line")
    return 1 if n_bad or not chosen else 0


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default="build-dev")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--quick", action="store_true", help="only those marked `quick`")
    p.add_argument("--places", action="store_true", help="only look whether each line to be broken is there")
    p.add_argument("names", nargs="*")
    o = p.parse_args()
    all_of_them = [read_mutation(f) for f in sorted(HERE.glob("*.mutation"))]
    chosen = [m for m in all_of_them if (not o.names or m["name"] in o.names) and (not o.quick or m.get("quick") == "yes")]
    if o.places:
        return report_places(chosen)
    build = Build(o.build)
    n_bad = 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for m, noticed, by in pool.map(lambda m: judge(build, m), chosen):
            print(f"{'noticed' if noticed else 'UNSEEN ':8} {m['name']:34} {by}", flush=True)
            n_bad += not noticed
    print(f"{len(chosen)} mutations, {len(chosen) - n_bad} noticed")
    return 1 if n_bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
