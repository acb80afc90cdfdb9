#!/usr/bin/env bash
# Runs inside the machine of rxe_vm.sh: suite.sh BUILD STEP.., each step over the devices rxe0 ..
# Prints one line a step, and the logs of those that fail.
set -uo pipefail

build="$1"
shift
logs="$(mktemp -d)"
port=29400
read -ra devices <<<"$RXE_DEVICES"
export THINWIRE_TRANSPORT=verbs NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=WARN
failures=0

# start COUNT PROGRAM [ARGUMENTS]: one process a rank, each on a device of its own; fills `ranks`.
start() {
  local count="$1" rank
  shift
  port=$((port + 1))
  ranks=()
  for ((rank = 0; rank < count; rank++)); do
    RANK=$rank WORLD_SIZE=$count LOCAL_RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
      NCCL_HOSTID="host$rank" NCCL_IB_HCA="=${devices[rank]}" \
      "$build/bin/$1" "${@:2}" >"$logs/rank$rank" 2>&1 &
    ranks+=($!)
  done
}

# finish: 0 when every rank ended well.
finish() {
  local pid bad=0
  for pid in "${ranks[@]}"; do wait "$pid" || bad=1; done
  return $bad
}

# All of them, whichever order they end in.
launch() { start "$@" && finish; }

count_devices() { echo "${#devices[@]}"; }

# What the devices had to do twice or refuse, since the start: for people who look into a failure.
counters() {
  local device
  for device in "${devices[@]}"; do
    echo "$device: $(cd "/sys/class/infiniband/$device/ports/1/hw_counters" && grep . ./* | sed 's#^\./##' | grep -v ':0$' | tr '\n' ' ')"
  done
}

step_contract() { "$build/tests/transports_verbs_device_test" >"$logs/rank0" 2>&1 && ! grep -q 'PASSED  . 0 tests' "$logs/rank0"; }
step_sendrecv() { launch 2 sendrecv_perf -b 8 -e 2M -f 16 -n 4 -w 1 -c 1; }
step_exact() { launch "$(count_devices)" all_reduce_perf -b 64K -e 2M -f 32 -n 2 -w 1 -c 1; }
step_int8() { THINWIRE_COMPRESS=int8 launch "$(count_devices)" all_reduce_perf -b 64K -e 2M -f 32 -n 2 -w 1 -c 1; }
step_exact2() { launch 2 all_reduce_perf -b 64K -e 2M -f 32 -n 2 -w 1 -c 1; }

# A rank dies: the others err, within the time that --grace and --timeout leave them.
step_kill() {
  local began=$SECONDS
  THINWIRE_PEER_TIMEOUT_S=5 start "$(count_devices)" all_reduce_perf -b 1M -e 1M -n 100000 -w 1 -c 0 -T 100 --grace 30
  sleep 12
  kill -9 "${ranks[0]}"
  local pid code bad=0
  for pid in "${ranks[@]:1}"; do
    wait "$pid"
    code=$?
    ((code == 4)) || { echo "a survivor ended with $code instead of 4"; bad=1; }
  done
  echo "survivors ended after $((SECONDS - began - 12)) s"
  return $bad
}

# The link of one device goes for good: every rank errs.
step_port_down() {
  local began
  THINWIRE_PEER_TIMEOUT_S=4 NCCL_IB_TIMEOUT=14 start 2 all_reduce_perf -b 1M -e 1M -n 100000 -w 1 -c 0 -T 100 --grace 30
  sleep 12
  began=$SECONDS
  ip link set roce1 down
  local pid code bad=0
  for pid in "${ranks[@]}"; do
    wait "$pid"
    code=$?
    ((code == 4)) || { echo "a rank ended with $code instead of 4"; bad=1; }
  done
  echo "all ranks erred after $((SECONDS - began)) s"
  ip link set roce1 up
  return $bad
}

