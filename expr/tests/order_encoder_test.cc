// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/order_encoder.h>

#include <catch2/catch.hpp>
#include <testing/random.h>

#include "generate.h"

namespace freshet::expr {
namespace {

using repr::Datum;

// ORDER BY as its words say it, on datums.
std::strong_ordering specified(const repr::DatumRow& a, const repr::DatumRow& b, const std::vector<ColumnOrder>& order,
                               const std::vector<repr::ColumnType>& types) {
  for (const ColumnOrder& by : order) {
    const Datum& x = a[by.column];
    const Datum& y = b[by.column];
    if (x.is_null() && y.is_null()) continue;
    if (x.is_null()) return by.nulls_last ? std::strong_ordering::greater : std::strong_ordering::less;
    if (y.is_null()) return by.nulls_last ? std::strong_ordering::less : std::strong_ordering::greater;
    const std::strong_ordering compared = repr::compare(x, y, types[by.column].type);
    if (compared == 0) continue;
    return by.descending ? 0 <=> compared : compared;
  }
  return std::strong_ordering::equal;
}

void check_order(testing::Random& random, const std::vector<repr::ColumnType>& types,
                 const std::vector<ColumnOrder>& order) {
  std::vector<repr::DatumRow> rows(24);
  for (repr::DatumRow& row : rows) {
    for (const repr::ColumnType& column : types) row.push_back(repr::random_datum(random, column.type));
  }
  const repr::Chunk chunk = repr::chunk_from_rows(rows, types, 0);
  const OrderEncoder encoder(types, order);
  const repr::BytesVector keys = encoder.encode(chunk.columns, chunk.rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(encoder.size(std::string(keys[i]) + "more") == keys[i].size());
    for (std::size_t j = 0; j < rows.size(); ++j) {
      INFO(types[order[0].column].type << ": " << repr::describe(rows[i][order[0].column], types[order[0].column].type)
                                       << " and "
                                       << repr::describe(rows[j][order[0].column], types[order[0].column].type));
      CHECK((keys[i] <=> keys[j]) == specified(rows[i], rows[j], order, types));
    }
  }
}

TEST_CASE("order encoder: bytes sort as ORDER BY, for every type and direction", "[expr][property]") {
  testing::Random random = testing::seeded_random();
  INFO("FRESHET_SEED=" << random.seed());
  for (const repr::SqlType& type : repr::storable_types()) {
    for (const bool descending : {false, true}) {
      for (const bool nulls_last : {false, true}) {
        check_order(random, {{type, true}}, {{.column = 0, .descending = descending, .nulls_last = nulls_last}});
      }
    }
  }
}

TEST_CASE("order encoder: the second key decides where the first is equal", "[expr][property]") {
  testing::Random random = testing::seeded_random(1);
  INFO("FRESHET_SEED=" << random.seed());
  const std::vector<repr::SqlType> types = repr::storable_types();
  for (int round = 0; round < 100; ++round) {
    std::vector<repr::ColumnType> columns;
    for (int i = 0; i < 3; ++i) columns.push_back({types[random.below(types.size())], true});
    std::vector<ColumnOrder> order;
    for (const std::size_t column : {std::size_t{2}, std::size_t{0}, std::size_t{1}}) {
      order.push_back({.column = column, .descending = random.below(2) == 1, .nulls_last = random.below(2) == 1});
    }
    check_order(random, columns, order);
  }
}

}  // namespace
}  // namespace freshet::expr
