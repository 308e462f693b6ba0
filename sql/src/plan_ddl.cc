// SPDX-License-Identifier: Apache-2.0
// CREATE of databases, schemas, tables, views, indexes and sources.
#include <algorithm>
#include <charconv>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/quote.h>

#include "hir_build.h"
#include "lexer.h"
#include "planner.h"

namespace freshet::sql {
namespace {

using repr::SqlType;
using repr::TypeKind;

std::string qualified(const ItemName& name) {
  return quote_identifier(name.database) + "." + quote_identifier(name.schema) + "." + quote_identifier(name.item);
}

std::string column_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + quote_identifier(name);
  return text;
}

/// What stands behind the first AS that is in no parentheses.
std::string query_text(const std::string& text) {
  std::size_t depth = 0;
  for (const Token& token : tokenize(text)) {
    if (token.is("(")) ++depth;
    if (token.is(")") && depth > 0) --depth;
    if (depth == 0 && token.is("as")) {
      const std::size_t start = text.find_first_not_of(" \t\r\n", token.end);
      return start == std::string::npos ? "" : text.substr(start);
    }
  }
  return text;
}

/// `text` with the names of items in it, by their places, written so that they mean the same under any search_path.
/// The name is that of a view in `database`, whose schemas need no more.
std::string with_full_names(const std::string& text, const std::map<int, Binder::NamedItem>& named,
                            const std::string& database) {
  std::string result;
  std::size_t copied = 0;
  const std::vector<Token> tokens = tokenize(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto found = named.find(static_cast<int>(tokens[i].begin));
    if (found == named.end() || (!tokens[i].is_name() && tokens[i].kind != Token::Kind::kString)) continue;
    const ItemName& name = found->second.name;
    std::string full = quote_identifier(name.schema) + "." + quote_identifier(name.item);
    if (!name.database.empty() && name.database != database) full = quote_identifier(name.database) + "." + full;
    if (found->second.in_string != (tokens[i].kind == Token::Kind::kString)) continue;
    result += text.substr(copied, tokens[i].begin - copied);
    if (found->second.in_string) {
      expr::append_quoted_literal(result, full);
    } else {
      result += full;
    }
    while (!found->second.in_string && i + 2 < tokens.size() && tokens[i + 1].is(".") && tokens[i + 2].is_name()) i += 2;
    copied = tokens[i].end;
  }
  return result + text.substr(copied);
}

/// The text of a DEFAULT clause that begins at byte `location` (of the word DEFAULT).
std::string default_text(const std::string& text, int location) {
  if (location < 0) return {};
  const std::string rest = text.substr(std::min(static_cast<std::size_t>(location), text.size()));
  const std::vector<Token> tokens = tokenize(rest);
  std::size_t depth = 0;
  std::size_t end = 0;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const bool stops = token.kind == Token::Kind::kEnd || token.is(",") || token.is(")") || token.is("not") ||
                       token.is("null") || token.is("constraint") || token.is("primary") || token.is("unique") ||
                       token.is("check") || token.is("references") || token.is("generated");
    if (depth == 0 && i > 1 && stops) break;
    if (token.is("(") || token.is("[")) ++depth;
    if (token.is(")") || token.is("]")) --depth;
    end = token.end;
  }
  return tokens.size() < 2 || end <= tokens[1].begin ? "" : rest.substr(tokens[1].begin, end - tokens[1].begin);
}

std::string retain_clause(const std::vector<OptionItem>& options) {
  for (const OptionItem& option : options) {
    if (option.name == "RETAIN HISTORY" && option.value) return "RETAIN HISTORY FOR '" + *option.value + "'";
  }
  return {};
}

}  // namespace

NameParts Planner::name_of(const PgQuery__RangeVar& range) {
  NameParts name;
  name.location = range.location;
  if (range.catalogname != nullptr && *range.catalogname != '\0') name.parts.emplace_back(range.catalogname);
  if (range.schemaname != nullptr && *range.schemaname != '\0') name.parts.emplace_back(range.schemaname);
  name.parts.emplace_back(range.relname);
  return name;
}

Result<void> Planner::exists_already(const ItemName& name, bool if_not_exists) {
  if (catalog_.find(name) == nullptr) return {};
  const std::string message = "relation \"" + name.item + "\" already exists";
  if (!if_not_exists) return fail(sqlstate::kDuplicateTable, message);
  notices_.push_back(message + ", skipping");
  return {};
}

