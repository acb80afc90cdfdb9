"""The network of a lab: namespaces, links, limits. See netlab."""

import ctypes
import os
import re
import signal
import subprocess

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 1 << 18
PR_SET_PDEATHSIG = 1
BURST_BYTES = 128 * 1024  # fixed: a larger one lets short operations run far above the rate

libc = ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
    """The machine does not permit, or lacks, what a lab needs."""


def system(call, *arguments, what):
    if getattr(libc, call)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def unshare(flags, what):
    system("unshare", flags, what=what)


def enter_network(descriptor):
    system("setns", descriptor, CLONE_NEWNET, what="setns")


def mount(source, target, kind, flags=0):
    encode = lambda text: text.encode() if text else None
    system("mount", encode(source), encode(target), encode(kind), ctypes.c_ulong(flags), None,
           what=f"mount {target}")


def mount_private(kind, target):
    """Mounts a fresh file system in this process's own mount namespace; False where it cannot."""
    try:
        unshare(CLONE_NEWNS, "mount namespace")
        try:
            mount(None, "/", None, MS_REC | MS_PRIVATE)
        except OSError:  # a plain chroot: its root is no mount point, perhaps the target is one
            mount(None, target, None, MS_REC | MS_PRIVATE)
        mount(kind, target, kind)
        return True
    except OSError:
        return False


def own_process_namespace():
    """So that the next child is an init. Without privilege: as root of a user namespace."""
    try:
        unshare(CLONE_NEWPID, "process namespace")
    except OSError:
        user, group = os.geteuid(), os.getegid()
        unshare(CLONE_NEWUSER | CLONE_NEWPID, "no CAP_SYS_ADMIN, and no user namespace either")
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"),
                           ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as setting:
                setting.write(text)


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Links:
    """The lab's network. After build(), hosts[i] is the namespace descriptor of host i."""

    def __init__(self, args):
        self.args = args
        self.hosts = []
        self.congestion = ""

    def address(self, host):
        return f"fd77::{host + 1:x}" if self.args.family == "ipv6" else f"10.77.0.{host + 1}"

    def build(self):
        args = self.args
        bridge = self.new_namespace()
        self.configure("ip", ["link set lo up",
                              "link add br0 type bridge stp_state 0 forward_delay 0 "
                              "mcast_snooping 0", f"link set br0 mtu {args.mtu} up"])
        for host in range(args.hosts):
            self.hosts.append(self.new_namespace())
            self.pin_congestion()
            self.configure("ip", self.host_lines(host, bridge), bridge)
            self.configure("tc", self.limit_lines("eth0", delay=False))
        enter_network(bridge)
        for host in range(args.hosts):
            self.configure("ip", [f"link set port{host} master br0 up"])
            self.configure("tc", self.limit_lines(f"port{host}", delay=True))

    @staticmethod
    def new_namespace():
        unshare(CLONE_NEWNET, "network namespace")
        return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def host_lines(self, host, bridge):
        lines = ["link set lo up",
                 f"link add eth0 mtu {self.args.mtu} type veth peer name port{host} "
                 f"mtu {self.args.mtu} netns /proc/self/fd/{bridge}"]
        if self.args.family != "ipv6":
            lines.append(f"addr add 10.77.0.{host + 1}/24 dev eth0")
        if self.args.family != "ipv4":
            lines.append(f"addr add fd77::{host + 1:x}/64 dev eth0 nodad")
        return lines + ["link set eth0 up"]

    def queue_bytes(self):
        return max(2 * BURST_BYTES, int(self.args.rate / 8 * self.args.queue_ms / 1000))

    def limit_lines(self, device, delay):
        lines = []
        parent = "root handle 1:"
        if delay and self.args.delay:
            lines.append(f"qdisc add dev {device} {parent} netem delay {self.args.delay} "
                         "limit 1000000")
            parent = "parent 1:1 handle 2:"
        if not self.args.no_shape:
            lines.append(f"qdisc add dev {device} {parent} tbf rate {self.args.rate:.0f}bit "
                         f"burst {BURST_BYTES} limit {self.queue_bytes()}")
        return lines

    def pin_congestion(self):
        """A network namespace may only choose what the machine's tcp_allowed_congestion_control
        lists. reno is always there; bbr, perhaps the machine's default, misjudges such links."""
        path = "/proc/sys/net/ipv4/tcp_congestion_control"
        for name in (self.args.congestion,) if self.args.congestion else ("cubic", "reno"):
            try:
                with open(path, "w", encoding="ascii") as setting:
                    setting.write(name)
            except OSError:
                pass  # what holds now is read below
            with open(path, encoding="ascii") as setting:
                self.congestion = setting.read().strip()
            if self.congestion == name:
                return
        raise Unavailable(f"TCP {name} cannot be set ({path}; tcp_allowed_congestion_control)")

    @staticmethod
    def configure(tool, lines, *descriptors):
        if not lines:
            return
        done = subprocess.run([tool, "-batch", "-"], input="\n".join(lines) + "\n", text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              pass_fds=descriptors, check=False)
        if done.returncode != 0:
            failed = re.search(r"-:(\d+)", done.stdout)
            line = lines[int(failed.group(1)) - 1] if failed else ""
            raise Unavailable(f"{tool} {line}: {' '.join(done.stdout.split())}")

    def describe(self):
        args = self.args
        limit = ("no limit" if args.no_shape else
                 f"{args.rate / 1e6:g} Mbit/s each way, queue {self.queue_bytes() // 1024} KiB")
        delay = f", one-way delay {args.delay}" if args.delay else ""
        print(f"# netlab: {args.hosts} hosts x {args.ranks_per_host} rank(s), {limit}{delay}, "
              f"MTU {args.mtu}, TCP {self.congestion}, {args.family}", flush=True)
