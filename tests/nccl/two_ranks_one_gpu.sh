#!/bin/sh
# Two ranks of a real NCCL job on one GPU, through the library: NCCL takes them for two hosts
# because NCCL_HOSTID differs, so all of their traffic goes through the network plugin. Runs the
# net table alone, then CollNet, and verifies results, log lines and the library's own counters.
# usage: two_ranks_one_gpu.sh PROGRAM LIBRARY
# exit status: 0 passed, 77 no GPU or no NCCL here, anything else failed.
set -u

if [ $# -ne 2 ]; then
  echo "usage: $0 PROGRAM LIBRARY" >&2
  exit 2
fi
program=$1
library=$(readlink -f "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  for log in "$work"/*.log; do
    echo "--- $log" >&2
    tail -n 60 "$log" >&2
  done
  exit 1
}

# run_rank NAME TOLERANCE RANK [VARIABLE=value ...]
run_rank() {
  run_name=$1
  run_tolerance=$2
  run_number=$3
  shift 3
  env NCCL_HOSTID="thinwire-test-host-$run_number" NCCL_NET_PLUGIN="$library" NCCL_NET=Thinwire \
    NCCL_DEBUG=INFO NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-lo}" "$@" \
    timeout 240 "$program" "$run_number" 2 "$work/$run_name.id" "$library" "$run_tolerance" \
    >"$work/$run_name.$run_number.log" 2>&1
}

expect_line() {
  for rank in 0 1; do
    grep -q -- "$2" "$work/$1.$rank.log" || fail "$1: rank $rank logs no \"$2\""
  done
}

expect_count() {
  for rank in 0 1; do
    sed -n 's/^counters: //p' "$work/$1.$rank.log" | tr ' ' '\n' | grep -q "^$2=[1-9]" ||
      fail "$1: rank $rank counts no $2"
  done
}

# job NAME TOLERANCE [VARIABLE=value ...]: skips the whole script where there is no GPU.
job() {
  name=$1
  tolerance=$2
  shift 2
  echo "two ranks on one GPU: $name"
  run_rank "$name" "$tolerance" 0 "$@" &
  first=$!
  run_rank "$name" "$tolerance" 1 "$@"
  second_status=$?
  wait "$first"
  first_status=$?
  if [ "$first_status" -eq 77 ] || [ "$second_status" -eq 77 ]; then
    echo "skipped: $(tail -n 1 "$work/$name.0.log")"
    exit 77
  fi
  [ "$first_status" -eq 0 ] && [ "$second_status" -eq 0 ] ||
    fail "$name: the ranks ended with $first_status and $second_status"
  expect_line "$name" "rank [01]: ok"
  expect_line "$name" "Using network Thinwire"
}

job net 0 NCCL_ALGO=Ring
expect_line net "Loaded net plugin Thinwire"
expect_count net sends

# NCCL before 2.24 knows no list per function; an algorithm named alone would take Ring away from
# the functions that CollNet does not serve.
version=$(sed -n 's/^NCCL \([0-9]*\),.*/\1/p' "$work/net.0.log")
algorithms="allreduce:collnetchain"
[ "$version" -ge 22400 ] || algorithms="CollnetChain,Ring"

# NAME FORMAT TOLERANCE: relative to the largest value, each value being quantised twice.
while read -r name format tolerance; do
  job "$name" "$tolerance" NCCL_COLLNET_ENABLE=1 NCCL_ALGO="$algorithms" \
    THINWIRE_COMPRESS="$format" </dev/null
  expect_line "$name" "Loaded collnet plugin Thinwire"
  expect_count "$name" all_reduces
done <<JOBS
collnet none 0
collnet-fp16 fp16 0.002
collnet-int8 int8 0.02
JOBS
echo "passed: NCCL $version"
