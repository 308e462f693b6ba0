// SPDX-License-Identifier: Apache-2.0
// Encode and decode of rows, a column of each kind at a time and a typical row.
#include <benchmark/benchmark.h>

#include <freshet/base/random.h>
#include <freshet/repr/row.h>
#include <freshet/repr/text.h>

namespace freshet::repr {
namespace {

constexpr std::size_t kRows = 16384;

ColumnPtr integers(std::uint64_t bound) {
  base::Random random(1);
  std::vector<std::int64_t> values(kRows);
  for (auto& value : values) value = static_cast<std::int64_t>(random.below(bound));
  return std::make_shared<const Column>(std::move(values));
}

ColumnPtr money() {
  base::Random random(2);
  std::vector<Numeric> values(kRows);
  for (auto& value : values) value = Numeric::from_parts(random.between(0, 9999999), 2);
  return std::make_shared<const Column>(std::move(values));
}

ColumnPtr texts() {
  base::Random random(3);
  BytesVector values;
  for (std::size_t i = 0; i < kRows; ++i) {
    values.push_back(std::string(8 + random.below(8), static_cast<char>('a' + random.below(26))));
  }
  return std::make_shared<const Column>(std::move(values));
}

ColumnPtr doubles() {
  base::Random random(4);
  std::vector<double> values(kRows);
  for (auto& value : values) value = random.uniform();
  return std::make_shared<const Column>(std::move(values));
}

struct Input {
  std::vector<SqlType> types;
  std::vector<ColumnPtr> columns;
};

Input input(std::int64_t which) {
  switch (which) {
    case 0:
      return {{TypeKind::kInt8}, {integers(50)}};
    case 1:
      return {{TypeKind::kInt8}, {integers(5000000)}};
    case 2:
      return {{TypeKind::kInt8}, {integers(UINT64_MAX >> 1)}};
    case 3:
      return {{TypeKind::kNumeric}, {money()}};
    case 4:
      return {{TypeKind::kText}, {texts()}};
    case 5:
      return {{TypeKind::kFloat8}, {doubles()}};
    default:
      return {{TypeKind::kInt8, TypeKind::kNumeric, TypeKind::kText, TypeKind::kTimestamp},
              {integers(3000000), money(), texts(), integers(std::uint64_t{1} << 49)}};
  }
}

constexpr const char* kNames[] = {"int_small", "int_3_bytes", "int_8_bytes", "money",
                                  "text",      "float8",      "row_of_four"};

void label(benchmark::State& state, const Input& in, std::size_t bytes) {
  state.SetLabel(kNames[state.range(0)]);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows * in.types.size()));
  state.counters["bytes_per_row"] = static_cast<double>(bytes) / static_cast<double>(kRows);
}

void encode(benchmark::State& state) {
  const Input in = input(state.range(0));
  const RowCodec codec(in.types);
  BytesVector out;
  for (auto _ : state) {
    out.clear();
    codec.encode(in.columns, 0, kRows, out);
    benchmark::DoNotOptimize(out.bytes().data());
  }
  label(state, in, out.byte_size());
}
BENCHMARK(encode)->Name("BM_row/encode")->DenseRange(0, 6);

void decode(benchmark::State& state) {
  const Input in = input(state.range(0));
  const RowCodec codec(in.types);
  BytesVector rows;
  codec.encode(in.columns, 0, kRows, rows);
  for (auto _ : state) {
    auto columns = codec.decode(rows);
    benchmark::DoNotOptimize(columns.value().data());
  }
  label(state, in, rows.byte_size());
}
BENCHMARK(decode)->Name("BM_row/decode")->DenseRange(0, 6);

void append(benchmark::State& state) {
  const Input in = input(state.range(0));
  const RowCodec codec(in.types);
  BytesVector rows;
  codec.encode(in.columns, 0, kRows, rows);
  std::vector<std::size_t> wanted(in.types.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = i;
  RowDecoder decoder(codec, wanted);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kRows; ++i) benchmark::DoNotOptimize(decoder.try_append(rows[i]));
    benchmark::DoNotOptimize(decoder.finish().data());
  }
  label(state, in, rows.byte_size());
}
BENCHMARK(append)->Name("BM_row/append_one_by_one")->DenseRange(0, 6);

void skip_to_last(benchmark::State& state) {
  const Input in = input(6);
  const RowCodec codec(in.types);
  BytesVector rows;
  codec.encode(in.columns, 0, kRows, rows);
  const std::vector<std::size_t> wanted = {3};
  for (auto _ : state) {
    auto columns = codec.decode(rows, wanted);
    benchmark::DoNotOptimize(columns.value().data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(skip_to_last)->Name("BM_row/decode_last_of_four");

void gather_rows(benchmark::State& state) {
  const Input in = input(state.range(0));
  base::Random random(9);
  std::vector<std::uint32_t> rows(kRows);
  for (auto& row : rows) row = static_cast<std::uint32_t>(random.below(kRows));
  for (auto _ : state) benchmark::DoNotOptimize(gather(*in.columns[0], rows).get());
  label(state, in, 0);
}
BENCHMARK(gather_rows)->Name("BM_column/gather")->DenseRange(1, 5);

void hash(benchmark::State& state) {
  const Input in = input(6);
  const RowCodec codec(in.types);
  BytesVector rows;
  codec.encode(in.columns, 0, kRows, rows);
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kRows; ++i) sum += hash_key(rows[i]);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(hash)->Name("BM_row/hash_key");

constexpr const char* kTexts[] = {"12345", "12345.67", "2024-02-29", "2024-02-29 12:34:56.789",
                                  "0.1234567"};
constexpr TypeKind kTextKinds[] = {TypeKind::kInt8, TypeKind::kNumeric, TypeKind::kDate,
                                   TypeKind::kTimestamp, TypeKind::kFloat8};

void read_text(benchmark::State& state) {
  const SqlType type(kTextKinds[state.range(0)]);
  const TextFormat format;
  for (auto _ : state) {
    ColumnBuilder builder(type.physical());
    for (std::size_t i = 0; i < kRows; ++i) {
      benchmark::DoNotOptimize(format.read(kTexts[state.range(0)], type, builder).has_value());
    }
  }
  state.SetLabel(kTexts[state.range(0)]);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(read_text)->Name("BM_text/read")->DenseRange(0, 4);

void write_text(benchmark::State& state) {
  const SqlType type(kTextKinds[state.range(0)]);
  const TextFormat format;
  const ColumnPtr column =
      constant_column(from_text(kTexts[state.range(0)], type).value(), type, kRows);
  std::string out;
  for (auto _ : state) {
    out.clear();
    for (std::size_t i = 0; i < kRows; ++i) format.write(out, *column, i, type);
  }
  state.SetLabel(kTexts[state.range(0)]);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(write_text)->Name("BM_text/write")->DenseRange(0, 4);

}  // namespace
}  // namespace freshet::repr
