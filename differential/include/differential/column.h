// SPDX-License-Identifier: Apache-2.0
/// `Column<K>` holds many values of one type in the layout that suits it.
///
/// Fixed-width types lie flat; strings are offsets and bytes and read as `std::string_view`; pairs and
/// tuples are one column each; `Unit` takes nothing. A column grows; its `View` reads, costs nothing to
/// copy and also reads the frozen columns inside a block. Values are compared by their references.
///
/// A trivially copyable user type with `operator<=>` lies flat; specialise `PrefixOf` to sort it fast.
///
///     Column<std::string> names;
///     names.push("ada");
///     names.view()[0];                       // std::string_view
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <differential/buffer.h>
#include <differential/update.h>
#include <freshet/base/assert.h>
#include <freshet/base/random.h>

namespace differential {

// --- comparing, prefixes and hashes of references -------------------------------------------------

namespace detail {

inline std::uint64_t load_big_endian(const char* data) {
  std::uint64_t word;
  std::memcpy(&word, data, sizeof word);
  return __builtin_bswap64(word);
}

/// The first eight bytes as a number whose order is the order of the bytes; missing ones are zero.
inline std::uint64_t bytes_prefix(std::string_view v) {
  if (v.size() >= 8) return load_big_endian(v.data());
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(v[i])) << (56 - 8 * i);
  }
  return word;
}

