// SPDX-License-Identifier: Apache-2.0
/// Rows on their way to a reduce that looks at whole groups.
#pragma once

#include <memory>

#include <freshet/expr/order_encoder.h>
#include <timely/operator.h>

#include "dataflow/arrange_rows.h"
#include "dataflow/group_logic.h"

namespace freshet::compute {

/// Whole rows: the key is the row's key bytes and the value its forms, or the key is the whole row. With
/// `by_iteration` the iteration stands before the forms.
template <typename T>
class KeyRows {
 public:
  KeyRows(const ColumnTypes& types, bool split_forms, bool by_iteration = false)
      : codec_(sql_types(types)), split_forms_(split_forms), by_iteration_(by_iteration) {}
  void step(timely::Input<T, Rows<T>>& input, timely::Output<T, differential::RowUpdates<T>>& output) {
    input.for_each([&](const timely::Capability<T>& at, Rows<T> rows) {
      repr::BytesVector encoded;
      codec_.encode(rows.chunk.columns, 0, rows.size(), encoded);
      differential::RowUpdates<T> updates;
      const bool split = split_forms_ && codec_.has_forms();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::string_view row = encoded[i];
        const std::size_t key = split ? codec_.key_size(row) : row.size();
        if (by_iteration_) {
          updates.push(row.substr(0, key), iteration_of(rows.time(i)).append(row.substr(key)), rows.time(i),
                       rows.chunk.diff(i));
        } else {
          updates.push(row.substr(0, key), row.substr(key), rows.time(i), rows.chunk.diff(i));
        }
      }
      output.give(at, std::move(updates));
    });
  }

 private:
  static std::string iteration_of(const T& time) {
    std::string bytes;
    if constexpr (kIsLoop<T>) {
      for (std::size_t i = kIterationBytes; i-- > 0;) bytes.push_back(static_cast<char>((time.inner >> (8 * i)) & 0xff));
    }
    return bytes;
  }

  repr::RowCodec codec_;
  bool split_forms_;
  bool by_iteration_;
};

/// Keys of a TopK's groups, and values in its order.
template <typename T>
class OrderRows {
 public:
  OrderRows(const ColumnTypes& types, std::vector<std::size_t> group_key, std::vector<expr::ColumnOrder> order)
      : group_key_(std::move(group_key)),
        keys_(select(types, group_key_)),
        order_(types, std::move(order)),
        codec_(sql_types(types)) {}

  void step(timely::Input<T, Rows<T>>& input, timely::Output<T, differential::RowUpdates<T>>& output) {
    input.for_each([&](const timely::Capability<T>& at, Rows<T> rows) {
      std::vector<repr::ColumnPtr> group;
      for (const std::size_t column : group_key_) group.push_back(rows.chunk.columns[column]);
      repr::BytesVector keys;
      keys_.encode(group, rows.size(), keys);
      const repr::BytesVector order = order_.encode(rows.chunk.columns, rows.size());
      repr::BytesVector encoded;
      codec_.encode(rows.chunk.columns, 0, rows.size(), encoded);
      differential::RowUpdates<T> updates;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        updates.keys.push(keys[i]);
        updates.vals.open().append(order[i]).append(encoded[i]);
        updates.vals.close();
        updates.times.push(rows.time(i));
        updates.diffs.push_back(rows.chunk.diff(i));
      }
      output.give(at, std::move(updates));
    });
  }

 private:
  static ColumnTypes select(const ColumnTypes& types, const std::vector<std::size_t>& columns) {
    ColumnTypes result;
    for (const std::size_t column : columns) result.push_back(types[column]);
    return result;
  }
  std::vector<std::size_t> group_key_;
  KeyEncoder keys_;
  expr::OrderEncoder order_;
  repr::RowCodec codec_;
};

}  // namespace freshet::compute
