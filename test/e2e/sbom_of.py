#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sbom_of.py ROOT BUILD: scripts/sbom.py names each program and library once, with what it links and loads; every
relation leads from something to something; and the same input gives the same file.

What is linked and loaded is asked of the loader itself, while the programs do what needs the most libraries; and the
sources are asked for what these runs did not load."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SECONDS = 300


def make(root, files, out):
    subprocess.run([sys.executable, str(root / "scripts/sbom.py"), str(root), str(out), *map(str, files)], check=True,
                   env=dict(os.environ, SOURCE_DATE_EPOCH="1700000000"))
    return out.read_text()


def faults_of(document, files):
    ids = [e["SPDXID"] for e in document["packages"] + document["files"]] + [document["SPDXID"]]
    if len(ids) != len(set(ids)):
        yield "an id comes twice: %s" % sorted(ids)
    for r in document["relationships"]:
        if r["spdxElementId"] not in ids or r["relatedSpdxElement"] not in ids:
            yield "a relation leads nowhere: %s" % r
    for p in document["packages"]:
        if not p["versionInfo"] or p["licenseDeclared"] == "NOASSERTION":
            yield "%s: no version or no licence; LICENCES of scripts/sbom.py has those that are known" % p["name"]
    if len(document["files"]) != len(files):
        yield "%d files of %d" % (len(document["files"]), len(files))


def run_all(root, build, env, folder):
    """Everything that is loaded late: the server's half, snappy in pawl, HTTP in pawld."""
    quiet = dict(env=env, check=True, timeout=SECONDS, stdout=subprocess.DEVNULL)
    snapshot = root / "test/vectors/datadir/compressed/snappy/version-2/snapshot.2a.snappy"
    subprocess.run([build / "bin/pawl", "-C", "60s", "-s", "local:%s" % (folder / "local"), "create", "/a", "b"], **quiet)
    subprocess.run([build / "bin/pawl", "snapshot", snapshot], **quiet)
    config = folder / "pawld.cfg"
    config.write_text("dataDir=%s\nclientPort=0\nclientPortAddress=127.0.0.1\ntickTime=2000\n"
                      "admin.enableServer=true\nadmin.serverAddress=127.0.0.1\nadmin.serverPort=0\n" % (folder / "data"))
    server = subprocess.Popen([build / "bin/pawld", config], env=env, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    try:
        told = []
        for line in server.stderr:
            told.append(line)
            if " ready: " in line:
                return
        sys.exit("pawld does not serve:\n" + "".join(told))
    finally:
        server.kill()
        server.communicate()


def really_loaded(root, build, folder):
    """(file of ours, library): who needed or loaded what, as the loader tells it."""
    env = dict(os.environ, LD_DEBUG="files", LD_DEBUG_OUTPUT=str(folder / "loader"))
    run_all(root, build, env, folder)
    text = "".join(p.read_text() for p in folder.glob("loader.*"))
    found = re.findall(r"file=(\S+) \[0\];\s+(?:needed|dynamically loaded) by (\S+) \[0\]", text)
    return {(os.path.basename(by), os.path.basename(library)) for library, by in found}


def names_in_sources(root):
    texts = [p.read_text() for p in (root / "src").rglob("*.[ch]")]
    return {name for text in texts for name in re.findall(r'"(lib[\w+-]+\.so\.\d+)"', text)}


def missing_in(document, loaded, named):
    """What is loaded, or could be, and not told."""
    files = {e["SPDXID"]: os.path.basename(e["fileName"]) for e in document["files"]}
    told = {(files[r["spdxElementId"]], r["comment"].split(",")[0]) for r in document["relationships"] if "comment" in r}
    for by, library in sorted(loaded):
        if by in files.values() and library not in files.values() and (by, library) not in told:
            yield "%s loads %s, which is not told" % (by, library)
    for library in sorted(named - {library for _, library in told}):
        yield "the sources load %s, which is not told" % library
    # The runs must have been what they are for.
    for pair in (("pawl", "libsnappy.so.1"), ("pawld", "libmicrohttpd.so.12"), ("libpawl-server.so.0", "libuv.so.1")):
        if pair not in loaded:
            yield "%s did not load %s here: what the test does is not enough" % pair


def main(root, build):
    if shutil.which("dpkg-query") is None:
        print("skipped: not Debian")
        return 77
    files = [build / "bin/pawld", build / "bin/pawl", *sorted(build.glob("lib/libpawl*.so.0"))]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        first, second = (make(root, files, folder / n) for n in ("a", "b"))
        loaded = really_loaded(root, build, folder)
    document = json.loads(first)
    faults = [*faults_of(document, files), *missing_in(document, loaded, names_in_sources(root)),
              *(["not the same twice"] if first != second else [])]
    print("\n".join(faults + ["%d faults" % len(faults)]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
