"""Writes descriptions of machines as hwloc 2 XML, from public facts. Run: make_machines.py FOLDER

Bus addresses, NUMA nodes and links are those that vendors' guides and published outputs of
nvidia-smi topo -m and lstopo show for such machines; whatever they do not show is plausible only.
"""

import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

GIB = 1 << 30
PCIE = {3: 0.985, 4: 1.969, 5: 3.938}  # GB/s per lane


def mask(numbers):
    """A bitmap as hwloc writes it: 0x-words of 32 bits, highest first."""
    value = sum(1 << n for n in numbers)
    words = []
    while value or not words:
        words.append(f"0x{value & 0xffffffff:08x}")
        value >>= 32
    return ",".join(reversed(words))


class Xml:
    """Elements with indentation; gives every object its gp_index."""

    def __init__(self):
        self.lines = ['<?xml version="1.0" encoding="UTF-8"?>',
                      '<!DOCTYPE topology SYSTEM "hwloc2.dtd">',
                      '<topology version="2.0">']
        self.depth = 1
        self.objects = 0

    def put(self, text):
        self.lines.append("  " * self.depth + text)

    def open(self, kind, /, **attributes):
        self.objects += 1
        attributes["gp_index"] = self.objects
        self.put("<object type=" + quoteattr(kind) + "".join(
            f" {name}={quoteattr(str(value))}" for name, value in attributes.items()) + ">")
        self.depth += 1
        return self.objects

    def close(self):
        self.depth -= 1
        self.put("</object>")

    def info(self, name, value):
        self.put(f"<info name={quoteattr(name)} value={quoteattr(str(value))}/>")

    def text(self):
        return "\n".join(self.lines + ["</topology>", ""])


class Device:
    """A PCI function: a GPU, a NIC or an NVSwitch."""

    def __init__(self, bus, kind, ids, name, gen, lanes=16, os_devices=()):
        self.bus, self.kind, self.ids, self.name = bus, kind, ids, name
        self.speed, self.os_devices = PCIE[gen] * lanes, os_devices

    def write(self, xml, gp_of):
        key = xml.open("PCIDev", pci_busid=self.bus, pci_link_speed=f"{self.speed:f}",
                       pci_type=f"{self.kind} [{self.ids}] [{self.ids}] a1")
        gp_of[self.bus] = ("PCIDev", key)
        xml.info("PCIDevice", self.name)
        for name, kind, infos in self.os_devices:
            gp_of[name] = ("OSDev", xml.open("OSDev", name=name, osdev_type=kind))
            for pair in infos.items():
                xml.info(*pair)
            xml.close()
        xml.close()


def gpu(bus, index, ids, model, gen):
    return Device(bus, "0302", ids, model, gen, 16,
                  [(f"nvml{index}", 1, {"Backend": "NVML", "GPUModel": model})])


def nic(bus, rdma, net, speed, ids="15b3:101b", gen=4, model="ConnectX", card=None):
    found = []
    if rdma:
        place = (card or bus).replace(":", "")
        guid = f"0c42:a103:{place[:4]}:{place[4:8]}"
        found.append((rdma, 3, {"NodeGUID": guid, "SysImageGUID": guid, "SpeedMbps": speed}))
    if net:
        found.append((net, 2, {"SpeedMbps": speed}))
    return Device(bus, "0207" if rdma and not net else "0200", ids, model, gen, 16, found)


def nvswitch(bus):
    return Device(bus, "0680", "10de:1af1", "NVSwitch", 4, 4)


class Bridge:
    """A PCI bridge with what hangs from it."""

    def __init__(self, bus, below, children):
        self.bus, self.below, self.children = bus, below, children

    def write(self, xml, gp_of, depth=1):
        xml.open("Bridge", bridge_type="1-1", depth=depth, pci_busid=self.bus,
                 bridge_pci=self.below, pci_link_speed=f"{PCIE[4] * 16:f}",
                 pci_type="0604 [1000:c010] [0000:0000] b0")
        for child in self.children:
            if isinstance(child, Bridge):
                child.write(xml, gp_of, depth + 1)
            else:
                child.write(xml, gp_of)
        xml.close()


def switch(domain, root, up, *devices):
    """A root port, a PCI switch behind it, and a downstream port for each device."""
    ports = [Bridge(f"{domain}:{up + 1:02x}:{number * 4:02x}.0", f"{domain}:[{d.bus[5:7]}-{d.bus[5:7]}]",
                    [d]) for number, d in enumerate(devices)]
    upstream = Bridge(f"{domain}:{up:02x}:00.0", f"{domain}:[{up + 1:02x}-{up + 31:02x}]", ports)
    return Bridge(f"{domain}:{root}", f"{domain}:[{up:02x}-{up + 31:02x}]", [upstream])


