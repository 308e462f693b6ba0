// SPDX-License-Identifier: Apache-2.0
/// What all sessions share.
#pragma once

#include <atomic>
#include <memory>

#include <freshet/adapter/adapter.h>
#include <freshet/base/guarded.h>

#include "catalog.h"
#include "committer.h"
#include "compute_client.h"
#include "holds.h"
#include "oracle.h"

namespace freshet::adapter {

class CatalogWriter;
class Dataflows;

/// The newest catalog snapshot.
class CatalogHolder {
 public:
  [[nodiscard]] CatalogPtr get() const {
    return current_.with([](const CatalogPtr& p) { return p; });
  }
  void set(CatalogPtr next) {
    current_.with([&](CatalogPtr& p) {
      p = std::move(next);
      version_.store(p->version(), std::memory_order_release);
    });
  }
  [[nodiscard]] std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint64_t> version_{0};
  base::Guarded<CatalogPtr> current_;
};

/// Made by `Adapter::start`; outlives every session.
struct Services {
  base::Scheduler& scheduler;
  storage_api::Storage& storage;
  base::Logger& log;
  AdapterConfig config;
  // Answers still owed hold sessions, which release holds and dataflows as they go: so these outlive them.
  std::unique_ptr<Holds> holds;
  std::vector<Hold> kept_history;  ///< What dataflows that were not started need when they are.
  std::unique_ptr<ComputeClient> compute;
  std::unique_ptr<Dataflows> dataflows;
  std::unique_ptr<Oracle> oracle;
  std::unique_ptr<Committer> committer;
  std::unique_ptr<CatalogWriter> catalog_writer;
  CatalogHolder catalog;
  /// What storage, compute and posted tasks reach these services through; empty once they go away.
  std::shared_ptr<base::Guarded<Services*>> gate = std::make_shared<base::Guarded<Services*>>();
  std::uint64_t started = 0;  ///< Wall clock in microseconds.
  std::atomic<std::uint64_t> next_transient{1};

  ~Services();

  GlobalId transient_id() {
    return {GlobalId::Kind::kTransient, next_transient.fetch_add(1, std::memory_order_relaxed)};
  }
};

}  // namespace freshet::adapter