Result<std::uint64_t> Planner::interval_micros(const std::string& text, std::string_view what, int location) {
  auto parsed = repr::from_text(text, TypeKind::kInterval);
  if (!parsed) {
    Error error = parsed.error();
    error.position = location + 1;
    return fail(std::move(error));
  }
  const auto& interval = parsed->get<repr::Interval>();
  const std::int64_t micros = interval.micros + std::int64_t{interval.days} * 86'400'000'000;
  if (interval.months != 0 || micros < 0) {
    return fail(error_at(sqlstate::kInvalidParameterValue,
                         std::string(what) + " must be a length of time without months, and not negative: '" + text + "'",
                         location));
  }
  return static_cast<std::uint64_t>(micros);
}

Result<std::optional<std::uint64_t>> Planner::retain_history(const std::vector<OptionItem>& options) {
  std::optional<std::uint64_t> result;
  for (const OptionItem& option : options) {
    if (option.name != "RETAIN HISTORY") {
      return fail(error_at(sqlstate::kFeatureNotSupported, "option " + option.name + " is not supported", option.location));
    }
    if (!option.value) return fail(error_at(sqlstate::kSyntaxError, "RETAIN HISTORY needs FOR '…'", option.location));
    result = FRESHET_TRY(interval_micros(*option.value, "RETAIN HISTORY", option.location));
  }
  return result;
}

Result<Plan::Node> Planner::create_namespace() {
  const CreateNamespaceSyntax& syntax = *body_.as<CreateNamespaceSyntax>();
  const std::vector<std::string>& parts = syntax.name.parts;
  if (statement_.kind() == StatementKind::kCreateDatabase) {
    if (parts.size() != 1) return fail(error_at(sqlstate::kSyntaxError, "a database has a plain name", syntax.name.location));
    if (catalog_.has_database(parts[0])) {
      const std::string message = "database \"" + parts[0] + "\" already exists";
      if (!syntax.if_not_exists) return fail(sqlstate::kDuplicateDatabase, message);
      notices_.push_back(message + ", skipping");
    }
    return Plan::Node(CreateDatabasePlan{parts[0], syntax.if_not_exists});
  }
  if (parts.size() > 2) {
    return fail(error_at(sqlstate::kSyntaxError, "improper qualified name (too many dotted names)", syntax.name.location));
  }
  const std::string database = parts.size() == 2 ? parts[0] : settings_.database;
  const std::string& schema = parts.back();
  if (!catalog_.has_database(database)) {
    return fail(error_at(sqlstate::kInvalidCatalogName, "database \"" + database + "\" does not exist", syntax.name.location));
  }
  if (schema.starts_with("pg_") || schema.starts_with("mz_")) {
    Error error = sql_error("42939", "unacceptable schema name \"" + schema + "\"");
    error.detail = "The prefixes \"pg_\" and \"mz_\" are reserved for system schemas.";
    return fail(std::move(error));
  }
  if (catalog_.has_schema(database, schema) || catalog_.has_schema("", schema)) {
    const std::string message = "schema \"" + schema + "\" already exists";
    if (!syntax.if_not_exists) return fail(sqlstate::kDuplicateSchema, message);
    notices_.push_back(message + ", skipping");
  }
  return Plan::Node(CreateSchemaPlan{database, schema, syntax.if_not_exists});
}

// -- CREATE TABLE -------------------------------------------------------------------------------

namespace {

std::string_view constraint_name(PgQuery__ConstrType type) {
  switch (type) {
    case PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY: return "PRIMARY KEY";
    case PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE: return "UNIQUE";
    case PG_QUERY__CONSTR_TYPE__CONSTR_CHECK: return "CHECK";
    case PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN: return "REFERENCES";
    case PG_QUERY__CONSTR_TYPE__CONSTR_EXCLUSION: return "EXCLUDE";
    case PG_QUERY__CONSTR_TYPE__CONSTR_IDENTITY: return "GENERATED AS IDENTITY";
    case PG_QUERY__CONSTR_TYPE__CONSTR_GENERATED: return "GENERATED";
    default: return "this constraint";
  }
}

Error no_constraint(const PgQuery__Constraint& constraint) {
  Error error = unsupported("constraint " + std::string(constraint_name(constraint.contype)) + " is", constraint.location);
  error.detail = "Freshet does not enforce it, and so does not accept it.";
  return error;
}

}  // namespace

