// SPDX-License-Identifier: Apache-2.0
/// Casts to and from text, through the types' output and input functions, and between kinds of text.
#include <string>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/row.h>
#include <freshet/repr/utf8.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

using View = std::string_view;
constexpr CastContext kImplicit = CastContext::kImplicit;
constexpr CastContext kAssignment = CastContext::kAssignment;
constexpr CastContext kExplicit = CastContext::kExplicit;

// The output function over a column.
repr::ColumnPtr print(KernelCall& call) {
  const repr::Column& in = *call.arguments[0];
  const repr::SqlType& type = call.types[0];
  repr::BytesVector out;
  RowErrors found;
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (!in.is_null(row)) {
      const repr::Datum value = in.datum(row, type);
      // Text may be longer than the value, so it is asked twice.
      std::string text;
      Result<void> done = check_room(out.buffer(), raw_size(value));
      if (done.has_value()) {
        text = repr::to_text(value, type);
        done = check_room(out.buffer(), text.size());
      }
      if (done.has_value()) {
        out.buffer() += text;
      } else {
        note_error(call, {}, row, done.error(), found);
      }
    }
    out.close();
  }
  finish_errors(call, found);
  return make_column(std::move(out), strict_validity(call));
}

// The input function over a column. `call.result_type` says what to read.
repr::ColumnPtr parse(KernelCall& call) {
  const Reader<View> in(*call.arguments[0], call.rows);
  const repr::SqlType type = call.result_type.without_typmod();
  repr::ColumnBuilder out(type.physical());
  out.reserve(call.rows);
  const auto validity = strict_validity(call);
  RowErrors found;
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (!validity.empty() && validity[row] == 0) {
      out.append_null();
      continue;
    }
    const Result<repr::Datum> value = repr::from_text(in[row], type);
    if (value.has_value()) {
      out.append(*value, type);
    } else {
      out.append_null();
      note_error(call, validity, row, value.error(), found);
    }
  }
  finish_errors(call, found);
  return out.finish();
}

