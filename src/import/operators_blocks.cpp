// Operators that deal elements out by a pattern: Tile, DepthToSpace, SpaceToDepth, Trilu, OneHot.
#include <fmt/core.h>

#include "src/core/error.h"
#include "src/import/operator_list.h"

namespace warpwright {

namespace {

void finish_movement(OperatorContext& context, const Movement& movement, Shape shape) {
  const DType dtype = context.input_tensor(0).dtype;
  context.finish(move_node(movement), {context.input(0)}, dtype, std::move(shape));
}

/// [n, c, h, w] and the block that divides `extents`.
int64_t read_block(OperatorContext& context, const Shape& x) {
  context.require_inputs(1, 1);
  if (x.size() != 4) throw UsageError(fmt::format("an input of shape {} where an image is needed", to_text(x)));
  const int64_t block = context.attributes.integer("blocksize", 0);
  if (block < 1 || block > 1 << 15) throw UsageError(fmt::format("blocksize {}", block));
  return block;
}

}  // namespace

void import_tile(OperatorContext& context) {
  context.require_inputs(2, 2);
  const Shape x = context.input_tensor(0).shape;
  const std::vector<int64_t> repeats = constant_integers(context, 1);
  if (repeats.size() != x.size()) {
    throw UsageError(fmt::format("{} repeats for {} dimensions", repeats.size(), x.size()));
  }
  const Movement from = whole(x);
  Movement movement;
  Shape shape;
  for (size_t i = 0; i < x.size(); ++i) {
    if (repeats[i] < 1 || repeats[i] > int64_t{1} << 31) throw UsageError(fmt::format("{} repeats", repeats[i]));
    movement.axes.push_back({repeats[i], 0, 0, repeats[i]});
    movement.axes.push_back(from.axes[i]);
    shape.push_back(x[i] * repeats[i]);
  }
  check_shape(shape);
  finish_movement(context, movement, std::move(shape));
}

/// [n, block, block, c, h, w] (DCR) or [n, c, block, block, h, w] (CRD) to [n, c, h, block, w, block].
void import_depth_to_space(OperatorContext& context) {
  const Shape x = context.input_tensor(0).shape;
  const int64_t block = read_block(context, x);
  const std::string mode = context.attributes.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") throw UsageError(fmt::format("mode {}", mode));
  if (x[1] % (block * block) != 0) throw UsageError(fmt::format("{} channels in blocks of {}", x[1], block));
  const int64_t channels = x[1] / (block * block);
  const bool depth_first = mode == "DCR";
  const Shape view =
      depth_first ? Shape{x[0], block, block, channels, x[2], x[3]} : Shape{x[0], channels, block, block, x[2], x[3]};
  const std::vector<int64_t> order =
      depth_first ? std::vector<int64_t>{0, 3, 4, 1, 5, 2} : std::vector<int64_t>{0, 1, 4, 2, 5, 3};
  finish_movement(context, transposition(view, order), {x[0], channels, x[2] * block, x[3] * block});
}

void import_space_to_depth(OperatorContext& context) {
  const Shape x = context.input_tensor(0).shape;
  const int64_t block = read_block(context, x);
  if (x[2] % block != 0 || x[3] % block != 0) {
    throw UsageError(fmt::format("an image of shape {} in blocks of {}", to_text(x), block));
  }
  const int64_t h = x[2] / block, w = x[3] / block;
  finish_movement(context, transposition({x[0], x[1], h, block, w, block}, {0, 3, 5, 1, 2, 4}),
                  {x[0], x[1] * block * block, h, w});
}

void import_trilu(OperatorContext& context) {
  context.require_inputs(1, 2);
  const TensorId x = context.input(0);
  const Shape shape = context.graph.tensor(x).shape;
  const DType dtype = context.graph.tensor(x).dtype;
  if (shape.size() < 2) throw UsageError(fmt::format("an input of shape {} where matrices are needed", to_text(shape)));
  if (is_code(dtype)) throw UsageError(fmt::format("{} is not supported", name(dtype)));
  const std::vector<int64_t> diagonal = context.has_input(1) ? constant_integers(context, 1) : std::vector<int64_t>{0};
  if (diagonal.size() != 1) throw UsageError("k must be one number");
  const bool upper = context.attributes.integer("upper", 1) != 0;
  const int64_t rows = shape[shape.size() - 2], columns = shape.back();
  take_bytes(context.graph, rows * columns);
  Tensor kept(DType::boolean, {rows, columns});
  for (int64_t i = 0; i < kept.size(); ++i) {
    const int64_t row = i / columns, column = i % columns;
    const bool keeps = upper ? column - row >= diagonal[0] : column - row <= diagonal[0];
    kept.bytes[static_cast<size_t>(i)] = static_cast<std::byte>(keeps);
  }
  Formula formula(context.graph);
  const Term mask = formula.tensor(add_constant(context, std::move(kept), "kept"));
  const Term zero = dtype == DType::f32 ? formula.real(0.0f) : formula.integer(dtype, 0);
  finish_formula(context, formula, select(mask, formula.tensor(x), zero));
}

/// Off and on are the two elements of `values`.
void import_one_hot(OperatorContext& context) {
  context.require_inputs(3, 3);
  const GraphTensor& indices = context.input_tensor(0);
  if (indices.dtype != DType::s32 && indices.dtype != DType::s64) {
    throw UsageError(fmt::format("indices of {} are not supported", name(indices.dtype)));
  }
  const std::vector<int64_t> depth = constant_integers(context, 1);
  const std::vector<float> values = constant_reals(context, 2);
  if (depth.size() != 1 || depth[0] < 1 || depth[0] > int64_t{1} << 31 || values.size() != 2) {
    throw UsageError("depth must be one positive number, values two");
  }
  Shape shape = indices.shape;
  const int64_t axis = normalized_axis(context.attributes.integer("axis", -1), shape.size() + 1);
  shape.insert(shape.begin() + axis, 1);
  take_bytes(context.graph, depth[0] * 8);
  Shape places_shape(shape.size() - static_cast<size_t>(axis), 1);
  places_shape[0] = depth[0];
  Tensor places(DType::s64, places_shape);
  for (int64_t i = 0; i < depth[0]; ++i) places.as<int64_t>()[static_cast<size_t>(i)] = i;
  const TensorId spread = reshaped(context, context.input(0), shape, "indices");
  Formula formula(context.graph);
  const Term index = converted(formula.tensor(spread), DType::s64);
  const Term zero = formula.integer(DType::s64, 0), extent = formula.integer(DType::s64, depth[0]);
  const Term place = select(index < zero, index + extent, index);
  const Term hits =
      formula.apply(MapOp::equal, {place, formula.tensor(add_constant(context, std::move(places), "places"))});
  finish_formula(context, formula, select(hits, formula.real(values[1]), formula.real(values[0])));
}

}  // namespace warpwright
