// SPDX-License-Identifier: Apache-2.0
#include "naive/naive_input.h"

#include <algorithm>
#include <iterator>

namespace freshet::compute {

void NaiveInput::add(expr::Multiset& content, const Update& update) {
  auto& side = update.is_error ? content.errs : content.oks;
  const auto entry = side.try_emplace(update.row, 0).first;
  entry->second += update.diff;
  if (entry->second == 0) side.erase(entry);
}

void NaiveInput::apply(const storage_api::CollectionUpdates& updates) {
  const auto take = [this](const storage_api::EncodedUpdates& side, bool is_error) {
    for (std::size_t i = 0; i < side.size(); ++i) {
      Update update{is_error, std::string(side.rows[i]), side.diff(i)};
      if (side.time(i) <= since_) {
        add(base_, update);
      } else {
        later_[side.time(i)].push_back(std::move(update));
      }
    }
  };
  take(updates.oks, false);
  take(updates.errs, true);
}

expr::Multiset NaiveInput::at(repr::SqlTime time) const {
  FRESHET_ASSERT(since_ <= time, since_, time);
  FRESHET_ASSERT(time < upper_, time, upper_);
  expr::Multiset content = base_;
  for (auto step = later_.begin(); step != later_.end() && step->first <= time; ++step) {
    for (const Update& update : step->second) add(content, update);
  }
  return content;
}

std::vector<repr::SqlTime> NaiveInput::changes(repr::SqlTime after, repr::SqlTime before) const {
  std::vector<repr::SqlTime> times;
  for (auto step = later_.upper_bound(after); step != later_.end() && step->first < before; ++step) {
    times.push_back(step->first);
  }
  return times;
}

void NaiveInput::compact(repr::SqlTime since) {
  if (since <= since_ || upper_ == 0) return;
  // Never past what is complete: updates at upper - 1 are all here.
  since_ = std::max(since_, std::min(since, upper_ - 1));
  while (!later_.empty() && later_.begin()->first <= since_) {
    for (const Update& update : later_.begin()->second) add(base_, update);
    later_.erase(later_.begin());
  }
}

}  // namespace freshet::compute
