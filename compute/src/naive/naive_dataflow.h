// SPDX-License-Identifier: Apache-2.0
/// One dataflow of the naive engine: its inputs, and the content of its collections at a time.
///
/// Lifetime: a dataflow that another one imports stays alive through `upstream`.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include <freshet/base/result.h>
#include <freshet/expr/dataflow.h>

#include "naive/naive_input.h"

namespace freshet::compute {

class NaiveDataflow {
 public:
  NaiveDataflow(expr::DataflowDescription description,
                std::map<expr::GlobalId, std::shared_ptr<NaiveDataflow>> upstream);

  [[nodiscard]] const expr::DataflowDescription& description() const { return description_; }
  [[nodiscard]] std::map<expr::GlobalId, NaiveInput>& inputs() { return inputs_; }
  /// By the id of the collection that is read through an index of theirs.
  [[nodiscard]] const std::map<expr::GlobalId, std::shared_ptr<NaiveDataflow>>& upstream() const {
    return upstream_;
  }
  [[nodiscard]] bool reads(const NaiveDataflow& other) const;

  /// Every collection is complete below this; kClosed once `until` is reached.
  [[nodiscard]] repr::SqlTime upper() const;
  /// The content of an import or an object at a time in [as_of, upper).
  Result<std::shared_ptr<const expr::Multiset>> content(expr::GlobalId id, repr::SqlTime time);
  /// Times in (after, before) at which the content of `id` may have changed, ascending.
  Result<std::vector<repr::SqlTime>> changes(expr::GlobalId id, repr::SqlTime after,
                                             repr::SqlTime before);
  /// Contents before `since` will not be asked for any more.
  void compact(repr::SqlTime since);

 private:
  using Content = std::shared_ptr<const expr::Multiset>;
  Result<Content> evaluate(expr::GlobalId id, repr::SqlTime time);
  void input_changes(repr::SqlTime after, repr::SqlTime before, std::set<repr::SqlTime>& times) const;
  Result<void> bisect(expr::GlobalId id, repr::SqlTime low, repr::SqlTime high,
                      std::vector<repr::SqlTime>& times);
  [[nodiscard]] bool is_temporal() const;

  expr::DataflowDescription description_;
  std::map<expr::GlobalId, std::shared_ptr<NaiveDataflow>> upstream_;
  std::map<expr::GlobalId, NaiveInput> inputs_;
  bool temporal_;
  std::map<std::pair<repr::SqlTime, expr::GlobalId>, Content> cache_{};
};

/// The error that a reader of `content` sees (the least), if it holds any error row, or a row with a count
/// below zero. `types` are those of the content.
Result<void> check_content(const expr::Multiset& content, const std::vector<repr::ColumnType>& types);

}  // namespace freshet::compute
