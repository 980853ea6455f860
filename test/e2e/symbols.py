#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""symbols.py FOLDER INCLUDE: libpawl.so exports, and libpawl.a has as global symbols, exactly what
the public headers declare with PAWL_API; libpawl-server.so shows its table only; both shared ones name
their version; and a client loads nothing that only a server needs."""
import pathlib
import re
import subprocess
import sys


def defined(path, *options):
    done = subprocess.run(["nm", "--defined-only", "--format=posix", *options, str(path)],
                          check=True, capture_output=True, text=True)
    return {line.split()[0] for line in done.stdout.splitlines() if len(line.split()) >= 3}


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
CLIENT_NEEDS = re.compile(r"lib(z|c|pthread|dl|[at]san|ubsan|gcc_s|m)\.so|ld-linux")


def dynamic(path, tag):
    text = subprocess.run(["readelf", "-d", str(path)], check=True, capture_output=True,
                          text=True).stdout
    return re.findall(r"\(%s\).*\[(.*)\]" % tag, text)


def check_halves(folder):
    good = True
    for name in ("libpawl", "libpawl-server"):
        soname = dynamic(folder / (name + ".so"), "SONAME")
        print("soname: %s" % soname)
        good = good and len(soname) == 1 and re.fullmatch(name + r"\.so\.\d+", soname[0])
    needs = dynamic(folder / "libpawl.so", "NEEDED")
    strangers = [n for n in needs if not CLIENT_NEEDS.match(n)]
    print("libpawl.so needs %s; not a client's: %s" % (needs, strangers))
    return good and needs and not strangers


def main(folder, include):
    expected = declared(include, defined(folder / "libpawl.so", "-D"))
    foreign = sorted(name for name in expected if not name.startswith("pawl_"))
    good = not foreign and len(expected) >= 5
    print("%d functions declared; without the prefix: %s" % (len(expected), foreign))
    # Sanitizers and coverage bring symbols of their own, which are not ours to hide.
    tools = re.compile(r"^_*(asan|tsan|ubsan|odr_asan|gcov|sancov|start_|stop_)|^_?_?(init|fini)$")
    shared = {n for n in defined(folder / "libpawl.so", "-D") if not tools.match(n)}
    static = {n for n in defined(folder / "libpawl.a", "-g") if not tools.match(n)}
    good = compare("libpawl.so", shared, expected) and good
    good = compare("libpawl.a", static, expected) and good
    server = {n for n in defined(folder / "libpawl-server.so", "-D") if not tools.match(n)}
    good = compare("libpawl-server.so", server, {"pawl_server_half"}) and good
    return 0 if check_halves(folder) and good else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
