// SPDX-License-Identifier: Apache-2.0
/// Text and binary of many values: what the wire protocol and COPY use.
///
/// A `TextFormat` looks its time zone up once, writes straight out of columns and reads straight
/// into column builders; nothing is allocated for a value of fixed width.
///
///     TextFormat format({.time_zone = "Europe/Paris"});
///     format.write(out, *column, row, type);                     // appends
///     FRESHET_TRY(format.read("2024-02-29", type, builder));     // appends, or says what is wrong
#pragma once

#include <string>
#include <string_view>

#include <freshet/repr/chunk.h>
#include <freshet/repr/datetime.h>
#include <freshet/repr/datum.h>

namespace freshet::repr {

class TextFormat {
 public:
  /// A zone that does not exist counts as UTC; whoever sets one checks it before.
  explicit TextFormat(const TextOptions& options = {});

  /// Appends the text of a value that is not NULL.
  void write(std::string& out, const Datum& datum, const SqlType& type) const;
  void write(std::string& out, const Column& column, std::size_t row, const SqlType& type) const;

  [[nodiscard]] Result<Datum> read(std::string_view text, const SqlType& type) const;
  [[nodiscard]] Result<void> read(std::string_view text, const SqlType& type,
                                  ColumnBuilder& out) const;

  [[nodiscard]] const TimeZone& zone() const { return zone_; }
  [[nodiscard]] std::int32_t extra_float_digits() const { return extra_float_digits_; }

 private:
  std::int32_t extra_float_digits_;
  TimeZone zone_{};
};

/// Appends the binary format of a value that is not NULL (without its length).
void write_binary(std::string& out, const Datum& datum, const SqlType& type);
void write_binary(std::string& out, const Column& column, std::size_t row, const SqlType& type);

/// As a cast to a type with a modifier does, and as input functions do: `explicit_cast` cuts
/// strings that are too long, otherwise they are 22001 unless only blanks are lost. NULL and types
/// without modifier pass.
Result<Datum> apply_typmod(Datum datum, const SqlType& type, bool explicit_cast);

/// Floats alone, as their output functions print them.
void append_float(std::string& out, float value, std::int32_t extra_float_digits = 1);
void append_float(std::string& out, double value, std::int32_t extra_float_digits = 1);
/// bytea as hex: "\\x0102".
void append_hex(std::string& out, std::string_view bytes);

}  // namespace freshet::repr
