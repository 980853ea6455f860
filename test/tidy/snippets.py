#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""snippets.py ROOT: every piece of C in README.md, in docs/ and in the opening comment of a public
header compiles, and none drops the result of a call.

Pieces are compiled as they stand, inside a function if need be. What they take for granted (a client,
the work to be done) is in PREAMBLE."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PREAMBLE = """
#include <pawl/pawl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

extern struct pawl_client *client;
extern struct pawl_lock *from_account, *to_account;
extern struct pawl_grant *g;
extern struct event_base *base;
extern int epoll_fd, my_timeout_ms, running;
void check(int rc, const char *what); /* examples/example.h: prints the error and ends the program */
bool there_is_work(void);
bool do_it(struct pawl_bytes data);
void work_a_little(uint64_t token);
void mine(void *event);
void use(struct pawl_bytes data);
void write_to_storage(uint64_t token);
"""
FLAGS = ["-std=c99", "-c", "-o", "/dev/null", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
         "-Wno-unused-function", "-Wno-unused-variable", "-Wno-unused-but-set-variable"]


def from_page(text):
    return ["\n".join(block.splitlines()) for block in re.findall(r"```c\n(.*?)```", text, re.S)]


def from_header(text):
    """Of the opening comment, what is indented by five and more and calls us: all of it is one piece."""
    opening = re.search(r"/\* \w+\.h - .*?\*/", text, re.S)
    blocks = [[]]
    for line in (opening[0] if opening else "").splitlines():
        if line.startswith(" *     ") or line.strip() == "*":
            blocks[-1].append(line[7:])
        else:
            blocks.append([])
    code = ["\n".join(b) for b in blocks if re.search(r"\bpawl_\w+\(", "\n".join(b))]
    return ["\n".join(code).strip("\n")] if code else []


def program_of(piece):
    """Its includes; and its functions, then its statements in a function of their own."""
    outside, inside, to = [], [], None
    if re.search(r"^int main\(", piece, re.M):
        return "", piece + "\n"
    for line in piece.splitlines():
        if line.startswith("#include"):
            outside.append(line)
            continue
        if to is None:
            to = outside if re.match(r"static .*\(", line) else inside
        # A prototype in a piece stands for a function of the reader's.
        to.append(line[7:] if to is outside and line.endswith(");") else line)
        if to is inside or line == "}" or line.endswith((";", "}")) and not line.startswith(" "):
            to = None
    includes = [line for line in outside if line.startswith("#include")]
    functions = [line for line in outside if not line.startswith("#include")]
    return "\n".join(includes), "%s\nint snippet(void);\nint snippet(void)\n{\n%s\nreturn 0;\n}\n" % (
        "\n".join(functions), "\n".join(inside))


def must_use(include):
    """Every function that returns an error once more, as one whose result must be used."""
    text = "\n".join(p.read_text() for p in sorted((include / "pawl").glob("*.h")))
    found = re.findall(r"^PAWL_API (int pawl_\w+\([^;{]*\));", text, re.M)
    return "".join("%s __attribute__((warn_unused_result));\n" % f for f in found)


def complaint(compiler, include, piece, declarations, folder):
    source = folder / "snippet.c"
    includes, program = program_of(piece)
    source.write_text("#define _GNU_SOURCE\n" + PREAMBLE + includes + "\n" + declarations + program)
    done = subprocess.run([compiler, *FLAGS, "-I", str(include), str(source)], capture_output=True,
                          text=True)
    return done.stderr if done.returncode != 0 else None


def main(root):
    compiler = shutil.which("cc") or shutil.which("gcc")
    include = root / "include"
    pieces = [(p, s) for p in [root / "README.md", *sorted((root / "docs").glob("*.md"))]
              if p.exists() for s in from_page(p.read_text())]
    pieces += [(p, s) for p in sorted(include.rglob("*.h")) for s in from_header(p.read_text())]
    declarations = must_use(include)
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for path, piece in pieces:
            # An adapter's header brings a library that need not be installed here.
            about = '#include <%s>\n' % path.relative_to(include) if path.suffix == ".h" else ""
            wrong = complaint(compiler, include, about + piece, declarations, pathlib.Path(folder))
            if wrong and "libevent.h" in path.name and "event2" in wrong:
                continue
            if wrong:
                faults += 1
                print("%s:\n%s\n%s" % (path.relative_to(root), piece, wrong))
    print("%d pieces, %d faults" % (len(pieces), faults))
    return 1 if faults or not pieces else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
