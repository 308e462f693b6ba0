// SPDX-License-Identifier: Apache-2.0
/// Answers a peek of the naive engine from the content of its collection.
#pragma once

#include <vector>

#include <freshet/compute_api/compute.h>
#include <freshet/expr/naive.h>

namespace freshet::compute {

/// Rows of `content` (of `types`) with one of the seek's key values, through the peek's mfp. `key` is the
/// index's key, null for a collection. An error in scope is the answer.
Result<expr::Multiset> peek_content(const compute_api::Peek& peek, const expr::Multiset& content,
                                    const std::vector<repr::ColumnType>& types,
                                    const expr::ArrangementKey* key);

}  // namespace freshet::compute
