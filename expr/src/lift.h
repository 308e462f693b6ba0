// SPDX-License-Identifier: Apache-2.0
/// Lifts a function of single values to a kernel over columns.
///
/// The lambda's own signature decides: parameters are bool, the integer and floating types, Numeric,
/// Interval, Uuid (by const reference) or std::string_view; the result is
///   T                 never fails,
///   Checked<T>        a value and a fault: cheap, for arithmetic in tight loops,
///   Result<T>         fails with a message of its own,
///   std::optional<T>  may be NULL (also Result<std::optional<T>>).
/// A lambda whose first parameter is `std::string&` appends text; it returns void, Fault, bool (false: NULL),
/// Result<void> or Result<bool>.
///
///     table.add("sqrt", {K::kFloat8}, K::kFloat8, lift([](double x) -> Checked<double> { … }));
///
/// Cost: one loop per kernel; two-argument kernels over numbers get a loop per constant side.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <freshet/expr/eval.h>

#include "fault.h"
#include "value_size.h"

namespace freshet::expr {

template <typename T>
struct Checked {
  T value;
  Fault fault = Fault::kNone;
};

/// A kernel and what its lambda's type says about it.
struct Lifted {
  const ScalarKernel* kernel;
  bool can_fail;
  bool may_be_null;
};

/// The validity of a strict function's result: empty if no argument has a NULL.
std::vector<std::uint8_t> strict_validity(const KernelCall& call);
/// Notes the error of a row unless the row is NULL or has failed already. `found` collects in row order.
void note_error(const KernelCall& call, std::span<const std::uint8_t> validity, std::size_t row,
                Error error, RowErrors& found);
/// Merges what `note_error` collected into the call's errors.
void finish_errors(KernelCall& call, RowErrors& found);
repr::ColumnPtr make_column(repr::ColumnValues values, std::vector<std::uint8_t> validity);
/// Makes row `row` NULL.
void set_null(std::vector<std::uint8_t>& validity, std::size_t rows, std::size_t row);

// --- Reading arguments ---------------------------------------------------------------------------------

/// The vector that holds values of a parameter type.
template <typename T>
struct Store {
  using Vector = std::vector<T>;
  using Element = T;
};
template <>
struct Store<bool> {
  using Vector = std::vector<std::uint8_t>;
  using Element = std::uint8_t;
};
template <>
struct Store<std::string_view> {
  using Vector = repr::BytesVector;
};

template <typename T>
class Reader {
 public:
  using Element = typename Store<T>::Element;
  Reader(const repr::Column& column, std::size_t rows)
      : data_(column.values<typename Store<T>::Vector>().data()),
        mask_(column.size() == rows ? ~std::size_t{0} : 0) {}
  decltype(auto) operator[](std::size_t row) const {
    if constexpr (std::is_same_v<T, bool>) {
      return data_[row & mask_] != 0;
    } else {
      return static_cast<const T&>(data_[row & mask_]);
    }
  }
  [[nodiscard]] const Element* data() const { return data_; }
  [[nodiscard]] bool is_constant() const { return mask_ == 0; }

 private:
  const Element* data_;
  std::size_t mask_;
};
template <>
class Reader<std::string_view> {
 public:
  Reader(const repr::Column& column, std::size_t rows)
      : data_(column.values<repr::BytesVector>()),
        mask_(column.size() == rows ? ~std::size_t{0} : 0) {}
  std::string_view operator[](std::size_t row) const { return data_[row & mask_]; }
  [[nodiscard]] bool is_constant() const { return mask_ == 0; }
  [[nodiscard]] const repr::BytesVector& vector() const { return data_; }

 private:
  const repr::BytesVector& data_;
  std::size_t mask_;
};

// --- What a lambda returns --------------------------------------------------------------------------------

template <typename R>
struct Returned {
  using Value = R;
  static constexpr bool can_fail = false;
  static constexpr bool may_be_null = false;
};
template <typename T>
struct Returned<Checked<T>> : Returned<T> {
  static constexpr bool can_fail = true;
};
template <typename T>
struct Returned<std::optional<T>> : Returned<T> {
  static constexpr bool may_be_null = true;
};
template <typename T>
struct Returned<Result<T>> : Returned<T> {
  static constexpr bool can_fail = true;
};
template <typename R>
inline constexpr bool kIsChecked = false;
template <typename T>
inline constexpr bool kIsChecked<Checked<T>> = true;
template <typename R>
inline constexpr bool kIsResult = false;
template <typename T>
inline constexpr bool kIsResult<Result<T>> = true;

// --- Loops ---------------------------------------------------------------------------------------------

/// Kernels whose result has a fixed width.
template <typename F, typename R, typename... A>
struct ValueKernel {
  using Value = typename Returned<R>::Value;
  using Vector = typename Store<Value>::Vector;
  using Element = typename Store<Value>::Element;
  static constexpr bool kFlat =
      (std::is_arithmetic_v<A> && ...) && sizeof...(A) <= 2 && !kIsResult<R> && !Returned<R>::may_be_null;

