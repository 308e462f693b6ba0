// SPDX-License-Identifier: Apache-2.0
/// Functions that put text together and take it apart.
#include <array>
#include <string>
#include <vector>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/quote.h>
#include <freshet/repr/utf8.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

namespace utf8 = repr::utf8;
using View = std::string_view;
using Int = std::int32_t;

bool is_text(const repr::SqlType& type) {
  return type.kind() == K::kText || type.kind() == K::kVarchar || type.kind() == K::kName ||
         type.kind() == K::kUnknown;
}

// The argument's text as the output function prints it.
void append_text(std::string& out, const repr::Column& column, std::size_t row,
                 const repr::SqlType& type) {
  if (is_text(type)) {
    out += column.values<repr::BytesVector>()[row];
  } else {
    out += repr::to_text(column.datum(row, type), type);
  }
}

std::size_t at(const repr::Column& column, std::size_t row) { return column.size() == 1 ? 0 : row; }

// concat and concat_ws: arguments from `first` on, NULLs left out.
Result<void> append_joined(std::string& out, const KernelCall& call, std::size_t row, std::size_t first,
                           View separator) {
  const std::size_t before = out.size();
  const auto add = [&](View text) -> Result<void> {
    if (!fits_value(before, out.size() - before + text.size())) return too_large();
    out += text;
    return {};
  };
  std::string printed;
  bool any = false;
  for (std::size_t i = first; i < call.arguments.size(); ++i) {
    const repr::Column& column = *call.arguments[i];
    if (column.is_null(at(column, row))) continue;
    if (any) FRESHET_TRY(add(separator));
    any = true;
    if (is_text(call.types[i])) {
      FRESHET_TRY(add(column.values<repr::BytesVector>()[at(column, row)]));
      continue;
    }
    printed.clear();
    append_text(printed, column, at(column, row), call.types[i]);
    FRESHET_TRY(add(printed));
  }
  return {};
}

// Row `row` of concat and concat_ws.
void join_row(repr::BytesVector& out, KernelCall& call, std::size_t row, std::size_t first, View separator,
              RowErrors& found) {
  const std::size_t before = out.buffer().size();
  const Result<void> done = append_joined(out.buffer(), call, row, first, separator);
  if (done.has_value()) return;
  note_error(call, {}, row, done.error(), found);
  out.buffer().resize(before);
}

repr::ColumnPtr concat(KernelCall& call) {
  repr::BytesVector out;
  RowErrors found;
  for (std::size_t row = 0; row < call.rows; ++row) {
    join_row(out, call, row, 0, {}, found);
    out.close();
  }
  finish_errors(call, found);
  return make_column(std::move(out), {});
}

repr::ColumnPtr concat_ws(KernelCall& call) {
  repr::BytesVector out;
  std::vector<std::uint8_t> validity;
  RowErrors found;
  const repr::Column& separators = *call.arguments[0];
  for (std::size_t row = 0; row < call.rows; ++row) {
    const std::size_t s = at(separators, row);
    if (separators.is_null(s)) {
      set_null(validity, call.rows, row);
    } else {
      join_row(out, call, row, 1, separators.values<repr::BytesVector>()[s], found);
    }
    out.close();
  }
  finish_errors(call, found);
  return make_column(std::move(out), std::move(validity));
}

// --- format() ------------------------------------------------------------------------------------------

class Formatter {
 public:
  Formatter(const KernelCall& call, std::size_t row, std::string& out)
      : call_(call), row_(row), out_(out) {}

  Result<void> run(View format) {
    for (std::size_t i = 0; i < format.size();) {
      if (format[i] != '%') {
        out_ += format[i++];
        continue;
      }
      if (++i >= format.size()) return unterminated();
      if (format[i] == '%') {
        out_ += format[i++];
        continue;
      }
      const bool ok = FRESHET_TRY(specifier(format, i));
      if (!ok) return unterminated();
    }
    return {};
  }

