// SPDX-License-Identifier: Apache-2.0
#include "codec.h"

#include <freshet/base/sqlstate.h>

namespace freshet::sql {

Error corrupt(std::string_view what) {
  return {.code = ErrorCode::kCorrupt, .sqlstate = sqlstate::kDataCorrupted,
          .message = "stored plan is damaged: " + std::string(what)};
}

void FieldWriter::varint(std::uint64_t value) {
  while (value >= 0x80) {
    data_ += static_cast<char>(static_cast<unsigned char>(value) | 0x80U);
    value >>= 7;
  }
  data_ += static_cast<char>(value);
}

void FieldWriter::bytes(std::uint64_t number, std::string_view payload) {
  varint(number);
  varint(payload.size());
  data_ += payload;
}

void FieldWriter::integer(std::uint64_t number, std::uint64_t value) {
  FieldWriter inner;
  inner.varint(value);
  bytes(number, inner.data_);
}

Result<std::uint64_t> FieldReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (data_.empty()) return fail(corrupt("cut off"));
    const auto byte = static_cast<unsigned char>(data_.front());
    data_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  return fail(corrupt("a number is too long"));
}

Result<std::optional<Field>> FieldReader::next() {
  if (data_.empty()) return std::optional<Field>();
  Field field{};
  field.number = FRESHET_TRY(varint());
  const std::uint64_t length = FRESHET_TRY(varint());
  if (length > data_.size()) return fail(corrupt("a field is cut off"));
  field.payload = data_.substr(0, length);
  data_.remove_prefix(length);
  return std::optional<Field>(field);
}

Result<std::uint64_t> Field::integer() const {
  std::uint64_t value = 0;
  if (payload.empty() || payload.size() > 10) return fail(corrupt("not a number"));
  unsigned shift = 0;
  for (char c : payload) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(c) & 0x7FU) << shift;
    shift += 7;
  }
  return value;
}

}  // namespace freshet::sql
