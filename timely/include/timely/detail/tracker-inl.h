// SPDX-License-Identifier: Apache-2.0
/// Bodies of tracker.h; only the files that instantiate it for a time include this.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

#include <timely/detail/graph.h>
#include <timely/detail/tracker.h>

namespace timely::detail {

template <Timestamp T>
bool advances(const SummaryOf<T>& summary) {
  const std::optional<T> result = summary.results_in(minimum<T>());
  return !result || less_than(minimum<T>(), *result);
}

/// Adds to `into` every time of `from` led through `summaries`.
template <Timestamp T>
void lead(const Antichain<T>& from, const Antichain<SummaryOf<T>>& summaries, Antichain<T>& into) {
  for (const auto& summary : summaries.elements()) {
    for (const T& time : from.elements()) {
      if (std::optional<T> result = summary.results_in(time)) into.insert(std::move(*result));
    }
  }
}

template <Timestamp T>
freshet::Result<void> GraphSpec<T>::check() const {
  Graph still;
  still.nodes = static_cast<std::uint32_t>(ports.size());
  for (const EdgeSpec<T>& edge : edges) {
    if (!advances<T>(edge.summary)) still.edges.emplace_back(edge.from, edge.to);
  }
  const std::vector<std::uint32_t> cycle = find_cycle(still);
  if (cycle.empty()) return {};
  std::string message = "dataflow has a cycle that does not advance time, through";
  for (std::uint32_t port : cycle) message += " [" + ports[port].name + "]";
  return freshet::fail(freshet::ErrorCode::kInvalid, std::move(message));
}

template <Timestamp T>
std::vector<Antichain<SummaryOf<T>>> GraphSpec<T>::paths_from(std::uint32_t port) const {
  std::vector<std::vector<const EdgeSpec<T>*>> out(ports.size());
  for (const EdgeSpec<T>& edge : edges) out[edge.from].push_back(&edge);
  std::vector<Antichain<SummaryOf<T>>> result(ports.size());
  result[port].insert(SummaryOf<T>{});
  std::deque<std::pair<std::uint32_t, SummaryOf<T>>> todo{{port, SummaryOf<T>{}}};
  while (!todo.empty()) {
    const auto [at, summary] = todo.front();
    todo.pop_front();
    for (const EdgeSpec<T>* edge : out[at]) {
      auto longer = summary.followed_by(edge->summary);
      if (longer && result[edge->to].insert(*longer)) todo.emplace_back(edge->to, *longer);
    }
  }
  return result;
}

template <Timestamp T>
std::string GraphSpec<T>::draw(const std::string& name) const {
  Graph graph;
  graph.nodes = static_cast<std::uint32_t>(ports.size());
  std::vector<std::string> labels;
  for (const PortSpec<T>& port : ports) labels.push_back(port.name + (port.watched() ? " *" : ""));
  std::vector<std::string> edge_labels;
  for (const EdgeSpec<T>& edge : edges) {
    graph.edges.emplace_back(edge.from, edge.to);
    edge_labels.emplace_back(advances<T>(edge.summary) ? "advances" : "");
  }
  return detail::draw(graph, name, labels, edge_labels);
}

template <Timestamp T>
Tracker<T>::Tracker(GraphSpec<T> spec, std::int64_t& outstanding) : outstanding_(outstanding) {
  contract(spec);
  connect(spec);
  order();
  for (std::uint32_t c = 0; c < components_.size(); ++c) schedule(c);
}

// Gives every port a node; a port that nobody watches shares the node of its only, plain successor.
template <Timestamp T>
void Tracker<T>::contract(const GraphSpec<T>& spec) {
  const std::size_t count = spec.ports.size();
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> out_edges(count, 0);
  std::vector<std::uint32_t> successor(count, kNone);
  for (const EdgeSpec<T>& edge : spec.edges) {
    ++out_edges[edge.from];
    if (edge.summary == Summary{}) successor[edge.from] = edge.to;
  }
  node_of_.assign(count, kNone);
  std::vector<std::uint32_t> chain;
  for (std::uint32_t port = 0; port < count; ++port) {
    // Follow mergeable ports to the one that stays. No plain cycle exists, so this ends.
    std::uint32_t last = port;
    chain.clear();
    while (node_of_[last] == kNone) {
      chain.push_back(last);
      const bool merges =
          !spec.ports[last].watched() && out_edges[last] == 1 && successor[last] != kNone;
      if (!merges) break;
      last = successor[last];
    }
    if (node_of_[last] == kNone) {
      node_of_[last] = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    }
    for (std::uint32_t member : chain) node_of_[member] = node_of_[last];
  }
}

template <Timestamp T>
void Tracker<T>::connect(const GraphSpec<T>& spec) {
  for (const EdgeSpec<T>& edge : spec.edges) {
    const std::uint32_t from = node_of_[edge.from];
    const std::uint32_t to = node_of_[edge.to];
    if (from == to && edge.summary == Summary{}) continue;
    auto& in = nodes_[to].in;
    auto place = std::ranges::find(in, from, &InEdge::from);
    if (place == in.end()) {
      in.push_back({from, {}});
      place = in.end() - 1;
      nodes_[from].out.push_back(to);
    }
    place->summaries.insert(edge.summary);
  }
  for (std::uint32_t port = 0; port < spec.ports.size(); ++port) {
    const PortSpec<T>& from = spec.ports[port];
    Node& node = nodes_[node_of_[port]];
    if (from.initial != 0) {
      node.stamps.update(minimum<T>(), from.initial);
      outstanding_ += from.initial;
    }
    if (!from.watched()) continue;
    if (!node.watch) node.watch = std::make_unique<Watch>();
    if (from.cell) node.watch->cells.push_back(from.cell);
    node.watch->listeners.insert(node.watch->listeners.end(), from.listeners.begin(),
                                 from.listeners.end());
    node.watch->into.insert(node.watch->into.end(), from.into.begin(), from.into.end());
    if (from.out_of) {
      node.watch->out_of = from.out_of;
      has_exits_ = true;
    }
  }
}

template <Timestamp T>
void Tracker<T>::order() {
  Graph graph;
  graph.nodes = static_cast<std::uint32_t>(nodes_.size());
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    for (const InEdge& edge : nodes_[node].in) graph.edges.emplace_back(edge.from, node);
  }
  const std::vector<std::uint32_t> component = ordered_components(graph);
  std::uint32_t count = 0;
  for (std::uint32_t c : component) count = std::max(count, c + 1);
  components_.resize(count);
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    nodes_[node].component = component[node];
    components_[component[node]].nodes.push_back(node);
  }
  for (Component& c : components_) close_loop(c);
  all_.queued.assign(count, 0);
  inside_.queued.assign(count, 0);
}

