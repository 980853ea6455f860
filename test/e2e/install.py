#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""install.py BUILD EXAMPLE: installs into a folder of its own, as packagers do (a prefix, and a
DESTDIR in front of it), and uses what is there as others would: pkg-config with C99 and C++11,
shared and static, and CMake's find_package. All examples that are installed compile, the links between the
installed pages lead somewhere, and local:DIR works."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PREFIX = "/opt/pawl"
EXPECTED = ["bin/pawl", "bin/pawld", "share/man/man1/pawl.1", "share/man/man1/pawl-lock.1", "share/man/man1/pawl-queue-take.1",
            "include/pawl/server.h", "include/pawl/error.h", "include/pawl/version.h",
            "include/pawl/api.h", "include/pawl/log.h", "share/man/man8/pawld.8",
            "share/man/man3/pawl_client.3", "share/man/man3/pawl_get.3",
            "include/pawl/adapters/epoll.h",
            "share/doc/pawl/conf/pawld.cfg.example", "share/doc/pawl/LICENSE",
            "share/doc/pawl/README.md", "share/doc/pawl/CHANGELOG.md",
            "share/bash-completion/completions/pawl", "share/zsh/site-functions/_pawl",
            "share/fish/vendor_completions.d/pawl.fish",
            "share/doc/pawl/examples/embedded_server.c", "lib/systemd/system/pawld.service"]
IN_LIB = ["libpawl.so", "libpawl.so.0", "libpawl-server.so.0", "libpawl-tls.so.0", "libpawl.a", "pkgconfig/pawl.pc",
          "cmake/pawl/pawl-config.cmake", "cmake/pawl/pawl-config-version.cmake"]
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
CMAKE_LISTS = """cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(pawl 0.1 REQUIRED)
add_executable(with_shared example.c)
target_link_libraries(with_shared pawl::pawl)
add_executable(with_static example.c)
target_link_libraries(with_static pawl::static)
"""


def run(*command, env=None, cwd=None):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd,
                          env=dict(os.environ, **(env or {})))
    if done.returncode != 0:
        sys.exit("%s\nended with %d:\n%s%s" % (" ".join(map(str, command)), done.returncode,
                                               done.stdout, done.stderr))
    return done.stdout


def check_files(root):
    libraries = sorted(root.glob("lib/**/libpawl.so"))
    if len(libraries) != 1:
        sys.exit("libpawl.so is not installed once: %s" % libraries)
    lib = libraries[0].parent
    missing = [p for p in EXPECTED if not (root / p).exists()]
    missing += [p for p in IN_LIB if not (lib / p).exists()]
    if missing:
        sys.exit("not installed: %s" % missing)
    unit = (root / "lib/systemd/system/pawld.service").read_text()
    if "ExecStart=%s/bin/pawld " % PREFIX not in unit:
        sys.exit("the unit does not start %s/bin/pawld:\n%s" % (PREFIX, unit))
    print(run(root / "bin/pawld", "--version").strip())
    with tempfile.TemporaryDirectory(prefix="pawl-install-") as folder:
        pawl = [root / "bin/pawl", "--server", "local:" + folder]
        run(*pawl, "create", "/a", "found both halves of the library")
        print(run(*pawl, "get", "/a"))
    return lib


def check_output(program, lib=None):
    env = {"LD_LIBRARY_PATH": str(lib)} if lib else {"LD_LIBRARY_PATH": ""}
    text = run(program, env=env)
    if '/greeting: "hello from inside"' not in text or "stopped" not in text:
        sys.exit("%s said:\n%s" % (program, text))


def pkg_config(lib, *options):
    return run("pkg-config", *options, "pawl",
               env={"PKG_CONFIG_PATH": str(lib / "pkgconfig")}).split()


def check_pkg_config(lib, example, work, flags):
    cflags, libs = pkg_config(lib, "--cflags"), pkg_config(lib, "--libs")
    static = [str(lib / "libpawl.a") if f == "-lpawl" else f
              for f in pkg_config(lib, "--static", "--libs")]
    for compiler, language, standard in (("cc", "c", "c99"), ("c++", "c++", "c++11")):
        if shutil.which(compiler) is None:
            sys.exit("no compiler %s" % compiler)
        for kind, link in (("shared", libs), ("static", static)):
            program = work / ("%s-%s" % (standard, kind))
            run(compiler, "-std=" + standard, *WARNINGS, *flags, "-x", language, example, "-x",
                "none", *cflags, *link, "-o", program)
            check_output(program, lib if kind == "shared" else None)
            print("pkg-config, %s, %s: good" % (standard, kind))


def check_cmake(root, example, work, flags):
    source = work / "user"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(CMAKE_LISTS)
    shutil.copy(example, source / "example.c")
    shutil.copy(pathlib.Path(example).parent / "usage.h", source)
    run("cmake", "-S", source, "-B", source / "build", "-DCMAKE_PREFIX_PATH=%s" % root,
        "-DCMAKE_C_FLAGS=" + " ".join(flags))
    run("cmake", "--build", source / "build")
    for kind in ("shared", "static"):
        check_output(source / "build" / ("with_" + kind))
        print("find_package, %s: good" % kind)


# Examples of other people's loops, and what they link.
OTHERS = {"client_libuv": "libuv", "client_libevent": "libevent_core"}


def check_examples(root, lib, work, flags):
    """All of them compile with what is installed, and one shows that local:DIR works with it."""
    sources = sorted((root / "share/doc/pawl/examples").glob("*.c"))
    cflags, libs = pkg_config(lib, "--cflags"), pkg_config(lib, "--libs")
    for source in sources:
        other = OTHERS.get(source.stem)
        more = run("pkg-config", "--cflags", "--libs", other).split() if other else []
        run("cc", "-std=c99", *WARNINGS, *flags, source, *cflags, *libs, *more, "-lpthread", "-o",
            work / source.stem)
    text = run(work / "order_numbers", env={"LD_LIBRARY_PATH": str(lib)})
    if "CORRECT" not in text:
        sys.exit("order_numbers on local: said:\n" + text)
    print("%d examples compile; local: works" % len(sources))


def check_links(root):
    n, dead = 0, []
    for page in sorted((root / "share/doc/pawl").rglob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            n += 1
            if not (page.parent / link).exists():
                dead.append("%s: %s" % (page.relative_to(root), link))
    if dead or n == 0:
        sys.exit("%d links, dead: %s" % (n, dead))
    print("%d links lead somewhere" % n)


def main(build, example, flags):
    with tempfile.TemporaryDirectory(prefix="pawl-install-") as folder:
        work = pathlib.Path(folder)
        run("cmake", "--install", build, "--prefix", PREFIX, env={"DESTDIR": str(work / "dest")})
        # Moved as a whole, everything in it must still be found.
        root = work / "moved"
        os.rename(str(work / "dest") + PREFIX, root)
        lib = check_files(root)
        check_links(root)
        check_examples(root, lib, work, flags)
        check_pkg_config(lib, example, work, flags)
        check_cmake(root, example, work, flags)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
