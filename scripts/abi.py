#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""abi.py [--write] ROOT: the interface of libpawl as a list, kept in abi/libpawl.so.N.txt.

What programs that were compiled rely on: the functions with their types, the constants with their values,
the structs with the places of their fields. Made from the public headers with the compiler; that the library
has just these functions is for test/e2e/symbols.py. Without --write the list is compared with the file: what
is new is a line more in it (--write), what is gone or changed is a new soname (PAWL_SOVERSION in
cmake/library.cmake) once a version has been released."""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

NOT_OURS = {"adapters"}  # all inline: compiled into the program that uses them


def without_comments(text):
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", " ", text, flags=re.S))


def one_line(text):
    """The same declaration is the same text, however its lines are broken."""
    return re.sub(r"\(\s+", "(", " ".join(text.split())).strip()


def functions(text):
    for declaration in re.findall(r"^PAWL_API\b([^;{]*);", text, re.M):
        yield "function %s" % one_line(declaration)


def callbacks(text):
    for declaration in re.findall(r"^typedef\b([^;{]*\(\*\w+_fn\)[^;]*);", text, re.M):
        yield "callback %s" % one_line(declaration)


def constants(text):
    for body in re.findall(r"\benum \w* ?\{([^}]*)\}", text):
        yield from re.findall(r"(?:^|,)\s*(PAWL_\w+)\s*(?==|,|$)", body.strip())


def fields(body):
    """Names of the fields of a struct, in order."""
    for declaration in body.split(";"):
        pointer = re.search(r"\(\*(\w+)\)\s*\(", declaration)
        if pointer:
            yield pointer[1]
            continue
        for name in re.sub(r"\[[^]]*\]", "", declaration).split(","):
            last = re.search(r"(\w+)\s*$", name)
            if last:
                yield last[1]


def structs(text):
    for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.M | re.S):
        yield name, list(fields(body))


def questions(headers):
    """A program whose output is the part of the list that only a compiler knows."""
    lines = ["#include <pawl/pawl.h>", "#include <stdio.h>", "int main(void)", "{"]
    for text in headers:
        for name in constants(text):
            lines.append('printf("constant %s = %%d\\n", (int)%s);' % (name, name))
        for name, names in structs(text):
            lines.append('printf("struct %s: %%zu bytes\\n", sizeof(struct %s));' % (name, name))
            for field in names:
                lines.append('printf("struct %s.%s: %%zu at %%zu\\n", sizeof(((struct %s *)0)->%s), '
                             'offsetof(struct %s, %s));' % (name, field, name, field, name, field))
    # The table of errors is made by a macro.
    lines.append('#define X(name, number, sentence) printf("constant PAWL_ERR_%s = %d\\n", #name, number);')
    return "\n".join(lines + ["PAWL_ERRORS(X)", "return 0;", "}"]) + "\n"


def answers(root, program):
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder) / "abi.c", pathlib.Path(folder) / "abi"
        source.write_text(program)
        subprocess.run([compiler, "-std=c99", "-I", str(root / "include"), str(source), "-o", str(binary)],
                       check=True)
        return subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout.splitlines()


def listing(root):
    headers = [without_comments(p.read_text()) for p in sorted((root / "include/pawl").glob("*.h"))]
    lines = {line for text in headers for line in [*functions(text), *callbacks(text)]}
    return sorted(lines) + answers(root, questions(headers))


def soversion(root):
    return re.search(r"set\(PAWL_SOVERSION (\d+)\)", (root / "cmake/library.cmake").read_text())[1]


def main(arguments):
    write = "--write" in arguments
    root = pathlib.Path([a for a in arguments if a != "--write"][0])
    if sys.maxsize < 2**32:
        print("skipped: the list is that of 64-bit machines")
        return 77
    kept = root / ("abi/libpawl.so.%s.txt" % soversion(root))
    now = listing(root)
    if write:
        kept.parent.mkdir(exist_ok=True)
        kept.write_text("\n".join(now) + "\n")
        print("%s: %d lines" % (kept, len(now)))
        return 0
    before = kept.read_text().splitlines() if kept.exists() else []
    changes = [l for l in difflib.unified_diff(before, now, str(kept), "include/pawl", lineterm="", n=0)]
    print("\n".join(changes + ["%d lines, %s" % (len(now), "as in " + kept.name if not changes else
          "not as in %s. Is it meant? scripts/abi.py --write . ; what a released version had may only "
          "change with a new PAWL_SOVERSION" % kept.name)]))
    return 1 if changes or len(now) < 100 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