// The closure is finite: a path that goes round once more is dominated by the one that does not.
template <Timestamp T>
void Tracker<T>::close_loop(Component& component) {
  const std::size_t size = component.nodes.size();
  const Node& first = nodes_[component.nodes.front()];
  const bool loops_on_itself =
      std::ranges::find(first.in, component.nodes.front(), &InEdge::from) != first.in.end();
  if (size == 1 && !loops_on_itself) return;
  std::vector<std::size_t> place(nodes_.size(), size);
  for (std::size_t i = 0; i < size; ++i) place[component.nodes[i]] = i;
  component.closure.resize(size * size);
  std::deque<std::pair<std::size_t, Summary>> todo;
  for (std::size_t from = 0; from < size; ++from) {
    auto row = component.closure.begin() + static_cast<std::ptrdiff_t>(from * size);
    row[static_cast<std::ptrdiff_t>(from)].insert(Summary{});
    todo.emplace_back(from, Summary{});
    while (!todo.empty()) {
      const auto [at, summary] = todo.front();
      todo.pop_front();
      const std::uint32_t node = component.nodes[at];
      for (std::uint32_t next_node : nodes_[node].out) {
        if (place[next_node] == size) continue;
        const auto to = static_cast<std::ptrdiff_t>(place[next_node]);
        const auto edge = std::ranges::find(nodes_[next_node].in, node, &InEdge::from);
        for (const Summary& step : edge->summaries.elements()) {
          auto longer = summary.followed_by(step);
          if (longer && row[to].insert(*longer)) todo.emplace_back(place[next_node], *longer);
        }
      }
    }
  }
}

template <Timestamp T>
void Tracker<T>::schedule(Agenda& agenda, std::uint32_t component) {
  if (agenda.queued[component] != 0) return;
  agenda.queued[component] = 1;
  agenda.heap.push_back(component);
  std::ranges::push_heap(agenda.heap, std::greater<>{});
}

