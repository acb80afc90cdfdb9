#include "topology/xml.h"

#include <algorithm>

namespace thinwire::topology {
namespace {

constexpr std::size_t kNcclLongestText = 253;  // MAX_STR_LEN - 1, less the quote
constexpr std::size_t kNcclMostAttributes = 16;
constexpr std::size_t kMostAttributes = 256;
constexpr std::size_t kMostElements = std::size_t{1} << 18;
constexpr std::size_t kMostNotes = 1024;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  XmlDocument run() {
    if (text_.starts_with("\xEF\xBB\xBF")) {
      note("a byte order mark: NCCL wants '<' first");
      at_ += 3;
    }
    while (ok() && at_ < text_.size()) parse_next();
    if (ok() && !open_.empty()) {
      const XmlElement& element = element_at(open_.back());
      fail("<" + element.name + "> of line " + std::to_string(element.line) + " is not closed");
    }
    if (ok() && document_.elements.empty()) fail("there is no element");
    return std::move(document_);
  }

 private:
  bool ok() const { return document_.error.empty(); }
  XmlElement& element_at(int index) { return document_.elements[static_cast<std::size_t>(index)]; }

  void fail(std::string text) {
    if (!ok()) return;
    document_.error = std::move(text);
    document_.error_line = line_;
  }
  // Notes of one kind on one line are one.
  void note(const char* text) {
    if (document_.notes.size() == kMostNotes) return;
    const auto same = [&](const XmlNote& each) { return each.line == line_ && each.text == text; };
    if (std::ranges::none_of(document_.notes, same)) document_.notes.push_back({line_, text});
  }

  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool looks_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void advance(std::size_t count) {
    for (; count > 0 && !at_end(); --count, ++at_) line_ += text_[at_] == '\n' ? 1 : 0;
  }
  // What lies before `ending`, which is passed over too.
  std::string_view take_until(std::string_view ending, const char* what) {
    const std::size_t end = text_.find(ending, at_);
    if (end == std::string_view::npos) {
      fail(std::string(what) + " does not end");
      return {};
    }
    const std::string_view inside = text_.substr(at_, end - at_);
    advance(inside.size() + ending.size());
    return inside;
  }

  void parse_next() {
    if (looks_at("<!--")) return parse_comment();
    if (looks_at("<![")) return fail("CDATA and conditional sections are not accepted");
    if (looks_at("<!") || looks_at("<?")) {
      note("a declaration (<? or <!): NCCL reads it as an element that is never closed");
      (void)take_until(">", "the declaration");
      return;
    }
    if (looks_at("</")) return parse_closing();
    if (peek() == '<') return parse_element();
    parse_text();
  }

  void parse_comment() {
    advance(4);
    const std::string_view inside = take_until("-->", "the comment");
    if (inside.substr(0, inside.find_first_of(" \n\r")).find('=') != std::string_view::npos) {
      note("a comment whose first word contains '=': NCCL takes that for an attribute");
    }
  }

  void parse_text() {
    if (!is_blank(peek())) {
      note("text between elements: NCCL wants '<'");
      if (open_.empty()) return fail("text outside the root element");
    } else if (peek() == '\t') {
      note("a tab between elements: NCCL accepts only spaces and line ends");
    }
    if (!open_.empty() && peek() != '\n') element_at(open_.back()).text += peek();
    advance(1);
  }

  std::string_view take_name() {
    std::size_t length = 0;
    while (at_ + length < text_.size() && is_name_character(text_[at_ + length])) ++length;
    const std::string_view name = text_.substr(at_, length);
    advance(length);
    if (name.size() > kNcclLongestText) note("a name of more than 253 characters");
    return name;
  }

  void skip_blanks_in_tag() {
    for (; is_blank(peek()); advance(1)) {
      if (peek() != ' ') note("a tab or line end inside a tag: NCCL accepts only spaces there");
    }
  }

  void parse_closing() {
    advance(2);
    const std::string_view name = take_name();
    if (is_blank(peek())) note("a blank before the '>' of a closing tag");
    skip_blanks_in_tag();
    if (peek() != '>') return fail("the closing tag </" + std::string(name) + " lacks its '>'");
    if (open_.empty()) return fail("</" + std::string(name) + "> closes nothing");
    const XmlElement& element = element_at(open_.back());
    if (element.name != name) {
      return fail("</" + std::string(name) + "> where <" + element.name + "> of line " +
                  std::to_string(element.line) + " is open");
    }
    advance(1);
    open_.pop_back();
  }

  void parse_element() {
    if (open_.empty() && !document_.elements.empty()) return fail("a second root element");
    if (open_.size() >= kMaxXmlDepth) {
      return fail("elements nest deeper than " + std::to_string(kMaxXmlDepth));
    }
    if (document_.elements.size() == kMostElements) {
      return fail("more than " + std::to_string(kMostElements) + " elements");
    }
    XmlElement element;
    element.line = line_;
    advance(1);
    element.name = take_name();
    if (element.name.empty()) return fail("'<' without an element's name");
    skip_blanks_in_tag();
    while (ok() && is_name_character(peek())) parse_attribute(element);
    if (element.attributes.size() > kNcclMostAttributes) {
      note("more than 16 attributes: NCCL ignores the rest");
    }
    finish_tag(std::move(element));
  }

  void parse_attribute(XmlElement& element) {
    XmlAttribute attribute;
    attribute.name = take_name();
    if (is_blank(peek())) note("a blank before '=': NCCL takes the word for an attribute");
    skip_blanks_in_tag();
    if (peek() != '=') return fail("attribute " + attribute.name + " has no =\"value\"");
    advance(1);
    if (is_blank(peek())) note("a blank after '=': NCCL wants the quote there");
    skip_blanks_in_tag();
    const char quote = peek();
    if (quote != '"' && quote != '\'') {
      return fail("the value of attribute " + attribute.name + " is not quoted");
    }
    advance(1);
    const int begun = line_;
    attribute.value = take_until({&quote, 1}, "the attribute's value");
    if (attribute.value.find('<') != std::string::npos) {
      line_ = begun;
      return fail("'<' inside the value of attribute " + attribute.name);
    }
    if (attribute.value.size() > kNcclLongestText) {
      note("an attribute of more than 253 characters: NCCL gives up");
    }
    if (element.find(attribute.name) != nullptr) {
      return fail("attribute " + attribute.name + " of <" + element.name + "> is given twice");
    }
    if (element.attributes.size() == kMostAttributes) {
      return fail("<" + element.name + "> has more than " + std::to_string(kMostAttributes) +
                  " attributes");
    }
    element.attributes.push_back(std::move(attribute));
    skip_blanks_in_tag();
  }

  void finish_tag(XmlElement element) {
    if (!ok()) return;
    const bool is_single = looks_at("/>");
    if (!is_single && peek() != '>') {
      return fail("the tag <" + element.name + " does not end with '>' or '/>'");
    }
    advance(is_single ? 2 : 1);
    const auto index = static_cast<int>(document_.elements.size());
    if (!open_.empty()) {
      element.parent = open_.back();
      element_at(open_.back()).children.push_back(index);
    }
    document_.elements.push_back(std::move(element));
    if (!is_single) open_.push_back(index);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<int> open_;
  XmlDocument document_;
};

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &XmlAttribute::name);
  return found == attributes.end() ? nullptr : &found->value;
}

XmlDocument parse_xml(std::string_view text) { return Parser(text).run(); }

}  // namespace thinwire::topology
