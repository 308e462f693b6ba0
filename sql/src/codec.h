// SPDX-License-Identifier: Apache-2.0
/// Tagged fields in bytes: (number, length, payload) each, so that a reader skips what it does not know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <freshet/base/result.h>

namespace freshet::sql {

class FieldWriter {
 public:
  void bytes(std::uint64_t number, std::string_view payload);
  void integer(std::uint64_t number, std::uint64_t value);
  /// As `integer`, but left out if zero.
  void non_zero(std::uint64_t number, std::uint64_t value) {
    if (value != 0) integer(number, value);
  }
  [[nodiscard]] const std::string& data() const { return data_; }

 private:
  void varint(std::uint64_t value);
  std::string data_;
};

struct Field {
  std::uint64_t number;
  std::string_view payload;
  [[nodiscard]] Result<std::uint64_t> integer() const;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view data) : data_(data) {}
  /// The next field; nullopt at the end. kCorrupt on bytes that cannot be.
  Result<std::optional<Field>> next();

 private:
  Result<std::uint64_t> varint();
  std::string_view data_;
};

Error corrupt(std::string_view what);

}  // namespace freshet::sql
