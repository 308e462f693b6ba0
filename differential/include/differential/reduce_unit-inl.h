// SPDX-License-Identifier: Apache-2.0
/// Bodies of reduce_unit.h.
#pragma once

#include <differential/reduce_unit.h>
#include <differential/sort.h>

namespace differential {

template <typename Cursor, typename Map, typename V2, typename R2>
auto ReduceUnit<Cursor, Map, V2, R2>::take_due() -> DueKeys {
  DueKeys due;
  for (auto place = postponed_.begin(); place != postponed_.end();) {
    if (upper_.covers(place->first)) {
      ++place;
      continue;
    }
    for (auto& key : place->second) due.emplace_back(std::move(key), place->first);
    place = postponed_.erase(place);
  }
  std::sort(due.begin(), due.end(), [](const auto& a, const auto& b) {
    const int order = compare(ref_of(a.first), ref_of(b.first));
    return order != 0 ? order < 0 : a.second < b.second;
  });
  return due;
}

template <typename Cursor, typename Map, typename V2, typename R2>
template <typename Logic>
bool ReduceUnit<Cursor, Map, V2, R2>::work(Logic& logic, std::int64_t& fuel) {
  while (fresh_->key_valid() || due_at_ < due_.size()) {
    if (fuel <= 0) return false;
    const bool has_due = due_at_ < due_.size();
    const int order = !has_due ? -1
                      : !fresh_->key_valid() ? 1
                                             : compare(fresh_->key(), ref_of(due_[due_at_].first));
    const KeyRef key = order <= 0 ? fresh_->key() : ref_of(due_[due_at_].first);
    novel_.clear();
    if (order <= 0) {
      for (; fresh_->val_valid(); fresh_->step_val()) {
        fresh_->map_times([&](const auto& time, const R1&) {
          T seen = map_(time);
          if (novel_.empty() || !(novel_.back() == seen)) novel_.push_back(std::move(seen));
        });
      }
    }
    if (order >= 0) {
      for (; due_at_ < due_.size() && compare(ref_of(due_[due_at_].first), key) == 0; ++due_at_) {
        novel_.push_back(due_[due_at_].second);
      }
    }
    fuel -= 1 + static_cast<std::int64_t>(novel_.size());
    if (novel_.size() > 1) {
      std::sort(novel_.begin(), novel_.end());
      novel_.erase(std::unique(novel_.begin(), novel_.end()), novel_.end());
    }
    at_input_ = input_->seek_exactly(key);
    at_output_ = output_->seek_exactly(key);
    produced_.clear();
    if constexpr (timely::TotalOrder<T>) {
      evaluate_total(key, logic, fuel);
    } else {
      evaluate_partial(key, logic, fuel);
    }
    write_key(key);
    if (order <= 0) fresh_->step_key();
  }
  return true;
}

template <typename Cursor, typename Map, typename V2, typename R2>
template <typename Logic>
void ReduceUnit<Cursor, Map, V2, R2>::evaluate_total(const KeyRef& key, Logic& logic,
                                                     std::int64_t& fuel) {
  for (const T& time : novel_) {
    --fuel;
    evaluate_at(key, time, logic);
  }
}

// Every join of a novel time with times of the key's history, those found on the way included, in an
// order that extends the partial one.
template <typename Cursor, typename Map, typename V2, typename R2>
template <typename Logic>
void ReduceUnit<Cursor, Map, V2, R2>::evaluate_partial(const KeyRef& key, Logic& logic,
                                                       std::int64_t& fuel) {
  T meet = novel_[0];
  for (const T& time : novel_) meet = timely::meet(meet, time);
  known_.clear();
  collect_times(known_, meet, fuel);
  todo_ = novel_;
  for (std::size_t at = 0; at < todo_.size(); ++at) {
    const T time = todo_[at];  // todo_ stays sorted behind `at`
    --fuel;
    if (upper_.covers(time)) {
      // Its joins with other times are found again when it is due.
      postponed_[time].push_back(Column<K>::own(key));
      continue;
    }
    const std::size_t before = produced_.size();
    evaluate_at(key, time, logic);
    if (produced_.size() != before) known_.push_back(time);
    const auto add = [&](const T& other) {
      T joined = timely::join(time, other);
      if (joined == time) return;
      auto place = std::lower_bound(todo_.begin() + static_cast<std::ptrdiff_t>(at) + 1, todo_.end(), joined);
      if (place == todo_.end() || !(*place == joined)) todo_.insert(place, std::move(joined));
    };
    for (const T& other : known_) add(other);
    // With the other novel times and all times found so far.
    for (std::size_t i = 0; i < todo_.size(); ++i) add(T(todo_[i]));
  }
}

// The distinct times of the key's input and output, advanced to `meet`.
template <typename Cursor, typename Map, typename V2, typename R2>
void ReduceUnit<Cursor, Map, V2, R2>::collect_times(std::vector<T>& times, const T& meet,
                                                    std::int64_t& fuel) {
  const auto note = [&](const T& time) {
    T moved = timely::join(time, meet);
    if (times.empty() || !(times.back() == moved)) times.push_back(std::move(moved));
    --fuel;
  };
  if (at_input_) {
    for (input_->rewind_vals(); input_->val_valid(); input_->step_val()) {
      input_->map_times([&](const auto& time, const R1&) { note(map_(time)); });
    }
  }
  if (at_output_) {
    for (output_->rewind_vals(); output_->val_valid(); output_->step_val()) {
      output_->map_times([&](const T& time, const R2&) { note(time); });
    }
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
}

// Output at `time` := what the logic wants; `produced_` gets the difference to what is there.
template <typename Cursor, typename Map, typename V2, typename R2>
template <typename Logic>
void ReduceUnit<Cursor, Map, V2, R2>::evaluate_at(const KeyRef& key, const T& time, Logic& logic) {
  desired_.clear();
  if (at_input_) {
    LazyGroup<Cursor, Map> group(*input_, map_, time);
    if (group.valid()) logic(key, group, desired_);
  }
  // What is there already counts negative: the trace's, then what this interval produced before.
  if (at_output_) {
    for (output_->rewind_vals(); output_->val_valid(); output_->step_val()) {
      R2 sum{};
      output_->map_times([&](const T& t, const R2& diff) {
        if (timely::less_equal(t, time)) add_to(sum, diff);
      });
      if (!is_zero(sum)) desired_.push(output_->val(), negated(sum));
    }
  }
  for (std::size_t i = 0; i < produced_.size(); ++i) {
    if (timely::less_equal(produced_.times[i], time)) {
      desired_.push(produced_.vals[i], negated(produced_.diffs[i]));
    }
  }
  const std::size_t size = desired_.size();
  if (size == 0) return;
  order_.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) order_[i] = i;
  const auto vals = desired_.vals().view();
  detail::sort_rows(order_, [&](std::uint32_t a, std::uint32_t b) {
    const int order = compare(vals[a], vals[b]);
    return order != 0 ? order < 0 : a < b;
  });
  for (std::size_t i = 0; i < size;) {
    R2 sum = desired_.diffs()[order_[i]];
    std::size_t j = i + 1;
    for (; j < size && compare(vals[order_[i]], vals[order_[j]]) == 0; ++j) {
      add_to(sum, desired_.diffs()[order_[j]]);
    }
    if (!is_zero(sum)) {
      produced_.vals.push(vals[order_[i]]);
      produced_.times.push(time);
      produced_.diffs.push_back(sum);
    }
    i = j;
  }
}

template <typename Cursor, typename Map, typename V2, typename R2>
void ReduceUnit<Cursor, Map, V2, R2>::write_key(const KeyRef& key) {
  const std::size_t size = produced_.size();
  if (size == 0) return;
  order_.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) order_[i] = i;
  const auto vals = produced_.vals.view();
  if (!produced_.times.uniform()) {  // else they are sorted by value already
    detail::sort_rows(order_, [&](std::uint32_t a, std::uint32_t b) {
      const int order = compare(vals[a], vals[b]);
      if (order != 0) return order < 0;
      return produced_.times[a] < produced_.times[b];
    });
  }
  builder_.key(key);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t at = order_[i];
    if (i == 0 || compare(vals[order_[i - 1]], vals[at]) != 0) builder_.val(vals[at]);
    builder_.update(produced_.times[at], produced_.diffs[at]);
  }
}

}  // namespace differential
