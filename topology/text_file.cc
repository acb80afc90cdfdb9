#include "topology/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace thinwire::topology {
namespace {

// Closes a descriptor when it goes.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// errno, or 0 when `out` holds all there is up to `most` bytes.
int read_all(int descriptor, std::size_t most, std::string& out) {
  char block[16384];
  while (out.size() <= most) {
    const ssize_t got = ::read(descriptor, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return 0;
    out.append(block, static_cast<std::size_t>(got));
  }
  return EFBIG;
}

int read_regular(const std::string& path, std::size_t most, std::string& out) {
  const OpenFile file(path);
  if (file.descriptor() < 0) return errno;
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return ENODEV;
  return read_all(file.descriptor(), most, out);
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes,
                                   const char* origin, const Log& log) {
  std::string text;
  const int error = read_regular(path, most_bytes, text);
  if (error == 0) return text;
  if (error == EFBIG) {
    THINWIRE_WARN(log, "%s: %s has more than the %zu bytes that are accepted", origin, path.c_str(),
                  most_bytes);
  } else if (error == ENODEV) {
    THINWIRE_WARN(log, "%s: %s is not a regular file", origin, path.c_str());
  } else {
    THINWIRE_WARN(log, "%s: %s cannot be read: %s", origin, path.c_str(), std::strerror(error));
  }
  return Status(Code::invalid_config, "a file that a setting names cannot be used", error);
}

}  // namespace thinwire::topology
