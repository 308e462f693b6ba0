// SPDX-License-Identifier: Apache-2.0
/// What a reduce computes of each group, for all nodes that look at whole groups.
///
/// A group's values come in the order of their bytes; the logic reads no more of them than it needs. Each
/// value that it puts out begins with a tag: a row, or an encoded error row of the node's output.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <freshet/expr/order_encoder.h>
#include <freshet/repr/row.h>
#include <freshet/repr/time.h>

#include "dataflow/error_flow.h"

namespace freshet::compute {

inline constexpr char kRowTag = 0;
inline constexpr char kErrorTag = 1;
/// The number of an iteration, so that smaller ones come first.
inline constexpr std::size_t kIterationBytes = 8;

template <typename Output>
void push_tagged(Output& output, char tag, std::string_view bytes, repr::Diff count) {
  std::string& out = output.vals().open();
  out.push_back(tag);
  out.append(bytes);
  output.vals().close();
  output.diff(count);
}

/// Distinct rows: keys are the key bytes of the row, values its forms. The least form of a positive count shows.
/// With `by_iteration`, as many bytes of each value as `kIterationBytes` say in which iteration of a loop the update
/// came; then the form that came first shows, so that equal rows of different looks do not take turns for ever.
struct DistinctLogic {
  ColumnTypes types;
  bool by_iteration = false;

  template <typename Group, typename Output>
  void operator()(std::string_view key, Group& group, Output& output) const {
    if (by_iteration) return first(key, group, output);
    repr::Diff total = 0;
    std::string form;
    bool has_form = false;
    for (; group.valid(); group.step()) {
      total += group.diff();
      if (!has_form && group.diff() > 0) {
        form = group.val();
        has_form = true;
      }
    }
    if (total > 0) push_tagged(output, kRowTag, form, 1);
    if (total < 0) push_tagged(output, kErrorTag, negative(key), 1);
  }
  [[nodiscard]] std::string negative(std::string_view key) const;

 private:
  struct Form {
    repr::Diff count = 0;
    std::size_t first = SIZE_MAX;  ///< Which value of the group was the first with a positive count.
  };
  template <typename Group, typename Output>
  void first(std::string_view key, Group& group, Output& output) const {
    repr::Diff total = 0;
    std::map<std::string, Form, std::less<>> forms;
    for (std::size_t place = 0; group.valid(); group.step(), ++place) {
      const std::string_view form = std::string_view(group.val()).substr(kIterationBytes);
      Form& seen = forms.try_emplace(std::string(form)).first->second;
      seen.count += group.diff();
      total += group.diff();
      if (group.diff() > 0) seen.first = std::min(seen.first, place);
    }
    if (total < 0) push_tagged(output, kErrorTag, negative(key), 1);
    if (total <= 0) return;
    const std::pair<const std::string, Form>* shown = nullptr;
    for (const auto& candidate : forms) {
      if (candidate.second.count <= 0) continue;
      if (shown == nullptr || candidate.second.first < shown->second.first) shown = &candidate;
    }
    push_tagged(output, kRowTag, shown->first, 1);
  }
};

/// As many rows as the counts of equal rows sum to: keys are the key bytes of the row, values its forms. They show the
/// least forms of positive counts.
struct ThresholdLogic {
  template <typename Group, typename Output>
  void operator()(std::string_view, Group& group, Output& output) const {
    repr::Diff total = 0;
    std::vector<std::pair<std::string, repr::Diff>> forms;
    for (; group.valid(); group.step()) {
      total += group.diff();
      if (group.diff() > 0) forms.emplace_back(group.val(), group.diff());
    }
    for (const auto& [form, count] : forms) {
      if (total <= 0) return;
      push_tagged(output, kRowTag, form, std::min(count, total));
      total -= count;
    }
  }
};

/// Whether anything of the group is there at all (error rows, changes of an iteration).
struct PresenceLogic {
  template <typename Group, typename Output>
  void operator()(std::string_view, Group&, Output& output) const {
    push_tagged(output, kRowTag, {}, 1);
  }
};

/// Whether the counts of the group sum to more than zero (the keys of one side of a Match).
struct MatchedLogic {
  bool may_be_negative = false;

  template <typename Group, typename Output>
  void operator()(std::string_view, Group& group, Output& output) const {
    repr::Diff total = group.diff();
    if (may_be_negative || total <= 0) {
      for (group.step(); group.valid(); group.step()) total += group.diff();
    }
    if (total > 0) push_tagged(output, kRowTag, {}, 1);
  }
};

/// The first rows of each group: values are order bytes, then the row.
class TopKProgram {
 public:
  TopKProgram(const expr::Lir::TopK& node, const ColumnTypes& types, bool may_be_negative);

  template <typename Group, typename Output>
  void operator()(std::string_view key, Group& group, Output& output) const {
    const Limit limit = limit_of(key, row_of(group.val()));
    std::uint64_t skip = offset_;
    std::uint64_t rest = limit.error ? 0 : limit.rows;
    // Rows are put out only when the whole group proved sound.
    std::vector<std::pair<std::string, repr::Diff>> rows;
    for (; group.valid() && (rest > 0 || may_be_negative_); group.step()) {
      if (group.diff() < 0) return push_tagged(output, kErrorTag, error(key, expr::negative_multiplicity()), 1);
      auto count = static_cast<std::uint64_t>(group.diff());
      const std::uint64_t skipped = std::min(skip, count);
      skip -= skipped;
      count = std::min(count - skipped, rest);
      rest -= count;
      if (count > 0) rows.emplace_back(row_of(group.val()), static_cast<repr::Diff>(count));
    }
    if (limit.error) return push_tagged(output, kErrorTag, *limit.error, 1);
    for (const auto& [row, count] : rows) push_tagged(output, kRowTag, row, count);
  }

  [[nodiscard]] std::string_view row_of(std::string_view value) const { return value.substr(order_.size(value)); }

 private:
  struct Limit {
    std::uint64_t rows = UINT64_MAX;
    std::optional<std::string> error{};
  };
  [[nodiscard]] Limit limit_of(std::string_view key, std::string_view row) const;
  [[nodiscard]] std::string error(std::string_view key, Error error) const;

  std::vector<std::size_t> group_key_;
  std::optional<expr::Scalar> limit_;
  std::optional<std::uint64_t> fixed_limit_;
  std::uint64_t offset_;
  ColumnTypes types_;
  repr::RowCodec codec_;
  repr::RowCodec key_codec_;
  expr::OrderEncoder order_;
  bool may_be_negative_;
};

}  // namespace freshet::compute
