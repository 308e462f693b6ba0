// SPDX-License-Identifier: Apache-2.0
#include <freshet/compute_api/codec.h>

#include <catch2/catch.hpp>
#include <testing/random.h>

namespace freshet::compute_api {
namespace {

using expr::Scalar;
using repr::Datum;

constexpr GlobalId kId{GlobalId::Kind::kUser, 42};

template <typename T>
T round_trip(const T& command) {
  const base::Bytes bytes = encode(ComputeCommand(command));
  const ComputeCommand decoded = decode_command(bytes).value();
  CHECK(encode(decoded) == bytes);
  return std::get<T>(decoded);
}

template <typename T>
T answer_round_trip(const T& response) {
  const base::Bytes bytes = encode(ComputeResponse(response));
  const ComputeResponse decoded = decode_response(bytes).value();
  CHECK(encode(decoded) == bytes);
  return std::get<T>(decoded);
}

repr::DatumRow every_kind() {
  auto array = std::make_shared<repr::ArrayValue>();
  array->dimensions = {{2, 2}};
  array->elements = {Datum(std::int32_t{1}), Datum()};
  return {Datum(), Datum(true), Datum(std::int16_t{-3}), Datum(std::int32_t{7}), Datum(std::int64_t{-1} << 62),
          Datum(1.5F), Datum(-0.0), Datum(repr::Numeric::parse("1.50").value()), Datum(repr::Interval{1, -2, 3}),
          Datum(repr::Uuid{1, 2, 3}), Datum(std::string("a\0b", 3)),
          Datum(std::shared_ptr<const repr::ArrayValue>(array))};
}

repr::RelationDesc two_columns() {
  return {.type = {{{repr::TypeKind::kInt8, false}, {repr::TypeKind::kText, true}}, {{0}}}, .names = {"a", "b"}};
}

expr::DataflowDescription dataflow() {
  const auto desc = two_columns();
  const expr::Relation get = expr::Relation::get(kId, desc.type);
  expr::Lir::Get lir{.id = kId, .mfp = expr::Mfp::identity(2)};
  expr::DataflowDescription description{.name = "view"};
  description.sources.emplace(kId, expr::SourceImport{desc});
  description.objects.push_back({{GlobalId::Kind::kTransient, 1}, get, get, expr::make_lir(lir, desc.type.columns)});
  description.index_exports.emplace(
      GlobalId{GlobalId::Kind::kUser, 5},
      expr::IndexExport{kId, {Scalar::column(0, desc.type.columns[0])}, desc.type});
  description.as_of = 17;
  return description;
}

TEST_CASE("compute codec: every command survives", "[compute_api]") {
  CHECK(round_trip(Hello{{1, 2}}).nonce == PeekId{1, 2});
  CHECK(round_trip(CreateInstance{{.workers = 3, .max_result_bytes = 9}}).config.max_result_bytes == 9);
  round_trip(InitializationComplete{});
  CHECK(round_trip(UpdateConfiguration{{.workers = 5}}).config.workers == 5);
  CHECK(round_trip(CreateDataflow{dataflow()}).dataflow.as_of == 17);
  CHECK(round_trip(Schedule{kId}).id == kId);
  CHECK(round_trip(AllowWrites{kId}).id == kId);
  CHECK(round_trip(AllowCompaction{kId, repr::kClosed}).since == repr::kClosed);
  CHECK(round_trip(CancelPeek{{3, 4}}).id == PeekId{3, 4});
  CHECK(round_trip(Advance{kId, 99}).time == 99);
}

TEST_CASE("compute codec: a peek survives, its seek with every kind of datum", "[compute_api]") {
  const Peek seek = round_trip(Peek{.id = {1, 2},
                                    .target = Peek::Index{kId, std::vector<repr::DatumRow>{every_kind(), {}}},
                                    .time = 5,
                                    .mfp = expr::Mfp::identity(3).project({2, 0}),
                                    .order = {{.column = 1, .descending = true, .nulls_last = false}},
                                    .limit = 0});
  CHECK(seek.mfp == expr::Mfp::identity(3).project({2, 0}));
  CHECK(seek.limit == 0U);
  REQUIRE(std::get<Peek::Index>(seek.target).seek->size() == 2);
  const repr::DatumRow row = std::get<Peek::Index>(seek.target).seek->front();
  const repr::DatumRow wanted = every_kind();
  REQUIRE(row.size() == wanted.size());
  for (std::size_t i = 0; i < row.size(); ++i) CHECK(row[i].value().index() == wanted[i].value().index());
  CHECK(row[7].get<repr::Numeric>().to_string() == "1.50");
  CHECK(std::signbit(row[6].get<double>()));
  const Peek all = round_trip(Peek{.target = Peek::Index{kId}, .mfp = expr::Mfp::identity(1)});
  CHECK(!std::get<Peek::Index>(all.target).seek);
  CHECK(!all.limit);
  const Peek stored = round_trip(Peek{.target = Peek::Collection{kId, two_columns()}, .mfp = expr::Mfp::identity(2)});
  CHECK(std::get<Peek::Collection>(stored.target).desc == two_columns());
}

TEST_CASE("compute codec: every response survives", "[compute_api]") {
  CHECK(answer_round_trip(FrontierUpdate{kId, 8}).upper == 8);
  PeekResponse rows{.id = {7, 8}, .last = false};
  rows.rows.push_back("ab");
  rows.rows.push_back("");
  rows.diffs = {1, -2};
  const PeekResponse peeked = answer_round_trip(rows);
  CHECK(peeked.rows[0] == "ab");
  CHECK(peeked.rows[1].empty());
  CHECK(peeked.diffs == rows.diffs);
  CHECK(!peeked.last);
  const Error error{.code = ErrorCode::kExhausted, .sqlstate = "53200", .message = "m", .detail = "d", .hint = "h", .position = 3};
  CHECK(answer_round_trip(PeekResponse{.error = error}).error == error);
  SubscribeResponse changes{.id = kId, .lower = 3, .upper = 9};
  changes.rows.push_back("row");
  changes.times = {4};
  changes.diffs = {-1};
  CHECK(answer_round_trip(changes).times == changes.times);
  CHECK(answer_round_trip(ExportFailure{kId, error}).error == error);
  CHECK(answer_round_trip(Dropped{kId}).id == kId);
}

TEST_CASE("compute codec: whatever the bytes, decoding answers", "[compute_api][property]") {
  testing::Random random = testing::seeded_random();
  const base::Bytes good = encode(ComputeCommand(CreateDataflow{dataflow()}));
  const base::Bytes response = encode(ComputeResponse(ExportFailure{kId, sql_error("22012", "division by zero")}));
  std::size_t refused = 0;
  for (int round = 0; round < 2000; ++round) {
    base::Bytes bytes = random.coin() ? good : response;
    for (auto flips = 1 + random.below(4); flips > 0; --flips) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    if (random.one_in(4)) bytes.resize(random.below(bytes.size()));
    refused += decode_command(bytes).has_value() ? 0 : 1;
    refused += decode_response(bytes).has_value() ? 0 : 1;
  }
  CHECK(refused > 2000);
  CHECK(!decode_command("").has_value());
  CHECK(!decode_response("not a message").has_value());
}

}  // namespace
}  // namespace freshet::compute_api
