#include "transports/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace thinwire::transports::shm {

namespace {
// Nobody can cut the file short, which would turn the other side's accesses into SIGBUS.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
}  // namespace

Segment::Segment(Segment&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Segment::~Segment() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Result<Segment> Segment::map_fd(int fd, std::size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return Status(Code::system_error, "cannot map shared memory", errno);
  // A forked child has no use for it, and must not keep it alive.
  ::madvise(mapped, bytes, MADV_DONTFORK);
  Segment segment;
  segment.data_ = static_cast<std::byte*>(mapped);
  segment.bytes_ = bytes;
  return segment;
}

Result<Segment> Segment::create(std::size_t bytes, UniqueFd& fd) {
  fd = UniqueFd(::memfd_create("thinwire", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return Status(Code::system_error, "cannot make shared memory", errno);
  }
  return map_fd(fd.get(), bytes);
}

Result<Segment> Segment::map(const UniqueFd& fd, std::size_t bytes) {
  struct stat status {};
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd.get(), &status) != 0 ||
      static_cast<std::size_t>(status.st_size) != bytes) {
    return Status(Code::peer_lost, "the peer's shared memory is not as it should be");
  }
  return map_fd(fd.get(), bytes);
}

}  // namespace thinwire::transports::shm
