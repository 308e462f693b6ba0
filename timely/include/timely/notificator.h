// SPDX-License-Identifier: Apache-2.0
/// Hands capabilities back once no input can bring their times any more, earliest first.
///
/// Invariant: a time handed back is covered by none of the frontiers given, and no earlier pending
/// one is. Cost: total orders keep a heap, so a call costs what it hands back; partial orders look
/// at each pending time.
///
///     input.for_each([&](const auto& at, Batch batch) {
///       if (stash[at.time()].empty()) notificator.notify_at(at.retain());
///       append(stash[at.time()], std::move(batch));
///     });
///     notificator.for_each({&input.frontier()}, [&](timely::Capability<Time> done) {
///       output.give(done, std::exchange(stash[done.time()], {}));
///     });
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include <timely/capability.h>

namespace timely {

template <Timestamp T>
class Notificator {
 public:
  /// `capability` must be for one time.
  void notify_at(Capability<T> capability) {
    pending_.push_back(std::move(capability));
    if constexpr (TotalOrder<T>) std::ranges::push_heap(pending_, Later{});
  }

  /// Passes each capability whose time none of `frontiers` covers to `f(Capability<T>)`, in the
  /// total order. `f` may ask for further notifications.
  template <typename F>
  void for_each(std::initializer_list<const Antichain<T>*> frontiers, F f) {
    auto open = [&](const T& time) {
      return std::ranges::any_of(
          frontiers, [&](const Antichain<T>* frontier) { return frontier->covers(time); });
    };
    if constexpr (TotalOrder<T>) {
      while (!pending_.empty() && !open(pending_.front().time())) {
        std::ranges::pop_heap(pending_, Later{});
        Capability<T> done = std::move(pending_.back());
        pending_.pop_back();
        f(std::move(done));
      }
    } else {
      std::vector<Capability<T>> done;
      std::erase_if(pending_, [&](Capability<T>& capability) {
        if (open(capability.time())) return false;
        done.push_back(std::move(capability));
        return true;
      });
      std::ranges::sort(done, [](const auto& a, const auto& b) { return a.time() < b.time(); });
      for (Capability<T>& capability : done) f(std::move(capability));
    }
  }
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }

 private:
  struct Later {
    bool operator()(const Capability<T>& a, const Capability<T>& b) const {
      return b.time() < a.time();
    }
  };
  std::vector<Capability<T>> pending_;
};

}  // namespace timely