template <typename T>
void print_integer(std::string& out, T value) {
  char digits[24];
  char* end = digits + sizeof digits;
  char* at = end;
  const bool negative = value < 0;
  auto rest = negative ? std::uint64_t{0} - static_cast<std::uint64_t>(value)
                       : static_cast<std::uint64_t>(value);
  do {
    *--at = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (negative) *--at = '-';
  out.append(at, static_cast<std::size_t>(end - at));
}

View without_blanks(View text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

constexpr std::size_t kNameBytes = 63;

// The first bytes that fit a name, at a character boundary.
View clip_name(View text) {
  if (text.size() <= kNameBytes) return text;
  std::size_t end = kNameBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

// Between the kinds of text.
void add_among_texts(FunctionTable& table) {
  const auto same = lift([](std::string& out, View text) { out += text; });
  const auto trimmed = lift([](std::string& out, View text) { out += without_blanks(text); });
  const auto clipped = lift([](std::string& out, View text) { out += clip_name(text); });
  const auto first =
      lift([](std::string& out, View text) { out += repr::utf8::prefix(text, 1); });
  table.add_relabel(K::kText, K::kVarchar, kImplicit);
  table.add_relabel(K::kVarchar, K::kText, kImplicit);
  // Not by name alone: char(n) compares without its trailing blanks, so its bytes in a row are others.
  table.add_cast(K::kText, K::kBpchar, kImplicit, same);
  table.add_cast(K::kVarchar, K::kBpchar, kImplicit, same);
  table.add_cast(K::kBpchar, K::kText, kImplicit, trimmed);
  table.add_cast(K::kBpchar, K::kVarchar, kImplicit, trimmed);
  table.add_cast(K::kName, K::kText, kImplicit, same);
  table.add_cast(K::kName, K::kVarchar, kAssignment, same);
  table.add_cast(K::kName, K::kBpchar, kAssignment, same);
  table.add_cast(K::kText, K::kName, kImplicit, clipped);
  table.add_cast(K::kVarchar, K::kName, kImplicit, clipped);
  table.add_cast(K::kBpchar, K::kName, kImplicit,
                 lift([](std::string& out, View text) { out += without_blanks(clip_name(text)); }));
  table.add_cast(K::kPgChar, K::kText, kImplicit, same);
  table.add_cast(K::kPgChar, K::kVarchar, kAssignment, same);
  table.add_cast(K::kPgChar, K::kBpchar, kAssignment, same);
  for (const K kind : {K::kText, K::kVarchar, K::kBpchar}) {
    table.add_cast(kind, K::kPgChar, kAssignment, first);
  }
}

Lifted printer(K kind) {
  switch (kind) {
    case K::kInt2: return lift([](std::string& out, std::int16_t x) { print_integer(out, x); });
    case K::kInt4: return lift([](std::string& out, std::int32_t x) { print_integer(out, x); });
    case K::kInt8:
    case K::kOid: return lift([](std::string& out, std::int64_t x) { print_integer(out, x); });
    case K::kBool: return lift([](std::string& out, bool x) { out += x ? "true" : "false"; });
    default: return whole([](KernelCall& call) { return print(call); });
  }
}

// Arrays: one spec for all element types.
repr::ColumnPtr cast_array(KernelCall& call) {
  const repr::SqlType& from = call.types[0];
  const repr::SqlType& to = call.result_type;
  const auto cast = from.element().kind() == to.element().kind()
                        ? CastSpec{kImplicit, nullptr}
                        : find_cast(from.element(), to.element()).value();
  const FunctionSpec* limit = to.element().typmod() == -1 ? nullptr : typmod_coercion(to.element().kind());
  const repr::Column& in = *call.arguments[0];
  repr::ColumnBuilder out(repr::PhysicalType::kBytes);
  RowErrors found;
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (in.is_null(row)) {
      out.append_null();
      continue;
    }
    repr::ArrayValue array = *in.datum(row, from).get<std::shared_ptr<const repr::ArrayValue>>();
    repr::ColumnBuilder builder(from.element().physical());
    for (const repr::Datum& element : array.elements) builder.append(element, from.element());
    repr::ColumnPtr elements = builder.finish();
    RowErrors errors;
    const auto apply = [&](const FunctionSpec& spec, std::vector<repr::ColumnPtr> arguments,
                           const repr::SqlType& type) {
      const std::vector<repr::SqlType> types{type, repr::SqlType(K::kInt4), repr::SqlType(K::kBool)};
      KernelCall inner{.arguments = arguments, .types = types, .result_type = to.element(),
                       .rows = array.elements.size(), .errors = errors, .kernel = spec.kernel};
      elements = spec.kernel->evaluate(inner);
    };
    if (cast.function != nullptr && !array.elements.empty()) apply(*cast.function, {elements}, from.element());
    if (limit != nullptr && !array.elements.empty() && errors.empty()) {
      apply(*limit,
            {elements, repr::constant_column(repr::Datum(to.element().typmod()), K::kInt4, 1),
             repr::constant_column(repr::Datum(true), K::kBool, 1)},
            to.element());
    }
    if (!errors.empty()) {
      out.append_null();
      note_error(call, {}, row, errors.entries.front().error, found);
      continue;
    }
    for (std::size_t i = 0; i < array.elements.size(); ++i) {
      array.elements[i] = elements->datum(i, to.element());
    }
    out.append(repr::Datum(std::make_shared<const repr::ArrayValue>(std::move(array))), to);
  }
  finish_errors(call, found);
  return out.finish();
}

// A column of any type as text.
repr::ColumnPtr as_text(KernelCall& call, std::size_t argument) {
  const repr::ColumnPtr& in = call.arguments[argument];
  const repr::SqlType& type = call.types[argument];
  if (type.kind() == K::kText) return in;
  const auto cast = find_cast(type, repr::SqlType(K::kText));
  if (cast.has_value() && cast->function == nullptr) return in;
  KernelCall inner{.arguments = {&in, 1}, .types = {&type, 1}, .result_type = repr::SqlType(K::kText),
                   .rows = in->size(), .errors = call.errors,
                   .kernel = cast.has_value() ? cast->function->kernel : call.kernel};
  return cast.has_value() ? inner.kernel->evaluate(inner) : print(inner);
}

// text || any, any || text
repr::ColumnPtr concatenate(KernelCall& call) {
  const repr::ColumnPtr left = as_text(call, 0);
  const repr::ColumnPtr right = as_text(call, 1);
  const Reader<View> a(*left, call.rows);
  const Reader<View> b(*right, call.rows);
  repr::BytesVector out;
  for (std::size_t row = 0; row < call.rows; ++row) {
    (out.buffer() += a[row]) += b[row];
    out.close();
  }
  return make_column(std::move(out), strict_validity(call));
}

bool is_text(K kind) {
  return kind == K::kText || kind == K::kVarchar || kind == K::kBpchar || kind == K::kName ||
         kind == K::kPgChar;
}
bool is_reg(K kind) { return kind == K::kRegclass || kind == K::kRegtype || kind == K::kRegproc; }

}  // namespace

void add_text_casts(FunctionTable& table) {
  add_among_texts(table);
  const auto read = whole([](KernelCall& call) { return parse(call); }, {.can_fail = true});
  for (const K kind : repr::all_type_kinds()) {
    if (is_text(kind) || is_reg(kind) || kind == K::kUnknown || kind == K::kRecord ||
        kind == K::kArray) {
      continue;
    }
    for (const K text : {K::kText, K::kVarchar, K::kBpchar}) {
      table.add_cast(kind, text, kAssignment, printer(kind));
      table.add_cast(text, kind, kExplicit, read);
    }
    table.add_cast(kind, K::kName, kAssignment, whole([](KernelCall& call) { return print(call); }));
    table.add_cast(K::kName, kind, kExplicit, read);
  }
  table.add_cast(A::kAnyArray, A::kAnyArray, kImplicit,
                 whole([](KernelCall& call) { return cast_array(call); }, {.can_fail = true}));
  table.add_cast(A::kAnyArray, K::kText, kAssignment, whole([](KernelCall& call) { return print(call); }));
  table.add_cast(K::kText, A::kAnyArray, kExplicit, read);
  const auto join = whole([](KernelCall& call) { return concatenate(call); });
  table.add_operator("||", {K::kText, A::kAnyNonArray}, K::kText, join);
  table.add_operator("||", {A::kAnyNonArray, K::kText}, K::kText, join);
}

}  // namespace freshet::expr
