// SPDX-License-Identifier: Apache-2.0
// Types, text round trips, columns and UTF-8.
#include <freshet/repr/chunk.h>
#include <freshet/repr/datetime.h>
#include <freshet/repr/row.h>
#include <freshet/repr/shown_time.h>
#include <freshet/repr/slice.h>
#include <freshet/repr/text.h>
#include <freshet/repr/utf8.h>
#include <catch2/catch.hpp>

#include "generate.h"

namespace freshet::repr {
namespace {

TEST_CASE("types: OIDs and names lead back to the type", "[repr][types]") {
  for (const TypeKind kind : all_type_kinds()) {
    if (kind == TypeKind::kArray) continue;
    const TypeInfo& info = type_info(kind);
    CHECK(type_from_oid(info.oid) == SqlType(kind));
    CHECK(type_from_name(info.pg_name) == SqlType(kind));
    CHECK(type_from_name(info.sql_name) == SqlType(kind));
    if (info.array_oid == 0) continue;
    const SqlType array = SqlType::array_of(kind);
    CHECK(type_from_oid(info.array_oid) == array);
    CHECK(type_from_name("_" + std::string(info.pg_name)) == array);
    CHECK(type_oid(array) == info.array_oid);
  }
  CHECK_FALSE(type_from_oid(0));
  CHECK_FALSE(type_from_name("nonsense"));
}

TEST_CASE("types: modifiers are printed as format_type prints them", "[repr][types]") {
  const SqlType money(TypeKind::kNumeric, make_numeric_typmod({15, 2}));
  CHECK(to_string(money) == "numeric(15,2)");
  CHECK(to_string(SqlType::array_of(money)) == "numeric(15,2)[]");
  CHECK(to_string(SqlType(TypeKind::kNumeric, make_numeric_typmod({5, -2}))) == "numeric(5,-2)");
  CHECK(to_string(SqlType(TypeKind::kVarchar, 14)) == "character varying(10)");
  CHECK(to_string(SqlType(TypeKind::kTimestampTz, 3)) == "timestamp(3) with time zone");
  CHECK(to_string(SqlType(TypeKind::kInterval, (0x1c08 << 16) | 1)) == "interval day to second(1)");
}

TEST_CASE("text: every value is read back as it was written", "[repr][text][property]") {
  testing::Random random = testing::seeded_random(11);
  TextFormat format({.time_zone = "America/New_York"});
  for (const SqlType& type : storable_types()) {
    for (int i = 0; i < 400; ++i) {
      const Datum datum = random_datum(random, type, false);
      std::string text;
      format.write(text, datum, type);
      INFO(describe(datum, type) << " written as " << text);
      const auto back = format.read(text, type);
      if (!back) {
        // Local time may lie outside the range though the moment does not.
        REQUIRE(back.error().message.find("out of range") != std::string::npos);
        continue;
      }
      REQUIRE(identical(*back, datum, type));
    }
  }
}

TEST_CASE("binary: every value is read back as it was written, and cut bytes are errors",
          "[repr][binary][property]") {
  testing::Random random = testing::seeded_random(12);
  for (const SqlType& type : storable_types()) {
    for (int i = 0; i < 300; ++i) {
      const Datum datum = random_datum(random, type, false);
      const std::string bytes = to_binary(datum, type);
      INFO(describe(datum, type));
      const auto back = from_binary(bytes, type);
      REQUIRE(back);
      REQUIRE(identical(*back, datum, type));
      std::string damaged = bytes;
      if (!damaged.empty())
        damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
      static_cast<void>(from_binary(damaged, type));
      static_cast<void>(from_binary(std::string_view(bytes).substr(0, bytes.size() / 2), type));
    }
  }
}

TEST_CASE("binary: bytes of a wrong size or form are told as PostgreSQL tells them", "[repr][binary]") {
  const auto told = [](std::string_view bytes, const SqlType& type) {
    const auto value = from_binary(bytes, type);
    return value ? "read" : std::string(value.error().sqlstate.view()) + " " + value.error().message;
  };
  const auto words = [](std::initializer_list<std::uint32_t> values) {
    std::string out;
    for (const std::uint32_t value : values) {
      for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(value >> shift));
    }
    return out;
  };
  const std::string shorter = "08P01 insufficient data left in message";
  const std::string longer = "22P03 incorrect binary data format";
  for (const TypeKind kind : {TypeKind::kInt2, TypeKind::kInt4, TypeKind::kInt8, TypeKind::kFloat4, TypeKind::kFloat8,
                              TypeKind::kDate, TypeKind::kInterval, TypeKind::kUuid, TypeKind::kBool}) {
    CAPTURE(to_string(SqlType(kind)));
    CHECK(told("", kind) == shorter);
    CHECK(told(std::string(17, '1'), kind) == longer);
  }
  CHECK(told(words({0, 0xd000ff00}), TypeKind::kNumeric) == "22P03 invalid scale in external \"numeric\" value");
  CHECK(told(words({0, 0x10000000}), TypeKind::kNumeric) == "22P03 invalid sign in external \"numeric\" value");
  CHECK(told(words({0x10000, 0xc0000000}) + "\x27\x10", TypeKind::kNumeric) ==
        "22P03 invalid digit in external \"numeric\" value");
  CHECK(told(words({0x10000, 0}), TypeKind::kNumeric) == shorter);
  CHECK(told(words({0, 0, 0}), TypeKind::kNumeric) == longer);
  const SqlType array = SqlType::array_of(TypeKind::kInt4);
  CHECK(told(words({7, 0, 23}), array) == "54000 number of array dimensions (7) exceeds the maximum allowed (6)");
  CHECK(told(words({0xffffffff, 0, 23}), array) == "22P03 invalid number of dimensions: -1");
  for (const std::uint32_t length : {200'000'000u, 0xffffffffu}) {
    CHECK(told(words({1, 0, 23, length, 1}), array) == "54000 array size exceeds the maximum allowed (134217727)");
  }
  CHECK(told(words({1, 0, 23, 2, 0x7fffffff}), array) == "54000 array lower bound is too large: 2147483647");
  CHECK(told(words({1, 0, 23, 1, 1, 5, 0}) + "1", array) == "22P03 improper binary format in array element 1");
  CHECK(told(words({1, 0, 23, 1, 1, 4, 0, 0}), array) == longer);
  CHECK(told(words({1, 0, 23, 1, 1, 4}), array) == "22P03 insufficient data left in message");
  CHECK(to_binary(*from_binary(words({0x7fffffff, 0xffffffff}), TypeKind::kFloat8), TypeKind::kFloat8) ==
        words({0x7ff80000, 0}));
  CHECK(to_binary(*from_binary(words({0x7fffffff}), TypeKind::kFloat4), TypeKind::kFloat4) == words({0x7fc00000}));
}

TEST_CASE("text: random input is a value or an error, never more", "[repr][text][property]") {
  testing::Random random = testing::seeded_random(13);
  constexpr std::string_view kAlphabet = "0123456789-+:./TZPYMDe ,{}[]\"\\=abcnul\t@";
  TextFormat format;
  int read = 0;
  for (const SqlType& type : storable_types()) {
    for (int i = 0; i < 600; ++i) {
      std::string text;
      for (int n = random.int_below(14); n > 0; --n)
        text.push_back(kAlphabet[random.below(kAlphabet.size())]);
      const auto datum = format.read(text, type);
      if (!datum) {
        REQUIRE(datum.error().sqlstate.view() != "XX000");
        continue;
      }
      ++read;
      std::string shown;
      format.write(shown, *datum, type);
      INFO(to_string(type) << ": " << text << " shown as " << shown);
      REQUIRE(identical(format.read(shown, type).value(), *datum, type));
    }
  }
  CHECK(read > 1000);
}

TEST_CASE("column: gather, slice, constants and builders keep values and NULLs",
          "[repr][column][property]") {
  testing::Random random = testing::seeded_random(14);
  for (const SqlType& type : storable_types()) {
    std::vector<Datum> values;
    ColumnBuilder builder(type.physical());
    for (int i = 0; i < 50; ++i) {
      values.push_back(random_datum(random, type));
      builder.append(values.back(), type);
    }
    const ColumnPtr column = builder.finish();
    REQUIRE(builder.size() == 0);
    std::vector<std::uint32_t> rows;
    for (int i = 0; i < 80; ++i)
      rows.push_back(static_cast<std::uint32_t>(random.below(values.size())));
    const ColumnPtr gathered = gather(*column, rows);
    ColumnBuilder copy(type.physical());
    for (const std::uint32_t row : rows) copy.append_from(*column, row);
    const ColumnPtr copied = copy.finish();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      REQUIRE(identical(gathered->datum(i, type), values[rows[i]], type));
      REQUIRE(identical(copied->datum(i, type), values[rows[i]], type));
    }
    const std::size_t end = random.below(values.size() + 1);
    const std::size_t begin = random.below(end + 1);
    const ColumnPtr sliced = slice(*column, begin, end);
    REQUIRE(sliced->size() == end - begin);
    for (std::size_t i = begin; i < end; ++i) REQUIRE(identical(sliced->datum(i - begin, type), values[i], type));
    const ColumnPtr constant = constant_column(values[0], type, 3);
    REQUIRE(constant->size() == 3);
    REQUIRE(identical(constant->datum(2, type), values[0], type));
  }
}

