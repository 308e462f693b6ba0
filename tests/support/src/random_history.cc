// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/repr/row.h>
#include <testing/random_plan.h>

#include "random_scalar.h"

namespace testing {

using freshet::expr::ErrorRow;
using freshet::repr::Datum;
using freshet::repr::DatumRow;

namespace {

freshet::repr::RowCodec codec_of(const freshet::repr::RelationDesc& desc) {
  std::vector<SqlType> types;
  for (const ColumnType& column : desc.type.columns) types.push_back(column.type);
  return freshet::repr::RowCodec(std::move(types));
}

/// The rows that a collection has while its history is made.
class CollectionState {
 public:
  CollectionState(Random& random, GlobalId id, const freshet::repr::RelationDesc& desc)
      : random_(random), id_(id), desc_(desc) {}

  void change(SqlTime time, bool errors, std::vector<Change>& out) {
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return insert(time, out);
      case 4:
        return remove(time, out);
      case 5:
        remove(time, out);
        return insert(time, out);
      case 6: {
        // Comes and goes within the time.
        const DatumRow row = random_row();
        out.push_back({id_, time, 1, row});
        out.push_back({id_, time, -1, row});
        return;
      }
      default:
        return errors ? change_error(time, out) : insert(time, out);
    }
  }

 private:
  bool keyed() const { return !desc_.type.keys.empty(); }

  DatumRow random_row() {
    DatumRow row;
    for (const ColumnType& column : desc_.type.columns) {
      const bool null = column.nullable && random_.one_in(5);
      row.push_back(null ? Datum() : random_value(random_, column.type.kind()));
    }
    if (keyed()) row[0] = Datum(static_cast<std::int32_t>(random_.between(0, 9)));
    return row;
  }

  void insert(SqlTime time, std::vector<Change>& out) {
    DatumRow row = random_row();
    if (keyed()) {
      const auto same = std::find_if(rows_.begin(), rows_.end(), [&](const DatumRow& r) {
        return r[0].get<std::int32_t>() == row[0].get<std::int32_t>();
      });
      if (same != rows_.end()) {
        out.push_back({id_, time, -1, *same});
        rows_.erase(same);
      }
    }
    out.push_back({id_, time, 1, row});
    rows_.push_back(std::move(row));
  }

  void remove(SqlTime time, std::vector<Change>& out) {
    if (rows_.empty()) return;
    const auto row = rows_.begin() + static_cast<std::ptrdiff_t>(random_.below(rows_.size()));
    out.push_back({id_, time, -1, *row});
    rows_.erase(row);
  }

  /// Errors come and, more often than not, go again.
  void change_error(SqlTime time, std::vector<Change>& out) {
    if (!errors_.empty() && random_.below(3) != 0) {
      out.push_back({id_, time, -1, {}, errors_.back()});
      errors_.pop_back();
      return;
    }
    if (!random_.one_in(3)) return;
    const DatumRow row = random_row();
    ErrorRow error = ErrorRow::of(row, freshet::sql_error(freshet::sqlstate::kDataException, "bad input"));
    for (auto& value : error.known) {
      if (random_.one_in(3)) value.reset();
    }
    out.push_back({id_, time, 1, {}, error});
    errors_.push_back(std::move(error));
  }

  Random& random_;
  GlobalId id_;
  const freshet::repr::RelationDesc& desc_;
  std::vector<DatumRow> rows_{};
  std::vector<ErrorRow> errors_{};
};

}  // namespace

History random_history(Random& random, const RandomSchema& schema, const PlanOptions& options) {
  History history;
  SqlTime time = random.below(3);
  std::vector<CollectionState> states;
  for (const auto& [id, desc] : schema.collections) states.emplace_back(random, id, desc);
  const bool errors = options.input_errors && random.one_in(4);
  const std::uint64_t times = 1 + random.below(options.max_times);
  for (std::uint64_t n = 0; n < times; ++n) {
    history.times.push_back(time);
    const std::size_t begin = history.changes.size();
    for (CollectionState& state : states) {
      // Much at first, then little.
      for (std::uint64_t c = n == 0 ? 14 + random.below(12) : random.below(4); c > 0; --c) {
        state.change(time, errors, history.changes);
      }
    }
    // Opposite changes in either order.
    for (std::size_t i = history.changes.size(); i > begin + 1; --i) {
      std::swap(history.changes[i - 1], history.changes[begin + random.below(i - begin)]);
    }
    time += 1 + random.below(3);
  }
  return history;
}

std::map<GlobalId, Multiset> History::content_at(const RandomSchema& schema, SqlTime time) const {
  std::map<GlobalId, Multiset> out;
  for (const auto& [id, desc] : schema.collections) out[id];
  const auto add = [](std::map<std::string, std::int64_t>& counts, const std::string& bytes, std::int64_t diff) {
    if ((counts[bytes] += diff) == 0) counts.erase(bytes);
  };
  for (const Change& change : changes) {
    if (change.time > time) continue;
    const auto& desc = schema.collections.at(change.collection);
    if (change.error) {
      add(out[change.collection].errs, encode_error_row(*change.error, desc.type.columns), change.diff);
    } else {
      add(out[change.collection].oks, codec_of(desc).encode(change.row), change.diff);
    }
  }
  return out;
}

}  // namespace testing
