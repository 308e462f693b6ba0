// SPDX-License-Identifier: Apache-2.0
// Which keys of an index the predicates of a read allow.
#include <algorithm>

#include <freshet/expr/match_keys.h>

#include "physical/lowering.h"

namespace freshet::sql {

using repr::Datum;
using repr::PhysicalType;
using repr::SqlType;

std::optional<Datum> key_value(const Datum& value, const SqlType& from, const SqlType& to) {
  if (from.physical() == to.physical()) return value;
  std::int64_t wide = 0;
  switch (from.physical()) {
    case PhysicalType::kInt16:
      wide = value.get<std::int16_t>();
      break;
    case PhysicalType::kInt32:
      wide = value.get<std::int32_t>();
      break;
    default:
      wide = value.get<std::int64_t>();
      break;
  }
  switch (to.physical()) {
    case PhysicalType::kInt16:
      if (wide != static_cast<std::int16_t>(wide)) return std::nullopt;
      return Datum(static_cast<std::int16_t>(wide));
    case PhysicalType::kInt32:
      if (wide != static_cast<std::int32_t>(wide)) return std::nullopt;
      return Datum(static_cast<std::int32_t>(wide));
    default:
      return Datum(wide);
  }
}

}  // namespace freshet::sql

namespace freshet::sql::physical {
namespace {

using repr::Datum;
using repr::SqlType;

/// More keys than these are better read by a scan.
constexpr std::size_t kMaxSeeks = 1000;

/// The values that `predicate` leaves for `part`; nothing if it says nothing of it.
std::optional<std::vector<Datum>> allowed(const Scalar& predicate, const Scalar& part) {
  if (const auto* disjunction = predicate.as<Scalar::Or>()) {
    std::vector<Datum> all;
    for (const Scalar& arm : disjunction->arguments) {
      auto values = allowed(arm, part);
      if (!values) return std::nullopt;
      all.insert(all.end(), values->begin(), values->end());
      if (all.size() > kMaxSeeks) return std::nullopt;
    }
    return all;
  }
  if (const auto* conjunction = predicate.as<Scalar::And>()) {
    for (const Scalar& argument : conjunction->arguments) {
      if (auto values = allowed(argument, part)) return values;
    }
    return std::nullopt;
  }
  const SqlType& to = part.type().type;
  if (const auto equality = expr::as_equality(predicate)) {
    const auto& [a, b] = *equality;
    const Scalar* other = a == part ? &b : b == part ? &a : nullptr;
    const auto* literal = other == nullptr ? nullptr : other->as<Scalar::Literal>();
    if (literal == nullptr) return std::nullopt;
    if (literal->value.is_null()) return std::vector<Datum>();
    auto value = key_value(literal->value, other->type().type, to);
    return value ? std::vector{*std::move(value)} : std::vector<Datum>();
  }
  // part = ANY (array literal)
  const auto* call = predicate.as<Scalar::Call>();
  if (call == nullptr || !call->function->signature.starts_with("any(=(")) return std::nullopt;
  const auto* list = call->arguments[1].as<Scalar::Literal>();
  if (call->arguments[0] != part || list == nullptr) return std::nullopt;
  if (list->value.is_null()) return std::vector<Datum>();
  const SqlType& element = call->arguments[1].type().type.element();
  if (!expr::same_key_encoding(element, to)) return std::nullopt;
  std::vector<Datum> values;
  for (const Datum& e : list->value.get<std::shared_ptr<const repr::ArrayValue>>()->elements) {
    if (e.is_null()) continue;
    if (auto value = key_value(e, element, to)) values.push_back(*std::move(value));
  }
  if (values.size() > kMaxSeeks) return std::nullopt;
  return values;
}

bool less(const repr::DatumRow& a, const repr::DatumRow& b, const ArrangementKey& key) {
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto order = compare(a[i], b[i], key[i].type().type);
    if (order != 0) return order < 0;
  }
  return false;
}

}  // namespace

std::optional<std::vector<repr::DatumRow>> find_seek(const Mfp& mfp, const Columns& input,
                                                     const ArrangementKey& key) {
  if (key.empty() || mfp.predicates.empty()) return std::nullopt;
  std::vector<Scalar> columns;
  for (std::size_t c = 0; c < input.size(); ++c) columns.push_back(Scalar::column(c, input[c]));
  for (const Scalar& expression : mfp.written_out()) columns.push_back(expression);
  std::vector<Scalar> predicates;
  for (const Scalar& predicate : mfp.predicates) predicates.push_back(predicate.substitute(columns));
  std::vector<repr::DatumRow> rows{{}};
  for (const Scalar& part : key) {
    std::optional<std::vector<Datum>> values;
    for (const Scalar& predicate : predicates) {
      auto found = allowed(predicate, part);
      if (found && (!values || found->size() < values->size())) values = std::move(found);
    }
    if (!values || rows.size() * values->size() > kMaxSeeks) return std::nullopt;
    std::vector<repr::DatumRow> longer;
    for (const repr::DatumRow& row : rows) {
      for (const Datum& value : *values) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    }
    rows = std::move(longer);
  }
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return less(a, b, key); });
  rows.erase(std::unique(rows.begin(), rows.end(),
                         [&](const auto& a, const auto& b) { return !less(a, b, key) && !less(b, a, key); }),
             rows.end());
  return rows;
}

std::optional<ArrangementKey> below_mfp(const Mfp& mfp, const ArrangementKey& key) {
  const std::vector<Scalar> written = mfp.written_out();
  ArrangementKey out;
  for (const Scalar& part : key) {
    out.push_back(part.transform([&](Scalar s) {
      const auto* column = s.as<Scalar::Column>();
      if (column == nullptr) return s;
      const std::size_t c = mfp.projection[column->index];
      return c < mfp.input_arity ? Scalar::column(c, s.type()) : written[c - mfp.input_arity];
    }));
  }
  return out;
}

}  // namespace freshet::sql::physical
