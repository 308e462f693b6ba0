// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/eval.h>

#include <map>
#include <optional>

#include <testing/random.h>

#include <catch2/catch.hpp>

#include "generate.h"

namespace freshet::expr {
namespace {

using repr::Chunk;
using repr::ColumnType;
using repr::Datum;
using repr::DatumRow;
using repr::SqlType;
using repr::TypeKind;

const SqlType kInt(TypeKind::kInt4);
const SqlType kBool(TypeKind::kBool);

const FunctionSpec* spec(std::string_view signature) {
  const FunctionSpec* found = function_by_signature(signature);
  INFO(signature);
  REQUIRE(found != nullptr);
  return found;
}
Scalar call(std::string_view signature, std::vector<Scalar> arguments) {
  return Scalar::call(spec(signature), std::move(arguments));
}
Scalar number(std::int32_t value) { return Scalar::literal(Datum(value), kInt); }
Scalar boolean_null() { return Scalar::null(kBool); }
Scalar failing_bool() { return Scalar::failure(sql_error("22012", "division by zero"), kBool); }

// --- The specification: one row at a time, straight from the rules, sharing no code ---------------------------

struct Outcome {
  std::optional<Error> error{};
  Datum value{};
};

bool less_error(const Error& a, const Error& b) {
  return a.sqlstate.view() != b.sqlstate.view() ? a.sqlstate.view() < b.sqlstate.view() : a.message < b.message;
}
void note(std::optional<Error>& into, const std::optional<Error>& error) {
  if (error && (!into || less_error(*error, *into))) into = error;
}

Outcome reference(const Scalar& scalar, const DatumRow& row);

Outcome connect(std::span<const Scalar> arguments, const DatumRow& row, bool decider) {
  Outcome out{.value = Datum(!decider)};
  bool null = false;
  for (const Scalar& argument : arguments) {
    const Outcome o = reference(argument, row);
    if (!o.error && !o.value.is_null() && o.value.get<bool>() == decider) return {.value = Datum(decider)};
    note(out.error, o.error);
    null = null || (!o.error && o.value.is_null());
  }
  if (null) out.value = Datum();
  return out;
}

// The functions the random scalars use, in plain C++.
Outcome reference_call(std::string_view name, const std::vector<Datum>& a) {
  for (const Datum& d : a) {
    if (d.is_null()) return {};
  }
  const auto i = [&](std::size_t n) { return a[n].get<std::int32_t>(); };
  if (name == "/(int4,int4)") {
    if (i(1) == 0) return {.error = sql_error("22012", "division by zero")};
    return {.value = Datum(i(0) / i(1))};
  }
  if (name == "+(int4,int4)") return {.value = Datum(i(0) + i(1))};
  if (name == "<(int4,int4)") return {.value = Datum(i(0) < i(1))};
  if (name == "=(int4,int4)") return {.value = Datum(i(0) == i(1))};
  if (name == "not(bool)") return {.value = Datum(!a[0].get<bool>())};
  FAIL("no reference for " << name);
  return {};
}

Outcome reference(const Scalar& scalar, const DatumRow& row) {
  if (const auto* n = scalar.as<Scalar::Column>()) return {.value = row[n->index]};
  if (const auto* n = scalar.as<Scalar::Literal>()) return {.value = n->value};
  if (const auto* n = scalar.as<Scalar::Failure>()) return {.error = n->error};
  if (const auto* n = scalar.as<Scalar::And>()) return connect(n->arguments, row, false);
  if (const auto* n = scalar.as<Scalar::Or>()) return connect(n->arguments, row, true);
  if (const auto* n = scalar.as<Scalar::If>()) {
    const Outcome c = reference(n->arguments[0], row);
    if (c.error) return c;
    return reference(n->arguments[!c.value.is_null() && c.value.get<bool>() ? 1 : 2], row);
  }
  if (const auto* n = scalar.as<Scalar::Coalesce>()) {
    for (const Scalar& argument : n->arguments) {
      const Outcome o = reference(argument, row);
      if (o.error || !o.value.is_null()) return o;
    }
    return {};
  }
  if (const auto* n = scalar.as<Scalar::IsNull>()) {
    const Outcome o = reference(n->arguments[0], row);
    if (o.error) return o;
    return {.value = Datum(o.value.is_null())};
  }
  const auto* n = scalar.as<Scalar::Call>();
  REQUIRE(n != nullptr);
  Outcome out;
  std::vector<Datum> values;
  for (const Scalar& argument : n->arguments) {
    const Outcome o = reference(argument, row);
    note(out.error, o.error);
    values.push_back(o.value);
  }
  return out.error ? out : reference_call(n->function->signature, values);
}

void check_same(const Outcome& expected, const Error* error, const Datum& value, const SqlType& type) {
  REQUIRE(expected.error.has_value() == (error != nullptr));
  if (error != nullptr) {
    CHECK(*error == *expected.error);
  } else {
    CHECK(repr::identical(value, expected.value, type));
  }
}

// --- Random scalars over two int4 columns ------------------------------------------------------------------

Scalar random_int(testing::Random& random, int depth, std::size_t columns);

Scalar random_bool(testing::Random& random, int depth, std::size_t columns) {
  const auto some = [&](int d) { return random_bool(random, d, columns); };
  if (depth == 0) return random.pick<Scalar>({Scalar::boolean(true), Scalar::boolean(false), boolean_null()});
  switch (random.below(8)) {
    case 0: return Scalar::conjunction({some(depth - 1), some(depth - 1), some(depth - 1)});
    case 1: return Scalar::disjunction({some(depth - 1), some(depth - 1), some(depth - 1)});
    case 2: return call("not(bool)", {some(depth - 1)});
    case 3: return Scalar::is_null(random_int(random, depth - 1, columns));
    case 4: return Scalar::if_then(some(depth - 1), some(depth - 1), some(depth - 1));
    case 5: return Scalar::coalesce({some(depth - 1), some(depth - 1)});
    case 6:
      return call("=(int4,int4)",
                  {random_int(random, depth - 1, columns), random_int(random, depth - 1, columns)});
    default:
      return call("<(int4,int4)",
                  {random_int(random, depth - 1, columns), random_int(random, depth - 1, columns)});
  }
}

Scalar random_int(testing::Random& random, int depth, std::size_t columns) {
  const auto some = [&](int d) { return random_int(random, d, columns); };
  if (depth == 0 || random.below(5) == 0) {
    if (random.below(3) == 0) return random.pick<Scalar>({number(0), number(1), Scalar::null(kInt)});
    return Scalar::column(random.below(columns), {kInt, true});
  }
  switch (random.below(5)) {
    case 0: return call("/(int4,int4)", {some(depth - 1), some(depth - 1)});
    case 1: return call("+(int4,int4)", {some(depth - 1), some(depth - 1)});
    case 2: return Scalar::if_then(random_bool(random, depth - 1, columns), some(depth - 1), some(depth - 1));
    case 3: return Scalar::coalesce({some(depth - 1), some(depth - 1)});
    default: return call("/(int4,int4)", {some(depth - 1), number(0)});
  }
}

std::vector<DatumRow> random_rows(testing::Random& random, std::size_t rows) {
  std::vector<DatumRow> out;
  for (std::size_t i = 0; i < rows; ++i) {
    DatumRow row;
    for (int c = 0; c < 2; ++c) {
      row.push_back(random.below(4) == 0 ? Datum() : Datum(random.int_below(3) - 1));
    }
    out.push_back(std::move(row));
  }
  return out;
}

const std::vector<ColumnType> kTwoInts{{kInt, true}, {kInt, true}};

TEST_CASE("eval: AND, OR and NOT follow the rules for every truth, NULL and error", "[expr][eval]") {
  const std::vector<Scalar> truths{Scalar::boolean(true), Scalar::boolean(false), boolean_null(), failing_bool(),
                                   Scalar::failure(sql_error("22003", "integer out of range"), kBool)};
  for (const Scalar& a : truths) {
    for (const Scalar& b : truths) {
      for (const Scalar& c : truths) {
        for (const Scalar& whole : {Scalar::conjunction({a, b, c}), Scalar::disjunction({a, b, c}),
                                    Scalar::if_then(a, b, c), Scalar::coalesce({a, b, c})}) {
          INFO(to_string(whole));
          const Evaluated out = evaluate(whole, {}, 3);
          check_same(reference(whole, {}), out.errors.find(1), out.column->datum(1, kBool), kBool);
        }
      }
    }
  }
}

TEST_CASE("eval: columns at once equal rows one by one, for any scalar", "[expr][eval][property]") {
  for (std::uint64_t round = 0; round < 400; ++round) {
    testing::Random random = testing::seeded_random(round);
    const Scalar scalar =
        random.coin() ? random_bool(random, 4, 2) : random_int(random, 4, 2);
    const auto rows = random_rows(random, 1 + random.below(40));
    const Chunk chunk = repr::chunk_from_rows(rows, kTwoInts, 0);
    INFO(to_string(scalar));
    const Evaluated out = evaluate(scalar, chunk.columns, chunk.rows);
    REQUIRE(out.column->size() == rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const Outcome expected = reference(scalar, rows[row]);
      const SqlType type = scalar.type().type;
      check_same(expected, out.errors.find(static_cast<std::uint32_t>(row)), out.column->datum(row, type), type);
      const Result<Datum> alone = evaluate_row(scalar, rows[row], kTwoInts);
      check_same(expected, alone.has_value() ? nullptr : &alone.error(), alone.has_value() ? *alone : Datum(), type);
    }
  }
}

TEST_CASE("eval: a guarded division is not evaluated where the guard is false", "[expr][eval]") {
  const Scalar x = Scalar::column(0, {kInt, true});
  const Scalar guarded = Scalar::conjunction(
      {call("<>(int4,int4)", {x, number(0)}), call("<(int4,int4)", {call("/(int4,int4)", {number(10), x}), number(6)})});
  const std::vector<DatumRow> rows{{Datum(0), Datum()}, {Datum(1), Datum()}, {Datum(2), Datum()}, {Datum(), Datum()}};
  const Chunk chunk = repr::chunk_from_rows(rows, kTwoInts, 0);
  const Evaluated out = evaluate(guarded, chunk.columns, chunk.rows);
  CHECK(out.errors.empty());
  CHECK(out.column->datum(0, kBool).get<bool>() == false);
  CHECK(out.column->datum(1, kBool).get<bool>() == false);
  CHECK(out.column->datum(2, kBool).get<bool>() == true);
  CHECK(out.column->is_null(3));
}

TEST_CASE("eval: a strict call fails when an argument does, though another is NULL", "[expr][eval]") {
  const Scalar failing = Scalar::failure(sql_error("22012", "division by zero"), kInt);
  const auto out = evaluate_row(call("+(int4,int4)", {Scalar::null(kInt), failing}), {}, {});
  REQUIRE_FALSE(out.has_value());
  CHECK(out.error().message == "division by zero");
}

TEST_CASE("eval: ANY and ALL know NULL elements and empty arrays", "[expr][eval]") {
  const FunctionSpec* any = any_of(*spec("=(int4,int4)"));
  const FunctionSpec* all = all_of(*spec("=(int4,int4)"));
  const SqlType array_type = SqlType::array_of(kInt);
  const auto ask = [&](const FunctionSpec* f, const Scalar& x, const char* text) {
    const Datum array = repr::from_text(text, array_type).value();
    const std::vector<repr::ColumnPtr> columns{repr::constant_column(evaluate_row(x, {}, {}).value(), kInt, 2)};
    const Scalar column = Scalar::column(0, {kInt, true});
    const Evaluated out = evaluate(Scalar::call(f, {column, Scalar::literal(array, array_type)}), columns, 2);
    const Datum by_column = out.column->datum(1, kBool);
    const Datum by_row = evaluate_row(Scalar::call(f, {x, Scalar::literal(array, array_type)}), {}, {}).value();
    CHECK(repr::identical(by_column, by_row, kBool));
    return by_row.is_null() ? 'n' : by_row.get<bool>() ? 't' : 'f';
  };
  CHECK(ask(any, number(1), "{1,2}") == 't');
  CHECK(ask(any, number(3), "{1,2}") == 'f');
  CHECK(ask(any, number(3), "{1,NULL}") == 'n');
  CHECK(ask(any, number(1), "{1,NULL}") == 't');
  CHECK(ask(any, number(1), "{}") == 'f');
  CHECK(ask(any, Scalar::null(kInt), "{1}") == 'n');
  CHECK(ask(any, Scalar::null(kInt), "{}") == 'f');
  CHECK(ask(all, number(1), "{1,1}") == 't');
  CHECK(ask(all, number(1), "{1,NULL}") == 'n');
  CHECK(ask(all, number(1), "{2,NULL}") == 'f');
  CHECK(ask(all, Scalar::null(kInt), "{}") == 't');
}

// --- Map, filter, project ----------------------------------------------------------------------------------

Scalar written_out(const Mfp& mfp, const Scalar& scalar) {
  std::vector<Scalar> columns;
  for (std::size_t i = 0; i < mfp.input_arity; ++i) columns.push_back(Scalar::column(i, {kInt, true}));
  for (const Scalar& expression : mfp.expressions) columns.push_back(expression.substitute(columns));
  return scalar.substitute(columns);
}

// The row, nothing, or an error; by the rules in mfp.h.
struct Fate {
  bool dropped = false;
  std::optional<Error> error{};
  DatumRow row{};
};
Fate reference_mfp(const Mfp& mfp, const DatumRow& row) {
  Fate out;
  for (const Scalar& predicate : mfp.predicates) {
    const Outcome o = reference(written_out(mfp, predicate), row);
    note(out.error, o.error);
    if (!o.error && (o.value.is_null() || !o.value.get<bool>())) return {.dropped = true};
  }
  if (out.error) return out;
  for (const std::size_t index : mfp.projection) {
    const Scalar column = index < mfp.input_arity ? Scalar::column(index, {kInt, true})
                                                  : written_out(mfp, mfp.expressions[index - mfp.input_arity]);
    const Outcome o = reference(column, row);
    note(out.error, o.error);
    out.row.push_back(o.value);
  }
  return out;
}

Mfp random_mfp(testing::Random& random) {
  Mfp mfp;
  mfp.input_arity = 2;
  for (std::size_t i = random.below(3); i > 0; --i) {
    mfp.expressions.push_back(random_int(random, 2, 2 + mfp.expressions.size()));
  }
  const std::size_t columns = 2 + mfp.expressions.size();
  for (std::size_t i = random.below(4); i > 0; --i) mfp.predicates.push_back(random_bool(random, 3, columns));
  for (std::size_t i = random.below(4); i > 0; --i) mfp.projection.push_back(random.below(columns));
  return mfp;
}

TEST_CASE("mfp: agrees with one row at a time, for any step", "[expr][eval][property]") {
  for (std::uint64_t round = 0; round < 600; ++round) {
    testing::Random random = testing::seeded_random(round);
    const Mfp mfp = random_mfp(random);
    const auto rows = random_rows(random, random.below(30));
    Chunk chunk = repr::chunk_from_rows(rows, kTwoInts, 7);
    if (random.coin()) {
      std::vector<repr::SqlTime> times;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        chunk.diffs.push_back(random.coin() ? 2 : -1);
        times.push_back(10 + random.below(3));
      }
      chunk.times = repr::Times::from_values(times);
    }
    INFO(to_string(mfp));
    const MfpEvaluator evaluator(mfp, kTwoInts);
    const MfpOutput out = evaluator.apply(chunk);
    REQUIRE(out.rows.columns.size() == mfp.projection.size());
    const auto found = repr::rows_from_chunk(out.rows, evaluator.output_types());
    std::size_t next = 0;
    std::size_t next_error = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const Fate fate = reference_mfp(mfp, rows[row]);
      if (fate.dropped) continue;
      if (fate.error) {
        REQUIRE(next_error < out.errors.size());
        CHECK(out.errors[next_error].input_row == row);
        CHECK(out.errors[next_error].error == *fate.error);
        ++next_error;
        continue;
      }
      REQUIRE(next < out.rows.rows);
      for (std::size_t c = 0; c < fate.row.size(); ++c) {
        CHECK(repr::identical(found[next][c], fate.row[c], kInt));
      }
      CHECK(out.rows.times[next] == chunk.times[row]);
      CHECK(out.rows.diff(next) == chunk.diff(row));
      ++next;
    }
    CHECK(next == out.rows.rows);
    CHECK(next_error == out.errors.size());
  }
}

