#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""manual.py ROOT: docs/man3.sh makes a page for each public header and each function in it, the
function is on the page, and mandoc has nothing against the pages."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FUNCTION = re.compile(r"^PAWL_API\s[^;(]*?\b(pawl_\w+)\(", re.MULTILINE)


def page_of(header):
    return "pawl.3" if str(header) == "pawl.h" else "pawl_%s.3" % "_".join(header.with_suffix("").parts)


def faults_of(folder, header, text):
    page = folder / page_of(header)
    if not page.exists():
        yield "%s: no page %s" % (header, page.name)
        return
    shown = page.read_text()
    for name in FUNCTION.findall(text):
        if not re.search(r"\b%s\(" % name, shown):
            yield "%s: %s() is not on the page" % (header, name)
        if not (folder / (name + ".3")).exists():
            yield "%s: no page %s.3" % (header, name)


def complaints(folder, written):
    """Of mandoc: about the pages that are made, and those that are written by hand."""
    if shutil.which("mandoc") is None:
        print("mandoc is not installed: the pages were not looked at")
        return []
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"]
                          + [str(p) for p in sorted(folder.glob("*.3"))
                             if not p.read_text().startswith(".so ")] + [str(p) for p in written],
                          capture_output=True, text=True)
    return done.stdout.splitlines()


def main(root):
    headers = sorted((root / "include/pawl").rglob("*.h"))
    with tempfile.TemporaryDirectory(prefix="pawl-manual-") as name:
        folder = pathlib.Path(name)
        subprocess.run([str(root / "docs/man3.sh"), name], check=True)
        faults = [fault for h in headers
                  for fault in faults_of(folder, h.relative_to(root / "include/pawl"), h.read_text())]
        faults += complaints(folder, sorted((root / "docs").glob("*.[18]")))
        n_pages = len(list(folder.glob("*.3")))
    print("\n".join(faults + ["%d headers, %d pages, %d faults" % (len(headers), n_pages, len(faults))]))
    return 1 if faults or not headers else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
