// Bad command lines of the perf programs and the trainer. Main only, before any process is forked.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace thinwire::perf {

// Throws Failure (usage) with `message` and where to read more.
[[noreturn]] void fail_usage(const std::string& message);

// Throws what `error` of app.parse() means: Failure (ok) with the text of --help, else Failure
// (usage) with what is wrong, and the nearest option there is to an unknown one.
[[noreturn]] void fail_parse(const CLI::App& app, const CLI::ParseError& error);

}  // namespace thinwire::perf
