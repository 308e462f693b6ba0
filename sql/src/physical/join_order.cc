// SPDX-License-Identifier: Apache-2.0
#include "physical/join_order.h"

#include <algorithm>
#include <array>

namespace freshet::sql::physical {
namespace {

/// How well an input is looked up; greater is better.
using Score = std::array<std::size_t, 6>;

bool within_bound(const Scalar& scalar, const std::vector<JoinInput>& inputs, const std::vector<bool>& bound) {
  const auto columns = scalar.columns();
  return std::all_of(columns.begin(), columns.end(), [&](std::size_t c) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].span.contains(c)) return static_cast<bool>(bound[i]);
    }
    return false;
  });
}

/// The keys by which `input` can be looked up from what is bound: one pair a class.
JoinStep step_to(std::size_t input, const std::vector<JoinInput>& inputs, const std::vector<bool>& bound,
                 const Classes& classes) {
  const Span span = inputs[input].span;
  JoinStep step{input};
  for (const auto& members : classes) {
    const auto own = std::find_if(members.begin(), members.end(), [&](const Scalar& m) {
      return !m.columns().empty() && passes::within(m, span);
    });
    const auto other = std::find_if(members.begin(), members.end(),
                                    [&](const Scalar& m) { return within_bound(m, inputs, bound); });
    if (own == members.end() || other == members.end()) continue;
    Scalar key = passes::shifted(*own, -static_cast<std::ptrdiff_t>(span.begin));
    if (std::find(step.lookup_key.begin(), step.lookup_key.end(), key) != step.lookup_key.end()) continue;
    step.lookup_key.push_back(std::move(key));
    step.stream_key.push_back(*other);
  }
  return step;
}

bool matches_once(const JoinInput& input, const ArrangementKey& key) {
  std::set<std::size_t> fixed;
  for (const Scalar& part : key) {
    if (const auto* column = part.as<Scalar::Column>()) fixed.insert(column->index);
  }
  return std::any_of(input.unique_keys.begin(), input.unique_keys.end(), [&](const auto& unique) {
    return std::all_of(unique.begin(), unique.end(), [&](std::size_t c) { return fixed.contains(c); });
  });
}

Score score(const JoinStep& step, const JoinInput& input) {
  return {step.lookup_key.empty() && !matches_once(input, step.lookup_key) ? 0U : 1U,
          matches_once(input, step.lookup_key) ? 1U : 0U,
          step.lookup_key.size(),
          input.is_arranged(step.lookup_key) ? 1U : 0U,
          input.has_literal_filter ? 1U : 0U,
          input.has_filter ? 1U : 0U};
}

struct Scored {
  JoinOrder order;
  std::vector<Score> scores;
};

Scored scored_from(std::size_t source, const std::vector<JoinInput>& inputs, const Classes& classes) {
  Scored out{{source, {}}, {}};
  std::vector<bool> bound(inputs.size());
  bound[source] = true;
  for (std::size_t n = 1; n < inputs.size(); ++n) {
    std::optional<JoinStep> best;
    Score best_score{};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (bound[i]) continue;
      JoinStep step = step_to(i, inputs, bound, classes);
      const Score s = score(step, inputs[i]);
      if (!best || s > best_score) {
        best = std::move(step);
        best_score = s;
      }
    }
    bound[best->input] = true;
    out.order.steps.push_back(*std::move(best));
    out.scores.push_back(best_score);
  }
  return out;
}

}  // namespace

JoinOrder order_from(std::size_t source, const std::vector<JoinInput>& inputs, const Classes& classes) {
  return scored_from(source, inputs, classes).order;
}

JoinOrder written_order(const std::vector<JoinInput>& inputs, const Classes& classes) {
  JoinOrder order;
  std::vector<bool> bound(inputs.size());
  bound[0] = true;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    order.steps.push_back(step_to(i, inputs, bound, classes));
    bound[i] = true;
  }
  return order;
}

JoinOrder best_order(const std::vector<JoinInput>& inputs, const Classes& classes) {
  std::optional<Scored> best;
  std::vector<Score> best_sorted;
  Score best_source{};
  for (std::size_t source = 0; source < inputs.size(); ++source) {
    Scored candidate = scored_from(source, inputs, classes);
    std::vector<Score> sorted = candidate.scores;
    std::sort(sorted.begin(), sorted.end());
    const Score own = {inputs[source].has_literal_filter ? 1U : 0U, inputs[source].has_filter ? 1U : 0U};
    if (!best || std::pair(sorted, own) > std::pair(best_sorted, best_source)) {
      best = std::move(candidate);
      best_sorted = std::move(sorted);
      best_source = own;
    }
  }
  return std::move(best->order);
}

std::vector<JoinOrder> delta_orders(const std::vector<JoinInput>& inputs, const Classes& classes, bool eager) {
  if (inputs.size() < 3) return {};
  std::vector<JoinOrder> orders;
  for (std::size_t source = 0; source < inputs.size(); ++source) {
    JoinOrder order = order_from(source, inputs, classes);
    for (const JoinStep& step : order.steps) {
      if (step.lookup_key.empty()) return {};
      if (!eager && !inputs[step.input].is_arranged(step.lookup_key)) return {};
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace freshet::sql::physical
