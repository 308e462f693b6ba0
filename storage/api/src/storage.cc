// SPDX-License-Identifier: Apache-2.0
#include <freshet/storage_api/storage.h>

namespace freshet::storage_api {

void EncodedUpdates::push_back(std::string_view row, SqlTime time, Diff diff) {
  const std::size_t before = rows.size();
  rows.push_back(row);
  if (before == 0) {
    times.assign(1, time);
  } else if (times.size() > 1 || times[0] != time) {
    if (times.size() == 1) times.resize(before, times[0]);  // from "all rows" to "one a row"
    times.push_back(time);
  }
  if (diffs.empty() && diff == 1) return;
  if (diffs.empty()) diffs.assign(before, 1);
  diffs.push_back(diff);
}

}  // namespace freshet::storage_api
