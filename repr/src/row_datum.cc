// SPDX-License-Identifier: Apache-2.0
// The row encoding of single datums: rows of datums, arrays, keys for seeks. Columns go through
// row_encode.cc and row_decode.cc; the tests hold the two together.
#include <freshet/repr/row.h>

#include "key_codec.h"

namespace freshet::repr {
namespace key {
namespace {

using ArrayPtr = std::shared_ptr<const ArrayValue>;

std::int64_t integer(const Datum& datum, PhysicalType physical) {
  switch (physical) {
    case PhysicalType::kInt16:
      return datum.get<std::int16_t>();
    case PhysicalType::kInt32:
      return datum.get<std::int32_t>();
    default:
      return datum.get<std::int64_t>();
  }
}

template <typename... Args>
void put(std::string& out, std::size_t (*write)(std::uint8_t*, Args...), Args... args) {
  std::uint8_t buffer[kFixedRoom];
  const std::size_t size = write(buffer, args...);
  out.append(reinterpret_cast<const char*>(buffer), size);
}

std::uint32_t append_numeric(std::string& out, const Numeric& value) {
  std::uint8_t buffer[kFixedRoom];
  std::uint32_t zeros = 0;
  const std::size_t size = put_numeric(buffer, value, zeros);
  out.append(reinterpret_cast<const char*>(buffer), size);
  if (size == 0) append_numeric_slow(out, value, zeros);
  return zeros;
}

std::uint32_t numeric_zeros(const Numeric& value) {
  return static_cast<std::uint32_t>(value.scale() - value.min_scale());
}

std::uint64_t blanks(const std::string& text) {
  return text.size() - without_trailing_blanks(text).size();
}

void append_text(std::string& out, std::string_view text) {
  FRESHET_DASSERT(text.find('\0') == std::string_view::npos);
  out.push_back(static_cast<char>(kText));
  out.append(text);
  out.push_back(0);
}

void append_array_key(std::string& out, const ArrayValue& array, const SqlType& element) {
  out.push_back(static_cast<char>(kArray));
  for (const Datum& value : array.elements) append_key(out, value, element);
  out.push_back(static_cast<char>(kEnd));
  const std::size_t dimensions = array.dimensions.size();
  FRESHET_ASSERT(dimensions <= kMaxDimensions, dimensions);
  FRESHET_ASSERT((dimensions == 0) == array.elements.empty(), dimensions, array.elements.size());
  out.push_back(static_cast<char>(dimensions));
  if (dimensions > 1) {
    for (const auto& d : array.dimensions) put(out, put_int, std::int64_t{d.length});
  }
  for (const auto& d : array.dimensions) put(out, put_int, std::int64_t{d.lower});
}

std::size_t forms_needed(const ArrayValue& array, const SqlType& element) {
  std::size_t count = array.elements.size();
  while (count > 0 && has_default_form(array.elements[count - 1], element)) --count;
  return count;
}

bool get_array_key(Cursor& in, const SqlType& element, ArrayValue& array) {
  if (*in.at != kArray) return false;
  ++in.at;
  while (in.at != in.end && *in.at != kEnd) {
    Datum value;
    if (!get_key(in, element, value)) return false;
    array.elements.push_back(std::move(value));
  }
  if (in.left() < 2) return false;
  const std::size_t dimensions = in.at[1];
  in.at += 2;
  if (dimensions > kMaxDimensions || (dimensions == 0) != array.elements.empty()) return false;
  array.dimensions.resize(dimensions);
  const auto get_number = [&in](std::int32_t& out) {
    std::int64_t value;
    if (in.at == in.end || !get_int(in, value)) return false;
    out = static_cast<std::int32_t>(value);
    return out == value;
  };
  UInt128 product = 1;
  for (auto& d : array.dimensions) {
    d.length = static_cast<std::int32_t>(array.elements.size());
    if (dimensions > 1 && (!get_number(d.length) || d.length < 1)) return false;
    product *= static_cast<std::uint32_t>(d.length);
    if (product > array.elements.size()) return false;
  }
  if (dimensions > 0 && product != array.elements.size()) return false;
  for (auto& d : array.dimensions) {
    if (!get_number(d.lower) || d.lower > INT32_MAX - d.length) return false;
  }
  return true;
}

template <typename T>
bool get_integer(Cursor& in, Datum& datum) {
  std::int64_t value;
  if (!get_int(in, value) || value != static_cast<T>(value)) return false;
  datum = Datum(static_cast<T>(value));
  return true;
}

template <typename T>
bool get_plain(Cursor& in, Datum& datum, bool (*read)(Cursor&, T&)) {
  T value{};
  if (!read(in, value)) return false;
  datum = Datum(std::move(value));
  return true;
}

bool get_string(Cursor& in, Datum& datum) {
  std::string_view text;
  if (!get_text(in, text)) return false;
  datum = Datum(std::string(text));
  return true;
}

bool get_interval_datum(Cursor& in, Datum& datum) {
  Int128 span;
  if (!get_interval(in, span)) return false;
  datum = Datum(default_parts(span));
  return true;
}

bool get_bool(Cursor& in, Datum& datum) {
  if (*in.at != kFalse && *in.at != kTrue) return false;
  datum = Datum(*in.at++ == kTrue);
  return true;
}

bool get_interval_form(Cursor& in, Datum& datum) {
  if (in.at == in.end || *in.at > 1) return false;
  if (*in.at++ == 0) return true;
  std::uint64_t months;
  std::uint64_t days;
  if (!get_varint(in, months) || !get_varint(in, days)) return false;
  if (datum.is_null()) return true;
  Interval parts;
  if (!interval_of_span(interval_span(datum.get<Interval>()), unzigzag(months), unzigzag(days),
                        parts)) {
    return false;
  }
  datum = Datum(parts);
  return true;
}

bool get_array_form(Cursor& in, const SqlType& element, Datum& datum) {
  std::uint64_t count;
  if (!get_varint(in, count)) return false;
  if (count == 0 || datum.is_null()) return count == 0;
  ArrayValue array = *datum.get<ArrayPtr>();
  if (count > array.elements.size()) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!get_form(in, element, array.elements[i])) return false;
  }
  datum = Datum(std::make_shared<const ArrayValue>(std::move(array)));
  return true;
}

bool apply_form(std::uint64_t form, TypeKind kind, Datum& datum) {
  if (form == 0 || datum.is_null()) return form == 0;
  switch (kind) {
    case TypeKind::kNumeric: {
      Numeric value = datum.get<Numeric>();
      if (!add_zeros(value, form)) return false;
      datum = Datum(std::move(value));
      return true;
    }
    case TypeKind::kFloat4:
      if (form != 1 || datum.get<float>() != 0) return false;
      datum = Datum(-0.0F);
      return true;
    case TypeKind::kFloat8:
      if (form != 1 || datum.get<double>() != 0) return false;
      datum = Datum(-0.0);
      return true;
    case TypeKind::kBpchar:
      if (form > kMaxBlanks) return false;
      datum = Datum(datum.get<std::string>() + std::string(form, ' '));
      return true;
    default:
      return false;
  }
}

}  // namespace

