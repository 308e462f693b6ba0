// SPDX-License-Identifier: Apache-2.0
// The skeleton: which node is rendered by what, and the nodes that need no arrangement.
#include "dataflow/render.h"

#include <algorithm>

#include "dataflow/constant_operator.h"
#include "dataflow/flat_map_operator.h"

namespace freshet::compute {

template <typename T>
Bundle<T> Renderer<T>::render(const expr::LirPtr& plan) {
  struct Visitor {
    Renderer& self;
    const ColumnTypes& types;
    Bundle<T> operator()(const Lir::Constant& n) { return self.constant(n, types); }
    Bundle<T> operator()(const Lir::Get& n) { return self.get(n, types); }
    Bundle<T> operator()(const Lir::Let& n) { return self.let(n); }
    Bundle<T> operator()(const Lir::LetRec& n) { return self.let_rec(n, types); }
    Bundle<T> operator()(const Lir::MapFilterProject& n) { return self.map_filter_project(n, types); }
    Bundle<T> operator()(const Lir::FlatMap& n) { return self.flat_map(n, types); }
    Bundle<T> operator()(const Lir::Join& n) { return self.join(n, types); }
    Bundle<T> operator()(const Lir::Match& n) { return self.match(n, types); }
    Bundle<T> operator()(const Lir::Reduce& n) { return self.reduce(n, types); }
    Bundle<T> operator()(const Lir::TopK& n) { return self.top_k(n, types); }
    Bundle<T> operator()(const Lir::Negate& n) { return self.negate(n); }
    Bundle<T> operator()(const Lir::Threshold& n) { return self.threshold(n); }
    Bundle<T> operator()(const Lir::Union& n) { return self.union_all(n); }
    Bundle<T> operator()(const Lir::ArrangeBy& n) { return self.arrange_by(n); }
  };
  Bundle<T> result = std::visit(Visitor{*this, plan->types}, plan->node);
  FRESHET_ASSERT(result.types.size() == plan->types.size(), result.types.size(), plan->types.size());
  return result;
}

// -- streams -------------------------------------------------------------------------------------

template <typename T>
RowStream<T> Renderer<T>::no_rows() {
  return scope_.template source<Rows<T>>(
      "NoRows", [](timely::Setup<T>&) { return [](timely::Output<T, Rows<T>>&) {}; });
}

template <typename T>
ErrorStream<T> Renderer<T>::no_errors() {
  return scope_.template source<ErrorUpdates<T>>(
      "NoErrors", [](timely::Setup<T>&) { return [](timely::Output<T, ErrorUpdates<T>>&) {}; });
}

template <typename T>
RowStream<T> Renderer<T>::concat(const std::vector<RowStream<T>>& streams) {
  return streams.size() == 1 ? streams.front() : timely::concatenate(streams);
}

template <typename T>
ErrorStream<T> Renderer<T>::concat(const std::vector<ErrorStream<T>>& streams) {
  return streams.size() == 1 ? streams.front() : timely::concatenate(streams);
}

template <typename T>
std::pair<RowStream<T>, ErrorStream<T>> Renderer<T>::through(const RowStream<T>& rows, const expr::Mfp& mfp,
                                                             const ColumnTypes& types) {
  const auto step = std::make_shared<const MfpStep>(mfp, types, options_.until, options_.futures);
  return split<Rows<T>, ErrorUpdates<T>>(rows, "MapFilterProject", timely::Pipeline{},
                                         [step] { return MfpOperator<T>(step); });
}

template <typename T>
ErrorStream<T> Renderer<T>::errors_through(const ErrorStream<T>& errors, ErrorRule rule,
                                           const ColumnTypes& from, const ColumnTypes& to) {
  return errors.unary("Errors", timely::Pipeline{},
                      [rule = std::move(rule), from, to] { return ErrorMap<T>(rule, from, to); },
                      timely::FrontierInterest::kNever);
}

template <typename T>
ErrorStream<T> Renderer<T>::errors_through(const ErrorStream<T>& errors, const expr::Mfp& mfp,
                                           const ColumnTypes& types) {
  if (mfp.is_identity()) return errors;
  auto rule = [mfp, types](const expr::ErrorRow& row) { return expr::apply_mfp(mfp, row, types); };
  return errors_through(errors, std::move(rule), types, mfp.output_types(types));
}

template <typename T>
RowStream<T> Renderer<T>::negated(const RowStream<T>& rows) {
  return rows.unary("Negate", timely::Pipeline{}, [] { return NegateOperator<T>(); },
                    timely::FrontierInterest::kNever);
}

// -- nodes ---------------------------------------------------------------------------------------

template <typename T>
Bundle<T> Renderer<T>::constant(const Lir::Constant& node, const ColumnTypes& types) {
  if constexpr (kIsLoop<T>) {
    Bundle<SqlTime> outer = parent_->constant(node, types);
    return enter(outer);
  } else {
    const auto parts = std::make_shared<const ConstantParts>(constant_parts(node, types, options_.as_of));
    timely::OperatorBuilder<T> builder(scope_, "Constant");
    const auto oks = builder.template output<Rows<T>>();
    const auto errs = builder.template output<ErrorUpdates<T>>();
    builder.initial_capabilities();
    timely::detail::build_stepper(
        builder,
        [parts, as_of = options_.as_of](timely::Setup<T>& setup) {
          return ConstantOperator(setup, parts, as_of);
        },
        oks.first, errs.first);
    Bundle<T> result{.types = types, .oks = oks.second, .errs = errs.second};
    result.may_be_negative = std::ranges::any_of(node.rows, [](const auto& row) { return row.second < 0; });
    return result;
  }
}

template <typename T>
Bundle<T> Renderer<T>::get(const Lir::Get& node, const ColumnTypes&) {
  Bundle<T>& from = lookup(node.id);
  const bool identity = node.mfp.is_identity();
  if (!node.seek && identity) return from;
  Bundle<T> result{.types = node.mfp.output_types(from.types),
                   .errs = from.errs,
                   .may_be_negative = from.may_be_negative};
  std::optional<std::pair<RowStream<T>, ErrorStream<T>>> rows;
  if (node.key) {
    BundleArrangement<T>& arrangement = arrange(from, *node.key);
    result.errs = arrangement.errs;
    rows = read(arrangement, node.mfp, node.seek);
  } else {
    rows = through(stream(from), node.mfp, from.types);
  }
  ErrorRule rule = [mfp = node.mfp, types = from.types](const expr::ErrorRow& row) {
    return expr::apply_mfp(mfp, row, types);
  };
  if (node.seek) {
    rule = [rule, key = *node.key, types = from.types, seek = *node.seek](
               const expr::ErrorRow& row) -> std::optional<expr::ErrorRow> {
      const std::optional<repr::DatumRow> value = known_key(key, types, row);
      const auto equals = [&](const repr::DatumRow& wanted) {
        for (std::size_t k = 0; k < key.size(); ++k) {
          if (repr::compare(wanted[k], (*value)[k], key[k].type().type) != 0) return false;
        }
        return true;
      };
      if (value && std::ranges::none_of(seek, equals)) return std::nullopt;
      return rule(row);
    };
  }
  const ErrorStream<T> passed = errors_through(result.errs, std::move(rule), from.types, result.types);
  result.oks = rows->first;
  const ErrorStream<T> failed = from.may_be_negative ? present(rows->second) : rows->second;
  result.errs = concat({passed, failed});
  return result;
}

template <typename T>
Bundle<T> Renderer<T>::let(const Lir::Let& node) {
  locals_.insert_or_assign(node.id, render(node.value));
  return render(node.body);
}

template <typename T>
Bundle<T> Renderer<T>::map_filter_project(const Lir::MapFilterProject& node, const ColumnTypes&) {
  Bundle<T> input = render(node.input);
  if (node.mfp.is_identity()) return input;
  const auto rows = input.oks ? through(*input.oks, node.mfp, input.types)
                              : read(input.made->arrangements.front(), node.mfp, std::nullopt);
  const ErrorStream<T> failed = input.may_be_negative ? present(rows.second) : rows.second;
  return {.types = node.mfp.output_types(input.types),
          .oks = rows.first,
          .errs = concat({errors_through(input.errs, node.mfp, input.types), failed}),
          .may_be_negative = input.may_be_negative};
}

template <typename T>
Bundle<T> Renderer<T>::flat_map(const Lir::FlatMap& node, const ColumnTypes&) {
  Bundle<T> input = render(node.input);
  const auto step = std::make_shared<const FlatMapStep>(node, input.types);
  const auto after = std::make_shared<const MfpStep>(node.after, step->wide_types(), options_.until, options_.futures);
  const auto rows = split<Rows<T>, ErrorUpdates<T>>(
      stream(input), "FlatMap", timely::Pipeline{},
      [step, after] { return FlatMapOperator<T>(step, after); });
  const ColumnTypes types = node.after.output_types(step->wide_types());
  auto rule = [step, mfp = node.after](expr::ErrorRow row) {
    row.known.resize(step->wide_types().size());
    return expr::apply_mfp(mfp, row, step->wide_types());
  };
  const ErrorStream<T> failed = input.may_be_negative ? present(rows.second) : rows.second;
  return {.types = types,
          .oks = rows.first,
          .errs = concat({errors_through(input.errs, rule, input.types, types), failed}),
          .may_be_negative = input.may_be_negative};
}

template <typename T>
Bundle<T> Renderer<T>::negate(const Lir::Negate& node) {
  Bundle<T> input = render(node.input);
  return {.types = input.types, .oks = negated(stream(input)), .errs = input.errs, .may_be_negative = true};
}

template <typename T>
Bundle<T> Renderer<T>::union_all(const Lir::Union& node) {
  std::vector<RowStream<T>> oks;
  std::vector<ErrorStream<T>> errs;
  Bundle<T> result{.types = {}, .errs = no_errors()};
  for (const expr::LirPtr& plan : node.inputs) {
    Bundle<T> input = render(plan);
    oks.push_back(stream(input));
    errs.push_back(input.errs);
    result.may_be_negative = result.may_be_negative || input.may_be_negative;
    if (result.types.empty()) result.types = input.types;
  }
  result.oks = concat(oks);
  result.errs = concat(errs);
  return result;
}

template <typename T>
Bundle<T> Renderer<T>::arrange_by(const Lir::ArrangeBy& node) {
  Bundle<T> input = render(node.input);
  for (const expr::ArrangementKey& key : node.keys) arrange(input, key);
  return input;
}

template <typename T>
Bundle<T>& Renderer<T>::lookup(const std::variant<expr::GlobalId, expr::LocalId>& id) {
  if (const auto* local = std::get_if<expr::LocalId>(&id)) {
    auto found = locals_.find(*local);
    if constexpr (kIsLoop<T>) {
      if (found == locals_.end()) found = locals_.emplace(*local, enter(parent_->lookup(id))).first;
    }
    FRESHET_ASSERT(found != locals_.end(), local->number);
    return found->second;
  }
  const expr::GlobalId global = std::get<expr::GlobalId>(id);
  auto found = globals_.find(global);
  if constexpr (kIsLoop<T>) {
    if (found == globals_.end()) found = globals_.emplace(global, enter(parent_->lookup(id))).first;
  }
  FRESHET_ASSERT(found != globals_.end(), global);
  return found->second;
}

template class Renderer<SqlTime>;
template class Renderer<LoopTime>;

}  // namespace freshet::compute
