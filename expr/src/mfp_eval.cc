// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <freshet/expr/eval.h>

#include "evaluator.h"
#include "value_size.h"

namespace freshet::expr {
namespace {

using repr::ColumnPtr;
using repr::Numeric;
using repr::SqlTime;

// Marks the columns that `scalar` reads, through the expressions of the mfp.
void mark(const Mfp& mfp, const Scalar& scalar, std::vector<bool>& needed) {
  for (const std::size_t index : scalar.columns()) {
    if (needed[index]) continue;
    needed[index] = true;
    if (index >= mfp.input_arity) mark(mfp, mfp.expressions[index - mfp.input_arity], needed);
  }
}

// The first time, in microseconds, at or after a bound in milliseconds. Nothing: never.
std::optional<SqlTime> time_of_bound(const Numeric& milliseconds) {
  if (milliseconds.is_nan()) return std::nullopt;
  if (milliseconds.is_negative()) return SqlTime{0};
  if (milliseconds.is_infinite()) return std::nullopt;
  const auto micros = milliseconds.multiply(Numeric(1000));
  if (!micros.has_value()) return std::nullopt;
  repr::Int128 value = 0;
  int scale = 0;
  if (!micros->ceil().as_parts(value, scale) || value >= static_cast<repr::Int128>(repr::kClosed)) {
    return std::nullopt;
  }
  return static_cast<SqlTime>(value);
}

// One application: a working set of rows that shrinks as predicates drop them.
class Application {
 public:
  Application(const Mfp& mfp, const repr::Chunk& chunk, const std::vector<std::vector<bool>>& needed)
      : mfp_(mfp), chunk_(chunk), needed_(needed), rows_(chunk.rows),
        columns_(mfp.input_arity + mfp.expressions.size()), errors_(columns_.size()),
        live_(chunk.rows, 1), live_count_(chunk.rows) {
    for (std::size_t i = 0; i < mfp.input_arity; ++i) columns_[i] = chunk.columns[i];
  }

  void filter() {
    for (step_ = 0; step_ < mfp_.predicates.size(); ++step_) {
      if (live_count_ == 0) break;
      if (live_count_ * 2 <= rows_) compact();
      apply_predicate(mfp_.predicates[step_]);
    }
    if (live_count_ < rows_) compact();
  }

  void compute_output() {
    for (const std::size_t index : mfp_.projection) {
      compute(index);
      output_errors_.merge(errors_[index]);
    }
  }

  MfpOutput finish(SqlTime until) {
    if (mfp_.is_temporal()) return finish_temporal(until);
    MfpOutput out;
    const std::vector<std::uint32_t> good = split(out);
    const bool all = good.size() == chunk_.rows;
    std::vector<std::uint32_t> origin;
    if (!all) {
      for (const std::uint32_t row : good) origin.push_back(origin_of(row));
    }
    out.rows.rows = good.size();
    gather_columns(out.rows, good);
    out.rows.times = all ? chunk_.times : chunk_.times.gather(origin);
    if (!chunk_.diffs.empty()) {
      if (all) {
        out.rows.diffs = chunk_.diffs;
      } else {
        for (const std::uint32_t row : origin) out.rows.diffs.push_back(chunk_.diffs[row]);
      }
    }
    return out;
  }

 private:
  [[nodiscard]] std::uint32_t origin_of(std::uint32_t row) const {
    return origin_.empty() ? row : origin_[row];
  }

  // Makes sure that column `index` is there for the working set.
  void compute(std::size_t index) {
    if (index < mfp_.input_arity || columns_[index] != nullptr) return;
    const Scalar& expression = mfp_.expressions[index - mfp_.input_arity];
    Operand value = spread(run(expression), rows_);
    columns_[index] = std::move(value.column);
    errors_[index] = std::move(value.errors);
  }

  Operand run(const Scalar& scalar) {
    std::vector<Source> sources(columns_.size());
    for (const std::size_t index : scalar.columns()) {
      compute(index);
      sources[index] = {columns_[index], errors_[index].empty() ? nullptr : &errors_[index]};
    }
    return evaluate_operand(scalar, sources, rows_);
  }

  void apply_predicate(const Scalar& predicate) {
    const Operand truth = run(predicate);
    const auto& values = truth.column->values<std::vector<std::uint8_t>>();
    std::size_t live = 0;
    if (truth.errors.empty() && !truth.constant && !truth.column->has_nulls()) {
      for (std::size_t row = 0; row < rows_; ++row) {
        live_[row] &= values[row];
        live += live_[row];
      }
    } else {
      RowErrors found;
      for (std::uint32_t row = 0; row < rows_; ++row) {
        if (live_[row] == 0) continue;
        if (const Error* error = truth.errors.empty() ? nullptr : truth.error(row)) {
          found.entries.push_back({row, *error});
        } else if (truth.is_null(row) || values[truth.at(row)] == 0) {
          live_[row] = 0;
          continue;
        }
        ++live;
      }
      pending_.merge(found);
    }
    live_count_ = live;
  }

