// SPDX-License-Identifier: Apache-2.0
#include "dataflow/accumulate_operator.h"

#include <algorithm>

namespace freshet::compute {
namespace {

expr::Accumulators make_accumulators(const AccumulatePlan& plan) {
  std::vector<expr::Accumulators::Call> calls;
  for (const expr::Aggregate& aggregate : plan.aggregates) {
    expr::Accumulators::Call call{.spec = aggregate.spec};
    if (!aggregate.arguments.empty()) {
      call.argument = aggregate.arguments.front().type();
      if (aggregate.filter) call.argument.nullable = true;
    }
    calls.push_back(call);
  }
  return expr::Accumulators(std::move(calls));
}

std::size_t column_of(const expr::Scalar& scalar) {
  const auto* column = scalar.as<expr::Scalar::Column>();
  FRESHET_ASSERT(column != nullptr);
  return column->index;
}

std::vector<std::size_t> first_columns(std::size_t count) {
  std::vector<std::size_t> columns(count);
  for (std::size_t i = 0; i < count; ++i) columns[i] = i;
  return columns;
}

}  // namespace

ColumnTypes AccumulatePlan::output_types() const {
  ColumnTypes types = key_types();
  for (const expr::Aggregate& aggregate : aggregates) types.push_back(aggregate.type());
  return types;
}

AccumulateOperator::AccumulateOperator(std::shared_ptr<const AccumulatePlan> plan)
    : plan_(std::move(plan)),
      accumulators_(make_accumulators(*plan_)),
      key_encoder_(plan_->key_types()),
      key_codec_(sql_types(plan_->key_types())),
      key_columns_(first_columns(plan_->key_arity)),
      key_decoder_(key_codec_, key_columns_) {
  for (const expr::Aggregate& aggregate : plan_->aggregates) {
    values_.emplace_back(aggregate.type().type.physical());
  }
}

void AccumulateOperator::step(timely::Input<SqlTime, Rows<SqlTime>>& input,
                              timely::Output<SqlTime, Rows<SqlTime>>& oks,
                              timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs, timely::Context& context) {
  input.for_each([&](const timely::Capability<SqlTime>& at, Rows<SqlTime> rows) { take(at, rows); });
  while (!pending_.empty() && !input.frontier().covers(pending_.begin()->first)) {
    const auto first = pending_.begin();
    if (!finish(first->first, first->second, oks, errs, context)) return context.activate();
    pending_.erase(first);
  }
  forget_dead();
}

AccumulateOperator::Pending& AccumulateOperator::pending_at(const timely::Capability<SqlTime>& at, SqlTime time) {
  const auto found = pending_.find(time);
  if (found != pending_.end()) return found->second;
  return pending_.emplace(time, Pending{.oks_at = at.delayed(time, 0), .errs_at = at.delayed(time, 1)}).first->second;
}

void AccumulateOperator::take(const timely::Capability<SqlTime>& at, const Rows<SqlTime>& rows) {
  const auto keys = std::span(rows.chunk.columns).first(plan_->key_arity);
  repr::BytesVector encoded;
  const bool forms = key_codec_.has_forms();
  if (forms) {
    key_codec_.encode(keys, 0, rows.size(), encoded);
  } else {
    key_encoder_.encode(keys, rows.size(), encoded);
  }
  std::vector<std::uint32_t> groups(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) groups[i] = groups_.find_or_add(key_encoder_.of_row(encoded[i]));
  totals_.resize(groups_.size());
  if (forms) forms_.resize(groups_.size());
  if (rows.chunk.times.is_single()) {
    return add(pending_at(at, rows.time(0)), rows.chunk, groups, forms ? &encoded : nullptr);
  }
  std::map<SqlTime, std::vector<std::uint32_t>> by_time;
  for (std::uint32_t i = 0; i < rows.size(); ++i) by_time[rows.time(i)].push_back(i);
  for (const auto& [time, selected] : by_time) {
    std::vector<std::uint32_t> some_groups;
    repr::BytesVector some_rows;
    for (const std::uint32_t row : selected) {
      some_groups.push_back(groups[row]);
      if (forms) some_rows.push_back(encoded[row]);
    }
    add(pending_at(at, time), gather_rows(rows.chunk, selected), some_groups, forms ? &some_rows : nullptr);
  }
}

void AccumulateOperator::add(Pending& pending, const repr::Chunk& chunk, std::span<const std::uint32_t> groups,
                             const repr::BytesVector* key_rows) {
  std::vector<std::uint32_t> slots(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) slots[i] = pending.groups.find_or_add(groups[i]);
  pending.sums.resize(pending.groups.ids().size());
  std::vector<expr::Accumulators::Input> inputs;
  for (const expr::Aggregate& aggregate : plan_->aggregates) {
    expr::Accumulators::Input input;
    if (!aggregate.arguments.empty()) input.argument = chunk.columns[column_of(aggregate.arguments.front())];
    if (aggregate.filter) input.filter = chunk.columns[column_of(*aggregate.filter)];
    inputs.push_back(std::move(input));
  }
  accumulators_.accumulate(inputs, slots, chunk.diffs, pending.sums);
  if (key_rows == nullptr) return;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string_view row = (*key_rows)[i];
    pending.forms.push_back({groups[i], std::string(row.substr(key_encoder_.of_row(row).size())), chunk.diff(i)});
  }
}

