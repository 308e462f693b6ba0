// SPDX-License-Identifier: Apache-2.0
/// Tagged fields in bytes, the form of what is stored for long: (number, length, payload) each, so that a reader
/// skips what it does not know. Lengths and integers are the varints of bytes.h.
///
///     FieldWriter out;
///     out.integer(1, 42);
///     out.bytes(2, "name");
///     FieldReader in(out.data());
///     while (auto field = FRESHET_TRY(in.next())) { switch (field->number) { … } }
///
/// Errors: kCorrupt with SQLSTATE XX001 on bytes that no writer wrote.
#pragma once

#include <cstdint>
#include <optional>

#include <freshet/base/bytes.h>
#include <freshet/base/result.h>

namespace freshet::base {

/// The enumerator with that number, if it lies between the two: an enumeration without gaps.
template <typename Enum>
std::optional<Enum> enumerator(std::uint64_t number, Enum first, Enum last) {
  if (number < static_cast<std::uint64_t>(first) || number > static_cast<std::uint64_t>(last)) return std::nullopt;
  return static_cast<Enum>(number);
}
/// One byte as an enumerator; the reader turns bad if it is none, and `first` is returned.
template <typename Enum>
Enum read_enumerator(ByteReader& in, Enum first, Enum last) {
  const std::optional<Enum> value = enumerator(in.u8(), first, last);
  if (!value) in.bad();
  return value.value_or(first);
}

class FieldWriter {
 public:
  void bytes(std::uint64_t number, BytesView payload) {
    out_.varint(number);
    out_.bytes(payload);
  }
  void integer(std::uint64_t number, std::uint64_t value) {
    ByteWriter payload;
    payload.varint(value);
    bytes(number, payload.view());
  }
  /// As `integer`, but left out if zero.
  void non_zero(std::uint64_t number, std::uint64_t value) {
    if (value != 0) integer(number, value);
  }
  [[nodiscard]] const Bytes& data() const { return out_.view(); }
  Bytes take() { return out_.take(); }

 private:
  ByteWriter out_;
};

struct Field {
  std::uint64_t number;
  BytesView payload;

  [[nodiscard]] Result<std::uint64_t> integer() const;
  template <typename Enum>
  [[nodiscard]] Result<Enum> enumerator(Enum first, Enum last) const {
    const std::uint64_t value = FRESHET_TRY(integer());
    const std::optional<Enum> known = base::enumerator(value, first, last);
    if (!known) return unknown(value);
    return *known;
  }

 private:
  [[nodiscard]] Unexpected unknown(std::uint64_t value) const;
};

class FieldReader {
 public:
  explicit FieldReader(BytesView data) : in_(data) {}
  /// The next field; nullopt at the end.
  Result<std::optional<Field>> next();

 private:
  ByteReader in_;
};

}  // namespace freshet::base
