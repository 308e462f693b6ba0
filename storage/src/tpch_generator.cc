// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include <freshet/base/random.h>
#include <freshet/repr/row.h>

#include "generator.h"
#include "tpch_rows.h"

namespace freshet::storage {
namespace {

constexpr std::uint64_t kSliceRows = 1 << 16;

repr::RowCodec codec_of(TpchTable table) {
  const auto outputs = storage_api::generator_outputs({.kind = storage_api::LoadGenerator::Kind::kTpch});
  std::vector<repr::SqlType> types;
  for (const auto& column : outputs[static_cast<std::size_t>(table)].second.type.columns) {
    types.push_back(column.type);
  }
  return repr::RowCodec(std::move(types));
}

/// Columns of one table and the codec that turns them into rows.
struct TableWriter {
  explicit TableWriter(TpchTable t) : table(t), columns(t), codec(codec_of(t)) {}

  /// Moves the rows collected so far to `slice`, each with `diff`.
  void flush(GeneratedSlice& slice, repr::Diff diff) {
    const std::size_t rows = columns.rows();
    slice.output = static_cast<std::size_t>(table);
    const auto built = columns.finish();
    codec.encode(built, 0, rows, slice.updates.rows);
    slice.updates.times.assign(1, 0);
    slice.updates.diffs.insert(slice.updates.diffs.end(), rows, diff);
  }

  TpchTable table;
  TpchColumns columns;
  repr::RowCodec codec;
};

/// Each tick redraws one order: its lines and itself leave and come back with the next version.
class TpchGenerator final : public Generator {
 public:
  explicit TpchGenerator(const storage_api::LoadGenerator& options)
      : rows_(options.scale_factor, options.seed), seed_(options.seed) {
    for (std::size_t i = 0; i < kTpchTables; ++i) writers_.emplace_back(static_cast<TpchTable>(i));
  }

  std::optional<GeneratedSlice> next_load_slice() override {
    if (pending_lines_) return std::exchange(pending_lines_, std::nullopt);
    while (table_ < kTpchTables) {
      const std::uint64_t count = items(static_cast<TpchTable>(table_));
      if (next_ < count) return load_slice(static_cast<TpchTable>(table_), count);
      ++table_;
      next_ = 0;
    }
    return std::nullopt;
  }

  std::vector<GeneratedSlice> tick(std::uint64_t offset) override {
    const std::uint64_t order = order_of(offset);
    std::uint64_t& version = versions_[order];
    std::vector<GeneratedSlice> slices(2);
    TableWriter& orders = writer(TpchTable::kOrders);
    TableWriter& lines = writer(TpchTable::kLineitem);
    for (const repr::Diff diff : {-1, 1}) {
      rows_.order(order, version + (diff > 0 ? 1 : 0), orders.columns, lines.columns);
      orders.flush(slices[0], diff);
      lines.flush(slices[1], diff);
    }
    ++version;
    return slices;
  }

  void skip(std::uint64_t offset) override { ++versions_[order_of(offset)]; }

 private:
  TableWriter& writer(TpchTable table) { return writers_[static_cast<std::size_t>(table)]; }

  [[nodiscard]] std::uint64_t order_of(std::uint64_t offset) const {
    return base::mix64(base::mix64(seed_ ^ 0x7469636bULL) + offset) % rows_.sizes().orders;
  }

  // How many steps the load of a table has; an order brings its lines along.
  [[nodiscard]] std::uint64_t items(TpchTable table) const {
    switch (table) {
      case TpchTable::kSupplier: return rows_.sizes().suppliers;
      case TpchTable::kPart:
      case TpchTable::kPartsupp: return rows_.sizes().parts;
      case TpchTable::kCustomer: return rows_.sizes().customers;
      case TpchTable::kOrders: return rows_.sizes().orders;
      case TpchTable::kLineitem: return 0;
      case TpchTable::kNation:
      case TpchTable::kRegion: return 1;
    }
    FRESHET_UNREACHABLE(static_cast<int>(table));
  }

  GeneratedSlice load_slice(TpchTable table, std::uint64_t count) {
    TableWriter& out = writer(table);
    TableWriter& lines = writer(TpchTable::kLineitem);
    while (next_ < count && out.columns.rows() < kSliceRows &&
           (table != TpchTable::kOrders || lines.columns.rows() < kSliceRows)) {
      const std::uint64_t i = next_++;
      switch (table) {
        case TpchTable::kSupplier: rows_.supplier(i, out.columns); break;
        case TpchTable::kPart: rows_.part(i, out.columns); break;
        case TpchTable::kPartsupp: rows_.partsupp(i, out.columns); break;
        case TpchTable::kCustomer: rows_.customer(i, out.columns); break;
        case TpchTable::kOrders: rows_.order(i, 0, out.columns, lines.columns); break;
        case TpchTable::kLineitem: break;
        case TpchTable::kNation: rows_.nations(out.columns); break;
        case TpchTable::kRegion: rows_.regions(out.columns); break;
      }
    }
    GeneratedSlice slice;
    out.flush(slice, 1);
    slice.updates.diffs.clear();
    if (table == TpchTable::kOrders) {
      pending_lines_.emplace();
      lines.flush(*pending_lines_, 1);
      pending_lines_->updates.diffs.clear();
    }
    return slice;
  }

  TpchRows rows_;
  std::uint64_t seed_;
  std::vector<TableWriter> writers_;
  std::size_t table_ = 0;
  std::uint64_t next_ = 0;
  std::optional<GeneratedSlice> pending_lines_;
  /// Only orders that a tick has touched.
  std::unordered_map<std::uint64_t, std::uint64_t> versions_;
};

}  // namespace

std::unique_ptr<Generator> make_tpch_generator(const storage_api::LoadGenerator& options) {
  return std::make_unique<TpchGenerator>(options);
}

}  // namespace freshet::storage
