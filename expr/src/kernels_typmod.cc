// SPDX-License-Identifier: Apache-2.0
/// Applies type modifiers: lengths of varchar and char, precision of numeric, timestamps and intervals.
///
/// Arguments: value, int4 typmod, bool explicit. An explicit cast cuts text short, an assignment fails unless
/// only blanks are lost.
#include <string>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/datetime.h>
#include <freshet/repr/utf8.h>

#include "function_table.h"

namespace freshet::expr {
namespace {

namespace utf8 = repr::utf8;
using repr::Interval;
using repr::Numeric;
using View = std::string_view;

std::size_t limit(K kind, std::int32_t typmod) {
  const std::int32_t length = repr::typmod_length(repr::SqlType(kind, typmod));
  return length < 0 ? SIZE_MAX : static_cast<std::size_t>(length);
}

Result<View> clip(View text, std::size_t most, bool is_explicit, const char* type) {
  const std::size_t end = utf8::offset_of(text, most);
  if (!is_explicit && text.find_first_not_of(' ', end) != View::npos) {
    return fail(sqlstate::kStringDataRightTruncation, std::string("value too long for type ") + type +
                                                          "(" + std::to_string(most) + ")");
  }
  return text.substr(0, end);
}

std::int32_t precision(K kind, std::int32_t typmod) {
  return repr::typmod_precision(repr::SqlType(kind, typmod));
}

}  // namespace

void add_typmods(FunctionTable& table) {
  using I4 = std::int32_t;
  using I8 = std::int64_t;
  table.add_typmod(K::kNumeric, lift([](const Numeric& x, I4 typmod, bool) -> Result<Numeric> {
    return x.apply_typmod(typmod);
  }));
  table.add_typmod(K::kVarchar, lift([](std::string& out, View text, I4 typmod, bool cut) -> Result<void> {
    out += FRESHET_TRY(clip(text, limit(K::kVarchar, typmod), cut, "character varying"));
    return {};
  }));
  table.add_typmod(K::kBpchar, lift([](std::string& out, View text, I4 typmod, bool cut) -> Result<void> {
    const std::size_t most = limit(K::kBpchar, typmod);
    const View kept = FRESHET_TRY(clip(text, most, cut, "character"));
    out += kept;
    if (most != SIZE_MAX) out.append(most - utf8::length(kept), ' ');
    return {};
  }));
  table.add_typmod(K::kTimestamp, lift([](I8 x, I4 typmod, bool) -> I8 {
    return repr::round_timestamp(x, precision(K::kTimestamp, typmod));
  }));
  table.add_typmod(K::kTimestampTz, lift([](I8 x, I4 typmod, bool) -> I8 {
    return repr::round_timestamp(x, precision(K::kTimestampTz, typmod));
  }));
  table.add_typmod(K::kTime, lift([](I8 x, I4 typmod, bool) -> I8 {
    return repr::round_time(x, precision(K::kTime, typmod));
  }));
  table.add_typmod(K::kInterval, lift([](const Interval& x, I4 typmod, bool) -> Result<Interval> {
    return repr::apply_interval_typmod(x, typmod);
  }));
}

}  // namespace freshet::expr