TEST_CASE("column: typed pushes mix with NULLs", "[repr][column]") {
  ColumnBuilder builder(PhysicalType::kInt64);
  builder.values<std::vector<std::int64_t>>().push_back(1);
  builder.append_null();
  builder.values<std::vector<std::int64_t>>().push_back(3);
  const ColumnPtr column = builder.finish();
  CHECK(column->size() == 3);
  CHECK_FALSE(column->is_null(0));
  CHECK(column->is_null(1));
  CHECK(column->datum(2, TypeKind::kInt8).get<std::int64_t>() == 3);
  CHECK_FALSE(Column(std::vector<std::int32_t>{1, 2}, {1, 1}).has_nulls());
}

TEST_CASE("chunk: gathering keeps times and diffs", "[repr][chunk]") {
  const std::vector<SqlTime> times = {5, 5, 9, 5};
  Chunk chunk;
  chunk.rows = 4;
  chunk.times = Times::from_values(times);
  chunk.diffs = {1, -1, 2, 1};
  const Chunk some = chunk.gather(std::vector<std::uint32_t>{2, 1});
  CHECK(some.rows == 2);
  CHECK(some.times[0] == 9);
  CHECK(some.times[1] == 5);
  CHECK(some.diff(0) == 2);
  CHECK(some.negated().diff(1) == 1);
  CHECK(chunk.gather(std::vector<std::uint32_t>{0, 3}).times.is_single());
  chunk.diffs.clear();
  CHECK(chunk.negated().diff(3) == -1);
}

