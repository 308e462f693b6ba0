// SPDX-License-Identifier: Apache-2.0
// SELECT, SUBSCRIBE, EXPLAIN, DECLARE and COPY.
#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "hir_build.h"
#include "planner.h"

namespace freshet::sql {

using repr::SqlType;
using repr::TypeKind;

Result<SelectPlan> Planner::select_plan(const BoundQuery& query) {
  SelectPlan plan{.relation = FRESHET_TRY(lower(query.relation))};
  plan.finishing.order_by = query.order;
  if (query.limit) plan.finishing.limit = FRESHET_TRY(lower_scalar(query.limit));
  if (query.offset) plan.finishing.offset = FRESHET_TRY(lower_scalar(query.offset));
  for (std::size_t i = 0; i < query.visible(); ++i) {
    plan.finishing.project.push_back(i);
    plan.desc.names.push_back(query.names[i]);
    plan.desc.type.columns.push_back(query.relation->columns[i]);
  }
  return plan;
}

// regclass and its like are shown as names, which only planning knows: the answer has them as text.
Result<BoundQuery> Planner::names_for_numbers(BoundQuery query) {
  const std::vector<repr::ColumnType>& types = query.relation->columns;
  const auto is_reg = [](const repr::ColumnType& column) { return is_reg_type(column.type.kind()); };
  const auto visible = static_cast<std::ptrdiff_t>(query.visible());
  if (std::none_of(types.begin(), types.begin() + visible, is_reg)) return query;
  // The order is that of the numbers, which stay behind the visible columns.
  std::vector<HirScalarPtr> columns;
  for (std::size_t i = 0; i < query.visible(); ++i) {
    const HirScalarPtr column = hir::column(0, i, types[i]);
    columns.push_back(is_reg(types[i]) ? FRESHET_TRY(binder_.reg_text(column)) : column);
  }
  for (std::size_t i = 0; i < types.size(); ++i) columns.push_back(hir::column(0, i, types[i]));
  for (expr::ColumnOrder& order : query.order) order.column += query.visible();
  query.relation = hir::select(query.relation, std::move(columns));
  query.input = nullptr;
  query.outputs.clear();
  return query;
}

Result<Plan::Node> Planner::select() {
  if (body_.as<ShowObjectsSyntax>() != nullptr) return show_objects();
  BoundQuery query = FRESHET_TRY(binder_.query_node(&body_.tree->root(), nullptr));
  query = FRESHET_TRY(names_for_numbers(std::move(query)));
  SelectPlan plan = FRESHET_TRY(select_plan(query));
  plan.as_of = FRESHET_TRY(as_of(body_.as_of));
  return Plan::Node(std::move(plan));
}

Result<expr::Scalar> Planner::time_scalar(const TimeClause& clause, std::string_view what) {
  const PgQuery__SelectStmt& wrapper = *clause.tree->root().select_stmt;  // of one expression
  Typing& typing = binder_.typing();
  HirScalarPtr time = FRESHET_TRY(binder_.constant_expression(wrapper.target_list[0]->res_target->val, what));
  if (hir::has_mz_now(*time)) return fail(unsupported("mz_now() in " + std::string(what) + " is", time->location));
  const TypeKind kind = time->type.type.kind();
  if (kind == TypeKind::kUnknown && time->kind == HirScalar::Kind::kLiteral && !time->value.is_null()) {
    // A text is a number of milliseconds or a point in time.
    auto number = typing.coerce(time, TypeKind::kNumeric, CastContext::kExplicit);
    time = number ? std::move(number).value()
                  : FRESHET_TRY(typing.coerce(time, TypeKind::kTimestampTz, CastContext::kExplicit));
  } else if (kind == TypeKind::kTimestampTz || kind == TypeKind::kTimestamp || kind == TypeKind::kDate) {
    time = FRESHET_TRY(typing.coerce(time, TypeKind::kTimestampTz, CastContext::kImplicit));
  } else {
    time = FRESHET_TRY(typing.coerce(time, TypeKind::kNumeric, CastContext::kImplicit));
  }
  return lower_scalar(time);
}

Result<std::optional<AsOf>> Planner::as_of(const std::optional<TimeClause>& clause) {
  if (!clause) return std::optional<AsOf>();
  return std::optional<AsOf>(AsOf{FRESHET_TRY(time_scalar(*clause, "AS OF")), clause->at_least});
}

namespace {

Result<bool> boolean_option(const OptionItem& option) {
  if (!option.value) return true;
  std::string value = *option.value;
  for (char& c : value) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (value == "true" || value == "on" || value == "1" || value == "yes") return true;
  if (value == "false" || value == "off" || value == "0" || value == "no") return false;
  return fail(error_at(sqlstate::kInvalidParameterValue, "invalid value for " + option.name + ": \"" + value + "\"",
                       option.location));
}

}  // namespace

Result<Plan::Node> Planner::subscribe() {
  const SubscribeSyntax& syntax = *body_.as<SubscribeSyntax>();
  SubscribePlan plan{.from = expr::GlobalId{}};
  if (syntax.object) {
    const CatalogItem* item = FRESHET_TRY(binder_.relation_item(*syntax.object));
    plan.from = item->id;
    plan.desc = item->desc;
  } else {
    const BoundQuery query = FRESHET_TRY(binder_.query_node(&body_.tree->root(), nullptr));
    const HirRelationPtr relation = FRESHET_TRY(binder_.finished(query));
    plan.from = FRESHET_TRY(lower(relation));
    plan.desc = HirQuery{relation, query.names}.desc();
  }
  for (const OptionItem& option : syntax.options) {
    const bool value = FRESHET_TRY(boolean_option(option));
    if (option.name == "SNAPSHOT") {
      plan.snapshot = value;
    } else if (option.name == "PROGRESS") {
      plan.progress = value;
    } else {
      return fail(error_at(sqlstate::kSyntaxError, "unknown option of SUBSCRIBE: " + option.name, option.location));
    }
  }
  plan.as_of = FRESHET_TRY(as_of(body_.as_of));
  if (syntax.up_to) plan.up_to = FRESHET_TRY(time_scalar(*syntax.up_to, "UP TO"));
  plan.output_desc.names.emplace_back("mz_timestamp");
  plan.output_desc.type.columns.push_back({TypeKind::kNumeric, false});
  if (plan.progress) {
    plan.output_desc.names.emplace_back("mz_progressed");
    plan.output_desc.type.columns.push_back({TypeKind::kBool, false});
  }
  plan.output_desc.names.emplace_back("mz_diff");
  plan.output_desc.type.columns.push_back({TypeKind::kInt8, true});
  for (std::size_t i = 0; i < plan.desc.arity(); ++i) {
    plan.output_desc.names.push_back(plan.desc.names[i]);
    plan.output_desc.type.columns.push_back({plan.desc.type.columns[i].type, true});
  }
  return Plan::Node(std::move(plan));
}

Result<Plan> Planner::nested(const Statement& statement) {
  Planner planner(statement, catalog_, settings_, {});
  return planner.run();
}

Result<Plan::Node> Planner::explain() {
  const ExplainSyntax& syntax = *body_.as<ExplainSyntax>();
  ExplainPlan plan;
  plan.analyze = syntax.analyze;
  plan.json = syntax.json;
  if (syntax.stage == "raw") plan.stage = ExplainPlan::Stage::kRaw;
  if (syntax.stage == "optimized") plan.stage = ExplainPlan::Stage::kOptimized;
  if (syntax.stage == "timestamp") plan.stage = ExplainPlan::Stage::kTimestamp;
  plan.desc = text_desc({plan.stage == ExplainPlan::Stage::kTimestamp ? "Timestamp" : "Physical Plan"});
  if (plan.stage == ExplainPlan::Stage::kRaw) plan.desc.names = {"Raw Plan"};
  if (plan.stage == ExplainPlan::Stage::kOptimized) plan.desc.names = {"Optimized Plan"};
  plan.desc.type.columns[0].nullable = false;
  if (plan.analyze) return fail(unsupported("EXPLAIN ANALYZE is", -1));
  if (syntax.object) {
    const CatalogItem* item = binder_.find_item(*syntax.object);
    if (item == nullptr) return fail(binder_.no_such_relation(*syntax.object));
    if (to_string(item->kind) != syntax.object_kind) {
      return fail(error_at(sqlstate::kWrongObjectType,
                           "\"" + item->name.item + "\" is not a " + syntax.object_kind, syntax.object->location));
    }
    plan.item = item->id;
    return Plan::Node(std::move(plan));
  }
  Planner planner(*syntax.inner, catalog_, settings_, {});
  Plan inner = FRESHET_TRY(planner.run());
  for (std::string& notice : inner.notices) notices_.push_back(std::move(notice));
  const bool fits = inner.as<SelectPlan>() != nullptr || inner.as<SubscribePlan>() != nullptr ||
                    inner.as<CreateViewPlan>() != nullptr || inner.as<CreateIndexPlan>() != nullptr;
  if (!fits) return fail(unsupported("EXPLAIN of " + std::string(syntax.inner->tag()) + " is", -1));
  if (plan.stage == ExplainPlan::Stage::kTimestamp && inner.as<SelectPlan>() == nullptr) {
    return fail(unsupported("EXPLAIN TIMESTAMP of anything but a SELECT is", -1));
  }
  plan.inner = std::make_shared<const Plan>(std::move(inner));
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::declare() {
  const DeclareSyntax& syntax = *body_.as<DeclareSyntax>();
  DeclarePlan plan{.name = syntax.name, .hold = syntax.hold};
  plan.query = std::make_shared<const Plan>(FRESHET_TRY(nested(syntax.inner)));
  return Plan::Node(std::move(plan));
}

// -- COPY ---------------------------------------------------------------------------------------

Result<Plan::Node> Planner::copy() {
  const PgQuery__CopyStmt& copy = *body_.tree->root().copy_stmt;
  if (copy.is_program) return fail(unsupported("COPY with PROGRAM is", -1));
  if (copy.filename != nullptr && *copy.filename != '\0') {
    Error error = unsupported("COPY with a file on the server is", -1);
    error.hint = "use COPY … FROM STDIN or TO STDOUT; psql's \\copy does";
    return fail(std::move(error));
  }
  if (copy.where_clause != nullptr) return fail(unsupported("COPY … WHERE is", -1));
  return copy.is_from ? copy_from(copy) : copy_to(copy, *body_.as<CopySyntax>());
}

Result<Plan::Node> Planner::copy_to(const PgQuery__CopyStmt& copy, const CopySyntax& syntax) {
  CopyToPlan plan{.source = SelectPlan{.relation = expr::Relation::empty({})}};
  if (syntax.inner) {
    Plan inner = FRESHET_TRY(nested(*syntax.inner));
    if (auto* select = std::get_if<SelectPlan>(&inner.node)) {
      plan.options = FRESHET_TRY(copy_options(copy, select->desc));
      plan.source = std::move(*select);
    } else {
      SubscribePlan& subscribe = std::get<SubscribePlan>(inner.node);
      plan.options = FRESHET_TRY(copy_options(copy, subscribe.output_desc));
      plan.source = std::move(subscribe);
    }
    return Plan::Node(std::move(plan));
  }
  const CatalogItem* item = FRESHET_TRY(binder_.relation_item(*copy.relation));
  if (item->kind == ItemKind::kView || item->kind == ItemKind::kMaterializedView) {
    Error error = error_at(sqlstate::kWrongObjectType,
                           "cannot copy from " + std::string(to_string(item->kind)) + " \"" + item->name.item + "\"", -1);
    error.hint = "Try the COPY (SELECT ...) TO variant.";
    return fail(std::move(error));
  }
  const std::vector<std::size_t> columns = FRESHET_TRY(insert_columns(*item, nodes(copy.n_attlist, copy.attlist)));
  BoundQuery query;
  query.relation = hir::project(hir::get(item->id, item->desc.type.columns), columns);
  for (std::size_t column : columns) query.names.push_back(item->desc.names[column]);
  SelectPlan select = FRESHET_TRY(select_plan(query));
  plan.options = FRESHET_TRY(copy_options(copy, select.desc));
  plan.source = std::move(select);
  return Plan::Node(std::move(plan));
}

Result<Plan::Node> Planner::copy_from(const PgQuery__CopyStmt& copy) {
  if (copy.relation == nullptr) return fail(error_at(sqlstate::kSyntaxError, "COPY query cannot be used with FROM", -1));
  const CatalogItem* table = FRESHET_TRY(writable_table(*copy.relation, "copy to"));
  CopyFromPlan plan{.table = table->id};
  plan.columns = FRESHET_TRY(insert_columns(*table, nodes(copy.n_attlist, copy.attlist)));
  std::vector<HirScalarPtr> values(table->desc.arity());
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    const std::size_t column = plan.columns[i];
    repr::ColumnType type{table->desc.type.columns[column].type, true};
    plan.desc.names.push_back(table->desc.names[column]);
    plan.desc.type.columns.push_back(type);
    values[column] = hir::column(0, i, type);
  }
  plan.row_is_identity = true;
  for (std::size_t column = 0; column < values.size(); ++column) {
    const repr::ColumnType& type = table->desc.type.columns[column];
    if (!values[column]) {
      const bool has_default = column < table->defaults.size() && table->defaults[column] != nullptr;
      values[column] = has_default ? table->defaults[column] : hir::null(type.type);
      plan.row_is_identity = false;
    } else if (values[column]->index != column) {
      plan.row_is_identity = false;
    }
    if (!type.nullable) plan.row_is_identity = false;
    const HirScalarPtr checked = not_null(*table, column, values[column]);
    plan.row.push_back(FRESHET_TRY(lower_scalar(checked)));
  }
  plan.options = FRESHET_TRY(copy_options(copy, plan.desc));
  return Plan::Node(std::move(plan));
}

namespace {

Result<char> single_byte(const std::string& text, std::string_view option) {
  if (text.size() != 1 || text == "\n" || text == "\r") {
    return fail(error_at(sqlstate::kFeatureNotSupported, "COPY " + std::string(option) + " must be a single one-byte character",
                         -1));
  }
  return text[0];
}

Result<std::vector<std::size_t>> option_columns(const PgQuery__Node* argument, const repr::RelationDesc& desc,
                                                std::string_view option) {
  std::vector<std::size_t> result;
  if (argument == nullptr || argument->node_case != PG_QUERY__NODE__NODE_LIST) {
    return fail(error_at(sqlstate::kInvalidParameterValue,
                         "argument to option \"" + std::string(option) + "\" must be a list of column names", -1));
  }
  for (const std::string& name : name_list(nodes(argument->list->n_items, argument->list->items))) {
    const auto found = std::ranges::find(desc.names, name);
    if (found == desc.names.end()) {
      return fail(error_at(sqlstate::kUndefinedColumn, "column \"" + name + "\" does not exist", -1));
    }
    result.push_back(static_cast<std::size_t>(found - desc.names.begin()));
  }
  return result;
}

bool is_star_option(const PgQuery__Node* argument) {
  return argument != nullptr && argument->node_case == PG_QUERY__NODE__NODE_A_STAR;
}

/// HEADER: a Boolean, or MATCH for COPY FROM.
Result<void> copy_header(const PgQuery__CopyStmt& copy, const PgQuery__DefElem& option, std::string value,
                         CopyOptions& options) {
  for (char& c : value) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  options.header_match = value == "match";
  options.header = option.arg == nullptr || options.header_match || value == "true" || value == "on" || value == "1";
  if (!options.header && value != "false" && value != "off" && value != "0") {
    return fail(error_at(sqlstate::kSyntaxError, "header requires a Boolean value or \"match\"", -1));
  }
  if (options.header_match && copy.is_from == 0) {
    return fail(error_at(sqlstate::kFeatureNotSupported, "cannot use \"match\" with HEADER in COPY TO", -1));
  }
  return {};
}

}  // namespace

Result<CopyOptions> Planner::copy_options(const PgQuery__CopyStmt& copy, const repr::RelationDesc& desc) {
  CopyOptions options;
  std::optional<std::string> delimiter;
  std::optional<std::string> null_text;
  std::optional<std::string> quote;
  std::optional<std::string> escape;
  for (const PgQuery__Node* node : nodes(copy.n_options, copy.options)) {
    const PgQuery__DefElem& option = *node->def_elem;
    const std::string name = option.defname;
    const std::string value = option.arg != nullptr ? constant_text(*option.arg) : "";
    if (name == "format") {
      if (value == "csv") {
        options.format = CopyOptions::Format::kCsv;
      } else if (value == "binary") {
        options.format = CopyOptions::Format::kBinary;
      } else if (value != "text") {
        return fail(error_at(sqlstate::kInvalidParameterValue, "COPY format \"" + value + "\" not recognized",
                             option.location));
      }
    } else if (name == "delimiter") {
      delimiter = value;
    } else if (name == "null") {
      null_text = value;
    } else if (name == "quote") {
      quote = value;
    } else if (name == "escape") {
      escape = value;
    } else if (name == "header") {
      FRESHET_TRY(copy_header(copy, option, value, options));
    } else if (name == "force_quote") {
      options.force_quote_all = is_star_option(option.arg);
      if (!options.force_quote_all) options.force_quote = FRESHET_TRY(option_columns(option.arg, desc, name));
    } else if (name == "force_null") {
      options.force_null = FRESHET_TRY(option_columns(option.arg, desc, name));
    } else if (name == "force_not_null") {
      options.force_not_null = FRESHET_TRY(option_columns(option.arg, desc, name));
    } else if (name == "encoding") {
      if (value != "utf8" && value != "UTF8" && value != "utf-8" && value != "UTF-8") {
        return fail(unsupported("COPY ENCODING other than UTF8 is", option.location));
      }
    } else if (name != "freeze" && name != "oids") {
      return fail(error_at(sqlstate::kSyntaxError, "option \"" + name + "\" not recognized", option.location));
    }
  }
  const bool csv = options.format == CopyOptions::Format::kCsv;
  options.delimiter = csv ? ',' : '\t';
  options.null_text = null_text.value_or(csv ? "" : "\\N");
  if (delimiter) options.delimiter = FRESHET_TRY(single_byte(*delimiter, "delimiter"));
  if (quote) options.quote = FRESHET_TRY(single_byte(*quote, "quote"));
  options.escape = options.quote;
  if (escape) options.escape = FRESHET_TRY(single_byte(*escape, "escape"));
  if (!csv && (quote || escape || !options.force_quote.empty() || options.force_quote_all || !options.force_null.empty() ||
               !options.force_not_null.empty())) {
    return fail(error_at(sqlstate::kFeatureNotSupported,
                         std::string("COPY ") + (quote ? "quote" : escape ? "escape" : "force") +
                             " available only in CSV mode",
                         -1));
  }
  if (options.format == CopyOptions::Format::kBinary && (delimiter || null_text)) {
    return fail(error_at(sqlstate::kSyntaxError,
                         std::string("cannot specify ") + (delimiter ? "DELIMITER" : "NULL") + " in BINARY mode", -1));
  }
  if (options.format == CopyOptions::Format::kBinary && options.header) {
    return fail(error_at(sqlstate::kFeatureNotSupported, "cannot specify HEADER in BINARY mode", -1));
  }
  return options;
}

}  // namespace freshet::sql