Result<void> Planner::table_column(const PgQuery__ColumnDef& column, CreateTablePlan& plan) {
  const std::string name = column.colname;
  if (std::ranges::find(plan.desc.names, name) != plan.desc.names.end()) {
    return fail(error_at(sqlstate::kDuplicateColumn, "column \"" + name + "\" specified more than once", column.location));
  }
  repr::ColumnType type{FRESHET_TRY(binder_.type(*column.type_name)), true};
  HirScalarPtr value;
  std::string text;
  std::optional<bool> nullable;
  for (const PgQuery__Node* node : nodes(column.n_constraints, column.constraints)) {
    const PgQuery__Constraint& constraint = *node->constraint;
    switch (constraint.contype) {
      case PG_QUERY__CONSTR_TYPE__CONSTR_NULL:
      case PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL: {
        const bool own = constraint.contype == PG_QUERY__CONSTR_TYPE__CONSTR_NULL;
        if (nullable && *nullable != own) {
          return fail(error_at(sqlstate::kSyntaxError,
                               "conflicting NULL/NOT NULL declarations for column \"" + name + "\" of table \"" +
                                   plan.name.item + "\"",
                               constraint.location));
        }
        nullable = own;
        break;
      }
      case PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT: {
        value = FRESHET_TRY(binder_.constant_expression(constraint.raw_expr, "DEFAULT expressions"));
        value = FRESHET_TRY(binder_.assign(value, type.type, name));
        text = default_text(*body_.original, constraint.location);
        break;
      }
      case PG_QUERY__CONSTR_TYPE__CONSTR_ATTR_NOT_DEFERRABLE: break;
      default: return fail(no_constraint(constraint));
    }
  }
  if (column.coll_clause != nullptr) {
    const std::string collation = name_list(nodes(column.coll_clause->n_collname, column.coll_clause->collname)).back();
    if (collation != "default" && collation != "C" && collation != "POSIX") {
      return fail(unsupported("collation \"" + collation + "\" is", column.coll_clause->location));
    }
  }
  type.nullable = nullable.value_or(true);
  plan.desc.names.push_back(name);
  plan.desc.type.columns.push_back(type);
  plan.defaults.push_back(std::move(value));
  plan.default_texts.push_back(std::move(text));
  return {};
}

Result<Plan::Node> Planner::create_table() {
  const PgQuery__CreateStmt& stmt = *body_.tree->root().create_stmt;
  if (stmt.relation->relpersistence != nullptr && std::string_view(stmt.relation->relpersistence) == "t") {
    return fail(unsupported("temporary tables are", stmt.relation->location));
  }
  if (stmt.relation->relpersistence != nullptr && std::string_view(stmt.relation->relpersistence) == "u") {
    return fail(unsupported("unlogged tables are", stmt.relation->location));
  }
  if (stmt.tablespacename != nullptr && *stmt.tablespacename != '\0') return fail(unsupported("TABLESPACE is", -1));
  if (stmt.access_method != nullptr && *stmt.access_method != '\0') return fail(unsupported("USING in CREATE TABLE is", -1));
  if (stmt.partspec != nullptr || stmt.partbound != nullptr) return fail(unsupported("partitioned tables are", -1));
  if (stmt.n_inh_relations > 0) return fail(unsupported("INHERITS is", -1));
  if (stmt.of_typename != nullptr) return fail(unsupported("typed tables are", -1));
  if (stmt.n_options > 0) return fail(unsupported("storage parameters are", -1));
  CreateTablePlan plan;
  plan.name = FRESHET_TRY(binder_.new_item_name(name_of(*stmt.relation)));
  plan.if_not_exists = stmt.if_not_exists != 0;
  FRESHET_TRY(exists_already(plan.name, plan.if_not_exists));
  if (stmt.n_table_elts > kMaxColumns) {
    return fail(sqlstate::kTooManyColumns, "tables can have at most " + std::to_string(kMaxColumns) + " columns");
  }
  for (const PgQuery__Node* node : nodes(stmt.n_table_elts, stmt.table_elts)) {
    if (node->node_case == PG_QUERY__NODE__NODE_CONSTRAINT) return fail(no_constraint(*node->constraint));
    if (node->node_case != PG_QUERY__NODE__NODE_COLUMN_DEF) return fail(unsupported("LIKE in CREATE TABLE is", -1));
    FRESHET_TRY(table_column(*node->column_def, plan));
  }
  plan.retain_history_micros = FRESHET_TRY(retain_history(body_.options));
  plan.create_sql = "CREATE TABLE " + qualified(plan.name) + " (";
  for (std::size_t i = 0; i < plan.desc.arity(); ++i) {
    plan.create_sql += (i == 0 ? "" : ", ") + quote_identifier(plan.desc.names[i]) + " " +
                       repr::to_string(plan.desc.type.columns[i].type);
    if (!plan.desc.type.columns[i].nullable) plan.create_sql += " NOT NULL";
    if (!plan.default_texts[i].empty()) plan.create_sql += " DEFAULT " + plan.default_texts[i];
  }
  plan.create_sql += ")";
  if (const std::string retain = retain_clause(body_.options); !retain.empty()) plan.create_sql += " WITH (" + retain + ")";
  return Plan::Node(std::move(plan));
}

