// Text from outside made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace warpwright {

/// Control characters, which a name in a file may hold to steer the terminal, become `?`; ends of lines and tabs stay.
std::string printable(std::string_view text);

}  // namespace warpwright
