// Axes merged by operand, and the loads that follow from them.
#include "search_space/map/operands.h"

#include <fmt/format.h>

#include <algorithm>

namespace warpwright::map_kernel {

namespace {

std::vector<Stretch> stretches_of(const Map& map, const MapOperand& operand) {
  std::vector<Stretch> stretches;
  int64_t stride = 1;
  for (size_t k = map.extents.size(); k-- > 0;) {
    const int64_t extent = map.extents[k], step = operand.steps[k];
    if (extent == 1) continue;
    if (!stretches.empty() && step == stretches.back().step * stretches.back().extent) {
      stretches.back().extent *= extent;
    } else {
      stretches.push_back({stride, extent, step});
    }
    stride *= extent;
  }
  return stretches;
}

Access access_of(const std::vector<Stretch>& stretches, int64_t elements, int64_t vector) {
  if (std::ranges::all_of(stretches, [](const Stretch& stretch) { return stretch.step == 0; })) return Access::single;
  const Stretch& fastest = stretches.front();
  if (fastest.step == 1 && fastest.extent == elements) return Access::linear;
  if (fastest.extent % vector != 0) return Access::apart;
  const auto aligned = [&](const Stretch& stretch) { return stretch.stride == 1 || stretch.step % vector == 0; };
  return fastest.step == 1 && std::ranges::all_of(stretches, aligned) ? Access::aligned : Access::stepped;
}

}  // namespace

int64_t OperandPlan::loads(int64_t vector) const {
  if (access == Access::single) return 0;
  return access == Access::stepped && stretches.front().step == 0 ? 1 : vector;
}

OperandPlan plan_operand(const Map& map, const MapOperand& operand, int64_t vector) {
  OperandPlan plan;
  plan.stretches = stretches_of(map, operand);
  plan.access = access_of(plan.stretches, map.elements(), vector);
  return plan;
}

bool is_scalar(const Map& map, const MapOperand& operand) {
  return operand.constant && plan_operand(map, operand, 1).access == Access::single &&
         (operand.dtype == DType::f32 || operand.dtype == DType::s32);
}

std::string place_text(const OperandPlan& plan, const std::string& e) {
  std::string text;
  const Stretch* const slowest = &plan.stretches.back();
  for (const Stretch& stretch : plan.stretches) {
    if (stretch.step == 0) continue;
    std::string index = stretch.stride == 1 ? e : fmt::format("{} / {}u", e, stretch.stride);
    if (&stretch != slowest) index += fmt::format(" % {}u", stretch.extent);
    if (stretch.step != 1) index += fmt::format(" * {}u", stretch.step);
    text += (text.empty() ? "" : " + ") + index;
  }
  return text;
}

std::string load_text(const OperandPlan& plan, const std::string& to, const std::string& pointer, bool has_tail) {
  const std::string loop = "#pragma unroll\n      for (int i = 0; i < kVector; ++i) ";
  switch (plan.access) {
    case Access::single:
      return fmt::format("{}{}[i] = {}[0];\n", loop, to, pointer);
    case Access::linear:
      return has_tail ? fmt::format("load_some({}, {} + e, kElements - static_cast<int>(e));\n", to, pointer)
                      : fmt::format("load_vector({}, {} + e);\n", to, pointer);
    case Access::aligned:
      return fmt::format("load_vector({}, {} + ({}));\n", to, pointer, place_text(plan, "e"));
    case Access::stepped: {
      const int64_t step = plan.stretches.front().step;
      const std::string place = place_text(plan, "e");
      if (step != 0) return fmt::format("{}{}[i] = {}[{} + {}u * i];\n", loop, to, pointer, place, step);
      return fmt::format("{0}[0] = {1}[{2}];\n{3}{0}[i] = {0}[0];\n", to, pointer, place, loop);
    }
    case Access::apart: {
      const std::string element = fmt::format("{}[{}]", pointer, place_text(plan, "(e + i)"));
      if (!has_tail) return fmt::format("{}{}[i] = {};\n", loop, to, element);
      return fmt::format("{}{}[i] = static_cast<int>(e) + i < kElements ? {} : 0;\n", loop, to, element);
    }
  }
  return "";
}

}  // namespace warpwright::map_kernel