// -- views --------------------------------------------------------------------------------------

Result<Plan::Node> Planner::create_view(bool materialized) {
  const PgQuery__Node& root = body_.tree->root();
  const PgQuery__RangeVar* range = nullptr;
  const PgQuery__Node* query_node = nullptr;
  std::vector<std::string> aliases;
  CreateViewPlan plan{.query = {}, .relation = expr::Relation::empty({})};
  plan.materialized = materialized;
  if (materialized) {
    const PgQuery__CreateTableAsStmt& stmt = *root.create_table_as_stmt;
    range = stmt.into->rel;
    query_node = stmt.query;
    aliases = name_list(nodes(stmt.into->n_col_names, stmt.into->col_names));
    plan.if_not_exists = stmt.if_not_exists != 0;
    plan.or_replace = body_.or_replace;
    if (stmt.into->skip_data) return fail(unsupported("WITH NO DATA is", -1));
    if (stmt.into->n_options > 0) return fail(unsupported("storage parameters are", -1));
  } else {
    const PgQuery__ViewStmt& stmt = *root.view_stmt;
    range = stmt.view;
    query_node = stmt.query;
    aliases = name_list(nodes(stmt.n_aliases, stmt.aliases));
    plan.if_not_exists = body_.if_not_exists;
    plan.or_replace = stmt.replace != 0;
    if (stmt.n_options > 0) return fail(unsupported("view options are", -1));
    if (stmt.with_check_option == PG_QUERY__VIEW_CHECK_OPTION__LOCAL_CHECK_OPTION ||
        stmt.with_check_option == PG_QUERY__VIEW_CHECK_OPTION__CASCADED_CHECK_OPTION) {
      return fail(unsupported("WITH CHECK OPTION is", -1));
    }
  }
  if (body_.as_of) return fail(unsupported("AS OF in a view is", -1));
  plan.name = FRESHET_TRY(binder_.new_item_name(name_of(*range)));
  const CatalogItem* existing = catalog_.find(plan.name);
  if (plan.or_replace && existing != nullptr) {
    const ItemKind wanted = materialized ? ItemKind::kMaterializedView : ItemKind::kView;
    if (existing->kind != wanted) {
      return fail(sqlstate::kWrongObjectType,
                  "\"" + plan.name.item + "\" is not a " + std::string(to_string(wanted)));
    }
    if (!catalog_.dependents(existing->id).empty()) {
      return fail(sqlstate::kDependentObjectsStillExist,
                  "cannot replace " + std::string(to_string(wanted)) + " " + plan.name.item +
                      " because other objects depend on it");
    }
  } else {
    FRESHET_TRY(exists_already(plan.name, plan.if_not_exists));
  }
  const BoundQuery query = FRESHET_TRY(binder_.query_node(query_node, nullptr));
  const std::vector<SqlType> parameters = FRESHET_TRY(binder_.typing().parameter_types());
  if (!parameters.empty()) return fail(sqlstate::kUndefinedParameter, "there is no parameter $1");
  plan.query = {FRESHET_TRY(binder_.finished(query)), query.names};
  if (aliases.size() > plan.query.names.size()) {
    return fail(sqlstate::kSyntaxError, "CREATE VIEW specifies more column names than columns");
  }
  std::ranges::copy(aliases, plan.query.names.begin());
  for (std::size_t i = 0; i < plan.query.names.size(); ++i) {
    const auto first = std::ranges::find(plan.query.names, plan.query.names[i]);
    if (first - plan.query.names.begin() != static_cast<std::ptrdiff_t>(i)) {
      return fail(sqlstate::kDuplicateColumn, "column \"" + plan.query.names[i] + "\" specified more than once");
    }
  }
  if (plan.query.names.size() > kMaxColumns) {
    return fail(sqlstate::kTooManyColumns, "tables can have at most " + std::to_string(kMaxColumns) + " columns");
  }
  plan.relation = FRESHET_TRY(lower(plan.query.relation));
  if (materialized && has_session_values(plan.relation)) {
    Error error = unsupported("a materialized view over now(), current_user or another value of the session is", -1);
    error.hint = "mz_now() may be used in WHERE, compared with a time of the row";
    return fail(std::move(error));
  }
  plan.desc = plan.query.desc();
  plan.depends_on = plan.query.depends_on();
  plan.retain_history_micros = FRESHET_TRY(retain_history(body_.options));
  const std::string query_sql = full_query_text(plan.name.database);
  plan.query_sql = query_sql;
  if (!aliases.empty()) {
    plan.query_sql = "SELECT * FROM (\n" + query_sql + "\n) AS " + quote_identifier(plan.name.item) + " (" +
                     column_list(plan.query.names) + ")";
  }
  plan.query_sql += ";";
  plan.create_sql = std::string("CREATE ") + (materialized ? "MATERIALIZED " : "") + "VIEW " + qualified(plan.name);
  if (!aliases.empty()) plan.create_sql += " (" + column_list(aliases) + ")";
  if (const std::string retain = retain_clause(body_.options); !retain.empty()) plan.create_sql += " WITH (" + retain + ")";
  plan.create_sql += " AS " + query_sql;
  return Plan::Node(std::move(plan));
}