 private:
  static Result<void> unterminated() {
    Error error = sql_error(sqlstate::kInvalidParameterValue, "unterminated format() type specifier");
    error.hint = "For a single \"%\" use \"%%\".";
    return fail(std::move(error));
  }

  static std::optional<std::size_t> number(View format, std::size_t& i) {
    std::size_t value = 0;
    const std::size_t start = i;
    while (i < format.size() && format[i] >= '0' && format[i] <= '9' && value <= INT32_MAX) {
      value = 10 * value + static_cast<std::size_t>(format[i++] - '0');
    }
    if (i == start) return std::nullopt;
    return value;
  }

  // Argument numbers count from 1. Null: there is none.
  Result<std::optional<std::string>> text_of(std::size_t number) {
    if (number >= call_.arguments.size()) {
      return fail(sqlstate::kInvalidParameterValue, "too few arguments for format()");
    }
    const repr::Column& column = *call_.arguments[number];
    if (column.is_null(at(column, row_))) return std::optional<std::string>();
    std::string text;
    append_text(text, column, at(column, row_), call_.types[number]);
    return std::optional(std::move(text));
  }

  // %[position$][flags][width]type; false if the text ends inside.
  Result<bool> specifier(View format, std::size_t& i) {
    std::optional<std::size_t> position;
    const std::size_t start = i;
    if (auto n = number(format, i); n.has_value() && i < format.size() && format[i] == '$') {
      if (*n == 0) {
        return fail(sqlstate::kInvalidParameterValue,
                    "format specifies argument 0, but arguments are numbered from 1");
      }
      position = n;
      ++i;
    } else {
      i = start;
    }
    bool left = false;
    while (i < format.size() && format[i] == '-') left = true, ++i;
    std::size_t width = 0;
    if (i < format.size() && format[i] == '*') {
      ++i;
      const auto text = FRESHET_TRY(text_of(next_++));
      const long value = text.has_value() ? std::strtol(text->c_str(), nullptr, 10) : 0;
      if (value < 0) left = true;
      width = static_cast<std::size_t>(value < 0 ? -value : value);
    } else {
      width = number(format, i).value_or(0);
    }
    if (i >= format.size()) return false;
    const char type = format[i];
    i += utf8::sequence_length(type);
    if (type != 's' && type != 'I' && type != 'L') {
      Error error = sql_error(sqlstate::kInvalidParameterValue,
                              "unrecognized format() type specifier \"" +
                                  std::string(format.substr(i - utf8::sequence_length(type),
                                                            utf8::sequence_length(type))) +
                                  "\"");
      error.hint = "For a single \"%\" use \"%%\".";
      return fail(std::move(error));
    }
    if (position.has_value()) next_ = *position;
    const std::size_t which = next_++;
    std::string text;
    const auto value = FRESHET_TRY(text_of(which));
    FRESHET_TRY(render(type, value, text));
    const std::size_t have = utf8::length(text);
    const std::size_t blanks = have < width ? width - have : 0;
    if (!fits_value(0, out_.size() + text.size()) || blanks > kMostValueBytes - out_.size() - text.size()) {
      return too_large();
    }
    if (!left) out_.append(blanks, ' ');
    out_ += text;
    if (left) out_.append(blanks, ' ');
    return true;
  }

  static Result<void> render(char type, const std::optional<std::string>& value, std::string& out) {
    if (!value.has_value()) {
      if (type == 'I') {
        return fail("22004",
                    "null values cannot be formatted as an SQL identifier");
      }
      if (type == 'L') out = "NULL";
      return {};
    }
    if (type == 's') out = *value;
    if (type == 'I') append_quoted_identifier(out, *value);
    if (type == 'L') append_quoted_literal(out, *value);
    return {};
  }

  const KernelCall& call_;
  std::size_t row_;
  std::string& out_;
  std::size_t next_ = 1;
};

