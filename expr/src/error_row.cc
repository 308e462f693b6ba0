// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/error_row.h>

#include <algorithm>
#include <tuple>

#include <freshet/base/bytes.h>
#include <freshet/base/sqlstate.h>
#include <freshet/expr/eval.h>
#include <freshet/repr/row.h>

namespace freshet::expr {

using repr::ColumnType;
using repr::Datum;
using State = PartialValue::State;

namespace {

std::vector<repr::SqlType> known_types(const std::vector<bool>& known, std::span<const ColumnType> types) {
  std::vector<repr::SqlType> out;
  for (std::size_t c = 0; c < known.size(); ++c) {
    if (known[c]) out.push_back(types[c].type);
  }
  return out;
}

PartialValue value_of(Datum value) { return {State::kValue, std::move(value), {}}; }
PartialValue unknown_value() { return {}; }
PartialValue failed_value(Error error) { return {State::kFailed, {}, std::move(error)}; }

bool is_true(const PartialValue& v) { return v.is_value() && !v.value.is_null() && v.value.get<bool>(); }
bool is_false(const PartialValue& v) { return v.is_value() && !v.value.is_null() && !v.value.get<bool>(); }

bool is_number(const repr::SqlType& type) {
  switch (type.kind()) {
    case repr::TypeKind::kInt2:
    case repr::TypeKind::kInt4:
    case repr::TypeKind::kInt8:
    case repr::TypeKind::kFloat4:
    case repr::TypeKind::kFloat8:
    case repr::TypeKind::kNumeric:
      return true;
    default:
      return false;
  }
}

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

/// False if equal arguments give equal results, however they look. Division is not of these: how many digits its
/// result has depends on the scales.
bool sees_forms(const FunctionSpec& function, std::span<const Scalar> arguments) {
  if (function.is_operator && one_of(function.name, {"=", "<>", "<", "<=", ">", ">="})) return false;
  if (std::ranges::none_of(arguments, [](const Scalar& a) { return has_forms(a.type().type); })) return false;
  if (!std::ranges::all_of(arguments, [](const Scalar& a) { return is_number(a.type().type); })) return true;
  if (function.is_operator) return !one_of(function.name, {"+", "-", "*", "%"});
  if (function.name == "cast") return !is_number(function.result.type);
  return !one_of(function.name, {"abs", "ceil", "ceiling", "floor", "round", "trunc", "sign", "mod"});
}

class PartialEvaluator {
 public:
  PartialEvaluator(const PartialRow& row, std::span<const ColumnType> types) : row_(row), types_(types) {}

  PartialValue evaluate(const Scalar& scalar) const {
    return std::visit([&](const auto& n) { return node(n, scalar); }, scalar.node());
  }

 private:
  PartialValue node(const Scalar::Column& n, const Scalar&) const {
    const auto& value = row_[n.index];
    return value ? value_of(*value) : unknown_value();
  }
  PartialValue node(const Scalar::Literal& n, const Scalar&) const { return value_of(n.value); }
  PartialValue node(const Scalar::Failure& n, const Scalar&) const { return failed_value(n.error); }
  PartialValue node(const Scalar::Parameter&, const Scalar&) const { return unknown_value(); }
  PartialValue node(const Scalar::MzNow&, const Scalar&) const { return unknown_value(); }
  PartialValue node(const Scalar::SessionValue&, const Scalar&) const { return unknown_value(); }

  PartialValue node(const Scalar::Call& n, const Scalar& scalar) const {
    std::vector<Scalar> arguments;
    std::optional<Error> error;
    bool unknown = false;
    for (const Scalar& argument : n.arguments) {
      PartialValue value = evaluate(argument);
      if (value.state == State::kFailed && (!error || error_less(value.error, *error))) {
        error = std::move(value.error);
      }
      unknown = unknown || value.state == State::kUnknown;
      arguments.push_back(Scalar::literal(std::move(value.value), argument.type().type));
    }
    if (unknown || sees_forms(*n.function, arguments)) return unknown_value();
    if (error) return failed_value(std::move(*error));
    auto result = evaluate_row(Scalar::call_typed(n.function, std::move(arguments), scalar.type().type), {}, {});
    return result ? value_of(*std::move(result)) : failed_value(result.error());
  }

  PartialValue node(const Scalar::And& n, const Scalar&) const { return connective(n.arguments, false); }
  PartialValue node(const Scalar::Or& n, const Scalar&) const { return connective(n.arguments, true); }

  // AND is decided by a false argument, OR by a true one; then come unknown, failed and NULL arguments.
  PartialValue connective(const std::vector<Scalar>& arguments, bool deciding) const {
    bool unknown = false;
    bool null = false;
    std::optional<Error> error;
    for (const Scalar& argument : arguments) {
      PartialValue value = evaluate(argument);
      if (deciding ? is_true(value) : is_false(value)) return value;
      unknown = unknown || value.state == State::kUnknown;
      null = null || (value.is_value() && value.value.is_null());
      if (value.state == State::kFailed && (!error || error_less(value.error, *error))) {
        error = std::move(value.error);
      }
    }
    if (unknown) return unknown_value();
    if (error) return failed_value(std::move(*error));
    return value_of(null ? Datum() : Datum(!deciding));
  }

