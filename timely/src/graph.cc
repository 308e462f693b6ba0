// SPDX-License-Identifier: Apache-2.0
#include <timely/detail/graph.h>

#include <algorithm>
#include <sstream>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/graph/strong_components.hpp>

namespace timely::detail {
namespace {

using BoostGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                          boost::property<boost::edge_index_t, std::size_t>>;

BoostGraph to_boost(const Graph& graph) {
  BoostGraph result(graph.nodes);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    boost::add_edge(graph.edges[i].first, graph.edges[i].second, i, result);
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> ordered_components(const Graph& graph) {
  std::vector<std::uint32_t> component(graph.nodes);
  if (graph.nodes == 0) return component;
  const BoostGraph boost_graph = to_boost(graph);
  const auto count = boost::strong_components(
      boost_graph,
      boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, boost_graph)));
  // Tarjan's algorithm numbers a component after all that it reaches.
  for (std::uint32_t& c : component) c = static_cast<std::uint32_t>(count) - 1 - c;
  return component;
}

std::vector<std::uint32_t> find_cycle(const Graph& graph) {
  for (const auto& [from, to] : graph.edges) {
    if (from == to) return {from};
  }
  const std::vector<std::uint32_t> component = ordered_components(graph);
  for (const auto& [from, to] : graph.edges) {
    if (component[from] != component[to]) continue;
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t node = 0; node < graph.nodes; ++node) {
      if (component[node] == component[from]) nodes.push_back(node);
    }
    return nodes;
  }
  return {};
}

std::string draw(const Graph& graph, const std::string& name,
                 const std::vector<std::string>& node_labels,
                 const std::vector<std::string>& edge_labels) {
  std::ostringstream out;
  const BoostGraph boost_graph = to_boost(graph);
  auto quoted = [](const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result + "\"";
  };
  boost::write_graphviz(
      out, boost_graph,
      [&](std::ostream& o, auto node) { o << "[label=" << quoted(node_labels[node]) << "]"; },
      [&](std::ostream& o, auto edge) {
        const std::string& label = edge_labels[get(boost::edge_index, boost_graph, edge)];
        if (!label.empty()) o << "[label=" << quoted(label) << "]";
      },
      [&](std::ostream& o) { o << "label=" << quoted(name) << ";\n"; });
  return out.str();
}

}  // namespace timely::detail
