// What travels exactly among messages that are compressed: a frame of plain elements. Any thread.
//
// For the levels of a hierarchy that a policy leaves exact, and for top-k where a tensor has no
// residual yet. A frame says its element type: sums in float32 may be read as 16-bit elements.
#pragma once

#include <cstddef>

#include "compression/codec.h"

namespace thinwire::compression {

// lossy() is false, id() is none. Unlike codec(CodecId::none) it decodes into a wider or narrower
// type than was encoded and adds. Of the EncodeContext it heeds `valid` alone.
const Codec& exact_frames();

// The codec that a frame names; the frame may still be malformed. Code::peer_lost where it is too
// short or names none.
Result<CodecId> codec_of_frame(const std::byte* wire, std::size_t wire_bytes);

}  // namespace thinwire::compression
