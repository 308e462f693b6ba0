// SPDX-License-Identifier: Apache-2.0
/// Regular expressions: PostgreSQL's advanced syntax as far as RE2 can follow.
///
/// Linear time, whatever the pattern. Without back references and look-around: these give 0A000. Of several
/// matches at one place the longest is taken, as PostgreSQL does, unless the pattern has a non-greedy
/// quantifier.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <freshet/base/result.h>

namespace freshet::expr {

class Regex {
 public:
  /// `flags`: i, c, n, s, x… as in the functions' last argument, without g.
  static Result<Regex> compile(std::string_view pattern, std::string_view flags);

  [[nodiscard]] bool matches(std::string_view text) const;
  /// The number of capturing groups.
  [[nodiscard]] int groups() const;
  /// A match: where it lies and what the groups hold (a null view: the group took no part).
  struct Match {
    std::size_t begin;
    std::size_t end;
    std::vector<std::string_view> groups;
  };
  /// The first match that begins at or after `from`. False if there is none.
  bool find(std::string_view text, std::size_t from, Match& match) const;

 private:
  struct Body;
  explicit Regex(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  std::shared_ptr<const Body> body_;
};

}  // namespace freshet::expr
