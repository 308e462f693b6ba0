// SPDX-License-Identifier: Apache-2.0
#include "plan_reader.h"

#include <algorithm>

#include <freshet/base/fields.h>
#include <freshet/base/sqlstate.h>
#include <freshet/expr/id_codec.h>
#include <freshet/repr/row.h>
#include <freshet/repr/type_codec.h>

namespace freshet::expr {

using repr::SqlType;
using repr::TypeKind;

base::Unexpected PlanReader::corrupt(std::string_view what) {
  return fail(ErrorCode::kCorrupt, "decode a plan: " + std::string(what));
}

Result<void> PlanReader::ok() const {
  if (!in_.ok()) return corrupt("bytes end early or are out of range");
  return {};
}

Result<void> DepthGuard::check() const {
  if (reader.depth_ <= kMaxPlanDepth) return {};
  return fail(sqlstate::kStatementTooComplex, "decode a plan: nested too deep");
}

Result<void> PlanReader::begin() {
  if (in_.u8() != kPlanFormat) return corrupt("unknown version");
  return {};
}

Result<void> PlanReader::end() {
  if (!in_.ok() || !in_.at_end()) return corrupt("bytes end early or late");
  return {};
}

std::size_t PlanReader::count() {
  const std::uint64_t n = in_.varint();
  if (n <= in_.remaining()) return n;
  in_.bad();
  return 0;
}

SqlType PlanReader::type() { return with_bytes(repr::read_type(in_)); }

SqlType PlanReader::with_bytes(SqlType type) {
  const SqlType& plain = type.kind() == TypeKind::kArray ? type.element() : type;
  if (plain.kind() != TypeKind::kRecord) return type;
  in_.bad();  // records have no bytes
  return TypeKind::kBool;
}

repr::ColumnType PlanReader::column_type() {
  SqlType t = type();
  return {std::move(t), in_.boolean()};
}

PlanReader::Columns PlanReader::column_types() {
  Columns types;
  for (std::size_t n = count(); n > 0; --n) types.push_back(column_type());
  return types;
}

Result<repr::RelationType> PlanReader::relation_type() {
  repr::RelationType type{column_types()};
  repr::read_keys(in_, type);
  if (auto read = ok(); !read) return fail(read.error());
  return type;
}

Result<repr::RelationDesc> PlanReader::desc() {
  repr::RelationDesc desc = repr::read_desc(in_);
  for (repr::ColumnType& column : desc.type.columns) column.type = with_bytes(std::move(column.type));
  if (auto read = ok(); !read) return fail(read.error());
  return desc;
}

Result<repr::Datum> PlanReader::datum(const SqlType& type) {
  if (!in_.boolean()) return repr::Datum();
  const base::BytesView bytes = in_.bytes();
  if (auto read = ok(); !read) return fail(read.error());
  if (type.kind() == TypeKind::kUnknown) return repr::Datum(std::string(bytes));
  repr::DatumRow row = FRESHET_TRY(repr::RowCodec({type}).decode_row(bytes));
  return std::move(row.front());
}

Error PlanReader::error() {
  Error e;
  e.code = base::read_enumerator(in_, ErrorCode::kInvalid, ErrorCode::kExhausted);
  e.sqlstate = SqlState::from(in_.raw(5));
  e.message = in_.bytes();
  e.detail = in_.bytes();
  e.hint = in_.bytes();
  e.position = static_cast<std::int32_t>(in_.svarint());
  return e;
}

std::optional<Error> PlanReader::optional_error() {
  return in_.boolean() ? std::optional(error()) : std::nullopt;
}

std::vector<std::size_t> PlanReader::positions() {
  std::vector<std::size_t> out;
  for (std::size_t n = count(); n > 0; --n) out.push_back(in_.varint());
  return out;
}

GlobalId PlanReader::global_id() { return read_id(in_); }

std::variant<GlobalId, LocalId> PlanReader::any_id() {
  if (in_.boolean()) return global_id();
  return local_id();
}

std::optional<std::uint64_t> PlanReader::limit() {
  return in_.boolean() ? std::optional(in_.varint()) : std::nullopt;
}

// --- Scalars ----------------------------------------------------------------------------------------

namespace {

bool accepts(const ArgumentType& parameter, const SqlType& argument) {
  switch (parameter.kind) {
    case ArgumentType::Kind::kConcrete:
      return parameter.type.physical() == argument.physical();
    case ArgumentType::Kind::kAnyArray:
      return argument.kind() == TypeKind::kArray;
    default:
      return true;
  }
}

bool accepts(std::span<const ArgumentType> parameters, bool variadic, std::span<const Scalar> arguments) {
  const std::size_t fixed = parameters.size() - (variadic ? 1 : 0);
  if (arguments.size() < fixed || (!variadic && arguments.size() > fixed)) return false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!accepts(parameters[std::min(i, parameters.size() - 1)], arguments[i].type().type)) return false;
  }
  return true;
}