inline int compare_bytes(std::string_view a, std::string_view b) {
  const std::size_t common = a.size() < b.size() ? a.size() : b.size();
  std::size_t at = 0;
  for (; at + 8 <= common; at += 8) {
    const std::uint64_t x = load_big_endian(a.data() + at);
    const std::uint64_t y = load_big_endian(b.data() + at);
    if (x != y) return x < y ? -1 : 1;
  }
  if (at < common) {
    const std::uint64_t x = bytes_prefix(a.substr(at, common - at));
    const std::uint64_t y = bytes_prefix(b.substr(at, common - at));
    if (x != y) return x < y ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : (a.size() < b.size() ? -1 : 1);
}

inline std::uint64_t hash_bytes(std::string_view v) {
  std::uint64_t hash = 0x2545f4914f6cdd1dULL ^ v.size();
  for (; v.size() >= 8; v.remove_prefix(8)) {
    std::uint64_t word;
    std::memcpy(&word, v.data(), sizeof word);
    hash = (std::rotl(hash, 27) ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  std::uint64_t tail = 0;
  std::memcpy(&tail, v.data(), v.size());
  return freshet::base::mix64(hash ^ tail);
}

}  // namespace detail

template <typename A, typename B>
constexpr int compare(const std::pair<A, B>& a, const std::pair<A, B>& b);
template <typename... As>
constexpr int compare(const std::tuple<As...>& a, const std::tuple<As...>& b);

/// Negative, zero or positive, in the order that arrangements use.
template <typename A>
constexpr int compare(const A& a, const A& b) {
  if (a < b) return -1;
  return b < a ? 1 : 0;
}
inline int compare(std::string_view a, std::string_view b) { return detail::compare_bytes(a, b); }
constexpr int compare(Unit, Unit) { return 0; }
template <typename A, typename B>
constexpr int compare(const std::pair<A, B>& a, const std::pair<A, B>& b) {
  const int first = compare(a.first, b.first);
  return first != 0 ? first : compare(a.second, b.second);
}
template <typename... As>
constexpr int compare(const std::tuple<As...>& a, const std::tuple<As...>& b) {
  int result = 0;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (void)((result = compare(std::get<I>(a), std::get<I>(b)), result == 0) && ...);
  }(std::index_sequence_for<As...>{});
  return result;
}

/// An order-preserving prefix of a value, left-aligned in 64 bits. `kExact`: `kBits` bits tell all.
template <typename K>
struct PrefixOf {
  static constexpr bool kExact = false;
  static constexpr unsigned kBits = 64;
  static constexpr std::uint64_t of(const K&) { return 0; }
};
template <std::integral K>
struct PrefixOf<K> {
  static constexpr bool kExact = sizeof(K) <= 8;
  static constexpr unsigned kBits = 8 * sizeof(K);
  static constexpr std::uint64_t of(K v) {
    static_assert(sizeof(K) <= 8);
    using U = std::make_unsigned_t<std::conditional_t<std::same_as<K, bool>, unsigned char, K>>;
    auto u = static_cast<std::uint64_t>(static_cast<U>(v)) << (64 - kBits);
    if constexpr (std::signed_integral<K>) u ^= std::uint64_t{1} << 63;
    return u;
  }
};
template <>
struct PrefixOf<Unit> {
  static constexpr bool kExact = true;
  static constexpr unsigned kBits = 0;
  static constexpr std::uint64_t of(Unit) { return 0; }
};
template <>
struct PrefixOf<std::string_view> {
  static constexpr bool kExact = false;
  static constexpr unsigned kBits = 64;
  static std::uint64_t of(std::string_view v) { return detail::bytes_prefix(v); }
};

namespace detail {
/// Prefix of a composite: as much of the second as fits behind the first, if the first is exact.
template <typename A, typename B>
struct JoinedPrefix {
  static constexpr bool kExact =
      PrefixOf<A>::kExact && PrefixOf<B>::kExact && PrefixOf<A>::kBits + PrefixOf<B>::kBits <= 64;
  static constexpr unsigned kBits =
      kExact ? PrefixOf<A>::kBits + PrefixOf<B>::kBits : 64;
  static std::uint64_t of(const A& a, const B& b) {
    std::uint64_t prefix = PrefixOf<A>::of(a);
    if constexpr (PrefixOf<A>::kExact && PrefixOf<A>::kBits < 64) {
      prefix |= PrefixOf<B>::of(b) >> PrefixOf<A>::kBits;
    }
    return prefix;
  }
};
}  // namespace detail

template <typename A, typename B>
struct PrefixOf<std::pair<A, B>> {
  using Joined = detail::JoinedPrefix<A, B>;
  static constexpr bool kExact = Joined::kExact;
  static constexpr unsigned kBits = Joined::kBits;
  static std::uint64_t of(const std::pair<A, B>& v) { return Joined::of(v.first, v.second); }
};
template <typename A>
struct PrefixOf<std::tuple<A>> : PrefixOf<A> {
  static std::uint64_t of(const std::tuple<A>& v) { return PrefixOf<A>::of(std::get<0>(v)); }
};
template <typename A, typename B, typename... Rest>
struct PrefixOf<std::tuple<A, B, Rest...>> {
  using Joined = detail::JoinedPrefix<A, B>;
  static constexpr bool kExact = sizeof...(Rest) == 0 && Joined::kExact;
  static constexpr unsigned kBits = kExact ? Joined::kBits : 64;
  static std::uint64_t of(const std::tuple<A, B, Rest...>& v) {
    return Joined::of(std::get<0>(v), std::get<1>(v));
  }
};

template <typename A, typename B>
constexpr std::uint64_t hash_of(const std::pair<A, B>& v);
template <typename... As>
constexpr std::uint64_t hash_of(const std::tuple<As...>& v);

/// A hash of a value that is the same on every worker and in every process.
template <typename A>
constexpr std::uint64_t hash_of(const A& v) {
  if constexpr (std::integral<A> || std::is_enum_v<A>) {
    return freshet::base::mix64(static_cast<std::uint64_t>(v));
  } else if constexpr (std::same_as<A, Unit>) {
    return 0;
  } else {
    return freshet::base::mix64(std::hash<A>{}(v));
  }
}
inline std::uint64_t hash_of(std::string_view v) { return detail::hash_bytes(v); }
inline std::uint64_t hash_of(const std::string& v) { return detail::hash_bytes(v); }
template <typename A, typename B>
constexpr std::uint64_t hash_of(const std::pair<A, B>& v) {
  return freshet::base::mix64(hash_of(v.first) ^ std::rotl(hash_of(v.second), 23));
}
template <typename... As>
constexpr std::uint64_t hash_of(const std::tuple<As...>& v) {
  return std::apply(
      [](const auto&... parts) {
        std::uint64_t hash = 0;
        ((hash = freshet::base::mix64(std::rotl(hash, 23) ^ hash_of(parts))), ...);
        return hash;
      },
      v);
}

// --- columns --------------------------------------------------------------------------------------

/// The growing column. Primary template: flat.
template <typename K>
class Column;
/// Reads a column or a part of a frozen block.
template <typename K>
class ColumnView;

template <typename K>
using RefOf = typename ColumnView<K>::Ref;

namespace detail {
/// Takes `bytes` from the arena at `place`, which stays aligned to 8.
inline std::byte* carve(std::byte*& place, std::size_t bytes) {
  std::byte* result = place;
  place += (bytes + 7) / 8 * 8;
  return result;
}
inline std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }
}  // namespace detail

