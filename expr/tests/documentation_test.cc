// SPDX-License-Identifier: Apache-2.0
/// docs/functions.md is written from the table; FRESHET_REWRITE=1 writes it anew.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <freshet/expr/functions.h>

#include <catch2/catch.hpp>

namespace freshet::expr {
namespace {

std::string type_text(const ArgumentType& type) {
  switch (type.kind) {
    case ArgumentType::Kind::kConcrete: return repr::to_string(type.type);
    case ArgumentType::Kind::kAny: return "any";
    case ArgumentType::Kind::kAnyElement: return "anyelement";
    case ArgumentType::Kind::kAnyArray: return "anyarray";
    case ArgumentType::Kind::kAnyNonArray: return "anynonarray";
  }
  return "?";
}

// `|` would end a table cell.
std::string cell(std::string_view text) {
  std::string out = "`";
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out + "`";
}

std::string flags(const FunctionSpec& spec) {
  std::string out;
  if (spec.variadic) out += "variadic ";
  if (!spec.strict) out += "takes NULL ";
  if (spec.can_fail) out += "can fail ";
  if (!out.empty()) out.pop_back();
  return out;
}

void write_functions(std::ostream& out, bool operators) {
  out << "| signature | result | |\n| --- | --- | --- |\n";
  for (const FunctionSpec* spec : all_functions()) {
    if (spec->is_operator != operators) continue;
    out << "| " << cell(spec->signature) << " | " << type_text(spec->result) << " | " << flags(*spec)
        << " |\n";
  }
}

std::string_view context_text(CastContext context) {
  switch (context) {
    case CastContext::kImplicit: return "implicit";
    case CastContext::kAssignment: return "assignment";
    case CastContext::kExplicit: return "explicit";
  }
  return "?";
}

std::string document() {
  std::ostringstream out;
  out << "# Functions, operators, casts and aggregates\n\n"
         "Written from the function table by `functions_test` (`FRESHET_REWRITE=1`); do not edit.\n"
         "Results, SQLSTATEs and messages are PostgreSQL 15's. What differs stands in "
         "[function-differences.md](function-differences.md).\n\n"
         "## Operators\n\n";
  write_functions(out, true);
  out << "\n## Functions\n\n";
  write_functions(out, false);
  out << "\n## Aggregates\n\n| signature | result |\n| --- | --- |\n";
  for (const AggregateSpec* spec : all_aggregates()) {
    out << "| " << cell(spec->signature) << " | " << type_text(spec->result) << " |\n";
  }
  out << "\n## Table functions\n\n| signature |\n| --- |\n";
  for (const TableFunctionSpec* spec : all_table_functions()) out << "| " << cell(spec->signature) << " |\n";
  out << "\n## Casts\n\nArrays cast as their elements do, and to and from text.\n\n"
         "| from | to | context |\n| --- | --- | --- |\n";
  for (const CastEntry& entry : all_casts()) {
    out << "| " << repr::to_string(entry.from) << " | " << repr::to_string(entry.to) << " | "
        << context_text(entry.cast.context)
        << (entry.cast.function == nullptr ? ", same bytes" : "") << " |\n";
  }
  return out.str();
}

TEST_CASE("documentation: docs/functions.md lists what the table has", "[expr][functions]") {
  const std::string path = std::string(FRESHET_SOURCE_DIR) + "/docs/functions.md";
  const std::string expected = document();
  if (std::getenv("FRESHET_REWRITE") != nullptr) std::ofstream(path) << expected;
  std::ifstream in(path);
  std::stringstream found;
  found << in.rdbuf();
  // Not CHECK(a == b): the texts are long.
  const bool current = found.str() == expected;
  INFO("run with FRESHET_REWRITE=1 to write " << path);
  CHECK(current);
}

}  // namespace
}  // namespace freshet::expr
