// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "case_map.h"
#include "function_table.h"
#include "like.h"

namespace freshet::expr {
namespace {

using View = std::string_view;

struct LikeTraits {
  bool negated;
  bool fold;   // ILIKE
  bool bytes;
  bool blanks = false;
};

std::string folded(View text) {
  std::string out;
  append_lower(out, text);
  return out;
}

template <LikeTraits traits>
repr::ColumnPtr like(KernelCall& call) {
  const Reader<View> texts(*call.arguments[0], call.rows);
  const Reader<View> patterns(*call.arguments[1], call.rows);
  std::vector<std::uint8_t> out(call.rows);
  auto validity = strict_validity(call);
  RowErrors found;
  std::optional<LikePattern> pattern;
  std::string scratch;
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (!validity.empty() && validity[row] == 0) continue;
    if (!pattern.has_value() || !patterns.is_constant()) {
      const View written = patterns[row];
      pattern.emplace(traits.fold ? View(folded(written)) : written, traits.bytes);
    }
    View text = texts[row];
    if constexpr (traits.fold) {
      scratch.clear();
      append_lower(scratch, text);
      text = scratch;
    }
    if (pattern->is_simple()) {
      out[row] = pattern->matches_simple(text) != traits.negated ? 1 : 0;
      continue;
    }
    Result<bool> result = pattern->matches(text);
    if (result.has_value()) {
      out[row] = *result != traits.negated ? 1 : 0;
    } else {
      note_error(call, validity, row, std::move(result).error(), found);
    }
  }
  finish_errors(call, found);
  return make_column(std::move(out), std::move(validity));
}

template <LikeTraits traits>
Lifted lifted() {
  static constexpr ScalarKernel kernel{&like<traits>};
  return {&kernel, true, false};
}

}  // namespace

void add_patterns(FunctionTable& table) {
  for (const K kind : {K::kText, K::kBpchar, K::kName}) {
    const Arg left(kind);
    table.add_operator("~~", {left, K::kText}, K::kBool, lifted<LikeTraits{false, false, false}>());
    table.add_operator("!~~", {left, K::kText}, K::kBool, lifted<LikeTraits{true, false, false}>());
    table.add_operator("~~*", {left, K::kText}, K::kBool, lifted<LikeTraits{false, true, false}>());
    table.add_operator("!~~*", {left, K::kText}, K::kBool, lifted<LikeTraits{true, true, false}>());
  }
  table.add_operator("~~", {K::kBytea, K::kBytea}, K::kBool, lifted<LikeTraits{false, false, true}>());
  table.add_operator("!~~", {K::kBytea, K::kBytea}, K::kBool, lifted<LikeTraits{true, false, true}>());
  table.add("like", {K::kText, K::kText}, K::kBool, lifted<LikeTraits{false, false, false}>());
  table.add("notlike", {K::kText, K::kText}, K::kBool, lifted<LikeTraits{true, false, false}>());
  const auto escape = lift([](std::string& out, View pattern, View character) -> Result<void> {
    out += FRESHET_TRY(like_escape(pattern, character));
    return {};
  });
  table.add("like_escape", {K::kText, K::kText}, K::kText, escape);
  table.add("like_escape", {K::kBytea, K::kBytea}, K::kBytea, escape);
}

}  // namespace freshet::expr
