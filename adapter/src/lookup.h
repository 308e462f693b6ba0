// SPDX-License-Identifier: Apache-2.0
/// Reads of one key of an index, planned once for all values of the parameters.
///
/// They cost no planning, no timestamp of their own dataflow and no change of thread: the time of the read is chosen
/// as for any read, and if no table behind the index has changed since the time that the index is complete at, what
/// the index has there is what the read must see.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <freshet/compute_api/compute.h>
#include <freshet/repr/row.h>
#include <freshet/sql/physical.h>
#include <freshet/sql/plan.h>

#include "result_rows.h"

namespace freshet::adapter {

/// Thread safety: one thread at a time.
class LookupPlan {
 public:
  LookupPlan(sql::OpenLookup open, const sql::Finishing& finishing, sql::Limits limits,
             std::vector<expr::GlobalId> tables, std::unique_ptr<compute_api::Lookup> index);

  /// The tables that the content comes from; nothing else.
  [[nodiscard]] const std::vector<expr::GlobalId>& tables() const { return tables_; }
  /// The rows at one time from `least` to `most`; nothing if they are not at hand, or there is an error to tell.
  std::optional<RowBatch> find(const repr::DatumRow& parameters, repr::SqlTime least, repr::SqlTime most);

 private:
  [[nodiscard]] bool set_key(const repr::DatumRow& parameters);

  sql::OpenLookup open_;
  sql::Finishing finishing_;
  sql::Limits limits_;
  std::vector<expr::GlobalId> tables_;
  std::unique_ptr<compute_api::Lookup> index_;
  repr::RowCodec codec_;
  Projection projection_;
  repr::DatumRow key_;
};

}  // namespace freshet::adapter
