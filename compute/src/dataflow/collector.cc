// SPDX-License-Identifier: Apache-2.0
#include "dataflow/collector.h"

#include <algorithm>

namespace freshet::compute {
namespace {

using Frontier = timely::Antichain<repr::SqlTime>;
using Run = differential::Run<std::string, std::string, repr::SqlTime, repr::Diff>;

storage_api::EncodedUpdates read(Run run, repr::SqlTime lower) {
  using Batch = differential::RowBatch<repr::SqlTime>;
  storage_api::EncodedUpdates result;
  const Batch batch(Frontier{0}, Frontier{}, Frontier{0}, std::move(run));
  differential::BatchCursor<std::string, std::string, repr::SqlTime, repr::Diff> cursor(batch);
  for (; cursor.key_valid(); cursor.step_key()) {
    for (; cursor.val_valid(); cursor.step_val()) {
      // Times come in order: those moved to `lower` first.
      repr::Diff early = 0;
      cursor.map_times([&](const repr::SqlTime& time, const repr::Diff& diff) {
        if (time <= lower) {
          early += diff;
          return;
        }
        if (early != 0) result.push_back(cursor.key(), lower, std::exchange(early, 0));
        result.push_back(cursor.key(), time, diff);
      });
      if (early != 0) result.push_back(cursor.key(), lower, early);
    }
  }
  return result;
}

}  // namespace

storage_api::CollectionUpdates Collector::take(repr::SqlTime lower, repr::SqlTime upper) {
  const Frontier frontier = upper == repr::kClosed ? Frontier{} : Frontier{upper};
  std::optional<Run> oks;
  std::optional<Run> errs;
  state_.with([&](State& state) {
    oks = state.oks.seal(frontier);
    errs = state.errs.seal(frontier);
  });
  return {.oks = read(std::move(*oks), lower), .errs = read(std::move(*errs), lower)};
}

}  // namespace freshet::compute
