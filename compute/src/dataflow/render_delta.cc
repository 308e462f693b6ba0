// SPDX-License-Identifier: Apache-2.0
// Delta joins: one path for each input, no intermediate arrangement.
#include <algorithm>

#include "dataflow/half_join_operator.h"
#include "dataflow/render.h"

namespace freshet::compute {
namespace {

/// Only what comes after the beginning.
Rows<SqlTime> later(Rows<SqlTime> rows, SqlTime as_of) {
  std::vector<std::uint32_t> keep;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (rows.time(i) > as_of) keep.push_back(i);
  }
  if (keep.size() == rows.size()) return rows;
  return rows.with(gather_rows(rows.chunk, keep));
}

/// True if rows move to later times before they have met every input: paths would then meet twice.
bool moves_on_the_way(const expr::DeltaJoin& plan) {
  return std::ranges::any_of(plan.paths, [](const expr::DeltaJoin::Path& path) {
    bool temporal = path.initial.is_temporal();
    for (std::size_t s = 0; s + 1 < path.stages.size(); ++s) temporal = temporal || path.stages[s].after.is_temporal();
    return temporal;
  });
}

expr::LinearJoin first_path(const expr::DeltaJoin& plan) {
  const expr::DeltaJoin::Path& path = plan.paths.front();
  return {.source = path.source, .source_key = path.source_key, .initial = path.initial, .stages = path.stages};
}

}  // namespace

template <>
Renderer<SqlTime>::Joined Renderer<SqlTime>::half_join(const Joined& stream, const ColumnTypes& stream_types,
                                                       const expr::JoinStage& stage, Bundle<SqlTime>& input, bool strict) {
  const BundleArrangement<SqlTime>& lookup = arrange(input, stage.lookup_key);
  const auto arranger = std::make_shared<const Arranger>(stream_types, stage.stream_key);
  const auto updates = split<differential::RowUpdates<SqlTime>, ErrorUpdates<SqlTime>>(
      stream.rows, "LookupKeys", timely::Pipeline{}, [arranger] { return ArrangeRows<SqlTime>(arranger); });
  ColumnTypes joined = stream_types;
  joined.insert(joined.end(), input.types.begin(), input.types.end());
  const auto step = std::make_shared<const MfpStep>(stage.after, joined, options_.until, options_.futures);
  const auto layout = std::make_shared<const MatchLayout>(arranger->layout(), lookup.arranger->layout(), step);
  const auto matches = updates.first.binary<Matches<SqlTime>>(
      lookup.oks.stream(), "HalfJoin", timely::Exchange{differential::KeyRoute{}}, timely::Pipeline{},
      [arrangement = lookup.oks.arrangement(), holds = lookup.oks.worker_holds(), map = lookup.oks.time_map(), strict,
       layout](timely::Setup<SqlTime>& setup) {
        const std::size_t worker = setup.worker();
        return HalfJoinOperator(HalfJoinOperator::Side(arrangement->trace(worker), holds.take(worker), map), strict,
                                layout);
      });
  const auto rows = split<Rows<SqlTime>, ErrorUpdates<SqlTime>>(
      matches, "JoinRows", timely::Pipeline{}, [layout] { return MatchesToRows<SqlTime>(layout); });
  return {rows.first, concat({stream.errs, updates.second, rows.second})};
}

// Inside loops times are not in one line; there one path with arranged intermediate results does it all.
template <>
Renderer<LoopTime>::Joined Renderer<LoopTime>::delta_join(const Lir::Join& node, const expr::DeltaJoin& plan,
                                                          std::vector<Bundle<LoopTime>>& inputs) {
  return linear_join(node, first_path(plan), inputs);
}

template <>
Renderer<SqlTime>::Joined Renderer<SqlTime>::delta_join(const Lir::Join& node, const expr::DeltaJoin& plan,
                                                        std::vector<Bundle<SqlTime>>& inputs) {
  if (moves_on_the_way(plan)) return linear_join(node, first_path(plan), inputs);
  std::vector<RowStream<SqlTime>> oks;
  std::vector<ErrorStream<SqlTime>> errs;
  for (const expr::DeltaJoin::Path& path : plan.paths) {
    Bundle<SqlTime>& source = inputs[path.source];
    RowStream<SqlTime> rows = stream(source);
    if (path.source > 0) {
      // At the beginning the first input's path finds everything.
      rows = convert<Rows<SqlTime>>(rows, "Later", [as_of = options_.as_of](Rows<SqlTime> all) {
        return later(std::move(all), as_of);
      });
    }
    const auto initial = through(rows, path.initial, source.types);
    Joined joined{initial.first, initial.second};
    ColumnTypes types = path.initial.output_types(source.types);
    for (const expr::JoinStage& stage : path.stages) {
      Bundle<SqlTime>& input = inputs[stage.input];
      // Of two changes at one time, the input that comes first sees the other.
      joined = half_join(joined, types, stage, input, stage.input < path.source);
      types.insert(types.end(), input.types.begin(), input.types.end());
      types = stage.after.output_types(types);
    }
    oks.push_back(joined.rows);
    errs.push_back(joined.errs);
  }
  return {concat(oks), concat(errs)};
}

}  // namespace freshet::compute