void append_key(std::string& out, const Datum& datum, const SqlType& type) {
  if (datum.is_null()) return out.push_back(static_cast<char>(kNull));
  switch (type.physical()) {
    case PhysicalType::kBool:
      return out.push_back(static_cast<char>(datum.get<bool>() ? kTrue : kFalse));
    case PhysicalType::kInt16:
    case PhysicalType::kInt32:
    case PhysicalType::kInt64:
      return put(out, put_int, integer(datum, type.physical()));
    case PhysicalType::kFloat:
      return put<float>(out, put_float, datum.get<float>());
    case PhysicalType::kDouble:
      return put<double>(out, put_float, datum.get<double>());
    case PhysicalType::kNumeric:
      append_numeric(out, datum.get<Numeric>());
      return;
    case PhysicalType::kInterval:
      return put(out, put_interval, interval_span(datum.get<Interval>()));
    case PhysicalType::kUuid:
      return put<const Uuid&>(out, put_uuid, datum.get<Uuid>());
    case PhysicalType::kBytes:
      break;
  }
  switch (type.kind()) {
    case TypeKind::kArray:
      return append_array_key(out, *datum.get<ArrayPtr>(), type.element());
    case TypeKind::kBytea:
      out.push_back(static_cast<char>(kBytea));
      append_escaped(out, datum.get<std::string>());
      return out.push_back(0);
    case TypeKind::kBpchar:
      return append_text(out, without_trailing_blanks(datum.get<std::string>()));
    default:
      return append_text(out, datum.get<std::string>());
  }
}

bool has_default_form(const Datum& datum, const SqlType& type) {
  if (datum.is_null()) return true;
  switch (type.kind()) {
    case TypeKind::kNumeric:
      return numeric_zeros(datum.get<Numeric>()) == 0;
    case TypeKind::kFloat4:
      return std::bit_cast<std::uint32_t>(datum.get<float>()) != 0x80000000U;
    case TypeKind::kFloat8:
      return std::bit_cast<std::uint64_t>(datum.get<double>()) != std::uint64_t{1} << 63;
    case TypeKind::kBpchar:
      return blanks(datum.get<std::string>()) == 0;
    case TypeKind::kInterval: {
      const auto& interval = datum.get<Interval>();
      return interval == default_parts(interval_span(interval));
    }
    case TypeKind::kArray:
      return forms_needed(*datum.get<ArrayPtr>(), type.element()) == 0;
    default:
      return true;
  }
}

