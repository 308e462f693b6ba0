// SPDX-License-Identifier: Apache-2.0
#include <freshet/sql/plan.h>

#include <catch2/catch.hpp>
#include <freshet/base/sqlstate.h>

#include "snapshots.h"
#include "workbench.h"

namespace freshet::sql {
namespace {

std::string error_text(const Error& error) {
  std::string text = "error " + std::string(error.sqlstate.view()) + " at " + std::to_string(error.position) + ": " + error.message;
  if (!error.detail.empty()) text += "\ndetail: " + error.detail;
  if (!error.hint.empty()) text += "\nhint: " + error.hint;
  return text + "\n";
}

std::string desc_text(const repr::RelationDesc& desc) {
  std::string text;
  for (std::size_t i = 0; i < desc.arity(); ++i) {
    text += (i == 0 ? "" : ", ") + desc.names[i] + " " + repr::to_string(desc.type.columns[i].type);
    if (!desc.type.columns[i].nullable) text += " not null";
  }
  return "(" + text + ")\n";
}

std::string ids_text(const std::vector<expr::GlobalId>& ids) {
  std::string text;
  for (expr::GlobalId id : ids) text += " " + to_string(id);
  return text;
}

std::string describe(const Plan& plan) {
  std::string text;
  if (const auto* desc = plan.result_desc()) text += "returns " + desc_text(*desc);
  if (const auto* p = plan.as<SelectPlan>()) {
    text += to_string(p->relation);
    for (const auto& key : p->finishing.order_by) {
      text += "order #" + std::to_string(key.column) + (key.descending ? " desc" : "") + (key.nulls_last ? "" : " nulls first") + "\n";
    }
    if (p->finishing.limit) text += "limit " + to_string(*p->finishing.limit) + "\n";
    if (p->finishing.offset) text += "offset " + to_string(*p->finishing.offset) + "\n";
    if (p->as_of) text += std::string("as of ") + (p->as_of->at_least ? "at least " : "") + to_string(p->as_of->time) + "\n";
  }
  if (const auto* p = plan.as<SubscribePlan>()) {
    if (const auto* id = std::get_if<expr::GlobalId>(&p->from)) text += "from " + to_string(*id) + "\n";
    if (const auto* relation = std::get_if<expr::Relation>(&p->from)) text += to_string(*relation);
    text += std::string("snapshot ") + (p->snapshot ? "yes" : "no") + ", progress " + (p->progress ? "yes" : "no") + "\n";
    if (p->as_of) text += "as of " + to_string(p->as_of->time) + "\n";
    if (p->up_to) text += "up to " + to_string(*p->up_to) + "\n";
  }
  if (const auto* p = plan.as<InsertPlan>()) text += "insert into " + to_string(p->table) + "\n" + to_string(p->rows);
  if (const auto* p = plan.as<UpdatePlan>()) text += "update " + to_string(p->table) + "\n" + to_string(p->changes);
  if (const auto* p = plan.as<DeletePlan>()) text += "delete from " + to_string(p->table) + "\n" + to_string(p->rows);
  if (const auto* p = plan.as<CopyFromPlan>()) {
    text += "copy into " + to_string(p->table) + " " + desc_text(p->desc);
    for (const auto& scalar : p->row) text += "  " + to_string(scalar) + "\n";
    text += p->row_is_identity ? "identity\n" : "";
    text += std::string("delimiter '") + p->options.delimiter + "' null '" + p->options.null_text + "'" + (p->options.header ? " header" : "") + "\n";
  }
  if (const auto* p = plan.as<CopyToPlan>()) {
    text += std::visit([](const auto& source) -> std::string {
      if constexpr (requires { source.output_desc; }) return "copy subscribe " + desc_text(source.output_desc);
      else return "copy rows " + desc_text(source.desc);
    }, p->source);
  }
  if (const auto* p = plan.as<CreateTablePlan>()) {
    text += "table " + to_string(p->name) + " " + desc_text(p->desc) + p->create_sql + "\n";
    if (p->retain_history_micros) text += "retain " + std::to_string(*p->retain_history_micros) + "\n";
  }
  if (const auto* p = plan.as<CreateViewPlan>()) {
    text += std::string(p->materialized ? "materialized " : "") + "view " + to_string(p->name) + " " + desc_text(p->desc) + p->create_sql + "\n";
    std::vector<expr::GlobalId> ids(p->depends_on.begin(), p->depends_on.end());
    text += "depends on" + ids_text(ids) + "\n";
    if (p->retain_history_micros) text += "retain " + std::to_string(*p->retain_history_micros) + "\n";
  }
  if (const auto* p = plan.as<CreateIndexPlan>()) {
    text += "index " + to_string(p->name) + " on " + to_string(p->on) + " key";
    for (const auto& key : p->key) text += " " + to_string(key);
    text += "\n" + p->create_sql + "\n";
  }
  if (const auto* p = plan.as<CreateSourcePlan>()) {
    text += "source " + to_string(p->name) + (p->generator == CreateSourcePlan::Generator::kTpch ? " tpch" : " counter") + " scale " +
            std::to_string(p->scale_factor) + (p->tick_micros ? " tick " + std::to_string(*p->tick_micros) : "") + "\n";
    for (const auto& [output, as] : p->tables) text += "  " + output + " as " + to_string(as) + "\n";
  }
  if (const auto* p = plan.as<DropItemsPlan>()) text += "drop" + ids_text(p->ids) + "\n";
  if (const auto* p = plan.as<DropSchemaPlan>()) text += "drop schema" + ids_text(p->ids) + "\n";
  if (const auto* p = plan.as<DropDatabasePlan>()) text += "drop database" + ids_text(p->ids) + "\n";
  if (const auto* p = plan.as<SetVariablePlan>()) {
    text += std::string(p->local ? "set local " : "set ") + p->name;
    if (!p->values) text += " to default";
    else for (const auto& value : *p->values) text += " '" + value + "'";
    text += "\n";
  }
  if (const auto* p = plan.as<ExplainPlan>()) text += "explain " + (p->inner ? "\n" + describe(*p->inner) : to_string(*p->item) + "\n");
  if (const auto* p = plan.as<ExecutePlan>()) {
    text += "execute " + p->name;
    for (const auto& argument : p->arguments) text += " " + to_string(argument);
    text += "\n";
  }
  if (const auto* p = plan.as<SavepointPlan>()) {
    text += "savepoint " + std::to_string(static_cast<int>(p->what)) + " " + p->name + "\n";
  }
  if (plan.as<UnlistenPlan>()) text += "unlisten\n";
  if (const auto* p = plan.as<FetchPlan>()) {
    text += "fetch " + p->name + " " + (p->count ? std::to_string(*p->count) : "all") + (p->timeout_micros ? " timeout " + std::to_string(*p->timeout_micros) : "") + "\n";
  }
  if (const auto* p = plan.as<DeclarePlan>()) text += "declare " + p->name + "\n" + describe(*p->query);
  if (const auto* p = plan.as<BeginPlan>()) {
    text += "begin";
    if (p->modes.isolation) text += " isolation " + std::to_string(static_cast<int>(*p->modes.isolation));
    if (p->modes.read_only) text += *p->modes.read_only ? " read only" : " read write";
    text += "\n";
  }
  for (std::size_t i = 0; i < plan.parameter_types.size(); ++i) {
    text += "$" + std::to_string(i + 1) + " " + repr::to_string(plan.parameter_types[i]) + "\n";
  }
  for (const std::string& notice : plan.notices) text += "notice: " + notice + "\n";
  return text.empty() ? "ok\n" : text;
}

// `run` executes for what follows; `plan` shows the plan.
TEST_CASE("plan: statements, their plans and errors", "[sql][plan]") {
  for (const std::string name : {"statements", "decorrelation", "pg_catalog"}) {
    testing::Workbench bench;
    if (name == "pg_catalog") bench.add_pg_catalog();
    testing::run_script("scripts/" + name + ".script", [&](const std::string& command, const std::string& input) {
      if (command == "run") {
        const auto answer = bench.run(input);
        if (!answer) return error_text(answer.error());
        std::string text;
        for (const std::string& row : answer->rows) text += row + "\n";
        return text.empty() ? "(no rows)\n" : text;
      }
      REQUIRE(command == "plan");
      const auto parsed = parse(input);
      if (!parsed) return error_text(parsed.error());
      std::string text;
      for (const Statement& statement : *parsed) {
        const auto planned = plan(statement, bench.catalog, bench.settings);
        text += planned ? describe(*planned) : error_text(planned.error());
      }
      return text;
    });
  }
}

TEST_CASE("plan: targets are counted before they are bound", "[sql][plan]") {
  testing::Workbench bench;
  std::string text = "SELECT missing";
  for (int i = 0; i < 1664; ++i) text += ", missing";
  const auto parsed = parse(text);
  REQUIRE(parsed.has_value());
  CHECK(plan(parsed->front(), bench.catalog, bench.settings).error().sqlstate == sqlstate::kTooManyColumns);
}

TEST_CASE("plan: parameters are typed by their first use and bound later", "[sql][plan]") {
  testing::Workbench bench;
  REQUIRE(bench.run("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, 'y')"));
  const auto planned = bench.plan_one("SELECT a FROM t WHERE a = $1 AND b = $2 LIMIT $3");
  REQUIRE(planned);
  REQUIRE(planned->parameter_types.size() == 3);
  CHECK(planned->parameter_types[0] == repr::SqlType(repr::TypeKind::kInt4));
  CHECK(planned->parameter_types[1] == repr::SqlType(repr::TypeKind::kText));
  CHECK(planned->parameter_types[2] == repr::SqlType(repr::TypeKind::kInt8));
  const std::vector<repr::Datum> values{repr::Datum(std::int32_t{2}), repr::Datum(std::string("y")), repr::Datum(std::int64_t{7})};
  const Plan bound = bind_plan(*planned, {.parameters = values});
  const auto& select = *bound.as<SelectPlan>();
  const auto limits = resolve_limits(select.finishing);
  REQUIRE(limits);
  CHECK(limits->limit == 7);
  const auto rows = expr::evaluate_naive(select.relation, bench.contents);
  REQUIRE(rows);
  CHECK(rows->oks.size() == 1);
  CHECK(bench.plan_one("SELECT $1").value().parameter_types[0] == repr::SqlType(repr::TypeKind::kText));
  CHECK(bench.plan_one("SELECT $1 = $2").value().parameter_types[1] == repr::SqlType(repr::TypeKind::kText));
  CHECK(bench.plan_one("SELECT $1 + $2").error().sqlstate == sqlstate::kAmbiguousFunction);
  CHECK(bench.plan_one("SELECT $3::int").error().sqlstate == sqlstate::kIndeterminateDatatype);
  CHECK(bench.plan_one("INSERT INTO t VALUES ($1, $2)").value().parameter_types[0] == repr::SqlType(repr::TypeKind::kInt4));
}

TEST_CASE("plan: stored HIR survives its codec, unknown fields and damage", "[sql][hir]") {
  testing::Workbench bench;
  REQUIRE(bench.run("CREATE TABLE t (a int, b numeric(10,2), c text)"));
  const auto planned = bench.plan_one(
      "CREATE VIEW v AS WITH q AS (SELECT a, sum(b) FILTER (WHERE c > 'x') AS s, string_agg(c, ',' ORDER BY c DESC) FROM t GROUP BY a) "
      "SELECT *, (SELECT count(*) FROM t WHERE t.a = q.a), a IN (SELECT a FROM t), ARRAY[1, 2], interval '1 day' FROM q "
      "LEFT JOIN LATERAL generate_series(1, q.a) g ON true ORDER BY 1 LIMIT 5");
  INFO((planned ? std::string() : planned.error().message));
  REQUIRE(planned);
  const HirQuery& query = planned->as<CreateViewPlan>()->query;
  const std::string bytes = encode_hir(query);
  const auto again = decode_hir(bytes);
  REQUIRE(again);
  CHECK(again->names == query.names);
  CHECK(encode_hir(*again) == bytes);
  CHECK(lower(again->relation).value() == planned->as<CreateViewPlan>()->relation);
  // A field that a later version may add.
  const std::string later = bytes + std::string("\x63\x03" "abc", 5);
  CHECK(decode_hir(later));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const auto damaged = decode_hir(std::string_view(bytes).substr(0, cut));
    if (!damaged) CHECK(damaged.error().code == ErrorCode::kCorrupt);
    std::string flipped = bytes;
    flipped[cut] = static_cast<char>(flipped[cut] ^ 0x55);
    static_cast<void>(decode_hir(flipped));  // an error or another query, but no crash
  }
}

}  // namespace
}  // namespace freshet::sql
