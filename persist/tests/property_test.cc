// SPDX-License-Identifier: Apache-2.0
// Random operations of several processes on one group, with every fault that Blob and Consensus may
// show, against a plain model of a collection over time.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <set>

#include <freshet/persist/client.h>
#include <freshet/persist/faults.h>
#include <testing/random.h>

#include "world.h"

namespace freshet::persist {
namespace {

using ::testing::SimScheduler;

constexpr ShardId kShards[] = {ShardId{1}, ShardId{2}};

// The specification: every update ever committed, by shard. Content and changes are sums over it.
struct Model {
  struct Entry {
    std::string row;
    Time time = 0;
    Diff diff = 0;
  };
  std::map<ShardId, std::vector<Entry>> entries;
  Time upper = 0;

  using Content = std::map<std::pair<std::string, Time>, Diff>;
  [[nodiscard]] Content content(ShardId shard, Time as_of) const {
    Content sums;
    for (const Entry& e : at(shard)) {
      if (e.time <= as_of) sums[{e.row, as_of}] += e.diff;
    }
    std::erase_if(sums, [](const auto& entry) { return entry.second == 0; });
    return sums;
  }
  [[nodiscard]] Content changes(ShardId shard, Time after, Time before) const {
    Content sums;
    for (const Entry& e : at(shard)) {
      if (e.time > after && e.time < before) sums[{e.row, e.time}] += e.diff;
    }
    std::erase_if(sums, [](const auto& entry) { return entry.second == 0; });
    return sums;
  }
  [[nodiscard]] const std::vector<Entry>& at(ShardId shard) const {
    static const std::vector<Entry> kNone;
    const auto it = entries.find(shard);
    return it == entries.end() ? kNone : it->second;
  }
};

void add(Model::Content& sums, const Updates& updates) {
  for (std::size_t i = 0; i < updates.size(); ++i) {
    auto& sum = sums[{std::string(updates.row(i)), updates.time(i)}];
    sum += updates.diff(i);
    if (sum == 0) sums.erase({std::string(updates.row(i)), updates.time(i)});
  }
}

std::string to_text(const Model::Content& sums) {
  std::string text = "{";
  for (const auto& [key, diff] : sums) {
    text += " " + key.first + "@" + std::to_string(key.second) + "x" + std::to_string(diff);
  }
  return text + " }";
}

/// A process with its own faults in front of the shared Blob and Consensus.
struct Node {
  Node(SimScheduler& sim, Blob& blob_in, Consensus& consensus_in, std::uint64_t seed,
       bool exclusive)
      : process(sim.new_process()),
        faults(process, seed,
               {.refuse = 0.05,
                .lose_answer = 0.05,
                .lose_request = 0.03,
                .late = 0.03,
                .delay_max = std::chrono::microseconds(3000)}),
        blob(make_faulty_blob(faults, blob_in)),
        consensus(make_faulty_consensus(faults, consensus_in)),
        client(sim, process, *blob, *consensus,
               {.seed = seed,
                .exclusive = exclusive,
                .inline_bytes = seed % 3 * 40,
                .part_bytes = 600,
                .maintenance_delay = std::chrono::milliseconds(20),
                .merge_fan_in = 3,
                .rollup_versions = 7}) {}

  SimScheduler::Process& process;
  FaultControl faults;
  std::unique_ptr<Blob> blob;
  std::unique_ptr<Consensus> consensus;
  SimClient client;
  std::shared_ptr<Group> group;
  std::optional<Epoch> epoch;
};

/// A reader that is open for a while, and what it should have seen.
struct Watch {
  ShardId shard{};
  Time as_of = 0;
  std::unique_ptr<Reader> reader;
  Time upper = 0;
  Model::Content seen{};
};

class PropertyWorld {
 public:
  explicit PropertyWorld(std::uint64_t seed)
      : random_(seed),
        sim_(seed),
        blob_(make_memory_blob()),
        consensus_(make_memory_consensus()),
        exclusive_(seed % 2 == 0) {}

