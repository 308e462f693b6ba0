// SPDX-License-Identifier: Apache-2.0
/// The accumulated content of one collection at every time from a since on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <freshet/expr/naive.h>
#include <freshet/storage_api/storage.h>

namespace freshet::compute {

class NaiveInput {
 public:
  explicit NaiveInput(repr::SqlTime since) : since_(since) {}
  void apply(const storage_api::CollectionUpdates& updates);
  void set_upper(repr::SqlTime upper) { upper_ = upper; }
  [[nodiscard]] repr::SqlTime upper() const { return upper_; }
  /// The content at `time`, which must lie in [since, upper).
  [[nodiscard]] expr::Multiset at(repr::SqlTime time) const;
  /// Times in (after, before) at which something changed, ascending.
  [[nodiscard]] std::vector<repr::SqlTime> changes(repr::SqlTime after, repr::SqlTime before) const;
  void compact(repr::SqlTime since);

 private:
  struct Update {
    bool is_error;
    std::string row;
    repr::Diff diff;
  };
  static void add(expr::Multiset& content, const Update& update);

  repr::SqlTime since_;
  repr::SqlTime upper_ = 0;
  expr::Multiset base_{};                             // everything at or before since_
  std::map<repr::SqlTime, std::vector<Update>> later_{};
};

}  // namespace freshet::compute
