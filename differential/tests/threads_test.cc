// SPDX-License-Identifier: Apache-2.0
// Readers on their own threads take snapshots while a dataflow changes, merges and compacts.
#include "dataflow_model.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

namespace differential {
namespace {

using Time = std::uint64_t;
using Row = std::pair<std::uint64_t, std::uint64_t>;

// At each time t the collection holds exactly: key k < 50 with value t / (k + 1), once. So any snapshot
// can be checked on its own at any time.
TEST_CASE("snapshot: threads read exact contents while merges run", "[differential][threads]") {
  const std::size_t workers = 2;
  auto executor = timely::make_tbb_executor({.threads = 2});
  timely::Runtime runtime(*executor, {.workers = workers});
  using Message = std::vector<Update<Row, Time, std::int64_t>>;
  using Tr = Trace<std::uint64_t, std::uint64_t, Time, std::int64_t>;
  timely::InputHandle<Time, Message> input;
  timely::ProbeHandle<Time> probe;
  std::optional<TraceHandle<Tr>> trace;
  runtime.dataflow<Time>("rows", [&](timely::Scope<Time>& scope) {
    auto [handle, stream] = scope.input<Message>();
    input = std::move(handle);
    auto arranged = Collection<Time, Row>(stream).arrange_by_key("rows", 200);
    trace = arranged.trace();
    probe = arranged.stream().probe();
  });
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> wrong{0};
  const TraceHandle<Tr>& mine = *trace;  // `holds` and `snapshot` are for any thread
  const auto read = [&](std::uint64_t seed) {
    freshet::base::Random random(seed);
    while (!stop.load(std::memory_order_relaxed)) {
      auto hold = mine.holds().acquire_since();  // before the time is chosen
      if (!hold) return;
      const Time since = hold->at().only();
      auto snapshot = mine.snapshot();
      if (snapshot.upper().empty() || snapshot.upper().only() <= since) continue;
      const Time time = since + random.below(snapshot.upper().only() - since);
      auto cursor = snapshot.at(time);
      if (!cursor) {
        ++refused;  // a hold at or before it was there: must not happen
        continue;
      }
      std::uint64_t key = 0;
      for (; cursor->valid(); cursor->step(), ++key) {
        if (cursor->key() != key || cursor->val() != time / (key + 1) || cursor->diff() != 1) ++wrong;
      }
      if (key != 50) ++wrong;
      ++reads;
    }
  };
  std::vector<std::thread> readers;
  for (std::uint64_t i = 0; i < 2; ++i) readers.emplace_back(read, i);
  for (Time time = 0; time < 600; ++time) {
    Message changes;
    for (std::uint64_t key = 0; key < 50; ++key) {
      if (time == 0) {
        changes.push_back({{key, 0}, time, 1});
      } else if (time / (key + 1) != (time - 1) / (key + 1)) {
        changes.push_back({{key, (time - 1) / (key + 1)}, time, -1});
        changes.push_back({{key, time / (key + 1)}, time, 1});
      }
    }
    input.send(std::move(changes));
    input.advance_to(time + 1);
    runtime.step_while([&] { return probe.less_than(time + 1); });
    if (time % 3 == 0) trace->set_logical_compaction({time});
  }
  while (reads.load() < 50) std::this_thread::yield();
  stop = true;
  for (auto& reader : readers) reader.join();
  CHECK(reads.load() >= 50);
  CHECK(refused.load() == 0);
  CHECK(wrong.load() == 0);
}

}  // namespace
}  // namespace differential
