#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""clean_root.py DEBS [--quick]: the packages in a Debian that has nothing else: installed, used, upgraded, removed, purged.

The root is made by debootstrap in DEBS/root.tar.gz, once, and unpacked for each run; it has a network for apt
only. Nothing of this machine is changed. Without debootstrap, or without being root, the test is skipped.
With --quick no compiler is installed to try libpawl-dev.

PAWL_DEB_MIRROR is another mirror than deb.debian.org."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
SUITE = "bookworm"
MIRROR = os.environ.get("PAWL_DEB_MIRROR", "http://deb.debian.org/debian")
# Nothing is started by installing it: there is no systemd in a chroot.
NO_SERVICES = "#!/bin/sh\nexit 101\n"


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit("%s\nended with %d:\n%s%s" % (" ".join(map(str, command)), done.returncode, done.stdout[-4000:],
                                               done.stderr[-4000:]))
    return done.stdout


def make_root(debs, folder):
    """A small Debian, from its mirror the first time."""
    tar = debs / ("root-%s.tar.gz" % SUITE)
    if not tar.exists():
        made = folder / "made"
        run("debootstrap", "--variant=minbase", SUITE, made, MIRROR)
        run("tar", "-C", made, "-czf", str(tar) + ".new", ".")
        os.rename(str(tar) + ".new", tar)
        shutil.rmtree(made)
    root = folder / "root"
    root.mkdir()
    run("tar", "-C", root, "-xpf", tar)
    return root


class Root:
    def __init__(self, path):
        self.path = path
        for name in ("resolv.conf", "hosts"):
            shutil.copy("/etc/" + name, path / "etc")
        policy = path / "usr/sbin/policy-rc.d"
        policy.write_text(NO_SERVICES)
        policy.chmod(0o755)

    def sh(self, script, network=False):
        """With processes and mounts of its own, which end with it; and, but for apt, a network."""
        world = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        world += [] if network else ["--net", "sh", "-ec", 'ip link set lo up; exec "$@"', "-"]
        return run(*world, "chroot", self.path, "bash", "-ec",
                   "mount -t proc proc /proc; export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin;"
                   + script)

    def apt(self, words):
        """Reads what is given as packages, and fetches what they need."""
        return self.sh("apt-get -qq %s >/dev/null" % words, network=True)

    def has(self, name):
        return os.path.lexists(self.path / name.lstrip("/"))


def expect(condition, what):
    if not condition:
        sys.exit("not so: " + what)
    print("good: " + what, flush=True)


def next_version(deb, out):
    """The same package with a later version."""
    with tempfile.TemporaryDirectory() as folder:
        run("dpkg-deb", "-R", deb, folder + "/x")
        control = pathlib.Path(folder) / "x/DEBIAN/control"
        text = control.read_text()
        version = [l.split()[1] for l in text.splitlines() if l.startswith("Version:")][0]
        control.write_text(text.replace(version, version + "+next"))
        run("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", folder + "/x", out / (deb.stem + "+next.deb"))


# Serves from the packaged configuration, as its user, for as long as `inside` runs.
SERVE = """
setpriv --reuid=pawl --regid=pawl --init-groups pawld /etc/pawl/pawld.cfg 2>/tmp/pawld.log &
pawl -C 60s -s localhost:2181 %s
kill %%1; wait %%1
"""


def check_installed(root):
    expect("pawld 0.1" in root.sh("pawld --version"), "pawld runs")
    expect(root.sh("stat -c '%U %G %a' /var/lib/pawl").split() == ["pawl", "pawl", "750"],
           "/var/lib/pawl is its user's alone")
    expect("/usr/sbin/nologin" in root.sh("getent passwd pawl"), "the user pawl cannot log in")
    expect("clientPortAddress=127.0.0.1" in root.sh("grep -v '^#' /etc/pawl/pawld.cfg"), "it listens on this machine only")
    expect(root.sh("dpkg-query -W -f '${Conffiles}' pawld").split()[0] == "/etc/pawl/pawld.cfg", "its file is a conffile")
    expect(root.has("lib/systemd/system/pawld.service"), "there is a unit")
    expect("ExecStart=/usr/bin/pawld /etc/pawl/pawld.cfg" in root.sh("cat /lib/systemd/system/pawld.service"),
           "the unit names the program where it is")
    root.sh(SERVE % "create /kept by-the-first")
    print("good: it serves, as its user")
    expect(root.sh("pawl -s local:/tmp/l create /a b; pawl -s local:/tmp/l get /a") == "/a\nb",
           "pawl finds both halves of the library")
    expect(root.has("usr/share/bash-completion/completions/pawl"), "completion for bash")
    expect(root.has("usr/share/man/man8/pawld.8.gz") and root.has("usr/share/man/man1/pawl.1.gz"), "manual pages")
    expect(root.has("usr/share/doc/pawld/conf/prometheus-alerts.yml") and root.has("usr/share/doc/pawld/docs/operating.md.gz"),
           "rules for alerts and the operators' pages come with the server")