template <typename K>
class ColumnView {
  static_assert(std::is_trivially_copyable_v<K> && alignof(K) <= 8,
                "specialise Column for types that are not trivially copyable");

 public:
  using Ref = K;
  ColumnView() = default;
  explicit ColumnView(const K* data) : data_(data) {}
  Ref operator[](std::size_t i) const { return data_[i]; }
  [[nodiscard]] const K* data() const { return data_; }

 private:
  const K* data_ = nullptr;
};

template <typename K>
class Column {
 public:
  using View = ColumnView<K>;
  using Ref = typename View::Ref;
  /// How values of the column are owned.
  using Owned = K;

  [[nodiscard]] std::size_t size() const { return data_.size(); }
  [[nodiscard]] std::size_t bytes() const { return data_.size() * sizeof(K); }
  void clear() { data_.clear(); }
  void reserve(std::size_t n) { data_.reserve(n); }
  void push(Ref v) { data_.push_back(v); }
  void push_range(View from, std::size_t low, std::size_t high) {
    data_.append(from.data() + low, high - low);
  }
  Ref operator[](std::size_t i) const { return data_[i]; }
  /// To write in bulk: places for `n` more, then what was written.
  [[nodiscard]] K* grow(std::size_t n) {
    data_.reserve(data_.size() + n);
    return data_.end();
  }
  void wrote(std::size_t n) { data_.resize(data_.size() + n); }
  void pop() { data_.pop_back(); }
  [[nodiscard]] View view() const { return View(data_.data()); }
  [[nodiscard]] std::size_t frozen_bytes() const { return detail::padded(bytes()); }
  View freeze(std::byte*& place) const {
    std::byte* to = detail::carve(place, bytes());
    if (!data_.empty()) std::memcpy(to, data_.data(), bytes());
    return View(reinterpret_cast<const K*>(to));
  }
  static K own(Ref v) { return v; }

 private:
  Buffer<K> data_;
};

template <>
class ColumnView<Unit> {
 public:
  using Ref = Unit;
  Ref operator[](std::size_t) const { return {}; }
};

template <>
class Column<Unit> {
 public:
  using View = ColumnView<Unit>;
  using Ref = Unit;
  using Owned = Unit;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return 0; }
  void clear() { size_ = 0; }
  void reserve(std::size_t) {}
  void push(Unit) { ++size_; }
  void push_range(View, std::size_t low, std::size_t high) { size_ += high - low; }
  Ref operator[](std::size_t) const { return {}; }
  void pop() { --size_; }
  [[nodiscard]] View view() const { return {}; }
  [[nodiscard]] std::size_t frozen_bytes() const { return 0; }
  View freeze(std::byte*&) const { return {}; }
  static Unit own(Unit v) { return v; }

 private:
  std::size_t size_ = 0;
};

