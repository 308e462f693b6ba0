// SPDX-License-Identifier: Apache-2.0
// Joins: which arrangements, in which order, and what is tested and dropped after each step.
#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/match_keys.h>

#include "physical/lowering.h"

namespace freshet::sql::physical {
namespace {

using expr::GlobalId;
using expr::JoinStage;

bool can_fail(const std::vector<Scalar>& scalars) {
  return std::any_of(scalars.begin(), scalars.end(), [](const Scalar& s) { return s.can_fail(); });
}
bool can_fail(const Mfp& mfp) { return can_fail(mfp.expressions) || can_fail(mfp.predicates); }

/// Puts the stages of one order together: which columns are still needed, which tests are due.
class StageBuilder {
 public:
  StageBuilder(const std::vector<JoinInput>& inputs, const Classes& classes, const Mfp& closure, bool keep_all)
      : inputs_(inputs), classes_(classes), closure_(closure), keep_all_(keep_all),
        tied_(classes.size()), tested_(closure.predicates.size()) {}

  struct Built {
    Mfp initial;
    std::vector<JoinStage> stages;
  };
  Result<Built> build(const JoinOrder& order) {
    bound_.resize(inputs_.size());
    order_ = &order;
    const Span source = inputs_[order.source].span;
    bound_[order.source] = true;
    for (std::size_t c = source.begin; c < source.end; ++c) layout_.push_back(c);
    Built built;
    built.initial = FRESHET_TRY(after_step(0, nullptr));
    for (std::size_t s = 0; s < order.steps.size(); ++s) {
      const JoinStep& step = order.steps[s];
      JoinStage stage{step.input, step.lookup_key, {}, {}};
      for (const Scalar& key : step.stream_key) stage.stream_key.push_back(key.with_columns(places()));
      const Span span = inputs_[step.input].span;
      bound_[step.input] = true;
      for (std::size_t c = span.begin; c < span.end; ++c) layout_.push_back(c);
      stage.after = FRESHET_TRY(after_step(s + 1, &step));
      built.stages.push_back(std::move(stage));
    }
    return built;
  }

 private:
  /// Where each joined column is in the row at hand.
  std::vector<std::size_t> places() const {
    std::vector<std::size_t> map(closure_.input_arity, 0);
    for (std::size_t i = 0; i < layout_.size(); ++i) map[layout_[i]] = i;
    return map;
  }
  bool available(const Scalar& scalar) const {
    const auto columns = scalar.columns();
    return std::all_of(columns.begin(), columns.end(), [&](std::size_t c) {
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        if (inputs_[i].span.contains(c)) return static_cast<bool>(bound_[i]);
      }
      return false;  // an expression of the closure
    });
  }
  bool is_last(std::size_t step) const { return step == order_->steps.size(); }

  /// What follows when `step` steps are done: tests, then the columns still needed, or the whole closure.
  Result<Mfp> after_step(std::size_t step, const JoinStep* joined) {
    std::vector<Scalar> tests = FRESHET_TRY(class_tests(joined, is_last(step)));
    Mfp after = Mfp::identity(closure_.input_arity);
    if (!is_last(step)) {
      for (std::size_t p = 0; p < tested_.size() && !keep_all_; ++p) {
        const Scalar& predicate = closure_.predicates[p];
        if (tested_[p] || predicate.can_fail() || !available(predicate)) continue;
        tested_[p] = true;
        tests.push_back(predicate);
      }
      after.predicates = std::move(tests);
      return narrowed(after, step);
    }
    after = closure_;
    after.predicates = std::move(tests);
    for (std::size_t p = 0; p < tested_.size(); ++p) {
      if (!tested_[p]) after.predicates.push_back(closure_.predicates[p]);
    }
    return after.with_input(places(), layout_.size());
  }