class HostBridge:
    def __init__(self, domain, first, last, *children):
        self.pci, self.children = f"{domain}:[{first}-{last}]", children

    def write(self, xml, gp_of):
        xml.open("Bridge", bridge_type="0-1", depth=0, bridge_pci=self.pci)
        for child in self.children:
            child.write(xml, gp_of)
        xml.close()


class Loose:
    """A network device without a PCI device."""

    def __init__(self, name, speed):
        self.name, self.speed = name, speed

    def write(self, xml, gp_of):
        xml.open("OSDev", name=self.name, osdev_type=2)
        if self.speed:
            xml.info("SpeedMbps", self.speed)
        xml.close()


class Node:
    """A NUMA node: its cores (lists of PUs) and its I/O."""

    def __init__(self, number, cores, memory, *devices, extra_memory=()):
        self.number, self.cores, self.memory, self.devices = number, cores, memory, devices
        self.extra_memory = extra_memory  # (number, bytes) of nodes without cores of their own

    def cpus(self):
        return [pu for core in self.cores for pu in core]

    def nodes(self):
        return [self.number] + [number for number, _ in self.extra_memory]


def sets(cpus, nodes):
    return {"cpuset": mask(cpus), "complete_cpuset": mask(cpus),
            "nodeset": mask(nodes), "complete_nodeset": mask(nodes)}


class Machine:
    def __init__(self, cpu, packages, devices=(), nvlinks=None, allowed=None):
        self.cpu, self.packages, self.devices = cpu, packages, devices
        self.nvlinks, self.allowed = nvlinks, allowed  # nvlinks: (ends, matrix in MB/s)

    def write(self, path):
        xml = Xml()
        gp_of = {}
        nodes = [node for package in self.packages for node in package]
        cpus = [pu for node in nodes for pu in node.cpus()]
        numbers = [number for node in nodes for number in node.nodes()]
        xml.open("Machine", os_index=0, **sets(cpus, numbers),
                 allowed_cpuset=mask(self.allowed or cpus), allowed_nodeset=mask(numbers))
        xml.info("Backend", "Linux")
        xml.info("Architecture", self.cpu["arch"])
        for number, package in enumerate(self.packages):
            self._package(xml, gp_of, number, package)
        for device in self.devices:
            device.write(xml, gp_of)
        xml.close()
        if self.nvlinks:
            self._distances(xml, gp_of)
        path.write_text(xml.text(), encoding="ascii")

    def _package(self, xml, gp_of, number, package):
        cpus = [pu for node in package for pu in node.cpus()]
        xml.open("Package", os_index=number,
                 **sets(cpus, [n for node in package for n in node.nodes()]))
        for name in ("CPUVendor", "CPUFamilyNumber", "CPUModelNumber", "CPUModel"):
            if name in self.cpu:
                xml.info(name, self.cpu[name])
        for node in package:
            if len(package) > 1:
                xml.open("Group", **sets(node.cpus(), node.nodes()), kind=1001, subkind=0,
                         dont_merge=1)
            self._node(xml, gp_of, node)
            if len(package) > 1:
                xml.close()
        xml.close()

    @staticmethod
    def _node(xml, gp_of, node):
        for number, memory in [(node.number, node.memory), *node.extra_memory]:
            xml.open("NUMANode", os_index=number, **sets(node.cpus(), [number]),
                     local_memory=memory)
            xml.close()
        for number, core in enumerate(node.cores):
            xml.open("Core", os_index=number, **sets(core, node.nodes()))
            for pu in core:
                xml.open("PU", os_index=pu, **sets([pu], node.nodes()))
                xml.close()
            xml.close()
        for device in node.devices:
            device.write(xml, gp_of)

    def _distances(self, xml, gp_of):
        ends, matrix = self.nvlinks
        kinds = {gp_of[end][0] for end in ends}
        mixed = len(kinds) > 1
        opened = "distances2hetero" if mixed else "distances2"
        about = f'nbobjs="{len(ends)}" kind="{25 if mixed else 9}" name="NVLinkBandwidth"'
        if not mixed:
            about = f'type="{kinds.pop()}" ' + about + ' indexing="gp"'
        xml.put(f"<{opened} {about}>")
        names = [f"{gp_of[end][0]}:{gp_of[end][1]}" if mixed else str(gp_of[end][1])
                 for end in ends]
        values = [str(value) for row in matrix for value in row]
        for tag, items in (("indexes", names), ("u64values", values)):
            for start in range(0, len(items), 10):
                content = " ".join(items[start:start + 10]) + " "
                xml.put(f'  <{tag} length="{len(content)}">{content}</{tag}>')
        xml.put(f"</{opened}>")


