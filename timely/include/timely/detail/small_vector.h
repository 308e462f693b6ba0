// SPDX-License-Identifier: Apache-2.0
/// A vector with room for one element inside itself, for sets of times that nearly always hold one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace timely::detail {

/// Invariant: either `rest_` is null and the `size_` (0 or 1) elements stand inline, or all
/// elements stand in `*rest_`.
template <typename T>
class SmallVector {
 public:
  SmallVector() {}  // NOLINT: the slot starts empty
  SmallVector(const SmallVector& other) { copy(other); }
  SmallVector(SmallVector&& other) noexcept { steal(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this == &other) return *this;
    clear();
    copy(other);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    clear();
    steal(other);
    return *this;
  }
  ~SmallVector() { clear(); }

  [[nodiscard]] std::size_t size() const { return large() ? rest_->size() : size_; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const T* data() const { return large() ? rest_->data() : &slot_; }
  [[nodiscard]] T* data() { return large() ? rest_->data() : &slot_; }
  [[nodiscard]] std::span<const T> span() const { return {data(), size()}; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return data()[i]; }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size(); }

  void push_back(T value) {
    if (large()) {
      rest_->push_back(std::move(value));
    } else if (size_ == 0) {
      std::construct_at(&slot_, std::move(value));
      size_ = 1;
    } else {
      grow(std::move(value));
    }
  }
  void clear() {
    if (large()) drop_rest();
    if constexpr (!std::is_trivially_destructible_v<T>) {
      if (size_ == 1) std::destroy_at(&slot_);
    }
    size_ = 0;
  }
  template <typename Predicate>
  void erase_if(Predicate predicate) {
    if (large()) {
      std::erase_if(*rest_, predicate);
    } else if (size_ == 1 && predicate(slot_)) {
      clear();
    }
  }

 private:
  [[nodiscard]] bool large() const { return __builtin_expect(rest_ != nullptr, 0) != 0; }
  // These three assume that this is empty, or large, as their names say.
  void copy(const SmallVector& other) {
    if (other.large()) {
      rest_ = new std::vector<T>(*other.rest_);  // NOLINT: owned
    } else if (other.size_ == 1) {
      std::construct_at(&slot_, other.slot_);
      size_ = 1;
    }
  }
  void steal(SmallVector& other) {
    rest_ = std::exchange(other.rest_, nullptr);
    if (other.size_ == 1) {
      std::construct_at(&slot_, std::move(other.slot_));
      size_ = 1;
      other.clear();
    }
  }
  [[gnu::noinline]] void grow(T value) {
    auto rest = std::make_unique<std::vector<T>>();
    rest->push_back(std::move(slot_));
    rest->push_back(std::move(value));
    clear();
    rest_ = rest.release();
  }
  [[gnu::noinline]] void drop_rest() {
    delete rest_;  // NOLINT: owned
    rest_ = nullptr;
  }

  std::vector<T>* rest_ = nullptr;
  std::size_t size_ = 0;
  union {
    T slot_;
  };
};

}  // namespace timely::detail