  // Drops dead rows from the working set.
  void compact() {
    std::vector<std::uint32_t> keep;
    keep.reserve(live_count_);
    for (std::uint32_t row = 0; row < rows_; ++row) {
      if (live_[row] != 0) keep.push_back(row);
    }
    const std::vector<bool>& needed = needed_[step_];
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] == nullptr) continue;
      if (!needed[i]) {
        columns_[i] = nullptr;
        continue;
      }
      columns_[i] = repr::gather(*columns_[i], keep);
      if (!errors_[i].empty()) errors_[i] = gather_errors(errors_[i], keep);
    }
    if (!pending_.empty()) pending_ = gather_errors(pending_, keep);
    std::vector<std::uint32_t> origin(keep.size());
    for (std::size_t i = 0; i < keep.size(); ++i) origin[i] = origin_of(keep[i]);
    origin_ = std::move(origin);
    rows_ = keep.size();
    live_.assign(rows_, 1);
    live_count_ = rows_;
  }

  // The rows without errors; the others go to the output's errors. A predicate's error counts before those of
  // the output.
  std::vector<std::uint32_t> split(MfpOutput& out) const {
    std::vector<std::uint32_t> good;
    if (pending_.empty() && output_errors_.empty()) {
      good.resize(rows_);
      std::iota(good.begin(), good.end(), 0U);
      return good;
    }
    for (std::uint32_t row = 0; row < rows_; ++row) {
      const Error* error = pending_.find(row);
      if (error == nullptr) error = output_errors_.find(row);
      if (error == nullptr) {
        good.push_back(row);
      } else {
        out.errors.push_back({origin_of(row), *error});
      }
    }
    return good;
  }

  void gather_columns(repr::Chunk& out, std::span<const std::uint32_t> rows) const {
    bool all = rows.size() == rows_;
    for (std::size_t i = 0; all && i < rows.size(); ++i) all = rows[i] == i;
    for (const std::size_t index : mfp_.projection) {
      const ColumnPtr& column = columns_[index];
      out.columns.push_back(all ? column : repr::gather(*column, rows));
    }
  }

  // When each row of the working set appears and vanishes.
  struct Window {
    std::vector<SqlTime> from;
    std::vector<SqlTime> to;  // kClosed: never
  };
  Window windows() {
    Window window{std::vector<SqlTime>(rows_, 0), std::vector<SqlTime>(rows_, repr::kClosed)};
    const auto apply = [&](const Scalar& bound, bool lower) {
      const Operand value = spread(run(bound), rows_);
      const auto& numbers = value.column->values<std::vector<Numeric>>();
      for (std::size_t row = 0; row < rows_; ++row) {
        if (!value.errors.empty() && value.error(row) != nullptr) continue;
        if (value.column->is_null(row)) {
          window.to[row] = 0;
          continue;
        }
        const auto time = time_of_bound(numbers[row]);
        if (lower) {
          window.from[row] = std::max(window.from[row], time.value_or(repr::kClosed));
        } else {
          window.to[row] = std::min(window.to[row], time.value_or(repr::kClosed));
        }
      }
      output_errors_.merge(value.errors);
    };
    for (const Scalar& bound : mfp_.lower_bounds) apply(bound, true);
    for (const Scalar& bound : mfp_.upper_bounds) apply(bound, false);
    return window;
  }

  MfpOutput finish_temporal(SqlTime until) {
    const Window window = windows();
    MfpOutput out;
    std::vector<std::uint32_t> rows;
    std::vector<SqlTime> times;
    for (const std::uint32_t row : split(out)) {
      const std::uint32_t origin = origin_of(row);
      const SqlTime appears = std::max(chunk_.times[origin], window.from[row]);
      const SqlTime vanishes = window.to[row];
      if (appears >= vanishes) continue;
      const repr::Diff diff = chunk_.diff(origin);
      for (const auto& [time, sign] : {std::pair{appears, 1}, std::pair{vanishes, -1}}) {
        if (time >= until || time == repr::kClosed) continue;
        rows.push_back(row);
        times.push_back(time);
        out.rows.diffs.push_back(sign * diff);
      }
    }
    out.rows.rows = rows.size();
    out.rows.times = repr::Times::from_values(times);
    gather_columns(out.rows, rows);
    return out;
  }

  const Mfp& mfp_;
  const repr::Chunk& chunk_;
  const std::vector<std::vector<bool>>& needed_;
  std::size_t rows_;
  std::vector<ColumnPtr> columns_;   // of the working set
  std::vector<RowErrors> errors_;    // of computed expressions
  std::vector<std::uint8_t> live_;
  std::size_t live_count_;
  std::vector<std::uint32_t> origin_{};  // rows of the chunk; empty: all of them
  RowErrors pending_{};                  // of predicates
  RowErrors output_errors_{};            // of output columns and bounds, once no row is dropped any more
  std::size_t step_ = 0;
};

