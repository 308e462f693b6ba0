// SPDX-License-Identifier: Apache-2.0
/// Where the workers of a dataflow put what its sink shall show, until its time is complete.
///
/// Holds the difference between what the dataflow wants and what the other side already has, summed.
/// Thread safety: all methods, from any thread.
#pragma once

#include <differential/bytes_instances.h>
#include <freshet/base/guarded.h>
#include <freshet/storage_api/storage.h>

namespace freshet::compute {

class Collector {
 public:
  using Updates = differential::RowUpdates<repr::SqlTime>;

  /// Keys are rows, values empty.
  void add_oks(Updates&& updates) {
    state_.with([&](State& state) { state.oks.push(std::move(updates)); });
  }
  void add_errs(Updates&& updates) {
    state_.with([&](State& state) { state.errs.push(std::move(updates)); });
  }
  /// What is there at times before `upper`, sorted by row; times before `lower` count as `lower`. Each update is
  /// taken once. kClosed takes all.
  storage_api::CollectionUpdates take(repr::SqlTime lower, repr::SqlTime upper);

 private:
  using Batcher = differential::Batcher<std::string, std::string, repr::SqlTime, repr::Diff>;
  struct State {
    Batcher oks = Batcher();
    Batcher errs = Batcher();
  };
  base::Guarded<State> state_;
};

}  // namespace freshet::compute
