// SPDX-License-Identifier: Apache-2.0
/// Aggregates: what a group keeps, and what it shows.
///
/// The state of all accumulable aggregates of one group is an `AccumulatorSet`: a point of a free abelian
/// group, so it serves as the diff of an arrangement. It is a sorted list of (coordinate, 128-bit amount)
/// without zeros: counts, integer sums, decimal sums by scale, and floating sums as exact multiples of
/// 2^-1074 in 64-bit places. So sums are exact, independent of order, and retract without a trace.
///
///     Accumulators sums({{sum_int8, {SqlType(kInt8), false}}});
///     AccumulatorSet state;
///     sums.accumulate({{column}}, groups, diffs, {&state, 1});     // rows enter and leave
///     Datum total = FRESHET_TRY(sums.finish(state, 0));
///
/// Amounts wrap at 128 bits: a total is right if it fits, whatever was added on the way.
/// Cost: adding two sets with the same coordinates is one pass; up to two coordinates need no heap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/expr/functions.h>
#include <freshet/repr/chunk.h>
#include <freshet/repr/numeric.h>
#include <freshet/repr/time.h>
#include <freshet/repr/types.h>

namespace freshet::expr {

class AccumulatorSet {
 public:
  struct Entry {
    std::uint64_t coordinate;
    std::uint64_t low;
    std::uint64_t high;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  AccumulatorSet() = default;
  AccumulatorSet(const AccumulatorSet& other);
  AccumulatorSet(AccumulatorSet&& other) noexcept;
  AccumulatorSet& operator=(const AccumulatorSet& other);
  AccumulatorSet& operator=(AccumulatorSet&& other) noexcept;
  ~AccumulatorSet();

  /// The number of rows of the group; a group with none and no entries does not exist.
  [[nodiscard]] std::int64_t records() const { return records_; }
  void add_records(std::int64_t count);
  [[nodiscard]] bool is_zero() const { return records_ == 0 && size_ == 0; }
  [[nodiscard]] std::span<const Entry> entries() const { return {data(), size_}; }
  /// Adds to one coordinate.
  void add(std::uint64_t coordinate, repr::Int128 amount);
  /// The amount at a coordinate; zero if it has none.
  [[nodiscard]] repr::Int128 at(std::uint64_t coordinate) const;

  AccumulatorSet& operator+=(const AccumulatorSet& other);
  AccumulatorSet operator-() const { return *this * -1; }
  AccumulatorSet operator*(std::int64_t factor) const;
  friend bool operator==(const AccumulatorSet& a, const AccumulatorSet& b);

  /// A compact, self-delimiting form; equal sets have equal bytes.
  void encode(std::string& out) const;
  /// Takes one set from the front of `bytes`. kCorrupt if it is none.
  static Result<AccumulatorSet> decode(std::string_view& bytes);
  /// What it holds beyond its own size.
  [[nodiscard]] std::size_t heap_bytes() const { return capacity_ > kInline ? capacity_ * sizeof(Entry) : 0; }

 private:
  static constexpr std::uint32_t kInline = 2;
  [[nodiscard]] const Entry* data() const { return capacity_ > kInline ? heap_ : inline_; }
  [[nodiscard]] Entry* data() { return capacity_ > kInline ? heap_ : inline_; }
  void reserve(std::uint32_t capacity);
  void merge(const AccumulatorSet& other);
  void drop_zeros();
  void assign(const AccumulatorSet& other);
  void take(AccumulatorSet& other) noexcept;

  std::int64_t records_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInline;
  union {
    Entry inline_[kInline];
    Entry* heap_;
  };
};

/// The accumulable aggregates of one Reduce, made ready once.
class Accumulators {
 public:
  struct Call {
    const AggregateSpec* spec;
    /// Of the argument; unused for count(*). Nullable too if a filter or DISTINCT may hide rows from it.
    repr::ColumnType argument{};
  };
  explicit Accumulators(std::vector<Call> calls);
  [[nodiscard]] std::span<const Call> calls() const { return calls_; }

  struct Input {
    repr::ColumnPtr argument{};  ///< Null for count(*).
    repr::ColumnPtr filter{};    ///< Rows for which it is not true do not count; null: all count.
    bool skip = false;           ///< Leave this aggregate alone.
  };
  /// Adds row i, `diffs[i]` times (empty: once), to `into[groups[i]]`. One input for each call. With
  /// `count_records` the rows also count as the group's.
  void accumulate(std::span<const Input> inputs, std::span<const std::uint32_t> groups,
                  std::span<const repr::Diff> diffs, std::span<AccumulatorSet> into,
                  bool count_records = true) const;
  /// The value of aggregate `index`. Fails on overflow, and with XX000 if multiplicities are impossible.
  [[nodiscard]] Result<repr::Datum> finish(const AccumulatorSet& set, std::size_t index) const;

 private:
  std::vector<Call> calls_;
};

/// min, max, string_agg and array_agg: sees the rows of a group in order (for min and max: in the order
/// of the argument) and gives the value.
class OrderedAggregate {
 public:
  OrderedAggregate(const AggregateSpec& spec, std::vector<repr::SqlType> types);
  /// `count` copies of a row of arguments. Returns true if no later row can change the result.
  bool add(const repr::DatumRow& arguments, repr::Diff count = 1);
  /// NULL if there was nothing; XX000 if a count was negative, 54000 if the value is larger than values may be.
  [[nodiscard]] Result<repr::Datum> finish();

 private:
  bool add_text(const repr::DatumRow& arguments, std::uint64_t count);
  bool add_element(const repr::Datum& element, std::uint64_t count);

  const AggregateSpec& spec_;
  std::vector<repr::SqlType> types_;
  bool any_ = false;
  bool negative_ = false;
  std::string text_{};
  repr::Datum value_{};
  std::vector<repr::Datum> elements_{};
  std::size_t bytes_ = 0;  // of the elements
  std::optional<Error> error_{};
};

}  // namespace freshet::expr
