// SPDX-License-Identifier: Apache-2.0
// A simulated process with a persist client, for tests: everything waits on the simulation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <freshet/persist/client.h>
#include <testing/sim_scheduler.h>

namespace freshet::persist {

/// Fails the test by assertion when persist reports corruption or loss.
class StrictLogger final : public base::Logger {
 public:
  void write(base::LogLevel level, std::string_view message, Fields fields) override {
    if (level < base::LogLevel::kError) return;
    ++errors;
    last = message;
    for (const auto& field : fields) last += " " + std::string(field.key) + "=" + field.value;
  }
  int errors = 0;
  std::string last;
};

/// One process: a scheduler that can be killed, and a client on it.
class SimClient {
 public:
  SimClient(::testing::SimScheduler& sim, Blob& blob, Consensus& consensus, ClientOptions options)
      : SimClient(sim, sim.new_process(), blob, consensus, options) {}
  SimClient(::testing::SimScheduler& sim, ::testing::SimScheduler::Process& process, Blob& blob,
            Consensus& consensus, ClientOptions options)
      : sim_(sim),
        process_(process),
        client_(std::make_unique<PersistClient>(
            Environment{process_, blob, consensus, log, metrics_}, options)) {}
  ~SimClient() { kill(); }
  SimClient(const SimClient&) = delete;
  SimClient& operator=(const SimClient&) = delete;

  void kill() { process_.kill(); }
  ::testing::SimScheduler::Process& process() { return process_; }
  PersistClient& client() { return *client_; }

  template <typename T>
  Result<T> wait(base::Future<T> future) {
    return sim_.wait(std::move(future));
  }
  std::shared_ptr<Group> open(const std::string& name) { return wait(client_->open(name)).value(); }

  /// Reads to the end and adds up: the content as of `as_of`, or all changes.
  Result<Updates> read(Group& group, ReadOptions options) {
    auto reader = wait(group.read(options));
    if (!reader) return base::Unexpected(reader.error());
    Updates all;
    while (true) {
      auto chunk = wait((*reader)->next());
      if (!chunk) return base::Unexpected(chunk.error());
      all.append(*chunk->updates);
      if (chunk->done) break;
    }
    all.consolidate();
    return all;
  }
  Result<Updates> content(Group& group, ShardId shard, Time as_of,
                          ReadOrder order = ReadOrder::kAsStored) {
    return read(group, {.shard = shard, .as_of = as_of, .until = as_of + 1, .order = order});
  }

  StrictLogger log;

 private:
  ::testing::SimScheduler& sim_;
  ::testing::SimScheduler::Process& process_;
  base::Metrics metrics_;
  std::unique_ptr<PersistClient> client_;
};

inline Updates updates_of(std::initializer_list<std::tuple<std::string, Time, Diff>> list) {
  Updates updates;
  for (const auto& [row, time, diff] : list) updates.push(row, time, diff);
  updates.consolidate();
  return updates;
}

}  // namespace freshet::persist
