// SPDX-License-Identifier: Apache-2.0
/// A LIKE pattern made ready: common shapes (equal, prefix, suffix, contains) avoid the general matcher.
#pragma once

#include <string>
#include <string_view>

#include <freshet/base/result.h>

namespace freshet::expr {

class LikePattern {
 public:
  /// Bytes: `_` is one byte instead of one character.
  LikePattern(std::string_view pattern, bool bytes);
  /// 22025 if a trailing backslash is reached.
  [[nodiscard]] Result<bool> matches(std::string_view text) const;
  /// The shape is one that cannot fail; `matches_simple` may be used.
  [[nodiscard]] bool is_simple() const { return shape_ != Shape::kGeneral; }
  [[nodiscard]] bool matches_simple(std::string_view text) const;

 private:
  enum class Shape : std::uint8_t { kEqual, kPrefix, kSuffix, kContains, kAnything, kGeneral };
  std::string pattern_;   // kGeneral: as written; else the literal part
  Shape shape_;
  bool bytes_;
};

/// like_escape: rewrites a pattern with another escape character to one with backslash.
Result<std::string> like_escape(std::string_view pattern, std::string_view escape);

}  // namespace freshet::expr
