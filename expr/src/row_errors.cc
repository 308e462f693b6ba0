// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include <freshet/expr/eval.h>

namespace freshet::expr {
namespace {

bool less(const Error& a, const Error& b) {
  return std::tie(a.sqlstate, a.message) < std::tie(b.sqlstate, b.message);
}

}  // namespace

void RowErrors::add(std::uint32_t row, Error error) {
  if (entries.empty() || entries.back().row < row) {
    entries.push_back({row, std::move(error)});
    return;
  }
  const auto at = std::lower_bound(entries.begin(), entries.end(), row,
                                   [](const Entry& e, std::uint32_t r) { return e.row < r; });
  if (at->row != row) {
    entries.insert(at, {row, std::move(error)});
  } else if (less(error, at->error)) {
    at->error = std::move(error);
  }
}

void RowErrors::merge(const RowErrors& other) {
  if (other.empty()) return;
  if (entries.empty()) {
    entries = other.entries;
    return;
  }
  std::vector<Entry> out;
  out.reserve(entries.size() + other.entries.size());
  auto a = entries.begin();
  auto b = other.entries.begin();
  while (a != entries.end() && b != other.entries.end()) {
    if (a->row < b->row) {
      out.push_back(std::move(*a++));
    } else if (b->row < a->row) {
      out.push_back(*b++);
    } else {
      if (less(b->error, a->error)) a->error = b->error;
      out.push_back(std::move(*a++));
      ++b;
    }
  }
  std::move(a, entries.end(), std::back_inserter(out));
  out.insert(out.end(), b, other.entries.end());
  entries = std::move(out);
}

const Error* RowErrors::find(std::uint32_t row) const {
  if (entries.empty()) return nullptr;
  const auto at = std::lower_bound(entries.begin(), entries.end(), row,
                                   [](const Entry& e, std::uint32_t r) { return e.row < r; });
  return at != entries.end() && at->row == row ? &at->error : nullptr;
}

}  // namespace freshet::expr
