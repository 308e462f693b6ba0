// SPDX-License-Identifier: Apache-2.0
// Inner joins, and the joins that tell rows with a match from rows without.
#include <algorithm>

#include <differential/join.h>
#include <differential/reduce.h>

#include "dataflow/group_logic.h"
#include "dataflow/join_operator.h"
#include "dataflow/read_operator.h"
#include "dataflow/render.h"

namespace freshet::compute {
namespace {

ColumnTypes side_by_side(const ColumnTypes& left, const ColumnTypes& right) {
  ColumnTypes types = left;
  types.insert(types.end(), right.begin(), right.end());
  return types;
}

/// Counts are 64 bits, and wrap: what is added up stays exact as long as the sum fits.
Diff product(Diff a, Diff b) {
  return static_cast<Diff>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

bool uses_key(const expr::Lir::Join& node, std::size_t input, const expr::ArrangementKey& key) {
  const auto in = [&](std::size_t source, const auto& stages) {
    if (source == input && !stages.empty() && stages.front().stream_key == key) return true;
    return std::ranges::any_of(stages, [&](const expr::JoinStage& stage) {
      return stage.input == input && stage.lookup_key == key;
    });
  };
  if (const auto* linear = std::get_if<expr::LinearJoin>(&node.plan)) return in(linear->source, linear->stages);
  return std::ranges::any_of(std::get<expr::DeltaJoin>(node.plan).paths, [&](const expr::DeltaJoin::Path& path) {
    return in(path.source, path.stages) || (path.source == input && path.source_key == key);
  });
}

}  // namespace

template <typename T>
typename Renderer<T>::Joined Renderer<T>::join_stage(const BundleArrangement<T>& stream,
                                                     const BundleArrangement<T>& lookup,
                                                     const expr::Mfp& after, const ColumnTypes& joined,
                                                     bool nulls_match) {
  const auto step = std::make_shared<const MfpStep>(after, joined, options_.until, options_.futures);
  const auto layout =
      std::make_shared<const MatchLayout>(stream.arranger->layout(), lookup.arranger->layout(), step, nulls_match);
  const auto matches = differential::join_core<Matches<T>>(
      stream.oks, lookup.oks,
      [layout](std::string_view key, std::string_view first, std::string_view second, const T& time,
               Diff diff1, Diff diff2, Matches<T>& out) {
        layout->emit(key, first, second, time, product(diff1, diff2), out);
      },
      {.name = "Join", .container = kChunkRows});
  const auto rows = split<Rows<T>, ErrorUpdates<T>>(matches, "JoinRows", timely::Pipeline{},
                                                    [layout] { return MatchesToRows<T>(layout); });
  return {rows.first, rows.second};
}

template <typename T>
typename Renderer<T>::Joined Renderer<T>::linear_join(const Lir::Join&, const expr::LinearJoin& plan,
                                                      std::vector<Bundle<T>>& inputs) {
  std::vector<ErrorStream<T>> errs;
  Bundle<T> joined = inputs[plan.source];
  if (!plan.initial.is_identity()) {
    const auto initial = joined.oks ? through(*joined.oks, plan.initial, joined.types)
                                    : read(joined.made->arrangements.front(), plan.initial, std::nullopt);
    errs.push_back(initial.second);
    joined = Bundle<T>{.types = plan.initial.output_types(joined.types), .oks = initial.first, .errs = no_errors()};
  }
  for (const expr::JoinStage& stage : plan.stages) {
    Bundle<T>& input = inputs[stage.input];
    BundleArrangement<T>& stream_side = arrange(joined, stage.stream_key);
    BundleArrangement<T>& lookup_side = arrange(input, stage.lookup_key);
    const ColumnTypes types = side_by_side(joined.types, input.types);
    const Joined next = join_stage(stream_side, lookup_side, stage.after, types);
    errs.push_back(next.errs);
    joined = Bundle<T>{.types = stage.after.output_types(types), .oks = next.rows, .errs = no_errors()};
  }
  if (errs.empty()) errs.push_back(no_errors());
  return {stream(joined), concat(errs)};
}

template <typename T>
ErrorStream<T> Renderer<T>::join_errors(const Lir::Join& node, std::vector<Bundle<T>>& inputs,
                                        const ColumnTypes& types) {
  ColumnTypes all;
  for (const Bundle<T>& input : inputs) all.insert(all.end(), input.types.begin(), input.types.end());
  std::vector<ErrorStream<T>> errs;
  std::size_t offset = 0;
  for (Bundle<T>& input : inputs) {
    auto rule = [classes = node.equivalences, closure = node.closure, all,
                 offset](const expr::ErrorRow& row) -> std::optional<expr::ErrorRow> {
      const auto joined = expr::join_error({.equivalences = classes, .types = all}, offset, row);
      return joined ? expr::apply_mfp(closure, *joined, all) : std::nullopt;
    };
    std::vector<ErrorStream<T>> from{input.errs};
    for (const BundleArrangement<T>& made : input.made->arrangements) {
      // Keys that fail are errors of this join only if it uses them.
      if (may_fail(made.arranger->layout().key) && uses_key(node, static_cast<std::size_t>(&input - inputs.data()), made.arranger->layout().key)) {
        from.push_back(made.errs);
      }
    }
    errs.push_back(errors_through(concat(from), std::move(rule), input.types, types));
    offset += input.types.size();
  }
  return concat(errs);
}

template <typename T>
Bundle<T> Renderer<T>::join(const Lir::Join& node, const ColumnTypes& types) {
  std::vector<Bundle<T>> inputs;
  bool may_be_negative = false;
  for (const expr::LirPtr& plan : node.inputs) {
    inputs.push_back(render(plan));
    may_be_negative = may_be_negative || inputs.back().may_be_negative;
  }
  const auto* linear = std::get_if<expr::LinearJoin>(&node.plan);
  const Joined joined = linear != nullptr ? linear_join(node, *linear, inputs)
                                          : delta_join(node, std::get<expr::DeltaJoin>(node.plan), inputs);
  const ErrorStream<T> failed = may_be_negative ? present(joined.errs) : joined.errs;
  return {.types = types,
          .oks = joined.rows,
          .errs = concat({join_errors(node, inputs, types), failed}),
          .may_be_negative = may_be_negative};
}

// -- Match ---------------------------------------------------------------------------------------

template <typename T>
ArrangedRows<T> Renderer<T>::matched_keys(const BundleArrangement<T>& side, bool may_be_negative) {
  return differential::reduce_core<differential::RowTrace<T>>(
      side.oks, "matched keys", MatchedLogic{may_be_negative}, options_.block_bytes);
}

template <typename T>
RowStream<T> Renderer<T>::semi_join(const BundleArrangement<T>& left, const ArrangedRows<T>& keys) {
  const ColumnTypes& types = left.arranger->types();
  const auto step = std::make_shared<const MfpStep>(expr::Mfp::identity(types.size()), types, options_.until, options_.futures);
  // The other side is an arrangement of nothing but the key.
  expr::ArrangementLayout nothing{.key = left.arranger->layout().key, .key_types = left.arranger->layout().key_types};
  const auto layout = std::make_shared<const MatchLayout>(left.arranger->layout(), nothing, step);
  const auto matches = differential::join_core<Matches<T>>(
      left.oks, keys,
      [layout](std::string_view key, std::string_view first, std::string_view, const T& time, Diff diff1,
               Diff diff2, Matches<T>& out) { layout->emit(key, first, {}, time, product(diff1, diff2), out); },
      {.name = "SemiJoin", .container = kChunkRows});
  return split<Rows<T>, ErrorUpdates<T>>(matches, "SemiJoinRows", timely::Pipeline{},
                                         [layout] { return MatchesToRows<T>(layout); })
      .first;
}

namespace {

/// The columns of one side of a join of two, and NULLs on the other.
expr::Mfp padded(const ColumnTypes& left, const ColumnTypes& right, bool keep_left) {
  const ColumnTypes& kept = keep_left ? left : right;
  const ColumnTypes& other = keep_left ? right : left;
  std::vector<expr::Scalar> nulls;
  for (const repr::ColumnType& type : other) nulls.push_back(expr::Scalar::null(type.type));
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < left.size() + right.size(); ++c) {
    const bool of_left = c < left.size();
    if (of_left == keep_left) {
      columns.push_back(of_left ? c : c - left.size());
    } else {
      columns.push_back(kept.size() + (of_left ? c : c - left.size()));
    }
  }
  return expr::Mfp::identity(kept.size()).map(std::move(nulls)).project(std::move(columns));
}

template <typename T>
ErrorStream<T> match_errors(const ErrorStream<T>& errors, const expr::Lir::Match& node, bool of_left,
                            const ColumnTypes& left, const ColumnTypes& right, const ColumnTypes& joined) {
  return convert<ErrorUpdates<T>>(errors, "MatchErrors", [=](ErrorUpdates<T> list) {
    const expr::MatchErrors match{.kind = node.kind, .left_key = node.left_key, .right_key = node.right_key,
                                  .left_types = left, .right_types = right};
    const ColumnTypes after = node.after.output_types(joined);
    ErrorUpdates<T> result;
    for (const auto& update : list) {
      const expr::ErrorRow row = expr::decode_error_row(update.data, of_left ? left : right).value();
      for (const expr::ErrorRow& out : of_left ? expr::match_left_error(match, row) : expr::match_right_error(match, row)) {
        const auto passed = expr::apply_mfp(node.after, out, joined);
        if (passed) result.push_back({expr::encode_error_row(*passed, after), update.time, update.diff});
      }
    }
    return result;
  });
}

}  // namespace

template <typename T>
Bundle<T> Renderer<T>::match(const Lir::Match& node, const ColumnTypes& types) {
  using expr::MatchKind;
  Bundle<T> left = render(node.left);
  Bundle<T> right = render(node.right);
  BundleArrangement<T>& left_rows = arrange(left, node.left_key);
  BundleArrangement<T>& right_rows = arrange(right, node.right_key);
  const bool one_sided = node.kind == MatchKind::kSemi || node.kind == MatchKind::kAnti;
  const ColumnTypes joined = one_sided ? left.types : side_by_side(left.types, right.types);
  const bool may_be_negative = left.may_be_negative || (!one_sided && right.may_be_negative);
  std::vector<RowStream<T>> oks;
  std::vector<ErrorStream<T>> failed;
  const auto add = [&](const RowStream<T>& rows, const expr::Mfp& mfp, const ColumnTypes& from) {
    const auto result = through(rows, mfp, from);
    oks.push_back(result.first);
    failed.push_back(result.second);
  };
  const auto unmatched = [&](Bundle<T>& kept, BundleArrangement<T>& rows, const ArrangedRows<T>& keys) {
    return concat({stream(kept), negated(semi_join(rows, keys))});
  };
  const ArrangedRows<T> right_keys = matched_keys(right_rows, right.may_be_negative);
  if (node.kind == MatchKind::kSemi) {
    add(semi_join(left_rows, right_keys), node.after, left.types);
  } else if (node.kind == MatchKind::kAnti) {
    add(unmatched(left, left_rows, right_keys), node.after, left.types);
  } else {
    const Joined inner = join_stage(left_rows, right_rows, node.after, joined);
    oks.push_back(inner.rows);
    failed.push_back(inner.errs);
    add(unmatched(left, left_rows, right_keys), padded(left.types, right.types, true).then(node.after), left.types);
    if (node.kind == MatchKind::kFull) {
      const ArrangedRows<T> left_keys = matched_keys(left_rows, left.may_be_negative);
      add(unmatched(right, right_rows, left_keys), padded(left.types, right.types, false).then(node.after),
          right.types);
    }
  }
  // Unmatched rows come as all rows and the matched ones negated: an error among them counts if it is there.
  std::vector<ErrorStream<T>> errs{
      present(concat(failed)),
      match_errors(left_rows.errs, node, true, left.types, right.types, joined),
      match_errors(right_rows.errs, node, false, left.types, right.types, joined)};
  return {.types = types, .oks = concat(oks), .errs = concat(errs), .may_be_negative = may_be_negative};
}

#define FRESHET_INSTANTIATE(T)                                                                             \
  template Bundle<T> Renderer<T>::join(const Lir::Join&, const ColumnTypes&);                              \
  template typename Renderer<T>::Joined Renderer<T>::linear_join(                                          \
      const Lir::Join&, const expr::LinearJoin&, std::vector<Bundle<T>>&);                                 \
  template Bundle<T> Renderer<T>::match(const Lir::Match&, const ColumnTypes&);                            \
  template typename Renderer<T>::Joined Renderer<T>::join_stage(                                           \
      const BundleArrangement<T>&, const BundleArrangement<T>&, const expr::Mfp&, const ColumnTypes&, bool);

FRESHET_INSTANTIATE(SqlTime)
FRESHET_INSTANTIATE(LoopTime)

}  // namespace freshet::compute
