// SPDX-License-Identifier: Apache-2.0
#include "dataflow/join_operator.h"

#include <algorithm>

namespace freshet::compute {

std::size_t MatchLayout::Side::index_of(std::size_t position) const {
  const auto found = std::ranges::lower_bound(positions, position);
  return static_cast<std::size_t>(found - positions.begin());
}

void MatchLayout::Side::sort() {
  std::ranges::sort(positions);
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
}

MatchLayout::MatchLayout(const expr::ArrangementLayout& first, const expr::ArrangementLayout& second,
                         MfpStepPtr after, bool nulls_match)
    : after_(std::move(after)),
      key_codec_(sql_types(first.key_types)),
      second_key_codec_(sql_types(second.key_types)),
      first_codec_(sql_types(first.value_types)),
      second_codec_(sql_types(second.value_types)),
      arity_(after_->input_types().size()) {
  const std::size_t split = first.columns.size();
  const auto source = [&](std::size_t column) {
    return column < split ? first.columns[column] : second.columns[column - split];
  };
  const auto side = [&](std::size_t column) -> Side& {
    if (column < split) return source(column).in_key ? key_ : first_;
    return source(column).in_key ? second_key_ : second_;
  };
  for (const std::size_t column : after_->demand()) side(column).want(source(column).position);
  for (std::size_t k = 0; k < first.key_types.size(); ++k) {
    if (nulls_match || !first.key_types[k].nullable || !second.key_types[k].nullable) continue;
    if (first.key_types.size() == 1) {
      null_key_ = key_codec_.encode(repr::DatumRow(1));
      null_key_.resize(key_codec_.key_size(null_key_));
    } else {
      key_.want(k);
      nullable_keys_.push_back(k);
    }
  }
  for (Side* each : {&key_, &second_key_, &first_, &second_}) each->sort();
  for (std::size_t& k : nullable_keys_) k = key_.index_of(k);
  for (const std::size_t column : after_->demand()) {
    side(column).targets.emplace_back(side(column).index_of(source(column).position), column);
  }
  wants_key_ = !key_.positions.empty() || !second_key_.positions.empty();
  wants_first_ = !first_.positions.empty();
  wants_second_ = !second_.positions.empty();
}

MatchLayout::Decoded MatchLayout::decode(const repr::BytesVector& keys, const repr::BytesVector& firsts,
                                         const repr::BytesVector& seconds, std::size_t rows) const {
  Decoded result;
  result.columns.resize(arity_);
  const auto take = [&](const Side& side, const repr::RowCodec& codec, const repr::BytesVector& bytes) {
    if (side.positions.empty()) return std::vector<repr::ColumnPtr>();
    std::vector<repr::ColumnPtr> decoded = codec.decode(bytes, side.positions).value();
    for (const auto& [index, column] : side.targets) result.columns[column] = decoded[index];
    return decoded;
  };
  const std::vector<repr::ColumnPtr> key_columns = take(key_, key_codec_, keys);
  take(second_key_, second_key_codec_, keys);
  take(first_, first_codec_, firsts);
  take(second_, second_codec_, seconds);
  const auto has_null = [&](std::uint32_t row) {
    return std::ranges::any_of(nullable_keys_, [&](std::size_t k) { return key_columns[k]->is_null(row); });
  };
  result.has_null_key = std::ranges::any_of(nullable_keys_, [&](std::size_t k) { return key_columns[k]->has_nulls(); });
  if (result.has_null_key) {
    for (std::uint32_t row = 0; row < rows; ++row) {
      if (!has_null(row)) result.keep.push_back(row);
    }
  }
  return result;
}

}  // namespace freshet::compute
