// SPDX-License-Identifier: Apache-2.0
#include "number_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/utf8.h>

namespace freshet::expr {
namespace {

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

bool take(std::string_view& text, std::string_view prefix) {
  if (text.size() < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (upper(text[i]) != prefix[i]) return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

base::Unexpected syntax(const char* message) { return fail(sqlstate::kSyntaxError, message); }

}  // namespace

Result<NumberFormat> NumberFormat::parse(std::string_view text) {
  NumberFormat out;
  while (!text.empty()) {
    const std::string_view start = text;
    if (text[0] == '"') {
      Node node{Kind::kLiteral};
      text.remove_prefix(1);
      while (!text.empty() && text[0] != '"') {
        if (text[0] == '\\' && text.size() > 1) text.remove_prefix(1);
        node.text += text[0];
        text.remove_prefix(1);
      }
      if (!text.empty()) text.remove_prefix(1);
      out.nodes_.push_back(std::move(node));
    } else if (take(text, "FM")) {
      out.fill_ = false;
    } else if (take(text, "EEEE") || take(text, "RN") || take(text, "V")) {
      return fail(sqlstate::kFeatureNotSupported,
                  "number format \"" + std::string(start.substr(0, start.size() - text.size())) + "\" is not supported");
    } else if (take(text, "PR")) {
      if (out.placed_sign_) return syntax("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together");
      out.brackets_ = true;
    } else if (take(text, "MI") || take(text, "PL") || take(text, "SG")) {
      const char c = upper(start[0]);
      out.nodes_.push_back({c == 'M' ? Kind::kMinus : c == 'P' ? Kind::kPlus : Kind::kPlusMinus});
      out.placed_sign_ = true;
    } else if (take(text, "TH")) {
      out.nodes_.push_back({Kind::kOrdinal, std::string(start.substr(0, 1))});
    } else if (take(text, "S")) {
      if (out.leading_sign_ || out.trailing_sign_) return syntax("cannot use \"S\" twice");
      out.placed_sign_ = true;
      (out.before_ + out.after_ == 0 ? out.leading_sign_ : out.trailing_sign_) = true;
    } else if (text[0] == '9' || text[0] == '0') {
      const bool zero = text[0] == '0';
      int& count = out.point_ ? out.after_ : out.before_;
      if (zero && !out.point_ && out.first_zero_ < 0) out.first_zero_ = count;
      if (zero && out.point_) out.last_zero_ = count;
      ++count;
      out.nodes_.push_back({zero ? Kind::kZero : Kind::kNine});
      text.remove_prefix(1);
    } else if (text[0] == '.' || upper(text[0]) == 'D') {
      if (out.point_) return syntax("multiple decimal points");
      out.point_ = true;
      out.nodes_.push_back({Kind::kPoint});
      text.remove_prefix(1);
    } else if (text[0] == ',' || upper(text[0]) == 'G') {
      out.nodes_.push_back({Kind::kGroup});
      text.remove_prefix(1);
    } else if (upper(text[0]) == 'L') {
      out.nodes_.push_back({Kind::kLiteral, " "});
      text.remove_prefix(1);
    } else if (upper(text[0]) == 'B' || upper(text[0]) == 'C') {
      text.remove_prefix(1);
    } else {
      if (text[0] == '\\' && text.size() > 1 && text[1] == '"') text.remove_prefix(1);
      const std::size_t size = repr::utf8::sequence_length(text[0]);
      out.nodes_.push_back({Kind::kLiteral, std::string(text.substr(0, size))});
      text.remove_prefix(size);
    }
  }
  return out;
}

// Writes one number.
class NumberFormat::Printer {
 public:
  // `text` is the magnitude, rounded already; "" if there is none to show.
  Printer(const NumberFormat& format, bool negative, const std::string& text)
      : f_(format), negative_(negative) {
    if (text.empty()) {
      overflow_ = true;
      fraction_.assign(static_cast<std::size_t>(f_.after_), '#');
      return;
    }
    const std::size_t dot = text.find('.');
    whole_ = text.substr(0, dot);
    if (dot != std::string::npos) fraction_ = text.substr(dot + 1);
    ordinal_of_ = whole_;
    // A lone zero before a point is blank unless a 0 asks for it.
    if (whole_ == "0" && f_.point_ && f_.first_zero_ < 0 && f_.before_ > 0) hidden_zero_ = true;
    overflow_ = whole_.size() > static_cast<std::size_t>(f_.before_) && !(whole_ == "0" && f_.before_ == 0);
    if (whole_ == "0" && f_.before_ == 0) whole_.clear();
    relevant_ = fraction_.size();
    if (!f_.fill_) {
      while (relevant_ > 0 && fraction_[relevant_ - 1] == '0' &&
             static_cast<int>(relevant_) - 1 > f_.last_zero_) {
        --relevant_;
      }
    }
  }

  std::string run() {
    for (const Node& node : f_.nodes_) {
      const std::size_t before = out_.size();
      write(node);
      const bool numeric = node.kind == Kind::kNine || node.kind == Kind::kZero || node.kind == Kind::kPoint;
      if (numeric && out_.size() > before) end_ = out_.size();
    }
    close();
    return std::move(out_);
  }

 private:
  void write(const Node& node) {
    switch (node.kind) {
      case Kind::kNine:
      case Kind::kZero: return digit();
      case Kind::kPoint: return point();
      case Kind::kGroup:
        if (started_) {
          out_ += overflow_ || !digits_written_ ? (overflow_ ? ',' : ' ') : ',';
        } else if (f_.fill_) {
          out_ += ' ';
        }
        return;
      case Kind::kMinus:
        if (negative_) {
          out_ += '-';
        } else if (f_.fill_) {
          out_ += ' ';
        }
        return;
      case Kind::kPlus:
        if (!negative_) {
          out_ += '+';
        } else if (f_.fill_) {
          out_ += ' ';
        }
        return;
      case Kind::kPlusMinus: out_ += negative_ ? '-' : '+'; return;
      case Kind::kOrdinal: return ordinal(node.text[0] == 't');
      case Kind::kSign: return;
      case Kind::kLiteral: out_ += node.text; return;
    }
  }

  // The sign goes right before the first thing that is not blank.
  void start() {
    if (started_) return;
    started_ = true;
    if (f_.leading_sign_) {
      out_ += negative_ ? '-' : '+';
    } else if (f_.brackets_) {
      if (negative_) {
        out_ += '<';
      } else if (f_.fill_) {
        out_ += ' ';
      }
    } else if (!f_.placed_sign_) {
      if (negative_) {
        out_ += '-';
      } else if (f_.fill_) {
        out_ += ' ';
      }
    }
  }

  void digit() {
    if (after_point_) {
      const auto index = static_cast<std::size_t>(fraction_at_++);
      if (overflow_) {
        if (index < fraction_.size()) out_ += '#';
      } else if (index < relevant_) {
        out_ += fraction_[index];
      }
      return;
    }
    const int slot = whole_at_++;
    if (overflow_) {
      start();
      out_ += '#';
      return;
    }
    const int first = f_.before_ - static_cast<int>(whole_.size());
    if (slot >= first && !hidden_zero_) {
      start();
      digits_written_ = true;
      out_ += whole_[static_cast<std::size_t>(slot - first)];
    } else if (f_.first_zero_ >= 0 && slot >= f_.first_zero_) {
      start();
      digits_written_ = true;
      out_ += '0';
    } else if (slot >= first && hidden_zero_ && !f_.fill_ && relevant_ == 0) {
      start();
      out_ += '0';
    } else if (f_.fill_) {
      out_ += ' ';
    }
  }

  void point() {
    start();
    after_point_ = true;
    out_ += '.';
  }

  void ordinal(bool lower) {
    if (negative_ || overflow_ || f_.point_ || ordinal_of_.empty()) return;
    const char last = ordinal_of_.back();
    const bool teen = ordinal_of_.size() > 1 && ordinal_of_[ordinal_of_.size() - 2] == '1';
    std::string_view suffix = lower ? "th" : "TH";
    if (!teen && last == '1') suffix = lower ? "st" : "ST";
    if (!teen && last == '2') suffix = lower ? "nd" : "ND";
    if (!teen && last == '3') suffix = lower ? "rd" : "RD";
    out_ += suffix;
  }

  // What stands behind the last digit.
  void close() {
    std::string tail;
    if (f_.trailing_sign_) tail = negative_ ? "-" : "+";
    if (f_.brackets_) tail = negative_ ? ">" : f_.fill_ ? " " : "";
    out_.insert(end_, tail);
  }

  const NumberFormat& f_;
  std::string whole_;
  std::string fraction_;
  std::string ordinal_of_;
  std::string out_;
  std::size_t relevant_ = 0;  // digits of the fraction that are shown
  std::size_t end_ = 0;       // behind the last digit written
  int whole_at_ = 0;
  int fraction_at_ = 0;
  bool negative_ = false;
  bool overflow_ = false;
  bool hidden_zero_ = false;
  bool started_ = false;
  bool digits_written_ = false;
  bool after_point_ = false;
};

std::string NumberFormat::format(const repr::Numeric& value) const {
  const repr::Numeric rounded = value.round(after_);
  return Printer(*this, rounded.is_negative(), rounded.is_finite() ? rounded.abs().to_string() : "").run();
}

std::string NumberFormat::format_float(double value, int digits) const {
  if (!std::isfinite(value)) return Printer(*this, value < 0, "").run();
  const double magnitude = std::fabs(value);
  const auto print = [&](int after) {
    std::array<char, 350> text{};
    const int size = std::snprintf(text.data(), text.size(), "%.*f", after, magnitude);
    return std::string(text.data(), static_cast<std::size_t>(size));
  };
  const int whole = static_cast<int>(print(0).size());
  const int room = std::max(digits - whole, 0);
  return Printer(*this, value < 0, print(std::min(after_, room))).run();
}

}  // namespace freshet::expr
