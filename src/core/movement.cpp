// Movements: checks, and fewer axes for the same.
#include "src/core/movement.h"

#include <algorithm>

#include "src/core/error.h"

namespace warpwright {

namespace {

constexpr size_t kMostAxes = 16;
constexpr int64_t kMostElements = int64_t{1} << 40;

}  // namespace

int64_t Movement::elements() const {
  int64_t count = 1;
  for (const MovementAxis& axis : axes) count *= axis.extent;
  return count;
}

bool Movement::fills() const {
  for (const MovementAxis& axis : axes) {
    if (!axis.is_full()) return true;
  }
  return false;
}

bool Movement::is_identity(int64_t elements) const {
  Movement identity;
  identity.axes = {{elements, 1, 0, elements}};
  return simplified(*this) == simplified(identity);
}

Movement simplified(const Movement& movement) {
  Movement result;
  result.start = movement.start;
  for (const MovementAxis& axis : movement.axes) {
    if (axis.extent == 1 && axis.is_full()) continue;
    const auto span = static_cast<__int128>(axis.step) * axis.extent;
    if (!result.axes.empty() && axis.is_full() && result.axes.back().step == span) {
      MovementAxis& outer = result.axes.back();
      outer = {outer.extent * axis.extent, axis.step, outer.first * axis.extent, outer.last * axis.extent};
    } else {
      result.axes.push_back(axis);
    }
  }
  return result;
}

void check(const Movement& movement, int64_t sources, int64_t elements) {
  const auto require = [](bool condition, const char* what) {
    if (!condition) throw InternalError(what);
  };
  require(movement.axes.size() <= kMostAxes, "a movement has up to 16 axes");
  __int128 count = 1, least = movement.start, most = movement.start;
  bool has_source = true;
  for (const MovementAxis& axis : movement.axes) {
    require(axis.extent >= 1 && axis.extent <= kMostElements && 0 <= axis.first && axis.first <= axis.last &&
                axis.last <= axis.extent && axis.step >= -kMostElements && axis.step <= kMostElements,
            "an axis of the movement is out of range");
    count *= axis.extent;
    require(count <= kMostElements, "the movement is too large");
    const auto first = axis.first * static_cast<__int128>(axis.step);
    const auto last = (axis.last - 1) * static_cast<__int128>(axis.step);
    least += std::min(first, last);
    most += std::max(first, last);
    has_source &= axis.first < axis.last;
  }
  require(count == elements, "the axes of a movement hold other than the output's elements");
  require(!has_source || (least >= 0 && most < sources), "a movement reads outside its input");
  require(simplified(movement) == movement, "a movement has more axes than it needs");
}

Movement whole(const Shape& shape) {
  Movement movement;
  movement.axes.resize(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0; step *= shape[i]) movement.axes[i] = {shape[i], step, 0, shape[i]};
  return movement;
}

Movement transposition(const Shape& shape, const std::vector<int64_t>& order) {
  const Movement from = whole(shape);
  Movement movement;
  for (const int64_t dimension : order) movement.axes.push_back(from.axes[static_cast<size_t>(dimension)]);
  return simplified(movement);
}

Movement expansion(const Shape& from, const Shape& to) {
  const Movement source = whole(from);
  const size_t fresh = to.size() - from.size();
  Movement movement;
  for (size_t i = 0; i < to.size(); ++i) {
    const bool repeats = i < fresh || from[i - fresh] != to[i];
    movement.axes.push_back(repeats ? MovementAxis{to[i], 0, 0, to[i]} : source.axes[i - fresh]);
  }
  return movement;
}

}  // namespace warpwright
