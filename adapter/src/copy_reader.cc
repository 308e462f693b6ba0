// SPDX-License-Identifier: Apache-2.0
#include "copy_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/utf8.h>

namespace freshet::adapter {
namespace {

bool named(const std::vector<std::size_t>& columns, std::size_t column) {
  return std::ranges::find(columns, column) != columns.end();
}

}  // namespace

CopyReader::CopyReader(sql::CopyOptions options, repr::RelationDesc desc, const repr::TextOptions& text)
    : options_(std::move(options)), desc_(std::move(desc)), format_(text), skip_header_(options_.header) {
  for (const repr::ColumnType& column : desc_.type.columns) {
    builders_.emplace_back(column.type.physical());
    quick_.push_back(quick_of(column.type));
  }
}

CopyReader::Quick CopyReader::quick_of(const repr::SqlType& type) {
  switch (type.kind()) {
    case repr::TypeKind::kInt2: return Quick::kInt2;
    case repr::TypeKind::kInt4: return Quick::kInt4;
    case repr::TypeKind::kInt8: return Quick::kInt8;
    case repr::TypeKind::kText: return Quick::kText;
    default: return Quick::kNone;
  }
}

base::Unexpected CopyReader::bad(std::string message) const {
  Error error = sql_error(sqlstate::kBadCopyFileFormat, std::move(message));
  error.detail = "COPY line " + std::to_string(line_);
  return base::Unexpected(std::move(error));
}

std::vector<repr::ColumnPtr> CopyReader::take() {
  std::vector<repr::ColumnPtr> columns;
  for (std::size_t i = 0; i < builders_.size(); ++i) {
    columns.push_back(builders_[i].finish());
    builders_[i] = repr::ColumnBuilder(desc_.type.columns[i].type.physical());
  }
  buffered_ = 0;
  first_line_ = line_ + 1;
  return columns;
}

// Cuts the bytes at line ends; in CSV a line end inside quotes is data.
Result<std::string_view> CopyReader::read(std::string_view bytes, std::size_t most) {
  const bool csv = options_.format == sql::CopyOptions::Format::kCsv;
  while (!bytes.empty() && buffered_ < most) {
    const std::size_t end = csv ? csv_end(bytes) : bytes.find('\n');
    if (end == std::string_view::npos) {
      partial_.append(bytes);
      if (partial_.size() > (1u << 30)) return bad("line is too long");
      return std::string_view();
    }
    std::string_view whole = bytes.substr(0, end);
    if (!partial_.empty()) {
      partial_.append(whole);
      whole = partial_;
    }
    FRESHET_TRY(line(whole));
    quotes_seen_ = false;
    partial_.clear();
    bytes.remove_prefix(end + 1);
  }
  return bytes;
}

// Most lines have no quote.
std::size_t CopyReader::csv_end(std::string_view bytes) {
  if (!in_quotes_ && !escaped_) {
    const std::size_t end = bytes.find('\n');
    if (bytes.substr(0, end).find(options_.quote) == std::string_view::npos) return end;
  }
  quotes_seen_ = true;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (std::exchange(escaped_, false)) continue;
    if (c == options_.quote) {
      in_quotes_ = !in_quotes_;  // a doubled quote flips twice
    } else if (c == options_.escape && in_quotes_) {
      escaped_ = true;
    } else if (c == '\n' && !in_quotes_) {
      return i;
    }
  }
  return std::string_view::npos;
}

Result<void> CopyReader::finish() {
  if (in_quotes_) {
    ++line_;  // the line that never ended
    return bad("unterminated CSV quoted field");
  }
  if (!partial_.empty()) FRESHET_TRY(line(std::exchange(partial_, {})));
  if (skip_header_ && options_.header_match) {
    ++line_;
    return match_header({});
  }
  return {};
}

Result<void> CopyReader::line(std::string_view line) {
  ++line_;
  if (ended_) return {};
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line == "\\.") {
    ended_ = true;
    return {};
  }
  if (std::exchange(skip_header_, false)) {
    first_line_ = line_ + 1;
    return options_.header_match ? match_header(line) : Result<void>();
  }
  FRESHET_TRY(valid(line));
  if (options_.format != sql::CopyOptions::Format::kCsv) return text_line(line);
  const bool plain = !quotes_seen_ && options_.force_not_null.empty() && !builders_.empty();
  return plain ? plain_csv_line(line) : csv_line(line);
}

