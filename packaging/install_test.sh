#!/usr/bin/env bash
# Installs the DEB of dist/ in a clean Debian root and uses it there: the C loader test through
# several versions of the tables, the thinwire command, and removal without a trace.
# Exit status 77: cannot run here, with the reason.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
# shellcheck source=.ci/common.sh
source .ci/common.sh

CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/thinwire/bookworm-minbase.tar"

cannot() { warn "install test skipped: $*"; exit 77; }

make_root() {
  if [[ ! -s "$CACHE" ]]; then
    note "making a clean Debian root"
    mkdir -p "$(dirname "$CACHE")"
    mmdebstrap --quiet --format=tar --variant=minbase bookworm "$CACHE.new" </dev/null || cannot "mmdebstrap found no mirror"
    mv "$CACHE.new" "$CACHE"
  fi
  mkdir "$root"
  tar -C "$root" --exclude=./dev -xf "$CACHE"
  mkdir -p "$root/dev" "$root/proc" "$root/sys"
  mount --rbind /dev "$root/dev" 2>/dev/null || cannot "mounts are not permitted"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
}

unmake_root() {
  umount -l "$root/dev" "$root/proc" "$root/sys" 2>/dev/null || true
  # Never reach into what is still mounted.
  rm -rf --one-file-system "$root" "$folder"
}

inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 chroot "$root" "$@" </dev/null; }

install_package() {
  cp dist/*.deb "$root/thinwire.deb"
  inside dpkg -i /thinwire.deb >/dev/null || die "dpkg could not install the package"
  inside test -f /etc/thinwire.conf
}

use_package() {
  local version
  inside thinwire --version >/dev/null
  inside thinwire info | grep -q '^THINWIRE_COMPRESS ' || die "thinwire info shows no settings"
  inside env NCCL_NET_PLUGIN=thinwire NCCL_NET=Thinwire thinwire doctor | grep -E '^OK +library' ||
    die "thinwire doctor does not find the library"
  cp "$loader" "$root/abi_loader"
  [[ "$(readlink "$root"/usr/lib/*/libnccl-profiler-thinwire.so)" == libnccl-net-thinwire.so ]] ||
    die "the profiler is not a link to the library"
  # Jobs that did not ask for Thinwire must not get it.
  [[ -z "$(inside find /usr/lib -name libnccl-net.so)" ]] || die "the package takes the name libnccl-net.so"
  for version in 6 8 11 12; do
    inside env NCCL_SOCKET_IFNAME=lo /abi_loader libnccl-net-thinwire.so "$version" ||
      die "the C loader test fails with the installed library, version $version"
  done
}

use_programs() {
  inside /usr/lib/thinwire/bin/wire_probe -g 2 -b 1M -n 1 >/dev/null || die "wire_probe fails"
  inside /usr/lib/thinwire/bin/all_reduce_perf -g 2 -b 64K -e 64K -n 2 >/dev/null || die "all_reduce_perf fails"
  inside test -x /usr/lib/thinwire/bin/netlab -a -f /usr/lib/thinwire/bin/netlab_links.py || die "netlab is missing"
}

remove_package() {
  inside dpkg --purge thinwire >/dev/null
  local left
  left="$(inside find / -xdev \( -path /proc -o -path /sys -o -path /dev \) -prune -o \( -iname '*thinwire*' -o -name 'libnccl-net*' \) -print | grep -v '^/thinwire.deb$' || true)"
  [[ -z "$left" ]] || die "left behind: $left"
}

[[ "$(id -u)" == 0 ]] || cannot "it needs root"
compgen -G 'dist/*.deb' >/dev/null || die "there is no DEB in dist/: run ./dev package"
loader=build/tests/abi_loader  # of the release build: sanitized ones need libraries that a root lacks
[[ -x "$loader" ]] || die "the C loader test is not built: run ./dev build"
need_packages mmdebstrap
# In mounts of its own, so that taking them down cannot reach the host's.
if [[ "${1:-}" != --own-mounts ]]; then
  unshare --mount true 2>/dev/null || cannot "mount namespaces are not permitted"
  exec unshare --mount --propagation private "$PWD/packaging/install_test.sh" --own-mounts
fi

folder="$(mktemp -d)"
root="$folder/root"
trap unmake_root EXIT
make_root
note "installing the package in a clean root"
install_package
use_package
use_programs
remove_package
note "the package installs, works and leaves nothing behind"
