// SPDX-License-Identifier: Apache-2.0
/// Read holds: who may still read an arrangement at which times.
///
/// All workers of an arrangement share one table. A hold at `t` keeps the arrangement readable at every
/// time at or after `t`; it must be acquired before the time to read at is chosen. The `since` is the
/// meet of all holds; it is published here before any merge uses it, and never goes back. When the last
/// hold is gone the since is the empty frontier: nobody can read any more.
///
/// Thread safety: all of it. Holds may be moved between threads.
///
///     std::optional<Hold<T>> hold = table.acquire({as_of});     // nothing if since is past it
///     hold->downgrade({as_of + 1});                             // dropping it releases
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <freshet/base/guarded.h>
#include <timely/mutable_antichain.h>

namespace differential {

namespace detail {
template <typename T>
struct HoldState {
  timely::MutableAntichain<T> holds;
  timely::Antichain<T> since = timely::Antichain<T>::minimum();

  void apply(const timely::Antichain<T>& at, std::int64_t diff) {
    for (const T& time : at.elements()) holds.update(time, diff);
  }
  void advance() {
    if (holds.frontier().empty()) {
      since.clear();
    } else if (!since.empty()) {
      since = timely::join(since, holds.frontier());
    }
  }
};
}  // namespace detail

template <typename T>
class Hold {
 public:
  using Frontier = timely::Antichain<T>;
  using Shared = freshet::base::Guarded<detail::HoldState<T>>;

  /// Made by `HoldTable`.
  Hold(std::shared_ptr<Shared> table, Frontier at) : table_(std::move(table)), at_(std::move(at)) {}
  Hold(Hold&& other) noexcept = default;
  Hold& operator=(Hold&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(at_, other.at_);
    return *this;
  }
  ~Hold() { release(); }

  [[nodiscard]] const Frontier& at() const { return at_; }

  /// Lets go of times before `to`. Joined with the present hold, so it never goes back. Downgrading to
  /// the empty frontier releases.
  void downgrade(const Frontier& to) {
    if (table_ == nullptr || to == at_) return;
    Frontier joined = timely::join(at_, to);
    if (joined == at_) return;
    table_->with([&](detail::HoldState<T>& state) {
      state.apply(joined, +1);
      state.apply(at_, -1);
      state.advance();
    });
    at_ = std::move(joined);
  }
  void release() {
    if (table_ == nullptr) return;
    table_->with([&](detail::HoldState<T>& state) {
      state.apply(at_, -1);
      state.advance();
    });
    table_.reset();
    at_.clear();
  }
  /// A second hold at the same times.
  [[nodiscard]] Hold clone() const {
    if (table_ != nullptr) {
      table_->with([&](detail::HoldState<T>& state) { state.apply(at_, +1); });
    }
    return Hold(table_, at_);
  }

 private:
  std::shared_ptr<Shared> table_;
  Frontier at_;
};

template <typename T>
class HoldTable {
 public:
  using Frontier = timely::Antichain<T>;

  HoldTable() : table_(std::make_shared<typename Hold<T>::Shared>()) {}

  /// A hold at `at`, or nothing if the since is not at or before it.
  [[nodiscard]] std::optional<Hold<T>> acquire(const Frontier& at) const {
    const bool granted = table_->with([&](detail::HoldState<T>& state) {
      if (at.empty() || !timely::less_equal(state.since, at)) return false;
      state.apply(at, +1);
      return true;
    });
    if (!granted) return std::nullopt;
    return Hold<T>(table_, at);
  }
  /// A hold at the since of this moment; nothing if there is no reader left.
  [[nodiscard]] std::optional<Hold<T>> acquire_since() const {
    Frontier at;
    table_->with([&](detail::HoldState<T>& state) {
      at = state.since;
      state.apply(at, +1);
    });
    if (at.empty()) return std::nullopt;
    return Hold<T>(table_, std::move(at));
  }
  /// The published since.
  [[nodiscard]] Frontier since() const {
    return table_->with([](const detail::HoldState<T>& state) { return state.since; });
  }

 private:
  std::shared_ptr<typename Hold<T>::Shared> table_;
};

}  // namespace differential