  static repr::ColumnPtr run(KernelCall& call) { return run(call, std::index_sequence_for<A...>{}); }

  template <std::size_t... I>
  static repr::ColumnPtr run(KernelCall& call, std::index_sequence<I...>) {
    const std::tuple<Reader<A>...> in{Reader<A>(*call.arguments[I], call.rows)...};
    Vector out(call.rows);
    auto validity = strict_validity(call);
    if constexpr (kIsResult<R>) {
      RowErrors found;
      for (std::size_t row = 0; row < call.rows; ++row) {
        R result = F{}(std::get<I>(in)[row]...);
        if (result.has_value()) [[likely]] {
          store(*std::move(result), out, validity, row);
        } else {
          note_error(call, validity, row, std::move(result).error(), found);
        }
      }
      finish_errors(call, found);
    } else if constexpr (kIsChecked<R>) {
      const unsigned faults = checked(in, out, std::index_sequence<I...>{});
      if (faults != 0) {
        RowErrors found;
        for (std::size_t row = 0; row < call.rows; ++row) {
          const Fault fault = F{}(std::get<I>(in)[row]...).fault;
          if (fault != Fault::kNone) note_error(call, validity, row, fault_error(fault), found);
        }
        finish_errors(call, found);
      }
    } else if constexpr (Returned<R>::may_be_null) {
      for (std::size_t row = 0; row < call.rows; ++row) {
        store(F{}(std::get<I>(in)[row]...), out, validity, row);
      }
    } else {
      plain(in, out, std::index_sequence<I...>{});
    }
    return make_column(std::move(out), std::move(validity));
  }

 private:
  template <typename T>
  static void store(T&& value, Vector& out, std::vector<std::uint8_t>& validity, std::size_t row) {
    if constexpr (std::is_same_v<std::remove_cvref_t<T>, std::optional<Value>>) {
      if (value.has_value()) {
        out[row] = static_cast<Element>(*std::forward<T>(value));
      } else {
        set_null(validity, out.size(), row);
      }
    } else {
      out[row] = static_cast<Element>(std::forward<T>(value));
    }
  }

  template <std::size_t... I>
  static void plain(const std::tuple<Reader<A>...>& in, Vector& out, std::index_sequence<I...>) {
    const std::size_t rows = out.size();
    Element* to = out.data();
    if constexpr (kFlat && sizeof...(A) == 2) {
      const auto* a = std::get<0>(in).data();
      const auto* b = std::get<1>(in).data();
      if (std::get<0>(in).is_constant()) {
        const auto left = std::get<0>(in)[0];
        for (std::size_t i = 0; i < rows; ++i) to[i] = static_cast<Element>(F{}(left, b[i]));
      } else if (std::get<1>(in).is_constant()) {
        const auto right = std::get<1>(in)[0];
        for (std::size_t i = 0; i < rows; ++i) to[i] = static_cast<Element>(F{}(a[i], right));
      } else {
        for (std::size_t i = 0; i < rows; ++i) to[i] = static_cast<Element>(F{}(a[i], b[i]));
      }
    } else {
      for (std::size_t i = 0; i < rows; ++i) to[i] = static_cast<Element>(F{}(std::get<I>(in)[i]...));
    }
  }

  template <std::size_t... I>
  static unsigned checked(const std::tuple<Reader<A>...>& in, Vector& out, std::index_sequence<I...>) {
    const std::size_t rows = out.size();
    Element* to = out.data();
    unsigned faults = 0;
    auto step = [&](std::size_t i, auto result) {
      to[i] = static_cast<Element>(std::move(result.value));
      faults |= static_cast<unsigned>(result.fault);
    };
    if constexpr (kFlat && sizeof...(A) == 2) {
      const auto* a = std::get<0>(in).data();
      const auto* b = std::get<1>(in).data();
      if (std::get<0>(in).is_constant()) {
        const auto left = std::get<0>(in)[0];
        for (std::size_t i = 0; i < rows; ++i) step(i, F{}(left, b[i]));
      } else if (std::get<1>(in).is_constant()) {
        const auto right = std::get<1>(in)[0];
        for (std::size_t i = 0; i < rows; ++i) step(i, F{}(a[i], right));
      } else {
        for (std::size_t i = 0; i < rows; ++i) step(i, F{}(a[i], b[i]));
      }
    } else {
      for (std::size_t i = 0; i < rows; ++i) step(i, F{}(std::get<I>(in)[i]...));
    }
    return faults;
  }
};

/// Kernels that write text or bytes.
template <typename F, typename R, typename... A>
struct TextKernel {
  static repr::ColumnPtr run(KernelCall& call) { return run(call, std::index_sequence_for<A...>{}); }

