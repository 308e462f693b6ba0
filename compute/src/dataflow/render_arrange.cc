// SPDX-License-Identifier: Apache-2.0
// Into arrangements and out of them.
#include <algorithm>

#include <differential/reduce.h>

#include "dataflow/group_logic.h"
#include "dataflow/read_operator.h"
#include "dataflow/render.h"

namespace freshet::compute {
namespace {

// The same values under the same bytes, whatever is known of NULLs.
bool same_key(const expr::ArrangementKey& a, const expr::ArrangementKey& b) {
  return std::ranges::equal(a, b, [](const expr::Scalar& x, const expr::Scalar& y) {
    const auto* column_x = x.as<expr::Scalar::Column>();
    const auto* column_y = y.as<expr::Scalar::Column>();
    if (column_x != nullptr && column_y != nullptr) return column_x->index == column_y->index;
    return x == y;
  });
}

}  // namespace

// Not `can_fail`: what a function makes can always be too large.
bool may_fail(const expr::ArrangementKey& key) {
  bool computes = false;
  for (const expr::Scalar& part : key) {
    part.visit([&](const expr::Scalar& s) { computes = computes || s.as<expr::Scalar::Call>() != nullptr || s.as<expr::Scalar::If>() != nullptr; });
  }
  return computes;
}

template <typename T>
ArrangedRows<T> Renderer<T>::arrange_updates(
    const timely::Stream<T, differential::RowUpdates<T>>& updates, std::string name) {
  return differential::arrange<differential::RowTrace<T>>(updates, std::move(name), options_.block_bytes);
}

template <typename T>
BundleArrangement<T>& Renderer<T>::arrange(Bundle<T>& bundle, const expr::ArrangementKey& key) {
  for (BundleArrangement<T>& made : bundle.made->arrangements) {
    if (same_key(made.arranger->layout().key, key)) return made;
  }
  const auto arranger = std::make_shared<const Arranger>(bundle.types, key);
  const auto updates = split<differential::RowUpdates<T>, ErrorUpdates<T>>(
      stream(bundle), "ArrangeBy", timely::Pipeline{}, [arranger] { return ArrangeRows<T>(arranger); });
  ErrorStream<T> errs = bundle.errs;
  if (may_fail(key)) {
    errs = concat({errs, bundle.may_be_negative ? present(updates.second) : updates.second});
  }
  bundle.made->arrangements.push_back(
      {.arranger = arranger, .oks = arrange_updates(updates.first, "rows by key"), .errs = errs});
  return bundle.made->arrangements.back();
}

template <typename T>
std::pair<RowStream<T>, ErrorStream<T>> Renderer<T>::read(
    const BundleArrangement<T>& from, const expr::Mfp& mfp,
    const std::optional<std::vector<repr::DatumRow>>& seek) {
  const auto step = std::make_shared<const MfpStep>(mfp, from.arranger->types(), options_.until, options_.futures);
  std::shared_ptr<std::vector<std::string>> keys;
  if (seek) {
    keys = std::make_shared<std::vector<std::string>>();
    for (const repr::DatumRow& key : *seek) keys->push_back(from.arranger->keys().encode(key));
    std::ranges::sort(*keys);
    keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
  }
  return split<Rows<T>, ErrorUpdates<T>>(
      from.oks.stream(), "Read", timely::Pipeline{},
      [arranger = from.arranger, step, keys, map = from.oks.time_map()] {
        return ReadOperator<T>(arranger->layout(), step, map, keys);
      });
}

template <typename T>
RowStream<T> Renderer<T>::stream(Bundle<T>& bundle) {
  if (bundle.oks) return *bundle.oks;
  if (!bundle.made->stream) {
    FRESHET_ASSERT(!bundle.made->arrangements.empty());
    const expr::Mfp identity = expr::Mfp::identity(bundle.types.size());
    bundle.made->stream = read(bundle.made->arrangements.front(), identity, std::nullopt).first;
  }
  return *bundle.made->stream;
}

template <typename T>
std::pair<RowStream<T>, ErrorStream<T>> Renderer<T>::untag(const ArrangedRows<T>& reduced,
                                                           const ColumnTypes& types,
                                                           bool row_begins_with_key) {
  return split<Rows<T>, ErrorUpdates<T>>(
      reduced.stream(), "Untag", timely::Pipeline{},
      [types, row_begins_with_key] { return UntagOperator<T>(types, row_begins_with_key); });
}

template <typename T>
ErrorStream<T> Renderer<T>::present(const ErrorStream<T>& errors) {
  using Updates = differential::RowUpdates<T>;
  const auto updates = convert<Updates>(errors, "KeyErrors", [](ErrorUpdates<T> list) {
    Updates result;
    for (const auto& error : list) result.push(error.data, {}, error.time, error.diff);
    return result;
  });
  const ArrangedRows<T> reduced = differential::reduce_core<differential::RowTrace<T>>(
      arrange_updates(updates, "errors"), "errors", PresenceLogic{}, options_.block_bytes);
  return convert<ErrorUpdates<T>>(reduced.stream(), "Errors", [](RowBatches<T> list) {
    ErrorUpdates<T> result;
    for (const auto& batch : list.batches) {
      differential::BatchCursor<std::string, std::string, T, Diff> cursor(*batch);
      for (; cursor.key_valid(); cursor.step_key()) {
        cursor.map_times([&](const T& time, const Diff& diff) {
          result.push_back({std::string(cursor.key()), time, diff});
        });
      }
    }
    return result;
  });
}

#define FRESHET_INSTANTIATE(T)                                                                            \
  template ArrangedRows<T> Renderer<T>::arrange_updates(                                                  \
      const timely::Stream<T, differential::RowUpdates<T>>&, std::string);                                \
  template BundleArrangement<T>& Renderer<T>::arrange(Bundle<T>&, const expr::ArrangementKey&);           \
  template std::pair<RowStream<T>, ErrorStream<T>> Renderer<T>::read(                                     \
      const BundleArrangement<T>&, const expr::Mfp&, const std::optional<std::vector<repr::DatumRow>>&);  \
  template RowStream<T> Renderer<T>::stream(Bundle<T>&);                                                  \
  template std::pair<RowStream<T>, ErrorStream<T>> Renderer<T>::untag(const ArrangedRows<T>&,             \
                                                                      const ColumnTypes&, bool);          \
  template ErrorStream<T> Renderer<T>::present(const ErrorStream<T>&);

FRESHET_INSTANTIATE(SqlTime)
FRESHET_INSTANTIATE(LoopTime)

}  // namespace freshet::compute