bool all_boolean(std::span<const Scalar> scalars) {
  return std::all_of(scalars.begin(), scalars.end(),
                     [](const Scalar& s) { return s.type().type.kind() == TypeKind::kBool; });
}

bool all_alike(std::span<const Scalar> scalars) {
  return std::all_of(scalars.begin(), scalars.end(), [&](const Scalar& s) {
    return s.type().type.physical() == scalars.front().type().type.physical();
  });
}

}  // namespace

Result<void> check_columns(const Scalar& scalar, const std::vector<repr::ColumnType>& columns) {
  bool fits = true;
  scalar.visit([&](const Scalar& s) {
    const auto* column = s.as<Scalar::Column>();
    if (column == nullptr) return;
    fits = fits && column->index < columns.size() &&
           columns[column->index].type.physical() == s.type().type.physical();
  });
  if (fits) return {};
  return fail(ErrorCode::kCorrupt, "decode a plan: column out of range or of another type");
}

Result<void> check_columns(const std::vector<Scalar>& all, const std::vector<repr::ColumnType>& columns) {
  for (const Scalar& scalar : all) {
    if (auto fits = check_columns(scalar, columns); !fits) return fits;
  }
  return {};
}

Result<Scalar> PlanReader::call() {
  const base::BytesView signature = in_.bytes();
  std::vector<Scalar> arguments = FRESHET_TRY(scalars());
  const repr::ColumnType type = column_type();
  if (auto read = ok(); !read) return fail(read.error());
  const FunctionSpec* function = function_by_signature(signature);
  if (function == nullptr) {
    return fail(sqlstate::kUndefinedFunction, "decode a plan: unknown function " + std::string(signature));
  }
  if (!accepts(function->arguments, function->variadic, arguments)) return corrupt("arguments do not fit");
  return Scalar::call_typed(function, std::move(arguments), type.type);
}

Result<Scalar> PlanReader::node(ScalarTag tag) {
  switch (tag) {
    case ScalarTag::kCall:
      return call();
    case ScalarTag::kColumn: {
      const std::size_t index = in_.varint();
      return Scalar::column(index, column_type());
    }
    case ScalarTag::kLiteral: {
      const repr::ColumnType type = column_type();
      return Scalar::literal(FRESHET_TRY(datum(type.type)), type.type);
    }
    case ScalarTag::kFailure: {
      const repr::ColumnType type = column_type();
      return Scalar::failure(error(), type.type);
    }
    case ScalarTag::kParameter: {
      const std::size_t index = in_.varint();
      return Scalar::parameter(index, column_type().type);
    }
    case ScalarTag::kMzNow:
      column_type();
      return Scalar::mz_now();
    case ScalarTag::kSessionValue: {
      std::string name(in_.bytes());
      return Scalar::session_value(std::move(name), column_type());
    }
    default:
      break;
  }
  std::vector<Scalar> arguments = FRESHET_TRY(scalars());
  column_type();
  switch (tag) {
    case ScalarTag::kAnd:
    case ScalarTag::kOr:
      if (!all_boolean(arguments)) return corrupt("AND and OR take booleans");
      return tag == ScalarTag::kAnd ? Scalar::conjunction(std::move(arguments))
                                    : Scalar::disjunction(std::move(arguments));
    case ScalarTag::kIf:
      if (arguments.size() != 3 || !all_boolean(std::span(arguments).first(1)) ||
          !all_alike(std::span(arguments).subspan(1))) {
        return corrupt("CASE branches do not fit");
      }
      return Scalar::if_then(arguments[0], arguments[1], arguments[2]);
    case ScalarTag::kCoalesce:
      if (arguments.empty() || !all_alike(arguments)) return corrupt("COALESCE arguments do not fit");
      return Scalar::coalesce(std::move(arguments));
    case ScalarTag::kIsNull:
      if (arguments.size() != 1) return corrupt("IS NULL takes one argument");
      return Scalar::is_null(arguments[0]);
    default:
      return corrupt("unknown scalar");
  }
}

