// SPDX-License-Identifier: Apache-2.0
// The checksums of degrees, bfs and scc, computed from scratch on the graph after its last change.
//   recompute degrees|bfs|scc NODES EDGES CHANGES
// Shares the random graph with the programs, and nothing of the engine.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <freshet/base/random.h>

#include "example.h"

namespace {

using Node = std::uint32_t;
using Edge = std::pair<Node, Node>;
using freshet::base::mix64;

// The same draws as the programs make: all edges, then a slot and its new edge for each change.
std::vector<Edge> last_graph(std::uint64_t nodes, std::uint64_t edges, std::uint64_t changes) {
  freshet::base::Random random(42);
  const auto edge = [&] { return Edge{Node(random.below(nodes)), Node(random.below(nodes))}; };
  std::vector<Edge> all(edges);
  for (Edge& e : all) e = edge();
  for (std::uint64_t i = 0; i < changes; ++i) {
    Edge& slot = all[random.below(edges)];
    slot = edge();
  }
  return all;
}

std::vector<std::vector<Node>> successors(std::uint64_t nodes, const std::vector<Edge>& edges, bool reversed) {
  std::vector<std::vector<Node>> out(nodes);
  for (const auto& [from, to] : edges) out[reversed ? to : from].push_back(reversed ? from : to);
  return out;
}

std::uint64_t histogram_checksum(const std::map<std::uint64_t, std::uint64_t>& histogram) {
  std::uint64_t sum = 0;
  for (const auto& [value, count] : histogram) sum += mix64(value) * count;
  return sum;
}

std::uint64_t degrees(std::uint64_t nodes, const std::vector<Edge>& edges) {
  std::vector<std::uint64_t> degree(nodes);
  for (const Edge& e : edges) ++degree[e.first];
  std::map<std::uint64_t, std::uint64_t> histogram;
  for (const std::uint64_t d : degree) {
    if (d > 0) ++histogram[d];
  }
  return histogram_checksum(histogram);
}

std::uint64_t bfs(std::uint64_t nodes, const std::vector<Edge>& edges) {
  const auto out = successors(nodes, edges, false);
  std::vector<bool> seen(nodes);
  std::map<std::uint64_t, std::uint64_t> histogram;
  std::vector<Node> layer{0};
  seen[0] = true;
  for (std::uint64_t distance = 0; !layer.empty(); ++distance) {
    histogram[distance] = layer.size();
    std::vector<Node> next;
    for (const Node from : layer) {
      for (const Node to : out[from]) {
        if (!seen[to]) next.push_back(to);
        seen[to] = true;
      }
    }
    layer = std::move(next);
  }
  return histogram_checksum(histogram);
}

// Kosaraju, without recursion: a node's component is numbered on the reversed graph in reverse finishing order.
std::vector<Node> components(std::uint64_t nodes, const std::vector<Edge>& edges) {
  const auto forward = successors(nodes, edges, false);
  const auto backward = successors(nodes, edges, true);
  std::vector<Node> finished;
  std::vector<std::size_t> next(nodes);
  std::vector<bool> seen(nodes);
  for (Node root = 0; root < nodes; ++root) {
    std::vector<Node> path;
    if (!seen[root]) path.push_back(root);
    seen[root] = true;
    while (!path.empty()) {
      const Node at = path.back();
      if (next[at] == forward[at].size()) {
        finished.push_back(at);
        path.pop_back();
      } else if (const Node to = forward[at][next[at]++]; !seen[to]) {
        seen[to] = true;
        path.push_back(to);
      }
    }
  }
  constexpr Node kNone = ~Node{0};
  std::vector<Node> component(nodes, kNone);
  for (auto root = finished.rbegin(); root != finished.rend(); ++root) {
    if (component[*root] != kNone) continue;
    std::vector<Node> open{*root};
    component[*root] = *root;
    while (!open.empty()) {
      const Node at = open.back();
      open.pop_back();
      for (const Node to : backward[at]) {
        if (component[to] == kNone) open.push_back(to);
        if (component[to] == kNone) component[to] = *root;
      }
    }
  }
  return component;
}

// The edges inside of components, each as often as it is in the graph.
std::uint64_t scc(std::uint64_t nodes, const std::vector<Edge>& edges) {
  const auto component = components(nodes, edges);
  std::uint64_t sum = 0;
  for (const auto& [from, to] : edges) {
    if (component[from] == component[to]) sum += mix64((std::uint64_t(from) << 32) | to);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto nodes = example::argument(argc, argv, 2, 0);
  const auto graph = last_graph(nodes, example::argument(argc, argv, 3, 0), example::argument(argc, argv, 4, 0));
  const std::uint64_t sum = what == "degrees" ? degrees(nodes, graph) : what == "bfs" ? bfs(nodes, graph) : scc(nodes, graph);
  std::printf("checksum %016lx\n", sum);
}
