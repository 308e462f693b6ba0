// SPDX-License-Identifier: Apache-2.0
// Whatever bytes storage gives: rows, or an error that says so (XX001), and never the end of the process.
#include <algorithm>
#include <cstdlib>

#include <catch2/catch.hpp>

#include <freshet/repr/row.h>
#include <freshet/sql/physical.h>
#include <testing/random_plan.h>

#include "support/world.h"

namespace compute_testing {
namespace {

using namespace freshet;  // NOLINT: a test
using expr::Relation;

constexpr GlobalId kObject{GlobalId::Kind::kUser, 1000};
constexpr GlobalId kIndex{GlobalId::Kind::kUser, 1001};
constexpr GlobalId kSubscribe{GlobalId::Kind::kTransient, 1002};

std::string damaged(testing::Random& random, std::string bytes) {
  if (bytes.empty() || random.one_in(8)) return bytes + static_cast<char>(random.below(256));
  if (random.one_in(4)) return bytes.substr(0, random.below(bytes.size()));
  char& byte = bytes[random.below(bytes.size())];
  byte = static_cast<char>(random.coin() ? byte ^ (1 << random.below(8)) : static_cast<int>(random.below(256)));
  return bytes;
}

/// The rows of a history's first time; one in three rows of one table is damaged.
void commit_damaged(World& world, testing::Random& random, const testing::RandomSchema& schema,
                    const std::map<GlobalId, Multiset>& content) {
  std::uint64_t bad_table = random.below(content.size());
  SqlTime time = 10;
  for (const auto& [id, rows] : content) {
    const bool bad = bad_table-- == 0;
    const auto all = [&](const std::map<std::string, Diff>& counted) {
      std::vector<std::string> list;
      for (const auto& [bytes, count] : counted) {
        list.push_back(bad && random.one_in(3) ? damaged(random, bytes) : bytes);
      }
      return list;
    };
    std::vector<std::string> errors = all(rows.errs);
    if (bad && errors.empty()) {
      const auto& types = schema.collections.at(id).type.columns;
      errors.push_back(damaged(random, expr::encode_error_row(expr::ErrorRow::unknown(types.size(), expr::negative_multiplicity()), types)));
    }
    world.commit_bytes(time++, id, all(rows.oks), random.one_in(3) ? errors : std::vector<std::string>{});
  }
}

struct Outcomes {
  int right = 0;
  int corrupt = 0;
};

void check(std::uint64_t seed, Outcomes& outcomes) {
  testing::Random random(seed);
  const testing::PlanOptions options{.max_times = 1};
  const testing::RandomSchema schema = testing::random_schema(random, options);
  const Relation plan = testing::random_relation(random, schema, options);
  const testing::History history = testing::random_history(random, schema, options);
  const auto world = World::make(seed, {.workers = 1 + random.below(3)});
  for (const auto& [id, desc] : schema.collections) world->create_table(id, desc);
  commit_damaged(*world, random, schema, history.content_at(schema, history.times.back()));

  sql::DataflowRequest request{.name = "view", .id = kObject, .relation = plan};
  request.inputs.stored = schema.collections;
  auto dataflow = sql::build_dataflow(request).value();
  dataflow.as_of = 20;
  INFO(sql::explain_physical(dataflow));
  repr::RelationDesc desc{.type = plan.type()};
  for (std::size_t c = 0; c < plan.arity(); ++c) desc.names.push_back("c" + std::to_string(c));
  dataflow.index_exports.emplace(kIndex, expr::IndexExport{.on = kObject, .key = {}, .type = plan.type()});
  dataflow.sink_exports.emplace(
      kSubscribe, expr::SinkExport{.kind = expr::SinkExport::Kind::kSubscribe, .from = kObject, .desc = desc});
  world->start(dataflow);
  const auto judge = [&](const Error* error) {
    if (error == nullptr) ++outcomes.right;
    else if (error->code == ErrorCode::kCorrupt) ++outcomes.corrupt;
  };
  const Result<void> came = world->wait_for(kSubscribe, 20);
  judge(came ? nullptr : &came.error());
  if (!came) CHECK(came.error().code == ErrorCode::kCorrupt);
  const auto peeked = world->peek({.target = compute_api::Peek::Index{kIndex}, .time = 20, .mfp = expr::Mfp::identity(plan.arity())});
  // A plan may need nothing of what it was said to read: its index has all rows then, though the dataflow failed.
  if (came && peeked) CHECK(std::ranges::none_of(*peeked, [](const auto& counted) { return counted.second <= 0; }));
  for (const auto& [id, table] : schema.collections) {
    const auto read = world->peek({.target = compute_api::Peek::Collection{id, table},
                                   .time = 20,
                                   .mfp = expr::Mfp::identity(table.type.arity())});
    judge(read ? nullptr : &read.error());
  }
}

TEST_CASE("dataflow: damaged rows are an error, and no plan makes more of them", "[compute][property]") {
  Outcomes outcomes;
  const std::uint64_t first = testing::base_seed(1);
  const char* rounds = std::getenv("FRESHET_ROUNDS");
  const std::uint64_t count = testing::seed_is_fixed() ? 1 : rounds == nullptr ? 500 : std::strtoull(rounds, nullptr, 10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    check(seed, outcomes);
  }
  if (testing::seed_is_fixed()) return;
  CHECK(outcomes.right > 100);
  CHECK(outcomes.corrupt > 100);
}

}  // namespace
}  // namespace compute_testing
