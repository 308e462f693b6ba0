// SPDX-License-Identifier: Apache-2.0
/// The last operators of a dataflow: what leaves it, and the news that time moved.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include <timely/operator.h>

#include "dataflow/collector.h"
#include "dataflow/row_layout.h"
#include "dataflow/rows.h"

namespace freshet::compute {

inline SqlTime upper_of(const timely::Antichain<SqlTime>& frontier) {
  return frontier.empty() ? repr::kClosed : frontier.only();
}

/// Called with each new upper, on a worker; must be quick.
using UpperListener = std::function<void(SqlTime)>;

/// Tells a listener, from one worker, when both of two frontiers passed a time.
class UpperReporter {
 public:
  UpperReporter(bool reports, UpperListener listener) : reports_(reports), listener_(std::move(listener)) {}
  void report(SqlTime upper) {
    if (!reports_ || upper <= last_) return;
    last_ = upper;
    listener_(upper);
  }

 private:
  bool reports_;
  UpperListener listener_;
  SqlTime last_ = 0;
};

/// Puts rows and error rows into a collector.
class CollectOperator {
 public:
  CollectOperator(std::shared_ptr<Collector> collector, const ColumnTypes& types, UpperReporter reporter)
      : collector_(std::move(collector)), codec_(sql_types(types)), reporter_(std::move(reporter)) {}

  void step(timely::Input<SqlTime, Rows<SqlTime>>& oks, timely::Input<SqlTime, ErrorUpdates<SqlTime>>& errs) {
    oks.for_each([&](const timely::Capability<SqlTime>&, Rows<SqlTime> rows) {
      repr::BytesVector encoded;
      codec_.encode(rows.chunk.columns, 0, rows.size(), encoded);
      Collector::Updates updates;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        updates.push(encoded[i], {}, rows.time(i), rows.chunk.diff(i));
      }
      collector_->add_oks(std::move(updates));
    });
    errs.for_each([&](const timely::Capability<SqlTime>&, ErrorUpdates<SqlTime> errors) {
      Collector::Updates updates;
      for (const auto& error : errors) updates.push(error.data, {}, error.time, error.diff);
      collector_->add_errs(std::move(updates));
    });
    // A frontier covers what still waits in the input, so all before it has been collected.
    reporter_.report(std::min(upper_of(oks.frontier()), upper_of(errs.frontier())));
  }

 private:
  std::shared_ptr<Collector> collector_;
  repr::RowCodec codec_;
  UpperReporter reporter_;
};

/// Watches two streams of anything.
template <typename M1, typename M2>
class WatchOperator {
 public:
  explicit WatchOperator(UpperReporter reporter) : reporter_(std::move(reporter)) {}
  void step(timely::Input<SqlTime, M1>& first, timely::Input<SqlTime, M2>& second) {
    first.for_each([](const timely::Capability<SqlTime>&, M1) {});
    second.for_each([](const timely::Capability<SqlTime>&, M2) {});
    reporter_.report(std::min(upper_of(first.frontier()), upper_of(second.frontier())));
  }

 private:
  UpperReporter reporter_;
};

/// The error rows of an index under its key.
class ArrangeErrors {
 public:
  ArrangeErrors(expr::ArrangementKey key, ColumnTypes types)
      : key_(std::move(key)), types_(std::move(types)), keys_(key_types(key_)) {}

  void step(timely::Input<SqlTime, ErrorUpdates<SqlTime>>& input,
            timely::Output<SqlTime, differential::RowUpdates<SqlTime>>& output) {
    input.for_each([&](const timely::Capability<SqlTime>& at, ErrorUpdates<SqlTime> errors) {
      differential::RowUpdates<SqlTime> result;
      for (const auto& error : errors) {
        const expr::ErrorRow row = expr::decode_error_row(error.data, types_).value();
        const std::optional<repr::DatumRow> key = known_key(key_, types_, row);
        result.push(key ? kKnownKey + keys_.encode(*key) : std::string(1, kUnknownKey), error.data,
                    error.time, error.diff);
      }
      output.give(at, std::move(result));
    });
  }

 private:
  static ColumnTypes key_types(const expr::ArrangementKey& key) {
    ColumnTypes types;
    for (const expr::Scalar& scalar : key) types.push_back(scalar.type());
    return types;
  }
  expr::ArrangementKey key_;
  ColumnTypes types_;
  KeyEncoder keys_;
};

}  // namespace freshet::compute
