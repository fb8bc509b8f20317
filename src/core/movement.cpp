// Movements, and fewer axes for the same.
#include "src/core/movement.h"

namespace warpwright {

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
    if (!result.axes.empty() && axis.is_full() && result.axes.back().step == axis.step * axis.extent) {
      MovementAxis& outer = result.axes.back();
      outer = {outer.extent * axis.extent, axis.step, outer.first * axis.extent, outer.last * axis.extent};
    } else {
      result.axes.push_back(axis);
    }
  }
  return result;
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

}  // namespace warpwright