/// `ends[i]` is where value i ends; it starts where the one before ends.
template <>
class ColumnView<std::string> {
 public:
  using Ref = std::string_view;
  ColumnView() = default;
  ColumnView(const std::uint32_t* offsets, const char* bytes) : offsets_(offsets), bytes_(bytes) {}
  Ref operator[](std::size_t i) const {
    return {bytes_ + offsets_[i], static_cast<std::size_t>(offsets_[i + 1] - offsets_[i])};
  }
  [[nodiscard]] const std::uint32_t* offsets() const { return offsets_; }
  [[nodiscard]] const char* raw() const { return bytes_; }

 private:
  const std::uint32_t* offsets_ = nullptr;
  const char* bytes_ = nullptr;
};

template <>
class Column<std::string> {
 public:
  using View = ColumnView<std::string>;
  using Ref = std::string_view;
  using Owned = std::string;

  Column() { offsets_.push_back(0); }
  Column(const Column&) = default;
  Column& operator=(const Column&) = default;
  Column(Column&& other) noexcept : Column() { *this = std::move(other); }
  Column& operator=(Column&& other) noexcept {
    std::swap(offsets_, other.offsets_);
    bytes_.swap(other.bytes_);
    return *this;
  }

  [[nodiscard]] std::size_t size() const { return offsets_.size() - 1; }
  [[nodiscard]] std::size_t bytes() const { return bytes_.size() + 4 * size(); }
  void clear() {
    offsets_.resize(1);
    bytes_.clear();
  }
  void reserve(std::size_t n) { offsets_.reserve(n + 1); }
  void reserve_bytes(std::size_t n) { bytes_.reserve(n); }
  void push(Ref v) {
    bytes_.append(v);
    close();
  }
  /// To write a value in place: append its bytes to `open()`, then `close()` it.
  [[nodiscard]] std::string& open() { return bytes_; }
  void close() {
    FRESHET_ASSERT(bytes_.size() <= UINT32_MAX, bytes_.size());
    offsets_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  void push_range(View from, std::size_t low, std::size_t high) {
    if (low == high) return;
    const std::uint32_t start = from.offsets()[low];
    const std::uint32_t shift = static_cast<std::uint32_t>(bytes_.size()) - start;
    bytes_.append(from.raw() + start, from.offsets()[high] - start);
    FRESHET_ASSERT(bytes_.size() <= UINT32_MAX, bytes_.size());
    const std::size_t size = offsets_.size();
    offsets_.resize(size + high - low);
    for (std::size_t i = low; i < high; ++i) offsets_[size + i - low] = from.offsets()[i + 1] + shift;
  }
  Ref operator[](std::size_t i) const { return view()[i]; }
  void pop() {
    offsets_.pop_back();
    bytes_.resize(offsets_.back());
  }
  [[nodiscard]] View view() const { return {offsets_.data(), bytes_.data()}; }
  [[nodiscard]] std::size_t frozen_bytes() const {
    return detail::padded(4 * offsets_.size()) + detail::padded(bytes_.size());
  }
  View freeze(std::byte*& place) const {
    std::byte* offsets = detail::carve(place, 4 * offsets_.size());
    std::memcpy(offsets, offsets_.data(), 4 * offsets_.size());
    std::byte* bytes = detail::carve(place, bytes_.size());
    if (!bytes_.empty()) std::memcpy(bytes, bytes_.data(), bytes_.size());
    return {reinterpret_cast<const std::uint32_t*>(offsets), reinterpret_cast<const char*>(bytes)};
  }
  static std::string own(Ref v) { return std::string(v); }

 private:
  Buffer<std::uint32_t> offsets_;
  std::string bytes_;
};

namespace detail {

template <typename Composite, typename... As>
class CompositeView {
 public:
  using Views = std::tuple<ColumnView<As>...>;
  CompositeView() = default;
  explicit CompositeView(Views views) : views_(views) {}
  [[nodiscard]] const Views& parts() const { return views_; }

