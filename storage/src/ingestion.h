// SPDX-License-Identifier: Apache-2.0
/// `Ingestion`: runs one generator and commits what it makes, with its progress, to one write group.
///
/// The progress collection holds how many ticks the outputs contain, in the same commits, so a restart
/// goes on exactly there. The first load has the time at which the source was made; later ticks have the
/// wall clock, never below what readers were promised.
#pragma once

#include <memory>

#include <freshet/base/log.h>

#include "generator.h"
#include "write_group.h"

namespace freshet::storage {

struct IngestionConfig {
  GlobalId id;  ///< Also the progress collection.
  storage_api::LoadGenerator generator;
  std::vector<GlobalId> outputs;
  SqlTime floor = 0;
};

class Ingestion {
 public:
  /// `transient`: it is tried again.
  using OnFailure = std::function<void(GlobalId, Error, bool transient)>;
  Ingestion(base::Scheduler& scheduler, base::Logger& log, std::shared_ptr<WriteGroup> group,
            IngestionConfig config, OnFailure on_failure);
  /// Stops; a commit under way may still happen.
  ~Ingestion();
  Ingestion(const Ingestion&) = delete;
  Ingestion& operator=(const Ingestion&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace freshet::storage
