// One frame from anywhere, through every decoder: what a fuzzer calls. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thinwire::fuzz {

// The codecs under test (compression/codec_spec.h).
std::span<const char* const> codec_texts();

// data[0] chooses the codec, the next two bytes the element count (< 65536); the rest is the frame.
// Aborts when a decoder answers something else than fine or lost peer, writes beyond its output, or
// when decode() and decode_add() disagree on whether the frame is fine. Whether it was.
bool decode_frame(std::span<const std::uint8_t> data);

// A sound input: elements from a small generator, encoded by codec `which`.
std::vector<std::uint8_t> sound_input(std::size_t which, std::size_t count, std::uint32_t seed);

}  // namespace thinwire::fuzz
