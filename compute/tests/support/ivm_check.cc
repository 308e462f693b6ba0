// SPDX-License-Identifier: Apache-2.0
#include "support/ivm_check.h"

#include <algorithm>
#include <sstream>

#include <freshet/expr/text.h>
#include <freshet/sql/physical.h>

#include "support/world.h"

namespace compute_testing {

using namespace freshet;  // NOLINT: a test
using expr::Relation;
using repr::ColumnType;

namespace {

constexpr GlobalId kObject{GlobalId::Kind::kUser, 1000};
constexpr GlobalId kIndex{GlobalId::Kind::kUser, 1001};
constexpr GlobalId kSubscribe{GlobalId::Kind::kTransient, 1002};

struct Run {
  std::uint64_t seed;
  testing::Random random;
  testing::RandomSchema schema;
  Relation plan;
  testing::History history;
  bool literal;
  std::unique_ptr<World> world{};
  std::string physical{};
  std::size_t committed = 0;  // history.times[0, committed) are in the tables
  SqlTime since = 0;

  [[nodiscard]] const std::vector<ColumnType>& types() const { return plan.type().columns; }
};

repr::RelationDesc described(const repr::RelationType& type) {
  repr::RelationDesc desc{.type = type};
  for (std::size_t c = 0; c < type.arity(); ++c) desc.names.push_back("c" + std::to_string(c));
  return desc;
}

expr::ArrangementKey random_key(testing::Random& random, const std::vector<ColumnType>& types) {
  expr::ArrangementKey key;
  // One column, mostly: those are what predicates can look up.
  if (!types.empty() && random.coin()) {
    const std::size_t c = random.below(types.size());
    return {expr::Scalar::column(c, types[c])};
  }
  for (std::size_t c = 0; c < types.size(); ++c) {
    if (random.one_in(2)) key.push_back(expr::Scalar::column(c, types[c]));
  }
  return key;
}

void commit_next(Run& run) {
  const SqlTime time = run.history.times[run.committed++];
  std::map<GlobalId, TableChange> changes;
  for (const testing::Change& change : run.history.changes) {
    if (change.time != time) continue;
    TableChange& table = changes[change.collection];
    if (change.error) {
      table.errors.emplace_back(*change.error, change.diff);
    } else {
      table.rows.emplace_back(change.row, change.diff);
    }
  }
  run.world->commit(time, changes);
}

/// Indexes on some of the tables, in dataflows of their own.
sql::IndexOracle make_indexes(Run& run, SqlTime as_of) {
  sql::IndexOracle oracle;
  std::uint64_t next = 2000;
  for (const auto& [id, desc] : run.schema.collections) {
    if (run.random.coin()) continue;
    const GlobalId index{GlobalId::Kind::kUser, next++};
    expr::ArrangementKey key = random_key(run.random, desc.type.columns);
    sql::DataflowRequest request{.name = "index", .id = id, .relation = Relation::get(id, desc.type)};
    request.inputs.stored = run.schema.collections;
    request.index_exports.emplace(index, key);
    auto dataflow = sql::build_dataflow(request).value();
    dataflow.as_of = as_of;
    run.world->start(dataflow);
    oracle.indexes[id].push_back({index, key});
  }
  return oracle;
}

std::string explain(const Run& run, const std::string& what) {
  std::ostringstream out;
  out << "seed " << run.seed << ": " << what << "\nplan:\n" << sql::explain_raw(run.plan) << run.physical;
  for (const auto& [id, content] : run.world->tables_at(UINT64_MAX - 1)) {
    out << to_string(id) << " at the end:\n" << testing::describe(content, run.schema.collections.at(id).type.columns);
  }
  return out.str();
}

Multiset once(Multiset content) {
  for (auto& [row, count] : content.errs) count = 1;
  return content;
}

std::optional<std::string> differs(const Run& run, const Multiset& wanted, const Multiset& found) {
  if (run.literal) {
    if (once(wanted) == once(found)) return std::nullopt;
    return "contents differ";
  }
  return testing::compare_by_error_rule(wanted, found, run.types());
}

std::optional<std::string> check_time(Run& run, SqlTime time, IvmCoverage& coverage) {
  const Multiset wanted = expr::evaluate_naive(run.plan, run.world->tables_at(time), {.time = time}).value();
  if (Result<void> came = run.world->wait_for(kObject, time); !came) return came.error().message;
  const Result<Multiset> found = run.world->stored(kObject, run.plan.type(), time);
  if (!found) return "reading the view: " + found.error().message;
  coverage.plan.add_outcome(wanted);
  ++coverage.checked;
  coverage.non_empty += wanted.oks.empty() ? 0 : 1;
  coverage.add_errors(wanted, run.types());
  if (const auto wrong = differs(run, wanted, *found)) {
    return *wrong + " in the view at " + std::to_string(time) + "\nwanted:\n" + testing::describe(wanted, run.types()) +
           "found:\n" + testing::describe(*found, run.types());
  }
  const auto peeked = run.world->peek({.target = compute_api::Peek::Index{kIndex},
                                       .time = time,
                                       .mfp = expr::Mfp::identity(run.types().size())});
  const bool negative = std::ranges::any_of(found->oks, [](const auto& row) { return row.second < 0; });
  if (found->errs.empty() && !negative) {
    if (!peeked) return "peek at " + std::to_string(time) + " failed: " + peeked.error().message;
    if (*peeked != found->oks) return "the index differs from the view at " + std::to_string(time);
  } else if (peeked) {
    return "peek at " + std::to_string(time) + " should have failed";
  }
  return std::nullopt;
}

/// The subscription, accumulated up to each time, is the content; up to the first error.
std::optional<std::string> check_subscription(Run& run, SqlTime last) {
  std::map<std::string, Diff> content;
  SqlTime upper = 0;
  const auto compare = [&](SqlTime time) -> std::optional<std::string> {
    const Multiset wanted = expr::evaluate_naive(run.plan, run.world->tables_at(time), {.time = time}).value();
    if (!wanted.errs.empty() || wanted.oks == content) return std::nullopt;
    return "the subscription differs at " + std::to_string(time);
  };
  for (const auto& response : run.world->subscribed(kSubscribe)) {
    if (upper != 0 && response.lower != upper) return "the subscription has a gap at " + std::to_string(upper);
    upper = response.upper;
    if (response.error) return std::nullopt;
    for (std::size_t i = 0; i < response.rows.size(); ++i) {
      if (response.times[i] < response.lower || response.times[i] >= response.upper) return "an update out of its range";
      const auto entry = content.try_emplace(std::string(response.rows[i]), 0).first;
      if ((entry->second += response.diffs[i]) == 0) content.erase(entry);
    }
    if (upper > last) return compare(std::min(upper - 1, last));
    if (auto wrong = compare(upper - 1)) return wrong;
  }
  return "the subscription ends at " + std::to_string(upper);
}

Result<expr::DataflowDescription> optimized_dataflow(const Run& run, const sql::IndexOracle& indexes, bool eager) {
  sql::DataflowRequest request{.name = "view", .id = kObject, .relation = run.plan};
  request.inputs.stored = run.schema.collections;
  request.inputs.indexes = indexes;
  request.physical.eager_delta_joins = eager;
  return sql::build_dataflow(request);
}

// Without the optimizer, and with everything imported.
Result<expr::DataflowDescription> literal_dataflow(const Run& run, const sql::IndexOracle& indexes) {
  expr::DataflowDescription out{.name = "view"};
  auto lir = FRESHET_TRY(sql::lower_physical(run.plan, indexes, {.literal = true}));
  out.objects.push_back({kObject, run.plan, run.plan, std::move(lir)});
  for (const auto& [id, desc] : run.schema.collections) {
    if (indexes.on(id).empty()) out.sources.emplace(id, expr::SourceImport{desc});
    for (const auto& index : indexes.on(id)) {
      out.indexes.emplace(index.id, expr::IndexImport{.on = id, .key = index.key, .type = desc.type});
    }
  }
  return out;
}

std::optional<std::string> start_dataflow(Run& run, SqlTime as_of, IvmCoverage& coverage) {
  const sql::IndexOracle indexes = make_indexes(run, as_of);
  run.world->create_view(kObject, described(run.plan.type()), as_of);
  const expr::ArrangementKey key = random_key(run.random, run.types());
  const bool eager = run.random.coin();
  Result<expr::DataflowDescription> dataflow =
      run.literal ? literal_dataflow(run, indexes) : optimized_dataflow(run, indexes, eager);
  if (!dataflow) return "planning: " + dataflow.error().message;
  dataflow->index_exports.emplace(
      kIndex, expr::IndexExport{.on = kObject, .key = key, .type = run.plan.type()});
  // The sink writes under the object's own id.
  const repr::RelationDesc desc = described(run.plan.type());
  dataflow->sink_exports.emplace(
      kObject, expr::SinkExport{.kind = expr::SinkExport::Kind::kMaterializedView, .from = kObject, .desc = desc});
  dataflow->sink_exports.emplace(
      kSubscribe, expr::SinkExport{.kind = expr::SinkExport::Kind::kSubscribe, .from = kObject, .desc = desc});
  dataflow->as_of = as_of;
  for (const expr::ObjectPlan& object : dataflow->objects) coverage.add(*object.lir);
  run.physical = "as it runs:\n" + sql::explain_physical(*dataflow);
  run.world->start(*dataflow);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check_ivm(std::uint64_t seed, const IvmOptions& options, IvmCoverage& coverage) {
  testing::Random random(seed);
  testing::RandomSchema schema = testing::random_schema(random, options.plan);
  Relation plan = testing::random_relation(random, schema, options.plan);
  testing::History history = testing::random_history(random, schema, options.plan);
  ++coverage.seeds;
  coverage.plan.add(plan);
  // A table begins with time 0 behind it.
  for (SqlTime& time : history.times) time += 10;
  for (testing::Change& change : history.changes) change.time += 10;
  Run run{seed, random, std::move(schema), std::move(plan), std::move(history), random.coin() || options.literal};
  WorldOptions world{.workers = options.workers.value_or(1 + run.random.below(3)), .naive = options.naive, .threads = options.threads};
  world.block_bytes = run.random.pick<std::size_t>({0, 64, 1024});
  world.through_bytes = run.random.one_in(4);
  ++coverage.runs[std::to_string(world.workers) + (options.naive ? " workers, naive" : options.threads ? " workers, threads" : " workers, simulated")];
  ++coverage.runs[run.literal ? "unoptimised" : "optimised"];
  ++coverage.runs["blocks of " + std::to_string(world.block_bytes) + " bytes"];
  if (world.through_bytes) ++coverage.runs["commands as bytes"];
  run.world = World::make(seed, world);
  for (const auto& [id, desc] : run.schema.collections) run.world->create_table(id, desc);

  // Some history before the dataflow starts, the rest behind it.
  const std::size_t before = 1 + run.random.below(run.history.times.size());
  while (run.committed < before) commit_next(run);
  const SqlTime as_of = run.history.times[run.random.below(before)];
  run.since = as_of;
  if (auto wrong = start_dataflow(run, as_of, coverage)) return explain(run, *wrong);
  while (true) {
    if (run.random.coin()) {
      const SqlTime newest = run.history.times[run.committed - 1];
      // At the since, in the middle, at the end.
      const SqlTime time = run.since + run.random.below(newest - run.since + 1);
      for (const SqlTime t : {run.since, time, newest}) {
        if (auto wrong = check_time(run, t, coverage)) return explain(run, *wrong);
      }
      if (run.random.coin()) {
        run.since = time;
        ++coverage.runs["compaction"];
        run.world->allow_compaction(kIndex, run.since);
      }
    }
    if (run.committed == run.history.times.size()) break;
    commit_next(run);
  }
  const SqlTime last = run.history.times.back();
  for (const SqlTime time : run.history.times) {
    if (time < run.since) continue;
    if (auto wrong = check_time(run, time, coverage)) return explain(run, *wrong);
  }
  if (Result<void> came = run.world->wait_for(kSubscribe, last); came) {
    if (auto wrong = check_subscription(run, last)) return explain(run, *wrong);
  }
  return std::nullopt;
}

}  // namespace compute_testing
