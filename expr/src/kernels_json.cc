// SPDX-License-Identifier: Apache-2.0
/// json_build_object and json_build_array. There is no type json: they give the same characters as text.
#include <algorithm>
#include <string>
#include <vector>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/text.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

using repr::Datum;
using repr::SqlType;

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kDigits[static_cast<unsigned char>(c) >> 4];
          out += kDigits[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

/// 2020-01-01T10:00:00+00:00
std::string iso_time(std::string text, bool with_zone) {
  if (text.find("infinity") != std::string::npos) return text;
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return text;
  text[blank] = 'T';
  const std::size_t zone = text.find_first_of("+-", blank);
  const std::size_t end = text.find(' ', blank);
  if (with_zone && zone != std::string::npos && std::min(end, text.size()) - zone == 3) {
    text.insert(std::min(end, text.size()), ":00");
  }
  return text;
}

void append_value(std::string& out, const Datum& value, const SqlType& type);

void append_array(std::string& out, const repr::ArrayValue& array, const SqlType& element, std::size_t dimension,
                  std::size_t& next) {
  out += '[';
  const std::int32_t length = array.dimensions.empty() ? 0 : array.dimensions[dimension].length;
  for (std::int32_t i = 0; i < length; ++i) {
    if (i > 0) out += ',';
    if (dimension + 1 < array.dimensions.size()) {
      append_array(out, array, element, dimension + 1, next);
    } else {
      append_value(out, array.elements[next++], element);
    }
  }
  out += ']';
}

void append_value(std::string& out, const Datum& value, const SqlType& type) {
  if (value.is_null()) {
    out += "null";
    return;
  }
  switch (type.kind()) {
    case K::kBool: out += value.get<bool>() ? "true" : "false"; return;
    case K::kArray: {
      std::size_t next = 0;
      const auto& array = *value.get<std::shared_ptr<const repr::ArrayValue>>();
      return append_array(out, array, type.element(), 0, next);
    }
    case K::kInt2:
    case K::kInt4:
    case K::kInt8: out += repr::to_text(value, type); return;
    case K::kFloat4:
    case K::kFloat8:
    case K::kNumeric: {
      const std::string text = repr::to_text(value, type);
      // NaN and the infinities are no numbers of JSON.
      if (text.find_first_of("Nn") != std::string::npos) return append_quoted(out, text);
      out += text;
      return;
    }
    case K::kTimestamp:
    case K::kTimestampTz:
      return append_quoted(out, iso_time(repr::to_text(value, type), type.kind() == K::kTimestampTz));
    default: return append_quoted(out, repr::to_text(value, type));
  }
}

base::Unexpected bad_argument(std::string message, std::string hint = {}) {
  Error error = sql_error(sqlstate::kInvalidParameterValue, std::move(message));
  error.hint = std::move(hint);
  return fail(std::move(error));
}

Datum argument(const KernelCall& call, std::size_t i, std::size_t row) {
  const repr::Column& column = *call.arguments[i];
  const std::size_t at = column.size() == 1 ? 0 : row;
  return column.is_null(at) ? Datum() : column.datum(at, call.types[i]);
}

Result<void> append_object(std::string& out, const KernelCall& call, std::size_t row) {
  if (call.arguments.size() % 2 != 0) {
    return bad_argument("argument list must have even number of elements",
                        "The arguments of json_build_object() must consist of alternating keys and values.");
  }
  out += '{';
  for (std::size_t i = 0; i < call.arguments.size(); i += 2) {
    const Datum key = argument(call, i, row);
    if (key.is_null()) {
      return bad_argument("argument " + std::to_string(i + 1) + " cannot be null", "Object keys should be text.");
    }
    if (call.types[i].kind() == K::kArray) {
      return bad_argument("key value must be scalar, not array, composite, or json");
    }
    if (i > 0) out += ", ";
    append_quoted(out, repr::to_text(key, call.types[i]));
    out += " : ";
    append_value(out, argument(call, i + 1, row), call.types[i + 1]);
  }
  out += '}';
  return {};
}

Result<void> append_list(std::string& out, const KernelCall& call, std::size_t row) {
  out += '[';
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    if (i > 0) out += ", ";
    append_value(out, argument(call, i, row), call.types[i]);
  }
  out += ']';
  return {};
}

template <Result<void> (*kAppend)(std::string&, const KernelCall&, std::size_t)>
repr::ColumnPtr build(KernelCall& call) {
  repr::BytesVector out;
  RowErrors found;
  for (std::size_t row = 0; row < call.rows; ++row) {
    std::string text;
    Result<void> done = kAppend(text, call, row);
    if (done && !fits_value(0, text.size())) done = too_large();
    if (done) {
      out.buffer() += text;
    } else {
      note_error(call, {}, row, done.error(), found);
    }
    out.close();
  }
  finish_errors(call, found);
  return make_column(std::move(out), {});
}

}  // namespace

void add_json(FunctionTable& table) {
  for (FunctionSpec* spec :
       {&table.add("json_build_object", {A::kAny}, K::kText,
                   whole([](KernelCall& call) { return build<append_object>(call); }, {.can_fail = true})),
        &table.add("json_build_array", {A::kAny}, K::kText,
                   whole([](KernelCall& call) { return build<append_list>(call); }, {.can_fail = true}))}) {
    spec->variadic = true;
    spec->strict = false;
    spec->preserves_not_null = true;
  }
}

}  // namespace freshet::expr