 protected:
  Views views_;
};

/// One column for each part; `MakeRef` is std::pair or std::tuple of the parts' references.
template <typename Composite, typename... As>
class CompositeColumn {
  using Indices = std::index_sequence_for<As...>;

 public:
  using View = ColumnView<Composite>;
  using Ref = typename View::Ref;
  using Owned = Composite;

  [[nodiscard]] std::size_t size() const { return std::get<0>(columns_).size(); }
  [[nodiscard]] std::size_t bytes() const {
    return std::apply([](const auto&... c) { return (c.bytes() + ...); }, columns_);
  }
  void clear() {
    std::apply([](auto&... c) { (c.clear(), ...); }, columns_);
  }
  void reserve(std::size_t n) {
    std::apply([n](auto&... c) { (c.reserve(n), ...); }, columns_);
  }
  void push(const Ref& v) { push(v, Indices{}); }
  void push_range(View from, std::size_t low, std::size_t high) {
    push_range(from, low, high, Indices{});
  }
  Ref operator[](std::size_t i) const { return view()[i]; }
  void pop() {
    std::apply([](auto&... c) { (c.pop(), ...); }, columns_);
  }
  [[nodiscard]] View view() const {
    return std::apply([](const auto&... c) { return View(std::tuple(c.view()...)); }, columns_);
  }
  [[nodiscard]] std::size_t frozen_bytes() const {
    return std::apply([](const auto&... c) { return (c.frozen_bytes() + ...); }, columns_);
  }
  View freeze(std::byte*& place) const {
    return std::apply(
        [&](const auto&... c) { return View(std::tuple<ColumnView<As>...>{c.freeze(place)...}); },
        columns_);
  }
  static Composite own(const Ref& v) { return own(v, Indices{}); }

 private:
  template <std::size_t... I>
  void push(const Ref& v, std::index_sequence<I...>) {
    (std::get<I>(columns_).push(std::get<I>(v)), ...);
  }
  template <std::size_t... I>
  void push_range(View from, std::size_t low, std::size_t high, std::index_sequence<I...>) {
    (std::get<I>(columns_).push_range(std::get<I>(from.parts()), low, high), ...);
  }
  template <std::size_t... I>
  static Composite own(const Ref& v, std::index_sequence<I...>) {
    return Composite{Column<As>::own(std::get<I>(v))...};
  }
  std::tuple<Column<As>...> columns_;
};

}  // namespace detail

template <typename A, typename B>
class ColumnView<std::pair<A, B>> : public detail::CompositeView<std::pair<A, B>, A, B> {
 public:
  using Ref = std::pair<RefOf<A>, RefOf<B>>;
  using detail::CompositeView<std::pair<A, B>, A, B>::CompositeView;
  Ref operator[](std::size_t i) const {
    return Ref(std::get<0>(this->views_)[i], std::get<1>(this->views_)[i]);
  }
};
template <typename A, typename B>
class Column<std::pair<A, B>> : public detail::CompositeColumn<std::pair<A, B>, A, B> {};

template <typename... As>
class ColumnView<std::tuple<As...>> : public detail::CompositeView<std::tuple<As...>, As...> {
 public:
  using Ref = std::tuple<RefOf<As>...>;
  using detail::CompositeView<std::tuple<As...>, As...>::CompositeView;
  Ref operator[](std::size_t i) const {
    return std::apply([i](const auto&... v) { return Ref(v[i]...); }, this->views_);
  }
};
template <typename... As>
class Column<std::tuple<As...>> : public detail::CompositeColumn<std::tuple<As...>, As...> {};

/// A reference to an owned value, for seeking.
template <typename K>
RefOf<K> ref_of(const K& v) {
  if constexpr (std::is_constructible_v<RefOf<K>, const K&>) {
    return RefOf<K>(v);
  } else {
    return std::apply([](const auto&... parts) { return RefOf<K>(ref_of(parts)...); }, v);
  }
}

}  // namespace differential
