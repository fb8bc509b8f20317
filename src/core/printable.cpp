// Names from files for the terminal.
#include "src/core/printable.h"

#include <algorithm>

namespace warpwright {

std::string printable(std::string_view text) {
  std::string clean(text);
  const auto steers = [](unsigned char letter) {
    return (letter < 0x20 && letter != '\n' && letter != '\t') || letter == 0x7f;
  };
  std::replace_if(clean.begin(), clean.end(), steers, '?');
  return clean;
}

}  // namespace warpwright
