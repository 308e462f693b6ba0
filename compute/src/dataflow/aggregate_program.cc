// SPDX-License-Identifier: Apache-2.0
#include "dataflow/aggregate_program.h"

#include "dataflow/row_layout.h"

namespace freshet::compute {
namespace {

std::size_t column_of(const expr::Scalar& scalar) {
  const auto* column = scalar.as<expr::Scalar::Column>();
  FRESHET_ASSERT(column != nullptr);
  return column->index;
}

ColumnTypes first_types(const ColumnTypes& types, std::size_t count) {
  return {types.begin(), types.begin() + static_cast<std::ptrdiff_t>(count)};
}

bool passes(const repr::Chunk& chunk, const expr::Aggregate& aggregate, std::size_t row) {
  if (!aggregate.filter) return true;
  const repr::Column& filter = *chunk.columns[column_of(*aggregate.filter)];
  return !filter.is_null(row) && filter.values<std::vector<std::uint8_t>>()[row] != 0;
}

}  // namespace

AggregateProgram::AggregateProgram(Options options)
    : options_(std::move(options)),
      key_types_(first_types(options_.input_types, options_.key_arity)),
      output_types_([&] {
        ColumnTypes types = key_types_;
        for (const expr::Aggregate& aggregate : options_.aggregates) types.push_back(aggregate.type());
        return types;
      }()),
      key_codec_(sql_types(key_types_)),
      output_codec_(sql_types(output_types_)) {
  for (const expr::Aggregate& aggregate : options_.aggregates) sections_.push_back(make_section(aggregate));
}

AggregateProgram::Section AggregateProgram::make_section(const expr::Aggregate& aggregate) const {
  std::vector<std::size_t> columns;
  ColumnTypes types;
  for (const expr::Scalar& argument : aggregate.arguments) {
    columns.push_back(column_of(argument));
    types.push_back(argument.type());
  }
  Section section{.kind = Kind::kAccumulable, .columns = columns, .types = types, .codec = repr::RowCodec(sql_types(types))};
  switch (aggregate.spec->aggregate_class) {
    case expr::AggregateClass::kAccumulable: break;
    case expr::AggregateClass::kExtremum:
      section.kind = Kind::kExtremum;
      section.descending = aggregate.spec->kind == expr::AggregateKind::kMax;
      break;
    case expr::AggregateClass::kOrdered:
      section.kind = Kind::kOrdered;
      for (const expr::Aggregate::OrderBy& by : aggregate.order_by) {
        section.order.push_back({column_of(by.expression), by.descending, by.nulls_last});
      }
      section.order_encoder.emplace(options_.input_types, section.order);
      break;
  }
  return section;
}

AggregateProgram::Encoded AggregateProgram::encode(const repr::Chunk& chunk) const {
  Encoded out;
  repr::BytesVector whole;
  key_codec_.encode(std::span(chunk.columns).first(options_.key_arity), 0, chunk.rows, whole);
  for (std::uint32_t row = 0; row < chunk.rows; ++row) {
    const std::string_view bytes = whole[row];
    const std::size_t key = key_codec_.has_forms() ? key_codec_.key_size(bytes) : bytes.size();
    out.keys.push_back(bytes.substr(0, key));
    out.values.buffer().append(kPrefix, '\0');
    out.values.buffer().append(bytes.substr(key));
    out.values.close();
    out.rows.push_back(row);
  }
  for (std::size_t i = 0; i < sections_.size(); ++i) encode_section(i, chunk, out);
  return out;
}

void AggregateProgram::encode_section(std::size_t index, const repr::Chunk& chunk, Encoded& out) const {
  const Section& section = sections_[index];
  const expr::Aggregate& aggregate = options_.aggregates[index];
  std::vector<repr::ColumnPtr> arguments;
  for (const std::size_t column : section.columns) arguments.push_back(chunk.columns[column]);
  repr::BytesVector rows;
  section.codec.encode(arguments, 0, chunk.rows, rows);
  repr::BytesVector order;
  if (section.order_encoder) order = section.order_encoder->encode(chunk.columns, chunk.rows);
  const std::string prefix = section_prefix(index + 1);
  for (std::uint32_t row = 0; row < chunk.rows; ++row) {
    if (!passes(chunk, aggregate, row)) continue;
    if (section.kind == Kind::kExtremum && arguments.front()->is_null(row)) continue;
    std::string& value = out.values.buffer();
    value.append(prefix);
    if (section.kind == Kind::kExtremum) {
      const std::size_t from = value.size();
      value.append(rows[row].substr(0, section.codec.key_size(rows[row])));
      if (section.descending) expr::complement(value, from);
      value.append(rows[row].substr(value.size() - from));
    } else if (section.kind == Kind::kOrdered) {
      value.append(order[row]).append(rows[row]);
    } else {
      value.append(rows[row]);
    }
    out.values.close();
    out.rows.push_back(row);
  }
}

std::string AggregateProgram::error(std::string_view key, Error error) const {
  const repr::DatumRow row = key_codec_.decode_row(key).value();
  const expr::PartialRow keys(row.begin(), row.end());
  return expr::encode_error_row(expr::group_error(keys, options_.output_arity, std::move(error)),
                                options_.error_types);
}

void AggregateProgram::put_out(std::string_view key, std::string_view form, bool negative,
                               std::vector<Result<repr::Datum>> values,
                               const std::function<void(char, std::string_view)>& push) const {
  std::string key_row(key);
  key_row.append(form);
  std::optional<Error> least;
  if (negative) least = expr::negative_multiplicity();
  for (const Result<repr::Datum>& value : values) {
    if (!value && (!least || expr::error_less(value.error(), *least))) least = value.error();
  }
  if (least) return push(kErrorTag, error(key_row, *least));
  repr::DatumRow row = key_codec_.decode_row(key_row).value();
  for (Result<repr::Datum>& value : values) row.push_back(std::move(*value));
  push(kRowTag, output_codec_.encode(row));
}

AggregateProgram::Reading::Reading(const AggregateProgram& program, std::size_t section)
    : program_(program),
      aggregate_(program.options_.aggregates[section]),
      section_(program.sections_[section]) {
  if (section_.kind != Kind::kAccumulable) {
    ordered_.emplace(*aggregate_.spec, sql_types(section_.types));
  }
}

// Of a distinct aggregate: true for a value whose key bytes were seen just before.
bool AggregateProgram::Reading::repeats(std::string_view row) {
  const std::string_view key = section_.types.empty() ? row : row.substr(0, section_.codec.key_size(row));
  if (has_last_ && last_ == key) return true;
  last_ = key;
  has_last_ = true;
  return false;
}

bool AggregateProgram::Reading::take(std::string_view value, Diff count) {
  if (count <= 0) return false;
  if (section_.kind == Kind::kExtremum) {
    // The first value is the answer, for max too: its values come in descending order.
    if (has_last_) return true;
    has_last_ = true;
  }
  std::string plain;
  std::string_view row = value;
  if (section_.kind == Kind::kOrdered) row = value.substr(section_.order_encoder->size(value));
  if (section_.kind == Kind::kExtremum && section_.descending) {
    plain = value;
    expr::complement(plain, 0);
    const std::size_t key = section_.codec.key_size(plain);
    plain.resize(key);
    plain.append(value.substr(key));
    row = plain;
  }
  if (aggregate_.distinct && section_.kind != Kind::kExtremum) {
    if (repeats(row)) return false;
    count = 1;
  }
  repr::DatumRow arguments = section_.codec.decode_row(row).value();
  if (ordered_) return ordered_->add(arguments, count) || section_.kind == Kind::kExtremum;
  rows_.push_back(std::move(arguments));
  counts_.push_back(count);
  return false;
}

Result<repr::Datum> AggregateProgram::Reading::finish() {
  if (ordered_) return ordered_->finish();
  expr::Accumulators::Call call{.spec = aggregate_.spec};
  expr::Accumulators::Input input;
  if (!section_.types.empty()) {
    call.argument = {section_.types.front().type, true};
    repr::ColumnBuilder builder(call.argument.type.physical());
    for (const repr::DatumRow& row : rows_) builder.append(row.front(), call.argument.type);
    input.argument = builder.finish();
  }
  const expr::Accumulators sums({call});
  expr::AccumulatorSet set;
  const std::vector<std::uint32_t> groups(rows_.size(), 0);
  sums.accumulate({&input, 1}, groups, counts_, {&set, 1});
  return sums.finish(set, 0);
}

}  // namespace freshet::compute
