// SPDX-License-Identifier: Apache-2.0
/// Regular expression operators and functions. A pattern is compiled once for a run of equal ones.
#include <algorithm>
#include <optional>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/table_rows.h>
#include <freshet/repr/utf8.h>

#include "array_kernels.h"
#include "regex.h"

namespace freshet::expr {
namespace {

using repr::Datum;
using View = std::string_view;

// The compiled form of the last pattern seen.
class Compiled {
 public:
  const Result<Regex>& get(View pattern, View flags) {
    if (!regex_.has_value() || pattern != pattern_ || flags != flags_) {
      pattern_ = pattern;
      flags_ = flags;
      regex_.emplace(Regex::compile(pattern, flags));
    }
    return *regex_;
  }

 private:
  std::string pattern_;
  std::string flags_;
  std::optional<Result<Regex>> regex_;
};

template <bool fold, bool negated>
repr::ColumnPtr match(KernelCall& call) {
  const Reader<View> texts(*call.arguments[0], call.rows);
  const Reader<View> patterns(*call.arguments[1], call.rows);
  std::vector<std::uint8_t> out(call.rows);
  auto validity = strict_validity(call);
  RowErrors found;
  Compiled compiled;
  for (std::size_t row = 0; row < call.rows; ++row) {
    if (!validity.empty() && validity[row] == 0) continue;
    const Result<Regex>& regex = compiled.get(patterns[row], fold ? "i" : "");
    if (regex.has_value()) {
      out[row] = regex.value().matches(texts[row]) != negated ? 1 : 0;
    } else {
      note_error(call, validity, row, regex.error(), found);
    }
  }
  finish_errors(call, found);
  return make_column(std::move(out), std::move(validity));
}

template <bool fold, bool negated>
void add_operator(FunctionTable& table, std::string_view name) {
  static constexpr ScalarKernel kernel{&match<fold, negated>};
  for (const K kind : {K::kText, K::kBpchar, K::kName}) {
    table.add_operator(name, {kind, K::kText}, K::kBool, {&kernel, true, false});
  }
}

// Where to look for the next match after one.
std::size_t after(View text, const Regex::Match& match) {
  if (match.end > match.begin) return match.end;
  return match.end + (match.end < text.size() ? repr::utf8::sequence_length(text[match.end]) : 1);
}

template <typename F>
void each_match(const Regex& regex, View text, bool all, F f) {
  Regex::Match match;
  for (std::size_t from = 0; from <= text.size() && regex.find(text, from, match);) {
    if constexpr (std::is_same_v<decltype(f(match)), bool>) {
      if (!f(match)) return;
    } else {
      f(match);
    }
    if (!all) return;
    from = after(text, match);
  }
}

// What the replacement of a match takes at most.
std::size_t replacement_size(View replacement, const Regex::Match& match) {
  const auto references = static_cast<std::size_t>(std::ranges::count(replacement, '\\'));
  return replacement.size() + references * (match.end - match.begin);
}

// regexp_replace's \1 … \9, \& and \\.
void append_replacement(std::string& out, View replacement, View text, const Regex::Match& match) {
  for (std::size_t i = 0; i < replacement.size(); ++i) {
    if (replacement[i] != '\\' || i + 1 == replacement.size()) {
      const std::size_t end = std::min(replacement.find('\\', i + 1), replacement.size());
      out += replacement.substr(i, end - i);
      i = end - 1;
      continue;
    }
    const char c = replacement[++i];
    if (c == '&') {
      out += text.substr(match.begin, match.end - match.begin);
    } else if (c >= '1' && c <= '9') {
      const auto group = static_cast<std::size_t>(c - '1');
      if (group < match.groups.size()) out += match.groups[group];
    } else if (c == '\\') {
      out += c;
    } else {
      (out += '\\') += c;
    }
  }
}

Result<Datum> replace(const Regex& regex, View text, View replacement, bool all) {
  std::string out;
  bool fits = true;
  std::size_t copied = 0;
  each_match(regex, text, all, [&](const Regex::Match& found) {
    out += text.substr(copied, found.begin - copied);
    fits = fits_value(0, out.size() + replacement_size(replacement, found));
    if (!fits) return false;
    append_replacement(out, replacement, text, found);
    copied = found.end;
    return true;
  });
  if (!fits) return too_large();
  out += text.substr(copied);
  return Datum(std::move(out));
}

// Takes g out of the flags.
bool take_global(std::string& flags) { return std::erase(flags, 'g') > 0; }

Datum groups_of(View text, const Regex::Match& match) {
  std::vector<Datum> out;
  if (match.groups.empty()) {
    out.emplace_back(std::string(text.substr(match.begin, match.end - match.begin)));
  }
  for (const View group : match.groups) {
    if (group.data() == nullptr) {
      out.emplace_back();
    } else {
      out.emplace_back(std::string(group));
    }
  }
  return array_datum(one_dimension(std::move(out)));
}

// Kernels of (text, pattern[, …]): f(regex, texts of all arguments) gives a datum. `flags_at` is the place of
// the flags if there are any.
template <typename F>
Lifted of_pattern(F, bool may_be_null) {
  return whole([](KernelCall& call) {
    Compiled compiled;
    std::vector<std::string> texts(call.arguments.size());
    return each_row(call, true, [&](std::size_t row) -> Result<Datum> {
      for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = datum_at(call, i, row).get<std::string>();
      return F{}(compiled, texts);
    });
  }, {.can_fail = true, .may_be_null = may_be_null});
}

using Texts = std::vector<std::string>;

Result<Datum> regexp_replace(Compiled& compiled, const Texts& t) {
  std::string flags = t.size() > 3 ? t[3] : "";
  if (!flags.empty() && flags[0] >= '0' && flags[0] <= '9') {
    Error error = sql_error(sqlstate::kInvalidParameterValue,
                            "invalid regular expression option: \"" + flags.substr(0, 1) + "\"");
    error.hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.";
    return fail(std::move(error));
  }
  const bool all = take_global(flags);
  const Result<Regex>& regex = compiled.get(t[1], flags);
  if (!regex.has_value()) return fail(regex.error());
  return replace(regex.value(), t[0], t[2], all);
}

Result<Datum> regexp_match(Compiled& compiled, const Texts& t) {
  std::string flags = t.size() > 2 ? t[2] : "";
  if (take_global(flags)) {
    Error error = sql_error(sqlstate::kInvalidParameterValue,
                            "regexp_match() does not support the \"global\" option");
    error.hint = "Use the regexp_matches function instead.";
    return fail(std::move(error));
  }
  const Result<Regex>& regex = compiled.get(t[1], flags);
  if (!regex.has_value()) return fail(regex.error());
  Datum out;
  each_match(regex.value(), t[0], false, [&](const Regex::Match& m) { out = groups_of(t[0], m); });
  return out;
}

Result<Datum> regexp_like(Compiled& compiled, const Texts& t) {
  std::string flags = t.size() > 2 ? t[2] : "";
  if (take_global(flags)) {
    return fail(sqlstate::kInvalidParameterValue, "regexp_like() does not support the \"global\" option");
  }
  const Result<Regex>& regex = compiled.get(t[1], flags);
  if (!regex.has_value()) return fail(regex.error());
  return Datum(regex.value().matches(t[0]));
}

Result<Datum> regexp_count(Compiled& compiled, const Texts& t) {
  const Result<Regex>& regex = compiled.get(t[1], "");
  if (!regex.has_value()) return fail(regex.error());
  std::int32_t count = 0;
  each_match(regex.value(), t[0], true, [&](const Regex::Match&) { ++count; });
  return Datum(count);
}

Result<Datum> regexp_substr(Compiled& compiled, const Texts& t) {
  const Result<Regex>& regex = compiled.get(t[1], "");
  if (!regex.has_value()) return fail(regex.error());
  Datum out;
  each_match(regex.value(), t[0], false, [&](const Regex::Match& m) {
    out = Datum(t[0].substr(m.begin, m.end - m.begin));
  });
  return out;
}

// substring(text from pattern): the first group if there is one, else the match.
Result<Datum> substring(Compiled& compiled, const Texts& t) {
  const Result<Regex>& regex = compiled.get(t[1], "");
  if (!regex.has_value()) return fail(regex.error());
  Datum out;
  each_match(regex.value(), t[0], false, [&](const Regex::Match& m) {
    if (m.groups.empty()) {
      out = Datum(t[0].substr(m.begin, m.end - m.begin));
    } else if (m.groups[0].data() != nullptr) {
      out = Datum(std::string(m.groups[0]));
    }
  });
  return out;
}

// The piece that begins at `at`, which moves behind the match that ends it, or to nothing after the last piece. An
// empty match at the start, the end or right behind a match splits nothing.
View next_piece(const Regex& regex, View text, std::optional<std::size_t>& at) {
  const std::size_t begin = *at;
  Regex::Match match;
  for (std::size_t from = begin; from <= text.size() && regex.find(text, from, match); from = after(text, match)) {
    if (match.begin == match.end && (match.begin == begin || match.begin == text.size())) continue;
    at = match.end;
    return text.substr(begin, match.begin - begin);
  }
  at.reset();
  return text.substr(begin);
}

Result<void> check_split_flags(std::string& flags, const char* function) {
  if (!take_global(flags)) return {};
  return fail(sqlstate::kInvalidParameterValue, std::string(function) + "() does not support the \"global\" option");
}

Result<Datum> split_to_array(Compiled& compiled, const Texts& t) {
  std::string flags = t.size() > 2 ? t[2] : "";
  FRESHET_TRY(check_split_flags(flags, "regexp_split_to_array"));
  const Result<Regex>& regex = compiled.get(t[1], flags);
  if (!regex.has_value()) return fail(regex.error());
  std::vector<Datum> out;
  for (std::optional<std::size_t> at = 0; at;) out.emplace_back(std::string(next_piece(regex.value(), t[0], at)));
  return array_datum(one_dimension(std::move(out)));
}

// Of the table functions: the text, without a copy, and where in it they go on.
View text_of(const repr::DatumRow& arguments) { return arguments[0].get<std::string>(); }
std::string flags_of(const repr::DatumRow& arguments) {
  return arguments.size() > 2 ? arguments[2].get<std::string>() : std::string();
}
std::size_t place_of(const TableRowsCursor& cursor) {
  return cursor.next.is_null() ? 0 : static_cast<std::size_t>(cursor.next.get<std::int64_t>());
}

Result<void> split_to_table(const repr::DatumRow& arguments, std::span<const repr::SqlType>, TableRowsCursor& cursor,
                            std::size_t most, std::vector<repr::DatumRow>& out) {
  std::string flags = flags_of(arguments);
  FRESHET_TRY(check_split_flags(flags, "regexp_split_to_table"));
  const Regex regex = FRESHET_TRY(Regex::compile(arguments[1].get<std::string>(), flags));
  std::optional<std::size_t> at = place_of(cursor);
  for (std::size_t rows = 0; rows < most && at; ++rows) {
    out.push_back({Datum(std::string(next_piece(regex, text_of(arguments), at)))});
  }
  cursor.done = !at;
  if (at) cursor.next = Datum(static_cast<std::int64_t>(*at));
  return {};
}

Result<void> all_matches(const repr::DatumRow& arguments, std::span<const repr::SqlType>, TableRowsCursor& cursor,
                         std::size_t most, std::vector<repr::DatumRow>& out) {
  const View text = text_of(arguments);
  std::string flags = flags_of(arguments);
  const bool all = take_global(flags);
  const Regex regex = FRESHET_TRY(Regex::compile(arguments[1].get<std::string>(), flags));
  std::size_t from = place_of(cursor);
  Regex::Match match;
  for (std::size_t rows = 0; rows < most; ++rows) {
    if (from > text.size() || !regex.find(text, from, match)) {
      cursor.done = true;
      return {};
    }
    out.push_back({groups_of(text, match)});
    from = after(text, match);
    if (!all) from = text.size() + 1;
  }
  cursor.next = Datum(static_cast<std::int64_t>(from));
  return {};
}

void add_table_function(FunctionTable& table, const char* name, int arguments,
                        decltype(TableFunctionSpec::next) next,
                        decltype(TableFunctionSpec::result_types) types) {
  TableFunctionSpec spec{};
  spec.name = name;
  for (int i = 0; i < arguments; ++i) spec.arguments.push_back(Arg(K::kText).type);
  spec.can_fail = true;
  spec.next = next;
  spec.result_types = types;
  spec.result_names = {name};
  table.add_table_function(std::move(spec));
}

std::vector<repr::ColumnType> text_column(std::span<const repr::SqlType>) {
  return {{repr::SqlType(K::kText), false}};
}
std::vector<repr::ColumnType> text_array_column(std::span<const repr::SqlType>) {
  return {{repr::SqlType::array_of(repr::SqlType(K::kText)), false}};
}

}  // namespace

void add_regular_expressions(FunctionTable& table) {
  constexpr K t = K::kText;
  add_operator<false, false>(table, "~");
  add_operator<true, false>(table, "~*");
  add_operator<false, true>(table, "!~");
  add_operator<true, true>(table, "!~*");
  const auto replacer = of_pattern([](Compiled& c, const Texts& x) { return regexp_replace(c, x); }, false);
  table.add("regexp_replace", {t, t, t}, t, replacer);
  table.add("regexp_replace", {t, t, t, t}, t, replacer);
  const auto matcher = of_pattern([](Compiled& c, const Texts& x) { return regexp_match(c, x); }, true);
  table.add("regexp_match", {t, t}, array(t), matcher);
  table.add("regexp_match", {t, t, t}, array(t), matcher);
  const auto like = of_pattern([](Compiled& c, const Texts& x) { return regexp_like(c, x); }, false);
  table.add("regexp_like", {t, t}, K::kBool, like);
  table.add("regexp_like", {t, t, t}, K::kBool, like);
  table.add("regexp_count", {t, t}, K::kInt4,
            of_pattern([](Compiled& c, const Texts& x) { return regexp_count(c, x); }, false));
  table.add("regexp_substr", {t, t}, t,
            of_pattern([](Compiled& c, const Texts& x) { return regexp_substr(c, x); }, true));
  table.add("substring", {t, t}, t,
            of_pattern([](Compiled& c, const Texts& x) { return substring(c, x); }, true));
  const auto splitter = of_pattern([](Compiled& c, const Texts& x) { return split_to_array(c, x); }, false);
  table.add("regexp_split_to_array", {t, t}, array(t), splitter);
  table.add("regexp_split_to_array", {t, t, t}, array(t), splitter);
}

void add_regex_table_functions(FunctionTable& table) {
  for (const int arguments : {2, 3}) {
    add_table_function(table, "regexp_split_to_table", arguments, &split_to_table, &text_column);
    add_table_function(table, "regexp_matches", arguments, &all_matches, &text_array_column);
  }
}

}  // namespace freshet::expr
