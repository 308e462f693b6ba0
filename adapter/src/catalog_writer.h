// SPDX-License-Identifier: Apache-2.0
/// `CatalogWriter`: one change of the catalog after another, each checked against the newest snapshot.
///
/// A change is computed on the writer's own strand, so its checks hold when it is committed; it becomes
/// visible to planning only when it is durable.
#pragma once

#include <memory>

#include "catalog.h"
#include "committer.h"

namespace freshet::adapter {

class CatalogHolder;

struct CommittedChange {
  CatalogPtr catalog;
  SqlTime time = 0;
};

/// What one statement does, decided against the newest snapshot.
struct PlannedChange {
  CatalogChange catalog{};
  /// Tables that come and go, and rows for them, in the same commit.
  TableWrite tables{};
  /// Begins once the change is durable; no statement sees the change before it has ended: what is seen can be used.
  /// Its error is the statement's, but does not undo the change.
  base::UniqueFunction<base::Future<base::Unit>(const CommittedChange& committed)> on_commit{};
};

class CatalogWriter {
 public:
  /// Decides; runs once, on the writer's strand. Its error is the statement's.
  using Decide = base::UniqueFunction<Result<PlannedChange>(const Catalog& newest)>;

  CatalogWriter(base::Scheduler& scheduler, CatalogHolder& holder, Committer& committer);
  ~CatalogWriter();
  CatalogWriter(const CatalogWriter&) = delete;
  CatalogWriter& operator=(const CatalogWriter&) = delete;

  base::Future<CommittedChange> change(Decide decide);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace freshet::adapter
