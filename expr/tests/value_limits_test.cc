// SPDX-License-Identifier: Apache-2.0
// Values that would be larger than PostgreSQL's may be are refused before they are made.
#include <optional>
#include <string>
#include <vector>

#include <freshet/expr/aggregate.h>
#include <freshet/expr/eval.h>
#include <freshet/expr/functions.h>
#include <freshet/expr/mfp.h>

#include <catch2/catch.hpp>

namespace freshet::expr {
namespace {

using repr::Datum;
using repr::SqlType;
using repr::TypeKind;

const SqlType kText(TypeKind::kText);
const SqlType kInt(TypeKind::kInt4);

Scalar call(std::string_view signature, std::vector<Scalar> arguments) {
  const FunctionSpec* found = function_by_signature(signature);
  INFO(signature);
  REQUIRE(found != nullptr);
  return Scalar::call(found, std::move(arguments));
}
Scalar text(std::string value) { return Scalar::literal(Datum(std::move(value)), kText); }
Scalar number(std::int32_t value) { return Scalar::literal(Datum(value), kInt); }
Scalar column() { return Scalar::column(0, {kText, false}); }

using Columns = std::vector<repr::ColumnPtr>;

Columns one_text(std::size_t bytes) {
  repr::BytesVector values;
  values.buffer().assign(bytes, 'x');
  values.close();
  return {std::make_shared<const repr::Column>(std::move(values))};
}

// SQLSTATE and message of `scalar` over one row; empty if it has a value.
std::string refusal(const Scalar& scalar, const Columns& columns) {
  const Evaluated out = evaluate(scalar, columns, 1);
  const Error* error = out.errors.find(0);
  return error == nullptr ? "" : std::string(error->sqlstate.view()) + " " + error->message;
}

const std::string kRefused = "54000 requested length too large";

TEST_CASE("limits: functions refuse a result above 1 GB", "[expr]") {
  const Columns half = one_text(540'000'000);
  CHECK(refusal(call("textcat(text,text)", {column(), column()}), half) == kRefused);
  CHECK(refusal(call("concat(any)", {column(), column()}), half) == kRefused);
  CHECK(refusal(call("concat_ws(text,any)", {text(","), column(), column()}), half) == kRefused);
  CHECK(refusal(call("format(text,any)", {text("%s%s"), column(), column()}), half) == kRefused);
  CHECK(refusal(call("repeat(text,int4)", {column(), number(2)}), half) == kRefused);
  CHECK(refusal(call("format(text,any)", {text("%2000000000s"), column()}), one_text(1)) == kRefused);
  const Columns some = one_text(1000);
  const Scalar longer = text(std::string(1'100'000, 'y'));
  CHECK(refusal(call("replace(text,text,text)", {column(), text("x"), longer}), some) == kRefused);
  CHECK(refusal(call("replace(text,text,text)", {column(), text("y"), longer}), some) == "");
  CHECK(refusal(call("regexp_replace(text,text,text,text)", {column(), text("x"), longer, text("g")}), some) ==
        kRefused);
}

TEST_CASE("limits: many rows of a chunk are refused before a column overflows", "[expr]") {
  const Columns none;
  const Scalar large = text(std::string(2'000'000, 'x'));
  const std::size_t rows = 3000;
  std::vector<std::int32_t> numbers(rows, 2);
  const Columns columns{std::make_shared<const repr::Column>(std::move(numbers))};
  const Evaluated copies = evaluate(large, none, rows);
  CHECK(copies.column->size() == rows);
  CHECK(copies.errors.entries.size() == rows);
  const Scalar two = Scalar::column(0, {kInt, false});
  const Evaluated longer = evaluate(call("repeat(text,int4)", {text(std::string(1'000'000, 'x')), two}), columns, rows);
  CHECK(longer.errors.entries.size() > rows / 2);
  CHECK(longer.errors.find(0) == nullptr);
}

TEST_CASE("limits: rows that are too large together are evaluated in parts", "[expr]") {
  const std::size_t rows = 5;
  std::vector<std::int32_t> numbers(rows, 250'000'000);
  const Columns columns{std::make_shared<const repr::Column>(std::move(numbers))};
  const Scalar large = call("repeat(text,int4)", {text("x"), Scalar::column(0, {kInt, false})});
  const Evaluated lengths = evaluate(call("length(text)", {large}), columns, rows);
  CHECK(lengths.errors.empty());
  CHECK(lengths.column->datum(4, kInt).get<std::int32_t>() == 250'000'000);
  const Mfp step = Mfp::identity(1).map({call("length(text)", {large})}).project({1});
  repr::Chunk chunk{.columns = columns, .rows = rows};
  chunk.times = repr::Times(repr::SqlTime{7});
  const MfpOutput out = MfpEvaluator(step, {{kInt, false}}).apply(chunk);
  CHECK(out.errors.empty());
  REQUIRE(out.rows.rows == rows);
  CHECK(out.rows.columns[0]->datum(4, kInt).get<std::int32_t>() == 250'000'000);
  CHECK(out.rows.times[4] == 7);
}

std::string refusal_of(std::string_view signature, const SqlType& type, const repr::DatumRow& row, repr::Diff count) {
  const AggregateSpec* spec = aggregate_by_signature(signature);
  INFO(signature);
  REQUIRE(spec != nullptr);
  OrderedAggregate aggregate(*spec, {type, type});
  aggregate.add(row, count);
  const Result<Datum> out = aggregate.finish();
  return out.has_value() ? "" : std::string(out.error().sqlstate.view()) + " " + out.error().message;
}

TEST_CASE("limits: aggregates refuse before they take the memory", "[expr]") {
  const repr::DatumRow texts{Datum(std::string(1000, 'x')), Datum(std::string(","))};
  CHECK(refusal_of("string_agg(text,text)", kText, texts, repr::Diff{1} << 60) == "54000 out of memory");
  CHECK(refusal_of("string_agg(text,text)", kText, texts, 1000) == "");
  const repr::DatumRow empty{Datum(std::string()), Datum()};
  CHECK(refusal_of("string_agg(text,text)", kText, empty, repr::Diff{1} << 60) == "");
  CHECK(refusal_of("array_agg(anynonarray)", kInt, {Datum(std::int32_t{1})}, repr::Diff{1} << 60) ==
        "54000 array size exceeds the maximum allowed (134217727)");
}

}  // namespace
}  // namespace freshet::expr