std::size_t CopyReader::count_fields(std::string_view line) const {
  const bool csv = options_.format == sql::CopyOptions::Format::kCsv;
  std::size_t count = 1;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (csv ? quoted && c == options_.escape && c != options_.quote : c == '\\') {
      ++i;
    } else if (csv && c == options_.quote) {
      quoted = !quoted;
    } else if (c == options_.delimiter && !quoted) {
      ++count;
    }
  }
  return count;
}

// The header is a line of as many texts.
Result<void> CopyReader::match_header(std::string_view line) {
  const std::size_t wanted = builders_.size();
  const std::size_t count = wanted == 0 && line.empty() ? 0 : count_fields(line);
  if (count != wanted) {
    return bad("wrong number of fields in header line: got " + std::to_string(count) + ", expected " +
               std::to_string(wanted));
  }
  sql::CopyOptions options = options_;
  options.header = false;
  options.header_match = false;
  repr::RelationDesc texts{.type = {}, .names = desc_.names};
  texts.type.columns.assign(wanted, {repr::TypeKind::kText, true});
  CopyReader reader(std::move(options), std::move(texts));
  FRESHET_TRY(reader.read(std::string(line) + "\n", 1));
  const std::vector<repr::ColumnPtr> names = reader.take();
  for (std::size_t i = 0; i < wanted; ++i) {
    const repr::Datum name = names[i]->datum(0, repr::TypeKind::kText);
    if (!name.is_null() && name.get<std::string>() == desc_.names[i]) continue;
    const std::string got = name.is_null() ? "null value (\"" + options_.null_text + "\")"
                                           : "\"" + name.get<std::string>() + "\"";
    return bad("column name mismatch in header line field " + std::to_string(i + 1) + ": got " + got +
               ", expected \"" + desc_.names[i] + "\"");
  }
  return {};
}

Result<void> CopyReader::valid(std::string_view text) const {
  auto valid = repr::utf8::validate(text);
  if (valid) return {};
  Error error = valid.error();
  error.detail = "COPY line " + std::to_string(line_);
  return base::Unexpected(std::move(error));
}

Result<void> CopyReader::text_line(std::string_view line) {
  std::size_t column = 0;
  // A line of a table without columns is one empty field that is not there.
  if (builders_.empty()) return line.empty() ? end_row(0) : Result<void>(bad("extra data after last expected column"));
  std::size_t start = 0;
  while (true) {
    // The delimiter ends a field unless a backslash is before it.
    std::size_t end = start;
    bool escaped = false;
    while (end < line.size() && line[end] != options_.delimiter) {
      if (line[end] == '\\') {
        escaped = true;
        ++end;
      }
      ++end;
    }
    end = std::min(end, line.size());
    const std::string_view raw = line.substr(start, end - start);
    if (column >= builders_.size()) return bad("extra data after last expected column");
    if (raw == options_.null_text) {
      FRESHET_TRY(field(column, {}, true));
    } else if (!escaped) {
      FRESHET_TRY(field(column, raw, false));
    } else {
      scratch_.clear();
      for (std::size_t i = 0; i < raw.size(); ++i) {
        if (raw[i] != '\\' || i + 1 == raw.size()) {
          scratch_.push_back(raw[i]);
          continue;
        }
        const char c = raw[++i];
        switch (c) {
          case 'b': scratch_.push_back('\b'); break;
          case 'f': scratch_.push_back('\f'); break;
          case 'n': scratch_.push_back('\n'); break;
          case 'r': scratch_.push_back('\r'); break;
          case 't': scratch_.push_back('\t'); break;
          case 'v': scratch_.push_back('\v'); break;
          case 'x':
          case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': {
            const int radix = c == 'x' ? 16 : 8;
            const std::size_t most = c == 'x' ? 2 : 3;
            const char* first = raw.data() + i + (c == 'x' ? 1 : 0);
            const char* last = std::min(first + most, raw.data() + raw.size());
            unsigned value = 0;
            const auto parsed = std::from_chars(first, last, value, radix);
            if (parsed.ptr == first) {
              scratch_.push_back(c);
            } else {
              scratch_.push_back(static_cast<char>(value));
              i = static_cast<std::size_t>(parsed.ptr - raw.data()) - 1;
            }
            break;
          }
          default: scratch_.push_back(c);
        }
      }
      // An escape may have made any byte.
      FRESHET_TRY(valid(scratch_));
      FRESHET_TRY(field(column, scratch_, false));
    }
    ++column;
    if (end >= line.size()) break;
    start = end + 1;
  }
  return end_row(column);
}

