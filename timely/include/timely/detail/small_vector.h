// SPDX-License-Identifier: Apache-2.0
/// A vector with room for one element inside itself, for sets of times that nearly always hold one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace timely::detail {

/// Invariant: either `rest_` is null and the `size_` (0 or 1) elements stand inline, or all elements
/// stand in `rest_`.
template <typename T>
class SmallVector {
 public:
  SmallVector() {}  // NOLINT: the slot starts empty
  SmallVector(const SmallVector& other) { *this = other; }
  SmallVector(SmallVector&& other) noexcept { swap(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this == &other) return *this;
    clear();
    for (const T& element : other.span()) push_back(element);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    clear();
    swap(other);
    return *this;
  }
  ~SmallVector() { clear(); }

  [[nodiscard]] std::size_t size() const { return rest_ ? rest_->size() : size_; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const T* data() const { return rest_ ? rest_->data() : &slot_; }
  [[nodiscard]] T* data() { return rest_ ? rest_->data() : &slot_; }
  [[nodiscard]] std::span<const T> span() const { return {data(), size()}; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return data()[i]; }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size(); }

  void push_back(T value) {
    if (rest_) {
      rest_->push_back(std::move(value));
    } else if (size_ == 0) {
      std::construct_at(&slot_, std::move(value));
      size_ = 1;
    } else {
      auto rest = std::make_unique<std::vector<T>>();
      rest->push_back(std::move(slot_));
      rest->push_back(std::move(value));
      clear();
      rest_ = std::move(rest);
    }
  }
  void clear() {
    rest_.reset();
    if (size_ == 1) std::destroy_at(&slot_);
    size_ = 0;
  }
  template <typename Predicate>
  void erase_if(Predicate predicate) {
    if (rest_) {
      std::erase_if(*rest_, predicate);
    } else if (size_ == 1 && predicate(slot_)) {
      clear();
    }
  }

 private:
  void swap(SmallVector& other) {  // this is empty
    rest_ = std::move(other.rest_);
    if (other.size_ == 1) {
      std::construct_at(&slot_, std::move(other.slot_));
      size_ = 1;
    }
    other.clear();
  }

  std::unique_ptr<std::vector<T>> rest_;
  std::size_t size_ = 0;
  union {
    T slot_;
  };
};

}  // namespace timely::detail
