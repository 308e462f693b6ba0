// SPDX-License-Identifier: Apache-2.0
// What the files of text input and output share.
#pragma once

#include <string>
#include <string_view>

#include <freshet/repr/text.h>

namespace freshet::repr {

inline bool is_text_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

base::Unexpected invalid_syntax(std::string_view type, std::string_view text);
base::Unexpected value_out_of_range(std::string_view text, std::string_view type);

Result<bool> read_bool(std::string_view text);
Result<std::int64_t> read_integer(std::string_view text, std::int64_t low, std::int64_t high,
                                  std::string_view type);
Result<std::int64_t> read_oid(std::string_view text, TypeKind kind);
Result<float> read_float4(std::string_view text);
Result<double> read_float8(std::string_view text);
Result<std::string> read_bytea(std::string_view text);
Result<Uuid> read_uuid(std::string_view text);
/// text, varchar(n), char(n), name and "char".
Result<std::string> read_string(std::string_view text, const SqlType& type);
Result<ArrayValue> read_array(std::string_view text, const SqlType& type, const TextFormat& format);
Result<Interval> read_interval(std::string_view text, std::int32_t typmod);

void write_array(std::string& out, const ArrayValue& array, const SqlType& type,
                 const TextFormat& format);

/// 22001 unless only blanks are beyond the limit, or the cast is explicit.
Result<std::string> fit_string(std::string text, const SqlType& type, bool explicit_cast);

}  // namespace freshet::repr
