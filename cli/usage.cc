#include "cli/usage.h"

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"

namespace thinwire::cli {
namespace {

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view near = nearest(word, views);
  return near.empty() ? "" : "; did you mean " + std::string(near) + "?";
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// The first word that none of the commands takes; "" where there is none.
std::string unknown_word(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(true);
  return left.empty() ? "" : left.front();
}

std::string explanation(const CLI::App& app, const CLI::ParseError& error, int argument_count) {
  if (argument_count < 2) return "no command; accepted: " + joined(commands_of(app));
  const std::string word = unknown_word(app);
  if (word.empty()) return error.what();
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& asked = chosen.empty() ? app : *chosen.front();
  if (word.starts_with("-")) {
    return "unknown option " + word + suggestion(word, options_of(asked));
  }
  if (!chosen.empty()) return asked.get_name() + " takes no word " + word;
  const std::vector<std::string> commands = commands_of(app);
  return "unknown command " + word + suggestion(word, commands) + "; accepted: " + joined(commands);
}

}  // namespace

int report_usage(const CLI::App& app, const CLI::ParseError& error, int argument_count) {
  if (error.get_exit_code() == 0) return app.exit(error);
  std::fprintf(stderr, "thinwire: %s\nRun with --help for the commands and options.\n",
               explanation(app, error, argument_count).c_str());
  return kUsageStatus;
}

}  // namespace thinwire::cli
