// SPDX-License-Identifier: Apache-2.0
#include "workbench.h"

#include <algorithm>

#include <freshet/repr/row.h>

namespace freshet::sql::testing {
namespace {

using repr::Datum;
using repr::DatumRow;
using repr::SqlType;

std::vector<SqlType> types_of(const std::vector<repr::ColumnType>& columns) {
  std::vector<SqlType> types;
  for (const repr::ColumnType& column : columns) types.push_back(column.type);
  return types;
}

Bindings bindings() {
  Bindings result;
  result.session_value = [](const std::string& name) -> std::optional<Datum> {
    if (name == "current_user" || name == "session_user") return Datum(std::string("materialize"));
    if (name == "current_database") return Datum(std::string("materialize"));
    if (name == "current_schema") return Datum(std::string("public"));
    if (name == "version") return Datum(std::string("PostgreSQL 15 (Freshet)"));
    if (name == "now") return Datum(std::int64_t{0});
    if (name == "current_date") return Datum(std::int32_t{0});
    return std::nullopt;
  };
  return result;
}

Result<void> first_error(const expr::Multiset& set, const std::vector<SqlType>& types) {
  if (set.errs.empty()) return {};
  std::vector<repr::ColumnType> columns;
  for (const SqlType& type : types) columns.push_back({type, true});
  const expr::ErrorRow row = FRESHET_TRY(expr::decode_error_row(set.errs.begin()->first, columns));
  return fail(row.error);
}

std::strong_ordering in_order(const DatumRow& a, const DatumRow& b, const Finishing& finishing,
                              const std::vector<SqlType>& types) {
  for (const expr::ColumnOrder& key : finishing.order_by) {
    const Datum& x = a[key.column];
    const Datum& y = b[key.column];
    if (x.is_null() != y.is_null()) return x.is_null() == key.nulls_last ? std::strong_ordering::greater : std::strong_ordering::less;
    if (x.is_null()) continue;
    const auto order = repr::compare(x, y, types[key.column]);
    if (order != 0) return key.descending ? 0 <=> order : order;
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto order = repr::compare(a[i], b[i], types[i]);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

}  // namespace

Result<Plan> Workbench::plan_one(std::string_view sql) const {
  const std::vector<Statement> statements = FRESHET_TRY(parse(sql));
  FRESHET_ASSERT(statements.size() == 1, sql);
  return plan(statements[0], catalog, settings);
}

void Workbench::add_pg_catalog() {
  const auto add = [&](std::string name, repr::RelationDesc desc, std::vector<DatumRow> rows) {
    CatalogItem item{.id = {expr::GlobalId::Kind::kSystem, 0}, .kind = ItemKind::kView,
                     .name = {"", "pg_catalog", std::move(name)}, .desc = std::move(desc)};
    item.id.number = 1000 + contents.size();
    const expr::GlobalId id = catalog.add(item);
    const repr::RowCodec codec(types_of(item.desc.type.columns));
    expr::Multiset& content = contents[id];
    for (const DatumRow& row : rows) content.oks[codec.encode(row)] += 1;
    return id;
  };
  using K = repr::TypeKind;
  const repr::ColumnType oid{K::kOid, false};
  const repr::ColumnType name{K::kName, false};
  pg_class_ = add("pg_class",
                  {{{oid, name, oid, {K::kPgChar, false}, oid, oid}}, {"oid", "relname", "relnamespace", "relkind", "relowner", "relam"}},
                  {});
  add("pg_namespace", {{{oid, name}}, {"oid", "nspname"}}, {{Datum(std::int64_t{2200}), Datum(std::string("public"))}});
  add("pg_am", {{{oid, name}}, {"oid", "amname"}}, {});
}

void Workbench::fill_pg_class() {
  if (!pg_class_) return;
  expr::Multiset& content = contents[*pg_class_];
  content.oks.clear();
  const repr::RowCodec codec(types_of(catalog.item(*pg_class_)->desc.type.columns));
  for (const CatalogItem* item : catalog.items("materialize", "public")) {
    const char* kind = item->kind == ItemKind::kTable ? "r" : item->kind == ItemKind::kIndex ? "i" : "v";
    const auto number = [](std::int64_t n) { return Datum(n); };
    content.oks[codec.encode({number(item->oid), Datum(item->name.item), number(2200), Datum(std::string(kind)), number(10),
                              number(0)})] = 1;
  }
}

Result<Workbench::Answer> Workbench::run(std::string_view sql) {
  Answer answer;
  for (const Statement& statement : FRESHET_TRY(parse(sql))) answer = FRESHET_TRY(execute(statement));
  return answer;
}

Result<expr::Multiset> Workbench::evaluate(const expr::Relation& relation) const {
  return expr::evaluate_naive(bind_relation(relation, bindings()), contents);
}

Result<void> Workbench::apply(expr::GlobalId table, const expr::Multiset& changes, std::size_t arity, bool update, int sign) {
  const CatalogItem& item = *catalog.item(table);
  const std::vector<SqlType> types = types_of(item.desc.type.columns);
  std::vector<SqlType> both = types;
  if (update) both.insert(both.end(), types.begin(), types.end());
  FRESHET_TRY(first_error(changes, both));
  const repr::RowCodec wide(both);
  const repr::RowCodec codec(types);
  expr::Multiset& content = contents[table];
  const auto add = [&](std::string row, repr::Diff diff) {
    repr::Diff& count = content.oks[row];
    count += diff;
    if (count == 0) content.oks.erase(row);
  };
  for (const auto& [bytes, count] : changes.oks) {
    if (!update) {
      add(bytes, sign * count);
      continue;
    }
    const DatumRow row = FRESHET_TRY(wide.decode_row(bytes));
    const auto middle = row.begin() + static_cast<std::ptrdiff_t>(arity);
    add(codec.encode(DatumRow(row.begin(), middle)), -count);
    add(codec.encode(DatumRow(middle, row.end())), count);
  }
  return {};
}

Result<Workbench::Answer> Workbench::select(const SelectPlan& plan) const {
  const expr::Multiset set = FRESHET_TRY(evaluate(plan.relation));
  const std::vector<SqlType> types = types_of(plan.relation.type().columns);
  FRESHET_TRY(first_error(set, types));
  const repr::RowCodec codec(types);
  std::vector<DatumRow> rows;
  for (const auto& [bytes, count] : set.oks) {
    FRESHET_ASSERT(count > 0, count);
    const DatumRow row = FRESHET_TRY(codec.decode_row(bytes));
    for (repr::Diff i = 0; i < count; ++i) rows.push_back(row);
  }
  std::ranges::sort(rows, [&](const DatumRow& a, const DatumRow& b) { return in_order(a, b, plan.finishing, types) < 0; });
  Finishing bound = plan.finishing;
  if (bound.limit) bound.limit = bind_scalar(*bound.limit, bindings());
  const Limits limits = FRESHET_TRY(resolve_limits(bound));
  Answer answer{.ordered = !plan.finishing.order_by.empty()};
  for (std::size_t i = limits.offset; i < rows.size(); ++i) {
    if (limits.limit && i - limits.offset >= *limits.limit) break;
    std::string text;
    for (std::size_t k = 0; k < plan.finishing.project.size(); ++k) {
      const Datum& value = rows[i][plan.finishing.project[k]];
      text += (k == 0 ? "" : "|") + (value.is_null() ? "\\N" : repr::to_text(value, plan.desc.type.columns[k].type));
    }
    answer.rows.push_back(std::move(text));
  }
  return answer;
}

Result<Workbench::Answer> Workbench::execute(const Statement& statement) {
  fill_pg_class();
  const Plan plan = FRESHET_TRY(sql::plan(statement, catalog, settings));
  if (const auto* chosen = plan.as<SelectPlan>()) return select(*chosen);
  if (const auto* create = plan.as<CreateTablePlan>()) {
    CatalogItem item{.id = {}, .kind = ItemKind::kTable, .name = create->name, .desc = create->desc};
    item.defaults = create->defaults;
    item.writable = true;
    item.create_sql = create->create_sql;
    contents[catalog.add(std::move(item))];
  } else if (const auto* view = plan.as<CreateViewPlan>()) {
    // What is stored is what will be read: through the codec.
    const HirQuery stored = FRESHET_TRY(decode_hir(encode_hir(view->query)));
    const expr::Relation relation = FRESHET_TRY(lower(stored.relation));
    CatalogItem item{.id = {}, .kind = view->materialized ? ItemKind::kMaterializedView : ItemKind::kView,
                     .name = view->name, .desc = view->desc};
    item.create_sql = view->create_sql;
    item.definition_sql = view->query_sql;
    const expr::GlobalId id = catalog.add(std::move(item));
    for (expr::GlobalId on : view->depends_on) catalog.add_dependency(id, on);
    contents[id] = FRESHET_TRY(evaluate(relation));
  } else if (const auto* index = plan.as<CreateIndexPlan>()) {
    CatalogItem item{.id = {}, .kind = ItemKind::kIndex, .name = index->name};
    item.index_on = index->on;
    item.index_key = index->key_hir;
    item.create_sql = index->create_sql;
    item.definition_sql = index->create_sql;
    catalog.add(std::move(item));
  } else if (const auto* insert = plan.as<InsertPlan>()) {
    const expr::Multiset rows = FRESHET_TRY(evaluate(insert->rows));
    FRESHET_TRY(apply(insert->table, rows, 0, false, 1));
  } else if (const auto* update = plan.as<UpdatePlan>()) {
    const expr::Multiset rows = FRESHET_TRY(evaluate(update->changes));
    FRESHET_TRY(apply(update->table, rows, update->changes.arity() / 2, true, 1));
  } else if (const auto* remove = plan.as<DeletePlan>()) {
    const expr::Multiset rows = FRESHET_TRY(evaluate(remove->rows));
    FRESHET_TRY(apply(remove->table, rows, 0, false, -1));
  } else if (const auto* drop = plan.as<DropItemsPlan>()) {
    for (expr::GlobalId id : drop->ids) {
      catalog.remove(id);
      contents.erase(id);
    }
  }
  return Answer{.rows = {std::string(statement.tag())}};
}

}  // namespace freshet::sql::testing
