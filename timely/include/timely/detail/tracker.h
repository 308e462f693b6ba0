// SPDX-License-Identifier: Apache-2.0
/// The tracker of one scope, shared by all workers of the process: counts of messages and
/// capabilities at places of the scope, and the frontier of what can still arrive at each watched
/// place.
///
/// Places ("ports") and edges are described in a `GraphSpec`. When the tracker is built, a port
/// that nobody watches and that has one plain edge out becomes one node with its successor; what is
/// left is ordered by strong components. A posting changes counts; then the frontiers of the
/// changed components are computed again, lowest first, stopping where nothing changed. A component
/// that is a loop uses the closure of its path summaries, so that it never counts round by round.
///
/// Nested scopes: what can leave a scope because of what is *in* it counts as capabilities at the
/// scope's output ports outside (`settle_outward`); what can enter is set from outside as the
/// `entry` of its entry ports (`settle_inward`). Both happen under the dataflow's one mutex.
///
/// Invariant: counts are never negative after a posting (all senders are in this process).
/// Cost: changed components, their edges, and the watchers told; nothing depends on the number of
/// workers or dataflows.
/// Thread safety: everything under the dataflow's mutex, except the cells.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <freshet/base/result.h>
#include <timely/change_batch.h>
#include <timely/detail/core.h>
#include <timely/detail/frontier_cell.h>
#include <timely/mutable_antichain.h>

namespace timely::detail {

template <Timestamp T>
struct PortSpec {
  std::string name;
  /// Capabilities at the minimum that exist from the start.
  std::int64_t initial = 0;
  /// Set for watched ports: where their frontier is published.
  std::shared_ptr<FrontierCell<T>> cell{};
  std::vector<FrontierListener*> listeners{};
  /// Ports that lead into a nested scope: called with each new frontier.
  std::vector<std::function<void(const Antichain<T>&)>> into{};
  /// Ports that lead out of this scope: called with what can leave because of what is inside.
  std::function<void(const Antichain<T>&)> out_of{};
  [[nodiscard]] bool watched() const { return cell != nullptr || !into.empty() || out_of; }
};

template <Timestamp T>
struct EdgeSpec {
  std::uint32_t from;
  std::uint32_t to;
  SummaryOf<T> summary{};
};

template <Timestamp T>
struct GraphSpec {
  std::vector<PortSpec<T>> ports{};
  std::vector<EdgeSpec<T>> edges{};

  std::uint32_t add_port(std::string name) {
    ports.push_back({.name = std::move(name)});
    return static_cast<std::uint32_t>(ports.size() - 1);
  }
  void watch(std::uint32_t port) {
    if (!ports[port].cell) ports[port].cell = std::make_shared<FrontierCell<T>>();
  }
  /// An error that names the ports if some cycle does not advance time.
  [[nodiscard]] freshet::Result<void> check() const;
  /// The summaries of all paths from `port` to each port.
  [[nodiscard]] std::vector<Antichain<SummaryOf<T>>> paths_from(std::uint32_t port) const;
  [[nodiscard]] std::string draw(const std::string& name) const;
};

template <Timestamp T>
class Tracker final : public ScopeTracker {
 public:
  using Summary = SummaryOf<T>;
  using Change = std::pair<std::pair<std::uint32_t, T>, std::int64_t>;

  /// `outstanding` is the dataflow's sum of counts. The spec must have passed `check`.
  Tracker(GraphSpec<T> spec, std::int64_t& outstanding);

  /// The node that stands for a port.
  [[nodiscard]] std::uint32_t node(std::uint32_t port) const { return node_of_[port]; }
  [[nodiscard]] std::size_t nodes() const { return nodes_.size(); }

  /// Adds net changes of counts at nodes.
  void apply(std::span<const Change> changes);
  /// Replaces what can enter at an entry port.
  void set_entry(std::uint32_t port, const Antichain<T>& frontier);
  /// Replaces what a nested scope can still send out at a port; `held` is the caller's memory of
  /// it.
  void contribute(std::uint32_t port, Antichain<T>& held, const Antichain<T>& next);

  void settle_outward() override;
  void settle_inward(std::vector<FrontierListener*>& moved) override;

 private:
  struct InEdge {
    std::uint32_t from;
    Antichain<Summary> summaries;
  };
  struct Watch {
    std::vector<std::shared_ptr<FrontierCell<T>>> cells;
    std::vector<FrontierListener*> listeners;
    std::vector<std::function<void(const Antichain<T>&)>> into;
    std::function<void(const Antichain<T>&)> out_of;
  };
  struct Node {
    MutableAntichain<T> stamps;
    Antichain<T> entry;
    Antichain<T> all;  // what can still be at this node
    Antichain<T>
        inside;  // the same, counting only what is in the scope; kept if the scope has exits
    std::vector<InEdge> in;
    std::vector<std::uint32_t> out;
    std::uint32_t component = 0;
    std::unique_ptr<Watch> watch;
  };
  struct Component {
    std::vector<std::uint32_t> nodes;
    /// For a loop: from node i to node j at [i * size + j]. Empty for a single node.
    std::vector<Antichain<Summary>> closure;
  };
  /// Components whose frontiers must be computed again, least first.
  struct Agenda {
    std::vector<std::uint32_t> heap;
    std::vector<std::uint8_t> queued;
  };
  enum class View : std::uint8_t { kAll, kInside };

  void contract(const GraphSpec<T>& spec);
  void connect(const GraphSpec<T>& spec);
  void order();
  void close_loop(Component& component);
  void schedule(Agenda& agenda, std::uint32_t component);
  void schedule(std::uint32_t component);
  std::uint32_t next(Agenda& agenda);
  void recompute(std::uint32_t component, View view, std::vector<FrontierListener*>* moved);
  void recompute_loop(const Component& component, std::uint32_t index, View view,
                      std::vector<FrontierListener*>* moved);
  Antichain<T> arriving(const Node& node, std::uint32_t outside_of, View view) const;
  void set(Node& node, Antichain<T> frontier, View view, std::vector<FrontierListener*>* moved);

  std::int64_t& outstanding_;
  bool has_exits_ = false;
  std::vector<std::uint32_t> node_of_;
  std::vector<Node> nodes_;
  std::vector<Component> components_;
  Agenda all_;
  Agenda inside_;
};

/// The changes of one sender in one scope, summed as they come.
template <Timestamp T>
class ProgressLog final : public ProgressLogBase {
 public:
  ProgressLog(Sender& sender, Tracker<T>& tracker) : sender_(sender), tracker_(tracker) {}

  void update(std::uint32_t node, const T& time, std::int64_t diff) {
    changes_.update({node, time}, diff);
    if (!touched) sender_.touch(*this);
  }
  void update(std::uint32_t node, const Antichain<T>& times, std::int64_t diff) {
    for (const T& time : times.elements()) update(node, time, diff);
  }
  bool settled() override { return changes_.empty(); }
  std::size_t apply() override {
    tracker_.apply(changes_.changes());
    return changes_.changes().size();
  }
  void forget() override { changes_.clear(); }
  [[nodiscard]] Tracker<T>& tracker() const { return tracker_; }

 private:
  Sender& sender_;
  Tracker<T>& tracker_;
  ChangeBatch<std::pair<std::uint32_t, T>> changes_;
};

}  // namespace timely::detail
