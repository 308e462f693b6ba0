// SPDX-License-Identifier: Apache-2.0
/// Raw bytes, and the writer and reader of the project's little binary formats.
/// Integers are written little-endian or as LEB128 varints; a reader never reads past its end and
/// turns sticky-bad instead, so a decoder checks once, at its end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace freshet::base {

using Bytes = std::string;           ///< Owned bytes.
using BytesView = std::string_view;  ///< Borrowed bytes.

class ByteWriter {
 public:
  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void u32(std::uint32_t v) { fixed(v); }
  void u64(std::uint64_t v) { fixed(v); }
  void i64(std::int64_t v) { fixed(static_cast<std::uint64_t>(v)); }
  void f64(double v) { fixed(std::bit_cast<std::uint64_t>(v)); }
  void boolean(bool v) { u8(v ? 1 : 0); }
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) u8(static_cast<std::uint8_t>(v | 0x80));
    u8(static_cast<std::uint8_t>(v));
  }
  /// Zigzag, so that small negative numbers are short.
  void svarint(std::int64_t v) {
    varint((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
  }
  void bytes(BytesView v) {
    varint(v.size());
    out_.append(v);
  }
  void raw(BytesView v) { out_.append(v); }
  [[nodiscard]] std::size_t size() const { return out_.size(); }
  [[nodiscard]] const Bytes& view() const { return out_; }
  Bytes take() { return std::move(out_); }

 private:
  template <typename T>
  void fixed(T v) {
    static_assert(std::endian::native == std::endian::little);
    out_.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  Bytes out_;
};

class ByteReader {
 public:
  explicit ByteReader(BytesView in) : in_(in) {}
  std::uint8_t u8() {
    if (in_.empty()) return bad(), std::uint8_t{0};
    const auto v = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    return v;
  }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  double f64() { return std::bit_cast<double>(u64()); }
  bool boolean() {
    const std::uint8_t v = u8();
    if (v > 1) bad();
    return v == 1;
  }
  std::uint64_t varint() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return v;
    }
    return bad(), std::uint64_t{0};
  }
  std::int64_t svarint() {
    const std::uint64_t v = varint();
    return static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1));
  }
  /// A view into the input; empty if it is too short.
  BytesView bytes() { return raw(varint()); }
  BytesView raw(std::uint64_t size) {
    if (size > in_.size()) return bad(), BytesView{};
    const BytesView v = in_.substr(0, size);
    in_.remove_prefix(size);
    return v;
  }
  void bad() {
    ok_ = false;
    in_ = {};
  }
  /// False once a read went past the end or a value was impossible.
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return in_.empty(); }
  [[nodiscard]] std::size_t remaining() const { return in_.size(); }

 private:
  template <typename T>
  T fixed() {
    if (in_.size() < sizeof(T)) return bad(), T{0};
    T v;
    std::memcpy(&v, in_.data(), sizeof v);
    in_.remove_prefix(sizeof v);
    return v;
  }
  BytesView in_;
  bool ok_ = true;
};

}  // namespace freshet::base
