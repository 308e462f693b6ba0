// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <freshet/expr/error_row.h>

#include "support/ivm_check.h"

namespace compute_testing {

using namespace freshet;  // NOLINT: a test

void IvmCoverage::add(const expr::Lir& lir_node) {
  using expr::Lir;
  struct Visitor {
    IvmCoverage& coverage;
    void count(const std::string& name) { ++coverage.lir[name]; }
    void operator()(const Lir::Constant& n) { count(n.error ? "constant error" : "constant"); }
    void operator()(const Lir::Get& n) {
      count(n.seek ? "get by seek" : n.key ? "get by arrangement" : "get stream");
    }
    void operator()(const Lir::Let& n) { count("let"), coverage.add(*n.value), coverage.add(*n.body); }
    void operator()(const Lir::LetRec& n) {
      count(!n.limit ? "recursion" : n.return_at_limit ? "recursion, return at limit" : "recursion, error at limit");
      for (const auto& value : n.values) coverage.add(*value);
      coverage.add(*n.body);
    }
    void operator()(const Lir::MapFilterProject& n) { count("map filter project"), coverage.add(*n.input); }
    void operator()(const Lir::FlatMap& n) { count("flat map"), coverage.add(*n.input); }
    void operator()(const Lir::Join& n) {
      count(n.plan.index() == 0 ? "linear join" : "delta join");
      for (const auto& input : n.inputs) coverage.add(*input);
    }
    void operator()(const Lir::Match& n) {
      constexpr const char* kNames[] = {"semi match", "anti match", "left match", "full match"};
      count(kNames[static_cast<std::size_t>(n.kind)]);
      coverage.add(*n.left), coverage.add(*n.right);
    }
    void operator()(const Lir::Reduce& n) {
      if (n.plan.is_distinct()) count("reduce distinct");
      if (!n.plan.accumulable.empty()) count("reduce accumulable");
      if (!n.plan.extrema.empty()) count("reduce extrema");
      if (!n.plan.ordered.empty()) count("reduce ordered");
      coverage.add(*n.input);
    }
    void operator()(const Lir::TopK& n) { count("top k"), coverage.add(*n.input); }
    void operator()(const Lir::Negate& n) { count("negate"), coverage.add(*n.input); }
    void operator()(const Lir::Threshold& n) { count("threshold"), coverage.add(*n.input); }
    void operator()(const Lir::Union& n) {
      count(n.consolidate ? "union, consolidated" : "union");
      for (const auto& input : n.inputs) coverage.add(*input);
    }
    void operator()(const Lir::ArrangeBy& n) { count("arrange by"), coverage.add(*n.input); }
  };
  std::visit(Visitor{*this}, lir_node.node);
}

void IvmCoverage::add_errors(const testing::Multiset& content, const std::vector<repr::ColumnType>& types) {
  std::set<std::string> states;
  for (const auto& [bytes, count] : content.errs) {
    states.insert(std::string(expr::decode_error_row(bytes, types).value().error.sqlstate.view()));
  }
  for (const std::string& state : states) ++errors[state];
}

std::vector<std::string> IvmCoverage::missing(std::uint64_t least) const {
  std::vector<std::string> result;
  const auto want = [&](const std::map<std::string, std::uint64_t>& counts, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const auto found = counts.find(name);
      const std::uint64_t count = found == counts.end() ? 0 : found->second;
      if (count < least) result.push_back(name + std::string(": ") + std::to_string(count));
    }
  };
  want(plan.counts,
       {"constant", "get", "let", "recursion", "recursion, return at limit", "recursion, error at limit", "project",
        "map", "filter", "flat map", "cross join", "join", "join of three", "semi join", "anti join", "left join",
        "full join", "reduce", "distinct", "top k", "negate", "threshold", "union", "aggregate count", "aggregate sum",
        "aggregate avg", "aggregate min", "aggregate max", "aggregate bool_and", "aggregate every", "aggregate bool_or",
        "aggregate string_agg", "aggregate array_agg", "aggregate distinct", "aggregate filter", "aggregate order by"});
  want(lir, {"constant", "constant error", "get by seek", "get by arrangement", "get stream", "let", "recursion",
             "recursion, return at limit", "recursion, error at limit", "map filter project", "flat map", "linear join",
             "delta join", "semi match", "anti match", "left match", "full match", "reduce distinct",
             "reduce accumulable", "reduce extrema", "reduce ordered", "top k", "negate", "threshold", "union",
             "union, consolidated", "arrange by"});
  // Bad input, division by zero, overflow, a negative limit, recursion without an end, negative multiplicities.
  want(errors, {"22000", "22012", "22003", "2201W", "54000", "XX000"});
  want(runs, {"1 workers, simulated", "2 workers, simulated", "3 workers, simulated", "1 workers, threads",
              "2 workers, threads", "3 workers, threads", "optimised", "unoptimised", "blocks of 64 bytes",
              "commands as bytes", "compaction"});
  return result;
}

}  // namespace compute_testing
