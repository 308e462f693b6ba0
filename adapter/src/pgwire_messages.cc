// SPDX-License-Identifier: Apache-2.0
#include "pgwire_messages.h"

#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/utf8.h>

#include "client_error.h"

namespace freshet::adapter {

void MessageWriter::begin(char type) {
  out_.push_back(type);
  start_ = out_.size();
  out_.append(4, '\0');
}

void MessageWriter::end() { put_length(start_, out_.size() - start_); }

void MessageWriter::put_length(std::size_t at, std::size_t length) {
  for (int i = 0; i < 4; ++i) {
    out_[at + static_cast<std::size_t>(i)] = static_cast<char>((length >> (24 - 8 * i)) & 0xff);
  }
}

void MessageWriter::int16(std::int16_t v) {
  const auto u = static_cast<std::uint16_t>(v);
  out_.push_back(static_cast<char>(u >> 8));
  out_.push_back(static_cast<char>(u & 0xff));
}

void MessageWriter::int32(std::int32_t v) {
  const std::size_t at = out_.size();
  out_.append(4, '\0');
  put_length(at, static_cast<std::uint32_t>(v));
}

void MessageWriter::fields(const Error& error, std::string_view severity) {
  auto field = [this](char code, std::string_view value) {
    out_.push_back(code);
    text(value);
  };
  field('S', severity);
  field('V', severity);
  field('C', error.sqlstate.view());
  field('M', error.message);
  if (!error.detail.empty()) field('D', error.detail);
  if (!error.hint.empty()) field('H', error.hint);
  if (error.position > 0) field('P', std::to_string(error.position));
  out_.push_back('\0');
}

void MessageWriter::error(const Error& error, std::string_view severity) {
  begin('E');
  fields(client_error(error), severity);
  end();
}

void MessageWriter::notice(const Notice& notice) {
  begin('N');
  fields(notice.error, notice.severity);
  end();
}

void MessageWriter::ready(TransactionStatus status) {
  begin('Z');
  int8(static_cast<std::int8_t>(status));
  end();
}

void MessageWriter::command_complete(std::string_view tag) {
  begin('C');
  text(tag);
  end();
}

void MessageWriter::parameter_status(std::string_view name, std::string_view value) {
  begin('S');
  text(name);
  text(value);
  end();
}

void MessageWriter::row_description(const repr::RelationDesc& desc, const Formats& formats) {
  begin('T');
  int16(static_cast<std::int16_t>(desc.arity()));
  for (std::size_t i = 0; i < desc.arity(); ++i) {
    const repr::SqlType& type = desc.type.columns[i].type;
    text(desc.names[i]);
    int32(0);
    int16(0);
    const bool array = type.kind() == repr::TypeKind::kArray;
    int32(static_cast<std::int32_t>(repr::type_oid(type)));
    int16(array ? std::int16_t{-1} : repr::type_info(type.kind()).length);
    int32(array ? type.element().typmod() : type.typmod());
    int16(format_of(formats, i));
  }
  end();
}

Error MessageReader::malformed() {
  return sql_error(sqlstate::kProtocolViolation, "invalid message format");
}

std::int8_t MessageReader::int8() {
  const std::string_view v = bytes(1);
  return v.empty() ? std::int8_t{0} : static_cast<std::int8_t>(v[0]);
}

std::int16_t MessageReader::int16() {
  const std::string_view v = bytes(2);
  if (v.size() < 2) return 0;
  return static_cast<std::int16_t>((static_cast<unsigned char>(v[0]) << 8) |
                                   static_cast<unsigned char>(v[1]));
}

std::int32_t MessageReader::int32() {
  const std::string_view v = bytes(4);
  if (v.size() < 4) return 0;
  std::uint32_t out = 0;
  for (const char c : v) out = (out << 8) | static_cast<unsigned char>(c);
  return static_cast<std::int32_t>(out);
}

std::string_view MessageReader::text() {
  const std::size_t end = in_.find('\0');
  if (end == std::string_view::npos) {
    ok_ = false;
    in_ = {};
    return {};
  }
  const std::string_view v = in_.substr(0, end);
  in_.remove_prefix(end + 1);
  return v;
}

std::string_view MessageReader::bytes(std::size_t size) {
  if (size > in_.size()) {
    ok_ = false;
    in_ = {};
    return {};
  }
  const std::string_view v = in_.substr(0, size);
  in_.remove_prefix(size);
  return v;
}

namespace {
Result<Formats> read_formats(MessageReader& in) {
  const std::int16_t count = in.int16();
  if (count < 0) return fail(MessageReader::malformed());
  Formats formats;
  for (std::int16_t i = 0; i < count && in.ok(); ++i) {
    formats.push_back(in.int16());
    if (formats.back() != 0 && formats.back() != 1) {
      return fail(sqlstate::kInvalidParameterValue,
                  "unsupported format code: " + std::to_string(formats.back()));
    }
  }
  return formats;
}
}  // namespace

Result<BindMessage> read_bind(std::string_view body) {
  MessageReader in(body);
  BindMessage bind;
  bind.portal = in.text();
  bind.statement = in.text();
  bind.parameter_formats = FRESHET_TRY(read_formats(in));
  const std::int16_t count = in.int16();
  for (std::int16_t i = 0; i < count && in.ok(); ++i) {
    const std::int32_t size = in.int32();
    if (size == -1) {
      bind.parameters.emplace_back();
    } else if (size < 0) {
      return fail(MessageReader::malformed());
    } else {
      bind.parameters.emplace_back(in.bytes(static_cast<std::size_t>(size)));
    }
  }
  bind.result_formats = FRESHET_TRY(read_formats(in));
  if (!in.at_end() || count < 0) return fail(MessageReader::malformed());
  return bind;
}

Result<repr::DatumRow> decode_parameters(const BindMessage& bind, const std::vector<repr::SqlType>& types,
                                         const std::string& time_zone) {
  if (bind.parameters.size() != types.size()) {
    return fail(sqlstate::kProtocolViolation,
                "bind message supplies " + std::to_string(bind.parameters.size()) +
                    " parameters, but prepared statement \"" + bind.statement + "\" requires " +
                    std::to_string(types.size()));
  }
  if (bind.parameter_formats.size() > 1 && bind.parameter_formats.size() != types.size()) {
    return fail(sqlstate::kProtocolViolation,
                "bind message has " + std::to_string(bind.parameter_formats.size()) +
                    " parameter formats but " + std::to_string(types.size()) + " parameters");
  }
  repr::DatumRow row;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!bind.parameters[i]) {
      row.emplace_back();
      continue;
    }
    repr::SqlType type = types[i].kind() == repr::TypeKind::kUnknown ? repr::TypeKind::kText : types[i];
    if (format_of(bind.parameter_formats, i) == 1) {
      auto value = repr::from_binary(*bind.parameters[i], type);
      if (!value) {
        Error error = value.error();
        if (error.message == "incorrect binary data format") {
          error.message += " in bind parameter " + std::to_string(i + 1);
        }
        return fail(std::move(error));
      }
      row.push_back(std::move(*value));
    } else {
      FRESHET_TRY(repr::utf8::validate(*bind.parameters[i]));
      row.push_back(FRESHET_TRY(repr::from_text(*bind.parameters[i], type, {.time_zone = time_zone})));
    }
  }
  return row;
}

}  // namespace freshet::adapter
