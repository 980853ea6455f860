#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_the_checks.py ROOT: makes small trees with one fault each and sees that it is found."""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"

# check, file, content behind the licence line, whether it is to be accepted
CASES = [
    ("includes", "src/wire/a.c", '#include "base/bytes.h"\n#include <string.h>\n', True),
    ("includes", "src/wire/a.c", '#include "store/tree.h"\n', False),
    ("includes", "src/base/a.c", '#include "wire/jute.h"\n', False),
    ("includes", "src/server/a.c", '#include <sys/socket.h>\n', False),
    ("includes", "src/server/a.c", '  #  include   <pthread.h>\n', False),
    ("includes", "src/os/a.c", '#include <sys/socket.h>\n#include "base/disk.h"\n', True),
    ("includes", "src/os/a.c", '#include "wire/jute.h"\n', False),
    ("includes", "src/store/a.c", '#include <zlib.h>\n#include "pawl/error.h"\n', True),
    ("includes", "src/wire/a.c", '#include <zlib.h>\n', False),
    ("includes", "src/wire/a.c", '#include "jute.h"\n', False),
    ("includes", "src/strange/a.c", '#include <stdio.h>\n', False),
    ("includes", "include/pawl/a.h", '#include <stdint.h>\n#include <pawl/error.h>\n', True),
    ("includes", "include/pawl/a.h", '#include "base/bytes.h"\n', False),
    ("includes", "src/store/a.c", '#include "quorum/zab.h"\n', False),
    ("sources", "src/wire/a.c", "int a;\n", True),
    ("sources", "src/wire/a.c", "int   a ;\n", False),
    ("sources", "src/wire/a.c", "/* blank   \n */\n", False),
    ("sources", "src/wire/a.c", "int a;\n" * 1001, False),
    ("headers", "include/pawl/a.h", "#ifndef A_H\n#define A_H\nstruct a {\n    int a;\n};\n#endif\n", True),
    ("headers", "include/pawl/a.h", "#ifndef A_H\n#define A_H\nenum pawl_a { PAWL_A_X = 1, PAWL_A_Y };\n#endif\n", True),
    ("headers", "include/pawl/a.h", "#ifndef A_H\n#define A_H\nenum pawl_a { PAWL_X = 1, PAWL_Y };\n#endif\n", False),
    ("headers", "include/pawl/a.h",
     "#ifndef A_H\n#define A_H\nenum pawl_a { PAWL_A_X, PAWL_A_Y };\nenum pawl_b { PAWL_A_Z, PAWL_A_U };\n#endif\n", False),
    ("headers", "include/pawl/a.h", "struct a {\n    int a;\n};\n", False),
    ("headers", "include/pawl/a.h", "#ifndef A_H\n#define A_H\nint a(int class);\n#endif\n", False),
]


def accepted(root, check, name, content):
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        for copied in ("ARCHITECTURE.md", ".clang-format"):
            (tree / copied).write_text((root / copied).read_text())
        path = tree / name
        path.parent.mkdir(parents=True)
        path.write_text(content)
        done = subprocess.run([sys.executable, str(HERE / (check + ".py")), folder],
                              capture_output=True, text=True)
        return done.returncode in (0, 77), done.stdout


def main(root):
    faults = 0
    for check, name, content, good in CASES:
        got, output = accepted(root, check, name, SPDX + content)
        if got != good:
            print("%s: %r in %s should be %s\n%s" % (check, content[:80], name,
                                                    "accepted" if good else "refused", output))
            faults += 1
    got, _ = accepted(root, "sources", "src/wire/a.c", "int a;\n")
    if got:
        print("sources: a file without a licence line should be refused")
        faults += 1
    print("%d cases, %d faults" % (len(CASES) + 1, faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