// What is written behind AS, its names in full: a view keeps its meaning when its text is run elsewhere.
std::string Planner::full_query_text(const std::string& database) {
  const std::string& written = *body_.original;
  const std::size_t start = written.rfind(body_.text);
  if (start == std::string::npos) return query_text(body_.text);
  const std::string full = with_full_names(written, binder_.named_items(), database);
  // The statement stands at the end of the outermost one, and only what is behind its first AS has changed.
  return query_text(full.substr(start));
}

// -- indexes ------------------------------------------------------------------------------------

Result<Plan::Node> Planner::create_default_index(const CreateDefaultIndexSyntax& syntax) {
  const CatalogItem* on = FRESHET_TRY(binder_.relation_item(syntax.on));
  std::vector<HirScalarPtr> key;
  std::vector<std::string> key_texts;
  std::vector<std::size_t> columns;
  if (!syntax.empty_key) {
    if (!on->desc.type.keys.empty()) {
      columns = on->desc.type.keys.front();
    } else {
      for (std::size_t i = 0; i < on->desc.arity(); ++i) columns.push_back(i);
    }
  }
  for (std::size_t column : columns) {
    key.push_back(hir::column(0, column, on->desc.type.columns[column]));
    key_texts.push_back(quote_identifier(on->desc.names[column]));
  }
  std::optional<std::string> name;
  if (syntax.name) name = syntax.name->parts.back();
  return finish_index(*on, std::move(name), syntax.if_not_exists, std::move(key), std::move(key_texts), "primary");
}

