// SPDX-License-Identifier: Apache-2.0
/// to_char of numbers: templates such as "FM999,990.00".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/repr/numeric.h>

namespace freshet::expr {

class NumberFormat {
 public:
  /// 42601 for templates that make no sense; 0A000 for V, RN and EEEE.
  static Result<NumberFormat> parse(std::string_view text);
  [[nodiscard]] std::string format(const repr::Numeric& value) const;
  /// A binary number shows no more than `digits` digits, unless they stand before the point.
  [[nodiscard]] std::string format_float(double value, int digits) const;

 private:
  enum class Kind : std::uint8_t { kNine, kZero, kPoint, kGroup, kSign, kMinus, kPlus, kPlusMinus, kOrdinal, kLiteral };
  struct Node {
    Kind kind;
    std::string text{};
  };
  class Printer;
  std::vector<Node> nodes_{};
  int before_ = 0;         // digits before the point
  int after_ = 0;
  int first_zero_ = -1;    // the first 0 before the point; it and what follows are never blank
  int last_zero_ = -1;     // the last 0 behind the point
  bool point_ = false;
  bool fill_ = true;       // without FM
  bool brackets_ = false;  // PR
  bool placed_sign_ = false;     // S, MI, PL or SG
  bool leading_sign_ = false;    // S before the digits
  bool trailing_sign_ = false;   // S behind them
};

}  // namespace freshet::expr