template <Timestamp T>
void Tracker<T>::schedule(std::uint32_t component) {
  schedule(all_, component);
  if (has_exits_) schedule(inside_, component);
}

template <Timestamp T>
std::uint32_t Tracker<T>::next(Agenda& agenda) {
  std::ranges::pop_heap(agenda.heap, std::greater<>{});
  const std::uint32_t component = agenda.heap.back();
  agenda.heap.pop_back();
  agenda.queued[component] = 0;
  return component;
}

template <Timestamp T>
void Tracker<T>::apply(std::span<const Change> changes) {
  for (const auto& [where, diff] : changes) {
    Node& node = nodes_[where.first];
    const auto counted = node.stamps.update_counted(where.second, diff);
    FRESHET_ASSERT(counted.count >= 0, counted.count, where.first, where.second);
    outstanding_ += diff;
    if (counted.moved) schedule(node.component);
  }
}

template <Timestamp T>
void Tracker<T>::set_entry(std::uint32_t port, const Antichain<T>& frontier) {
  Node& node = nodes_[node_of_[port]];
  node.entry = frontier;
  schedule(all_, node.component);
}

template <Timestamp T>
void Tracker<T>::contribute(std::uint32_t port, Antichain<T>& held, const Antichain<T>& next) {
  Node& node = nodes_[node_of_[port]];
  bool moved = false;
  for (const T& time : next.elements()) moved |= node.stamps.update(time, +1);
  for (const T& time : held.elements()) moved |= node.stamps.update(time, -1);
  held = next;
  if (moved) schedule(node.component);
}

template <Timestamp T>
void Tracker<T>::settle_outward() {
  while (!inside_.heap.empty()) recompute(next(inside_), View::kInside, nullptr);
}

template <Timestamp T>
void Tracker<T>::settle_inward(std::vector<FrontierListener*>& moved) {
  while (!all_.heap.empty()) recompute(next(all_), View::kAll, &moved);
}

// What can be at `node` because of counts there, what enters, and edges from other components.
template <Timestamp T>
Antichain<T> Tracker<T>::arriving(const Node& node, std::uint32_t outside_of, View view) const {
  Antichain<T> result = node.stamps.frontier();
  if (view == View::kAll) result.extend(node.entry);
  for (const InEdge& edge : node.in) {
    const Node& from = nodes_[edge.from];
    if (from.component == outside_of) continue;
    lead<T>(view == View::kAll ? from.all : from.inside, edge.summaries, result);
  }
  return result;
}

template <Timestamp T>
void Tracker<T>::recompute(std::uint32_t index, View view, std::vector<FrontierListener*>* moved) {
  const Component& component = components_[index];
  if (!component.closure.empty()) {
    recompute_loop(component, index, view, moved);
    return;
  }
  Node& node = nodes_[component.nodes.front()];
  set(node, arriving(node, index, view), view, moved);
}

template <Timestamp T>
void Tracker<T>::recompute_loop(const Component& component, std::uint32_t index, View view,
                                std::vector<FrontierListener*>* moved) {
  const std::size_t size = component.nodes.size();
  std::vector<Antichain<T>> frontiers(size);
  for (std::size_t from = 0; from < size; ++from) {
    const Antichain<T> local = arriving(nodes_[component.nodes[from]], index, view);
    if (local.empty()) continue;
    for (std::size_t to = 0; to < size; ++to) {
      lead<T>(local, component.closure[from * size + to], frontiers[to]);
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    set(nodes_[component.nodes[i]], std::move(frontiers[i]), view, moved);
  }
}

template <Timestamp T>
void Tracker<T>::set(Node& node, Antichain<T> frontier, View view,
                     std::vector<FrontierListener*>* moved) {
  Antichain<T>& current = view == View::kAll ? node.all : node.inside;
  if (current == frontier) return;
  current = std::move(frontier);
  Agenda& agenda = view == View::kAll ? all_ : inside_;
  for (std::uint32_t out : node.out) {
    const std::uint32_t component = nodes_[out].component;
    if (component != node.component) schedule(agenda, component);
  }
  if (!node.watch) return;
  if (view == View::kInside) {
    if (node.watch->out_of) node.watch->out_of(current);
    return;
  }
  for (const auto& cell : node.watch->cells) cell->store(current);
  for (FrontierListener* listener : node.watch->listeners) moved->push_back(listener);
  for (const auto& into : node.watch->into) into(current);
}

}  // namespace timely::detail