Result<Plan::Node> Planner::create_index() {
  if (const auto* by_default = body_.as<CreateDefaultIndexSyntax>()) return create_default_index(*by_default);
  const PgQuery__IndexStmt& stmt = *body_.tree->root().index_stmt;
  if (stmt.unique) return fail(unsupported("a UNIQUE index is", -1));
  if (stmt.where_clause != nullptr) return fail(unsupported("a partial index is", -1));
  if (stmt.n_index_including_params > 0) return fail(unsupported("INCLUDE is", -1));
  if (stmt.n_options > 0) return fail(unsupported("storage parameters are", -1));
  const CatalogItem* on = FRESHET_TRY(binder_.relation_item(*stmt.relation));
  const BoundFrom from = binder_.table_from(*on, on->name.item);
  const Chain chain{.scope = &from.scope};
  const ExprContext context{.chain = &chain, .clause = "index expressions"};
  std::vector<HirScalarPtr> key;
  std::vector<std::string> key_texts;
  std::string columns;
  for (const PgQuery__Node* node : nodes(stmt.n_index_params, stmt.index_params)) {
    const PgQuery__IndexElem& element = *node->index_elem;
    if (element.ordering == PG_QUERY__SORT_BY_DIR__SORTBY_DESC ||
        element.nulls_ordering == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST) {
      return fail(unsupported("DESC or NULLS FIRST in an index is", -1));
    }
    if (element.n_opclass > 0) return fail(unsupported("an operator class is", -1));
    if (element.name != nullptr && *element.name != '\0') {
      const auto found = std::ranges::find(on->desc.names, std::string_view(element.name));
      if (found == on->desc.names.end()) {
        return fail(error_at(sqlstate::kUndefinedColumn, "column \"" + std::string(element.name) + "\" does not exist", -1));
      }
      const auto column = static_cast<std::size_t>(found - on->desc.names.begin());
      key.push_back(hir::column(0, column, on->desc.type.columns[column]));
      key_texts.push_back(quote_identifier(element.name));
      columns += (columns.empty() ? "" : "_") + std::string(element.name);
    } else {
      HirScalarPtr scalar = FRESHET_TRY(binder_.typing().settle(binder_.expression(element.expr, context)));
      if (hir::has_subquery(*scalar)) {
        return fail(error_at(sqlstate::kFeatureNotSupported, "cannot use subquery in index expression", scalar->location));
      }
      key.push_back(std::move(scalar));
      key_texts.emplace_back("expr");
      columns += std::string(columns.empty() ? "" : "_") + "expr";
    }
  }
  std::optional<std::string> name;
  if (stmt.idxname != nullptr && *stmt.idxname != '\0') name = stmt.idxname;
  return finish_index(*on, std::move(name), stmt.if_not_exists != 0, std::move(key), std::move(key_texts), columns);
}

Result<Plan::Node> Planner::finish_index(const CatalogItem& on, std::optional<std::string> name, bool if_not_exists,
                                         std::vector<HirScalarPtr> key, std::vector<std::string> key_texts,
                                         const std::string& suffix) {
  CreateIndexPlan plan{.on = on.id};
  plan.if_not_exists = if_not_exists;
  plan.name = {on.name.database, on.name.schema, name.value_or("")};
  if (on.id.kind == expr::GlobalId::Kind::kSystem) {
    return fail(sql_error("42501", "permission denied: \"" + on.name.item + "\" is a system catalog").sqlstate,
                "permission denied: \"" + on.name.item + "\" is a system catalog");
  }
  if (!name) {
    const std::string base = (on.name.item + "_" + suffix).substr(0, 56) + "_idx";
    plan.name.item = base;
    for (int i = 1; catalog_.find(plan.name) != nullptr; ++i) plan.name.item = base + std::to_string(i);
  } else {
    FRESHET_TRY(exists_already(plan.name, if_not_exists));
  }
  for (const HirScalarPtr& scalar : key) {
    bool fixed = true;
    hir::visit(*scalar, 0, [&](const HirScalar& part, std::size_t) {
      fixed = fixed && part.kind != HirScalar::Kind::kSessionValue && part.kind != HirScalar::Kind::kMzNow &&
              part.kind != HirScalar::Kind::kParameter;
    });
    if (!fixed) {
      return fail(error_at(sqlstate::kInvalidTableDefinition, "functions in index expression must be marked IMMUTABLE",
                           scalar->location));
    }
    plan.key.push_back(FRESHET_TRY(lower_scalar(scalar)));
  }
  plan.key_hir = std::move(key);
  plan.retain_history_micros = FRESHET_TRY(retain_history(body_.options));
  plan.create_sql = "CREATE INDEX " + quote_identifier(plan.name.item) + " ON " + quote_identifier(on.name.schema) + "." +
                    quote_identifier(on.name.item) + " USING arrangement (";
  const std::string written = index_key_text(key_texts);
  plan.create_sql += written + ")";
  return Plan::Node(std::move(plan));
}