  PartialValue node(const Scalar::If& n, const Scalar&) const {
    PartialValue condition = evaluate(n.arguments[0]);
    if (!condition.is_value()) return condition;
    return evaluate(n.arguments[is_true(condition) ? 1 : 2]);
  }
  PartialValue node(const Scalar::Coalesce& n, const Scalar&) const {
    PartialValue value = value_of(Datum());
    for (const Scalar& argument : n.arguments) {
      value = evaluate(argument);
      if (!value.is_value() || !value.value.is_null()) return value;
    }
    return value;
  }
  PartialValue node(const Scalar::IsNull& n, const Scalar&) const {
    PartialValue value = evaluate(n.arguments[0]);
    return value.is_value() ? value_of(Datum(value.value.is_null())) : value;
  }

  const PartialRow& row_;
  std::span<const ColumnType> types_;
};

}  // namespace

ErrorRow ErrorRow::unknown(std::size_t arity, Error error) {
  return {PartialRow(arity), std::move(error)};
}

ErrorRow ErrorRow::of(const repr::DatumRow& row, Error error) {
  return {PartialRow(row.begin(), row.end()), std::move(error)};
}

Error negative_multiplicity() {
  return sql_error(sqlstate::kInternalError, "negative multiplicity");
}

bool error_less(const Error& a, const Error& b) {
  const auto key = [](const Error& e) {
    return std::tie(e.sqlstate, e.message, e.detail, e.hint, e.position, e.code);
  };
  return key(a) < key(b);
}

std::string encode_error_row(const ErrorRow& row, std::span<const ColumnType> types) {
  FRESHET_ASSERT(row.known.size() == types.size(), row.known.size(), types.size());
  base::ByteWriter out;
  std::vector<bool> known;
  repr::DatumRow values;
  for (const auto& value : row.known) {
    known.push_back(value.has_value());
    out.boolean(value.has_value());
    if (value) values.push_back(*value);
  }
  out.bytes(repr::RowCodec(known_types(known, types)).encode(values));
  out.u8(static_cast<std::uint8_t>(row.error.code));
  out.bytes(row.error.sqlstate.view());
  out.bytes(row.error.message);
  out.bytes(row.error.detail);
  out.bytes(row.error.hint);
  out.svarint(row.error.position);
  return out.take();
}

Result<ErrorRow> decode_error_row(std::string_view bytes, std::span<const ColumnType> types) {
  base::ByteReader in(bytes);
  std::vector<bool> known;
  for (std::size_t c = 0; c < types.size(); ++c) known.push_back(in.boolean());
  const std::string_view row = in.bytes();
  ErrorRow out;
  out.error.code = static_cast<ErrorCode>(in.u8());
  out.error.sqlstate = SqlState::from(in.bytes());
  out.error.message = in.bytes();
  out.error.detail = in.bytes();
  out.error.hint = in.bytes();
  out.error.position = static_cast<std::int32_t>(in.svarint());
  if (!in.ok() || !in.at_end() || out.error.code > ErrorCode::kExhausted) {
    return fail(ErrorCode::kCorrupt, "decode an error row");
  }
  const repr::DatumRow values = FRESHET_TRY(repr::RowCodec(known_types(known, types)).decode_row(row));
  std::size_t next = 0;
  for (const bool k : known) out.known.push_back(k ? std::optional(values[next++]) : std::nullopt);
  return out;
}

bool PartialValue::rejects() const { return is_value() && (value.is_null() || !value.get<bool>()); }

PartialValue evaluate_partial(const Scalar& scalar, const PartialRow& row,
                              std::span<const ColumnType> types) {
  return PartialEvaluator(row, types).evaluate(scalar);
}

std::optional<ErrorRow> apply_mfp(const Mfp& mfp, const ErrorRow& row,
                                  std::span<const ColumnType> input_types) {
  FRESHET_ASSERT(row.known.size() == mfp.input_arity, row.known.size(), mfp.input_arity);
  PartialRow values = row.known;
  std::vector<ColumnType> types(input_types.begin(), input_types.end());
  // Expressions are written out in full, so that a lazy use of a failing one does not fail.
  const std::vector<Scalar> written = mfp.written_out();
  for (const Scalar& expression : written) {
    PartialValue value = evaluate_partial(expression, row.known, input_types);
    values.push_back(value.is_value() ? std::optional(std::move(value.value)) : std::nullopt);
    types.push_back(expression.type());
  }
  for (const Scalar& predicate : mfp.predicates) {
    if (evaluate_partial(predicate, values, types).rejects()) return std::nullopt;
  }
  ErrorRow out{{}, row.error};
  for (const std::size_t column : mfp.projection) out.known.push_back(values[column]);
  return out;
}

ErrorRow group_error(const PartialRow& keys, std::size_t output_arity, Error error) {
  FRESHET_ASSERT(keys.size() <= output_arity, keys.size(), output_arity);
  ErrorRow out = ErrorRow::unknown(output_arity, std::move(error));
  for (const auto& key : keys) {
    if (!key) return out;
  }
  std::copy(keys.begin(), keys.end(), out.known.begin());
  return out;
}

ErrorRow top_k_error(std::span<const std::size_t> group_key, const ErrorRow& row) {
  ErrorRow out = ErrorRow::unknown(row.known.size(), row.error);
  for (const std::size_t column : group_key) {
    if (!row.known[column]) return out;
  }
  for (const std::size_t column : group_key) out.known[column] = row.known[column];
  return out;
}

}  // namespace freshet::expr
