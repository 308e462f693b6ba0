// SPDX-License-Identifier: Apache-2.0
// Rows to columns. `RowDecoder` keeps one step for each column of the row: what to read, and the
// vector that the value goes to, if it is wanted.
#include <freshet/repr/row.h>

#include "key_codec.h"

namespace freshet::repr {
namespace {

using key::Cursor;
using Step = RowDecoder::Step;

template <typename T>
std::vector<T>& target(const Step& step) {
  return *static_cast<std::vector<T>*>(step.values);
}

template <typename T>
bool read_integer(Cursor& in, const Step& step) {
  std::int64_t value;
  if (!key::get_int(in, value)) return false;
  target<T>(step).push_back(static_cast<T>(value));
  return sizeof(T) == 8 || value == static_cast<T>(value);
}

template <typename T>
bool read_float(Cursor& in, const Step& step) {
  T value;
  if (!key::get_float(in, value)) return false;
  target<T>(step).push_back(value);
  return true;
}

bool read_bool(Cursor& in, const Step& step) {
  const unsigned value = *in.at - unsigned{key::kFalse};
  target<std::uint8_t>(step).push_back(static_cast<std::uint8_t>(value));
  ++in.at;
  return value <= 1;
}

bool read_numeric(Cursor& in, const Step& step) {
  return key::get_numeric(in, target<Numeric>(step).emplace_back());
}

bool read_interval(Cursor& in, const Step& step) {
  Int128 span;
  if (!key::get_interval(in, span)) return false;
  target<Interval>(step).push_back(key::default_parts(span));
  return true;
}

bool read_bytes(Cursor& in, const Step& step) {
  auto& out = *static_cast<BytesVector*>(step.values);
  switch (step.type->kind()) {
    case TypeKind::kBytea:
      if (!key::get_bytea(in, out.buffer())) return false;
      out.close();
      return true;
    case TypeKind::kArray: {
      // The column keeps the bytes as they are; checked here so that nobody meets bad ones later.
      const auto* begin = reinterpret_cast<const char*>(in.at);
      Datum ignored;
      if (!key::get_key(in, *step.type, ignored)) return false;
      out.push_back(
          {begin, static_cast<std::size_t>(reinterpret_cast<const char*>(in.at) - begin)});
      return true;
    }
    default: {
      std::string_view text;
      if (!key::get_text(in, text)) return false;
      out.push_back(text);
      return true;
    }
  }
}

// Reads the value under the cursor, which is not NULL.
inline bool read_value(Cursor& in, const Step& step) {
  switch (step.physical) {
    case PhysicalType::kBool:
      return read_bool(in, step);
    case PhysicalType::kInt16:
      return read_integer<std::int16_t>(in, step);
    case PhysicalType::kInt32:
      return read_integer<std::int32_t>(in, step);
    case PhysicalType::kInt64:
      return read_integer<std::int64_t>(in, step);
    case PhysicalType::kFloat:
      return read_float<float>(in, step);
    case PhysicalType::kDouble:
      return read_float<double>(in, step);
    case PhysicalType::kNumeric:
      return read_numeric(in, step);
    case PhysicalType::kInterval:
      return read_interval(in, step);
    case PhysicalType::kUuid:
      return key::get_uuid(in, target<Uuid>(step).emplace_back());
    case PhysicalType::kBytes:
      return read_bytes(in, step);
  }
  return false;
}

bool apply_interval_form(Cursor& in, Interval& value) {
  if (in.at == in.end || *in.at > 1) return false;
  if (*in.at++ == 0) return true;
  std::uint64_t months;
  std::uint64_t days;
  if (!key::get_varint(in, months) || !key::get_varint(in, days)) return false;
  return key::interval_of_span(interval_span(value), key::unzigzag(months), key::unzigzag(days),
                               value);
}

bool apply_array_form(Cursor& in, const Step& step) {
  auto& out = *static_cast<BytesVector*>(step.values);
  const Cursor begin = in;
  if (!key::skip_form(in, *step.type)) return false;
  const std::string_view form = begin.rest().substr(0, begin.left() - in.left());
  if (form == std::string_view("\0", 1)) return true;
  out.append_to_last(form);
  return decode_array(out[out.size() - 1], *step.type).has_value();
}

// Applies the form under the cursor to the value read last.
bool apply_form(Cursor& in, const Step& step, bool is_null) {
  if (is_null || step.values == nullptr) return key::skip_form(in, *step.type);
  if (step.type->kind() == TypeKind::kInterval)
    return apply_interval_form(in, target<Interval>(step).back());
  if (step.type->kind() == TypeKind::kArray) return apply_array_form(in, step);
  std::uint64_t form;
  if (!key::get_varint(in, form)) return false;
  if (form == 0) return true;
  switch (step.type->kind()) {
    case TypeKind::kNumeric:
      return key::add_zeros(target<Numeric>(step).back(), form);
    case TypeKind::kFloat4: {
      float& value = target<float>(step).back();
      return form == 1 && value == 0 && (value = -0.0F, true);
    }
    case TypeKind::kFloat8: {
      double& value = target<double>(step).back();
      return form == 1 && value == 0 && (value = -0.0, true);
    }
    default:
      if (form > key::kMaxBlanks) return false;
      static_cast<BytesVector*>(step.values)->append_to_last(std::string(form, ' '));
      return true;
  }
}

}  // namespace

RowDecoder::RowDecoder(const RowCodec& codec, std::span<const std::size_t> wanted) {
  builders_.reserve(wanted.size());
  bool wants_forms = false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    FRESHET_ASSERT(wanted[i] < codec.types().size(), wanted[i], codec.types().size());
    FRESHET_ASSERT(i == 0 || wanted[i - 1] < wanted[i], i);
    builders_.emplace_back(codec.types()[wanted[i]].physical());
    wants_forms = wants_forms || has_forms(codec.types()[wanted[i]]);
  }
  // Forms stand behind all keys, so whoever wants one walks over all of them.
  const std::size_t last = wanted.empty() ? 0 : wanted.back() + 1;
  const std::size_t columns = wants_forms ? codec.types().size() : last;
  types_ = std::make_shared<const std::vector<SqlType>>(codec.types().begin(), codec.types().end());
  std::size_t next = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    const SqlType& type = (*types_)[c];
    Step step{nullptr, nullptr, &type, type.physical(), has_forms(type)};
    if (next < wanted.size() && wanted[next] == c) step.builder = &builders_[next++];
    steps_.push_back(step);
    if (step.has_forms && step.builder != nullptr) form_steps_ = c + 1;
  }
  point_at_values();
}

