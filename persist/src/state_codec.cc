// SPDX-License-Identifier: Apache-2.0
// Envelope := magic, format version, payload, checksum of all before.
#include <freshet/base/bytes.h>

#include "block.h"
#include "state.h"

namespace freshet::persist {
namespace {

using base::ByteReader;
using base::Bytes;
using base::BytesView;
using base::ByteWriter;

constexpr std::uint32_t kVersionMagic = 0x32565246;  // "FRV2"
constexpr std::uint32_t kRollupMagic = 0x32525246;   // "FRR2"

/// Beside the format of a part: it is stamped.
constexpr std::uint64_t kStamped = 1 << 8;

ByteWriter open_envelope(std::uint32_t magic) {
  ByteWriter out;
  out.u32(magic);
  return out;
}

Bytes close_envelope(ByteWriter out) {
  out.u64(hash_bytes(out.view()));
  return out.take();
}

Result<BytesView> unwrap(BytesView bytes, std::uint32_t magic, const char* what) {
  const auto bad = [&] {
    return fail(ErrorCode::kCorrupt, std::string("stored ") + what + " is damaged");
  };
  if (bytes.size() < 12) return bad();
  const BytesView body = bytes.substr(0, bytes.size() - 8);
  if (ByteReader(bytes.substr(body.size())).u64() != hash_bytes(body)) return bad();
  if (ByteReader(body).u32() != magic) return bad();
  return body.substr(4);
}

void write(ByteWriter& out, const Part& part) {
  out.bytes(part.key);
  out.varint(static_cast<std::uint64_t>(part.format) | (part.stamped ? kStamped : 0));
  out.varint(part.size);
  out.varint(part.index_offset);
  out.varint(part.updates);
  out.u64(part.row_hash_sum);
  out.varint(part.least_time);
  out.varint(part.greatest_time);
}

Part read_part(ByteReader& in) {
  Part part;
  part.key = in.bytes();
  const std::uint64_t format = in.varint();
  part.stamped = (format & kStamped) != 0;
  part.format = static_cast<FormatId>(format & ~kStamped);
  part.size = in.varint();
  part.index_offset = in.varint();
  part.updates = in.varint();
  part.row_hash_sum = in.u64();
  part.least_time = in.varint();
  part.greatest_time = in.varint();
  if (part.index_offset > part.size || part.format != FormatId::kBlocks1 ||
      (part.stamped && part.least_time != part.greatest_time)) {
    in.bad();
  }
  return part;
}

void write(ByteWriter& out, const Batch& batch) {
  out.varint(batch.id);
  out.varint(batch.lower);
  out.varint(batch.upper);
  out.varint(batch.since);
  out.varint(batch.updates);
  out.varint(batch.bytes);
  out.u64(batch.row_hash_sum);
  out.varint(batch.runs.size());
  for (const Run& run : batch.runs) {
    out.varint(run.size());
    for (const PartRef& part : run) write(out, *part);
  }
  const bool inlined = batch.inlined != nullptr && !batch.inlined->empty();
  out.bytes(inlined ? encode_block(*batch.inlined, 0, batch.inlined->size(), Compression::kLz4)
                    : Bytes());
}

BatchEntry read_batch(ByteReader& in) {
  Batch batch;
  batch.id = in.varint();
  batch.lower = in.varint();
  batch.upper = in.varint();
  batch.since = in.varint();
  batch.updates = in.varint();
  batch.bytes = in.varint();
  batch.row_hash_sum = in.u64();
  for (std::uint64_t runs = in.varint(); runs > 0 && in.ok(); --runs) {
    Run run;
    for (std::uint64_t parts = in.varint(); parts > 0 && in.ok(); --parts) {
      run.push_back(std::make_shared<const Part>(read_part(in)));
    }
    batch.runs.push_back(std::move(run));
  }
  if (const BytesView block = in.bytes(); !block.empty()) {
    Result<Updates> updates = decode_block(block);
    if (updates) {
      batch.inlined = std::make_shared<const Updates>(std::move(updates).value());
    } else {
      in.bad();
    }
  }
  return std::make_shared<const Batch>(std::move(batch));
}

void write(ByteWriter& out, const RollupRef& rollup) {
  out.varint(rollup.seqno);
  out.bytes(rollup.key);
  out.varint(rollup.size);
}

RollupRef read_rollup(ByteReader& in) {
  RollupRef rollup;
  rollup.seqno = in.varint();
  rollup.key = in.bytes();
  rollup.size = in.varint();
  return rollup;
}

void write_id(ByteWriter& out, ShardId id) { out.varint(static_cast<std::uint64_t>(id)); }
ShardId read_id(ByteReader& in) { return ShardId{in.varint()}; }

struct StepWriter {
  ByteWriter& out;
  void operator()(const step::Create& s) const {
    write_id(out, s.shard);
    out.varint(s.start);
    out.bytes(s.schema);
  }
  void operator()(const step::Drop& s) const { write_id(out, s.shard); }
  void operator()(const step::Append& s) const {
    write_id(out, s.shard);
    out.varint(s.lower);
    out.varint(s.upper);
    out.varint(s.batches.size());
    for (const BatchEntry& batch : s.batches) write(out, *batch);
  }
  void operator()(const step::Since& s) const {
    write_id(out, s.shard);
    out.varint(s.since);
  }
  void operator()(const step::Replace& s) const {
    write_id(out, s.shard);
    out.varint(s.ids.size());
    for (const std::uint64_t id : s.ids) out.varint(id);
    out.boolean(s.batch != nullptr);
    if (s.batch != nullptr) write(out, *s.batch);
  }
  void operator()(const step::TakeOver& s) const { out.varint(s.epoch); }
  void operator()(const step::Rollup& s) const { write(out, s.rollup); }
  void operator()(const step::Forget& s) const {
    out.varint(s.keys.size());
    for (const std::string& key : s.keys) out.bytes(key);
  }
};

step::Append read_append(ByteReader& in) {
  step::Append s{.shard = read_id(in), .lower = in.varint(), .upper = in.varint()};
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) s.batches.push_back(read_batch(in));
  return s;
}

step::Replace read_replace(ByteReader& in) {
  step::Replace s{.shard = read_id(in)};
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) s.ids.push_back(in.varint());
  if (s.ids.empty()) in.bad();
  if (in.boolean()) s.batch = read_batch(in);
  return s;
}

