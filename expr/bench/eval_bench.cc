// SPDX-License-Identifier: Apache-2.0
/// Kernels, steps and accumulators on chunks of 16k rows; items are rows.
#include <benchmark/benchmark.h>

#include <freshet/base/random.h>
#include <freshet/expr/aggregate.h>
#include <freshet/expr/eval.h>

namespace freshet::expr {
namespace {

using repr::ColumnPtr;
using repr::Datum;
using repr::SqlType;
using repr::TypeKind;

constexpr std::size_t kRows = 16384;

template <typename F>
ColumnPtr column(TypeKind kind, F f) {
  const SqlType type(kind);
  base::Random random(7);
  repr::ColumnBuilder builder(type.physical());
  for (std::size_t i = 0; i < kRows; ++i) builder.append(Datum(f(random)), type);
  return builder.finish();
}

ColumnPtr integers() {
  return column(TypeKind::kInt8, [](base::Random& r) { return static_cast<std::int64_t>(r.below(1000)); });
}
ColumnPtr decimals(std::uint64_t below, int scale) {
  return column(TypeKind::kNumeric, [=](base::Random& r) {
    return repr::Numeric::from_parts(static_cast<std::int64_t>(r.below(below)), scale);
  });
}
ColumnPtr words() {
  return column(TypeKind::kText, [](base::Random& r) {
    return "PROMO BRUSHED " + std::to_string(r.below(100000)) + " COPPER special requests";
  });
}

Scalar at(std::size_t index, TypeKind kind) { return Scalar::column(index, {SqlType(kind), false}); }
Scalar call(std::string_view signature, std::vector<Scalar> arguments) {
  return Scalar::call(function_by_signature(signature), std::move(arguments));
}

void run(benchmark::State& state, const Scalar& scalar, const std::vector<ColumnPtr>& columns) {
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(scalar, columns, kRows));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}

void BM_kernel_int8_add(benchmark::State& state) {
  run(state, call("+(int8,int8)", {at(0, TypeKind::kInt8), at(1, TypeKind::kInt8)}), {integers(), integers()});
}
BENCHMARK(BM_kernel_int8_add);

void BM_kernel_int8_less_constant(benchmark::State& state) {
  run(state, call("<(int8,int8)", {at(0, TypeKind::kInt8), Scalar::literal(Datum(std::int64_t{500}), TypeKind::kInt8)}),
      {integers()});
}
BENCHMARK(BM_kernel_int8_less_constant);

// TPC-H's l_extendedprice * (1 - l_discount).
Scalar discounted() {
  const Scalar one = Scalar::literal(Datum(repr::Numeric(1)), TypeKind::kNumeric);
  return call("*(numeric,numeric)",
              {at(0, TypeKind::kNumeric), call("-(numeric,numeric)", {one, at(1, TypeKind::kNumeric)})});
}
void BM_kernel_numeric_discounted_price(benchmark::State& state) {
  run(state, discounted(), {decimals(10'000'000, 2), decimals(11, 2)});
}
BENCHMARK(BM_kernel_numeric_discounted_price);

void BM_kernel_numeric_less_constant(benchmark::State& state) {
  const Scalar limit = Scalar::literal(Datum(repr::Numeric(24)), TypeKind::kNumeric);
  run(state, call("<(numeric,numeric)", {at(0, TypeKind::kNumeric), limit}), {decimals(5000, 2)});
}
BENCHMARK(BM_kernel_numeric_less_constant);

void BM_kernel_like(benchmark::State& state, const char* pattern) {
  const Scalar text = Scalar::literal(Datum(std::string(pattern)), TypeKind::kText);
  run(state, call("~~(text,text)", {at(0, TypeKind::kText), text}), {words()});
}
BENCHMARK_CAPTURE(BM_kernel_like, prefix, "PROMO%");
BENCHMARK_CAPTURE(BM_kernel_like, contains, "%COPPER%");
BENCHMARK_CAPTURE(BM_kernel_like, general, "%special%requests%");

void BM_kernel_substring(benchmark::State& state) {
  const auto number = [](std::int32_t n) { return Scalar::literal(Datum(n), TypeKind::kInt4); };
  run(state, call("substring(text,int4,int4)", {at(0, TypeKind::kText), number(1), number(2)}), {words()});
}
BENCHMARK(BM_kernel_substring);

// Q6: three conditions on two columns, then a product.
void BM_mfp_filter_and_product(benchmark::State& state) {
  const auto n = [](std::int64_t v, int scale) {
    return Scalar::literal(Datum(repr::Numeric::from_parts(v, scale)), TypeKind::kNumeric);
  };
  Mfp mfp;
  mfp.input_arity = 2;
  mfp.predicates = {call(">=(numeric,numeric)", {at(1, TypeKind::kNumeric), n(5, 2)}),
                    call("<=(numeric,numeric)", {at(1, TypeKind::kNumeric), n(7, 2)}),
                    call("<(numeric,numeric)", {at(0, TypeKind::kNumeric), n(5'000'000, 2)})};
  mfp.expressions = {call("*(numeric,numeric)", {at(0, TypeKind::kNumeric), at(1, TypeKind::kNumeric)})};
  mfp.projection = {2};
  const MfpEvaluator evaluator(mfp, {{SqlType(TypeKind::kNumeric), false}, {SqlType(TypeKind::kNumeric), false}});
  repr::Chunk chunk;
  chunk.columns = {decimals(10'000'000, 2), decimals(11, 2)};
  chunk.rows = kRows;
  chunk.times = repr::Times(1);
  for (auto _ : state) benchmark::DoNotOptimize(evaluator.apply(chunk));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
BENCHMARK(BM_mfp_filter_and_product);

void accumulate(benchmark::State& state, std::string_view signature, TypeKind kind, const ColumnPtr& values) {
  const Accumulators plan({{aggregate_by_signature(signature), {SqlType(kind), false}}});
  const auto groups = static_cast<std::uint32_t>(state.range(0));
  std::vector<std::uint32_t> of_row(kRows);
  for (std::uint32_t i = 0; i < kRows; ++i) of_row[i] = i % groups;
  const std::vector<Accumulators::Input> inputs{{values}};
  for (auto _ : state) {
    std::vector<AccumulatorSet> sets(groups);
    plan.accumulate(inputs, of_row, {}, sets);
    benchmark::DoNotOptimize(sets);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}
void BM_accumulate_numeric(benchmark::State& state) {
  accumulate(state, "sum(numeric)", TypeKind::kNumeric, decimals(10'000'000, 2));
}
BENCHMARK(BM_accumulate_numeric)->Arg(4)->Arg(8192);
void BM_accumulate_float8(benchmark::State& state) {
  accumulate(state, "sum(float8)", TypeKind::kFloat8,
             column(TypeKind::kFloat8, [](base::Random& r) { return static_cast<double>(r.below(1000000)) / 7; }));
}
BENCHMARK(BM_accumulate_float8)->Arg(4)->Arg(8192);
void BM_accumulate_int8(benchmark::State& state) {
  accumulate(state, "sum(int8)", TypeKind::kInt8, integers());
}
BENCHMARK(BM_accumulate_int8)->Arg(4)->Arg(8192);

// A group's state meets another, as a spine's merge does it.
void BM_accumulator_add(benchmark::State& state) {
  AccumulatorSet a;
  AccumulatorSet b;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    a.add(static_cast<std::uint64_t>(i), 3);
    b.add(static_cast<std::uint64_t>(i), 5);
  }
  for (auto _ : state) {
    a += b;
    benchmark::DoNotOptimize(a);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_accumulator_add)->Arg(2)->Arg(16);

}  // namespace
}  // namespace freshet::expr
