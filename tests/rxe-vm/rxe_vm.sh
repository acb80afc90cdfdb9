#!/usr/bin/env bash
# Runs one command in a throw-away virtual machine that has Soft-RoCE devices (rdma_rxe of Debian's
# own kernel, under QEMU's emulation), for hosts without RDMA. The guest's root is this host's,
# read-only, so that what was built here runs there as it is. Exits with the command's status; 77
# when the machine cannot be had here, with the reason; 124 at the time limit; 125 when it died.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: rxe_vm.sh [OPTIONS] FOLDER COMMAND [ARGUMENTS]   runs COMMAND in FOLDER, which it may write
       rxe_vm.sh --prepare                              only downloads and caches
  -n N      devices rxe0 .. rxeN-1 at 10.77.0.1 ..  (2)
  -t S      seconds for everything                  (300)
  -u MTU    of the network devices                  (4200: RoCE's 4096; 1500: 1024)
  -x SPEC   tc netem on each device, "loss 1%" say
  -e N=V    sets a variable of COMMAND; may repeat
In the guest: RXE_DEVICES="rxe0 rxe1 .."; network device roceN below rxeN, joined by portN; this
script's folder is /run/job.
TEXT
}

here="$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
cache="${THINWIRE_RXE_VM_CACHE:-/var/cache/thinwire-rxe-vm}"
devices=2 limit=300 mtu=4200 netem='' prepare=0 variables=()
skip() { echo "rxe_vm: skipped: $*" >&2; exit 77; }
die() { echo "rxe_vm: $*" >&2; exit 125; }

while (($#)); do
  case "$1" in
    -n) devices="$2"; shift 2 ;;
    -t) limit="$2"; shift 2 ;;
    -u) mtu="$2"; shift 2 ;;
    -x) netem="$2"; shift 2 ;;
    -e) variables+=("$2"); shift 2 ;;
    --prepare) prepare=1; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; die "unknown option $1" ;;
    *) break ;;
  esac
