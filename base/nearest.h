// nearest(): which known word a misspelt one was probably meant to be. Pure; any thread.
#pragma once

#include <span>
#include <string_view>

namespace thinwire {

// "" where none is near: where more than a third of the letters would have to change. Case is
// ignored; of several equally near ones the first.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace thinwire
