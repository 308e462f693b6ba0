// SPDX-License-Identifier: Apache-2.0
// Columns to rows. One pass over the rows; the switch over the column's kind repeats the same way
// in every row, so the processor predicts it, and wide stores may run over because the next value
// overwrites them.
#define XXH_INLINE_ALL  // libpg_query exports xxhash symbols of its own
#include <xxhash.h>

#include <freshet/repr/row.h>

#include "key_codec.h"

namespace freshet::repr {
namespace {

enum class Op : std::uint8_t {
  kBool,
  kInt16,
  kInt32,
  kInt64,
  kFloat,
  kDouble,
  kNumeric,
  kInterval,
  kUuid,
  kText,
  kBpchar,
  kBytea,
  kArray,
};

Op op_of(const SqlType& type) {
  switch (type.physical()) {
    case PhysicalType::kBool:
      return Op::kBool;
    case PhysicalType::kInt16:
      return Op::kInt16;
    case PhysicalType::kInt32:
      return Op::kInt32;
    case PhysicalType::kInt64:
      return Op::kInt64;
    case PhysicalType::kFloat:
      return Op::kFloat;
    case PhysicalType::kDouble:
      return Op::kDouble;
    case PhysicalType::kNumeric:
      return Op::kNumeric;
    case PhysicalType::kInterval:
      return Op::kInterval;
    case PhysicalType::kUuid:
      return Op::kUuid;
    case PhysicalType::kBytes:
      break;
  }
  switch (type.kind()) {
    case TypeKind::kBpchar:
      return Op::kBpchar;
    case TypeKind::kBytea:
      return Op::kBytea;
    case TypeKind::kArray:
      return Op::kArray;
    default:
      return Op::kText;
  }
}

// A column, ready for a loop: where its values and its validity lie.
struct Source {
  Op op;
  bool has_forms;
  const void* data;
  const std::uint8_t* validity;