  std::string run() {
    start();
    for (int step = 0; step < 120 && failure_.empty(); ++step) act();
    if (failure_.empty()) finish();
    return failure_;
  }
  int commits = 0;
  int reads = 0;
  int mismatches = 0;
  int fenced = 0;
  std::uint64_t failures = 0;

 private:
  void act() {
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        write(*nodes_[random_.below(nodes_.size())]);
        break;
      case 5:
        snapshot(*nodes_[random_.below(nodes_.size())]);
        break;
      case 6:
        open_watch(*nodes_[random_.below(nodes_.size())]);
        break;
      case 7:
        advance_watch();
        break;
      case 8:
        downgrade();
        break;
      case 9:
        sim_.run_for(std::chrono::milliseconds(random_.below(60)));
        break;
      case 10:
        if (random_.one_in(4)) restart();
        break;
      default:
        if (random_.one_in(3)) take_over(*nodes_[random_.below(nodes_.size())]);
    }
  }

  Node& add_node() {
    nodes_.push_back(std::make_unique<Node>(sim_, *blob_, *consensus_, random_.next(), exclusive_));
    Node& node = *nodes_.back();
    for (int attempt = 0; node.group == nullptr; ++attempt) {
      auto opened = node.client.wait(node.client.client().open("g"));
      if (opened) node.group = *opened;
      if (attempt > 50) return failure_ = "cannot open", node;
    }
    return node;
  }

  void start() {
    Node& node = add_node();
    if (!exclusive_) add_node();
    take_over(node);
    for (int attempt = 0; attempt < 50; ++attempt) {
      Commit commit{.epoch = *node.epoch};
      for (const ShardId shard : kShards) commit.create.push_back({.shard = shard});
      const auto outcome = node.client.wait(node.group->commit(std::move(commit)));
      if (outcome) return;
    }
    failure_ = "cannot create";
  }

  void take_over(Node& node) {
    for (int attempt = 0; attempt < 50; ++attempt) {
      const auto epoch = node.client.wait(node.group->acquire_writer());
      if (!epoch) continue;
      if (*epoch <= newest_) failure_ = "an epoch came twice";
      node.epoch = newest_ = *epoch;
      return;
    }
    failure_ = "cannot take over";
  }

  // The updates go to Blob before anyone knows their time.
  bool upload_ahead(Node& node, Append& append) {
    auto builder = node.group->build_batch(append.shard, {.timeless = true, .first_part_bytes = 1 + random_.below(100)});
    auto added = builder->add(std::exchange(append.updates, {}));
    auto batch = node.client.wait(builder->finish());
    if (batch) {
      append.batches.push_back(std::move(batch).value());
    } else if (batch.error().code != ErrorCode::kUnavailable) {
      failure_ = batch.error().message;
    }
    return batch.has_value();
  }

  // A writer that was fenced must not get through, the newest must.
  void write(Node& node) {
    if (!node.epoch) return;
    const bool stale_lower = random_.one_in(8) && model_.upper > 0;
    const Time lower = stale_lower ? model_.upper - 1 : model_.upper;
    const Time upper = lower + random_.below(4);
    Commit commit{.epoch = *node.epoch};
    const bool ahead = upper > lower && random_.one_in(4);
    std::map<ShardId, std::vector<Model::Entry>> sent;
    for (const ShardId shard : kShards) {
      Append append{.shard = shard, .lower = lower, .upper = upper};
      for (std::uint64_t n = upper == lower ? 0 : random_.below(5); n > 0; --n) {
        Model::Entry entry{.row = "row " + std::to_string(random_.below(6)),
                           .time = ahead ? upper - 1 : lower + random_.below(upper - lower),
                           .diff = random_.coin() ? 1 : -1};
        append.updates.push(entry.row, entry.time, entry.diff);
        sent[shard].push_back(std::move(entry));
      }
      if (ahead && !upload_ahead(node, append)) return;
      commit.append.push_back(std::move(append));
    }
    const auto outcome = node.client.wait(node.group->commit(std::move(commit)));
    if (!outcome) {
      // Refused for good: nothing may have happened. The check is that content stays right.
      if (outcome.error().code != ErrorCode::kUnavailable) failure_ = outcome.error().message;
      return;
    }
    using enum CommitOutcome::Status;
    if (*node.epoch != newest_) {
      ++fenced;
      if (outcome->status != kFenced) failure_ = "a fenced writer got through";
    } else if (stale_lower) {
      ++mismatches;
      if (outcome->status != kUpperMismatch || outcome->upper != model_.upper) {
        failure_ = "a stale lower got through";
      }
    } else if (!outcome->committed()) {
      failure_ = "the newest writer was refused";
    } else {
      ++commits;
      model_.upper = upper;
      for (auto& [shard, entries] : sent) {
        for (auto& entry : entries) model_.entries[shard].push_back(std::move(entry));
      }
    }
  }

