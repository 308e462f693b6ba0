// SPDX-License-Identifier: Apache-2.0
// Keeps the distances from node 0 in a random directed graph while edges are swapped.
//   bfs NODES EDGES CHANGES WORKERS
#include <map>

#include <differential/collection.h>
#include <freshet/base/guarded.h>
#include <timely/timely.h>

#include "example.h"

using Time = std::uint64_t;
using Inner = timely::Product<Time, std::uint64_t>;
using Node = std::uint32_t;
using Edge = std::pair<Node, Node>;
using Distance = std::pair<Node, std::uint32_t>;
using Edges = std::vector<differential::Update<Edge, Time, std::int64_t>>;
using Roots = std::vector<differential::Update<Distance, Time, std::int64_t>>;
using differential::Collection;

// Each node's least distance: the roots at 0, and one more than the distance of a predecessor.
template <typename Arranged>
Collection<Inner, Distance> step(const Collection<Inner, Distance>& reached, const Collection<Inner, Distance>& roots,
                                 const Arranged& edges) {
  using Out = std::vector<differential::Update<Distance, Inner, std::int64_t>>;
  auto next = Collection<Inner, Distance>(differential::join_core<Out>(
      reached.arrange_by_key("reached"), edges,
      [](Node, std::uint32_t distance, Node to, const Inner& time, std::int64_t r1, std::int64_t r2, Out& out) {
        out.push_back({{to, distance + 1}, time, r1 * r2});
      }));
  using Least = differential::Trace<Node, std::uint32_t, Inner, std::int64_t>;
  auto least = differential::reduce_core<Least>(
      next.concat(roots).arrange_by_key("candidates"), "least",
      [](Node, auto& group, auto& output) { output.push(group.val(), 1); });
  return differential::as_collection(least, [](Node node, std::uint32_t d) { return Distance{node, d}; });
}

int main(int argc, char** argv) {
  const auto nodes = example::argument(argc, argv, 1, 100'000);
  const auto edges = example::argument(argc, argv, 2, 1'000'000);
  const auto changes = example::argument(argc, argv, 3, 1000);
  const auto workers = example::argument(argc, argv, 4, 1);
  auto executor = timely::make_tbb_executor({.threads = workers});
  timely::Runtime runtime(*executor, {.workers = workers});
  timely::InputHandle<Time, Edges> input;
  timely::InputHandle<Time, Roots> root_input;
  timely::ProbeHandle<Time> probe;
  freshet::base::Guarded<std::map<std::uint64_t, std::int64_t>> histogram;  // distance -> nodes
  runtime.dataflow<Time>("bfs", [&](timely::Scope<Time>& scope) {
    auto [handle, stream] = scope.input<Edges>();
    input = std::move(handle);
    auto [root_handle, root_stream] = scope.input<Roots>();
    root_input = std::move(root_handle);
    auto arranged = Collection<Time, Edge>(stream).arrange_by_key("edges");
    Collection<Time, Distance> roots(root_stream);
    probe = roots
                .iterate([&](const Collection<Inner, Distance>& reached) {
                  auto inner = reached.scope();
                  return step(reached, roots.enter(inner), arranged.enter(inner));
                })
                .inspect([&](const Distance& d, Time, std::int64_t diff) {
                  histogram.with([&](auto& h) { h[d.second] += diff; });
                })
                .probe();
  });
  root_input.send({{{0, 0}, 0, 1}});
  root_input.close();
  freshet::base::Random random(42);
  const auto edge = [&] { return Edge{Node(random.below(nodes)), Node(random.below(nodes))}; };
  std::vector<Edge> all;
  std::generate_n(std::back_inserter(all), edges, edge);
  example::Stopwatch load;
  for (std::uint64_t i = 0; i < edges;) {
    Edges message;
    for (std::uint64_t end = std::min(edges, i + 8192); i < end; ++i) message.push_back({all[i], 0, 1});
    input.send(std::move(message));
  }
  const auto finish = [&](Time time) {
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
  const std::uint64_t checksum = example::checksum(histogram);
  std::printf("checksum %016lx; peak %.0f MB\n", checksum, example::peak_megabytes());
}