Result<Scalar> PlanReader::scalar() {
  const DepthGuard guard(*this);
  if (auto shallow = guard.check(); !shallow) return fail(shallow.error());
  Scalar out = FRESHET_TRY(node(static_cast<ScalarTag>(in_.u8())));
  if (auto read = ok(); !read) return fail(read.error());
  return out;
}

Result<std::vector<Scalar>> PlanReader::scalars() {
  std::vector<Scalar> out;
  for (std::size_t n = count(); n > 0; --n) out.push_back(FRESHET_TRY(scalar()));
  return out;
}

Result<std::optional<Scalar>> PlanReader::optional_scalar() {
  if (!in_.boolean()) return std::optional<Scalar>();
  return std::optional(FRESHET_TRY(scalar()));
}

Result<Mfp> PlanReader::mfp() {
  Mfp mfp;
  mfp.input_arity = in_.varint();
  mfp.expressions = FRESHET_TRY(scalars());
  mfp.predicates = FRESHET_TRY(scalars());
  mfp.projection = positions();
  mfp.lower_bounds = FRESHET_TRY(scalars());
  mfp.upper_bounds = FRESHET_TRY(scalars());
  if (mfp.input_arity > 1'000'000) return corrupt("too many columns");
  const std::size_t all = mfp.input_arity + mfp.expressions.size();
  std::size_t seen = mfp.input_arity;
  bool fits = std::all_of(mfp.projection.begin(), mfp.projection.end(), [&](auto c) { return c < all; });
  const auto within = [&](const Scalar& scalar, std::size_t end) {
    const auto columns = scalar.columns();
    return columns.empty() || *columns.rbegin() < end;
  };
  for (const Scalar& expression : mfp.expressions) fits = fits && within(expression, seen++);
  for (const auto* list : {&mfp.predicates, &mfp.lower_bounds, &mfp.upper_bounds}) {
    for (const Scalar& scalar : *list) fits = fits && within(scalar, all);
  }
  if (!fits) return corrupt("column out of range");
  if (!all_boolean(mfp.predicates)) return corrupt("predicates are booleans");
  return mfp;
}

Result<Aggregate> PlanReader::aggregate() {
  Aggregate aggregate;
  const base::BytesView signature = in_.bytes();
  aggregate.arguments = FRESHET_TRY(scalars());
  aggregate.distinct = in_.boolean();
  aggregate.filter = FRESHET_TRY(optional_scalar());
  for (std::size_t n = count(); n > 0; --n) {
    Scalar by = FRESHET_TRY(scalar());
    const bool descending = in_.boolean();
    aggregate.order_by.push_back({std::move(by), descending, in_.boolean()});
  }
  aggregate.spec = aggregate_by_signature(signature);
  if (auto read = ok(); !read) return fail(read.error());
  if (aggregate.spec == nullptr) {
    return fail(sqlstate::kUndefinedFunction, "decode a plan: unknown aggregate " + std::string(signature));
  }
  if (!accepts(aggregate.spec->arguments, false, aggregate.arguments)) return corrupt("arguments do not fit");
  if (aggregate.filter && aggregate.filter->type().type.kind() != TypeKind::kBool) {
    return corrupt("an aggregate's filter is a boolean");
  }
  return aggregate;
}

Result<std::vector<Aggregate>> PlanReader::aggregates() {
  std::vector<Aggregate> out;
  for (std::size_t n = count(); n > 0; --n) out.push_back(FRESHET_TRY(aggregate()));
  return out;
}

Result<std::vector<std::vector<Scalar>>> PlanReader::equivalences() {
  std::vector<std::vector<Scalar>> out;
  for (std::size_t n = count(); n > 0; --n) out.push_back(FRESHET_TRY(scalars()));
  return out;
}

std::vector<ColumnOrder> PlanReader::order() {
  std::vector<ColumnOrder> out;
  for (std::size_t n = count(); n > 0; --n) {
    ColumnOrder by;
    by.column = in_.varint();
    by.descending = in_.boolean();
    by.nulls_last = in_.boolean();
    out.push_back(by);
  }
  return out;
}

Result<std::vector<std::pair<repr::DatumRow, repr::Diff>>> PlanReader::rows(const Columns& types) {
  std::vector<SqlType> sql_types;
  for (const auto& column : types) sql_types.push_back(column.type);
  const repr::RowCodec codec(std::move(sql_types));
  std::vector<std::pair<repr::DatumRow, repr::Diff>> out;
  for (std::size_t n = count(); n > 0; --n) {
    repr::DatumRow row = FRESHET_TRY(codec.decode_row(in_.bytes()));
    out.emplace_back(std::move(row), in_.svarint());
  }
  return out;
}

}  // namespace freshet::expr
