#include "perf/usage.h"

#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "perf/failure.h"

namespace thinwire::perf {
namespace {

std::string unknown_word_text(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view near = nearest(word.substr(0, word.find('=')), views);
  return "unknown " + std::string(word.starts_with("-") ? "option " : "word ") + word +
         (near.empty() ? "" : "; did you mean " + std::string(near) + "?");
}

}  // namespace

void fail_usage(const std::string& message) {
  throw Failure(ExitCode::usage, message + "\nRun with --help for the options.");
}

void fail_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) throw Failure(ExitCode::ok, app.help());
  const std::vector<std::string> unknown = app.remaining();
  fail_usage(unknown.empty() ? error.what() : unknown_word_text(app, unknown.front()));
}

}  // namespace thinwire::perf
