// SPDX-License-Identifier: Apache-2.0
// Field numbers are stored: never reuse or renumber one.
#include <freshet/base/fields.h>
#include <freshet/base/sqlstate.h>
#include <freshet/expr/id_codec.h>
#include <freshet/repr/type_codec.h>
#include <freshet/sql/hir.h>

namespace freshet::sql {
namespace {

using base::Field;
using base::FieldReader;
using base::FieldWriter;

constexpr std::uint64_t kVersion = 1;
/// Far above what the planner makes (see kMaxTreeDepth); guards against bytes made to hurt.
constexpr int kMaxDepth = 4000;

Error corrupt(std::string_view what) {
  return {.code = ErrorCode::kCorrupt, .sqlstate = sqlstate::kDataCorrupted,
          .message = "stored plan is damaged: " + std::string(what)};
}

// -- types and datums ---------------------------------------------------------------------------

std::string encode_type(const repr::SqlType& type) {
  FieldWriter w;
  w.integer(1, static_cast<std::uint64_t>(type.kind()));
  w.non_zero(2, static_cast<std::uint64_t>(type.typmod() + 1));
  if (type.kind() == repr::TypeKind::kArray) w.bytes(3, encode_type(type.element()));
  return w.data();
}

Result<repr::SqlType> decode_type(std::string_view bytes, int depth = 0) {
  if (depth > 8) return fail(corrupt("array type"));
  std::uint64_t kind = 0;
  std::uint64_t typmod = 0;
  std::optional<repr::SqlType> element;
  FieldReader reader(bytes);
  while (auto field = FRESHET_TRY(reader.next())) {
    if (field->number == 1) kind = FRESHET_TRY(field->integer());
    if (field->number == 2) typmod = FRESHET_TRY(field->integer());
    if (field->number == 3) element = FRESHET_TRY(decode_type(field->payload, depth + 1));
  }
  if (element && element->kind() == repr::TypeKind::kArray) return fail(corrupt("array type"));
  if (element) return repr::SqlType::array_of(*element);
  const std::optional<repr::TypeKind> known = repr::type_kind_from(kind);
  if (!known || *known == repr::TypeKind::kArray) return fail(corrupt("type " + std::to_string(kind)));
  return repr::SqlType(*known, static_cast<std::int32_t>(typmod) - 1);
}

std::string encode_column_type(const repr::ColumnType& type) {
  FieldWriter w;
  w.bytes(1, encode_type(type.type));
  w.non_zero(2, type.nullable ? 0 : 1);
  return w.data();
}

Result<repr::ColumnType> decode_column_type(std::string_view bytes) {
  repr::ColumnType type;
  FieldReader reader(bytes);
  while (auto field = FRESHET_TRY(reader.next())) {
    if (field->number == 1) type.type = FRESHET_TRY(decode_type(field->payload));
    if (field->number == 2) type.nullable = FRESHET_TRY(field->integer()) == 0;
  }
  return type;
}

// A byte that says NULL (0) or value (1), then PostgreSQL's binary form. An unknown literal is text.
std::string encode_datum(const repr::Datum& datum, const repr::SqlType& type) {
  if (datum.is_null()) return std::string(1, '\0');
  if (type.kind() == repr::TypeKind::kUnknown) return '\1' + datum.get<std::string>();
  return '\1' + repr::to_binary(datum, type);
}

Result<repr::Datum> decode_datum(std::string_view bytes, const repr::SqlType& type) {
  if (bytes.empty()) return fail(corrupt("value"));
  if (bytes.front() == '\0') return repr::Datum();
  bytes.remove_prefix(1);
  if (type.kind() == repr::TypeKind::kUnknown) return repr::Datum(std::string(bytes));
  return repr::from_binary(bytes, type);
}

std::string encode_error(const Error& error) {
  FieldWriter w;
  w.integer(1, static_cast<std::uint64_t>(error.code));
  w.bytes(2, error.sqlstate.view());
  w.bytes(3, error.message);
  w.bytes(4, error.detail);
  w.bytes(5, error.hint);
  return w.data();
}

Result<Error> decode_error(std::string_view bytes) {
  Error error;
  FieldReader reader(bytes);
  while (auto field = FRESHET_TRY(reader.next())) {
    if (field->number == 1) {
      error.code = FRESHET_TRY(field->enumerator(ErrorCode::kInvalid, ErrorCode::kExhausted));
    }
    if (field->number == 2) error.sqlstate = SqlState::from(field->payload);
    if (field->number == 3) error.message = field->payload;
    if (field->number == 4) error.detail = field->payload;
    if (field->number == 5) error.hint = field->payload;
  }
  return error;
}

// -- scalars ------------------------------------------------------------------------------------

std::string encode_relation(const HirRelation& relation);
Result<HirRelationPtr> decode_relation(std::string_view bytes, int depth);

std::string encode_scalar(const HirScalar& scalar) {
  using Kind = HirScalar::Kind;
  FieldWriter w;
  w.integer(1, static_cast<std::uint64_t>(scalar.kind));
  w.bytes(2, encode_column_type(scalar.type));
  w.non_zero(3, scalar.level);
  w.non_zero(4, scalar.index);
  if (scalar.kind == Kind::kLiteral) w.bytes(5, encode_datum(scalar.value, scalar.type.type));
  if (scalar.kind == Kind::kFailure) w.bytes(6, encode_error(scalar.error));
  if (scalar.function != nullptr) w.bytes(7, scalar.function->signature);
  if (scalar.kind == Kind::kSessionValue) w.bytes(8, scalar.name);
  for (const HirScalarPtr& argument : scalar.arguments) w.bytes(9, encode_scalar(*argument));
  if (scalar.query) w.bytes(10, encode_relation(*scalar.query));
  return w.data();
}

Result<HirScalarPtr> decode_scalar(std::string_view bytes, int depth) {
  using Kind = HirScalar::Kind;
  if (depth > kMaxDepth) return fail(corrupt("nested too deep"));
  auto scalar = std::make_shared<HirScalar>();
  std::optional<std::string_view> value;
  FieldReader reader(bytes);
  while (auto field = FRESHET_TRY(reader.next())) {
    switch (field->number) {
      case 1: scalar->kind = FRESHET_TRY(field->enumerator(Kind::kColumn, Kind::kAny)); break;
      case 2: scalar->type = FRESHET_TRY(decode_column_type(field->payload)); break;
      case 3: scalar->level = FRESHET_TRY(field->integer()); break;
      case 4: scalar->index = FRESHET_TRY(field->integer()); break;
      case 5: value = field->payload; break;
      case 6: scalar->error = FRESHET_TRY(decode_error(field->payload)); break;
      case 7:
        scalar->function = expr::function_by_signature(field->payload);
        if (scalar->function == nullptr) return fail(corrupt("function " + std::string(field->payload)));
        break;
      case 8: scalar->name = field->payload; break;
      case 9: scalar->arguments.push_back(FRESHET_TRY(decode_scalar(field->payload, depth + 1))); break;
      case 10: scalar->query = FRESHET_TRY(decode_relation(field->payload, depth + 1)); break;
      default: break;
    }
  }
  if (value) scalar->value = FRESHET_TRY(decode_datum(*value, scalar->type.type));
  if (scalar->kind < Kind::kColumn || scalar->kind > Kind::kAny) return fail(corrupt("scalar kind"));
  if (scalar->kind == Kind::kCall && scalar->function == nullptr) return fail(corrupt("call without function"));
  return HirScalarPtr(std::move(scalar));
}

std::string encode_aggregate(const HirAggregate& aggregate) {
  FieldWriter w;
  w.bytes(1, aggregate.spec->signature);
  for (const HirScalarPtr& argument : aggregate.arguments) w.bytes(2, encode_scalar(*argument));
  w.non_zero(3, aggregate.distinct ? 1 : 0);
  if (aggregate.filter) w.bytes(4, encode_scalar(*aggregate.filter));
  for (const HirAggregate::OrderBy& order : aggregate.order_by) {
    FieldWriter inner;
    inner.bytes(1, encode_scalar(*order.expression));
    inner.non_zero(2, order.descending ? 1 : 0);
    inner.non_zero(3, order.nulls_last ? 1 : 0);
    w.bytes(5, inner.data());
  }
  w.bytes(6, encode_column_type(aggregate.type));
  return w.data();
}

Result<HirAggregate::OrderBy> decode_order_by(std::string_view bytes, int depth) {
  HirAggregate::OrderBy order{.nulls_last = false};
  FieldReader reader(bytes);
  while (auto field = FRESHET_TRY(reader.next())) {
    if (field->number == 1) order.expression = FRESHET_TRY(decode_scalar(field->payload, depth + 1));
    if (field->number == 2) order.descending = FRESHET_TRY(field->integer()) != 0;
    if (field->number == 3) order.nulls_last = FRESHET_TRY(field->integer()) != 0;
  }
  if (!order.expression) return fail(corrupt("order"));
  return order;
}

Result<HirAggregate> decode_aggregate(std::string_view bytes, int depth) {
  HirAggregate aggregate;
  FieldReader reader(bytes);
  while (auto field = FRESHET_TRY(reader.next())) {
    switch (field->number) {
      case 1: aggregate.spec = expr::aggregate_by_signature(field->payload); break;
      case 2: aggregate.arguments.push_back(FRESHET_TRY(decode_scalar(field->payload, depth + 1))); break;
      case 3: aggregate.distinct = FRESHET_TRY(field->integer()) != 0; break;
      case 4: aggregate.filter = FRESHET_TRY(decode_scalar(field->payload, depth + 1)); break;
      case 5: aggregate.order_by.push_back(FRESHET_TRY(decode_order_by(field->payload, depth))); break;
      case 6: aggregate.type = FRESHET_TRY(decode_column_type(field->payload)); break;
      default: break;
    }
  }
  if (aggregate.spec == nullptr) return fail(corrupt("aggregate"));
  return aggregate;
}

// -- relations ----------------------------------------------------------------------------------

std::string encode_row(const repr::DatumRow& row, const std::vector<repr::ColumnType>& types) {
  FieldWriter w;
  for (std::size_t i = 0; i < row.size(); ++i) w.bytes(1, encode_datum(row[i], types[i].type));
  return w.data();
}

Result<repr::DatumRow> decode_row(std::string_view bytes, const std::vector<repr::ColumnType>& types) {
  repr::DatumRow row;
  FieldReader reader(bytes);
  while (auto field = FRESHET_TRY(reader.next())) {
    if (field->number != 1 || row.size() == types.size()) return fail(corrupt("row"));
    row.push_back(FRESHET_TRY(decode_datum(field->payload, types[row.size()].type)));
  }
  if (row.size() != types.size()) return fail(corrupt("row"));
  return row;
}

std::string encode_order(const expr::ColumnOrder& order) {
  FieldWriter w;
  w.integer(1, order.column);
  w.non_zero(2, order.descending ? 1 : 0);
  w.non_zero(3, order.nulls_last ? 1 : 0);
  return w.data();
}

Result<expr::ColumnOrder> decode_order(std::string_view bytes) {
  expr::ColumnOrder order{.nulls_last = false};
  FieldReader reader(bytes);
  while (auto field = FRESHET_TRY(reader.next())) {
    if (field->number == 1) order.column = FRESHET_TRY(field->integer());
    if (field->number == 2) order.descending = FRESHET_TRY(field->integer()) != 0;
    if (field->number == 3) order.nulls_last = FRESHET_TRY(field->integer()) != 0;
  }
  return order;
}

std::string encode_relation(const HirRelation& r) {
  using Kind = HirRelation::Kind;
  FieldWriter w;
  w.integer(1, static_cast<std::uint64_t>(r.kind));
  for (const repr::ColumnType& column : r.columns) w.bytes(2, encode_column_type(column));
  for (const HirRelationPtr& input : r.inputs) w.bytes(3, encode_relation(*input));
  for (const HirScalarPtr& scalar : r.scalars) w.bytes(4, encode_scalar(*scalar));
  for (const repr::DatumRow& row : r.rows) w.bytes(5, encode_row(row, r.columns));
  if (r.kind == Kind::kGet) {
    w.integer(6, static_cast<std::uint64_t>(r.id.kind));
    w.integer(7, r.id.number);
  }
  for (std::uint64_t local : r.locals) w.integer(8, local);
  for (std::size_t column : r.projection) w.integer(9, column);
  for (const expr::ColumnOrder& order : r.order) w.bytes(10, encode_order(order));
  if (r.limit) w.bytes(11, encode_scalar(*r.limit));
  if (r.offset) w.bytes(12, encode_scalar(*r.offset));
  if (r.table_function != nullptr) w.bytes(13, r.table_function->signature);
  w.non_zero(14, r.with_ordinality ? 1 : 0);
  if (r.kind == Kind::kJoin) w.integer(15, static_cast<std::uint64_t>(r.join_kind));
  w.non_zero(16, r.lateral ? 1 : 0);
  for (const HirAggregate& aggregate : r.aggregates) w.bytes(17, encode_aggregate(aggregate));
  if (r.recursion_limit) w.integer(18, *r.recursion_limit);
  w.non_zero(19, r.return_at_limit ? 1 : 0);
  return w.data();
}

Result<expr::GlobalId::Kind> decode_id_kind(const Field& field) {
  const std::optional<expr::GlobalId::Kind> kind = expr::id_kind_from(FRESHET_TRY(field.integer()));
  if (!kind) return fail(corrupt("id"));
  return *kind;
}

Result<void> decode_relation_field(HirRelation& r, const Field& field, std::vector<std::string_view>& rows, int depth) {
  switch (field.number) {
    case 1:
      r.kind = FRESHET_TRY(field.enumerator(HirRelation::Kind::kConstant, HirRelation::Kind::kUnion));
      break;
    case 2: r.columns.push_back(FRESHET_TRY(decode_column_type(field.payload))); break;
    case 3: r.inputs.push_back(FRESHET_TRY(decode_relation(field.payload, depth + 1))); break;
    case 4: r.scalars.push_back(FRESHET_TRY(decode_scalar(field.payload, depth + 1))); break;
    case 5: rows.push_back(field.payload); break;
    case 6: r.id.kind = FRESHET_TRY(decode_id_kind(field)); break;
    case 7: r.id.number = FRESHET_TRY(field.integer()); break;
    case 8: r.locals.push_back(FRESHET_TRY(field.integer())); break;
    case 9: r.projection.push_back(FRESHET_TRY(field.integer())); break;
    case 10: r.order.push_back(FRESHET_TRY(decode_order(field.payload))); break;
    case 11: r.limit = FRESHET_TRY(decode_scalar(field.payload, depth + 1)); break;
    case 12: r.offset = FRESHET_TRY(decode_scalar(field.payload, depth + 1)); break;
    case 13:
      r.table_function = expr::table_function_by_signature(field.payload);
      if (r.table_function == nullptr) return fail(corrupt("table function " + std::string(field.payload)));
      break;
    case 14: r.with_ordinality = FRESHET_TRY(field.integer()) != 0; break;
    case 15: r.join_kind = FRESHET_TRY(field.enumerator(HirJoinKind::kInner, HirJoinKind::kFull)); break;
    case 16: r.lateral = FRESHET_TRY(field.integer()) != 0; break;
    case 17: r.aggregates.push_back(FRESHET_TRY(decode_aggregate(field.payload, depth))); break;
    case 18: r.recursion_limit = FRESHET_TRY(field.integer()); break;
    case 19: r.return_at_limit = FRESHET_TRY(field.integer()) != 0; break;
    default: break;
  }
  return {};
}

Result<HirRelationPtr> decode_relation(std::string_view bytes, int depth) {
  if (depth > kMaxDepth) return fail(corrupt("nested too deep"));
  auto relation = std::make_shared<HirRelation>();
  std::vector<std::string_view> rows;
  FieldReader reader(bytes);
  while (auto field = FRESHET_TRY(reader.next())) FRESHET_TRY(decode_relation_field(*relation, *field, rows, depth));
  for (std::string_view row : rows) relation->rows.push_back(FRESHET_TRY(decode_row(row, relation->columns)));
  if (relation->kind < HirRelation::Kind::kConstant || relation->kind > HirRelation::Kind::kUnion) {
    return fail(corrupt("relation kind"));
  }
  return HirRelationPtr(std::move(relation));
}

Result<void> check_version(const Field& field) {
  if (FRESHET_TRY(field.integer()) != kVersion) return fail(corrupt("written by a newer version"));
  return {};
}

}  // namespace

std::string encode_hir(const HirQuery& query) {
  FieldWriter w;
  w.integer(1, kVersion);
  w.bytes(2, encode_relation(*query.relation));
  for (const std::string& name : query.names) w.bytes(3, name);
  return w.data();
}

Result<HirQuery> decode_hir(std::string_view bytes) {
  HirQuery query;
  FieldReader reader(bytes);
  while (auto field = FRESHET_TRY(reader.next())) {
    if (field->number == 1) FRESHET_TRY(check_version(*field));
    if (field->number == 2) query.relation = FRESHET_TRY(decode_relation(field->payload, 0));
    if (field->number == 3) query.names.emplace_back(field->payload);
  }
  if (!query.relation || query.names.size() != query.relation->arity()) return fail(corrupt("query"));
  return query;
}

std::string encode_hir_scalars(const std::vector<HirScalarPtr>& scalars) {
  FieldWriter w;
  w.integer(1, kVersion);
  for (const HirScalarPtr& scalar : scalars) w.bytes(2, scalar ? encode_scalar(*scalar) : std::string());
  return w.data();
}

Result<std::vector<HirScalarPtr>> decode_hir_scalars(std::string_view bytes) {
  std::vector<HirScalarPtr> scalars;
  FieldReader reader(bytes);
  while (auto field = FRESHET_TRY(reader.next())) {
    if (field->number == 1) FRESHET_TRY(check_version(*field));
    if (field->number != 2) continue;
    HirScalarPtr scalar;
    if (!field->payload.empty()) scalar = FRESHET_TRY(decode_scalar(field->payload, 0));
    scalars.push_back(std::move(scalar));
  }
  return scalars;
}

}  // namespace freshet::sql
