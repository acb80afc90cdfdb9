#!/usr/bin/env bash
# Process 1 of the machine that rxe_vm.sh starts: file systems, Soft-RoCE devices joined by a
# bridge, then the job's command; its end is the machine's.
off() {
  sync
  echo o >/proc/sysrq-trigger
  while :; do sleep 1; done
}
fail() { echo "guest: $*" >/dev/console; off; }
# shellcheck disable=SC1091
. /run/job/job
: "${devices:=2} ${mtu:=4200} ${netem:=} ${kernel:=} ${folder:=/} ${command:=}"

mount -t sysfs sys /sys
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
for at in /dev/shm /tmp /var/tmp; do mount -t tmpfs -o mode=1777 tmp "$at"; done
ln -sfn /proc/self/fd /dev/fd
ln -sfn /proc/self/fd/0 /dev/stdin
ln -sfn /proc/self/fd/1 /dev/stdout
ln -sfn /proc/self/fd/2 /dev/stderr
mkdir -p "$folder" 2>/dev/null
mount -t 9p -o cache=mmap,trans=virtio,version=9p2000.L,msize=1048576 folder "$folder" || fail "cannot mount $folder"

# Modules come from the unpacked package, also those that the kernel asks for.
printf '#!/bin/sh\nexec /sbin/modprobe -d %s "$@"\n' "$kernel" >/run/modprobe
chmod +x /run/modprobe
echo /run/modprobe >/proc/sys/kernel/modprobe
/run/modprobe -a virtio_rng veth bridge rdma_rxe ib_uverbs || fail "modprobe"

ulimit -l unlimited
ulimit -c 0
ip link set lo up
# All devices are in one network namespace, the only one where rxe listens. For packets between
# two addresses of this machine to cross the bridge, what comes in from an address of its own has
# to be accepted; rxe itself routes by device.
for each in all default; do
  echo 1 >/proc/sys/net/ipv4/conf/$each/accept_local
  echo 0 >/proc/sys/net/ipv4/conf/$each/rp_filter
  echo 1 >/proc/sys/net/ipv4/conf/$each/arp_ignore
  echo 2 >/proc/sys/net/ipv4/conf/$each/arp_announce
  echo 0 >/proc/sys/net/ipv6/conf/$each/accept_dad
done

mac() { printf '02:77:00:00:00:%02x' $(($1 + 1)); }
# One batch: every start of a program costs 50 ms here.
{
  echo "link add br0 type bridge stp_state 0 mcast_snooping 0"
  echo "link set br0 mtu $mtu up"
  for ((i = 0; i < devices; i++)); do
    echo "link add roce$i mtu $mtu address $(mac $i) type veth peer name port$i mtu $mtu"
    echo "link set port$i master br0 up"
    echo "addr add 10.77.0.$((i + 1))/24 dev roce$i"
    echo "link set roce$i up"
    for ((k = 0; k < devices; k++)); do
      ((i == k)) || echo "neigh replace 10.77.0.$((k + 1)) lladdr $(mac $k) dev roce$i nud permanent"
    done
  done
} >/run/batch
ip -batch /run/batch || fail "the network"
[[ -z "$netem" ]] || /run/modprobe sch_netem || fail "modprobe sch_netem"
RXE_DEVICES=
for ((i = 0; i < devices; i++)); do
  # shellcheck disable=SC2086
  [[ -z "$netem" ]] || tc qdisc add dev roce$i root netem $netem || fail "netem"
  rdma link add rxe$i type rxe netdev roce$i || fail "rdma link add"
  RXE_DEVICES+="${RXE_DEVICES:+ }rxe$i"
done
export RXE_DEVICES

for port in /sys/class/virtio-ports/*; do
  [[ "$(<"$port/name")" == out ]] && out="/dev/${port##*/}"
done
cd "$folder" || fail "cd $folder"
setsid "${command[@]}" </dev/null >"${out:?}" 2>&1
echo $? >/run/job/status
off