// Expressions are shown as they were written.
std::string Planner::index_key_text(const std::vector<std::string>& key_texts) {
  if (std::ranges::find(key_texts, "expr") == key_texts.end()) {
    std::string text;
    for (const std::string& key : key_texts) text += (text.empty() ? "" : ", ") + key;
    return text;
  }
  const std::string& sql = body_.text;
  const std::vector<Token> tokens = tokenize(sql);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is("on")) continue;
    while (i < tokens.size() && !tokens[i].is("(")) ++i;
    if (i == tokens.size()) break;
    std::size_t depth = 0;
    for (std::size_t j = i; j < tokens.size(); ++j) {
      if (tokens[j].is("(")) ++depth;
      if (tokens[j].is(")") && --depth == 0) return sql.substr(tokens[i].end, tokens[j].begin - tokens[i].end);
    }
  }
  return {};
}

// -- sources ------------------------------------------------------------------------------------

namespace {

template <typename Number>
Result<Number> number_option(const OptionItem& option) {
  Number value{};
  const std::string text = option.value.value_or("");
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (bad != std::errc() || end != text.data() + text.size() || !(value >= Number{})) {
    return fail(error_at(sqlstate::kInvalidParameterValue,
                         "invalid value for " + option.name + ": \"" + text + "\"", option.location));
  }
  return value;
}

}  // namespace

Result<Plan::Node> Planner::create_source() {
  using Generator = CreateSourcePlan::Generator;
  const CreateSourceSyntax& syntax = *body_.as<CreateSourceSyntax>();
  CreateSourcePlan plan;
  plan.name = FRESHET_TRY(binder_.new_item_name(syntax.name));
  plan.if_not_exists = syntax.if_not_exists;
  FRESHET_TRY(exists_already(plan.name, plan.if_not_exists));
  if (syntax.generator == "tpch") {
    plan.generator = Generator::kTpch;
  } else if (syntax.generator == "counter") {
    plan.generator = Generator::kCounter;
  } else {
    return fail(unsupported("load generator " + syntax.generator + " is", syntax.generator_location));
  }
  const bool tpch = plan.generator == Generator::kTpch;
  for (const OptionItem& option : syntax.options) {
    if (option.name == "SCALE FACTOR" && tpch) {
      plan.scale_factor = FRESHET_TRY(number_option<double>(option));
      if (plan.scale_factor <= 0.0 || plan.scale_factor > 10'000.0) {
        return fail(error_at(sqlstate::kInvalidParameterValue, "SCALE FACTOR must be above 0, and 10000 at most", option.location));
      }
    } else if (option.name == "TICK INTERVAL") {
      plan.tick_micros = FRESHET_TRY(interval_micros(option.value.value_or(""), "TICK INTERVAL", option.location));
    } else if (option.name == "SEED") {
      plan.seed = FRESHET_TRY(number_option<std::uint64_t>(option));
    } else if (option.name == "MAX CARDINALITY" && !tpch) {
      plan.max_cardinality = FRESHET_TRY(number_option<std::uint64_t>(option));
    } else {
      return fail(error_at(sqlstate::kFeatureNotSupported,
                           "option " + option.name + " of load generator " + syntax.generator + " is not supported",
                           option.location));
    }
  }
  plan.all_tables = syntax.all_tables;
  for (const auto& [output, as] : syntax.tables) {
    NameParts name = as.value_or(NameParts{{output.parts.back()}, output.location});
    auto item = FRESHET_TRY(binder_.new_item_name(name));
    plan.tables.emplace_back(output.parts.back(), std::move(item));
  }
  if (tpch && !plan.all_tables && plan.tables.empty()) {
    Error error = error_at(sqlstate::kSyntaxError, "load generator TPCH needs FOR ALL TABLES or FOR TABLES (…)",
                           syntax.generator_location);
    return fail(std::move(error));
  }
  if (!tpch && (plan.all_tables || !plan.tables.empty())) {
    return fail(error_at(sqlstate::kInvalidParameterValue, "load generator COUNTER has one output, and no tables",
                         syntax.generator_location));
  }
  plan.retain_history_micros = FRESHET_TRY(retain_history(body_.options));
  plan.create_sql = body_.text;
  return Plan::Node(std::move(plan));
}

}  // namespace freshet::sql
