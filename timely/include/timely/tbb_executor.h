// SPDX-License-Identifier: Apache-2.0
/// Runs workers on threads: whole workers move between them, and callers that wait work too.
///
/// Ready workers stand in one list. A caller of `run_while` takes them from there and runs them on
/// its own thread; a further thread is woken only when about 10 us of work waits, because waking
/// one costs as much. If nobody runs workers, making one ready always wakes a thread. A caller
/// without work spins for a moment and then sleeps; any number may sleep. A sleeping caller runs
/// nothing of others: in the arena it could be made to wait for another caller inside its own wait,
/// and would not come back when its own is over.
#pragma once

#include <cstddef>
#include <memory>

#include <timely/executor.h>

namespace timely {

struct TbbOptions {
  /// How many threads run workers at most, callers included.
  std::size_t threads = 2;
};

std::unique_ptr<Executor> make_tbb_executor(TbbOptions options);

}  // namespace timely
