#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sources.py ROOT: every source has its licence line, is laid out by clang-format, has no line of
trailing blanks and is not longer than a reader can hold."""
import pathlib
import re
import shutil
import subprocess
import sys

SPDX = "SPDX-License-Identifier: Apache-2.0"
FOLDERS = ("src", "include", "test", "examples", "scripts", "cmake", "docs")
C_SUFFIXES = (".c", ".h", ".def")
SUFFIXES = C_SUFFIXES + (".py", ".sh", ".cmake", ".java")
LINES_MAX = 1000


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if "vectors" in path.parts or "__pycache__" in path.parts:
                continue
            if path.suffix in SUFFIXES or path.name == "CMakeLists.txt":
                yield path


def faults_of(path):
    lines = path.read_text().splitlines()
    if not any(SPDX in line for line in lines[:2]):
        yield "1: no line \"%s\" on top" % SPDX
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield "%d: blanks at the end of the line" % number
    if "test" not in path.parts and path.suffix in C_SUFFIXES and len(lines) > LINES_MAX:
        yield "%d: more than %d lines: it wants to be a folder" % (len(lines), LINES_MAX)


def badly_laid_out(paths):
    """Names of the files that clang-format would change; none when there is no clang-format."""
    program = shutil.which("clang-format") or shutil.which("clang-format-14")
    if program is None:
        print("clang-format is not installed: the layout was not looked at")
        return []
    done = subprocess.run([program, "--style=file", "--dry-run", "-Werror"] + paths,
                          capture_output=True, text=True)
    return sorted(set(re.findall(r"^(.*?):\d+:\d+: error: ", done.stderr, re.MULTILINE)))


def main(root):
    paths = list(sources(root))
    faults = ["%s:%s" % (p.relative_to(root), fault) for p in paths for fault in faults_of(p)]
    in_c = [str(p) for p in paths if p.suffix in (".c", ".h")]
    faults += ["%s: not laid out as .clang-format says; make format" % name
               for name in badly_laid_out(in_c)]
    print("\n".join(faults + ["%d files, %d faults" % (len(paths), len(faults))]))
    return 1 if faults or not paths else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
