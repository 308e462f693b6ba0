// SPDX-License-Identifier: Apache-2.0
// Compares with what PostgreSQL 15 answered; tests/golden.py wrote the files.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

#include <freshet/repr/datetime.h>
#include <freshet/repr/text.h>
#include <catch2/catch.hpp>

namespace freshet::repr {
namespace {

using Words = std::vector<std::string>;

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    const char c = text[++i];
    out.push_back(c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c);
  }
  return out;
}

std::string describe(const Error& error) {
  return "ERROR " + std::string(error.sqlstate.view()) + " " + error.message;
}

template <typename T, typename Show>
std::string show(const Result<T>& result, const Show& print) {
  return result ? print(*result) : describe(result.error());
}

std::string text_of(const Result<Numeric>& n) {
  return show(n, [](const Numeric& value) { return value.to_string(); });
}
std::string text_of(const Result<std::optional<Numeric>>& n) {
  return show(
      n, [](const std::optional<Numeric>& value) { return value ? value->to_string() : "NULL"; });
}
std::string text_of(const Result<Interval>& i) {
  return show(i, [](const Interval& value) { return to_text(Datum(value), TypeKind::kInterval); });
}
std::string timestamp_text(const Result<std::int64_t>& t) {
  return show(t, [](std::int64_t value) { return to_text(Datum(value), TypeKind::kTimestamp); });
}

template <typename T>
T value_of(const std::string& text, TypeKind kind) {
  return from_text(text, kind).value().get<T>();
}
Interval interval(const std::string& text) { return value_of<Interval>(text, TypeKind::kInterval); }
std::int64_t timestamp(const std::string& text) {
  return value_of<std::int64_t>(text, TypeKind::kTimestamp);
}
Numeric numeric(const std::string& text) { return Numeric::parse(text).value(); }

std::string input(const Words& w) {
  auto type = type_from_name(w[1]).value();
  if (w[2] != "-1") type = SqlType(type.kind(), std::stoi(w[2]));
  return show(from_text(w[3], type), [&type](const Datum& datum) { return to_text(datum, type); });
}

std::string send(const Words& w) {
  const auto type = type_from_name(w[1]).value();
  const auto datum = from_text(w[2], type);
  if (!datum) return describe(datum.error());
  const std::string bytes = to_binary(*datum, type);
  const auto back = from_binary(bytes, type);
  if (!back || !identical(*back, *datum, type)) return "does not come back";
  std::string hex;
  append_hex(hex, bytes);
  return hex.substr(2);
}

Result<std::int64_t> between_zones(const Words& w, bool to_utc) {
  const TimeZone zone = TimeZone::find(w[1]).value();
  return to_utc ? zone.to_utc(timestamp(w[2])) : zone.to_local(timestamp(w[2]));
}

std::string numeric_typmod_text(const Words& w) {
  const std::size_t comma = w[2].find(',');
  const NumericTypmod limits{std::stoi(w[2].substr(0, comma)), std::stoi(w[2].substr(comma + 1))};
  return text_of(numeric(w[1]).apply_typmod(make_numeric_typmod(limits)));
}

