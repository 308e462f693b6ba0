// SPDX-License-Identifier: Apache-2.0
/// array_to_string and string_to_array.
#include <algorithm>
#include <string>

#include <freshet/repr/utf8.h>

#include "array_kernels.h"
#include "value_size.h"

namespace freshet::expr {
namespace {

using repr::Datum;
using View = std::string_view;

std::optional<std::string> text_at(const KernelCall& call, std::size_t argument, std::size_t row) {
  if (argument >= call.arguments.size()) return std::nullopt;
  const Datum datum = datum_at(call, argument, row);
  if (datum.is_null()) return std::nullopt;
  return datum.get<std::string>();
}

Result<Datum> to_string(const KernelCall& call, std::size_t row) {
  const Datum value = datum_at(call, 0, row);
  const auto separator = text_at(call, 1, row);
  if (value.is_null() || !separator.has_value()) return Datum();
  const auto null_text = text_at(call, 2, row);
  const ArrayValue& array = *value.get<std::shared_ptr<const ArrayValue>>();
  std::string out;
  bool any = false;
  for (const Datum& element : array.elements) {
    if (element.is_null() && !null_text.has_value()) continue;
    if (any) out += *separator;
    const std::string text = element.is_null() ? *null_text : repr::to_text(element, call.types[0].element());
    if (!fits_value(0, out.size() + text.size())) return too_large();
    out += text;
    any = true;
  }
  return Datum(std::move(out));
}

// How many parts there are, before the memory for them is taken.
std::size_t count_parts(View text, const std::optional<std::string>& separator) {
  if (!separator.has_value()) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
  }
  if (separator->empty()) return 1;
  std::size_t parts = 1;
  for (std::size_t at = text.find(*separator); at != View::npos; at = text.find(*separator, at + separator->size())) ++parts;
  return parts;
}

Result<Datum> from_string(const KernelCall& call, std::size_t row) {
  const auto text = text_at(call, 0, row);
  if (!text.has_value()) return Datum();
  const auto separator = text_at(call, 1, row);
  const auto null_text = text_at(call, 2, row);
  const std::size_t parts = count_parts(*text, separator);
  if (parts > kMostElements) return too_many_elements();
  if (8 * parts + text->size() > kMostValueBytes) return too_large();
  std::vector<Datum> out;
  out.reserve(parts);
  const auto push = [&](View part) {
    if (null_text.has_value() && part == *null_text) {
      out.emplace_back();
    } else {
      out.emplace_back(std::string(part));
    }
  };
  View rest = *text;
  if (rest.empty()) return array_datum({});
  if (!separator.has_value()) {  // NULL separator: every character
    while (!rest.empty()) {
      const std::size_t size = repr::utf8::sequence_length(rest[0]);
      push(rest.substr(0, size));
      rest.remove_prefix(size);
    }
  } else if (separator->empty()) {
    push(rest);
  } else {
    for (;;) {
      const std::size_t at = rest.find(*separator);
      push(rest.substr(0, at));
      if (at == View::npos) break;
      rest.remove_prefix(at + separator->size());
    }
  }
  return array_datum(one_dimension(std::move(out)));
}

}  // namespace

void add_array_texts(FunctionTable& table) {
  const auto print = whole([](KernelCall& call) {
    return each_row(call, false, [&](std::size_t row) { return to_string(call, row); });
  });
  const auto split = whole([](KernelCall& call) {
    return each_row(call, false, [&](std::size_t row) { return from_string(call, row); });
  });
  for (FunctionSpec* spec :
       {&table.add("array_to_string", {A::kAnyArray, K::kText}, K::kText, print),
        &table.add("array_to_string", {A::kAnyArray, K::kText, K::kText}, K::kText, print),
        &table.add("string_to_array", {K::kText, K::kText}, array(K::kText), split),
        &table.add("string_to_array", {K::kText, K::kText, K::kText}, array(K::kText), split)}) {
    spec->strict = false;
    spec->preserves_not_null = false;
  }
}

}  // namespace freshet::expr
