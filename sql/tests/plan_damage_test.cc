// SPDX-License-Identifier: Apache-2.0
// Plans as bytes from a stranger: cut short they are refused, changed they are refused or are another plan; the
// reader touches nothing that is not there (run under ASan and UBSan).
#include <freshet/sql/physical.h>

#include <catch2/catch.hpp>
#include <freshet/expr/codec.h>
#include <testing/random_plan.h>

namespace freshet::sql {
namespace {

using base::Bytes;
using base::BytesView;

/// `decode` gives a Result; `encode` takes what is in it.
template <typename Decode, typename Encode>
void damage(const Bytes& bytes, testing::Random& random, const Decode& decode, const Encode& encode, std::size_t& accepted) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    INFO("cut to " << size << " of " << bytes.size());
    REQUIRE_FALSE(decode(BytesView(bytes).substr(0, size)).has_value());
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    // All bits one by one, and one byte of any value.
    for (std::uint32_t bit = 0; bit < 9; ++bit) {
      Bytes changed = bytes;
      const auto flip = bit < 8 ? 1U << bit : static_cast<std::uint32_t>(random.below(255)) + 1;
      changed[at] = static_cast<Bytes::value_type>(static_cast<std::uint8_t>(changed[at]) ^ flip);
      const auto read = decode(changed);
      if (!read) continue;
      ++accepted;
      // What was accepted is a plan: it can be written, and what is read of that is the same plan.
      const Bytes again = encode(*read);
      const auto twice = decode(again);
      INFO("byte " << at << " bit " << bit);
      if (twice) REQUIRE(encode(*twice) == again);
    }
  }
}

TEST_CASE("plan codec: takes no harm from damaged bytes", "[sql][property]") {
  std::size_t accepted = 0;
  std::size_t bytes_seen = 0;
  const std::size_t rounds = testing::seed_is_fixed() ? 1 : 40;
  for (std::size_t round = 0; round < rounds; ++round) {
    testing::Random random = testing::seeded_random(round);
    INFO("FRESHET_SEED=" << random.seed());
    const auto schema = testing::random_schema(random, {.max_depth = 3});
    const expr::Relation raw = testing::random_relation(random, schema, {.max_depth = 3});
    const auto lir = lower_physical(raw, {}, {});
    REQUIRE(lir.has_value());
    const Bytes physical = expr::encode(**lir);
    const Bytes relational = expr::encode(raw);
    if (physical.size() + relational.size() > 1500) continue;
    bytes_seen += physical.size() + relational.size();
    damage(physical, random, [](BytesView b) { return expr::decode_lir(b); },
           [](const expr::LirPtr& p) { return expr::encode(*p); }, accepted);
    damage(relational, random, [](BytesView b) { return expr::decode_relation(b); },
           [](const expr::Relation& r) { return expr::encode(r); }, accepted);
  }
  if (testing::seed_is_fixed()) return;
  CHECK(bytes_seen > 1000);
  CHECK(accepted > 1000);  // literals, column numbers, limits: other plans, not damage
}

TEST_CASE("plan codec: a dataflow description takes no harm from damaged bytes", "[sql][property]") {
  testing::Random random = testing::seeded_random(7);
  const auto schema = testing::random_schema(random, {.max_depth = 2});
  DataflowRequest request{.name = "v",
                          .id = {expr::GlobalId::Kind::kUser, 77},
                          .relation = testing::random_relation(random, schema, {.max_depth = 2})};
  request.inputs.stored = schema.collections;
  request.index_exports[{expr::GlobalId::Kind::kUser, 78}] = {expr::Scalar::column(0, request.relation.type().columns[0])};
  const auto flow = build_dataflow(request);
  if (!flow) FAIL(flow.error().message);
  std::size_t accepted = 0;
  damage(expr::encode(*flow), random, [](BytesView b) { return expr::decode_dataflow(b); },
         [](const expr::DataflowDescription& d) { return expr::encode(d); }, accepted);
  CHECK(accepted > 0);
}

}  // namespace
}  // namespace freshet::sql
