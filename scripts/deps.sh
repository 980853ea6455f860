#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deps.sh [--install] build|check|test|fuzz|format|deb... - what is missing of Debian's packages.
#
# Names them and how to install them, and fails; with --install they are installed, with sudo if need be.
# Prints nothing and takes no time when nothing is missing.
set -eu

# Each package with its reason.
build="
cmake               the build
pkg-config          finds the libraries
gcc                 the compiler (clang 14 does as well)
libc6-dev           its headers
libuv1-dev          sockets, timers and threads of the daemon
libjansson-dev      JSON of service discovery
libmicrohttpd-dev   HTTP of pawld's admin server and of pawl console
libedit-dev         lines that are typed in pawl shell
libssl-dev          digests of passwords; TLS
libsasl2-dev        SASL: its headers, the library is loaded when it is wanted
zlib1g-dev          Adler-32 of logs and snapshots; gzip snapshots
libsnappy-dev       snappy snapshots
"
check="
libcmocka-dev       unit tests
libsasl2-2          SASL
libsasl2-modules    its mechanism DIGEST-MD5
python3             mutations, and tests with real processes
"
test="$check
g++                 the public headers are C++ too
libevent-dev        the adapter for its loops and an example of it
mandoc              the manual pages are checked
clang-format        the layout is tested
python3-pytest      runs the suite of kazoo
python3-kazoo       a client that nobody here wrote, and its test suite
python3-mock        that suite needs it
python3-objgraph    and this
python3-pure-sasl   SASL of kazoo
zookeeper           Apache's server, to compare with
libzookeeper-mt-dev its C client
libcurator-client-java    Curator on pawld
libcurator-framework-java and its parts
libcurator-recipes-java   locks, latches, caches
libcurator-discovery-java service discovery
openjdk-17-jdk-headless   compiles the program that uses it
chromium            the console's page is looked at by a real browser
chromium-driver     and used by one
fonts-dejavu-core   letters for it
curl                what docs/console.md says is done
iproute2            hosts of their own, whose links are cut (network namespaces)
"
fuzz="
clang-14            libFuzzer
libclang-rt-14-dev  its runtime
"
format="
clang-format        lays out the sources
"
deb="
debhelper           builds the packages
dpkg-dev            the same
fakeroot            files of root without being root
lintian             says what is wrong with them
debootstrap         a clean root to try them in
"

install=no
if [ "${1:-}" = --install ]; then
    install=yes
    shift
fi

wanted=
for group in "$@"; do
    case $group in
    build) list=$build ;;
    check) list=$check ;;
    test) list=$test ;;
    fuzz) list=$fuzz ;;
    format) list=$format ;;
    deb) list=$deb ;;
    *) echo "deps.sh: no such group: $group" >&2; exit 2 ;;
    esac
    wanted="$wanted $(echo "$list" | awk 'NF { print $1 }')"
done

if ! command -v dpkg-query >/dev/null; then
    echo "deps.sh: this is not Debian; needed are:" $wanted >&2
    exit 0
fi

# `Package` has no architecture behind it.
present=" $(dpkg-query -W -f '${Package}:${db:Status-Status} ' 2>/dev/null) "
missing=
for package in $wanted; do
    case $present in
    *" $package:installed "*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ $install = no ]; then
    cat >&2 <<END
Missing:$missing
Install them with

    sudo apt-get install --no-install-recommends$missing

or let "make deps" do that.
END
    exit 1
fi

root=
if [ "$(id -u)" != 0 ]; then
    root=sudo
    if ! command -v sudo >/dev/null; then
        echo "deps.sh: not root and no sudo; install by hand:$missing" >&2
        exit 1
    fi
fi
echo "Installing:$missing"
$root apt-get -qq update
$root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing
