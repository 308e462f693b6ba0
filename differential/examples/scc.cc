// SPDX-License-Identifier: Apache-2.0
// Keeps the edges inside strongly connected components of a random graph while edges are swapped.
//   scc NODES EDGES CHANGES WORKERS
#include <differential/collection.h>
#include <freshet/base/guarded.h>
#include <timely/timely.h>

#include "example.h"

using Time = std::uint64_t;
using Node = std::uint32_t;
using Edge = std::pair<Node, Node>;
using Edges = std::vector<differential::Update<Edge, Time, std::int64_t>>;
using differential::Collection;

// Each node's least label among the nodes that reach it.
template <typename T>
Collection<T, Edge> labels(const Collection<T, Edge>& edges, const Collection<T, Edge>& nodes) {
  return nodes.filter([](const Edge&) { return false; }).iterate([&](const auto& inner) {
    auto scope = inner.scope();
    return inner.join(edges.enter(scope), [](Node, Node label, Node to) { return Edge{to, label}; })
        .concat(nodes.enter(scope))
        .template reduce<Node>([](Node, const auto& all, auto& output) { output.push_back({all.front().first, 1}); });
  });
}

// The edges whose ends have the same label, turned around.
template <typename T>
Collection<T, Edge> trim(const Collection<T, Edge>& edges) {
  auto nodes = edges.map([](const Edge& e) { return Edge{e.second, e.second}; }).distinct();
  auto label = labels(edges, nodes);
  return edges.join(label, [](Node from, Node to, Node l) { return std::pair(to, std::pair(from, l)); })
      .join(label, [](Node to, const std::pair<Node, Node>& f, Node l) { return std::tuple(to, f.first, f.second, l); })
      .filter([](const auto& row) { return std::get<2>(row) == std::get<3>(row); })
      .map([](const auto& row) { return Edge{std::get<0>(row), std::get<1>(row)}; });
}

int main(int argc, char** argv) {
  const auto nodes = example::argument(argc, argv, 1, 10'000);
  const auto edges = example::argument(argc, argv, 2, 20'000);
  const auto changes = example::argument(argc, argv, 3, 100);
  const auto workers = example::argument(argc, argv, 4, 1);
  auto executor = timely::make_tbb_executor({.threads = workers});
  timely::Runtime runtime(*executor, {.workers = workers});
  timely::InputHandle<Time, Edges> input;
  timely::ProbeHandle<Time> probe;
  freshet::base::Guarded<std::uint64_t> checksum;
  runtime.dataflow<Time>("scc", [&](timely::Scope<Time>& scope) {
    auto [handle, stream] = scope.input<Edges>();
    input = std::move(handle);
    auto components = Collection<Time, Edge>(stream).iterate(
        [](const auto& inner) { return trim(trim(inner)); });
    probe = components
                .inspect([&](const Edge& e, Time, std::int64_t diff) {
                  const std::uint64_t hash = freshet::base::mix64((std::uint64_t(e.first) << 32) | e.second);
                  checksum.with([&](auto& sum) { sum += hash * std::uint64_t(diff); });
                })
                .probe();
  });
  freshet::base::Random random(42);
  const auto edge = [&] { return Edge{Node(random.below(nodes)), Node(random.below(nodes))}; };
  std::vector<Edge> all(edges);
  example::Stopwatch load;
  for (Edge& e : all) input.push(differential::Update<Edge, Time, std::int64_t>{e = edge(), 0, 1});
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
  std::printf("checksum %016lx; peak %.0f MB\n", *checksum.with([](auto& sum) { return &sum; }), example::peak_megabytes());
}
