// SPDX-License-Identifier: Apache-2.0
/// Reads COPY data (text and CSV as PostgreSQL defines them) into columns.
///
/// Bytes may be cut anywhere. Errors carry PostgreSQL's SQLSTATE, and the line in `detail`:
/// 22P04 for a broken line (missing or extra data, unterminated quote), the type's own error for a field.
///
///     CopyReader reader(options, desc, {.time_zone = "Europe/Paris"});
///     rest = FRESHET_TRY(reader.read(bytes, 8192));   // stops early when 8192 rows are buffered
///     auto columns = reader.take();
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/repr/chunk.h>
#include <freshet/repr/text.h>
#include <freshet/sql/plan.h>

namespace freshet::adapter {

class CopyReader {
 public:
  CopyReader(sql::CopyOptions options, repr::RelationDesc desc, const repr::TextOptions& text = {});
  /// Consumes bytes until they end or `most` rows are buffered; what is left over.
  Result<std::string_view> read(std::string_view bytes, std::size_t most);
  /// The data has ended: a last line without a newline counts.
  Result<void> finish();
  [[nodiscard]] std::size_t buffered() const { return buffered_; }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] std::uint64_t first_buffered_line() const { return first_line_; }
  /// The buffered rows as columns of the data's types.
  std::vector<repr::ColumnPtr> take();

 private:
  /// Columns whose common values are read without detours.
  enum class Quick : std::uint8_t { kNone, kInt2, kInt4, kInt8, kText };
  static Quick quick_of(const repr::SqlType& type);

  Result<void> line(std::string_view line);
  Result<void> text_line(std::string_view line);
  Result<void> csv_line(std::string_view line);
  Result<void> plain_csv_line(std::string_view line);  // in which nothing is quoted
  Result<void> match_header(std::string_view line);
  [[nodiscard]] std::size_t count_fields(std::string_view line) const;
  [[nodiscard]] std::size_t csv_end(std::string_view bytes);
  Result<void> field(std::size_t column, std::string_view value, bool null);
  bool quick_field(std::size_t column, std::string_view value);
  [[nodiscard]] bool is_null(std::string_view value) const {
    return value.size() == options_.null_text.size() &&
           (value.empty() || (value[0] == options_.null_text[0] && value == options_.null_text));
  }
  Result<void> end_row(std::size_t fields);
  [[nodiscard]] Result<void> valid(std::string_view text) const;
  [[nodiscard]] base::Unexpected bad(std::string message) const;

  sql::CopyOptions options_;
  repr::RelationDesc desc_;
  repr::TextFormat format_;
  std::vector<repr::ColumnBuilder> builders_;
  std::vector<Quick> quick_;  ///< By column.
  bool quotes_seen_ = false;  ///< CSV: a quote may be in the line at hand.
  std::string partial_;      ///< A line whose end has not come yet.
  bool in_quotes_ = false;   ///< CSV: `partial_` ends inside quotes.
  bool escaped_ = false;     ///< CSV: the last byte read was an escape.
  bool skip_header_ = false;
  bool ended_ = false;       ///< Saw the end marker \.
  std::string scratch_;
  std::size_t buffered_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t first_line_ = 1;
};

}  // namespace freshet::adapter