def smt(first, count, offset):
    return [[core, core + offset] for core in range(first, first + count)]


def switched(gpus, switches, mbytes_s):
    """Every GPU on every switch."""
    ends = [f"nvml{n}" for n in range(gpus)] + switches
    share = mbytes_s // len(switches)
    matrix = [[share if (i < gpus) != (j < gpus) else 0 for j in range(len(ends))]
              for i in range(len(ends))]
    return ends, matrix


EPYC = {"arch": "x86_64", "CPUVendor": "AuthenticAMD", "CPUFamilyNumber": 23,
        "CPUModelNumber": 49, "CPUModel": "AMD EPYC 7742 64-Core Processor"}
SAPPHIRE = {"arch": "x86_64", "CPUVendor": "GenuineIntel", "CPUFamilyNumber": 6,
            "CPUModelNumber": 143, "CPUModel": "Intel(R) Xeon(R) Platinum 8480C"}
ICELAKE = {"arch": "x86_64", "CPUVendor": "GenuineIntel", "CPUFamilyNumber": 6,
           "CPUModelNumber": 106, "CPUModel": "Intel(R) Xeon(R) Gold 6326 CPU @ 2.90GHz"}
GRACE = {"arch": "aarch64", "CPUModel": "Neoverse V2"}


def dgx_a100(allowed=None):
    def a100(bus, index):
        return gpu(bus, index, "10de:20b0", "NVIDIA A100-SXM4-40GB", 4)

    def hca(bus, index):
        return nic(bus, f"mlx5_{index}", "", 200000)

    io = {
        3: HostBridge("0000", "00", "1f", switch(
            "0000", "00:01.1", 0x01, a100("0000:07:00.0", 0), hca("0000:0c:00.0", 0),
            a100("0000:0f:00.0", 1), hca("0000:12:00.0", 1))),
        1: HostBridge("0000", "40", "5f", switch(
            "0000", "40:01.1", 0x41, a100("0000:47:00.0", 2), hca("0000:4b:00.0", 2),
            a100("0000:4e:00.0", 3), hca("0000:54:00.0", 3))),
        7: HostBridge("0000", "80", "9f", switch(
            "0000", "80:01.1", 0x81, a100("0000:87:00.0", 4), hca("0000:8d:00.0", 6),
            a100("0000:90:00.0", 5), hca("0000:94:00.0", 7))),
        5: HostBridge("0000", "a0", "cf", switch(
            "0000", "a0:01.1", 0xa1, a100("0000:b7:00.0", 6), hca("0000:ba:00.0", 8),
            a100("0000:bd:00.0", 7), hca("0000:cc:00.0", 9)),
            Bridge("0000:a0:03.1", "0000:[c4-c9]",
                   [nvswitch(f"0000:c{n}:00.0") for n in range(4, 10)])),
        2: HostBridge("0000", "60", "7f", Bridge("0000:60:03.1", "0000:[61-61]", [
            nic("0000:61:00.0", "mlx5_4", "enp97s0f0", 100000),
            nic("0000:61:00.1", "mlx5_5", "enp97s0f1", 100000)])),
    }
    nodes = [Node(n, smt(16 * n, 16, 128), 128 * GIB, *([io[n]] if n in io else []))
             for n in range(8)]
    return Machine(EPYC, [nodes[:4], nodes[4:]], allowed=allowed,
                   nvlinks=switched(8, [f"0000:c{n}:00.0" for n in range(4, 10)], 300000))


def dgx_h100():
    pairs = [("1b", "18"), ("43", "40"), ("52", "4f"), ("61", "5e"),
             ("9d", "9a"), ("c3", "c0"), ("d1", "ce"), ("df", "dc")]
    bridges = []
    for index, (of_gpu, of_nic) in enumerate(pairs):
        root = int(of_nic, 16) - 3
        bridges.append(HostBridge("0000", f"{root:02x}", of_gpu, switch(
            "0000", f"{root:02x}:01.0", root + 1,
            nic(f"0000:{of_nic}:00.0", f"mlx5_{index}", f"ibp{int(of_nic, 16)}s0", 400000,
                "15b3:1021", 5),
            gpu(f"0000:{of_gpu}:00.0", index, "10de:2330", "NVIDIA H100 80GB HBM3", 5))))
    switches = [f"0000:{n:02x}:00.0" for n in range(7, 11)]
    bridges.append(HostBridge("0000", "00", "0a", Bridge(
        "0000:00:01.0", "0000:[07-0a]", [nvswitch(bus) for bus in switches])))
    first = Node(0, smt(0, 56, 112), 1024 * GIB, *bridges[:4], bridges[8])
    second = Node(1, smt(56, 56, 112), 1024 * GIB, *bridges[4:8])
    return Machine(SAPPHIRE, [[first], [second]], nvlinks=switched(8, switches, 450000))


