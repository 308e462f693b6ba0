// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include <freshet/repr/datetime.h>
#include <freshet/repr/row.h>
#include <catch2/catch.hpp>

#include "generate.h"

namespace freshet::repr {
namespace {

std::strong_ordering byte_order(std::string_view a, std::string_view b) {
  const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  if (order != 0) return order <=> 0;
  return a.size() <=> b.size();
}

TEST_CASE("row: byte order of keys is SQL order, for every type", "[repr][row][property]") {
  testing::Random random = testing::seeded_random(1);
  for (const SqlType& type : storable_types()) {
    for (int i = 0; i < 4000; ++i) {
      const Datum a = random_datum(random, type);
      const Datum b = random_datum(random, type);
      INFO(describe(a, type) << " against " << describe(b, type));
      const auto bytes = byte_order(encode_key(a, type), encode_key(b, type));
      REQUIRE(bytes == compare(a, b, type));
    }
  }
}

TEST_CASE("row: no key is a prefix of another", "[repr][row][property]") {
  testing::Random random = testing::seeded_random(2);
  for (const SqlType& type : storable_types()) {
    for (int i = 0; i < 1000; ++i) {
      const std::string a = encode_key(random_datum(random, type), type);
      const std::string b = encode_key(random_datum(random, type), type);
      REQUIRE((a == b || (!a.starts_with(b) && !b.starts_with(a))));
    }
  }
}

TEST_CASE("row: rows have equal bytes exactly if nothing tells them apart",
          "[repr][row][property]") {
  testing::Random random = testing::seeded_random(3);
  for (const SqlType& type : storable_types()) {
    RowCodec codec({type});
    for (int i = 0; i < 4000; ++i) {
      const Datum a = random_datum(random, type);
      const Datum b = random_datum(random, type);
      INFO(describe(a, type) << " against " << describe(b, type));
      REQUIRE((codec.encode(DatumRow{a}) == codec.encode(DatumRow{b})) == identical(a, b, type));
    }
  }
}

struct Table {
  std::vector<SqlType> types;
  std::vector<ColumnType> columns;
  std::vector<DatumRow> rows;
};

Table random_table(testing::Random& random) {
  Table table;
  const std::vector<SqlType> all = storable_types();
  for (int c = random.int_below(6); c >= 0; --c) {
    table.types.push_back(all[random.below(all.size())]);
    table.columns.push_back({table.types.back(), true});
  }
  for (int r = random.int_below(40); r >= 0; --r) {
    DatumRow row;
    for (const SqlType& type : table.types) row.push_back(random_datum(random, type));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::strong_ordering compare_rows(const DatumRow& a, const DatumRow& b, const Table& table) {
  for (std::size_t c = 0; c < a.size(); ++c) {
    if (const auto order = compare(a[c], b[c], table.types[c]); order != 0) return order;
  }
  return std::strong_ordering::equal;
}

TEST_CASE("row: columns and datums give the same bytes, and both come back",
          "[repr][row][property]") {
  for (std::uint64_t round = 0; round < 300; ++round) {
    testing::Random random = testing::seeded_random(100 + round);
    const Table table = random_table(random);
    const Chunk chunk = chunk_from_rows(table.rows, table.columns, 7);
    RowCodec codec(table.types);
    BytesVector rows;
    codec.encode(chunk.columns, 0, chunk.rows, rows);
    REQUIRE(rows.size() == table.rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      REQUIRE(rows[r] == codec.encode(table.rows[r]));
      const DatumRow back = codec.decode_row(rows[r]).value();
      for (std::size_t c = 0; c < back.size(); ++c) {
        INFO(describe(table.rows[r][c], table.types[c])
             << " as " << describe(back[c], table.types[c]));
        REQUIRE(identical(back[c], table.rows[r][c], table.types[c]));
      }
    }
    Chunk decoded;
    decoded.columns = codec.decode(rows).value();
    decoded.rows = rows.size();
    const auto datums = rows_from_chunk(decoded, table.columns);
    for (std::size_t r = 0; r < rows.size(); ++r) REQUIRE(codec.encode(datums[r]) == rows[r]);
  }
}

TEST_CASE("row: wanted columns come out as if all were decoded", "[repr][row][property]") {
  for (std::uint64_t round = 0; round < 200; ++round) {
    testing::Random random = testing::seeded_random(1000 + round);
    const Table table = random_table(random);
    RowCodec codec(table.types);
    const Chunk chunk = chunk_from_rows(table.rows, table.columns, 7);
    BytesVector rows;
    std::vector<std::uint32_t> reversed;
    for (std::size_t r = chunk.rows; r > 0; --r)
      reversed.push_back(static_cast<std::uint32_t>(r - 1));
    codec.encode(chunk.columns, reversed, rows);
    std::vector<std::size_t> wanted;
    for (std::size_t c = 0; c < table.types.size(); ++c) {
      if (random.coin()) wanted.push_back(c);
    }
    RowDecoder decoder(codec, wanted);
    for (std::size_t r = 0; r < rows.size(); ++r) REQUIRE(decoder.append(rows[r]));
    REQUIRE(decoder.rows() == rows.size());
    const auto columns = decoder.finish();
    REQUIRE(columns.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const SqlType& type = table.types[wanted[i]];
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const Datum& expected = table.rows[reversed[r]][wanted[i]];
        REQUIRE(identical(columns[i]->datum(r, type), expected, type));
      }
    }
  }
}

TEST_CASE("row: key bytes of whole rows order as their columns do", "[repr][row][property]") {
  for (std::uint64_t round = 0; round < 200; ++round) {
    testing::Random random = testing::seeded_random(2000 + round);
    const Table table = random_table(random);
    RowCodec codec(table.types);
    for (std::size_t r = 1; r < table.rows.size(); ++r) {
      const std::string a = codec.encode(table.rows[r - 1]);
      const std::string b = codec.encode(table.rows[r]);
      const auto order = byte_order(std::string_view(a).substr(0, codec.key_size(a)),
                                    std::string_view(b).substr(0, codec.key_size(b)));
      REQUIRE(order == compare_rows(table.rows[r - 1], table.rows[r], table));
    }
  }
}

TEST_CASE("row: integers of all widths share one encoding", "[repr][row]") {
  testing::Random random = testing::seeded_random(4);
  for (int i = 0; i < 1000; ++i) {
    const auto value = static_cast<std::int16_t>(random.between(INT16_MIN, INT16_MAX));
    const std::string narrow = encode_key(Datum(value), TypeKind::kInt2);
    REQUIRE(narrow == encode_key(Datum(std::int32_t{value}), TypeKind::kInt4));
    REQUIRE(narrow == encode_key(Datum(std::int64_t{value}), TypeKind::kInt8));
  }
}

// Decodes as rows of datums and as columns: whatever the bytes, no more than an error.
void must_survive(const RowCodec& codec, std::string_view bytes) {
  const auto datums = codec.decode_row(bytes);
  std::vector<std::size_t> all;
  for (std::size_t c = 0; c < codec.types().size(); ++c) all.push_back(c);
  RowDecoder decoder(codec, all);
  // The copy has no bytes behind it that a wide load could touch unpunished.
  const std::vector<char> exact(bytes.begin(), bytes.end());
  const auto appended = decoder.append(std::string_view(exact.data(), exact.size()));
  if (!datums) {
    CHECK(datums.error().code == ErrorCode::kCorrupt);
    return;
  }
  REQUIRE(appended);
  const auto columns = decoder.finish();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    REQUIRE(identical(columns[c]->datum(0, codec.types()[c]), (*datums)[c], codec.types()[c]));
  }
}

TEST_CASE("row: truncated, flipped and random bytes are errors at worst", "[repr][row][property]") {
  int refused = 0;
  for (std::uint64_t round = 0; round < 400; ++round) {
    testing::Random random = testing::seeded_random(3000 + round);
    const Table table = random_table(random);
    RowCodec codec(table.types);
    const std::string row = codec.encode(table.rows.front());
    for (std::size_t size = 0; size < std::min<std::size_t>(row.size(), 60); ++size) {
      must_survive(codec, std::string_view(row).substr(0, size));
    }
    for (int i = 0; i < 40; ++i) {
      std::string damaged = row;
      damaged[random.below(row.size())] = static_cast<char>(random.below(256));
      refused += !codec.decode_row(damaged);
      must_survive(codec, damaged);
    }
    std::string noise;
    for (int i = random.int_below(50); i > 0; --i)
      noise.push_back(static_cast<char>(random.below(256)));
    must_survive(codec, noise);
  }
  CHECK(refused > 2000);
}

TEST_CASE("row: a wrong tag in a long row is an error", "[repr][row]") {
  for (const SqlType& type : storable_types()) {
    const RowCodec codec({type, TypeKind::kText});
    for (int tag = 0; tag < 256; ++tag) {
      must_survive(codec, static_cast<char>(tag) + std::string(400, 'x') + std::string(4, '\0'));
    }
  }
}

TEST_CASE("row: forms that are the default take no bytes", "[repr][row]") {
  RowCodec codec({TypeKind::kNumeric, TypeKind::kInt4});
  const auto row = [&](Numeric n) {
    return codec.encode({Datum(std::move(n)), Datum(std::int32_t{5})});
  };
  CHECK(row(Numeric::from_parts(1234567, 2)).size() == 5);      // 12345.67: tag, two bytes, .67; 5
  CHECK(row(Numeric::from_parts(1234560, 2)).size() == 5 + 1);  // one zero shown
  const std::string money = row(Numeric::from_parts(1234560, 2));
  CHECK(codec.key_size(money) == 5);
}

TEST_CASE("row: the hash of key bytes never changes", "[repr][row]") {
  CHECK(hash_key("") == 0x2d06800538d394c2ULL);
  CHECK(hash_key("freshet") == hash_key(std::string("freshet")));
  CHECK(hash_key("freshet") != hash_key("freshes"));
}

}  // namespace
}  // namespace freshet::repr
