// SPDX-License-Identifier: Apache-2.0
/// Compares every function with what PostgreSQL answered (tools/golden_functions.py wrote the file).
///
/// A line: signature, argument types, one cell per argument, the result; cells are `\N` for NULL, `!` with
/// SQLSTATE and message for an error, else `=` and the text.
#include <cstdlib>
#include <fstream>
#include <map>

#include <freshet/expr/eval.h>
#include <freshet/repr/datum.h>

#include <catch2/catch.hpp>

namespace freshet::expr {
namespace {

using repr::Datum;
using repr::SqlType;

struct Case {
  std::vector<std::string> arguments;
  std::string expected;
};
using Group = std::pair<std::string, std::string>;  // signature, types

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::size_t at = 0;
  for (;;) {
    const std::size_t next = text.find(separator, at);
    out.push_back(text.substr(at, next - at));
    if (next == std::string::npos) return out;
    at = next + 1;
  }
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
  }
  return out;
}

std::map<Group, std::vector<Case>> read_cases(const std::string& path) {
  std::map<Group, std::vector<Case>> out;
  std::ifstream in(path);
  REQUIRE(in.good());
  for (std::string line; std::getline(in, line);) {
    auto cells = split(line, '\t');
    REQUIRE(cells.size() >= 3);
    Case one{{cells.begin() + 2, cells.end() - 1}, cells.back()};
    out[{cells[0], cells[1]}].push_back(std::move(one));
  }
  return out;
}

Datum parse(const std::string& cell, const SqlType& type) {
  if (cell == "\\N") return {};
  Result<Datum> value = repr::from_text(unescape(std::string_view(cell).substr(1)), type);
  INFO(cell);
  REQUIRE(value.has_value());
  return *value;
}

std::string show(const Error* error, const Datum& value, const SqlType& type) {
  if (error != nullptr) {
    return "!" + std::string(error->sqlstate.view()) + " " + error->message;
  }
  return value.is_null() ? "\\N" : "=" + repr::to_text(value, type);
}

class Runner {
 public:
  explicit Runner(const Group& group) : spec_(function_by_signature(group.first)) {
    if (!group.second.empty()) {
      for (const std::string& name : split(group.second, ';')) {
        types_.push_back(repr::type_from_name(name).value());
      }
    }
  }
  [[nodiscard]] bool known() const { return spec_ != nullptr; }

  void run(const Group& group, const std::vector<Case>& cases) {
    std::vector<Scalar> columns;
    std::vector<repr::ColumnBuilder> builders;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      columns.push_back(Scalar::column(i, {types_[i], true}));
      builders.emplace_back(types_[i].physical());
    }
    std::vector<repr::DatumRow> rows;
    for (const Case& one : cases) {
      REQUIRE(one.arguments.size() == types_.size());
      repr::DatumRow row;
      for (std::size_t i = 0; i < types_.size(); ++i) {
        row.push_back(parse(one.arguments[i], types_[i]));
        builders[i].append(row.back(), types_[i]);
      }
      rows.push_back(std::move(row));
    }
    std::vector<repr::ColumnPtr> inputs;
    for (repr::ColumnBuilder& builder : builders) inputs.push_back(builder.finish());
    // A cast to an array says its type by the cast; everything else by its spec.
    const Scalar call = Scalar::call(spec_, columns);
    const Evaluated all = evaluate(call, inputs, rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const SqlType type = call.type().type;
      const std::string together = show(all.errors.find(static_cast<std::uint32_t>(row)),
                                        all.column->datum(row, type), type);
      if (!check(group, cases[row], together, "column")) continue;
      check(group, cases[row], alone(rows[row]), "constants");
      check(group, cases[row], half_constant(rows[row]), "one constant");
    }
  }
  std::size_t failures = 0;

 private:
  std::string alone(const repr::DatumRow& row) {
    std::vector<Scalar> literals;
    for (std::size_t i = 0; i < row.size(); ++i) literals.push_back(Scalar::literal(row[i], types_[i]));
    return one_row(Scalar::call(spec_, literals), {});
  }
  // The last argument is a column of three equal rows, the others are constants.
  std::string half_constant(const repr::DatumRow& row) {
    if (row.empty()) return alone(row);
    std::vector<Scalar> arguments;
    for (std::size_t i = 0; i < row.size(); ++i) arguments.push_back(Scalar::literal(row[i], types_[i]));
    const std::size_t last = row.size() - 1;
    arguments[last] = Scalar::column(0, {types_[last], true});
    const std::vector<repr::ColumnPtr> inputs{repr::constant_column(row[last], types_[last], 3)};
    const Scalar call = Scalar::call(spec_, arguments);
    const Evaluated out = evaluate(call, inputs, 3);
    return show(out.errors.find(2), out.column->datum(2, call.type().type), call.type().type);
  }
  static std::string one_row(const Scalar& call, const repr::DatumRow& row) {
    const Result<Datum> value = evaluate_row(call, row, {});
    const SqlType type = call.type().type;
    if (value.has_value()) return show(nullptr, *value, type);
    return show(&value.error(), {}, type);
  }
  bool check(const Group& group, const Case& one, const std::string& found, const char* how) {
    const std::string expected = one.expected[0] == '\\' ? one.expected : unescape(one.expected);
    if (found == expected) return true;
    ++failures;
    if (failures > 5) return false;
    std::string arguments;
    for (const std::string& argument : one.arguments) arguments += " [" + argument + "]";
    UNSCOPED_INFO(group.first << arguments << "\n  " << how << " gave " << found << "\n  PostgreSQL "
                              << expected);
    CHECK(found == expected);
    return false;
  }

  const FunctionSpec* spec_;
  std::vector<SqlType> types_{};
};

void compare(const std::string& file) {
  const char* only = std::getenv("FRESHET_GOLDEN");  // a prefix of signatures, while working
  const auto groups = read_cases(std::string(FRESHET_SOURCE_DIR) + "/expr/tests/golden/" + file);
  CHECK(groups.size() > 20);
  std::size_t failures = 0;
  for (const auto& [group, cases] : groups) {
    if (only != nullptr && !group.first.starts_with(only)) continue;
    Runner runner(group);
    INFO(group.first);
    REQUIRE(runner.known());
    runner.run(group, cases);
    failures += runner.failures;
  }
  CHECK(failures == 0);
}

TEST_CASE("golden: comparisons answer as PostgreSQL", "[expr][golden]") { compare("comparison.tsv"); }
TEST_CASE("golden: numbers answer as PostgreSQL", "[expr][golden]") { compare("number.tsv"); }
TEST_CASE("golden: text answers as PostgreSQL", "[expr][golden]") { compare("text.tsv"); }
TEST_CASE("golden: dates and times answer as PostgreSQL", "[expr][golden]") { compare("date.tsv"); }
TEST_CASE("golden: arrays and the rest answer as PostgreSQL", "[expr][golden]") { compare("other.tsv"); }
TEST_CASE("golden: casts answer as PostgreSQL", "[expr][golden]") { compare("cast.tsv"); }

}  // namespace
}  // namespace freshet::expr