  template <std::size_t... I>
  static repr::ColumnPtr run(KernelCall& call, std::index_sequence<I...>) {
    const std::tuple<Reader<A>...> in{Reader<A>(*call.arguments[I], call.rows)...};
    repr::BytesVector out;
    out.reserve(call.rows, 8 * call.rows);
    auto validity = strict_validity(call);
    RowErrors found;
    for (std::size_t row = 0; row < call.rows; ++row) {
      if (!validity.empty() && validity[row] == 0) {
        out.close();
        continue;
      }
      const std::size_t before = out.buffer().size();
      bool keep = true;
      if constexpr (std::is_void_v<R>) {
        F{}(out.buffer(), std::get<I>(in)[row]...);
      } else {
        keep = settle(F{}(out.buffer(), std::get<I>(in)[row]...), call, validity, row, found);
      }
      if (keep && !fits_value(before, out.buffer().size() - before)) [[unlikely]] {
        note_error(call, validity, row, too_large().error, found);
        keep = false;
      }
      if (!keep) out.buffer().resize(before);
      out.close();
    }
    finish_errors(call, found);
    return make_column(std::move(out), std::move(validity));
  }

 private:
  template <typename T>
  static bool settle(T result, KernelCall& call, std::vector<std::uint8_t>& validity,
                     std::size_t row, RowErrors& found) {
    if constexpr (std::is_same_v<R, bool>) {
      if (!result) set_null(validity, call.rows, row);
      return result;
    } else if constexpr (std::is_same_v<R, Fault>) {
      if (result != Fault::kNone) note_error(call, validity, row, fault_error(result), found);
      return result == Fault::kNone;
    } else {
      if (!result.has_value()) {
        note_error(call, validity, row, std::move(result).error(), found);
        return false;
      }
      if constexpr (std::is_same_v<R, Result<bool>>) {
        if (!*result) set_null(validity, call.rows, row);
        return *result;
      } else {
        return true;
      }
    }
  }
};

template <typename F>
struct TextKernel<F, void, std::string_view> {
  static repr::ColumnPtr run(KernelCall& call) {
    const Reader<std::string_view> in(*call.arguments[0], call.rows);
    repr::BytesVector out;
    out.reserve(call.rows, in.vector().byte_size());
    auto validity = strict_validity(call);
    RowErrors found;
    for (std::size_t row = 0; row < call.rows; ++row) {
      const std::size_t before = out.buffer().size();
      F{}(out.buffer(), in[row]);
      if (!fits_value(before, out.buffer().size() - before)) [[unlikely]] {
        note_error(call, validity, row, too_large().error, found);
        out.buffer().resize(before);
      }
      out.close();
    }
    finish_errors(call, found);
    return make_column(std::move(out), std::move(validity));
  }
};

template <typename>
struct SignatureOf;
template <typename C, typename R, typename... A>
struct SignatureOf<R (C::*)(A...) const> {
  using Kernel = ValueKernel<C, R, std::remove_cvref_t<A>...>;
  static constexpr bool can_fail = Returned<R>::can_fail;
  static constexpr bool may_be_null = Returned<R>::may_be_null;
};
template <typename T>
struct Returned<Result<std::optional<T>>> : Returned<T> {
  static constexpr bool can_fail = true;
  static constexpr bool may_be_null = true;
};
template <typename C, typename R, typename... A>
struct SignatureOf<R (C::*)(std::string&, A...) const> {
  using Kernel = TextKernel<C, R, std::remove_cvref_t<A>...>;
  static constexpr bool can_fail = std::is_same_v<R, Fault> || kIsResult<R>;
  static constexpr bool may_be_null = std::is_same_v<R, bool> || std::is_same_v<R, Result<bool>>;
};

template <typename F>
Lifted lift(F) {
  using Signature = SignatureOf<decltype(&F::operator())>;
  static constexpr ScalarKernel kernel{&Signature::Kernel::run};
  return {&kernel, Signature::can_fail, Signature::may_be_null};
}

/// For functions that fail only where a value would be larger than values may be: too rare to plan for.
inline Lifted unless_too_large(Lifted lifted) {
  lifted.can_fail = false;
  return lifted;
}

/// A kernel written over columns as a whole: a lambda `ColumnPtr(KernelCall&)`.
struct KernelTraits {
  bool can_fail = false;
  bool may_be_null = false;
};
template <typename F>
Lifted whole(F, KernelTraits traits = {}) {
  static constexpr ScalarKernel kernel{+F{}};
  return {&kernel, traits.can_fail, traits.may_be_null};
}

}  // namespace freshet::expr
