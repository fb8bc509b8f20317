// XGBoost's C API: one thread (more spin against each other), silent, parameters validated.
#include "cost_model/booster.h"

#include <xgboost/c_api.h>

#include <array>
#include <limits>
#include <utility>

namespace warpwright {
namespace {

constexpr int kRounds = 60;

void check_status(int status) {
  if (status != 0) throw BoosterError(XGBGetLastError());
}

void silence() {
  static const bool is_silent = [] {
    check_status(XGBSetGlobalConfig(R"({"verbosity": 0})"));
    return XGBRegisterLogCallback([](const char*) {}) == 0;
  }();
  (void)is_silent;
}

/// An in-memory matrix of rows with their margins.
class Matrix {
 public:
  explicit Matrix(const BoosterRows& rows) {
    const auto count = static_cast<bst_ulong>(rows.margins.size());
    check_status(XGDMatrixCreateFromMat(rows.values.data(), count, static_cast<bst_ulong>(rows.columns),
                                        std::numeric_limits<float>::quiet_NaN(), &handle_));
    try {
      set("base_margin", rows.margins);
    } catch (...) {
      XGDMatrixFree(handle_);
      throw;
    }
  }
  ~Matrix() { XGDMatrixFree(handle_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  void set(const char* field, std::span<const float> values) {
    check_status(XGDMatrixSetFloatInfo(handle_, field, values.data(), static_cast<bst_ulong>(values.size())));
  }
  DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

void train(BoosterHandle booster, const Matrix& data, uint64_t seed) {
  const std::string seed_text = std::to_string(seed & 0x7fffffff);
  const std::array<std::pair<const char*, const char*>, 14> parameters = {{
      {"validate_parameters", "true"},
      {"verbosity", "0"},
      {"nthread", "1"},
      {"seed", seed_text.c_str()},
      {"booster", "gbtree"},
      {"tree_method", "hist"},
      {"objective", "reg:squarederror"},
      {"base_score", "0"},
      {"max_depth", "5"},
      {"eta", "0.15"},
      {"max_bin", "64"},
      {"min_child_weight", "1"},
      {"lambda", "1"},
      {"colsample_bytree", "0.7"},
  }};
  for (const auto& [name, value] : parameters) check_status(XGBoosterSetParam(booster, name, value));
  for (int round = 0; round < kRounds; ++round) check_status(XGBoosterUpdateOneIter(booster, round, data.handle()));
}

}  // namespace

Booster::Booster(const BoosterRows& rows, std::span<const float> labels, std::span<const float> weights,
                 uint64_t seed) {
  silence();
  Matrix data(rows);
  data.set("label", labels);
  data.set("weight", weights);
  const DMatrixHandle handle = data.handle();
  check_status(XGBoosterCreate(&handle, 1, &handle_));
  try {
    train(handle_, data, seed);
  } catch (...) {
    XGBoosterFree(handle_);
    throw;
  }
}

Booster::~Booster() { XGBoosterFree(handle_); }

std::vector<float> Booster::predict(const BoosterRows& rows) const {
  const Matrix data(rows);
  // type 1: margins, which include base_margin.
  constexpr const char* kConfig =
      R"({"type": 1, "training": false, "iteration_begin": 0, "iteration_end": 0, "strict_shape": false})";
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* result = nullptr;
  check_status(XGBoosterPredictFromDMatrix(handle_, data.handle(), kConfig, &shape, &dimensions, &result));
  bst_ulong count = 1;
  for (bst_ulong i = 0; i < dimensions; ++i) count *= shape[i];
  if (count != rows.margins.size()) throw BoosterError("another number of predictions than rows");
  return std::vector<float>(result, result + count);
}

}  // namespace warpwright
