// SPDX-License-Identifier: Apache-2.0
/// The rows of the TPC-H tables, each computed from (seed, table, key, version) alone.
///
/// Any row can be made again at any time, in any order, by anyone: that is how a tick retracts exactly what was
/// inserted, and how a restart needs no state but version numbers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <freshet/repr/chunk.h>
#include <freshet/storage_api/storage.h>

namespace freshet::storage {

enum class TpchTable : std::uint8_t {
  kSupplier, kPart, kPartsupp, kCustomer, kOrders, kLineitem, kNation, kRegion
};
inline constexpr std::size_t kTpchTables = 8;

/// Row counts at a scale factor; each at least 1.
struct TpchSizes {
  explicit TpchSizes(double scale_factor);
  std::uint64_t suppliers, parts, customers, orders, clerks;
};

/// Columns under construction for one table.
class TpchColumns {
 public:
  explicit TpchColumns(TpchTable table);
  template <typename Vector>
  Vector& at(std::size_t column) {
    return builders_[column].values<Vector>();
  }
  [[nodiscard]] std::size_t rows() const { return builders_[0].size(); }
  std::vector<repr::ColumnPtr> finish();

 private:
  std::vector<repr::PhysicalType> types_;
  std::vector<repr::ColumnBuilder> builders_;
};

class TpchRows {
 public:
  TpchRows(double scale_factor, std::uint64_t seed);
  [[nodiscard]] const TpchSizes& sizes() const { return sizes_; }

  /// `index` counts from 0; keys come from it.
  void supplier(std::uint64_t index, TpchColumns& out) const;
  void part(std::uint64_t index, TpchColumns& out) const;
  void partsupp(std::uint64_t part_index, TpchColumns& out) const;  ///< Four rows.
  void customer(std::uint64_t index, TpchColumns& out) const;
  /// The order and its 1 to 7 line items; version 0 is the first.
  void order(std::uint64_t index, std::uint64_t version, TpchColumns& orders, TpchColumns& lines) const;
  void nations(TpchColumns& out) const;
  void regions(TpchColumns& out) const;

 private:
  class Draw;
  [[nodiscard]] Draw draw(TpchTable table, std::uint64_t key, std::uint64_t version) const;
  [[nodiscard]] std::uint64_t supplier_of(std::uint64_t part_key, std::uint64_t i) const;
  TpchSizes sizes_;
  std::uint64_t seed_;
  std::string text_pool_;
};

}  // namespace freshet::storage
