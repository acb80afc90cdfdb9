#include "base/log.h"

#include <cstdio>

namespace thinwire {

void Log::write(LogLevel level, const char* file, int line, const char* format, ...) const {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  if (const LogSink sink = sink_.load(std::memory_order_acquire)) {
    sink(level, file, line, message);
  } else if (level == LogLevel::warn) {
    std::fprintf(stderr, "thinwire: %s\n", message);
  }
}

}  // namespace thinwire
