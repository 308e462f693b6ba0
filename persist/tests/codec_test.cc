// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <map>

#include <freshet/persist/part_codec.h>
#include <testing/random.h>

#include "block.h"
#include "state.h"

namespace freshet::persist {
namespace {

Updates random_updates(::testing::Random& random, std::size_t count) {
  Updates updates;
  const bool one_time = random.coin();
  const bool ones = random.coin();
  const std::uint64_t spread = random.pick<std::uint64_t>({1, 200, 70000, UINT64_MAX / 2});
  for (std::size_t i = 0; i < count; ++i) {
    std::string row(random.below(random.one_in(20) ? 2000 : 30), '\0');
    for (char& c : row) c = static_cast<char>(random.below(3));
    const Diff diff = ones ? 1 : random.between(-3, 70000);
    updates.push(row, one_time ? 17 : random.below(spread), diff);
  }
  updates.consolidate();
  return updates;
}

// The specification: sums in a map.
std::map<std::pair<std::string, Time>, Diff> sums(const Updates& updates) {
  std::map<std::pair<std::string, Time>, Diff> result;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    result[{std::string(updates.row(i)), updates.time(i)}] += updates.diff(i);
  }
  std::erase_if(result, [](const auto& entry) { return entry.second == 0; });
  return result;
}

TEST_CASE("updates: consolidation keeps the sums, the order and the hash", "[persist][updates]") {
  for (std::uint64_t round = 0; round < 200; ++round) {
    auto random = ::testing::seeded_random(round);
    Updates updates = random_updates(random, random.below(50));
    updates.append(random_updates(random, random.below(50)));
    if (!updates.empty()) updates.push(updates.row(0), updates.time(0), -updates.diff(0));
    const auto expected = sums(updates);
    const auto hash = updates.row_hash_sum();
    updates.consolidate();
    CHECK(updates.is_consolidated());
    CHECK(sums(updates) == expected);
    CHECK(updates.size() == expected.size());
    CHECK(updates.row_hash_sum() == hash);
    updates.advance_to(50);
    CHECK(updates.row_hash_sum() == hash);
    CHECK((updates.empty() || updates.least_time() >= 50));
  }
}

TEST_CASE("codec: what is encoded is decoded, in all compressions", "[persist][part]") {
  for (std::uint64_t round = 0; round < 120; ++round) {
    auto random = ::testing::seeded_random(round);
    const auto codec = make_block_codec(
        {.block_bytes = 1 + random.below(5000),
         .compression = random.pick({Compression::kNone, Compression::kLz4, Compression::kZstd})});
    const Updates updates = random_updates(random, 1 + random.below(400));
    if (updates.empty()) continue;
    const EncodedPart part = codec->encode(updates);
    const base::BytesView bytes(part.bytes);
    const auto blocks =
        codec->decode_index(bytes.substr(part.index_offset), part.index_offset).value();
    Updates decoded;
    for (const BlockInfo& block : blocks) {
      const Updates piece =
          codec->decode_block(block, bytes.substr(block.offset, block.size)).value();
      for (std::size_t i = 0; i < piece.size(); ++i) {
        const std::string row(piece.row(i));
        CHECK((piece.time(i) >= block.least_time && piece.time(i) <= block.greatest_time));
        CHECK(may_hold_rows(block, row, row + '\0'));
      }
      CHECK_FALSE(may_hold_rows(block, std::string(100, '\x7f'), ""));
      decoded.append(piece);
    }
    CHECK(decoded == updates);
  }
}

TEST_CASE("codec: every flipped bit in blocks and index is found", "[persist][part]") {
  auto random = ::testing::seeded_random();
  const auto codec = make_block_codec({.block_bytes = 500});
  const Updates updates = random_updates(random, 100);
  const EncodedPart part = codec->encode(updates);
  for (std::size_t at = 16; at < part.bytes.size(); ++at) {
    base::Bytes bad = part.bytes;
    bad[at] = static_cast<char>(bad[at] ^ (1 << random.below(8)));
    const base::BytesView bytes(bad);
    const auto blocks = codec->decode_index(bytes.substr(part.index_offset), part.index_offset);
    bool found = !blocks;
    if (blocks) {
      for (const BlockInfo& block : *blocks) {
        found = found || !codec->decode_block(block, bytes.substr(block.offset, block.size));
      }
    }
    CHECK(found);
  }
}

TEST_CASE("codec: bytes that are no block are an error, never a crash", "[persist][part]") {
  auto random = ::testing::seeded_random();
  for (int round = 0; round < 2000; ++round) {
    base::Bytes bytes = encode_block(random_updates(random, 30), 0, 1, Compression::kLz4);
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    const auto decoded = decode_block(bytes);
    CHECK((!decoded || decoded->size() < 1000));
  }
}

GroupState random_state(::testing::Random& random) {
  GroupState state{.seqno = random.below(1000),
                   .epoch = random.below(5),
                   .next_batch_id = 100,
                   .rollup = {.seqno = 7, .key = "g/r", .size = 99}};
  for (std::uint64_t id = 0; id < random.below(4); ++id) {
    ShardState shard{.id = ShardId{id}, .since = random.below(9), .upper = kClosed,
                     .schema = base::Bytes(random.below(40), '\0')};
    for (std::uint64_t batch = 0; batch < random.below(4); ++batch) {
      Batch b{.id = id * 10 + batch,
              .lower = 1,
              .upper = 5,
              .since = 2,
              .updates = 3,
              .bytes = 88,
              .row_hash_sum = random.next()};
      if (random.coin()) {
        b.runs.push_back({std::make_shared<const Part>(Part{
            .key = "p" + std::to_string(batch), .size = 10, .index_offset = 4, .updates = 3})});
      }
      if (random.coin()) {
        b.inlined = std::make_shared<const Updates>(random_updates(random, 10));
      }
      shard.batches.push_back(std::make_shared<const Batch>(std::move(b)));
    }
    state.shards[ShardId{id}] = std::make_shared<const ShardState>(std::move(shard));
  }
  state.unlinked.push_back({3, "gone"});
  state.marks = {1, 2, random.next()};
  return state;
}

TEST_CASE("state: a rollup reads back, and a damaged one is an error", "[persist][state]") {
  for (std::uint64_t round = 0; round < 100; ++round) {
    auto random = ::testing::seeded_random(round);
    const base::Bytes bytes = encode_rollup(random_state(random));
    const auto decoded = decode_rollup(bytes);
    REQUIRE(decoded);
    CHECK(encode_rollup(*decoded) == bytes);
    base::Bytes bad = bytes;
    const std::size_t at = random.below(bad.size());
    bad[at] = static_cast<char>(bad[at] ^ 16);
    CHECK(decode_rollup(bad).error().code == ErrorCode::kCorrupt);
    CHECK_FALSE(decode_rollup(base::BytesView(bytes).substr(0, at)));
  }
}

TEST_CASE("state: a step that fails changes nothing, and a saved draft comes back",
          "[persist][state]") {
  GroupState state;
  Draft draft(state);
  REQUIRE(draft.apply(step::Create{ShardId{1}, 5, "schema"}));
  const Draft saved = draft;
  REQUIRE(draft.apply(step::Append{ShardId{1}, 5, 9, {}}));
  CHECK(draft.shard(ShardId{1})->upper == 9);
  CHECK(draft.shard(ShardId{1})->schema == "schema");
  CHECK(saved.shard(ShardId{1})->upper == 5);
  CHECK(draft.apply(step::Append{ShardId{1}, 5, 10, {}}).error().code == ErrorCode::kConflict);
  CHECK(draft.apply(step::Since{ShardId{1}, 10}).error().code == ErrorCode::kInvalid);
  CHECK(draft.apply(step::Replace{ShardId{1}, {3}, nullptr}).error().code == ErrorCode::kConflict);
  CHECK(draft.shard(ShardId{1})->upper == 9);
  draft = saved;
  CHECK(draft.shard(ShardId{1})->upper == 5);
  std::move(draft).move_into(state, 77);
  CHECK(state.seqno == 1);
  CHECK(state.shards.at(ShardId{1})->upper == 5);
  CHECK(state.marks == std::vector<std::uint64_t>{77});
}

}  // namespace
}  // namespace freshet::persist