done
((prepare)) || (($# >= 2)) || { usage >&2; exit 125; }
[[ "$(id -u)" == 0 ]] || skip "it needs root"
[[ "$(uname -m)" == x86_64 ]] || skip "it is made for x86_64"
command -v apt-get >/dev/null || skip "it needs Debian's packages"

# A file of each package that is needed.
needed=(/usr/bin/qemu-system-x86_64=qemu-system-x86 /usr/bin/cpio=cpio /usr/bin/xz=xz-utils
        /sbin/depmod=kmod /sbin/ip=iproute2 /etc/libibverbs.d/rxe.driver=ibverbs-providers
        /usr/bin/ib_write_bw=perftest /usr/bin/busybox=busybox-static)

install_packages() {
  local each missing=()
  for each in "${needed[@]}"; do [[ -e "${each%%=*}" ]] || missing+=("${each#*=}"); done
  dpkg -s busybox-static >/dev/null 2>&1 || missing+=(busybox-static)
  ((${#missing[@]} == 0)) && return 0
  local install=(apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "${missing[@]}")
  DEBIAN_FRONTEND=noninteractive "${install[@]}" >"$cache/apt.log" 2>&1 </dev/null ||
    { apt-get -q update && DEBIAN_FRONTEND=noninteractive "${install[@]}"; } >"$cache/apt.log" 2>&1 </dev/null ||
    skip "the packages ${missing[*]} cannot be had"
}

kernel_package() {
  apt-cache show --no-all-versions linux-image-amd64 2>/dev/null |
    sed -n 's/^Depends: \(linux-image-[^ ,]*\).*/\1/p'
}

# The kernel is unpacked, not installed; of its modules only the folders of use here.
unpack_kernel() {
  local new="$cache/new" package
  rm -rf "$new"
  mkdir -p "$new"
  package="$(kernel_package)"
  [[ "$package" ]] || { apt-get -q update >"$cache/apt.log" 2>&1 || true; package="$(kernel_package)"; }
  [[ "$package" ]] || skip "apt knows no linux-image-amd64"
  (cd "$new" && apt-get -q -o APT::Sandbox::User=root download "$package" >"$cache/apt.log" 2>&1) ||
    skip "the package $package cannot be had"
  local folder wanted=('./boot/vmlinuz-*' './lib/modules/*/modules.*')
  for folder in drivers/infiniband/core drivers/infiniband/sw drivers/virtio drivers/char/hw_random \
                drivers/net/veth.ko net fs/9p fs/netfs fs/fscache fs/configfs lib crypto arch/x86/crypto; do
    wanted+=("./lib/modules/*/kernel/$folder*")
  done
  wanted+=('./lib/modules/*/kernel/drivers/char/virtio*' './lib/modules/*/kernel/drivers/net/net_failover.ko')
  dpkg-deb --fsys-tarfile "$new"/linux-image-*.deb | tar -x -C "$new" --wildcards "${wanted[@]}" 2>/dev/null || true
  rm -f "$new"/*.deb
  mv "$new"/boot/vmlinuz-* "$new/vmlinuz"
}

# Just enough to mount the host's root.
make_initramfs() {
  local new="$cache/new" release image="$cache/new/initramfs" module
  release="$(ls "$new/lib/modules")"
  depmod -b "$new" "$release" 2>/dev/null
  mkdir -p "$image"/{bin,dev,proc,mnt,mod}
  cp /usr/bin/busybox "$image/bin/busybox"
  modprobe -d "$new" -S "$release" --show-depends -a virtio_pci virtio_console 9pnet_virtio 9p |
    awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
    while read -r module; do cp "$module" "$image/mod/"; basename "$module"; done >"$image/order"
  cat >"$image/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t devtmpfs dev /dev
for m in $($b cat /order); do $b insmod /mod/$m; done
o=trans=virtio,version=9p2000.L,msize=1048576
$b mount -t 9p -o ro,cache=loose,$o root /mnt || $b poweroff -f
$b mount -t proc proc /mnt/proc
$b mount -t devtmpfs dev /mnt/dev
$b mount -t tmpfs run /mnt/run
$b mkdir /mnt/run/job
$b mount -t 9p -o cache=none,$o job /mnt/run/job || $b poweroff -f
exec $b switch_root /mnt /bin/bash /run/job/guest.sh
INIT
  chmod +x "$image/init"
  (cd "$image" && find . | cpio -o -H newc --quiet | gzip -1) >"$new/initramfs.gz"
  rm -rf "$image" "$cache/kernel"
  mv "$new" "$cache/kernel"
}

prepare_machine() {
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9
  install_packages
  [[ -e "$cache/kernel/initramfs.gz" ]] || { unpack_kernel; make_initramfs; }
  exec 9>&-
}

write_job() {
  cp "$here"/*.sh "$job/"
  {
    printf 'devices=%q mtu=%q netem=%q kernel=%q folder=%q\n' "$devices" "$mtu" "$netem" "$cache/kernel" "$folder"
    printf 'command=('
    printf ' %q' "$@"
    printf ' )\nexport HOME=%q PATH=%q\n' "${HOME:-/root}" "$PATH"
    local each
    for each in "${variables[@]}"; do printf 'export %s=%q\n' "${each%%=*}" "${each#*=}"; done
  } >"$job/job"
}

start_machine() {
  local shared="security_model=none,multidevs=remap" cpus
  cpus="$(nproc)"
  ((cpus > 2)) && cpus=2
  # PCLMULQDQ and the fast string moves are hidden: emulated they halve Soft-RoCE's throughput.
  setpriv --pdeathsig TERM timeout --foreground -k 5 "$limit" setpriv --pdeathsig KILL \
    qemu-system-x86_64 -M pc -no-user-config -nodefaults -display none -no-reboot \
    -accel tcg,thread=multi,tb-size=512 -cpu max,-pclmulqdq,-erms,-fsrm -m 3072 -smp "$cpus" \
    -kernel "$cache/kernel/vmlinuz" -initrd "$cache/kernel/initramfs.gz" \
    -append "console=ttyS0 quiet panic=-1 oops=panic mitigations=off nokaslr no_timer_check tsc=reliable audit=0 random.trust_cpu=on" \
    -serial "file:$job/console" \
    -fsdev "local,id=root,path=/,readonly=on,$shared" -device virtio-9p-pci,fsdev=root,mount_tag=root \
    -fsdev "local,id=job,path=$job,$shared" -device virtio-9p-pci,fsdev=job,mount_tag=job \
    -fsdev "local,id=folder,path=$folder,$shared" -device virtio-9p-pci,fsdev=folder,mount_tag=folder \
    -object rng-random,id=rng,filename=/dev/urandom -device virtio-rng-pci,rng=rng \
    -add-fd fd=3,set=3 -chardev file,id=out,path=/dev/fdset/3,append=on \
    -device virtio-serial-pci -device virtserialport,chardev=out,name=out \
    3>&1 </dev/null >"$job/qemu.log" 2>&1
}

prepare_machine
((prepare)) && exit 0
folder="$(realpath -e -- "$1")"
shift
job="$(mktemp -d /var/tmp/rxe-vm.XXXXXX)"
trap 'rm -rf "$job"' EXIT
write_job "$@"
ended=0
start_machine || ended=$?
[[ -s "$job/status" ]] && exit "$(<"$job/status")"
{ head -c 2000 "$job/qemu.log"; tail -n 40 "$job/console" 2>/dev/null; } >&2
((ended == 124 || ended == 137)) && { echo "rxe_vm: the limit of $limit s passed" >&2; exit 124; }
die "the machine died before the command ended"
