// SPDX-License-Identifier: Apache-2.0
/// Aggregates that read their group in order: min, max, string_agg, array_agg, distinct ones, and inside loops
/// all of them.
///
/// All share one arrangement by the group key. A value begins with the number of its section (2 bytes, big
/// endian): section 0 counts the rows of the group (by the forms of their keys), section i + 1 holds the
/// inputs of aggregate i in the order that it wants. Min and max read one value of theirs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/expr/aggregate.h>
#include <freshet/expr/order_encoder.h>
#include <timely/operator.h>

#include "dataflow/arrange_rows.h"
#include "dataflow/group_logic.h"

namespace freshet::compute {

class AggregateProgram {
 public:
  struct Options {
    std::size_t key_arity;
    std::size_t output_arity;  ///< Of the whole Reduce, for its errors.
    ColumnTypes input_types;   ///< Keys, then arguments.
    ColumnTypes error_types;   ///< Of the whole Reduce.
    std::vector<expr::Aggregate> aggregates;
    bool may_be_negative;
  };
  explicit AggregateProgram(Options options);

  [[nodiscard]] const ColumnTypes& output_types() const { return output_types_; }

  /// Keys and values of rows of the input types.
  template <typename T>
  [[nodiscard]] differential::RowUpdates<T> updates(const Rows<T>& rows) const {
    const Encoded encoded = encode(rows.chunk);
    differential::RowUpdates<T> result;
    for (std::size_t i = 0; i < encoded.values.size(); ++i) {
      const std::uint32_t row = encoded.rows[i];
      result.push(encoded.keys[row], encoded.values[i], rows.time(row), rows.chunk.diff(row));
    }
    return result;
  }

  template <typename Group, typename Output>
  void operator()(std::string_view key, Group& group, Output& output) const {
    Diff total = 0;
    std::string form;
    bool has_form = false;
    bool negative = false;
    for (; in_section(group, 0); group.step()) {
      total += group.diff();
      if (has_form || group.diff() <= 0) continue;
      form = group.val().substr(kPrefix);
      has_form = true;
    }
    if (total == 0) return;
    if (total < 0) return push_tagged(output, kErrorTag, error(key, expr::negative_multiplicity()), 1);
    std::vector<Result<repr::Datum>> values;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      group.seek(section_prefix(i + 1));
      Reading reading(*this, i);
      for (; in_section(group, i + 1); group.step()) {
        if (group.diff() < 0) negative = true;
        if (reading.take(group.val().substr(kPrefix), group.diff()) && !options_.may_be_negative) break;
      }
      values.push_back(reading.finish());
    }
    put_out(key, form, negative, std::move(values), [&](char tag, std::string_view bytes) {
      push_tagged(output, tag, bytes, 1);
    });
  }

 private:
  static constexpr std::size_t kPrefix = 2;

  enum class Kind : std::uint8_t { kExtremum, kOrdered, kAccumulable };
  struct Section {
    Kind kind;
    bool descending = false;  // max: values are complemented
    std::vector<std::size_t> columns{};  // of the arguments, in the input
    ColumnTypes types{};
    repr::RowCodec codec;
    std::vector<std::size_t> order_columns{};
    std::vector<expr::ColumnOrder> order{};
    std::optional<expr::OrderEncoder> order_encoder{};
  };
  struct Encoded {
    repr::BytesVector keys{};             // one a row
    repr::BytesVector values{};
    std::vector<std::uint32_t> rows{};    // of each value
  };
  /// The state of one aggregate while its section is read.
  class Reading {
   public:
    Reading(const AggregateProgram& program, std::size_t section);
    /// True if no later value can change the result.
    bool take(std::string_view value, Diff count);
    Result<repr::Datum> finish();

   private:
    [[nodiscard]] bool repeats(std::string_view value);
    const AggregateProgram& program_;
    const expr::Aggregate& aggregate_;
    const Section& section_;
    std::optional<expr::OrderedAggregate> ordered_;
    expr::AccumulatorSet sums_;
    std::string last_;
    bool has_last_ = false;
    std::vector<repr::DatumRow> rows_;
    std::vector<Diff> counts_;
  };

  template <typename Group>
  static bool in_section(const Group& group, std::size_t section) {
    if (!group.valid()) return false;
    const std::string_view value = group.val();
    return section_of(value) == section;
  }
  static std::size_t section_of(std::string_view value) {
    return static_cast<std::size_t>(static_cast<unsigned char>(value[0])) << 8 |
           static_cast<unsigned char>(value[1]);
  }
  static std::string section_prefix(std::size_t section) {
    return {static_cast<char>(section >> 8), static_cast<char>(section & 0xff)};
  }

  [[nodiscard]] Section make_section(const expr::Aggregate& aggregate) const;
  [[nodiscard]] Encoded encode(const repr::Chunk& chunk) const;
  void encode_section(std::size_t index, const repr::Chunk& chunk, Encoded& out) const;
  [[nodiscard]] std::string error(std::string_view key, Error error) const;
  void put_out(std::string_view key, std::string_view form, bool negative,
               std::vector<Result<repr::Datum>> values,
               const std::function<void(char, std::string_view)>& push) const;

  Options options_;
  ColumnTypes key_types_;
  ColumnTypes output_types_;
  repr::RowCodec key_codec_;
  repr::RowCodec output_codec_;
  std::vector<Section> sections_;
};

template <typename T>
class SectionRows {
 public:
  explicit SectionRows(std::shared_ptr<const AggregateProgram> program) : program_(std::move(program)) {}
  void step(timely::Input<T, Rows<T>>& input, timely::Output<T, differential::RowUpdates<T>>& output) {
    input.for_each([&](const timely::Capability<T>& at, Rows<T> rows) { output.give(at, program_->updates(rows)); });
  }

 private:
  std::shared_ptr<const AggregateProgram> program_;
};

}  // namespace freshet::compute