# The link of one device goes and comes back: nothing is wrong.
step_flap() {
  THINWIRE_PEER_TIMEOUT_S=60 NCCL_IB_TIMEOUT=14 NCCL_DEBUG=INFO start 2 all_reduce_perf -b 1M -e 1M -n 20 -w 1 -c 20 -T 200
  sleep 10
  ip link set port1 down
  sleep 4
  ip link set port1 up
  finish || return 1
  echo "$(cat "$logs"/rank* | grep -c 'path .*: error') path failures"
}

# Two devices a rank, used as one; the link of one of them goes while the ranks work, and comes back
# later. Nothing is wrong, and both devices of that rank carry again in the end.
written() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts"; }
step_failover() {
  local rank down="${devices[1]}" before
  port=$((port + 1))
  ranks=()
  for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
      THINWIRE_PEER_TIMEOUT_S=60 NCCL_IB_TIMEOUT=14 NCCL_HOSTID="host$rank" \
      NCCL_IB_HCA="=${devices[2 * rank]},${devices[2 * rank + 1]}" \
      "$build/bin/all_reduce_perf" -b 1M -e 1M -n 40 -w 1 -c 40 -T 400 \
      --device "${devices[2 * rank]}+${devices[2 * rank + 1]}" >"$logs/rank$rank" 2>&1 &
    ranks+=($!)
  done
  sleep 12
  ip link set port1 down
  sleep 6
  ip link set port1 up
  sleep 6
  before="$(written "$down")"
  finish || return 1
  grep -h ' goes on after ' "$logs"/rank* | sed 's/.*\(path [0-9]*\) .* goes on after/\1 after/' | sort -u
  grep -q 'port is down' "$logs"/rank* || { echo "nothing noticed that the port was down"; return 1; }
  grep -q ' goes on after ' "$logs"/rank* || { echo "no path went on elsewhere"; return 1; }
  echo "$(($(written "$down") - before)) packets over $down since it is back"
}

# Throughput beside ib_write_bw's, in turns: 1 MiB, 8 outstanding, MB/s. Told, not judged: the
# emulated processors are shared with whatever else the host does.
write_bandwidth() {
  ib_write_bw -d "${devices[0]}" -x 1 -s 1048576 -t 8 -n 48 -Q 1 >"$logs/server" 2>&1 &
  local server=$!
  sleep 2
  ib_write_bw -d "${devices[1]}" -x 1 -s 1048576 -t 8 -n 48 -Q 1 --report_gbits 127.0.0.1 2>&1 |
    tee "$logs/client" | awk '$1 == 1048576 { print $4 * 1000 / 8 }'
  wait $server
}
our_bandwidth() {
  launch 2 sendrecv_perf -b 1M -e 1M -n 48 -w 4 -c 0 --outstanding 8 --pattern pair || return 1
  awk '$1 == 1048576 { print $1 / $6 }' "$logs/rank0"
}
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
step_ratio() {
  local _
  for _ in 1 2 3; do
    write_bandwidth >>"$logs/theirs" && our_bandwidth >>"$logs/ours" || return 1
  done
  local theirs ours
  theirs="$(median <"$logs/theirs")"
  ours="$(median <"$logs/ours")"
  awk -v o="$ours" -v t="$theirs" 'BEGIN { printf "ours %.1f, ib_write_bw %.1f, ratio %.2f\n", o, t, o / t; exit !(o > 0 && t > 0) }'
}

main() {
  local name began bad
  for name in "$@"; do
    began=$SECONDS
    rm -f "$logs"/*
    bad=0
    "step_$name" >"$logs/said" 2>&1 || bad=1
    if ((bad)); then
      failures=$((failures + 1))
      echo "FAIL $name ($((SECONDS - began)) s)"
      tail -n 40 "$logs"/*
    else
      echo "ok   $name ($((SECONDS - began)) s) $(tr '\n' ';' <"$logs/said")"
      [[ "${RXE_SHOW_LOGS:-}" ]] && tail -n 100 "$logs"/*
    fi
    counters
  done
  return $failures
}
main "$@"