def pcie_server():
    def a40(bus, index):
        return Bridge(f"0000:{bus[5:6]}0:0{index % 2 + 2}.0", f"0000:[{bus[5:7]}-{bus[5:7]}]",
                      [gpu(bus, index, "10de:2235", "NVIDIA A40", 4)])

    ports = Bridge("0000:80:01.0", "0000:[81-81]", [
        nic("0000:81:00.0", "mlx5_0", "ens3f0np0", 100000),
        nic("0000:81:00.1", "mlx5_1", "ens3f1np1", 100000, card="0000:81:00.0")])
    onboard = Bridge("0000:10:01.0", "0000:[12-12]", [
        nic("0000:12:00.0", "", "eno1", 1000, "8086:1533", 3, "I210")])
    first = Node(0, smt(0, 16, 32), 256 * GIB,
                 HostBridge("0000", "10", "1f", onboard, a40("0000:17:00.0", 0),
                            a40("0000:18:00.0", 1)))
    second = Node(1, smt(16, 16, 32), 256 * GIB,
                  HostBridge("0000", "80", "8f", ports, a40("0000:86:00.0", 2)),
                  HostBridge("0000", "b0", "bf", a40("0000:b7:00.0", 3)))
    pairs = [[56250 if i != j and i // 2 == j // 2 else 0 for j in range(4)] for i in range(4)]
    return Machine(ICELAKE, [[first], [second]],
                   nvlinks=([f"nvml{n}" for n in range(4)], pairs))


def grace_hopper():
    node = Node(0, [[n] for n in range(72)], 480 * GIB,
                HostBridge("0000", "00", "01", Bridge("0000:00:00.0", "0000:[01-01]", [
                    nic("0000:01:00.0", "mlx5_0", "ibp1s0", 400000, "15b3:1021", 5)])),
                HostBridge("0002", "00", "01", Bridge("0002:00:00.0", "0002:[01-01]", [
                    nic("0002:01:00.0", "mlx5_1", "enP2p1s0f0np0", 200000, "15b3:a2dc", 5,
                        "BlueField-3")])),
                HostBridge("0009", "00", "01", Bridge("0009:00:00.0", "0009:[01-01]", [
                    gpu("0009:01:00.0", 0, "10de:2342", "NVIDIA GH200 480GB", 5)])),
                extra_memory=((1, 96 * GIB),))
    return Machine(GRACE, [[node]])


def cloud_vm():
    """Every device behind a host bridge of its own that belongs to no NUMA node."""
    devices = [HostBridge(f"{n + 1:04x}", "00", "00", gpu(
        f"{n + 1:04x}:00:00.0", n, "10de:20b2", "NVIDIA A100-SXM4-80GB", 4)) for n in range(4)]
    devices += [HostBridge(f"{n + 257:04x}", "00", "00", nic(
        f"{n + 257:04x}:00:00.0", f"mlx5_{n}", "", 200000)) for n in range(2)]
    devices.append(Loose("eth0", 50000))
    nodes = [Node(n, [[cpu] for cpu in range(12 * n, 12 * n + 12)], 220 * GIB) for n in range(2)]
    return Machine(EPYC, [[nodes[0]], [nodes[1]]], devices)


def tcp_host():
    nodes = [Node(n, smt(4 * n, 4, 8), 32 * GIB, HostBridge(
        "0000", f"{n * 8}0", f"{n * 8}f", Bridge(
            f"0000:{n * 8}0:02.0", f"0000:[{n * 8}3-{n * 8}3]",
            [nic(f"0000:{n * 8}3:00.0", "", f"ens{n + 1}", 10000 * (n + 1), "8086:158b", 3,
                 "XXV710")]))) for n in range(2)]
    return Machine(ICELAKE, [[nodes[0]], [nodes[1]]])


MACHINES = {
    "dgx_a100": dgx_a100,
    "dgx_a100_half": lambda: dgx_a100(allowed=list(range(64, 128)) + list(range(192, 256))),
    "dgx_h100": dgx_h100,
    "pcie_server": pcie_server,
    "grace_hopper": grace_hopper,
    "cloud_vm": cloud_vm,
    "tcp_host": tcp_host,
}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in MACHINES.items():
        make().write(folder / f"{name}.xml")


if __name__ == "__main__":
    main()