  Mfp narrowed(Mfp after, std::size_t step) {
    const std::vector<std::size_t> before = places();
    const std::size_t width = layout_.size();
    const std::set<std::size_t> needed = needed_after(step);
    std::vector<std::size_t> kept;
    for (const std::size_t c : layout_) {
      if (keep_all_ || needed.contains(c)) kept.push_back(c);
    }
    after.projection = kept;
    layout_ = std::move(kept);
    return after.with_input(before, width);
  }

  std::set<std::size_t> needed_after(std::size_t step) const {
    std::set<std::size_t> needed;
    Mfp rest = closure_;
    rest.predicates.clear();
    for (std::size_t p = 0; p < tested_.size(); ++p) {
      if (!tested_[p]) rest.predicates.push_back(closure_.predicates[p]);
    }
    for (const std::size_t c : rest.demand()) needed.insert(c);
    for (std::size_t s = step; s < order_->steps.size(); ++s) {
      for (const Scalar& key : order_->steps[s].stream_key) needed.merge(key.columns());
    }
    // Members that later steps will be tested against, and those that have only a part of their columns here.
    for (std::size_t e = 0; e < classes_.size(); ++e) {
      const bool done = std::all_of(classes_[e].begin(), classes_[e].end(),
                                    [&](const Scalar& m) { return is_tied(e, m); });
      if (done) continue;
      for (const Scalar& member : classes_[e]) needed.merge(member.columns());
    }
    return needed;
  }

  bool is_tied(std::size_t e, const Scalar& member) const {
    return std::find(tied_[e].begin(), tied_[e].end(), member) != tied_[e].end();
  }

  /// Equalities of class members that are there now and that the lookups have not tested.
  Result<std::vector<Scalar>> class_tests(const JoinStep* joined, bool last) {
    std::vector<Scalar> tests;
    for (std::size_t e = 0; e < classes_.size(); ++e) {
      const std::vector<Scalar>& members = classes_[e];
      if (joined != nullptr) tie_lookup(e, *joined);
      for (const Scalar& member : members) {
        if (is_tied(e, member) || !available(member) || (member.can_fail() && !last)) continue;
        if (!tied_[e].empty()) {
          const auto equality = passes::make_equality(tied_[e].front(), member);
          if (!equality) {
            return fail(sqlstate::kFeatureNotSupported, "no equality for " + to_string(member));
          }
          tests.push_back(*equality);
        } else if (members.size() == 1) {
          tests.push_back(passes::is_not_null(member));
        }
        tied_[e].push_back(member);
      }
    }
    return tests;
  }

  /// What the lookup of this step has compared.
  void tie_lookup(std::size_t e, const JoinStep& step) {
    for (std::size_t k = 0; k < step.lookup_key.size(); ++k) {
      const Scalar own = passes::shifted(step.lookup_key[k],
                                         static_cast<std::ptrdiff_t>(inputs_[step.input].span.begin));
      const auto& members = classes_[e];
      const bool has_own = std::find(members.begin(), members.end(), own) != members.end();
      const bool has_stream =
          std::find(members.begin(), members.end(), step.stream_key[k]) != members.end();
      if (!has_own || !has_stream) continue;
      for (const Scalar* member : {&step.stream_key[k], &own}) {
        if (!is_tied(e, *member)) tied_[e].push_back(*member);
      }
    }
  }