  void downgrade() {
    for (const auto& node : nodes_) {
      if (node->epoch != newest_ || model_.upper < 2) continue;
      const Time since = since_ + random_.below(model_.upper - since_);
      since_ = std::max(since_, since);
      for (const ShardId shard : kShards) node->group->downgrade_since(shard, since);
    }
  }

  void snapshot(Node& node) {
    if (model_.upper == 0) return;
    const ShardId shard = kShards[random_.below(2)];
    const Time as_of = since_ + random_.below(model_.upper - since_);
    node.faults.set_active(random_.coin());
    const Result<base::Unit> fresh = node.client.wait(node.group->refresh());
    const auto order = random_.coin() ? ReadOrder::kAsStored : ReadOrder::kConsolidated;
    const auto content = node.client.content(*node.group, shard, as_of, order);
    node.faults.set_active(true);
    if (!fresh || !content) {
      if (!content && !expected(content.error())) failure_ = content.error().message;
      return;
    }
    ++reads;
    Model::Content sums;
    add(sums, *content);
    if (sums != model_.content(shard, as_of)) failure_ = "a snapshot is wrong";
  }

  // Time and again a fault, or a since that moved: fine. Damage and loss are not.
  static bool expected(const Error& error) {
    return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kIndeterminate ||
           error.code == ErrorCode::kInvalid;
  }

  void open_watch(Node& node) {
    if (model_.upper == 0 || watches_.size() > 3) return;
    Watch watch{.shard = kShards[random_.below(2)],
                .as_of = since_ + random_.below(model_.upper - since_)};
    auto reader = node.client.wait(
        node.group->read({.shard = watch.shard,
                          .as_of = watch.as_of,
                          .order = random_.coin() ? ReadOrder::kAsStored : ReadOrder::kConsolidated,
                          .chunk_bytes = 1 + random_.below(300)}));
    if (!reader) {
      if (!expected(reader.error())) failure_ = reader.error().message;
      return;
    }
    watch.reader = std::move(reader).value();
    node_of_[watch.reader.get()] = &node;
    watches_.push_back(std::move(watch));
  }

  void advance_watch() {
    if (watches_.empty()) return;
    const std::size_t index = random_.below(watches_.size());
    Watch& watch = watches_[index];
    Node& node = *node_of_[watch.reader.get()];
    const Result<base::Unit> fresh = node.client.wait(node.group->refresh());
    for (int chunks = 0; chunks < 20; ++chunks) {
      if (!fresh || watch.upper >= node.group->shard(watch.shard)->upper) break;
      auto chunk = node.client.wait(watch.reader->next());
      if (!chunk) {
        if (!expected(chunk.error())) failure_ = "watch: " + chunk.error().message;
        return close_watch(index);
      }
      add(watch.seen, *chunk->updates);
      if (chunk->upper < watch.upper) failure_ = "progress went back";
      watch.upper = chunk->upper;
      check_watch(watch);
    }
    if (random_.one_in(6)) close_watch(index);
  }

