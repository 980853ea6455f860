#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""amalgamation.py ROOT: pawl.c and pawl.h, made by scripts/amalgamate.py, are compiled as somebody would who has copied
them; an example runs with them on a pawld (PAWLD); and nothing global in them but pawl_*."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import daemon


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s\nended with %d:\n%s%s" % (" ".join(map(str, command)), done.returncode, done.stdout, done.stderr))
    return done.stdout


def libraries(folder):
    """What pawl.c itself says that it needs; TLS is always in it, so OpenSSL is among them."""
    return re.search(r"^ \* To be linked with: (-l.*) \*/$", (folder / "pawl.c").read_text(), re.M)[1].split()


def build(root, folder):
    """The library as one object, the example as a program."""
    run(sys.executable, root / "scripts/amalgamate.py", root, folder)
    (folder / "pawl").mkdir()
    (folder / "pawl/pawl.h").symlink_to("../pawl.h")
    for language in ("c", "c++"):
        run("cc", "-x", language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", folder / "pawl.h")
    run("cc", "-c", folder / "pawl.c", "-o", folder / "pawl.o")
    run("cc", "-I", folder, root / "examples/first_steps.c", folder / "pawl.o", *libraries(folder), "-o", folder / "first_steps")


def strangers(folder):
    text = run("nm", "-g", "--defined-only", "--format=posix", folder / "pawl.o")
    return sorted(n for n in (line.split()[0] for line in text.splitlines() if line) if not n.startswith("pawl_"))


class Amalgamation(daemon.TestCase):
    def test_an_example_runs_with_it(self):
        root = pathlib.Path(ROOT).resolve()
        with tempfile.TemporaryDirectory(prefix="pawl-amalgamation-") as name:
            folder = pathlib.Path(name)
            build(root, folder)
            self.assertEqual(strangers(folder), [])
            server = self.start()
            self.assertIn('get /hello: "world"', run(folder / "first_steps", "127.0.0.1:%d" % server.port))


if __name__ == "__main__":
    ROOT = sys.argv.pop(1)
    daemon.main()
