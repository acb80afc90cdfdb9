// XML as far as descriptions of machines need it: elements and attributes, with their lines. Pure;
// any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thinwire::topology {

struct XmlAttribute {
  std::string name;
  std::string value;  // as written: character references are not replaced
};

struct XmlElement {
  std::string name;
  int line = 0;
  int parent = -1;
  std::vector<XmlAttribute> attributes;
  std::string text;  // the character data directly inside, without line ends
  std::vector<int> children;

  // Null when there is none.
  const std::string* find(std::string_view attribute) const;
};

// Well-formed XML that NCCL's own reader nevertheless refuses, and why.
struct XmlNote {
  int line = 0;
  std::string text;
};

struct XmlDocument {
  std::vector<XmlElement> elements;  // in the order of the text; the first one is the root
  std::vector<XmlNote> notes;        // by line
  int error_line = 0;
  std::string error;  // not empty: not well-formed; elements up to there are given
};

inline constexpr int kMaxXmlDepth = 128;

// Comments, declarations, a document type without subset and character data are passed over;
// CDATA sections and anything deeper than kMaxXmlDepth are errors.
// Source for the notes: NCCL 2.30, src/graph/xml.cc (xmlGetToken, xmlGetNode, xmlSkipComment).
XmlDocument parse_xml(std::string_view text);

}  // namespace thinwire::topology