TEST_CASE("numeric: small and long values are one type", "[repr][numeric][property]") {
  testing::Random random = testing::seeded_random(15);
  for (int i = 0; i < 3000; ++i) {
    const Numeric a = random_numeric(random);
    const Numeric b = random_numeric(random);
    INFO(a.to_string() << " and " << b.to_string());
    REQUIRE(Numeric::parse(a.to_string()).value().to_string() == a.to_string());
    if (!a.is_finite() || !b.is_finite()) continue;
    const Numeric sum = a.add(b).value();
    REQUIRE(sum.subtract(b).value() == a);
    REQUIRE((a < b) == a.subtract(b).value().is_negative());
    if (!b.is_zero() && a.scale() + b.scale() < 100) {
      REQUIRE(
          a.multiply(b).value().divide(b).value().subtract(a).value().abs() <=
          Numeric::parse("1e-10").value().add(a.abs().divide(Numeric(1000000000)).value()).value());
      const Numeric rest = a.remainder(b).value();
      REQUIRE(rest.abs() < b.abs());
    }
  }
}

TEST_CASE("numeric: what exceeds PostgreSQL's format is an error", "[repr][numeric]") {
  const Numeric huge = Numeric::parse("9e131071").value();
  CHECK(huge.multiply(Numeric(10)).error().sqlstate.view() == "22003");
  CHECK(huge.add(huge).error().message == "value overflows numeric format");
  CHECK(Numeric(1).divide(Numeric()).error().message == "division by zero");
  const auto narrow = Numeric(1000).apply_typmod(make_numeric_typmod({5, 2}));
  CHECK(narrow.error().detail ==
        "A field with precision 5, scale 2 must round to an absolute value less than 10^3.");
}