repr::ColumnPtr format(KernelCall& call) {
  repr::BytesVector out;
  std::vector<std::uint8_t> validity;
  RowErrors found;
  const repr::Column& formats = *call.arguments[0];
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (formats.is_null(at(formats, row))) {
      set_null(validity, call.rows, row);
    } else {
      std::string text;
      Result<void> done =
          Formatter(call, row, text).run(formats.values<repr::BytesVector>()[at(formats, row)]);
      if (done.has_value()) done = check_room(out.buffer(), text.size());
      if (done.has_value()) {
        out.buffer() += text;
      } else {
        note_error(call, {}, row, done.error(), found);
      }
    }
    out.close();
  }
  finish_errors(call, found);
  return make_column(std::move(out), std::move(validity));
}

repr::ColumnPtr quote_nullable(KernelCall& call) {
  repr::BytesVector out;
  const repr::Column& column = *call.arguments[0];
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (column.is_null(row)) {
      out.buffer() += "NULL";
    } else {
      append_quoted_literal(out.buffer(), column.values<repr::BytesVector>()[row]);
    }
    out.close();
  }
  return make_column(std::move(out), {});
}

// --- Taking apart ---------------------------------------------------------------------------------------

std::vector<View> split(View text, View separator) {
  std::vector<View> parts;
  for (;;) {
    const std::size_t at_part = text.find(separator);
    parts.push_back(text.substr(0, at_part));
    if (at_part == View::npos) return parts;
    text.remove_prefix(at_part + separator.size());
  }
}

Result<void> split_part(std::string& out, View text, View separator, Int n) {
  if (n == 0) {
    return fail(sqlstate::kInvalidParameterValue, "field position must not be zero");
  }
  if (text.empty()) return {};
  if (separator.empty()) {
    if (n == 1 || n == -1) out += text;
    return {};
  }
  const auto parts = split(text, separator);
  const auto count = static_cast<std::int64_t>(parts.size());
  const std::int64_t index = n > 0 ? n - 1 : count + n;
  if (index >= 0 && index < count) out += parts[static_cast<std::size_t>(index)];
  return {};
}

Result<void> replace_all(std::string& out, View text, View from, View to) {
  if (from.empty()) {
    out += text;
    return {};
  }
  if (to.size() > from.size() && !fits_value(out.size(), text.size() / from.size() * to.size() + text.size())) {
    std::size_t count = 0;
    for (std::size_t i = text.find(from); i != View::npos; i = text.find(from, i + from.size())) ++count;
    FRESHET_TRY(check_room(out, text.size() + count * (to.size() - from.size())));
  }
  for (;;) {
    const std::size_t found = text.find(from);
    out += text.substr(0, found);
    if (found == View::npos) return {};
    out += to;
    text.remove_prefix(found + from.size());
  }
}

void translate(std::string& out, View text, View from, View to) {
  for (std::size_t i = 0; i < text.size();) {
    const View character = text.substr(i, utf8::sequence_length(text[i]));
    i += character.size();
    // `find` may hit inside no character: UTF-8 synchronises itself.
    const std::size_t found = from.find(character);
    if (found == View::npos) {
      out += character;
      continue;
    }
    const std::size_t index = utf8::length(from.substr(0, found));
    const std::size_t offset = utf8::offset_of(to, index);
    if (offset < to.size()) out += to.substr(offset, utf8::sequence_length(to[offset]));
  }
}

void reverse(std::string& out, View text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t start = end - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    out += text.substr(start, end - start);
    end = start;
  }
}

Result<void> chr(std::string& out, Int code) {
  if (code < 0) {
    return fail(sqlstate::kInvalidParameterValue, "character number must be positive");
  }
  if (code == 0) {
    return fail(sqlstate::kProgramLimitExceeded, "null character not permitted");
  }
  if (code > 0x10FFFF) {
    return fail(sqlstate::kProgramLimitExceeded,
                "requested character too large for encoding: " + std::to_string(code));
  }
  if (code >= 0xD800 && code <= 0xDFFF) {
    return fail(sqlstate::kProgramLimitExceeded,
                "requested character not valid for encoding: " + std::to_string(code));
  }
  utf8::append(out, static_cast<char32_t>(code));
  return {};
}