int sign(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

using Actions = std::map<std::string, std::function<std::string(const Words&)>>;

Actions numeric_actions() {
  Actions actions;
  const auto binary = [&actions](const char* name,
                                 Result<Numeric> (Numeric::*f)(const Numeric&) const) {
    actions[name] = [f](const Words& w) {
      const Numeric a = numeric(w[1]);
      return text_of((a.*f)(numeric(w[2])));
    };
  };
  binary("add", &Numeric::add);
  binary("subtract", &Numeric::subtract);
  binary("multiply", &Numeric::multiply);
  binary("divide", &Numeric::divide);
  binary("remainder", &Numeric::remainder);
  binary("power", &Numeric::power);
  actions["log"] = [](const Words& w) { return text_of(numeric(w[2]).log(numeric(w[1]))); };
  actions["sqrt"] = [](const Words& w) { return text_of(numeric(w[1]).sqrt()); };
  actions["exp"] = [](const Words& w) { return text_of(numeric(w[1]).exp()); };
  actions["ln"] = [](const Words& w) { return text_of(numeric(w[1]).ln()); };
  actions["round"] = [](const Words& w) {
    return numeric(w[1]).round(std::stoi(w[2])).to_string();
  };
  actions["truncate"] = [](const Words& w) {
    return numeric(w[1]).truncate(std::stoi(w[2])).to_string();
  };
  actions["ceil"] = [](const Words& w) { return numeric(w[1]).ceil().to_string(); };
  actions["floor"] = [](const Words& w) { return numeric(w[1]).floor().to_string(); };
  actions["trim_scale"] = [](const Words& w) { return numeric(w[1]).trim_scale().to_string(); };
  actions["min_scale"] = [](const Words& w) {
    return numeric(w[1]).is_finite() ? std::to_string(numeric(w[1]).min_scale()) : "NULL";
  };
  actions["float8"] = [](const Words& w) {
    return to_text(Datum(numeric(w[1]).to_double()), TypeKind::kFloat8);
  };
  actions["int8"] = [](const Words& w) {
    return show(numeric(w[1]).to_int64(), [](std::int64_t value) { return std::to_string(value); });
  };
  actions["compare"] = [](const Words& w) {
    return std::to_string(sign(numeric(w[1]) <=> numeric(w[2])));
  };
  actions["typmod"] = numeric_typmod_text;
  return actions;
}

Actions calendar_actions() {
  Actions actions;
  actions["extract"] = [](const Words& w) {
    return text_of(extract_timestamp(w[1], timestamp(w[2])));
  };
  actions["extract_date"] = [](const Words& w) {
    return text_of(extract_date(
        w[1], value_of<std::int32_t>(w[2].substr(0, w[2].find(' ')), TypeKind::kDate)));
  };
  actions["extract_interval"] = [](const Words& w) {
    return text_of(extract_interval(w[1], interval(w[2])));
  };
  actions["trunc"] = [](const Words& w) {
    return timestamp_text(truncate_timestamp(w[1], timestamp(w[2])));
  };
  actions["trunc_interval"] = [](const Words& w) {
    return text_of(truncate_interval(w[1], interval(w[2])));
  };
  actions["plus"] = [](const Words& w) {
    return timestamp_text(add_interval(timestamp(w[1]), interval(w[2])));
  };
  actions["minus"] = [](const Words& w) {
    return text_of(subtract_timestamps(timestamp(w[1]), timestamp(w[2])));
  };
  actions["age"] = [](const Words& w) { return text_of(age(timestamp(w[1]), timestamp(w[2]))); };
  actions["times"] = [](const Words& w) {
    return text_of(multiply(interval(w[1]), std::stod(w[2])));
  };
  actions["over"] = [](const Words& w) { return text_of(divide(interval(w[1]), std::stod(w[2]))); };
  actions["justify_hours"] = [](const Words& w) { return text_of(justify_hours(interval(w[1]))); };
  actions["justify_days"] = [](const Words& w) { return text_of(justify_days(interval(w[1]))); };
  actions["justify_interval"] = [](const Words& w) {
    return text_of(justify_interval(interval(w[1])));
  };
  actions["compare_interval"] = [](const Words& w) {
    return std::to_string(sign(interval_span(interval(w[1])) <=> interval_span(interval(w[2]))));
  };
  actions["to_utc"] = [](const Words& w) { return timestamp_text(between_zones(w, true)); };
  actions["to_local"] = [](const Words& w) { return timestamp_text(between_zones(w, false)); };
  return actions;
}

std::string folder() {
  const char* chosen = std::getenv("FRESHET_GOLDEN");
  return chosen != nullptr ? chosen : FRESHET_GOLDEN_DIR;
}

void check(const char* file, const Actions& actions) {
  std::ifstream in(folder() + "/" + file);
  REQUIRE(in.good());
  std::string line;
  int lines = 0;
  while (std::getline(in, line)) {
    Words words;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t tab = std::min(line.find('\t', at), line.size());
      words.push_back(unescape(std::string_view(line).substr(at, tab - at)));
      at = tab + 1;
    }
    INFO(line);
    const auto action = actions.find(words[0]);
    REQUIRE(action != actions.end());
    CHECK(action->second(words) == words.back());
    ++lines;
  }
  CHECK(lines > 100);
}

TEST_CASE("golden: numeric arithmetic is PostgreSQL's", "[repr][golden]") {
  check("numeric.tsv", numeric_actions());
}

TEST_CASE("golden: text in and out, and its errors, are PostgreSQL's", "[repr][golden]") {
  check("text.tsv", {{"in", input}});
}

TEST_CASE("golden: binary formats are PostgreSQL's", "[repr][golden]") {
  check("binary.tsv", {{"send", send}});
}

TEST_CASE("golden: calendar arithmetic is PostgreSQL's", "[repr][golden]") {
  check("calendar.tsv", calendar_actions());
}

}  // namespace
}  // namespace freshet::repr
