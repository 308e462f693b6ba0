// SPDX-License-Identifier: Apache-2.0
#include "copy_reader.h"

#include <catch2/catch.hpp>
#include <freshet/repr/text.h>

namespace freshet::adapter {
namespace {

repr::RelationDesc two_columns() {
  repr::RelationDesc desc;
  desc.names = {"a", "b"};
  desc.type.columns = {{repr::TypeKind::kInt4, true}, {repr::TypeKind::kText, true}};
  return desc;
}

sql::CopyOptions csv() {
  return {.format = sql::CopyOptions::Format::kCsv, .delimiter = ',', .null_text = ""};
}

/// The rows as text, or the error with its detail; the bytes come in the given pieces.
std::string read_all(const sql::CopyOptions& options, const std::vector<std::string_view>& pieces) {
  const repr::RelationDesc desc = two_columns();
  CopyReader reader(options, desc);
  std::string out;
  auto take = [&] {
    const std::size_t rows = reader.buffered();
    const auto columns = reader.take();
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const auto& type = desc.type.columns[c].type;
        const auto datum = columns[c]->datum(row, type);
        out += (datum.is_null() ? "NULL" : "[" + repr::to_text(datum, type) + "]");
      }
      out += ";";
    }
  };
  auto failed = [](const Error& error) {
    return std::string(error.sqlstate.view()) + " " + error.message + " (" + error.detail + ")";
  };
  for (std::string_view piece : pieces) {
    while (!piece.empty()) {
      const auto rest = reader.read(piece, 2);
      if (!rest) return failed(rest.error());
      piece = *rest;
      if (reader.buffered() >= 2) take();
    }
  }
  if (auto done = reader.finish(); !done) return failed(done.error());
  take();
  return out;
}

// Wherever the bytes are cut, the rows are the same.
void check_everywhere(const sql::CopyOptions& options, std::string_view bytes, const std::string& expected) {
  CAPTURE(bytes);
  CHECK(read_all(options, {bytes}) == expected);
  std::vector<std::string_view> single;
  for (std::size_t i = 0; i < bytes.size(); ++i) single.push_back(bytes.substr(i, 1));
  CHECK(read_all(options, single) == expected);
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    CAPTURE(cut);
    CHECK(read_all(options, {bytes.substr(0, cut), bytes.substr(cut)}) == expected);
  }
}

TEST_CASE("copy reader: text format", "[adapter]") {
  const sql::CopyOptions text;
  check_everywhere(text, "1\tone\n2\ttwo\n3\tthree", "[1][one];[2][two];[3][three];");
  check_everywhere(text, "1\t\\N\n\\N\t\n", "[1]NULL;NULL[];");
  check_everywhere(text, "1\ta\\tb\\nc\\\\d\\x41\\101\n", "[1][a\tb\nc\\dAA];");
  check_everywhere(text, "1\tone\r\n2\ttwo\r\n", "[1][one];[2][two];");
  check_everywhere(text, "1\tone\n\\.\nanything goes\n", "[1][one];");
}

TEST_CASE("copy reader: csv", "[adapter]") {
  check_everywhere(csv(), "1,one\n2,\"two, \"\"too\"\"\"\n", "[1][one];[2][two, \"too\"];");
  check_everywhere(csv(), "1,\"a\nb\"\n2,\n3,\"\"\n", "[1][a\nb];[2]NULL;[3][];");
  sql::CopyOptions header = csv();
  header.header = true;
  check_everywhere(header, "a,b\n1,one\n", "[1][one];");
  sql::CopyOptions escape = csv();
  escape.escape = '\\';
  check_everywhere(escape, "1,\"say \\\"hi\\\"\nthere\"\n2,two\n", "[1][say \"hi\"\nthere];[2][two];");
}

TEST_CASE("copy reader: HEADER MATCH compares the names, in PostgreSQL's words", "[adapter]") {
  sql::CopyOptions match = csv();
  match.header = match.header_match = true;
  check_everywhere(match, "a,\"b\"\n1,one\n", "[1][one];");
  check_everywhere(match, "b,a\n1,x\n",
                   "22P04 column name mismatch in header line field 1: got \"b\", expected \"a\" (COPY line 1)");
  check_everywhere(match, "a,\n1,x\n",
                   "22P04 column name mismatch in header line field 2: got null value (\"\"), expected \"b\" (COPY line 1)");
  check_everywhere(match, "zzz\n1,x\n", "22P04 wrong number of fields in header line: got 1, expected 2 (COPY line 1)");
  check_everywhere(match, "a,b,c\n1,x\n", "22P04 wrong number of fields in header line: got 3, expected 2 (COPY line 1)");
  check_everywhere(match, "a,\"x,\"\"\ny\"\n1,x\n",
                   "22P04 column name mismatch in header line field 2: got \"x,\"\ny\", expected \"b\" (COPY line 1)");
  CHECK(read_all(match, {}) == "22P04 wrong number of fields in header line: got 1, expected 2 (COPY line 1)");
  sql::CopyOptions text;
  text.header = text.header_match = true;
  check_everywhere(text, "a\tb\n1\tone\n", "[1][one];");
  check_everywhere(text, "a\t\\N\n1\tone\n",
                   "22P04 column name mismatch in header line field 2: got null value (\"\\N\"), expected \"b\" (COPY line 1)");
  check_everywhere(text, "a\\\tb\n1\tone\n", "22P04 wrong number of fields in header line: got 1, expected 2 (COPY line 1)");
}

TEST_CASE("copy reader: FORCE_NULL and FORCE_NOT_NULL", "[adapter]") {
  sql::CopyOptions options = csv();
  options.force_null = {0};
  options.force_not_null = {1};
  check_everywhere(options, "\"\",\n,\"\"\n", "NULL[];NULL[];");
}

TEST_CASE("copy reader: a broken line is named, with PostgreSQL's codes", "[adapter]") {
  const sql::CopyOptions text;
  check_everywhere(text, "1\tone\n2\n", "22P04 missing data for column \"b\" (COPY line 2)");
  check_everywhere(text, "1\tone\textra\n", "22P04 extra data after last expected column (COPY line 1)");
  check_everywhere(text, "1\tone\nx\ttwo\n",
                   "22P02 invalid input syntax for type integer: \"x\" (COPY line 2, column a: \"x\")");
  check_everywhere(csv(), "1,one\n2,\"two\n", "22P04 unterminated CSV quoted field (COPY line 2)");
  CHECK(read_all(text, {"1\t\xff\xfe\n"}).starts_with("22021 "));
}

TEST_CASE("copy reader: reading stops at the rows asked for and gives the rest back", "[adapter]") {
  CopyReader reader({}, two_columns());
  const auto rest = reader.read("1\ta\n2\tb\n3\tc\n", 2);
  REQUIRE(rest);
  CHECK(*rest == "3\tc\n");
  CHECK(reader.buffered() == 2);
  CHECK(reader.first_buffered_line() == 1);
  (void)reader.take();
  CHECK(reader.first_buffered_line() == 3);
  CHECK(reader.rows() == 2);
}

}  // namespace
}  // namespace freshet::adapter
