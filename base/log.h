// Log: where messages go. Built by the composition root, passed by reference; any thread.
#pragma once

#include <atomic>
#include <cstdarg>

namespace thinwire {

enum class LogLevel { warn, info, trace };

// Receives one finished line (no newline). Must not throw and must be callable from any thread.
using LogSink = void (*)(LogLevel level, const char* file, int line, const char* message);

// Formats printf-style and hands whole lines to the sink. The sink can be exchanged at any time
// (the plugin detaches from NCCL's logger at finalize); without one, warnings go to stderr.
class Log {
 public:
  explicit Log(LogSink sink = nullptr) : sink_(sink) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void set_sink(LogSink sink) { sink_.store(sink, std::memory_order_release); }

  void write(LogLevel level, const char* file, int line, const char* format, ...) const
      __attribute__((format(printf, 5, 6)));

 private:
  std::atomic<LogSink> sink_;
};

}  // namespace thinwire

#define THINWIRE_WARN(log, ...) \
  (log).write(::thinwire::LogLevel::warn, __FILE__, __LINE__, __VA_ARGS__)
#define THINWIRE_INFO(log, ...) \
  (log).write(::thinwire::LogLevel::info, __FILE__, __LINE__, __VA_ARGS__)