// Old rows show the old forms, so a group's forms move between its old row and its new one.
void AccumulateOperator::move_forms(Pending& pending, std::uint32_t group) {
  auto change = std::ranges::lower_bound(pending.forms, group, {}, [](const FormChange& c) { return c.group; });
  for (; change != pending.forms.end() && change->group == group; ++change) {
    const auto entry = forms_[group].try_emplace(std::move(change->form), 0).first;
    entry->second += change->diff;
    if (entry->second == 0) forms_[group].erase(entry);
  }
}

// Puts out the changes of one complete time; false if its share of time was used up.
bool AccumulateOperator::finish(SqlTime time, Pending& pending, timely::Output<SqlTime, Rows<SqlTime>>& oks,
                                timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs, timely::Context& context) {
  if (pending.done == 0) std::ranges::sort(pending.forms, {}, [](const FormChange& c) { return c.group; });
  for (; pending.done < pending.sums.size(); ++pending.done) {
    if (times_.size() >= kChunkRows) {
      flush(pending, oks, errs);
      if (context.should_yield()) return false;
    }
    const std::uint32_t group = pending.groups.ids()[pending.done];
    const expr::AccumulatorSet& change = pending.sums[pending.done];
    // Without a change of its sums a group may still change the form that it shows.
    if (change.is_zero() && pending.forms.empty()) {
      if (is_dead(group)) ++dead_;  // it came and went within this time
      continue;
    }
    const Shown before = show(group);
    if (!pending.forms.empty()) move_forms(pending, group);
    totals_[group] += change;
    if (is_dead(group)) ++dead_;
    emit(before, time, -1);
    emit(show(group), time, +1);
  }
  flush(pending, oks, errs);
  return true;
}

AccumulateOperator::Shown AccumulateOperator::show(std::uint32_t group) const {
  Shown shown;
  const expr::AccumulatorSet& total = totals_[group];
  if (total.records() == 0) return shown;
  shown.there = true;
  shown.key_row = groups_.key(group);
  if (!forms_.empty() && total.records() > 0) {
    const auto first = std::ranges::find_if(forms_[group], [](const auto& form) { return form.second > 0; });
    if (first != forms_[group].end()) shown.key_row += first->first;
  }
  if (total.records() < 0) {
    shown.error = expr::negative_multiplicity();
    return shown;
  }
  for (std::size_t i = 0; i < plan_->aggregates.size(); ++i) {
    Result<repr::Datum> value = accumulators_.finish(total, i);
    if (!value) {
      if (!shown.error || expr::error_less(value.error(), *shown.error)) shown.error = value.error();
      continue;
    }
    shown.values.push_back(std::move(*value));
  }
  return shown;
}

void AccumulateOperator::emit(const Shown& shown, SqlTime time, Diff diff) {
  if (!shown.there) return;
  if (shown.error) {
    const repr::DatumRow key = key_codec_.decode_row(shown.key_row).value();
    const expr::PartialRow keys(key.begin(), key.end());
    const expr::ErrorRow row = expr::group_error(keys, plan_->output_arity, *shown.error);
    errors_.push_back({expr::encode_error_row(row, plan_->error_types), time, diff});
    return;
  }
  const Result<void> done = key_decoder_.append(shown.key_row);
  FRESHET_ASSERT(done.has_value());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i].append(shown.values[i], plan_->aggregates[i].type().type);
  }
  times_.push(time, diff);
}

void AccumulateOperator::flush(Pending& pending, timely::Output<SqlTime, Rows<SqlTime>>& oks,
                               timely::Output<SqlTime, ErrorUpdates<SqlTime>>& errs) {
  if (times_.size() > 0) {
    std::vector<repr::ColumnPtr> columns = key_decoder_.finish();
    for (repr::ColumnBuilder& value : values_) columns.push_back(value.finish());
    oks.give(pending.oks_at, times_.finish(std::move(columns)));
  }
  if (!errors_.empty()) errs.give(pending.errs_at, std::exchange(errors_, {}));
}

// Groups that are gone leave the table when they are many and no time refers to them.
void AccumulateOperator::forget_dead() {
  if (dead_ < 1024 || 2 * dead_ < totals_.size() || !pending_.empty()) return;
  KeyTable groups;
  std::vector<expr::AccumulatorSet> totals;
  std::vector<Forms> forms;
  for (std::uint32_t group = 0; group < totals_.size(); ++group) {
    if (is_dead(group)) continue;
    groups.find_or_add(groups_.key(group));
    totals.push_back(std::move(totals_[group]));
    if (!forms_.empty()) forms.push_back(std::move(forms_[group]));
  }
  groups_ = std::move(groups);
  totals_ = std::move(totals);
  forms_ = std::move(forms);
  dead_ = 0;
}

}  // namespace freshet::compute
