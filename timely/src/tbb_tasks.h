// SPDX-License-Identifier: Apache-2.0
/// What the executor hands to TBB: tasks that hold one pointer and then pass a gate.
///
/// The installed TBB is not built for ThreadSanitizer, which so does not see that a task starts
/// after it was made. Reading the task and its gate are therefore suppressed there (tools/tsan.supp
/// names this file); the gate itself is an acquire that it does see, so everything after it is
/// checked.
#pragma once

#include <cstddef>
#include <cstdint>

#include <timely/executor.h>

namespace timely {

/// Orders what one thread did before `open` before what others do after `pass`.
class Gate {
 public:
  void open() { __atomic_store_n(&word_, 1, __ATOMIC_RELEASE); }
  void pass() { (void)__atomic_load_n(&word_, __ATOMIC_ACQUIRE); }
  /// Adds, so that whoever reads the sum has what all adders did before.
  void add(std::uint32_t n) { __atomic_fetch_add(&word_, n, __ATOMIC_ACQ_REL); }
  [[nodiscard]] std::uint32_t sum() { return __atomic_load_n(&word_, __ATOMIC_ACQUIRE) - 1; }

 private:
  std::uint32_t word_ = 0;
};

template <typename Owner, void (Owner::*kMethod)()>
struct OwnerTask {
  Owner* owner;
  void operator()() const {
    owner->gate().pass();
    (owner->*kMethod)();
  }
};

/// Pieces that several threads take one by one.
struct Fork {
  FunctionRef<void(std::size_t)> body;
  std::size_t count;
  std::size_t next = 0;
  Gate gate{};
};

struct ForkTask {
  Fork* fork;
  void operator()() const {
    fork->gate.pass();
    std::uint32_t done = 0;
    while (true) {
      const std::size_t piece = __atomic_fetch_add(&fork->next, 1, __ATOMIC_RELAXED);
      if (piece >= fork->count) break;
      fork->body(piece);
      ++done;
    }
    fork->gate.add(done);
  }
};

}  // namespace timely
