// SPDX-License-Identifier: Apache-2.0
/// Sums and counts by group, for totally ordered times.
///
/// The rows of a time are summed as they come; when the time is complete, each group that it touches
/// changes from its old row to its new one. Nothing is sorted and no row is kept, only one set of accumulators
/// per group.
///
/// Invariant: `pending_` has an entry for a time exactly while capabilities for it are held.
/// Cost: a row costs one lookup of its key and one addition per aggregate.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <freshet/expr/aggregate.h>
#include <timely/operator.h>

#include "dataflow/key_table.h"
#include "dataflow/row_layout.h"
#include "dataflow/rows.h"

namespace freshet::compute {

/// The accumulable part of a Reduce; shared by all workers.
struct AccumulatePlan {
  std::size_t key_arity;
  std::size_t output_arity;             ///< Of the whole Reduce, for its errors.
  ColumnTypes input_types;              ///< Keys, then arguments.
  ColumnTypes error_types;              ///< Of the whole Reduce.
  std::vector<expr::Aggregate> aggregates;
  [[nodiscard]] ColumnTypes key_types() const {
    return {input_types.begin(), input_types.begin() + static_cast<std::ptrdiff_t>(key_arity)};
  }
  [[nodiscard]] ColumnTypes output_types() const;
};

/// Sends rows to the worker that has their group.
struct RouteRows {
  std::shared_ptr<const KeyEncoder> keys;
  std::size_t key_arity;
};

class AccumulateOperator {
 public:
  explicit AccumulateOperator(std::shared_ptr<const AccumulatePlan> plan);
  void step(timely::Input<SqlTime, Rows<SqlTime>>& input, timely::Output<SqlTime, Rows<SqlTime>>& oks,
            timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs, timely::Context& context);
  /// Groups that are kept, those included that nothing is left of yet.
  [[nodiscard]] std::size_t groups() const { return groups_.size(); }

 private:
  /// How often each form of the key is there, ascending; only for keys whose types have forms.
  using Forms = std::map<std::string, Diff>;
  struct FormChange {
    std::uint32_t group;
    std::string form;
    Diff diff;
  };
  struct Pending {
    timely::Capability<SqlTime> oks_at;
    timely::Capability<SqlTime> errs_at;
    IdTable groups{};
    std::vector<expr::AccumulatorSet> sums{};
    std::vector<FormChange> forms{};  // sorted by group once the time is complete
    std::size_t done = 0;             // groups already put out
  };
  /// What a group shows: nothing, a row, or an error.
  struct Shown {
    std::string key_row{};
    std::vector<repr::Datum> values{};
    std::optional<Error> error{};
    bool there = false;
  };

  void take(const timely::Capability<SqlTime>& at, const Rows<SqlTime>& rows);
  void add(Pending& pending, const repr::Chunk& chunk, std::span<const std::uint32_t> groups,
           const repr::BytesVector* key_rows);
  Pending& pending_at(const timely::Capability<SqlTime>& at, SqlTime time);
  bool finish(SqlTime time, Pending& pending, timely::Output<SqlTime, Rows<SqlTime>>& oks,
              timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs, timely::Context& context);
  void flush(Pending& pending, timely::Output<SqlTime, Rows<SqlTime>>& oks,
             timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs);
  void move_forms(Pending& pending, std::uint32_t group);
  [[nodiscard]] Shown show(std::uint32_t group) const;
  /// Nothing is left of the group, its forms included.
  [[nodiscard]] bool is_dead(std::uint32_t group) const {
    return totals_[group].is_zero() && (forms_.empty() || forms_[group].empty());
  }
  void emit(const Shown& shown, SqlTime time, Diff diff);
  void forget_dead();

  std::shared_ptr<const AccumulatePlan> plan_;
  expr::Accumulators accumulators_;
  KeyEncoder key_encoder_;
  repr::RowCodec key_codec_;
  std::vector<std::size_t> key_columns_;
  repr::RowDecoder key_decoder_;

  KeyTable groups_;
  std::vector<expr::AccumulatorSet> totals_;
  std::vector<Forms> forms_;
  std::size_t dead_ = 0;
  std::map<SqlTime, Pending> pending_;

  // The message being built.
  std::vector<repr::ColumnBuilder> values_;
  TimesBuilder<SqlTime> times_;
  ErrorUpdates<SqlTime> errors_;
};

}  // namespace freshet::compute

template <typename T>
struct timely::MessageTraits<freshet::compute::Rows<T>> {
  using Rows = freshet::compute::Rows<T>;
  static std::size_t size(const Rows& rows) { return rows.size(); }
  static Rows copy(const Rows& rows) { return rows; }
  static void partition(Rows&& rows, freshet::compute::RouteRows& route, std::span<Rows> parts) {
    if (parts.size() == 1) {
      parts[0] = std::move(rows);
      return;
    }
    freshet::repr::BytesVector keys;
    route.keys->encode(std::span(rows.chunk.columns).first(route.key_arity), rows.size(), keys);
    std::vector<std::vector<std::uint32_t>> chosen(parts.size());
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      chosen[freshet::repr::hash_key(keys[i]) % parts.size()].push_back(i);
    }
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (!chosen[p].empty()) parts[p] = rows.with(freshet::compute::gather_rows(rows.chunk, chosen[p]));
    }
  }
};
