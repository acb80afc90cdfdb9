#!/usr/bin/env bash
# Makes the DEB and the RPM in dist/ from the release build in build/, and checks their contents.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
# shellcheck source=.ci/common.sh
source .ci/common.sh

LIBRARY=libnccl-net-thinwire.so
PROFILER=libnccl-profiler-thinwire.so # a link to it

# pack GENERATOR LIBDIR: the two families keep libraries in different folders.
pack() {
  local generator="$1" libdir="$2" log="build/cpack-$1.log"
  note "packing $generator"
  configure release -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_SYSCONFDIR=/etc -DCMAKE_INSTALL_LIBDIR="$libdir"
  build release
  cpack --config build/CPackConfig.cmake -G "$generator" -B dist >"$log" 2>&1 ||
    { tail -n 30 "$log" >&2; die "cpack failed"; }
}

# contents_hold LISTING PATH...
contents_hold() {
  local listing="$1" path
  shift
  for path in "$@"; do
    grep -qE "(^|[ .])$path\$" "$listing" || { cat "$listing" >&2; die "the package lacks $path"; }
  done
}

PROGRAMS=(all_reduce_perf sendrecv_perf wire_probe trainer netlab netlab_flow netlab_links.py)

check_deb() {
  local deb="$1" listing
  listing="$(mktemp)"
  dpkg-deb --contents "$deb" | sed 's/ -> .*//' >"$listing"
  contents_hold "$listing" "/usr/lib/$multiarch/$LIBRARY" "/usr/lib/$multiarch/$PROFILER" /etc/thinwire.conf /usr/bin/thinwire /usr/share/doc/thinwire/copyright "${PROGRAMS[@]/#//usr/lib/thinwire/bin/}"
  dpkg-deb --info "$deb" conffiles | grep -qx /etc/thinwire.conf || die "/etc/thinwire.conf is no conffile"
  dpkg-deb --field "$deb" Depends | grep -q libc6 || die "the DEB does not depend on libc6"
  dpkg-deb --field "$deb" Maintainer | grep -q invalid && die "the maintainer of the DEB is a placeholder"
  rm -f "$listing"
}

check_rpm() {
  local rpm="$1" listing
  listing="$(mktemp)"
  rpm -qlp "$rpm" >"$listing" 2>/dev/null
  contents_hold "$listing" "/usr/lib64/$LIBRARY" "/usr/lib64/$PROFILER" /etc/thinwire.conf /usr/bin/thinwire /usr/share/doc/thinwire/LICENSE "${PROGRAMS[@]/#//usr/lib/thinwire/bin/}"
  rpm -qcp "$rpm" 2>/dev/null | grep -qx /etc/thinwire.conf || die "/etc/thinwire.conf is no configuration file of the RPM"
  rm -f "$listing"
}

rm -rf dist
multiarch="$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
pack RPM lib64
pack DEB "lib/$multiarch"
rm -rf dist/_CPack_Packages
check_deb dist/*.deb
check_rpm dist/*.rpm
note "made $(echo dist/*)"
