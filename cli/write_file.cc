#include "cli/write_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace thinwire::cli {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

bool write_file(const std::string& path, const std::string& text) {
  if (path == "-") return std::fputs(text.c_str(), stdout) >= 0;
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "w"));
  bool written = file && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (file) written = std::fclose(file.release()) == 0 && written;
  if (!written) std::fprintf(stderr, "%s: %s\n", path.c_str(), std::strerror(errno));
  return written;
}

}  // namespace thinwire::cli