void RowDecoder::point_at_values() {
  for (Step& step : steps_) {
    if (step.builder != nullptr) step.values = step.builder->address();
  }
}

bool RowDecoder::append_row(std::string_view row, const char* readable) {
  Cursor in = Cursor::over(row);
  in.readable = reinterpret_cast<const std::uint8_t*>(readable);
  for (const Step& step : steps_) {
    if (step.values == nullptr) {
      if (!key::skip(in)) return false;
      continue;
    }
    if (in.at == in.end) return false;
    if (*in.at == key::kNull) [[unlikely]] {
      ++in.at;
      step.builder->append_null();
    } else if (!read_value(in, step)) {
      return false;
    }
  }
  if (form_steps_ != 0 && in.left() > 0 && !append_forms(in.rest())) return false;
  ++rows_;
  return true;
}

bool RowDecoder::append_forms(std::string_view forms) {
  Cursor in = Cursor::over(forms);
  for (std::size_t c = 0; c < form_steps_ && in.left() > 0; ++c) {
    const Step& step = steps_[c];
    if (!step.has_forms) continue;
    const bool is_null = step.builder != nullptr && step.builder->last_is_null();
    if (!apply_form(in, step, is_null)) return false;
  }
  return true;
}

Result<void> RowDecoder::append(std::string_view row) {
  if (!try_append(row)) [[unlikely]] {
    return fail(ErrorCode::kCorrupt, "row bytes do not fit their types");
  }
  return {};
}

Result<void> RowDecoder::append(const BytesVector& rows, std::size_t begin, std::size_t end) {
  const char* readable = rows.bytes().data() + rows.bytes().size();
  for (std::size_t i = begin; i < end; ++i) {
    if (!append_row(rows[i], readable)) [[unlikely]] {
      return fail(ErrorCode::kCorrupt,
                  "bytes of row " + std::to_string(i) + " do not fit their types");
    }
  }
  return {};
}

void RowDecoder::reserve(std::size_t rows) {
  for (ColumnBuilder& builder : builders_) builder.reserve(rows);
}

std::vector<ColumnPtr> RowDecoder::finish() {
  std::vector<ColumnPtr> columns;
  columns.reserve(builders_.size());
  for (ColumnBuilder& builder : builders_) columns.push_back(builder.finish());
  rows_ = 0;
  return columns;
}

Result<std::vector<ColumnPtr>> RowCodec::decode(const BytesVector& rows,
                                                std::span<const std::size_t> wanted) const {
  RowDecoder decoder(*this, wanted);
  decoder.reserve(rows.size());
  if (auto done = decoder.append(rows, 0, rows.size()); !done) return fail(std::move(done).error());
  return decoder.finish();
}

Result<std::vector<ColumnPtr>> RowCodec::decode(const BytesVector& rows) const {
  std::vector<std::size_t> all(types_.size());
  for (std::size_t c = 0; c < all.size(); ++c) all[c] = c;
  return decode(rows, all);
}

}  // namespace freshet::repr
