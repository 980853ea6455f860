#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""headers.py ROOT: each public header compiles alone, as C99 and as C++11, without a warning;
and options.cpp as C++11; and each enum has a prefix of its own for its constants."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
LANGUAGES = (("c", "c99", ("gcc", "clang", "clang-14")),
             ("c++", "c++11", ("g++", "clang++", "clang++-14")))
# libuv's own header does not compile as strict C99 without it.
FOR_ADAPTERS = ["-D_POSIX_C_SOURCE=200809L"]


def options_compile(compiler, standard, root):
    """What C has macros for can be written in C++, too."""
    command = [compiler, "-std=" + standard, "-fsyntax-only", "-I", str(root / "include")]
    done = subprocess.run(command + WARNINGS + [str(root / "test/tidy/options.cpp")],
                          capture_output=True, text=True)
    print(done.stderr, end="")
    return done.returncode == 0


def compiles(compiler, language, standard, root, header):
    command = [compiler, "-x", language, "-std=" + standard, "-fsyntax-only", "-I", str(root / "include")]
    command += FOR_ADAPTERS if "adapters" in header.parts else []
    # Twice: a header without a guard does not survive it.
    text = "#include <%s>\n#include <%s>\ntypedef int not_empty;\n" % (header, header)
    done = subprocess.run(command + WARNINGS + ["-"], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        print("%s as %s with %s:\n%s" % (header, standard, compiler, done.stderr))
    return done.returncode == 0


def prefixes(text):
    """(enum, the words that all its constants begin with), of each enum that is spelled out."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for name, body in re.findall(r"\benum (\w+) \{([^}]*)\}", text):
        constants = re.findall(r"(?:^|,)\s*(PAWL_\w+)\s*(?==|,|$)", body.strip())
        if name != "pawl_error":  # PAWL_OK and PAWL_ERR_...
            yield name, os.path.commonprefix([c + "_" for c in constants]).rpartition("_")[0]


def own_prefixes(root, headers):
    """One prefix for each kind of constant: what begins alike can be passed alike."""
    owner, faults = {"PAWL": "the library", "": "nobody"}, 0
    for header in headers:
        for name, prefix in prefixes((root / "include" / header).read_text()):
            if prefix in owner:
                print("%s: the constants of enum %s begin with '%s', which is %s's: give them a "
                      "prefix of their own" % (header, name, prefix, owner[prefix]))
                faults += 1
            owner[prefix] = name
    return faults == 0


def main(root):
    headers = sorted(p.relative_to(root / "include") for p in (root / "include").rglob("*.h"))
    good, tried = 0, 0
    for language, standard, compilers in LANGUAGES:
        compiler = next((c for c in compilers if shutil.which(c)), None)
        if compiler is None:
            print("no compiler for %s" % standard)
            return 77
        for header in headers:
            tried += 1
            good += compiles(compiler, language, standard, root, header)
        if language == "c++" and (root / "include/pawl/pawl.h").exists():
            tried += 1
            good += options_compile(compiler, standard, root)
    print("%d headers, %d of %d compilations good" % (len(headers), good, tried))
    return 0 if tried > 0 and good == tried and own_prefixes(root, headers) else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