TEST_CASE("shown time: what is written is the time that is shown, at the edges too", "[repr]") {
  const auto number = [](std::string_view text) { return Numeric::parse(text).value(); };
  const auto read = [&](std::string_view text) { return time_of_millis(number(text)); };
  CHECK(shown_time(0).to_string() == "0");
  CHECK(shown_time(1).to_string() == "0.001");
  CHECK(shown_time(1'500).to_string() == "1.5");
  CHECK(shown_time(1'000'000).to_string() == "1000");
  CHECK(shown_time(INT64_MAX).to_string() == "9223372036854775.807");
  CHECK(shown_time(kClosed).to_string() == "18446744073709551.615");
  for (const SqlTime time : {SqlTime{0}, SqlTime{1}, SqlTime{999}, SqlTime{1'780'000'000'123'456}, SqlTime{INT64_MAX}}) {
    CHECK(time_of_millis(shown_time(time)) == time);
  }
  CHECK(read("1.0004") == 1'000);
  CHECK(read("1.0005") == 1'001);
  CHECK(read("1e3") == 1'000'000);
  CHECK(read("-0.0001") == 0);
  for (const char* none : {"-0.001", "9223372036854775.808", "1e30", "1e1000", "NaN", "Infinity", "-Infinity"}) {
    INFO(none);
    CHECK(read(none) == std::nullopt);
  }
  CHECK(time_of_millis(std::int64_t{7}) == 7'000);
  CHECK(time_of_millis(INT64_MAX / 1000) == SqlTime{INT64_MAX / 1000} * 1000);
  CHECK(time_of_millis(INT64_MAX / 1000 + 1) == std::nullopt);
  CHECK(time_of_millis(std::int64_t{-1}) == std::nullopt);
  CHECK(time_of_timestamp(-kPostgresEpoch) == 0);
  CHECK(time_of_timestamp(-kPostgresEpoch - 1) == std::nullopt);
  CHECK(time_of_timestamp(INT64_MIN) == std::nullopt);  // -infinity
  CHECK(time_of_timestamp(INT64_MAX) == kClosed);       // infinity
  CHECK(time_of_timestamp(INT64_MAX - kPostgresEpoch) == INT64_MAX);
  CHECK(time_of_timestamp(INT64_MAX - kPostgresEpoch + 1) == kClosed);
}

TEST_CASE("utf8: bad sequences are found where they begin", "[repr][utf8]") {
  CHECK(utf8::validate("héllo wörld 😀 and a long ascii tail"));
  const struct {
    std::string_view text;
    std::size_t at;
  } cases[] = {
      {std::string_view("a\0b", 3), 1}, {"\xC0\x80", 0}, {"ab\xE2\x82", 2},  {"\xED\xA0\x80", 0},
      {"\xF4\x90\x80\x80", 0},          {"\xFF", 0},     {"12345678\x80", 8}};
  for (const auto& c : cases) CHECK(utf8::first_invalid(c.text) == c.at);
  CHECK(utf8::validate("\xC3(").error().message ==
        "invalid byte sequence for encoding \"UTF8\": 0xc3 0x28");
  CHECK(utf8::length("é😀a") == 3);
  CHECK(utf8::offset_of("é😀a", 2) == 6);
  std::string copy;
  const std::string_view text = "aé€😀";
  for (std::size_t at = 0; at < text.size();) utf8::append(copy, utf8::decode(text, at));
  CHECK(copy == text);
}

TEST_CASE("time zone: offsets follow the rules beyond the tables", "[repr][datetime]") {
  const TimeZone berlin = TimeZone::find("europe/berlin").value();
  CHECK(berlin.name() == "Europe/Berlin");
  const auto at = [](int year, int month) {
    return make_timestamp({year, month, 15, 12, 0, 0}).value();
  };
  for (const int year : {1999, 2024, 2037, 2038, 2200}) {
    CHECK(berlin.offset_at(at(year, 1)) == 3600);
    CHECK(berlin.offset_at(at(year, 7)) == 7200);
  }
  CHECK(TimeZone::from_setting("+5.5").value().offset_at(0) == 19800);
  CHECK(TimeZone::find("nowhere").error().message == "time zone \"nowhere\" not recognized");
  // The day the clock goes forward has 23 hours.
  const std::int64_t noon = berlin.to_utc(make_timestamp({2024, 3, 30, 12, 0, 0}).value()).value();
  CHECK(add_interval_in_zone(noon, Interval{0, 1, 0}, berlin).value() - noon ==
        23 * kMicrosPerHour);
}

}  // namespace
}  // namespace freshet::repr