def check_dev(root):
    root.apt("install -y --no-install-recommends gcc libc6-dev pkg-config")
    root.sh("cp /usr/share/doc/libpawl-dev/examples/embedded_server.c* /usr/share/doc/libpawl-dev/examples/usage.h* /tmp;"
            "cd /tmp; for f in *.gz; do [ -e \"$f\" ] && gunzip -f \"$f\"; done;"
            "cc embedded_server.c $(pkg-config --cflags --libs pawl) -o shared; ./shared | grep 'hello from inside';"
            "cc embedded_server.c $(pkg-config --cflags pawl) -Wl,-Bstatic -lpawl -Wl,-Bdynamic "
            "$(pkg-config --static --libs pawl | sed 's/-lpawl//') -o static; ./static | grep 'hello from inside'")
    print("good: a program is built and runs with libpawl-dev, shared and static")


def main(debs, quick):
    if shutil.which("debootstrap") is None or os.geteuid() != 0:
        print("skipped: %s" % ("debootstrap is not installed (make need-deb)" if os.geteuid() == 0 else "not root"))
        return SKIP
    packages = sorted(p for p in debs.glob("*.deb") if "dbgsym" not in p.name)
    if len(packages) != 4:
        sys.exit("make deb first: %s has %d packages" % (debs, len(packages)))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-root-", dir=debs))
    try:
        root = Root(make_root(debs, folder))
        (root.path / "debs").mkdir()
        (root.path / "next").mkdir()
        for deb in packages:
            shutil.copy(deb, root.path / "debs")
            next_version(deb, root.path / "next")
        root.apt("update")
        root.apt("install -y --no-install-recommends /debs/*.deb")
        check_installed(root)
        if not quick:
            check_dev(root)

        root.sh("echo '# mine' >> /etc/pawl/pawld.cfg; chmod 0700 /var/lib/pawl")
        root.apt("install -y --no-install-recommends /next/*.deb")
        expect("+next" in root.sh("dpkg-query -W -f '${Version}' pawld"), "upgraded")
        expect("# mine" in root.sh("cat /etc/pawl/pawld.cfg"), "what the operator wrote into the file is still there")
        expect(root.sh("stat -c %a /var/lib/pawl").strip() == "700", "and what he made of the folder's mode")
        expect("by-the-first" in root.sh(SERVE % "get /kept"), "and the data")

        root.apt("remove -y pawld pawl libpawl-dev libpawl0")
        expect(not root.has("usr/bin/pawld") and not root.has("lib/systemd/system/pawld.service"), "removed")
        expect(root.has("etc/pawl/pawld.cfg") and root.has("var/lib/pawl/version-2"), "configuration and data are left")
        root.apt("install -y --no-install-recommends /next/pawld*.deb /next/pawl_*.deb /next/libpawl0*.deb")
        expect("by-the-first" in root.sh(SERVE % "get /kept"), "installed again, it goes on")
        # A mount lasts as long as the script that made it.
        told = root.sh("mkdir /var/lib/pawl/log; mount -t tmpfs none /var/lib/pawl/log; touch /var/lib/pawl/log/l;"
                       "dpkg --purge pawld 2>&1; find /var/lib/pawl")
        expect("is a mount point" in told and told.split()[-2:] == ["/var/lib/pawl", "/var/lib/pawl/log"],
               "purged with a mount point below its folder: emptied, and said so")
        expect(root.sh("dpkg-query -W -f '${db:Status-Status}' pawld 2>/dev/null || true") in ("", "not-installed"),
               "and it is not half installed")
        root.apt("install -y --no-install-recommends /next/pawld*.deb")
        root.apt("purge -y pawld pawl libpawl0")
        expect(not root.has("etc/pawl") and not root.has("var/lib/pawl"), "purged: nothing is left of it")
        left = root.sh("find / -xdev \\( -path /proc -o -path /debs -o -path /next -o -path /tmp -o -path /var/log -o "
                       "-path /var/cache -o -path /var/lib/apt \\) -prune -o -name '*pawl*' -print")
        expect(left == "", "no file of that name: %r" % left)
    finally:
        shutil.rmtree(folder)
    print("packages: installed, used, upgraded, removed, purged")
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), "--quick" in sys.argv[2:]))
