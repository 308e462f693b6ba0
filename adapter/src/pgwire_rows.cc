// SPDX-License-Identifier: Apache-2.0
#include "pgwire_rows.h"

#include <utility>

namespace freshet::adapter {
namespace {

void append_copy_text(std::string& out, std::string_view value, char delimiter) {
  for (const char c : value) {
    switch (c) {
      case '\\': out.append("\\\\"); break;
      case '\b': out.append("\\b"); break;
      case '\f': out.append("\\f"); break;
      case '\n': out.append("\\n"); break;
      case '\r': out.append("\\r"); break;
      case '\t': out.append("\\t"); break;
      case '\v': out.append("\\v"); break;
      default:
        if (c == delimiter) out.push_back('\\');
        out.push_back(c);
    }
  }
}

void append_csv(std::string& out, std::string_view value, const sql::CopyOptions& options, bool force,
                bool only_column) {
  const char special[] = {options.delimiter, options.quote, '\n', '\r'};
  const bool quoted = force || value == options.null_text || (only_column && value == "\\.") ||
                      value.find_first_of(std::string_view(special, sizeof special)) != std::string_view::npos;
  if (!quoted) {
    out.append(value);
    return;
  }
  out.push_back(options.quote);
  for (const char c : value) {
    if (c == options.quote || c == options.escape) out.push_back(options.escape);
    out.push_back(c);
  }
  out.push_back(options.quote);
}

bool forced(const sql::CopyOptions& options, std::size_t column) {
  if (options.force_quote_all) return true;
  for (const std::size_t c : options.force_quote) {
    if (c == column) return true;
  }
  return false;
}

void write_binary_copy_header(MessageWriter& out) {
  out.bytes(std::string_view("PGCOPY\n\377\r\n\0", 11));
  out.int32(0);
  out.int32(0);
}

void write_binary_copy_row(MessageWriter& out, const RowBatch& batch, const repr::RelationDesc& desc,
                           std::size_t row) {
  out.int16(static_cast<std::int16_t>(desc.arity()));
  for (std::size_t c = 0; c < desc.arity(); ++c) {
    if (batch.columns[c]->is_null(row)) {
      out.int32(-1);
      continue;
    }
    const repr::SqlType& type = desc.type.columns[c].type;
    out.value([&](std::string& to) { repr::write_binary(to, *batch.columns[c], row, type); });
  }
}

}  // namespace

void write_data_rows(MessageWriter& out, const RowBatch& batch, const repr::RelationDesc& desc,
                     const Formats& formats, const repr::TextFormat& text) {
  for (std::size_t row = 0; row < batch.rows; ++row) {
    out.begin('D');
    out.int16(static_cast<std::int16_t>(desc.arity()));
    for (std::size_t c = 0; c < desc.arity(); ++c) {
      const repr::Column& column = *batch.columns[c];
      if (column.is_null(row)) {
        out.int32(-1);
        continue;
      }
      const repr::SqlType& type = desc.type.columns[c].type;
      if (format_of(formats, c) == 1) {
        out.value([&](std::string& to) { repr::write_binary(to, column, row, type); });
      } else {
        out.value([&](std::string& to) { text.write(to, column, row, type); });
      }
    }
    out.end();
  }
}

void write_copy_rows(MessageWriter& out, const RowBatch& batch, const repr::RelationDesc& desc,
                     const sql::CopyOptions& options, const repr::TextFormat& text, bool& header_due) {
  std::string value;
  std::string line;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    out.begin('d');
    if (options.format == sql::CopyOptions::Format::kBinary) {
      if (std::exchange(header_due, false)) write_binary_copy_header(out);
      write_binary_copy_row(out, batch, desc, row);
      out.end();
      continue;
    }
    line.clear();
    for (std::size_t c = 0; c < desc.arity(); ++c) {
      if (c > 0) line.push_back(options.delimiter);
      const repr::Column& column = *batch.columns[c];
      if (column.is_null(row)) {
        line.append(options.null_text);
        continue;
      }
      value.clear();
      text.write(value, column, row, desc.type.columns[c].type);
      if (options.format == sql::CopyOptions::Format::kCsv) {
        append_csv(line, value, options, forced(options, c), desc.arity() == 1);
      } else {
        append_copy_text(line, value, options.delimiter);
      }
    }
    line.push_back('\n');
    out.bytes(line);
    out.end();
  }
}

void write_copy_header(MessageWriter& out, const repr::RelationDesc& desc, const sql::CopyOptions& options) {
  if (!options.header) return;
  std::string line;
  for (std::size_t c = 0; c < desc.arity(); ++c) {
    if (c > 0) line.push_back(options.delimiter);
    if (options.format == sql::CopyOptions::Format::kCsv) {
      append_csv(line, desc.names[c], options, false, desc.arity() == 1);
    } else {
      append_copy_text(line, desc.names[c], options.delimiter);
    }
  }
  line.push_back('\n');
  out.begin('d');
  out.bytes(line);
  out.end();
}

void write_copy_trailer(MessageWriter& out, const sql::CopyOptions& options, bool header_due) {
  if (options.format != sql::CopyOptions::Format::kBinary) return;
  out.begin('d');
  if (header_due) write_binary_copy_header(out);
  out.int16(-1);
  out.end();
}

}  // namespace freshet::adapter
