#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "topology/pci_tree.h"
#include "topology/render.h"

namespace thinwire::topology {
namespace {

constexpr int kColumnWidth = 330;
constexpr int kGap = 16;
constexpr int kRow = 30;
constexpr int kHeader = 74;

constexpr const char* kGpuColour = "#cfe8c0";
constexpr const char* kNicColour = "#c5dcf5";
constexpr const char* kSwitchColour = "#e8e8e8";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= ' ') out += c;
    }
  }
  return out;
}

std::string shortened(std::string text, std::size_t most) {
  if (text.size() > most) text = text.substr(0, most - 3) + "...";
  return text;
}

class Picture {
 public:
  explicit Picture(const Topology& topology) : topology_(topology), tree_(pci_tree_of(topology)) {}

  std::string run() {
    int x = kGap;
    for (const auto& [node, roots] : tree_.roots) {
      draw_node(node, roots, x);
      x += kColumnWidth + kGap;
    }
    const int width = std::max(x, kColumnWidth + 2 * kGap);
    int y = bottom_ + 2 * kGap;
    draw_nvlinks(y, width);
    const std::string size =
        "width=\"" + std::to_string(width) + "\" height=\"" + std::to_string(y + kGap) + "\"";
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size +
           " font-family=\"sans-serif\" font-size=\"12\">\n"
           "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
           boxes_ + body_ + "</svg>\n";
  }

 private:
  void box(std::string& out, int x, int y, int width, int height, const char* fill) {
    char line[200];
    std::snprintf(line, sizeof line,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\" "
                  "stroke=\"#555\"/>\n",
                  x, y, width, height, fill);
    out += line;
  }
  void text(int x, int y, const std::string& what, std::size_t most = 48) {
    body_ += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\">" +
             escaped(shortened(what, most)) + "</text>\n";
  }
  void line(int x1, int y1, int x2, int y2) {
    char out[160];
    std::snprintf(out, sizeof out,
                  "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#555\"/>\n", x1, y1, x2,
                  y2);
    body_ += out;
  }

  void draw_node(int node, const std::vector<int>& roots, int x) {
    const NumaNode* known = topology_.numa_node(node);
    text(x + 8, kGap + 20,
         known == nullptr ? "NUMA node unknown" : "NUMA node " + std::to_string(node));
    if (known != nullptr) {
      text(x + 8, kGap + 38, "CPUs " + known->cores.list());
      text(x + 8, kGap + 56, std::to_string(known->memory_bytes >> 30) + " GiB");
    }
    int y = kGap + kHeader;
    for (const int root : roots) draw_pci(root, x + 12, x + kColumnWidth - 8, y);
    for (const Nic& nic : topology_.nics()) {
      if (nic.pci < 0 && nic.numa_node == node)
        draw_row(nic_text(nic), kNicColour, x + 12, x + kColumnWidth - 8, y);
    }
    box(boxes_, x, kGap, kColumnWidth, y - kGap + 4, "#fafafa");
    bottom_ = std::max(bottom_, y + 4);
  }

  void draw_row(const std::string& what, const char* colour, int left, int right, int& y) {
    box(body_, left, y, right - left, kRow - 6, colour);
    text(left + 6, y + 16, what, static_cast<std::size_t>((right - left) / 7));
    y += kRow;
  }

  void draw_pci(int index, int left, int right, int& y) {
    const PciDevice& device = topology_.machine().pci[static_cast<std::size_t>(index)];
    const auto children = tree_.children.find(index);
    const int top = y;
    if (children == tree_.children.end()) return draw_endpoint(index, device, left, right, y);
    draw_row("PCI switch " + device.bus_id, kSwitchColour, left, right, y);
    int last = y;
    for (const int child : children->second) {
      last = y + (kRow - 6) / 2;
      line(left + 8, last, left + 18, last);
      draw_pci(child, left + 18, right, y);
    }
    line(left + 8, top + kRow - 6, left + 8, last);
  }

  void draw_endpoint(int index, const PciDevice& device, int left, int right, int& y) {
    for (std::size_t i = 0; i < topology_.gpus().size(); ++i) {
      const Gpu& gpu = topology_.gpus()[i];
      if (gpu.pci != index) continue;
      draw_row("GPU " + std::to_string(i) + "  " + device.bus_id + "  " + gpu.model, kGpuColour,
               left, right, y);
    }
    for (const Nic& nic : topology_.nics()) {
      if (nic.pci == index)
        draw_row(nic_text(nic) + "  " + device.bus_id, kNicColour, left, right, y);
    }
  }

  static std::string nic_text(const Nic& nic) {
    std::string out = nic.name();
    if (!nic.net_name.empty() && !nic.rdma_name.empty()) out += " (" + nic.rdma_name + ")";
    if (nic.speed_mbps >= 1000) out += "  " + std::to_string(nic.speed_mbps / 1000) + " Gbit/s";
    return out;
  }

  // One band for each domain.
  void draw_nvlinks(int& y, int width) {
    std::map<int, std::string> members;
    std::map<int, double> mbytes_s;
    for (std::size_t i = 0; i < topology_.gpus().size(); ++i) {
      const int domain = topology_.gpus()[i].nvlink_domain;
      if (domain >= 0) members[domain] += " " + std::to_string(i);
    }
    for (const NvLink& link : topology_.machine().nvlinks) {
      const int domain = topology_.gpus()[static_cast<std::size_t>(link.gpu)].nvlink_domain;
      mbytes_s[domain] = std::max(mbytes_s[domain], link.mbytes_s);
    }
    for (const auto& [domain, gpus] : members) {
      char speed[64];
      std::snprintf(speed, sizeof speed, ", up to %.0f GB/s per %s", mbytes_s[domain] / 1000,
                    topology_.machine().has_nvswitch ? "GPU through NVSwitch" : "pair");
      draw_row("NVLink: GPUs" + gpus + speed, kGpuColour, kGap, width - kGap, y);
    }
  }

  const Topology& topology_;
  const PciTree tree_;
  std::string boxes_;  // behind everything else
  std::string body_;
  int bottom_ = kGap + kHeader;
};

}  // namespace

std::string svg_of(const Topology& topology) { return Picture(topology).run(); }

}  // namespace thinwire::topology
