// SPDX-License-Identifier: Apache-2.0
/// Lookups in indexes by threads that know nothing of the dataflows: what of an index they may see.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include <freshet/base/guarded.h>
#include <freshet/compute_api/compute.h>

#include "dataflow/build_flow.h"

namespace freshet::compute {

struct PublishedIndex {
  explicit PublishedIndex(std::shared_ptr<const IndexTraces> t) : traces(std::move(t)) {}
  std::shared_ptr<const IndexTraces> traces;
  std::atomic<SqlTime> upper{0};      ///< Computed and published by every worker.
  std::atomic<bool> failed{false};
};

/// Thread safety: all methods.
class IndexDirectory {
 public:
  std::shared_ptr<PublishedIndex> add(expr::GlobalId id, std::shared_ptr<const IndexTraces> traces) {
    auto index = std::make_shared<PublishedIndex>(std::move(traces));
    indexes_.with([&](auto& all) { all.insert_or_assign(id, index); });
    return index;
  }
  void remove(expr::GlobalId id) {
    indexes_.with([&](auto& all) { return all.extract(id); });  // dies outside the lock
  }
  void clear() {
    indexes_.with([](auto& all) { return std::exchange(all, {}); });
  }
  std::shared_ptr<PublishedIndex> find(expr::GlobalId id) const {
    return indexes_.with([&](const auto& all) {
      const auto it = all.find(id);
      return it == all.end() ? nullptr : it->second;
    });
  }

 private:
  base::Guarded<std::map<expr::GlobalId, std::shared_ptr<PublishedIndex>>> indexes_;
};

/// Null if there is no such index.
std::unique_ptr<compute_api::Lookup> make_index_lookup(const std::shared_ptr<PublishedIndex>& index,
                                                       const expr::Mfp& mfp);

}  // namespace freshet::compute
