#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""symbols.py FOLDER INCLUDE PROGRAM: libpawl.so exports, and libpawl.a has as global symbols, exactly what
the public headers declare with PAWL_API; libpawl-server.so and libpawl-tls.so show their tables only; all
shared ones name their version, and so does every symbol; and a client, PROGRAM (pawl) among them, loads nothing that
only a server needs."""
import pathlib
import re
import subprocess
import sys


VERSION = "PAWL_0"  # cmake/libpawl.map
# Sanitizers and coverage bring symbols of their own, which are not ours to hide.
TOOLS = re.compile(r"^_*(asan|tsan|ubsan|odr_asan|gcov|sancov|start_|stop_)|^_?_?(init|fini)$")


def defined(path, *options):
    done = subprocess.run(["nm", "--defined-only", "--format=posix", *options, str(path)],
                          check=True, capture_output=True, text=True)
    names = {line.split()[0] for line in done.stdout.splitlines() if len(line.split()) >= 3}
    return names - {VERSION}


def exported(path):
    """Without their version, which all of them must have."""
    names = {n for n in defined(path, "-D") if not TOOLS.match(n)}
    bare = sorted(n for n in names if not n.endswith("@@" + VERSION))
    if bare:
        print("%s: without the version %s: %s" % (path.name, VERSION, bare))
    return {n for n in names if n in bare} | {n.partition("@")[0] for n in names if n not in bare}


def declared(include, present):
    """A header of whose functions not one is there belongs to a part that is still to come; of the
    others all must be."""
    names = set()
    for header in sorted((include / "pawl").glob("*.h")):
        found = set(re.findall(r"^PAWL_API\b[^;(]*?\b(\w+)\(", header.read_text(), re.MULTILINE))
        if found and not found & present:
            print("%s: none of its functions is in the library" % header.name)
        else:
            names |= found
    return names


def compare(what, found, expected):
    for name in sorted(found - expected):
        print("%s: %s is global, but no header declares it" % (what, name))
    for name in sorted(expected - found):
        print("%s: %s is declared, but not there" % (what, name))
    return found == expected


# What libpawl.so may need, beside what a sanitizer brings.
CLIENT_NEEDS = re.compile(r"lib(z|c|pthread|dl|[at]san|ubsan|gcc_s|m|rt|resolv)\.so|ld-linux")
# And bin/pawl: no libuv, OpenSSL or libsnappy, which each `pawl get` would wait for.
PROGRAM_NEEDS = re.compile(r"lib(pawl|jansson|edit)\.so|" + CLIENT_NEEDS.pattern)


def dynamic(path, tag):
    text = subprocess.run(["readelf", "-d", str(path)], check=True, capture_output=True,
                          text=True).stdout
    return re.findall(r"\(%s\).*\[(.*)\]" % tag, text)


def check_needs(path, allowed):
    needs = dynamic(path, "NEEDED")
    strangers = [n for n in needs if not allowed.match(n)]
    print("%s needs %s; not a client's: %s" % (path.name, needs, strangers))
    return bool(needs) and not strangers


def check_halves(folder, program):
    good = True
    for name in ("libpawl", "libpawl-server", "libpawl-tls"):
        soname = dynamic(folder / (name + ".so"), "SONAME")
        print("soname: %s" % soname)
        good = good and len(soname) == 1 and re.fullmatch(name + r"\.so\.\d+", soname[0])
    good = check_needs(folder / "libpawl.so", CLIENT_NEEDS) and good
    return check_needs(program, PROGRAM_NEEDS) and good


def main(folder, include, program):
    shared = exported(folder / "libpawl.so")
    expected = declared(include, shared)
    foreign = sorted(name for name in expected | shared if not name.startswith("pawl_"))
    good = not foreign and len(expected) >= 5
    print("%d functions declared; without the prefix: %s" % (len(expected), foreign))
    static = {n for n in defined(folder / "libpawl.a", "-g") if not TOOLS.match(n)}
    good = compare("libpawl.so", shared, expected) and good
    good = compare("libpawl.a", static, expected) and good
    good = compare("libpawl-server.so", exported(folder / "libpawl-server.so"), {"pawl_server_half"}) and good
    good = compare("libpawl-tls.so", exported(folder / "libpawl-tls.so"), {"pawl_tls_half"}) and good
    return 0 if check_halves(folder, program) and good else 1


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:4])))
