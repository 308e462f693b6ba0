// SPDX-License-Identifier: Apache-2.0
#include "literal_safety.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <freshet/repr/datetime.h>

#include "regex.h"

namespace freshet::expr {
namespace {

using repr::Datum;
using repr::TypeKind;

constexpr std::array<std::string_view, 6> kLikes = {"~~", "!~~", "~~*", "!~~*", "like", "notlike"};
constexpr std::array<std::string_view, 4> kRegexOperators = {"~", "~*", "!~", "!~*"};
constexpr std::array<std::string_view, 6> kRegexFunctions = {"regexp_match",  "regexp_like", "regexp_count",
                                                             "regexp_substr", "substring",   "regexp_split_to_array"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

const Datum* literal_of(const Scalar& scalar) {
  const auto* literal = scalar.as<Scalar::Literal>();
  return literal == nullptr || literal->value.is_null() ? nullptr : &literal->value;
}

const std::string* text_of(const Scalar& scalar) {
  const Datum* value = scalar.type().type.kind() == TypeKind::kText ? literal_of(scalar) : nullptr;
  return value == nullptr ? nullptr : &value->get<std::string>();
}

std::optional<std::int64_t> integer_of(const Scalar& scalar) {
  const Datum* value = literal_of(scalar);
  if (value == nullptr) return std::nullopt;
  switch (scalar.type().type.kind()) {
    case TypeKind::kInt2: return value->get<std::int16_t>();
    case TypeKind::kInt4: return value->get<std::int32_t>();
    case TypeKind::kInt8: return value->get<std::int64_t>();
    default: return std::nullopt;
  }
}

bool is_integer(const Scalar& scalar) {
  const TypeKind kind = scalar.type().type.kind();
  return kind == TypeKind::kInt2 || kind == TypeKind::kInt4 || kind == TypeKind::kInt8;
}

// A backslash takes the next character; behind the last there is none.
bool is_sound_like(const std::string* pattern) {
  if (pattern == nullptr) return false;
  const std::size_t last = pattern->find_last_not_of('\\');
  const std::size_t backslashes = pattern->size() - (last == std::string::npos ? 0 : last + 1);
  return backslashes % 2 == 0;
}

bool is_sound_regex(const std::string* pattern, std::string_view flags) {
  return pattern != nullptr && Regex::compile(*pattern, flags).has_value();
}

bool is_field_of(const std::string* field, TypeKind type) {
  if (field == nullptr) return false;
  switch (type) {
    case TypeKind::kDate: return repr::extract_date(*field, 0).has_value();
    case TypeKind::kTime: return repr::extract_time(*field, 0).has_value();
    case TypeKind::kTimestamp: return repr::extract_timestamp(*field, 0).has_value();
    case TypeKind::kTimestampTz: {
      const repr::TimeZone utc;
      return repr::extract_timestamp(*field, 0, &utc).has_value();
    }
    case TypeKind::kInterval: return repr::extract_interval(*field, {}).has_value();
    default: return false;
  }
}

}  // namespace

bool is_safe_call(const FunctionSpec& function, std::span<const Scalar> arguments) {
  const std::string_view name = function.name;
  if (arguments.size() == 3) {
    if (name == "regexp_replace") return is_sound_regex(text_of(arguments[1]), "");
    return (name == "substr" || name == "substring") && integer_of(arguments[2]).value_or(-1) >= 0;
  }
  if (arguments.size() != 2) return false;
  if (name == "/" && is_integer(arguments[0])) {
    // The least integer divided by -1 is none.
    const std::int64_t divisor = integer_of(arguments[1]).value_or(0);
    return divisor != 0 && divisor != -1;
  }
  if ((name == "%" || name == "mod") && is_integer(arguments[0])) return integer_of(arguments[1]).value_or(0) != 0;
  if (is_one_of(kLikes, name)) return is_sound_like(text_of(arguments[1]));
  if (is_one_of(kRegexOperators, name)) return is_sound_regex(text_of(arguments[1]), name.ends_with('*') ? "i" : "");
  if (is_one_of(kRegexFunctions, name)) return is_sound_regex(text_of(arguments[1]), "");
  const TypeKind type = arguments[1].type().type.kind();
  // Not every date has a timestamp, by way of which date_part goes.
  if (name == "extract" || (name == "date_part" && type != TypeKind::kDate)) return is_field_of(text_of(arguments[0]), type);
  return false;
}

}  // namespace freshet::expr
