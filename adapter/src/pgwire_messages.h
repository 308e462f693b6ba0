// SPDX-License-Identifier: Apache-2.0
/// The messages of the protocol as bytes: writing what the server sends, reading what clients send.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/adapter/session.h>
#include <freshet/base/result.h>

namespace freshet::adapter {

/// Text (0) or binary (1) for each column; empty: all text, one entry: for all.
using Formats = std::vector<std::int16_t>;
inline std::int16_t format_of(const Formats& formats, std::size_t column) {
  if (formats.empty()) return 0;
  return formats.size() == 1 ? formats[0] : formats[column];
}

/// Collects messages to send.
class MessageWriter {
 public:
  /// Starts a message; it ends when the next begins, or at `take`.
  void begin(char type);
  void end();
  void int8(std::int8_t v) { out_.push_back(static_cast<char>(v)); }
  void int16(std::int16_t v);
  void int32(std::int32_t v);
  void text(std::string_view v) {
    out_.append(v);
    out_.push_back('\0');
  }
  void bytes(std::string_view v) { out_.append(v); }
  /// A value with its length before it, written in place by `write(std::string&)`.
  template <typename Write>
  void value(Write write) {
    const std::size_t at = out_.size();
    out_.append(4, '\0');
    write(out_);
    put_length(at, out_.size() - at - 4);
  }
  [[nodiscard]] std::size_t size() const { return out_.size(); }
  std::string take() {
    std::string taken = std::move(out_);
    out_.clear();
    return taken;
  }

  void error(const Error& error, std::string_view severity);
  void notice(const Notice& notice);
  void ready(TransactionStatus status);
  void command_complete(std::string_view tag);
  void row_description(const repr::RelationDesc& desc, const Formats& formats);
  void parameter_status(std::string_view name, std::string_view value);
  void simple(char type) {
    begin(type);
    end();
  }

 private:
  void fields(const Error& error, std::string_view severity);
  void put_length(std::size_t at, std::size_t length);
  std::string out_;
  std::size_t start_ = 0;
};

/// Reads the body of one message. Sticky-bad like ByteReader.
class MessageReader {
 public:
  explicit MessageReader(std::string_view body) : in_(body) {}
  std::int8_t int8();
  std::int16_t int16();
  std::int32_t int32();
  /// Up to the terminating zero.
  std::string_view text();
  std::string_view bytes(std::size_t size);
  [[nodiscard]] std::string_view rest() const { return in_; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && in_.empty(); }
  static Error malformed() ;

 private:
  std::string_view in_;
  bool ok_ = true;
};

struct BindMessage {
  std::string portal;
  std::string statement;
  Formats parameter_formats;
  std::vector<std::optional<std::string_view>> parameters;
  Formats result_formats;
};
Result<BindMessage> read_bind(std::string_view body);

/// What the parameters of a Bind mean, given their types.
Result<repr::DatumRow> decode_parameters(const BindMessage& bind, const std::vector<repr::SqlType>& types,
                                         const std::string& time_zone);

}  // namespace freshet::adapter
