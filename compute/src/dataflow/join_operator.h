// SPDX-License-Identifier: Apache-2.0
/// The edge behind a join's kernel: matches as bytes, decoded and filtered a message at a time.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <timely/operator.h>

#include "dataflow/arrange_rows.h"

namespace freshet::compute {

/// Matches of one join: the key, and the values of both sides. Sides that nobody wants stay empty.
template <typename T>
struct Matches {
  repr::BytesVector keys{};
  repr::BytesVector firsts{};
  repr::BytesVector seconds{};
  std::vector<T> times{};
  std::vector<Diff> diffs{};
  [[nodiscard]] std::size_t size() const { return diffs.size(); }
};

/// What of a match is needed, and how it becomes a row: the first side's columns, then the second's.
class MatchLayout {
 public:
  /// Keys with a NULL match nothing unless `nulls_match`.
  MatchLayout(const expr::ArrangementLayout& first, const expr::ArrangementLayout& second, MfpStepPtr after,
              bool nulls_match = false);

  /// Called for each match, inline in the join.
  template <typename T>
  void emit(std::string_view key, std::string_view first, std::string_view second, const T& time, Diff diff,
            Matches<T>& out) const {
    if (!null_key_.empty() && key == null_key_) return;
    if (wants_key_) out.keys.push_back(key);
    if (wants_first_) out.firsts.push_back(first);
    if (wants_second_) out.seconds.push_back(second);
    out.times.push_back(time);
    out.diffs.push_back(diff);
  }

  [[nodiscard]] const MfpStep& after() const { return *after_; }
  struct Decoded {
    std::vector<repr::ColumnPtr> columns{};  ///< Of the joined rows; those not wanted are null.
    bool has_null_key = false;
    std::vector<std::uint32_t> keep{};       ///< If so: the rows whose key holds no NULL.
  };
  [[nodiscard]] Decoded decode(const repr::BytesVector& keys, const repr::BytesVector& firsts,
                               const repr::BytesVector& seconds, std::size_t rows) const;

 private:
  /// Positions of one side to decode, and where they go.
  struct Side {
    std::vector<std::size_t> positions{};  // ascending, each once
    std::vector<std::pair<std::size_t, std::size_t>> targets{};  // index into positions, joined column
    void want(std::size_t position) { positions.push_back(position); }
    [[nodiscard]] std::size_t index_of(std::size_t position) const;
    void sort();
  };

  MfpStepPtr after_;
  repr::RowCodec key_codec_;         // keys as the first side's types
  repr::RowCodec second_key_codec_;  // the same bytes can be another integer type there
  repr::RowCodec first_codec_;
  repr::RowCodec second_codec_;
  std::size_t arity_;
  Side key_;
  Side second_key_;
  Side first_;
  Side second_;
  std::vector<std::size_t> nullable_keys_{};  // indices into key_.positions
  std::string null_key_;  // of one column: what a NULL looks like
  bool wants_key_ = false;
  bool wants_first_ = false;
  bool wants_second_ = false;
};

template <typename T>
class MatchesToRows {
 public:
  explicit MatchesToRows(std::shared_ptr<const MatchLayout> layout) : layout_(std::move(layout)) {}
  void step(timely::Input<T, Matches<T>>& input, timely::Output<T, Rows<T>>& oks,
            timely::Output<T, ErrorUpdates<T>>& errs) {
    input.for_each([&](const timely::Capability<T>& at, Matches<T> matches) {
      TimesBuilder<T> times;
      for (std::size_t i = 0; i < matches.size(); ++i) times.push(matches.times[i], matches.diffs[i]);
      MatchLayout::Decoded decoded =
          layout_->decode(matches.keys, matches.firsts, matches.seconds, matches.size());
      Rows<T> rows = times.finish(std::move(decoded.columns));
      if (decoded.has_null_key) rows.chunk = gather_rows(rows.chunk, decoded.keep);
      ErrorUpdates<T> errors;
      Rows<T> result = layout_->after().apply(rows, errors);
      if (result.size() > 0) oks.give(at, std::move(result));
      if (!errors.empty()) errs.give(at, std::move(errors));
    });
  }

 private:
  std::shared_ptr<const MatchLayout> layout_;
};

}  // namespace freshet::compute
