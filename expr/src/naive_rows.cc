// SPDX-License-Identifier: Apache-2.0
#include "naive_rows.h"

#include <algorithm>
#include <iterator>

#include <freshet/base/sqlstate.h>

namespace freshet::expr::naive {

repr::RowCodec codec_of(std::span<const ColumnType> types) {
  std::vector<repr::SqlType> sql_types;
  for (const ColumnType& column : types) sql_types.push_back(column.type);
  return repr::RowCodec(std::move(sql_types));
}

Collector::Collector(Types types) : codec_(codec_of(types)) { rows_.types = std::move(types); }

void Collector::add(DatumRow row, Diff diff) {
  if (diff == 0) return;
  std::string bytes = codec_.encode(row);
  const auto [entry, is_new] = rows_.oks.try_emplace(std::move(bytes));
  if (is_new) entry->second.row = std::move(row);
  entry->second.diff += diff;
  if (entry->second.diff == 0) rows_.oks.erase(entry);
}

void Collector::add_error(ErrorRow row) {
  std::string bytes = encode_error_row(row, rows_.types);
  rows_.errs.try_emplace(std::move(bytes), std::move(row));
}

void Collector::add_all(const Rows& rows) {
  for (const auto& [bytes, counted] : rows.oks) add(counted.row, counted.diff);
  for (const auto& [bytes, error] : rows.errs) add_error(error);
}

RowsPtr Collector::finish() { return std::make_shared<const Rows>(std::move(rows_)); }

namespace {

std::vector<CountedRow> list_of(const Rows& rows) {
  std::vector<CountedRow> list;
  list.reserve(rows.oks.size());
  for (const auto& [bytes, counted] : rows.oks) list.push_back(counted);
  return list;
}

}  // namespace

Batch::Batch(const Rows& rows) : Batch(list_of(rows), rows.types) {}

Batch::Batch(std::vector<CountedRow> rows, std::span<const ColumnType> types) : rows_(std::move(rows)) {
  for (std::size_t c = 0; c < types.size(); ++c) {
    repr::ColumnBuilder builder(types[c].type.physical());
    for (const CountedRow& counted : rows_) builder.append(counted.row[c], types[c].type);
    columns_.push_back(builder.finish());
  }
}

Evaluated Batch::evaluate(const Scalar& scalar) const {
  return expr::evaluate(scalar, columns_, rows_.size(), false);
}

Result<void> Budget::check(std::size_t rows) const {
  if (rows <= max_rows) return {};
  return fail(sqlstate::kProgramLimitExceeded,
              "intermediate result has more than " + std::to_string(max_rows) + " rows");
}

Types concatenated(std::span<const Types> parts) {
  Types out;
  for (const Types& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

DatumRow concatenated(const DatumRow& a, const DatumRow& b) {
  DatumRow out;
  out.reserve(a.size() + b.size());
  out.insert(out.end(), a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

std::vector<Scalar> all_columns(std::span<const ColumnType> types) {
  std::vector<Scalar> out;
  for (std::size_t c = 0; c < types.size(); ++c) out.push_back(Scalar::column(c, types[c]));
  return out;
}

RowsPtr project(const Rows& input, std::span<const std::size_t> columns) {
  Types types;
  for (const std::size_t column : columns) types.push_back(input.types[column]);
  Collector out(std::move(types));
  for (const auto& [bytes, counted] : input.oks) {
    DatumRow row;
    for (const std::size_t column : columns) row.push_back(counted.row[column]);
    out.add(std::move(row), counted.diff);
  }
  for (const auto& [bytes, error] : input.errs) {
    ErrorRow row{{}, error.error};
    for (const std::size_t column : columns) row.known.push_back(error.known[column]);
    out.add_error(std::move(row));
  }
  return out.finish();
}

RowsPtr pad(const Rows& input, const Types& types, bool behind) {
  const DatumRow nulls(types.size());
  const PartialRow known_nulls(types.size(), Datum());
  const std::vector<Types> parts = behind ? std::vector{input.types, types} : std::vector{types, input.types};
  Collector out(concatenated(parts));
  for (const auto& [bytes, counted] : input.oks) {
    out.add(behind ? concatenated(counted.row, nulls) : concatenated(nulls, counted.row), counted.diff);
  }
  for (const auto& [bytes, error] : input.errs) {
    ErrorRow row{behind ? error.known : known_nulls, error.error};
    const PartialRow& rest = behind ? known_nulls : error.known;
    row.known.insert(row.known.end(), rest.begin(), rest.end());
    out.add_error(std::move(row));
  }
  return out.finish();
}

std::vector<Scalar> conjuncts(std::span<const Scalar> predicates) {
  std::vector<Scalar> out;
  for (const Scalar& predicate : predicates) {
    if (const auto* conjunction = predicate.as<Scalar::And>()) {
      std::ranges::move(conjuncts(conjunction->arguments), std::back_inserter(out));
    } else {
      out.push_back(predicate);
    }
  }
  return out;
}

namespace {

/// Predicates evaluated over a batch, one after the other.
std::vector<Evaluated> evaluate_all(const Batch& batch, std::span<const Scalar> predicates) {
  std::vector<Evaluated> out;
  for (const Scalar& predicate : predicates) out.push_back(batch.evaluate(predicate));
  return out;
}

struct Verdict {
  bool passes = true;
  std::optional<Error> error{};
};

void note(std::optional<Error>& least, const Error& error) {
  if (!least || error_less(error, *least)) least = error;
}

/// Plain predicates: false or NULL hides an error. Temporal ones: an error hides all else.
Verdict judge(std::span<const Evaluated> predicates, std::uint32_t row, bool errors_first) {
  Verdict verdict;
  for (const Evaluated& p : predicates) {
    if (const Error* error = p.errors.find(row)) {
      note(verdict.error, *error);
      continue;
    }
    const auto& values = p.column->values<std::vector<std::uint8_t>>();
    if (p.column->is_null(row) || values[row] == 0) verdict.passes = false;
  }
  if (errors_first) {
    verdict.passes = verdict.passes && !verdict.error;
  } else if (!verdict.passes) {
    verdict.error.reset();
  } else {
    verdict.passes = !verdict.error;
  }
  return verdict;
}

}  // namespace

RowsPtr filter(const Rows& input, std::span<const Scalar> plain, std::span<const Scalar> temporal) {
  Collector out(input.types);
  const Batch batch(input);
  const std::vector<Evaluated> plain_values = evaluate_all(batch, plain);
  const std::vector<Evaluated> temporal_values = evaluate_all(batch, temporal);
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    Verdict verdict = judge(plain_values, i, false);
    if (verdict.passes) verdict = judge(temporal_values, i, true);
    if (verdict.passes) out.add(batch[i].row, batch[i].diff);
    if (verdict.error) out.add_error(ErrorRow::of(batch[i].row, *verdict.error));
  }
  Mfp step = Mfp::identity(input.types.size());
  step.predicates.assign(plain.begin(), plain.end());
  for (const auto& [bytes, error] : input.errs) {
    if (auto row = apply_mfp(step, error, input.types)) out.add_error(std::move(*row));
  }
  return out.finish();
}

}  // namespace freshet::expr::naive
