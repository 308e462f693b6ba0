// SPDX-License-Identifier: Apache-2.0
/// `Datum`: one SQL value, owned; NULL is a datum without a value.
///
/// A datum does not know its SQL type, only how its value lies in memory; the `SqlType` always
/// stands beside it. It serves plans (literals), tests, the naive engine and the edges. Hot paths
/// work on columns (chunk.h), never on datums.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <freshet/repr/numeric.h>
#include <freshet/repr/types.h>

namespace freshet::repr {

/// SQL compares intervals by months of 30 days of 24 hours (`interval_span` in datetime.h); the
/// three parts are the form. `==` here is identity of the parts.
struct Interval {
  std::int32_t months = 0;
  std::int32_t days = 0;
  std::int64_t micros = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

using Uuid = std::array<std::uint8_t, 16>;

struct ArrayValue;

class Datum {
 public:
  using Value =
      std::variant<std::monostate, bool, std::int16_t, std::int32_t, std::int64_t, float, double,
                   Numeric, Interval, Uuid, std::string, std::shared_ptr<const ArrayValue>>;
  Datum() = default;  ///< NULL
  template <typename T>
    requires std::is_constructible_v<Value, std::in_place_type_t<T>, T>
  explicit Datum(T value) : value_(std::in_place_type<T>, std::move(value)) {}

  [[nodiscard]] bool is_null() const { return value_.index() == 0; }
  /// The value; calling it with another type than is stored is a bug.
  template <typename T>
  [[nodiscard]] const T& get() const {
    const T* value = std::get_if<T>(&value_);
    FRESHET_ASSERT(value != nullptr, value_.index());
    return *value;
  }
  [[nodiscard]] const Value& value() const { return value_; }

 private:
  Value value_{};
};

/// Any number of dimensions, bounds as in PostgreSQL; empty arrays have none.
struct ArrayValue {
  struct Dimension {
    std::int32_t lower = 1;
    std::int32_t length = 0;
    friend bool operator==(const Dimension&, const Dimension&) = default;
  };
  std::vector<Dimension> dimensions{};
  std::vector<Datum> elements{};  ///< Row-major.
};

/// SQL order of two values of `type`, NULL last. Equal means equal key bytes; forms do not count.
std::strong_ordering compare(const Datum& a, const Datum& b, const SqlType& type);
/// True if equal *and* of the same form: nothing can tell them apart.
bool identical(const Datum& a, const Datum& b, const SqlType& type);

using DatumRow = std::vector<Datum>;

/// How values are shown and read; DateStyle is ISO, MDY and IntervalStyle postgres.
struct TextOptions {
  std::int32_t extra_float_digits = 1;
  std::string time_zone = "UTC";
};
/// The value as PostgreSQL's output function prints it; it must not be NULL. For many values see
/// text.h.
std::string to_text(const Datum& datum, const SqlType& type, const TextOptions& options = {});
/// As the type's input function reads it, type modifier included. 22P02, 22007, 22008, 22003, 22001
/// with PostgreSQL's messages.
Result<Datum> from_text(std::string_view text, const SqlType& type,
                        const TextOptions& options = {});
/// PostgreSQL's binary send and receive formats. 22P03 on bad bytes, 08P01 on a wrong length.
std::string to_binary(const Datum& datum, const SqlType& type);
Result<Datum> from_binary(std::string_view bytes, const SqlType& type);

}  // namespace freshet::repr