TEST_CASE("mfp: bounds make a row appear and vanish", "[expr][eval][temporal]") {
  const SqlType numeric(TypeKind::kNumeric);
  const std::vector<ColumnType> types{{numeric, true}, {numeric, true}};
  Mfp mfp = Mfp::identity(2);
  mfp.lower_bounds.push_back(Scalar::column(0, types[0]));
  mfp.upper_bounds.push_back(Scalar::column(1, types[1]));
  const auto n = [](const char* text) { return Datum(repr::Numeric::parse(text).value()); };
  const std::vector<DatumRow> rows{
      {n("2"), n("4")},          // 2000 us to 4000 us
      {n("0"), n("0.5")},        // over before it begins at 1000
      {n("-5"), n("1.0005")},    // from 1000 to 1001 (rounded up)
      {n("3"), n("Infinity")},   // never ends
      {n("NaN"), n("9")},        // never begins
      {Datum(), n("9")},         // NULL: never
      {n("1.5"), n("90")},       // ends after `until`
  };
  const Chunk chunk = repr::chunk_from_rows(rows, types, 1000);
  const MfpOutput out = MfpEvaluator(mfp, types).apply(chunk, 10'000);
  std::multimap<repr::SqlTime, repr::Diff> seen;
  for (std::size_t i = 0; i < out.rows.rows; ++i) seen.emplace(out.rows.times[i], out.rows.diff(i));
  const std::multimap<repr::SqlTime, repr::Diff> expected{{1000, 1}, {1001, -1}, {1500, 1},
                                                          {2000, 1}, {3000, 1},  {4000, -1}};
  CHECK(seen == expected);
  CHECK(out.errors.empty());
}

TEST_CASE("mfp: bounds do not hide an error", "[expr][eval][temporal]") {
  const SqlType numeric(TypeKind::kNumeric);
  Mfp mfp;
  mfp.input_arity = 1;
  mfp.expressions.push_back(call("/(int4,int4)", {number(1), Scalar::column(0, {kInt, true})}));
  mfp.projection = {1};
  mfp.upper_bounds.push_back(Scalar::literal(Datum(repr::Numeric(0)), numeric));
  const std::vector<ColumnType> types{{kInt, true}};
  const std::vector<DatumRow> rows{{Datum(0)}, {Datum(1)}};
  const MfpOutput out = MfpEvaluator(mfp, types).apply(repr::chunk_from_rows(rows, types, 5));
  CHECK(out.rows.rows == 0);
  REQUIRE(out.errors.size() == 1);
  CHECK(out.errors[0].input_row == 0);
}

// Functions that take anything meet every type, also those that have no cast to text.
TEST_CASE("eval: whatever is written out is written as a value of its type", "[expr]") {
  testing::Random random(testing::base_seed());
  for (const repr::SqlType& type : repr::storable_types()) {
    if (type.kind() == repr::TypeKind::kArray) continue;
    CAPTURE(to_string(type));
    for (int round = 0; round < 20; ++round) {
      const repr::Datum value = repr::random_datum(random, type, false);
      const std::string text = repr::to_text(value, type);
      const Scalar x = Scalar::literal(repr::Datum(std::string("x")), repr::TypeKind::kText);
      const Scalar y = Scalar::literal(value, type);
      const auto evaluated = [](const char* signature, std::vector<Scalar> arguments) {
        const FunctionSpec* function = function_by_signature(signature);
        REQUIRE(function != nullptr);
        const auto result = evaluate_row(Scalar::call(function, std::move(arguments)), {}, {});
        REQUIRE(result);
        return result->get<std::string>();
      };
      const bool is_bool = type.kind() == repr::TypeKind::kBool;  // as text true, as output t
      std::string cast = !is_bool ? text : text == "t" ? "true" : "false";
      if (type.kind() == repr::TypeKind::kBpchar) cast.erase(cast.find_last_not_of(' ') + 1);
      CHECK(evaluated("||(text,anynonarray)", {x, y}) == "x" + cast);
      CHECK(evaluated("||(anynonarray,text)", {y, x}) == cast + "x");
      CHECK(evaluated("concat(any)", {x, y}) == "x" + text);
    }
  }
}

}  // namespace
}  // namespace freshet::expr