  // Complete up to `upper`: content at as_of plus all changes since.
  void check_watch(const Watch& watch) {
    if (watch.upper <= watch.as_of) return;
    Model::Content expected_sums = model_.content(watch.shard, watch.as_of);
    for (const auto& [key, diff] : model_.changes(watch.shard, watch.as_of, watch.upper)) {
      expected_sums[key] += diff;
    }
    Model::Content complete;
    for (const auto& [key, diff] : watch.seen) {
      if (key.second < watch.upper) complete[key] = diff;
    }
    ++reads;
    if (complete != expected_sums) {
      failure_ = "a watch saw something else, from " + std::to_string(watch.as_of) + " to " +
                 std::to_string(watch.upper) + ": " + to_text(complete) + " not " +
                 to_text(expected_sums);
    }
  }

  void close_watch(std::size_t index) {
    node_of_.erase(watches_[index].reader.get());
    watches_.erase(watches_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void restart() {
    const std::size_t index = random_.below(nodes_.size());
    for (std::size_t i = watches_.size(); i-- > 0;) {
      if (node_of_[watches_[i].reader.get()] == nodes_[index].get()) close_watch(i);
    }
    retire(index);
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(index));
    Node& node = add_node();
    if (failure_.empty() && random_.coin()) take_over(node);
  }

  void retire(std::size_t index) {
    failures += nodes_[index]->faults.failures();
    if (nodes_[index]->client.log.errors > 0) failure_ = nodes_[index]->client.log.last;
    nodes_[index]->client.kill();
  }

  // In calm, all content is right, and garbage goes.
  void finish() {
    while (!watches_.empty()) close_watch(0);
    for (const auto& node : nodes_) node->faults.set_active(false);
    Node& node = *nodes_.front();
    take_over(node);
    for (const auto& n : nodes_) {
      const Result<base::Unit> fresh = n->client.wait(n->group->refresh());
      if (!fresh) failure_ = "cannot refresh in calm: " + fresh.error().message;
    }
    const Result<base::Unit> settled = node.client.wait(node.client.client().settle());
    if (!settled) failure_ = "does not settle: " + settled.error().message;
    if (model_.upper > 0) {
      for (const ShardId shard : kShards) {
        const auto content = node.client.content(*node.group, shard, model_.upper - 1);
        if (!content) {
          failure_ = "final read: " + content.error().message;
          continue;
        }
        Model::Content sums;
        add(sums, *content);
        if (sums != model_.content(shard, model_.upper - 1)) failure_ = "final content is wrong";
      }
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) retire(i);
  }

  base::Random random_;
  SimScheduler sim_;
  std::unique_ptr<Blob> blob_;
  std::unique_ptr<Consensus> consensus_;
  bool exclusive_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Watch> watches_;
  std::map<const Reader*, Node*> node_of_;
  Model model_;
  Epoch newest_ = 0;
  Time since_ = 0;
  std::string failure_;
};

TEST_CASE("persist: equals the model under faults, restarts, rivals and merging",
          "[persist][property]") {
  const char* count = std::getenv("FRESHET_PERSIST_SEEDS");
  const std::uint64_t seeds = ::testing::seed_is_fixed() ? 1 : count ? std::stoull(count) : 300;
  int bad = 0;
  int commits = 0;
  int reads = 0;
  int mismatches = 0;
  int fenced = 0;
  std::uint64_t failures = 0;
  std::string reasons;
  for (std::uint64_t i = 0; i < seeds; ++i) {
    const std::uint64_t seed = ::testing::base_seed() + i;
    PropertyWorld world(seed);
    const std::string failure = world.run();
    commits += world.commits;
    reads += world.reads;
    mismatches += world.mismatches;
    fenced += world.fenced;
    failures += world.failures;
    if (failure.empty()) continue;
    if (++bad <= 8) reasons += "\nseed " + std::to_string(seed) + ": " + failure;
  }
  INFO(reasons);
  CHECK(bad == 0);
  if (!::testing::seed_is_fixed()) {
    // The test has teeth: everything it is about has happened.
    CHECK(commits > 20 * static_cast<int>(seeds));
    CHECK(reads > 5 * static_cast<int>(seeds));
    CHECK(mismatches > static_cast<int>(seeds));
    CHECK(fenced > static_cast<int>(seeds) / 2);
    CHECK(failures > 20 * seeds);
  }
}

}  // namespace
}  // namespace freshet::persist
