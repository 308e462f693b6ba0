// SPDX-License-Identifier: Apache-2.0
/// What the tracker asks of a graph: strong components, order, and a picture. Boost.Graph does it,
/// in graph.cc.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace timely::detail {

struct Graph {
  std::uint32_t nodes = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges{};
};

/// The component of each node, numbered so that every edge goes to the same or a higher number.
std::vector<std::uint32_t> ordered_components(const Graph& graph);

/// The nodes of some cycle, or nothing. A node with an edge to itself is a cycle.
std::vector<std::uint32_t> find_cycle(const Graph& graph);

/// The graph in Graphviz's language.
std::string draw(const Graph& graph, const std::string& name,
                 const std::vector<std::string>& node_labels,
                 const std::vector<std::string>& edge_labels);

}  // namespace timely::detail
