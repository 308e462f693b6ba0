// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/shown_time.h>

#include "cursor.h"
#include "session_catalog.h"
#include "session_state.h"

namespace freshet::adapter {
namespace {

repr::Datum text_array(const std::vector<std::string>& texts) {
  repr::ArrayValue array;
  if (!texts.empty()) array.dimensions.push_back({1, static_cast<std::int32_t>(texts.size())});
  for (const std::string& text : texts) array.elements.emplace_back(text);
  return repr::Datum(std::shared_ptr<const repr::ArrayValue>(
      std::make_shared<repr::ArrayValue>(std::move(array))));
}

std::optional<std::string> current_schema(const Catalog& catalog, const sql::SessionSettings& settings) {
  for (const std::string& schema : settings.search_path) {
    if (catalog.has_schema(settings.database, schema) || catalog.has_schema("", schema)) return schema;
  }
  return std::nullopt;
}

bool is_ddl(const sql::Plan& plan) {
  return std::visit(
      [](const auto& node) {
        using Node = std::decay_t<decltype(node)>;
        return std::is_same_v<Node, sql::CreateDatabasePlan> || std::is_same_v<Node, sql::CreateSchemaPlan> ||
               std::is_same_v<Node, sql::CreateTablePlan> || std::is_same_v<Node, sql::CreateViewPlan> ||
               std::is_same_v<Node, sql::CreateIndexPlan> || std::is_same_v<Node, sql::CreateSourcePlan> ||
               std::is_same_v<Node, sql::DropItemsPlan> || std::is_same_v<Node, sql::DropSchemaPlan> ||
               std::is_same_v<Node, sql::DropDatabasePlan>;
      },
      plan.node);
}

/// Looks at data or changes it.
bool takes_snapshot(const sql::Plan& plan) {
  return plan.as<sql::SelectPlan>() || plan.as<sql::SubscribePlan>() || plan.as<sql::InsertPlan>() ||
         plan.as<sql::UpdatePlan>() || plan.as<sql::DeletePlan>() || plan.as<sql::CopyFromPlan>() ||
         plan.as<sql::CopyToPlan>() || plan.as<sql::ExplainPlan>() || plan.as<sql::DeclarePlan>();
}

}  // namespace

Result<sql::Plan> SessionState::plan_statement(const sql::Statement& statement,
                                               std::vector<repr::SqlType> parameter_types) {
  const CatalogPtr catalog = services.catalog.get();
  sql::SessionSettings settings = variables.settings(user);
  settings.interrupt = interrupt();
  sql::Plan plan =
      FRESHET_TRY(sql::plan(statement, SessionCatalog(*catalog, variables), settings, std::move(parameter_types)));
  for (const std::string& text : plan.notices) notice("NOTICE", sqlstate::kSuccessfulCompletion, text);
  plan.notices.clear();
  return plan;
}

Viewer SessionState::viewer() const {
  return {.database = *variables.get("database"), .settings = [this] {
            std::vector<Viewer::Setting> settings;
            for (Variables::Shown& shown : variables.all()) {
              settings.push_back({shown.name, std::move(shown.value), shown.description});
            }
            return settings;
          },
          .session_value = [this](const std::string& name) { return session_values()(name); },
          .interrupt = interrupt()};
}

sql::Plan SessionState::bind_constants(const sql::Plan& plan, std::span<const repr::Datum> parameters) {
  statement_started = services.scheduler.clock().wall_micros();
  return sql::bind_plan(plan, {.parameters = parameters, .session_value = session_values()});
}

std::function<std::optional<repr::Datum>(const std::string&)> SessionState::session_values() const {
  const CatalogPtr catalog = services.catalog.get();
  const sql::SessionSettings settings = variables.settings(user);
  const auto now = static_cast<std::int64_t>(statement_started) - repr::kPostgresEpoch;
  const std::int64_t started =
      transaction.started == 0 ? now : static_cast<std::int64_t>(transaction.started) - repr::kPostgresEpoch;
  const repr::SqlType timestamptz = repr::TypeKind::kTimestampTz;
  const repr::TextOptions zone{.time_zone = settings.time_zone};
  // Local date and time of the transaction's start: through the session's time zone.
  auto local = [timestamptz, zone, started](repr::TypeKind kind) {
    std::string text = repr::to_text(repr::Datum(started), timestamptz, zone);
    const std::size_t split = text.find(' ');
    const std::size_t offset = text.find_first_of("+-", split);
    if (kind == repr::TypeKind::kDate) text = text.substr(0, split);
    if (kind == repr::TypeKind::kTime) text = text.substr(split + 1, offset - split - 1);
    if (kind == repr::TypeKind::kTimestamp) text = text.substr(0, offset);
    return *repr::from_text(text, kind, zone);
  };
  return [this, catalog, settings, now, started, local](const std::string& name) -> std::optional<repr::Datum> {
    if (name == "now") return repr::Datum(started);
    if (name == "statement_timestamp" || name == "clock_timestamp") return repr::Datum(now);
    if (name == "pg_postmaster_start_time") {
      return repr::Datum(static_cast<std::int64_t>(services.started) - repr::kPostgresEpoch);
    }
    if (name == "current_date") return local(repr::TypeKind::kDate);
    if (name == "localtime") return local(repr::TypeKind::kTime);
    if (name == "localtimestamp") return local(repr::TypeKind::kTimestamp);
    if (name == "current_database") return repr::Datum(settings.database);
    if (name == "current_schema") {
      auto schema = current_schema(*catalog, settings);
      return schema ? repr::Datum(*schema) : repr::Datum();
    }
    if (name == "current_schemas(true)" || name == "current_schemas(false)") {
      std::vector<std::string> path;
      if (name == "current_schemas(true)") path.emplace_back("pg_catalog");
      for (const std::string& schema : settings.search_path) {
        if (catalog->has_schema(settings.database, schema)) path.push_back(schema);
      }
      return text_array(path);
    }
    if (name == "current_user" || name == "session_user") return repr::Datum(user);
    if (name == "version") {
      return repr::Datum("PostgreSQL 15.1 (Freshet " + services.config.version + ")");
    }
    if (name == "mz_version") return repr::Datum(services.config.version);
    if (name == "pg_backend_pid") return repr::Datum(static_cast<std::int32_t>(process_id));
    if (name == "txid_current") return repr::Datum(started);
    if (name == "inet_server_port") return repr::Datum();
    return std::nullopt;
  };
}

Future<Outcome> SessionState::execute_plan(std::shared_ptr<const sql::Plan> plan,
                                           std::optional<sql::Statement> statement) {
  const sql::Plan& p = *plan;
  if (takes_snapshot(p)) transaction.queried = true;
  auto done = [](std::string tag) { return Future<Outcome>::ready(Outcome(CommandDone{std::move(tag)})); };
  if (const auto* select_plan = p.as<sql::SelectPlan>()) return select(*select_plan);
  if (const auto* subscribe_plan = p.as<sql::SubscribePlan>()) {
    return subscribe(*subscribe_plan).and_then(strand, [](Rows rows) { return Outcome(std::move(rows)); });
  }
  if (const auto* insert_plan = p.as<sql::InsertPlan>()) return insert(*insert_plan);
  if (const auto* update_plan = p.as<sql::UpdatePlan>()) return update(*update_plan);
  if (const auto* delete_plan = p.as<sql::DeletePlan>()) return remove(*delete_plan);
  if (const auto* copy = p.as<sql::CopyFromPlan>()) return copy_from(*copy);
  if (const auto* copy = p.as<sql::CopyToPlan>()) {
    auto wrap = [options = copy->options](Rows rows) {
      rows.tag = [](std::uint64_t n) { return "COPY " + std::to_string(n); };
      return Outcome(CopyOut{.options = options, .rows = std::move(rows)});
    };
    if (const auto* source = std::get_if<sql::SubscribePlan>(&copy->source)) {
      return subscribe(*source).and_then(strand, wrap);
    }
    return select(std::get<sql::SelectPlan>(copy->source)).and_then(strand, [wrap](Outcome outcome) {
      return wrap(std::move(std::get<Rows>(outcome)));
    });
  }
  if (is_ddl(p)) return run_ddl(plan, std::string(statement ? statement->tag() : "DDL"));
  if (const auto* explain_plan = p.as<sql::ExplainPlan>()) return explain(*explain_plan);
  if (p.as<sql::BeginPlan>() || p.as<sql::CommitPlan>() || p.as<sql::RollbackPlan>() ||
      p.as<sql::SetTransactionPlan>() || p.as<sql::SavepointPlan>()) {
    return control(p, statement && statement->kind() == sql::StatementKind::kBegin ? statement->tag() : "BEGIN");
  }
  if (const auto* set = p.as<sql::SetVariablePlan>()) {
    auto assigned = set_variable(set->name, set->values, set->local);
    if (!assigned) return failed<Outcome>(assigned.error());
    report_variables();
    return done(std::string(statement ? statement->tag() : "SET"));
  }
  if (p.as<sql::ResetAllPlan>()) {
    variables.reset_all();
    report_variables();
    return done("RESET");
  }
  if (const auto* show = p.as<sql::ShowVariablePlan>()) return show_variable(*show);
  return cursor_statement(p);
}

Future<Outcome> SessionState::show_variable(const sql::ShowVariablePlan& plan) {
  std::vector<repr::DatumRow> rows;
  if (plan.name == "all") {
    for (const Variables::Shown& shown : variables.all()) {
      rows.push_back({repr::Datum(std::string(shown.name)), repr::Datum(shown.value),
                      repr::Datum(std::string(shown.description))});
    }
  } else {
    auto value = variables.get(plan.name);
    if (!value) return failed<Outcome>(value.error());
    rows.push_back({repr::Datum(*value)});
  }
  return Future<Outcome>::ready(Outcome(Rows{.desc = plan.desc,
                                             .stream = make_stream(rows, plan.desc.type.columns),
                                             .tag = [](std::uint64_t) { return std::string("SHOW"); }}));
}

}  // namespace freshet::adapter