// So often are rows that are too large together evaluated in halves.
constexpr std::size_t kHalvings = 4;

repr::Chunk part_of(const repr::Chunk& chunk, std::span<const std::uint32_t> rows) {
  repr::Chunk part;
  part.rows = rows.size();
  for (const ColumnPtr& column : chunk.columns) {
    part.columns.push_back(column == nullptr ? nullptr : repr::gather(*column, rows));
  }
  part.times = chunk.times.gather(rows);
  if (!chunk.diffs.empty()) {
    for (const std::uint32_t row : rows) part.diffs.push_back(chunk.diffs[row]);
  }
  return part;
}

// `more`, whose rows come `offset` rows later in the input, behind `out`.
void append(MfpOutput& out, MfpOutput more, std::size_t offset) {
  for (MfpOutput::Failed& failed : more.errors) {
    failed.input_row += static_cast<std::uint32_t>(offset);
    out.errors.push_back(std::move(failed));
  }
  for (std::size_t c = 0; c < out.rows.columns.size(); ++c) {
    out.rows.columns[c] = joined(out.rows.columns[c], more.rows.columns[c]);
  }
  std::vector<SqlTime> times;
  std::vector<repr::Diff> diffs;
  for (const repr::Chunk* chunk : {&out.rows, &more.rows}) {
    for (std::size_t row = 0; row < chunk->rows; ++row) {
      times.push_back(chunk->times[row]);
      diffs.push_back(chunk->diff(row));
    }
  }
  out.rows.rows += more.rows.rows;
  out.rows.times = repr::Times::from_values(times);
  out.rows.diffs = std::move(diffs);
}

}  // namespace

MfpEvaluator::MfpEvaluator(Mfp mfp, std::vector<repr::ColumnType> input_types)
    : mfp_(std::move(mfp)), input_types_(std::move(input_types)) {
  FRESHET_ASSERT(input_types_.size() == mfp_.input_arity, input_types_.size(), mfp_.input_arity);
  for (const std::size_t index : mfp_.projection) {
    output_types_.push_back(index < mfp_.input_arity
                                ? input_types_[index]
                                : mfp_.expressions[index - mfp_.input_arity].type());
  }
  // What the output and the predicates from each step on need; filled from the last step.
  const std::size_t steps = mfp_.predicates.size();
  needed_.resize(steps + 1, std::vector<bool>(mfp_.input_arity + mfp_.expressions.size()));
  for (std::size_t step = steps + 1; step-- > 0;) {
    std::vector<bool>& needed = needed_[step];
    if (step < steps) {
      needed = needed_[step + 1];
      mark(mfp_, mfp_.predicates[step], needed);
      continue;
    }
    for (const std::size_t index : mfp_.projection) {
      needed[index] = true;
      if (index >= mfp_.input_arity) {
        mark(mfp_, mfp_.expressions[index - mfp_.input_arity], needed);
      }
    }
    for (const Scalar& bound : mfp_.lower_bounds) mark(mfp_, bound, needed);
    for (const Scalar& bound : mfp_.upper_bounds) mark(mfp_, bound, needed);
  }
}

MfpOutput MfpEvaluator::apply(const repr::Chunk& chunk, repr::SqlTime until) const {
  FRESHET_ASSERT(chunk.columns.size() == mfp_.input_arity, chunk.columns.size(), mfp_.input_arity);
  const bool splits = std::all_of(mfp_.projection.begin(), mfp_.projection.end(), [&](std::size_t index) {
    return index < mfp_.input_arity || may_split(mfp_.expressions[index - mfp_.input_arity].type().type);
  });
  return apply_in_parts(chunk, until, splits ? kHalvings : 0);
}

MfpOutput MfpEvaluator::apply_in_parts(const repr::Chunk& chunk, repr::SqlTime until, std::size_t halvings) const {
  MfpOutput whole = [&] {
    Application application(mfp_, chunk, needed_);
    application.filter();
    application.compute_output();
    return application.finish(until);
  }();
  const auto too_large = [](const MfpOutput::Failed& failed) { return is_too_large(failed.error); };
  if (halvings == 0 || chunk.rows < 2 || std::none_of(whole.errors.begin(), whole.errors.end(), too_large)) return whole;
  std::vector<std::uint32_t> each(chunk.rows);
  std::iota(each.begin(), each.end(), 0U);
  const std::size_t half = chunk.rows / 2;
  MfpOutput first = apply_in_parts(part_of(chunk, std::span(each).first(half)), until, halvings - 1);
  MfpOutput second = apply_in_parts(part_of(chunk, std::span(each).subspan(half)), until, halvings - 1);
  append(first, std::move(second), half);
  return first;
}

}  // namespace freshet::expr