  const std::vector<JoinInput>& inputs_;
  const Classes& classes_;
  const Mfp& closure_;
  bool keep_all_;
  const JoinOrder* order_ = nullptr;
  std::vector<bool> bound_{};
  std::vector<std::size_t> layout_{};
  std::vector<std::vector<Scalar>> tied_;
  std::vector<bool> tested_;
};

/// Members over one input that may fail become columns of that input: a row that fails is then an error of the
/// input whose key is not known.
Relation::Join with_computed_keys(const Relation::Join& n, Mfp& closure) {
  const std::vector<Span> spans = passes::input_spans(n.inputs);
  std::vector<std::vector<Scalar>> added(n.inputs.size());
  for (const auto& members : n.equivalences) {
    for (const Scalar& member : members) {
      if (!member.can_fail() || member.columns().empty()) continue;
      for (std::size_t i = 0; i < spans.size(); ++i) {
        if (!passes::within(member, spans[i])) continue;
        Scalar local = passes::shifted(member, -static_cast<std::ptrdiff_t>(spans[i].begin));
        auto& list = added[i];
        if (std::find(list.begin(), list.end(), local) == list.end()) list.push_back(std::move(local));
      }
    }
  }
  if (std::all_of(added.begin(), added.end(), [](const auto& list) { return list.empty(); })) return n;
  Relation::Join out;
  std::vector<std::size_t> map;
  std::vector<std::pair<Scalar, Scalar>> replaced;
  std::size_t width = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    for (std::size_t c = spans[i].begin; c < spans[i].end; ++c) map.push_back(width++);
    for (const Scalar& local : added[i]) {
      replaced.emplace_back(passes::shifted(local, static_cast<std::ptrdiff_t>(spans[i].begin)),
                            Scalar::column(width++, local.type()));
    }
    out.inputs.push_back(n.inputs[i].map(added[i]));
  }
  for (const auto& members : n.equivalences) {
    out.equivalences.emplace_back();
    for (const Scalar& member : members) {
      const auto found = std::find_if(replaced.begin(), replaced.end(),
                                      [&](const auto& r) { return r.first == member; });
      out.equivalences.back().push_back(found == replaced.end() ? member.with_columns(map) : found->second);
    }
  }
  closure = closure.with_input(map, width);
  return out;
}

/// The classes without what filters of the inputs see to already: equality with a literal.
Classes classes_to_join(const Relation::Join& n) {
  const std::vector<Span> spans = passes::input_spans(n.inputs);
  Classes out;
  for (const auto& members : n.equivalences) {
    std::vector<Scalar> columns;
    bool pinned = true;
    for (const Scalar& member : members) {
      if (member.is_literal()) continue;
      columns.push_back(member);
      const auto home = std::find_if(spans.begin(), spans.end(), [&](Span s) {
        return !member.columns().empty() && passes::within(member, s);
      });
      pinned = pinned && home != spans.end() &&
               passes::literal_of(n.inputs[static_cast<std::size_t>(home - spans.begin())],
                                  passes::shifted(member, -static_cast<std::ptrdiff_t>(home->begin)));
    }
    const bool has_literal = columns.size() < members.size();
    if (!has_literal || !pinned) {
      out.push_back(members);
    } else if (columns.size() > 1) {
      out.push_back(std::move(columns));
    }
  }
  return out;
}

void add_key(std::vector<ArrangementKey>& keys, const ArrangementKey& key) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
}

/// The input takes the index's order of key parts, so that the arrangement serves as it is.
void align(JoinStep& step, const ArrangementKey& index_key) {
  ArrangementKey stream;
  for (const Scalar& part : index_key) {
    const auto place = std::find(step.lookup_key.begin(), step.lookup_key.end(), part);
    stream.push_back(step.stream_key[static_cast<std::size_t>(place - step.lookup_key.begin())]);
  }
  step.lookup_key = index_key;
  step.stream_key = std::move(stream);
}

}  // namespace

JoinInput Lowering::describe(const Relation& input, Span span) const {
  JoinInput out{span, input.type().keys};
  const auto* get = input.as<Relation::Get>();
  const auto* global = get == nullptr ? nullptr : std::get_if<GlobalId>(&get->id);
  out.is_arranged = [this, global](const ArrangementKey& key) {
    return global != nullptr && indexes_.find(*global, key) != nullptr;
  };
  const Relation* below = &input;
  while (below->as<Relation::Project>() || below->as<Relation::Map>() || below->as<Relation::Filter>()) {
    if (const auto* filter = below->as<Relation::Filter>()) {
      out.has_filter = true;
      for (const Scalar& predicate : filter->predicates) {
        const auto equality = expr::as_equality(predicate);
        out.has_literal_filter = out.has_literal_filter ||
                                 (equality && (equality->first.is_literal() || equality->second.is_literal()));
      }
    }
    below = &below->children()[0];
  }
  return out;
}

