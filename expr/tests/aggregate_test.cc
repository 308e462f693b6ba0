// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/aggregate.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <testing/random.h>

#include <catch2/catch.hpp>

namespace freshet::expr {
namespace {

using repr::ColumnPtr;
using repr::Datum;
using repr::Diff;
using repr::SqlType;
using repr::TypeKind;

ColumnPtr column_of(const std::vector<Datum>& values, const SqlType& type) {
  repr::ColumnBuilder builder(type.physical());
  for (const Datum& value : values) builder.append(value, type);
  return builder.finish();
}

// One group, rows with diffs.
AccumulatorSet accumulate(const Accumulators& plan, const SqlType& type, const std::vector<Datum>& values,
                          const std::vector<Diff>& diffs) {
  AccumulatorSet out;
  const std::vector<std::uint32_t> groups(values.size(), 0);
  std::vector<Accumulators::Input> inputs(plan.calls().size());
  for (auto& input : inputs) input.argument = column_of(values, type);
  plan.accumulate(inputs, groups, diffs, {&out, 1});
  return out;
}

const AggregateSpec* spec(std::string_view signature) {
  const AggregateSpec* found = aggregate_by_signature(signature);
  INFO(signature);
  REQUIRE(found != nullptr);
  return found;
}

std::string ask(std::string_view signature, TypeKind kind, const std::vector<std::string>& texts) {
  const SqlType type(kind);
  std::vector<Datum> values;
  for (const std::string& text : texts) {
    values.push_back(text == "NULL" ? Datum() : repr::from_text(text, type).value());
  }
  const Accumulators plan({{spec(signature), {type, true}}});
  const Result<Datum> out = plan.finish(accumulate(plan, type, values, {}), 0);
  if (!out.has_value()) return "!" + out.error().message;
  return out->is_null() ? "NULL" : repr::to_text(*out, spec(signature)->result.type);
}

TEST_CASE("aggregate: results look as PostgreSQL's", "[expr][aggregate]") {
  using enum TypeKind;
  CHECK(ask("sum(int4)", kInt4, {"2147483647", "1", "NULL"}) == "2147483648");
  CHECK(ask("sum(int8)", kInt8, {"9223372036854775807", "1"}) == "9223372036854775808");
  CHECK(ask("sum(int4)", kInt4, {"NULL"}) == "NULL");
  CHECK(ask("sum(int4)", kInt4, {}) == "NULL");
  CHECK(ask("count(any)", kInt4, {"1", "NULL", "2"}) == "2");
  CHECK(ask("count(*)", kInt4, {"1", "NULL", "2"}) == "3");
  CHECK(ask("avg(int4)", kInt4, {"1", "2"}) == "1.5000000000000000");
  CHECK(ask("avg(int8)", kInt8, {"1", "1", "2"}) == "1.3333333333333333");
  CHECK(ask("sum(numeric)", kNumeric, {"1.50", "2"}) == "3.50");
  CHECK(ask("sum(numeric)", kNumeric, {"1e30", "1e-20", "-1e30"}) == "0.00000000000000000001");
  CHECK(ask("avg(numeric)", kNumeric, {"1.50", "2"}) == "1.7500000000000000");
  CHECK(ask("sum(numeric)", kNumeric, {"1", "NaN"}) == "NaN");
  CHECK(ask("sum(numeric)", kNumeric, {"Infinity", "1"}) == "Infinity");
  CHECK(ask("sum(numeric)", kNumeric, {"Infinity", "-Infinity"}) == "NaN");
  CHECK(ask("sum(float8)", kFloat8, {"0.1", "0.2", "0.3"}) == "0.6");
  CHECK(ask("sum(float8)", kFloat8, {"1e308", "1e308"}) == "!value out of range: overflow");
  CHECK(ask("sum(float8)", kFloat8, {"1e308", "1e308", "-1e308"}) == "1e+308");
  CHECK(ask("sum(float8)", kFloat8, {"Infinity", "NaN"}) == "NaN");
  CHECK(ask("sum(float4)", kFloat4, {"1.5", "2.25"}) == "3.75");
  CHECK(ask("avg(float8)", kFloat8, {"1", "2"}) == "1.5");
  CHECK(ask("sum(interval)", kInterval, {"1 day", "2 hours"}) == "1 day 02:00:00");
  CHECK(ask("avg(interval)", kInterval, {"1 day", "2 days"}) == "1 day 12:00:00");
  CHECK(ask("bool_and(bool)", kBool, {"t", "f"}) == "f");
  CHECK(ask("bool_or(bool)", kBool, {"t", "f", "NULL"}) == "t");
  CHECK(ask("bool_and(bool)", kBool, {"NULL"}) == "NULL");
}

TEST_CASE("aggregate: the scale of a sum follows the values that are there", "[expr][aggregate]") {
  const SqlType type(TypeKind::kNumeric);
  const Accumulators plan({{spec("sum(numeric)"), {type, true}}});
  const auto value = [&](const char* text) { return repr::from_text(text, type).value(); };
  AccumulatorSet set = accumulate(plan, type, {value("1"), value("2.500")}, {1, 1});
  CHECK(repr::to_text(*plan.finish(set, 0), type) == "3.500");
  set += accumulate(plan, type, {value("2.500")}, {-1});
  CHECK(repr::to_text(*plan.finish(set, 0), type) == "1");
}

// --- Exactness and order ------------------------------------------------------------------------------------

double random_double(testing::Random& random) {
  for (;;) {
    std::uint64_t bits = random.next();
    if (random.coin()) {  // close exponents, so that sums round
      bits = (bits & ~(std::uint64_t{0x7FF} << 52)) | (std::uint64_t{1000} + random.below(60)) << 52;
    }
    const auto value = std::bit_cast<double>(bits);
    if (std::isfinite(value) && std::fabs(value) < 1e300) return value;
  }
}

// The correctly rounded sum, by another way: adding long doubles with error terms until nothing is lost is
// delicate, so partial sums that do not overlap (Shewchuk) are kept, and rounded by fsum's rule.
double exact_sum(const std::vector<double>& values) {
  std::vector<double> partials;
  for (double x : values) {
    std::size_t kept = 0;
    for (double y : partials) {
      if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
      const double high = x + y;
      const double low = y - (high - x);
      if (low != 0) partials[kept++] = low;
      x = high;
    }
    partials.resize(kept);
    partials.push_back(x);
  }
  if (partials.empty()) return 0;
  std::size_t n = partials.size() - 1;
  double high = partials[n];
  double low = 0;
  while (n > 0) {
    const double x = high;
    const double y = partials[--n];
    high = x + y;
    low = y - (high - x);
    if (low != 0) break;
  }
  if (n > 0 && ((low < 0 && partials[n - 1] < 0) || (low > 0 && partials[n - 1] > 0))) {
    const double y = low * 2;
    const double x = high + y;
    if (y == x - high) high = x;
  }
  return high;
}

TEST_CASE("aggregate: float sums are exact, rounded once", "[expr][aggregate][property]") {
  const SqlType type(TypeKind::kFloat8);
  const Accumulators plan({{spec("sum(float8)"), {type, true}}});
  for (std::uint64_t round = 0; round < 500; ++round) {
    testing::Random random = testing::seeded_random(round);
    std::vector<double> values;
    std::vector<Datum> data;
    for (std::size_t i = 1 + random.below(30); i > 0; --i) {
      values.push_back(random_double(random));
      data.emplace_back(values.back());
    }
    const double expected = exact_sum(values);
    const Result<Datum> found = plan.finish(accumulate(plan, type, data, {}), 0);
    REQUIRE(found.has_value());
    CHECK(found->get<double>() == expected);
  }
}

TEST_CASE("aggregate: subnormal and extreme floats add up", "[expr][aggregate]") {
  const double least = std::numeric_limits<double>::denorm_min();
  const SqlType type(TypeKind::kFloat8);
  const Accumulators plan({{spec("sum(float8)"), {type, true}}});
  const auto sum = [&](const std::vector<double>& values) {
    std::vector<Datum> data;
    for (const double v : values) data.emplace_back(v);
    return plan.finish(accumulate(plan, type, data, {}), 0)->get<double>();
  };
  CHECK(sum({least, least}) == 2 * least);
  CHECK(sum({1.0, least, -1.0}) == least);
  const double most = std::numeric_limits<double>::max();
  CHECK(sum({most, most, -most}) == most);
  CHECK(sum({1.0, std::ldexp(1.0, -53)}) == 1.0);                                       // tie: to even
  CHECK(sum({1.0, std::ldexp(1.0, -53), least}) == std::nextafter(1.0, 2.0));           // just above the tie
  CHECK(sum({std::nextafter(1.0, 2.0), std::ldexp(1.0, -53)}) == 1.0 + std::ldexp(1.0, -51));
}

struct Aggregate {
  const char* signature;
  TypeKind kind;
};
const std::vector<Aggregate> kAll{
    {"count(any)", TypeKind::kInt4},       {"sum(int2)", TypeKind::kInt2},       {"sum(int4)", TypeKind::kInt4},
    {"sum(int8)", TypeKind::kInt8},        {"sum(float4)", TypeKind::kFloat4},   {"sum(float8)", TypeKind::kFloat8},
    {"sum(numeric)", TypeKind::kNumeric},  {"sum(interval)", TypeKind::kInterval}, {"avg(int8)", TypeKind::kInt8},
    {"avg(numeric)", TypeKind::kNumeric},  {"avg(float8)", TypeKind::kFloat8},   {"bool_and(bool)", TypeKind::kBool},
    {"bool_or(bool)", TypeKind::kBool}};

Datum random_datum(testing::Random& random, TypeKind kind) {
  if (random.below(6) == 0) return {};
  switch (kind) {
    case TypeKind::kBool: return Datum(random.coin());
    case TypeKind::kInt2: return Datum(static_cast<std::int16_t>(random.next()));
    case TypeKind::kInt4: return Datum(static_cast<std::int32_t>(random.next()));
    case TypeKind::kInt8: return Datum(static_cast<std::int64_t>(random.next()));
    case TypeKind::kFloat4: return Datum(static_cast<float>(random.int_below(1000)) / 7);
    case TypeKind::kFloat8:
      if (random.below(10) == 0) return Datum(random.pick({HUGE_VAL, -HUGE_VAL, std::nan("")}));
      return Datum(random_double(random) * 1e-10);
    case TypeKind::kNumeric: {
      if (random.below(10) == 0) return Datum(repr::Numeric::parse(random.coin() ? "NaN" : "Infinity").value());
      if (random.below(5) == 0) {
        return Datum(repr::Numeric::parse("-123456789012345678901234567890123456789012345.6789").value());
      }
      return Datum(repr::Numeric::from_parts(static_cast<std::int64_t>(random.next()), random.int_below(5)));
    }
    case TypeKind::kInterval:
      return Datum(repr::Interval{random.int_below(100), random.int_below(100), static_cast<std::int64_t>(random.below(1000000))});
    default: FAIL("no values"); return {};
  }
}

std::string show(const Result<Datum>& value, const SqlType& type) {
  if (!value.has_value()) return "!" + value.error().message;
  return value->is_null() ? "NULL" : repr::to_text(*value, type);
}

TEST_CASE("aggregate: order, batches and retractions leave no trace", "[expr][aggregate][property]") {
  for (std::uint64_t round = 0; round < 300; ++round) {
    testing::Random random = testing::seeded_random(round);
    const Aggregate& which = kAll[random.below(kAll.size())];
    const SqlType type(which.kind);
    INFO(which.signature);
    const Accumulators plan({{spec(which.signature), {type, true}}});
    std::vector<Datum> kept;
    std::vector<Datum> all;
    std::vector<Diff> diffs;
    for (std::size_t i = 1 + random.below(12); i > 0; --i) {
      const Datum value = random_datum(random, which.kind);
      const Diff times = 1 + random.int_below(3);
      all.push_back(value);
      diffs.push_back(times);
      if (random.coin()) {  // goes away again, one by one
        for (Diff t = 0; t < times; ++t) {
          all.push_back(value);
          diffs.push_back(-1);
        }
      } else {
        for (Diff t = 0; t < times; ++t) kept.push_back(value);
      }
    }
    // In random order, in random batches.
    for (std::size_t i = all.size(); i > 1; --i) {
      const std::size_t j = random.below(i);
      std::swap(all[i - 1], all[j]);
      std::swap(diffs[i - 1], diffs[j]);
    }
    AccumulatorSet sum;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t count = std::min<std::size_t>(1 + random.below(5), all.size() - at);
      const auto begin = static_cast<std::ptrdiff_t>(at);
      const auto end = static_cast<std::ptrdiff_t>(at + count);
      sum += accumulate(plan, type, {all.begin() + begin, all.begin() + end},
                        {diffs.begin() + begin, diffs.begin() + end});
      at += count;
    }
    const AccumulatorSet direct = accumulate(plan, type, kept, {});
    CHECK(sum == direct);
    CHECK(sum.is_zero() == kept.empty());
    const SqlType result = plan.calls()[0].spec->result.type;
    CHECK(show(plan.finish(sum, 0), result) == show(plan.finish(direct, 0), result));
  }
}

TEST_CASE("aggregate: sets form a group and survive encoding", "[expr][aggregate][property]") {
  for (std::uint64_t round = 0; round < 300; ++round) {
    testing::Random random = testing::seeded_random(round);
    const auto some = [&] {
      AccumulatorSet set;
      set.add_records(random.int_below(5) - 2);
      for (std::size_t i = random.below(5); i > 0; --i) {
        const auto amount = static_cast<repr::Int128>(static_cast<std::int64_t>(random.next()));
        set.add(random.below(6) << 20, random.coin() ? amount : amount * amount);
      }
      return set;
    };
    const AccumulatorSet a = some();
    const AccumulatorSet b = some();
    const AccumulatorSet c = some();
    const auto plus = [](AccumulatorSet x, const AccumulatorSet& y) { return x += y; };
    CHECK(plus(a, b) == plus(b, a));
    CHECK(plus(plus(a, b), c) == plus(a, plus(b, c)));
    CHECK(plus(a, -a).is_zero());
    CHECK(plus(plus(a, a), a) == a * 3);
    CHECK((a * 0).is_zero());
    CHECK(plus(a, AccumulatorSet()) == a);
    std::string bytes;
    a.encode(bytes);
    b.encode(bytes);
    std::string_view rest = bytes;
    CHECK(AccumulatorSet::decode(rest).value() == a);
    CHECK(AccumulatorSet::decode(rest).value() == b);
    CHECK(rest.empty());
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {  // never crashes, whatever the bytes
      std::string damaged = bytes.substr(0, cut);
      if (cut > 0) damaged[random.below(cut)] = static_cast<char>(random.next());
      std::string_view view = damaged;
      (void)AccumulatorSet::decode(view);
    }
  }
}

TEST_CASE("aggregate: groups do not mix, filters and skips hold", "[expr][aggregate]") {
  const SqlType type(TypeKind::kInt4);
  const Accumulators plan({{spec("sum(int4)"), {type, true}}, {spec("count(*)"), {}}, {spec("sum(int4)"), {type, true}}});
  const auto values = column_of({Datum(1), Datum(2), Datum(), Datum(4)}, type);
  const auto filter = column_of({Datum(true), Datum(false), Datum(true), Datum()}, SqlType(TypeKind::kBool));
  const std::vector<Accumulators::Input> inputs{{values, filter}, {}, {values, nullptr, true}};
  const std::vector<std::uint32_t> groups{0, 1, 0, 1};
  std::vector<AccumulatorSet> sets(2);
  plan.accumulate(inputs, groups, std::vector<Diff>{1, 1, 2, 1}, sets);
  CHECK(plan.finish(sets[0], 0)->get<std::int64_t>() == 1);
  CHECK(plan.finish(sets[1], 0)->is_null());
  CHECK(plan.finish(sets[0], 1)->get<std::int64_t>() == 3);
  CHECK(plan.finish(sets[1], 1)->get<std::int64_t>() == 2);
  CHECK(plan.finish(sets[0], 2)->is_null());
  CHECK(sets[0].records() == 3);
}

TEST_CASE("aggregate: impossible multiplicities are errors", "[expr][aggregate]") {
  for (const Aggregate& which : kAll) {
    testing::Random random = testing::seeded_random(3);
    const SqlType type(which.kind);
    Datum value;
    while (value.is_null()) value = random_datum(random, which.kind);
    INFO(which.signature);
    const Accumulators plan({{spec(which.signature), {type, true}}});
    const auto out = plan.finish(accumulate(plan, type, {value}, {-1}), 0);
    REQUIRE_FALSE(out.has_value());
    CHECK(out.error().sqlstate.view() == "XX000");
  }
}

TEST_CASE("aggregate: ordered aggregates see rows in order", "[expr][aggregate]") {
  const SqlType text(TypeKind::kText);
  const auto t = [](const char* s) { return Datum(std::string(s)); };
  OrderedAggregate joined(*spec("string_agg(text,text)"), {text, text});
  joined.add({t("a"), t(",")}, 2);
  joined.add({Datum(), t(",")});
  joined.add({t("b"), Datum()});
  joined.add({t("c"), t("; ")});
  CHECK(joined.finish()->get<std::string>() == "a,ab; c");
  OrderedAggregate none(*spec("string_agg(text,text)"), {text, text});
  none.add({Datum(), t(",")});
  CHECK(none.finish()->is_null());
  OrderedAggregate array(*spec("array_agg(anynonarray)"), {text});
  array.add({t("x")});
  array.add({Datum()}, 2);
  CHECK(repr::to_text(*array.finish(), SqlType::array_of(text)) == "{x,NULL,NULL}");
  OrderedAggregate least(*spec("min(text)"), {text});
  CHECK_FALSE(least.add({Datum()}));
  CHECK(least.add({t("m")}));
  CHECK(least.finish()->get<std::string>() == "m");
  OrderedAggregate greatest(*spec("max(text)"), {text});
  greatest.add({t("m")});
  greatest.add({t("z")});
  greatest.add({Datum()});
  CHECK(greatest.finish()->get<std::string>() == "z");
  OrderedAggregate negative(*spec("max(text)"), {text});
  negative.add({t("m")}, -1);
  CHECK_FALSE(negative.finish().has_value());
}

}  // namespace
}  // namespace freshet::expr