step::Forget read_forget(ByteReader& in) {
  step::Forget s;
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) s.keys.emplace_back(in.bytes());
  return s;
}

Step read_step(ByteReader& in) {
  switch (in.u8()) {
    case 0: {
      step::Create s{.shard = read_id(in)};
      s.start = in.varint();
      s.schema = in.bytes();
      return s;
    }
    case 1:
      return step::Drop{read_id(in)};
    case 2:
      return read_append(in);
    case 3: {
      step::Since s{.shard = read_id(in)};
      s.since = in.varint();
      return s;
    }
    case 4:
      return read_replace(in);
    case 5:
      return step::TakeOver{in.varint()};
    case 6:
      return step::Rollup{read_rollup(in)};
    case 7:
      return read_forget(in);
    default:
      return in.bad(), Step{};
  }
}

void write(ByteWriter& out, const ShardState& shard) {
  write_id(out, shard.id);
  out.varint(shard.since);
  out.varint(shard.upper);
  out.bytes(shard.schema);
  out.varint(shard.batches.size());
  for (const BatchEntry& batch : shard.batches) write(out, *batch);
}

std::shared_ptr<const ShardState> read_shard(ByteReader& in) {
  ShardState shard{.id = read_id(in)};
  shard.since = in.varint();
  shard.upper = in.varint();
  shard.schema = in.bytes();
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n)
    shard.batches.push_back(read_batch(in));
  return std::make_shared<const ShardState>(std::move(shard));
}

}  // namespace

Bytes encode_version(const StateVersion& version) {
  ByteWriter out = open_envelope(kVersionMagic);
  write(out, version.rollup);
  out.varint(version.seqno);
  out.u64(version.mark);
  out.varint(version.steps.size());
  for (const Step& step : version.steps) {
    out.u8(static_cast<std::uint8_t>(step.index()));
    std::visit(StepWriter{out}, step);
  }
  return close_envelope(std::move(out));
}

Result<RollupRef> decode_version_rollup(BytesView bytes) {
  ByteReader in(FRESHET_TRY(unwrap(bytes, kVersionMagic, "version of a group")));
  return read_rollup(in);
}

Result<StateVersion> decode_version(BytesView bytes) {
  ByteReader in(FRESHET_TRY(unwrap(bytes, kVersionMagic, "version of a group")));
  StateVersion version;
  version.rollup = read_rollup(in);
  version.seqno = in.varint();
  version.mark = in.u64();
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) version.steps.push_back(read_step(in));
  if (!in.ok() || !in.at_end())
    return fail(ErrorCode::kCorrupt, "version of a group does not parse");
  return version;
}

Bytes encode_rollup(const GroupState& state) {
  ByteWriter out = open_envelope(kRollupMagic);
  out.varint(state.seqno);
  out.varint(state.epoch);
  out.varint(state.next_batch_id);
  write(out, state.rollup);
  out.varint(state.shards.size());
  for (const auto& [id, shard] : state.shards) write(out, *shard);
  out.varint(state.unlinked.size());
  for (const Unlinked& object : state.unlinked) {
    out.varint(object.seqno);
    out.bytes(object.key);
  }
  out.varint(state.marks.size());
  for (const std::uint64_t mark : state.marks) out.u64(mark);
  return close_envelope(std::move(out));
}

Result<GroupState> decode_rollup(BytesView bytes) {
  ByteReader in(FRESHET_TRY(unwrap(bytes, kRollupMagic, "rollup of a group")));
  GroupState state;
  state.seqno = in.varint();
  state.epoch = in.varint();
  state.next_batch_id = in.varint();
  state.rollup = read_rollup(in);
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    auto shard = read_shard(in);
    state.shards.emplace(shard->id, std::move(shard));
  }
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    const std::uint64_t seqno = in.varint();
    state.unlinked.push_back({seqno, std::string(in.bytes())});
  }
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) state.marks.push_back(in.u64());
  if (!in.ok() || !in.at_end())
    return fail(ErrorCode::kCorrupt, "rollup of a group does not parse");
  return state;
}

}  // namespace freshet::persist