void Lowering::open_indexed(Relation::Join& n, Mfp& closure) const {
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    const auto peeled = peel(n.inputs[i]);
    if (!peeled || peeled->mfp.is_identity() || peeled->mfp.is_temporal() || can_fail(peeled->mfp)) continue;
    const auto* get = peeled->core.as<Relation::Get>();
    const auto* global = get == nullptr ? nullptr : std::get_if<GlobalId>(&get->id);
    if (global == nullptr || indexes_.on(*global).empty()) continue;
    // A seek of a few rows is better than the whole index.
    const Columns& columns = peeled->core.type().columns;
    const auto& indexes = indexes_.on(*global);
    if (std::any_of(indexes.begin(), indexes.end(),
                    [&](const auto& index) { return find_seek(peeled->mfp, columns, index.key).has_value(); })) {
      continue;
    }
    const Span span = passes::input_spans(n.inputs)[i];
    ArrangementKey members;
    for (const auto& equal : n.equivalences) {
      for (const Scalar& member : equal) {
        if (member.columns().empty() || !passes::within(member, span)) continue;
        members.push_back(passes::shifted(member, -static_cast<std::ptrdiff_t>(span.begin)));
      }
    }
    const auto below = below_mfp(peeled->mfp, members);
    if (!below) continue;
    const bool usable = std::any_of(indexes.begin(), indexes.end(), [&](const auto& index) {
      return !index.key.empty() && std::all_of(index.key.begin(), index.key.end(), [&](const Scalar& part) {
        return std::find(below->begin(), below->end(), part) != below->end();
      });
    });
    if (!usable) continue;
    // The input becomes the collection itself; its step moves into the closure.
    const std::size_t wide = peeled->core.arity();
    const Mfp& step = peeled->mfp;
    Mfp before;
    before.input_arity = closure.input_arity - (span.end - span.begin) + wide;
    std::vector<std::size_t> place = passes::iota(span.begin, span.begin + wide);
    for (std::size_t e = 0; e < step.expressions.size(); ++e) place.push_back(before.input_arity + e);
    for (const Scalar& s : step.expressions) before.expressions.push_back(s.with_columns(place));
    for (const Scalar& s : step.predicates) before.predicates.push_back(s.with_columns(place));
    for (std::size_t c = 0; c < closure.input_arity; ++c) {
      if (c < span.begin) before.projection.push_back(c);
      else if (c < span.end) before.projection.push_back(place[step.projection[c - span.begin]]);
      else before.projection.push_back(c - (span.end - span.begin) + wide);
    }
    const std::vector<Scalar> written = before.written_out();
    for (auto& equal : n.equivalences) {
      for (Scalar& member : equal) {
        member = member.transform([&](Scalar s) {
          const auto* column = s.as<Scalar::Column>();
          if (column == nullptr) return s;
          const std::size_t c = before.projection[column->index];
          return c < before.input_arity ? Scalar::column(c, s.type()) : written[c - before.input_arity];
        });
      }
    }
    closure = before.then(closure).simplified();
    n.inputs[i] = peeled->core;
  }
}

Result<LirPtr> Lowering::arranged(const Relation& input, const std::vector<ArrangementKey>& keys) {
  const auto* get = input.as<Relation::Get>();
  const Columns& types = input.type().columns;
  const Mfp identity = Mfp::identity(input.arity());
  if (get != nullptr && !keys.empty()) {
    const auto* local = std::get_if<LocalId>(&get->id);
    const auto* global = std::get_if<GlobalId>(&get->id);
    bool exists = global != nullptr;
    for (const ArrangementKey& key : keys) {
      exists = exists && std::any_of(indexes_.on(*global).begin(), indexes_.on(*global).end(),
                                     [&](const auto& index) { return index.key == key; });
    }
    if (local != nullptr && requested_.contains(*local)) {
      for (const ArrangementKey& key : keys) add_key(requested_.at(*local), key);
      exists = true;
    }
    const std::optional<ArrangementKey> first = exists ? std::optional(keys.front()) : std::nullopt;
    LirPtr lowered = first ? make_lir(Lir::Get{get->id, first, std::nullopt, identity}, types)
                           : FRESHET_TRY(lower(input));
    if (exists && keys.size() == 1) return lowered;
    return make_lir(Lir::ArrangeBy{std::move(lowered), keys}, types);
  }
  LirPtr lowered = FRESHET_TRY(lower(input));
  if (keys.empty()) return lowered;
  return make_lir(Lir::ArrangeBy{std::move(lowered), keys}, types);
}