Result<void> CopyReader::plain_csv_line(std::string_view line) {
  const char delimiter = options_.delimiter;
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::size_t column = 0;; ++column) {
    if (column >= builders_.size()) return bad("extra data after last expected column");
    const char* stop = at;
    while (stop != end && *stop != delimiter) ++stop;
    const std::string_view value(at, static_cast<std::size_t>(stop - at));
    if (is_null(value)) {
      builders_[column].append_null();
    } else if (!quick_field(column, value)) {
      FRESHET_TRY(field(column, value, false));
    }
    if (stop == end) return end_row(column + 1);
    at = stop + 1;
  }
}

/// A number of so few digits that it fits, or text as it stands.
bool CopyReader::quick_field(std::size_t column, std::string_view value) {
  const auto number = [&]<typename T>(std::vector<T>& out) {
    constexpr std::size_t kDigits = std::numeric_limits<T>::digits10;
    const bool negative = !value.empty() && value[0] == '-';
    const std::string_view digits = value.substr(negative ? 1 : 0);
    if (digits.empty() || digits.size() > kDigits) return false;
    std::int64_t sum = 0;
    for (const char c : digits) {
      const auto digit = static_cast<unsigned char>(c - '0');
      if (digit > 9) return false;
      sum = sum * 10 + digit;
    }
    out.push_back(static_cast<T>(negative ? -sum : sum));
    return true;
  };
  repr::ColumnBuilder& out = builders_[column];
  switch (quick_[column]) {
    case Quick::kInt2: return number(out.values<std::vector<std::int16_t>>());
    case Quick::kInt4: return number(out.values<std::vector<std::int32_t>>());
    case Quick::kInt8: return number(out.values<std::vector<std::int64_t>>());
    case Quick::kText: out.values<repr::BytesVector>().push_back(value); return true;
    case Quick::kNone: return false;
  }
  return false;
}

Result<void> CopyReader::csv_line(std::string_view line) {
  std::size_t column = 0;
  std::size_t at = 0;
  if (builders_.empty()) return line.empty() ? end_row(0) : Result<void>(bad("extra data after last expected column"));
  while (true) {
    if (column >= builders_.size()) return bad("extra data after last expected column");
    // The common field has no quote in it: a slice of the line.
    const std::size_t plain = line.find(options_.delimiter, at);
    const std::string_view slice = line.substr(at, plain == std::string_view::npos ? plain : plain - at);
    if (slice.find(options_.quote) == std::string_view::npos) {
      FRESHET_TRY(field(column, slice, slice == options_.null_text && !named(options_.force_not_null, column)));
      at = plain == std::string_view::npos ? line.size() + 1 : plain + 1;
    } else {
      scratch_.clear();
      bool quoted = false;
      for (; at < line.size(); ++at) {
        const char c = line[at];
        if (quoted) {
          if (c == options_.escape && at + 1 < line.size() &&
              (line[at + 1] == options_.quote || line[at + 1] == options_.escape)) {
            scratch_.push_back(line[++at]);
          } else if (c == options_.quote) {
            quoted = false;
          } else {
            scratch_.push_back(c);
          }
        } else if (c == options_.quote) {
          quoted = true;
        } else if (c == options_.delimiter) {
          break;
        } else {
          scratch_.push_back(c);
        }
      }
      if (quoted) return bad("unterminated CSV quoted field");
      FRESHET_TRY(field(column, scratch_, scratch_ == options_.null_text && named(options_.force_null, column)));
      at = at >= line.size() ? line.size() + 1 : at + 1;
    }
    ++column;
    if (at > line.size()) break;
  }
  return end_row(column);
}

Result<void> CopyReader::end_row(std::size_t fields) {
  if (fields < builders_.size()) {
    return bad("missing data for column \"" + desc_.names[fields] + "\"");
  }
  ++buffered_;
  ++rows_;
  return {};
}

Result<void> CopyReader::field(std::size_t column, std::string_view value, bool null) {
  repr::ColumnBuilder& out = builders_[column];
  if (null) {
    out.append_null();
    return {};
  }
  if (auto read = format_.read(value, desc_.type.columns[column].type, out); !read) {
    Error error = read.error();
    error.detail = "COPY line " + std::to_string(line_) + ", column " + desc_.names[column] + ": \"" +
                   std::string(value.substr(0, 100)) + "\"";
    return base::Unexpected(std::move(error));
  }
  return {};
}

}  // namespace freshet::adapter