template <typename T>
void to_hex(std::string& out, T value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  auto bits = static_cast<std::make_unsigned_t<T>>(value);
  std::array<char, 16> digits{};
  std::size_t n = digits.size();
  do {
    digits[--n] = kDigits[bits & 15];
    bits = static_cast<std::make_unsigned_t<T>>(bits >> 4);
  } while (bits != 0);
  out.append(digits.data() + n, digits.size() - n);
}

void add_joining(FunctionTable& table) {
  const auto join = unless_too_large(lift([](std::string& out, View a, View b) -> Result<void> {
    FRESHET_TRY(check_room(out, a.size() + b.size()));
    (out += a) += b;
    return {};
  }));
  table.add_operator("||", {K::kText, K::kText}, K::kText, join);
  table.add_operator("||", {K::kBytea, K::kBytea}, K::kBytea, join);
  table.add("textcat", {K::kText, K::kText}, K::kText, join);
  struct Variadic {
    FunctionSpec* spec;
    bool not_null;
  };
  for (const auto& [spec, not_null] :
       {Variadic{&table.add("concat", {A::kAny}, K::kText, whole([](KernelCall& call) { return concat(call); })), true},
        Variadic{&table.add("concat_ws", {K::kText, A::kAny}, K::kText, whole([](KernelCall& call) { return concat_ws(call); })), false},
        Variadic{&table.add("format", {K::kText, A::kAny}, K::kText, whole([](KernelCall& call) { return format(call); }, {.can_fail = true})),
                 false}}) {
    spec->variadic = true;
    spec->strict = false;
    spec->preserves_not_null = not_null;
  }
}

}  // namespace

void add_text_formats(FunctionTable& table) {
  add_joining(table);
  table.add("replace", {K::kText, K::kText, K::kText}, K::kText,
            unless_too_large(lift([](std::string& out, View text, View from, View to) -> Result<void> {
              return replace_all(out, text, from, to);
            })));
  table.add("translate", {K::kText, K::kText, K::kText}, K::kText,
            lift([](std::string& out, View text, View from, View to) {
              translate(out, text, from, to);
            }));
  table.add("reverse", {K::kText}, K::kText,
            lift([](std::string& out, View text) { reverse(out, text); }));
  table.add("split_part", {K::kText, K::kText, K::kInt4}, K::kText,
            lift([](std::string& out, View text, View separator, Int n) -> Result<void> {
              return split_part(out, text, separator, n);
            }));
  table.add("ascii", {K::kText}, K::kInt4, lift([](View text) -> Int {
              std::size_t offset = 0;
              return text.empty() ? 0 : static_cast<Int>(utf8::decode(text, offset));
            }));
  table.add("chr", {K::kInt4}, K::kText,
            lift([](std::string& out, Int code) -> Result<void> { return chr(out, code); }));
  table.add("to_hex", {K::kInt4}, K::kText,
            lift([](std::string& out, Int value) { to_hex(out, value); }));
  table.add("to_hex", {K::kInt8}, K::kText,
            lift([](std::string& out, std::int64_t value) { to_hex(out, value); }));
  table.add("quote_ident", {K::kText}, K::kText,
            lift([](std::string& out, View text) { append_quoted_identifier(out, text); }));
  table.add("quote_literal", {K::kText}, K::kText,
            lift([](std::string& out, View text) { append_quoted_literal(out, text); }));
  FunctionSpec& nullable = table.add("quote_nullable", {K::kText}, K::kText, whole([](KernelCall& call) { return quote_nullable(call); }));
  nullable.strict = false;
  nullable.preserves_not_null = true;
}

}  // namespace freshet::expr
