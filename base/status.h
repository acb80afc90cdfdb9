// Status and Result: the one error mechanism of Thinwire.
// Values, owned by whoever holds them; any thread.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <utility>

namespace thinwire {

// What kind of failure it is. The plugin maps it to ncclResult_t in one table.
enum class Code : std::uint8_t {
  ok,
  would_block,       // not now: call again; never an error
  invalid_argument,  // misuse by the caller -> ncclInternalError
  invalid_config,    // the user's configuration -> ncclInvalidUsage
  peer_lost,         // a remote rank is gone or refused -> ncclRemoteError
  system_error,      // operating system, NIC or memory -> ncclSystemError
  internal_error,    // a broken invariant of our own -> ncclInternalError
};

// An outcome: a code, a static text (never freed, never null) and the native error (errno or
// the library's own code; 0 where there is none). Whoever first detects an error logs it with its
// device, peer and values; the Status only carries it upward.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr Status(Code code, const char* text, int native = 0)
      : text_(text), native_(native), code_(code) {}

  static constexpr Status would_block() { return {Code::would_block, "would block"}; }

  constexpr bool ok() const { return code_ == Code::ok; }
  constexpr bool is_would_block() const { return code_ == Code::would_block; }
  // Neither done nor merely postponed.
  constexpr bool failed() const { return !ok() && !is_would_block(); }
  constexpr Code code() const { return code_; }
  constexpr const char* text() const { return text_; }
  constexpr int native() const { return native_; }

 private:
  const char* text_ = "ok";
  int native_ = 0;
  Code code_ = Code::ok;
};

// Either a T or the Status that says why there is none. Never holds an ok Status.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(status) { assert(!status.ok()); }  // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace thinwire