  template <typename T>
  [[nodiscard]] const T& value(std::size_t row) const {
    return static_cast<const T*>(data)[row];
  }
  [[nodiscard]] std::string_view bytes(std::size_t row) const {
    return (*static_cast<const BytesVector*>(data))[row];
  }
  [[nodiscard]] bool is_null(std::size_t row) const {
    return validity != nullptr && validity[row] == 0;
  }
};

Source make_source(const Column& column, const SqlType& type) {
  FRESHET_ASSERT(column.physical() == type.physical(), to_string(type));
  Source source{op_of(type), has_forms(type), nullptr,
                column.has_nulls() ? column.validity().data() : nullptr};
  source.data = std::visit(
      [](const auto& v) -> const void* {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, BytesVector>) {
          return &v;
        } else {
          return v.data();
        }
      },
      column.all_values());
  return source;
}

// Collects rows in a buffer that stays in the cache and hands them over in bulk.
class Writer {
 public:
  explicit Writer(BytesVector& out)
      : out_(out), buffer_(new std::uint8_t[kSize]), at_(buffer_.get()) {}
  ~Writer() { flush(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Room for kFixedRoom bytes, of which `advance` keeps some.
  std::uint8_t* room() {
    if (static_cast<std::size_t>(buffer_.get() + kSize - at_) < key::kFixedRoom) [[unlikely]]
      flush();
    return at_;
  }
  void advance(std::size_t size) { at_ += size; }
  void byte(std::uint8_t value) {
    *room() = value;
    ++at_;
  }
  void bytes(std::string_view value) {
    if (static_cast<std::size_t>(buffer_.get() + kSize - at_) < value.size()) [[unlikely]] {
      flush();
      if (value.size() > kSize) {
        out_.append_all(value, {});
        return;
      }
    }
    std::memcpy(at_, value.data(), value.size());
    at_ += value.size();
  }
  void end_row() {
    ends_[rows_++] = static_cast<std::uint32_t>(at_ - buffer_.get());
    if (rows_ == ends_.size()) [[unlikely]]
      flush();
  }

 private:
  void flush() {
    out_.append_all({reinterpret_cast<const char*>(buffer_.get()),
                     static_cast<std::size_t>(at_ - buffer_.get())},
                    std::span(ends_).first(rows_));
    at_ = buffer_.get();
    rows_ = 0;
  }

  static constexpr std::size_t kSize = 32768;
  BytesVector& out_;
  std::unique_ptr<std::uint8_t[]> buffer_;
  std::uint8_t* at_;
  std::array<std::uint32_t, 1024> ends_;
  std::size_t rows_ = 0;
};

void write_text(Writer& out, std::string_view text) {
  FRESHET_DASSERT(text.find('\0') == std::string_view::npos);
  out.byte(key::kText);
  out.bytes(text);
  out.byte(0);
}

std::uint32_t write_numeric(Writer& out, const Numeric& value) {
  std::uint32_t zeros = 0;
  const std::size_t size = key::put_numeric(out.room(), value, zeros);
  out.advance(size);
  if (size == 0) [[unlikely]] {
    std::string bytes;
    key::append_numeric_slow(bytes, value, zeros);
    out.bytes(bytes);
  }
  return zeros;
}

bool write_array(Writer& out, std::string_view array) {
  key::Cursor in = key::Cursor::over(array);
  const bool ok = !array.empty() && key::skip(in);
  FRESHET_ASSERT(ok, array.size());
  out.bytes(array.substr(0, array.size() - in.left()));
  return in.left() > 0;
}

void write_bytea(Writer& out, std::string_view value) {
  std::string escaped;
  key::append_escaped(escaped, value);
  out.byte(key::kBytea);
  out.bytes(escaped);
  out.byte(0);
}

// Writes the key bytes of one value. True if its form is not the default.
inline bool write_key(Writer& out, const Source& from, std::size_t row) {
  if (from.is_null(row)) {
    out.byte(key::kNull);
    return false;
  }
  const auto put_int = [&out](std::int64_t v) { out.advance(key::put_int(out.room(), v)); };
  switch (from.op) {
    case Op::kBool:
      return out.byte(from.value<std::uint8_t>(row) != 0 ? key::kTrue : key::kFalse), false;
    case Op::kInt16:
      return put_int(from.value<std::int16_t>(row)), false;
    case Op::kInt32:
      return put_int(from.value<std::int32_t>(row)), false;
    case Op::kInt64:
      return put_int(from.value<std::int64_t>(row)), false;
    case Op::kFloat: {
      const float value = from.value<float>(row);
      out.advance(key::put_float(out.room(), value));
      return std::bit_cast<std::uint32_t>(value) == 0x80000000U;
    }
    case Op::kDouble: {
      const double value = from.value<double>(row);
      out.advance(key::put_float(out.room(), value));
      return std::bit_cast<std::uint64_t>(value) == std::uint64_t{1} << 63;
    }
    case Op::kNumeric:
      return write_numeric(out, from.value<Numeric>(row)) != 0;
    case Op::kInterval: {
      const auto& value = from.value<Interval>(row);
      const Int128 span = interval_span(value);
      out.advance(key::put_interval(out.room(), span));
      return !(value == key::default_parts(span));
    }
    case Op::kUuid:
      out.advance(key::put_uuid(out.room(), from.value<Uuid>(row)));
      return false;
    case Op::kText:
      return write_text(out, from.bytes(row)), false;
    case Op::kBpchar: {
      const std::string_view text = from.bytes(row);
      const std::string_view trimmed = key::without_trailing_blanks(text);
      write_text(out, trimmed);
      return trimmed.size() != text.size();
    }
    case Op::kBytea:
      return write_bytea(out, from.bytes(row)), false;
    case Op::kArray:
      return write_array(out, from.bytes(row));
  }
  FRESHET_UNREACHABLE(static_cast<int>(from.op));
}

void write_varint(Writer& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.byte(static_cast<std::uint8_t>(value | 0x80));
  out.byte(static_cast<std::uint8_t>(value));
}

void write_interval_form(Writer& out, const Interval& value) {
  if (value == key::default_parts(interval_span(value))) return out.byte(0);
  out.byte(1);
  write_varint(out, key::zigzag(value.months));
  write_varint(out, key::zigzag(value.days));
}

void write_form(Writer& out, const Source& from, std::size_t row) {
  if (from.is_null(row)) return out.byte(0);
  switch (from.op) {
    case Op::kFloat:
      return out.byte(std::bit_cast<std::uint32_t>(from.value<float>(row)) == 0x80000000U);
    case Op::kDouble:
      return out.byte(std::bit_cast<std::uint64_t>(from.value<double>(row)) == std::uint64_t{1}
                                                                                   << 63);
    case Op::kNumeric: {
      const auto& value = from.value<Numeric>(row);
      return write_varint(out, static_cast<std::uint64_t>(value.scale() - value.min_scale()));
    }
    case Op::kInterval:
      return write_interval_form(out, from.value<Interval>(row));
    case Op::kBpchar: {
      const std::string_view text = from.bytes(row);
      return write_varint(out, text.size() - key::without_trailing_blanks(text).size());
    }
    case Op::kArray: {
      key::Cursor in = key::Cursor::over(from.bytes(row));
      if (!key::skip(in) || in.left() == 0) return out.byte(0);
      return out.bytes(in.rest());
    }
    default:
      FRESHET_UNREACHABLE(static_cast<int>(from.op));
  }
}

void write_row(Writer& out, std::span<const Source> sources, std::size_t row) {
  std::size_t forms = 0;  // columns up to the last with a form of its own
  for (std::size_t c = 0; c < sources.size(); ++c) {
    if (write_key(out, sources[c], row)) forms = c + 1;
  }
  for (std::size_t c = 0; c < forms; ++c) {
    if (sources[c].has_forms) write_form(out, sources[c], row);
  }
  out.end_row();
}

std::vector<Source> make_sources(std::span<const ColumnPtr> columns,
                                 std::span<const SqlType> types) {
  FRESHET_ASSERT(columns.size() == types.size(), columns.size(), types.size());
  std::vector<Source> sources;
  sources.reserve(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c)
    sources.push_back(make_source(*columns[c], types[c]));
  return sources;
}

}  // namespace

RowCodec::RowCodec(std::vector<SqlType> types) : types_(std::move(types)) {
  for (const SqlType& type : types_) {
    FRESHET_ASSERT(type.kind() != TypeKind::kRecord);
    has_forms_ = has_forms_ || repr::has_forms(type);
  }
}

void RowCodec::encode(std::span<const ColumnPtr> columns, std::size_t begin, std::size_t end,
                      BytesVector& out) const {
  const std::vector<Source> sources = make_sources(columns, types_);
  Writer writer(out);
  for (std::size_t row = begin; row < end; ++row) write_row(writer, sources, row);
}

void RowCodec::encode(std::span<const ColumnPtr> columns, std::span<const std::uint32_t> selected,
                      BytesVector& out) const {
  const std::vector<Source> sources = make_sources(columns, types_);
  Writer writer(out);
  for (const std::uint32_t row : selected) write_row(writer, sources, row);
}

std::size_t RowCodec::key_size(std::string_view row) const {
  key::Cursor in = key::Cursor::over(row);
  for (std::size_t c = 0; c < types_.size(); ++c) {
    const bool ok = key::skip(in);
    FRESHET_ASSERT(ok, c, row.size());
  }
  return row.size() - in.left();
}

std::uint64_t hash_key(std::string_view key_bytes) {
  return XXH3_64bits(key_bytes.data(), key_bytes.size());
}

}  // namespace freshet::repr
