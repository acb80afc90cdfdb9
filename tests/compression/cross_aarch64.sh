#!/bin/sh
# Builds the codecs and their tests for aarch64 (NEON) and runs them under qemu-user.
# Usage: cross_aarch64.sh [source root] [scratch directory]. Exit 77: skipped, with the reason.
# Needs Debian's g++-aarch64-linux-gnu, qemu-user, googletest and libhwy-dev.
set -eu
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd)
scratch=${2:-$(mktemp -d)}
cxx=aarch64-linux-gnu-g++
gtest=/usr/src/googletest
skip() { echo "everything skipped: $1"; exit 77; }

command -v $cxx > /dev/null || skip "$cxx is not installed"
command -v qemu-aarch64 > /dev/null || skip "qemu-aarch64 is not installed"
[ -d $gtest/googletest/src ] || skip "$gtest (googletest) is not installed"
[ -d /usr/include/hwy ] || skip "/usr/include/hwy (libhwy-dev) is not installed"

mkdir -p "$scratch/include"
ln -sfn /usr/include/hwy "$scratch/include/hwy"
flags="-std=c++20 -O2 -ffp-contract=off -I$root -isystem $scratch/include
  -isystem $gtest/googletest/include -isystem $gtest/googletest -isystem $gtest/googlemock/include"
defines="-DTHINWIRE_SIMD_NEON=1 -DHWY_COMPILE_ONLY_STATIC"

compile() {  # source object
  if [ ! -e "$2" ] || [ -n "$(find "$1" "$root/compression" -newer "$2" -name '*.[ch]*')" ]; then
    machine=
    case $1 in */neon.cc) machine="-O3 -march=armv8-a+crypto" ;; esac
    $cxx $flags $defines $machine -Wall -Wextra -Werror -c "$1" -o "$2"
  fi
}

objects=
for source in "$root"/compression/*.cc "$root"/compression/kernels/scalar.cc \
    "$root"/compression/kernels/neon.cc "$root"/tests/compression/*.cc; do
  object="$scratch/$(basename "$source" .cc).o"
  compile "$source" "$object"
  objects="$objects $object"
done
[ -e "$scratch/gtest.o" ] ||
  $cxx $flags -c $gtest/googletest/src/gtest-all.cc -o "$scratch/gtest.o"
[ -e "$scratch/gtest_main.o" ] ||
  $cxx $flags -c $gtest/googletest/src/gtest_main.cc -o "$scratch/gtest_main.o"
$cxx -static $objects "$scratch/gtest.o" "$scratch/gtest_main.o" -o "$scratch/compression_test"
exec qemu-aarch64 "$scratch/compression_test" --gtest_brief=1
