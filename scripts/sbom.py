#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py ROOT OUT FILE...: what the given programs and libraries are made of, as SPDX 2.3 (JSON).

Each file, with its SHA-256; what it needs by itself (readelf), and what it loads later (dlopen), as the packages of
Debian that have it, with versions. Nothing is guessed: a library that is not found is an error. The date is
SOURCE_DATE_EPOCH, if it is set, so that the same input gives the same file."""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# A string that is the name of a library and nothing else: what dlopen() is given (src/half, src/http/mhd.c).
LIBRARY_NAME = re.compile(rb"(?<=\0)lib[A-Za-z0-9_+-]+\.so\.\d+(?=\0)")
# As Debian's copyright files have them.
LICENCES = {"libc6": "LGPL-2.1-or-later", "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
            "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1", "libjansson4": "MIT", "libsnappy1v5": "BSD-3-Clause",
            "libssl3": "Apache-2.0", "libuv1": "MIT", "zlib1g": "Zlib", "libedit2": "BSD-3-Clause",
            "libmicrohttpd12": "LGPL-2.1-or-later", "libsasl2-2": "BSD-3-Clause-Attribution"}


def output(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def needs(path):
    """Names of the libraries that the file asks for: when it is started, and later."""
    dynamic = output("readelf", "-d", path)
    linked = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    itself = re.findall(r"\(SONAME\).*\[(.*)\]", dynamic)
    named = {n.decode() for n in LIBRARY_NAME.findall(path.read_bytes())}
    return linked, sorted(named - set(linked) - set(itself))


def places():
    """soname: path, as the loader knows it."""
    known = {}
    for line in output("/sbin/ldconfig", "-p").splitlines():
        m = re.match(r"\s+(\S+) \(.*\) => (\S+)", line)
        if m:
            known.setdefault(m[1], m[2])
    return known


def package_of(path):
    """(name, version) of the Debian package that has the file."""
    for candidate in (path, os.path.realpath(path), re.sub("^/usr", "", os.path.realpath(path)),
                      re.sub("^/usr", "", path), "/usr" + path):
        done = subprocess.run(["dpkg-query", "-S", candidate], capture_output=True, text=True)
        if done.returncode == 0:
            name = done.stdout.split(":")[0]
            return name, output("dpkg-query", "-W", "-f", "${Version}\n", done.stdout.split(": ")[0].split(",")[0]).split()[0]
    sys.exit("%s belongs to no package" % path)


def spdx_id(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", text)


def own_package(version):
    return {"SPDXID": "SPDXRef-Package-pawl", "name": "pawl", "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
            "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION"}


def library_package(name, version):
    licence = LICENCES.get(name, "NOASSERTION")
    return {"SPDXID": spdx_id("Package-" + name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", "primaryPackagePurpose": "LIBRARY",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": "pkg:deb/debian/%s@%s" % (name, version.replace("+", "%2B"))}]}


def relation(a, kind, b, comment=None):
    r = {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
    return dict(r, comment=comment) if comment else r


def describe(version, files):
    known, packages, relations, entries = places(), {}, [], []
    own = {re.sub(r"(\.so\.\d+)[.0-9]*$", r"\1", f.resolve().name) for f in files}
    for path in files:
        here = spdx_id("File-" + path.name)
        data = path.read_bytes()
        entries.append({"SPDXID": here, "fileName": "./" + path.name, "fileTypes": ["BINARY"],
                        "licenseConcluded": "Apache-2.0", "copyrightText": "NOASSERTION",
                        "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                                      {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}]})
        relations.append(relation("SPDXRef-Package-pawl", "CONTAINS", here))
        linked, later = needs(path)
        for name in linked + later:
            if name in own or name.startswith("ld-linux"):
                continue
            if name not in known:
                sys.exit("%s needs %s, which is not here" % (path.name, name))
            package, its_version = package_of(known[name])
            packages[package] = its_version
            relations.append(relation(here, "DYNAMIC_LINK", spdx_id("Package-" + package),
                                      name + (", loaded when it is wanted" if name in later else "")))
    return packages, relations, entries


def main(root, out, files):
    version = re.search(r'PAWL_VERSION +"(.*)"', (root / "include/pawl/version.h").read_text())[1]
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now().timestamp())),
                                           datetime.timezone.utc)
    packages, relations, entries = describe(version, files)
    digest = hashlib.sha256("".join(e["checksums"][1]["checksumValue"] for e in entries).encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "pawl-" + version,
        "documentNamespace": "https://spdx.org/spdxdocs/pawl-%s-%s" % (version, digest[:32]),
        "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: pawl-sbom"]},
        "packages": [own_package(version)] + [library_package(n, v) for n, v in sorted(packages.items())],
        "files": entries,
        "relationships": [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package-pawl")] + relations}
    out.write_text(json.dumps(document, indent=2) + "\n")
    print("%s: %d files, %d packages: %s" % (out, len(entries), len(packages), ", ".join(sorted(packages))))
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), [pathlib.Path(f) for f in sys.argv[3:]]))
