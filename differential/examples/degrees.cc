// SPDX-License-Identifier: Apache-2.0
// Keeps the distribution of out-degrees of a random graph while edges are swapped.
//   degrees NODES EDGES CHANGES WORKERS
#include <map>

#include <differential/collection.h>
#include <freshet/base/guarded.h>
#include <timely/timely.h>

#include "example.h"

using Time = std::uint64_t;
using Node = std::uint32_t;
using Edge = std::pair<Node, Node>;
using Edges = std::vector<differential::Update<Edge, Time, std::int64_t>>;

int main(int argc, char** argv) {
  const auto nodes = example::argument(argc, argv, 1, 1'000'000);
  const auto edges = example::argument(argc, argv, 2, 5'000'000);
  const auto changes = example::argument(argc, argv, 3, 1000);
  const auto workers = example::argument(argc, argv, 4, 1);
  auto executor = timely::make_tbb_executor({.threads = workers});
  timely::Runtime runtime(*executor, {.workers = workers});

  timely::InputHandle<Time, Edges> input;
  timely::ProbeHandle<Time> probe;
  freshet::base::Guarded<std::map<std::uint64_t, std::int64_t>> histogram;  // degree -> nodes
  std::optional<differential::TraceHandle<differential::KeyTrace<Node, Time, std::int64_t>>> trace;
  runtime.dataflow<Time>("degrees", [&](timely::Scope<Time>& scope) {
    auto [handle, stream] = scope.input<Edges>();
    input = std::move(handle);
    auto by_source = differential::Collection<Time, Edge>(stream)
                         .map([](const Edge& e) { return e.first; })
                         .arrange_by_self("edges by source");
    trace = by_source.trace();
    auto distribution = differential::count_of(by_source)
                            .map([](const auto& node) { return node.second; })
                            .count();
    probe = distribution
                .inspect([&](const auto& row, Time, std::int64_t diff) {
                  histogram.with([&](auto& h) { h[std::uint64_t(row.first)] += row.second * diff; });
                })
                .probe();
  });

  freshet::base::Random random(42);
  const auto edge = [&] { return Edge{Node(random.below(nodes)), Node(random.below(nodes))}; };
  std::vector<Edge> all(edges);
  example::Stopwatch load;
  for (std::uint64_t i = 0; i < edges;) {
    Edges message;
    for (std::uint64_t end = std::min(edges, i + 8192); i < end; ++i) message.push_back({all[i] = edge(), 0, 1});
    input.send(std::move(message));
    if (i % (1 << 20) < 8192) {
      input.flush();
      runtime.run_until_idle();
    }
  }
  const auto finish = [&](Time time) {
    trace->set_logical_compaction({time});
    input.advance_to(time);
    runtime.step_while([&] { return probe.less_than(time); });
  };
  finish(1);
  std::printf("load: %.2f s for %lu nodes, %lu edges on %lu workers\n", load.seconds(), nodes, edges, workers);

  runtime.run_until_idle();  // ends the merges of the load
  timely::Executor::Driver driver(*executor);  // from here on this thread does the work of a small change
  std::vector<double> latencies;
  for (std::uint64_t i = 0; i < changes; ++i) {
    Edge& slot = all[random.below(edges)];
    const Edge old = std::exchange(slot, edge());
    example::Stopwatch change;
    input.send({{old, i + 1, -1}, {slot, i + 1, 1}});
    finish(i + 2);
    latencies.push_back(change.seconds());
  }
  example::print_latency("swap of one edge", latencies);
  runtime.run_until_idle();
  const auto [updates, bytes] = trace->size();
  std::printf("trace: %zu updates, %.1f bytes per key; peak %.0f MB\n", updates,
              double(bytes) / double(updates), example::peak_megabytes());
  std::printf("checksum %016lx\n", example::checksum(histogram));
}
