// SPDX-License-Identifier: Apache-2.0
#include "generator.h"

#include <freshet/repr/row.h>

namespace freshet::storage {
namespace {

/// One growing column: tick n inserts n, and with a maximum m removes n - m.
class CounterGenerator final : public Generator {
 public:
  explicit CounterGenerator(std::optional<std::uint64_t> most)
      : most_(most), codec_({repr::TypeKind::kInt8}) {}

  std::optional<GeneratedSlice> next_load_slice() override { return std::nullopt; }

  std::vector<GeneratedSlice> tick(std::uint64_t offset) override {
    GeneratedSlice slice;
    add(slice, offset, 1);
    if (most_ && offset > *most_) add(slice, offset - *most_, -1);
    std::vector<GeneratedSlice> slices;
    slices.push_back(std::move(slice));
    return slices;
  }

  void skip(std::uint64_t) override {}

 private:
  void add(GeneratedSlice& slice, std::uint64_t value, repr::Diff diff) {
    slice.updates.push_back(codec_.encode({repr::Datum(static_cast<std::int64_t>(value))}), 0, diff);
  }
  std::optional<std::uint64_t> most_;
  repr::RowCodec codec_;
};

}  // namespace

std::unique_ptr<Generator> make_counter_generator(const storage_api::LoadGenerator& options) {
  return std::make_unique<CounterGenerator>(options.max_cardinality);
}

std::unique_ptr<Generator> make_generator(const storage_api::LoadGenerator& options) {
  switch (options.kind) {
    case storage_api::LoadGenerator::Kind::kCounter: return make_counter_generator(options);
    case storage_api::LoadGenerator::Kind::kTpch: return make_tpch_generator(options);
  }
  FRESHET_UNREACHABLE(static_cast<int>(options.kind));
}

}  // namespace freshet::storage