Result<LirPtr> Lowering::join(const Relation::Join& written, const Mfp& after) {
  Mfp closure = after;
  for (const auto& members : written.equivalences) {
    for (const Scalar& member : members) {
      if (member.contains_mz_now()) {
        return fail(sqlstate::kFeatureNotSupported, "mz_now() may not be joined on: " + to_string(member));
      }
    }
  }
  Relation::Join n = with_computed_keys(written, closure);
  if (!options_.literal) open_indexed(n, closure);
  const std::vector<Span> spans = passes::input_spans(n.inputs);
  std::vector<JoinInput> inputs;
  for (std::size_t i = 0; i < spans.size(); ++i) inputs.push_back(describe(n.inputs[i], spans[i]));
  const Classes classes = options_.literal ? n.equivalences : classes_to_join(n);
  std::vector<JoinOrder> paths;
  if (!options_.literal) paths = delta_orders(inputs, classes, options_.eager_delta_joins);
  std::vector<JoinOrder> orders = paths;
  if (paths.empty()) {
    orders.push_back(options_.literal ? written_order(inputs, classes)
                                      : best_order(inputs, classes));
  }
  std::vector<std::vector<ArrangementKey>> keys(inputs.size());
  for (JoinOrder& order : orders) {
    for (JoinStep& step : order.steps) {
      const auto* get = n.inputs[step.input].as<Relation::Get>();
      const auto* global = get == nullptr ? nullptr : std::get_if<GlobalId>(&get->id);
      const auto* index = global == nullptr ? nullptr : indexes_.find(*global, step.lookup_key);
      if (index != nullptr) align(step, index->key);
      add_key(keys[step.input], step.lookup_key);
    }
  }
  Lir::Join out{{}, expr::LinearJoin{}, n.equivalences, closure};
  if (paths.empty()) {
    const JoinOrder& order = orders.front();
    auto built = FRESHET_TRY(StageBuilder(inputs, classes, closure, options_.literal).build(order));
    expr::LinearJoin linear{order.source, std::nullopt, std::move(built.initial), std::move(built.stages)};
    if (!linear.stages.empty() && linear.initial.is_identity()) {
      const ArrangementKey& key = linear.stages.front().stream_key;
      if (inputs[order.source].is_arranged(key)) {
        const auto* get = n.inputs[order.source].as<Relation::Get>();
        const auto* index = indexes_.find(*std::get_if<GlobalId>(&get->id), key);
        if (index->key == key) {
          linear.source_key = key;
          add_key(keys[order.source], key);
        }
      }
    }
    out.plan = std::move(linear);
  } else {
    expr::DeltaJoin delta;
    for (const JoinOrder& order : orders) {
      auto built = FRESHET_TRY(StageBuilder(inputs, classes, closure, false).build(order));
      delta.paths.push_back({order.source, {}, std::move(built.initial), std::move(built.stages)});
    }
    // Each path streams from an arrangement that another path looks up.
    for (auto& path : delta.paths) path.source_key = keys[path.source].front();
    out.plan = std::move(delta);
  }
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    out.inputs.push_back(FRESHET_TRY(arranged(n.inputs[i], keys[i])));
  }
  return make_lir(std::move(out), closure.output_types(passes::side_by_side(n.inputs)));
}

}  // namespace freshet::sql::physical
