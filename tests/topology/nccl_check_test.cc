#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/machines.h"
#include "topology/nccl_topology.h"

namespace thinwire::topology {
namespace {

using ::testing::HasSubstr;

std::string findings_of(const std::string& text) {
  std::string out;
  for (const Finding& finding : check_nccl_xml(text)) {
    out += std::to_string(finding.line) +
           (finding.severity == Severity::error ? " error: " : " warning: ") + finding.text + "\n";
  }
  return out;
}

// A file NCCL takes as it stands, as cloud vendors write them.
constexpr const char* kGood =
    "<!-- for a virtual machine -->\n"
    "<system version=\"1\">\n"
    "  <cpu numaid=\"0\" affinity=\"00ffffff\" arch=\"x86_64\" vendor=\"AuthenticAMD\" "
    "familyid=\"23\" modelid=\"49\">\n"
    "    <pci busid=\"ffff:ff:01.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">\n"
    "      <pci busid=\"0001:00:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" "
    "link_width=\"16\">\n"
    "        <gpu dev=\"0\" sm=\"80\"><nvlink target=\"fffffff:ffff:ff\" count=\"12\" "
    "tclass=\"0x068000\"/></gpu>\n"
    "      </pci>\n"
    "      <pci busid=\"0101:00:00.0\" class=\"0x020700\" link_speed=\"16 GT/s\" "
    "link_width=\"16\"/>\n"
    "    </pci>\n"
    "    <nic>\n"
    "      <net name=\"eth0\" speed=\"50000\" latency=\"0.5\" guid=\"0x12ab\"/>\n"
    "    </nic>\n"
    "  </cpu>\n"
    "</system>\n";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(NcclCheck_GoodFile, HasNoFindings) { EXPECT_EQ(findings_of(kGood), ""); }

struct Fault {
  std::string text;
  const char* finding;
};

TEST(NcclCheck_FaultyFile_IsExplained, WithLineAndWhatIsAccepted) {
  const std::string root = "<system version=\"1\">";
  const Fault faults[] = {
      {with(root, "<system version=\"2\">"), "2 error: <system version=\"2\">: NCCL accepts 1"},
      {with(root, "<system>"), "2 error: <system> lacks version"},
      {"<topology version=\"2.0\"></topology>", "1 error: <topology> is hwloc's description"},
      {"<graph/>", "1 error: the root element is <graph>"},
      {"<?xml version=\"1.0\"?>\n" + std::string(kGood), "1 error: a declaration"},
      {with("  <cpu", "\t<cpu"), "3 error: a tab between elements"},
      {with("<cpu numaid", "<cpu\nnumaid"), "3 error: a tab or line end inside a tag"},
      {with("</gpu>", "</gpu >"), "6 error: a blank before the '>'"},
      {with("<nic>", "<nic>text"), "10 error: text between elements"},
      {with("<!-- for", "<!-- a=b for"), ""},
      {with("<!-- for", "<!--a=b for"), "1 error: a comment whose first word"},
      {with("numaid=\"0\" ", ""), "3 error: <cpu> lacks numaid"},
      {with("numaid=\"0\"", "numaid=\"zero\""), "numaid=\"zero\">: must be a whole number"},
      {with("00ffffff", "0-23"), "must be a CPU mask"},
      {with("x86_64", "amd64"), "warning: <cpu arch=\"amd64\">: NCCL does not know it"},
      {with("AuthenticAMD\" familyid=\"23\"", "GenuineIntel\""), "lacks familyid"},
      {with("0001:00:00.0", "1:0"), "5 error: <pci busid=\"1:0\">: must be a PCI address"},
      {with("0101:00:00.0", "0001:00:00.0"), "busid 0001:00:00.0 is given twice, first in line 5"},
      {with("0x060400", "0x030000"), "5 error: <pci> below a <pci class=\"0x030000\"> is lost"},
      {with("0x060400", "bridge"), "must be a hexadecimal number"},
      {with("class=\"0x060400\" ", ""), "4 warning: <pci> lacks class"},
      {with("16 GT/s", "16GT"), "warning: <pci link_speed=\"16GT\">: NCCL does not know it"},
      {with("link_width=\"16\">", "link_width=\"99\">"), "0 to 32 lanes"},
      {with("count=\"12\" ", ""), "<nvlink> lacks count"},
      {with("tclass=\"0x068000\"", "tclass=\"0x030000\""), "<nvlink target=\"fffffff:ffff:ff\">"},
      {with("<net name=\"eth0\"", "<net"), "<net> lacks name"},
      {with("<net name", "<net nmae=\"x\" name"), "attribute nmae of <net> is ignored"},
      {with("<nic>", "<switch/><nic>"),
       "<switch> inside <cpu> is ignored; accepted there: pci, nic"},
      {with("</nic>", "</nick>"), "</nick> where <nic> of line 10 is open"},
      {with("speed=\"50000\"", "speed=50000"), "the value of attribute speed is not quoted"},
      {with("eth0", std::string(300, 'x')), "more than 253 characters"},
      {"", "1 error: there is no element"},
  };
  for (const Fault& fault : faults) EXPECT_THAT(findings_of(fault.text), HasSubstr(fault.finding));
}

TEST(NcclCheck_TooManyElements_IsSaid, WithTheLimit) {
  std::string text =
      "<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"1\" arch=\"x86_64\">\n<nic>\n";
  for (int i = 0; i < 300; ++i) text += "<net name=\"eth" + std::to_string(i) + "\"/>\n";
  text += "</nic>\n</cpu>\n</system>\n";
  EXPECT_THAT(findings_of(text), HasSubstr("257 error:"));
  EXPECT_THAT(findings_of(text), HasSubstr("has 303 elements"));
}

TEST(NcclXml_OfEveryMachine_PassesTheCheck, WithItsDevices) {
  for (const char* name :
       {"dgx_a100", "dgx_h100", "pcie_server", "grace_hopper", "cloud_vm", "tcp_host"}) {
    const Topology topology = load_machine(name);
    const std::string xml = nccl_xml_of(topology);
    EXPECT_EQ(findings_of(xml), "") << name << "\n" << xml;
    for (const Gpu& gpu : topology.gpus()) {
      EXPECT_THAT(xml, HasSubstr("busid=\"" + topology.pci_of(gpu.pci)->bus_id + "\"")) << name;
    }
    for (const Nic& nic : topology.nics()) {
      EXPECT_THAT(xml, HasSubstr("<net name=\"" + nic.name() + "\"")) << name;
    }
  }
}

TEST(NcclXml_SharedSwitch_IsOneBridge, OverGpuAndNic) {
  const Topology topology = load_machine("dgx_h100");
  const std::string xml = nccl_xml_of(topology);
  const std::size_t bridge = xml.find("busid=\"0000:16:00.0\" class=\"0x060400\"");
  ASSERT_NE(bridge, std::string::npos) << xml;
  const std::size_t end = xml.find("\n    </pci>", bridge);
  const std::string below = xml.substr(bridge, end - bridge);
  EXPECT_THAT(below, HasSubstr("busid=\"0000:18:00.0\""));
  EXPECT_THAT(below, HasSubstr("busid=\"0000:1b:00.0\""));
  EXPECT_THAT(below, HasSubstr("link_speed=\"32.0 GT/s PCIe\" link_width=\"16\""));
}

}  // namespace
}  // namespace thinwire::topology