void append_form(std::string& out, const Datum& datum, const SqlType& type) {
  if (has_default_form(datum, type)) return out.push_back(0);
  switch (type.kind()) {
    case TypeKind::kNumeric:
      return append_varint(out, numeric_zeros(datum.get<Numeric>()));
    case TypeKind::kBpchar:
      return append_varint(out, blanks(datum.get<std::string>()));
    case TypeKind::kInterval: {
      const auto& interval = datum.get<Interval>();
      out.push_back(1);
      append_varint(out, zigzag(interval.months));
      return append_varint(out, zigzag(interval.days));
    }
    case TypeKind::kArray: {
      const ArrayValue& array = *datum.get<ArrayPtr>();
      const std::size_t count = forms_needed(array, type.element());
      append_varint(out, count);
      for (std::size_t i = 0; i < count; ++i) append_form(out, array.elements[i], type.element());
      return;
    }
    default:
      return out.push_back(1);  // negative zero
  }
}

bool get_key(Cursor& in, const SqlType& type, Datum& datum) {
  if (in.at == in.end) return false;
  if (*in.at == kNull) {
    ++in.at;
    datum = Datum();
    return true;
  }
  switch (type.physical()) {
    case PhysicalType::kBool:
      return get_bool(in, datum);
    case PhysicalType::kInt16:
      return get_integer<std::int16_t>(in, datum);
    case PhysicalType::kInt32:
      return get_integer<std::int32_t>(in, datum);
    case PhysicalType::kInt64:
      return get_integer<std::int64_t>(in, datum);
    case PhysicalType::kFloat:
      return get_plain<float>(in, datum, get_float);
    case PhysicalType::kDouble:
      return get_plain<double>(in, datum, get_float);
    case PhysicalType::kNumeric:
      return get_plain<Numeric>(in, datum, get_numeric);
    case PhysicalType::kInterval:
      return get_interval_datum(in, datum);
    case PhysicalType::kUuid:
      return get_plain<Uuid>(in, datum, get_uuid);
    case PhysicalType::kBytes:
      break;
  }
  if (type.kind() == TypeKind::kBytea) return get_plain<std::string>(in, datum, get_bytea);
  if (type.kind() != TypeKind::kArray) return get_string(in, datum);
  ArrayValue array;
  if (!get_array_key(in, type.element(), array)) return false;
  datum = Datum(std::make_shared<const ArrayValue>(std::move(array)));
  return true;
}

bool get_form(Cursor& in, const SqlType& type, Datum& datum) {
  if (type.kind() == TypeKind::kInterval) return get_interval_form(in, datum);
  if (type.kind() == TypeKind::kArray) return get_array_form(in, type.element(), datum);
  std::uint64_t form;
  return get_varint(in, form) && apply_form(form, type.kind(), datum);
}

bool skip_form(Cursor& in, const SqlType& type) {
  std::uint64_t number;
  if (!get_varint(in, number)) return false;
  if (type.kind() == TypeKind::kInterval && number != 0) {
    return get_varint(in, number) && get_varint(in, number);
  }
  if (type.kind() != TypeKind::kArray) return true;
  for (; number > 0; --number) {
    if (!skip_form(in, type.element())) return false;
  }
  return true;
}

}  // namespace key

namespace {

base::Unexpected corrupt_row() {
  return fail(ErrorCode::kCorrupt, "row bytes do not fit their types");
}

}  // namespace

std::string encode_array(const ArrayValue& array, const SqlType& type) {
  std::string out;
  // The datum borrows the array.
  const Datum datum(std::shared_ptr<const ArrayValue>(std::shared_ptr<void>(), &array));
  key::append_key(out, datum, type);
  if (!key::has_default_form(datum, type)) key::append_form(out, datum, type);
  return out;
}

Result<ArrayValue> decode_array(std::string_view bytes, const SqlType& type) {
  key::Cursor in = key::Cursor::over(bytes);
  Datum datum;
  if (!key::get_key(in, type, datum) || datum.is_null()) return corrupt_row();
  if (in.left() > 0 && !key::get_form(in, type, datum)) return corrupt_row();
  if (in.left() > 0) return corrupt_row();
  return *datum.get<std::shared_ptr<const ArrayValue>>();
}

std::string encode_key(const Datum& datum, const SqlType& type) {
  std::string out;
  key::append_key(out, datum, type);
  return out;
}

std::string RowCodec::encode(const DatumRow& row) const {
  FRESHET_ASSERT(row.size() == types_.size(), row.size(), types_.size());
  std::string out;
  std::size_t forms = 0;
  for (std::size_t c = 0; c < row.size(); ++c) {
    key::append_key(out, row[c], types_[c]);
    if (!key::has_default_form(row[c], types_[c])) forms = c + 1;
  }
  for (std::size_t c = 0; c < forms; ++c) {
    if (repr::has_forms(types_[c])) key::append_form(out, row[c], types_[c]);
  }
  return out;
}

Result<DatumRow> RowCodec::decode_row(std::string_view row) const {
  key::Cursor in = key::Cursor::over(row);
  DatumRow out(types_.size());
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (!key::get_key(in, types_[c], out[c])) return corrupt_row();
  }
  for (std::size_t c = 0; c < out.size() && in.left() > 0; ++c) {
    if (repr::has_forms(types_[c]) && !key::get_form(in, types_[c], out[c])) return corrupt_row();
  }
  if (in.left() > 0) return corrupt_row();
  return out;
}

}  // namespace freshet::repr
