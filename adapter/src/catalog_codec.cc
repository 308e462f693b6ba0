// SPDX-License-Identifier: Apache-2.0
// The stored form of a catalog entry: (field number, bytes) pairs; unknown fields are skipped.
#include <freshet/base/bytes.h>
#include <freshet/base/fields.h>
#include <freshet/base/sqlstate.h>
#include <freshet/expr/id_codec.h>
#include <freshet/repr/type_codec.h>

#include "catalog.h"

namespace freshet::adapter {
namespace {

using base::ByteReader;
using base::ByteWriter;
using base::FieldReader;
using base::FieldWriter;
using expr::read_id;
using expr::write_id;

// Stable: never reuse a number.
enum FieldNumber : std::uint64_t {
  kId = 1, kOid = 2, kKind = 3, kName = 4, kDesc = 5, kDefaults = 6, kWritable = 7, kIndexOn = 8,
  kIndexKey = 9, kPartOf = 10, kCreateSql = 11, kRetainHistory = 12, kQuery = 13, kGenerator = 14,
  kOutputs = 15, kDependsOn = 16, kDefaultTexts = 17, kQuerySql = 18, kDefaultPresence = 19,
};

base::Unexpected corrupt(const char* what) {
  return fail(Error{.code = ErrorCode::kCorrupt,
                    .sqlstate = sqlstate::kDataCorrupted,
                    .message = std::string("catalog entry has a bad ") + what});
}

std::string encode_generator(const storage_api::LoadGenerator& generator) {
  ByteWriter out;
  out.u8(static_cast<std::uint8_t>(generator.kind));
  out.f64(generator.scale_factor);
  out.varint(generator.tick_micros);
  out.varint(generator.seed);
  out.boolean(generator.max_cardinality.has_value());
  out.varint(generator.max_cardinality.value_or(0));
  return out.take();
}
storage_api::LoadGenerator decode_generator(ByteReader& in) {
  using Kind = storage_api::LoadGenerator::Kind;
  storage_api::LoadGenerator generator;
  generator.kind = base::read_enumerator(in, Kind::kCounter, Kind::kTpch);
  generator.scale_factor = in.f64();
  generator.tick_micros = in.varint();
  generator.seed = in.varint();
  const bool bounded = in.boolean();
  const std::uint64_t most = in.varint();
  if (bounded) generator.max_cardinality = most;
  return generator;
}

template <typename Ids>
std::string encode_ids(const Ids& ids) {
  ByteWriter out;
  out.varint(ids.size());
  for (const GlobalId id : ids) write_id(out, id);
  return out.take();
}
std::vector<GlobalId> decode_ids(ByteReader& in) {
  std::vector<GlobalId> ids;
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) ids.push_back(read_id(in));
  return ids;
}

GlobalId first_id(ByteReader& in) {
  const std::vector<GlobalId> ids = decode_ids(in);
  if (ids.empty()) return in.bad(), GlobalId{};
  return ids[0];
}

// Defaults: which columns have one, and those that do.
void encode_defaults(FieldWriter& out, const std::vector<sql::HirScalarPtr>& defaults) {
  std::string presence;
  std::vector<sql::HirScalarPtr> present;
  for (const sql::HirScalarPtr& scalar : defaults) {
    presence.push_back(scalar == nullptr ? '0' : '1');
    if (scalar != nullptr) present.push_back(scalar);
  }
  out.bytes(kDefaultPresence, presence);
  out.bytes(kDefaults, sql::encode_hir_scalars(present));
}

Result<void> decode_defaults(const std::string& presence, std::string_view bytes,
                             std::vector<sql::HirScalarPtr>& defaults) {
  const auto present = FRESHET_TRY(sql::decode_hir_scalars(bytes));
  std::size_t next = 0;
  for (const char c : presence) {
    if (c == '1' && next >= present.size()) return corrupt("default");
    defaults.push_back(c == '1' ? present[next++] : nullptr);
  }
  return {};
}

}  // namespace

std::string encode_entry(const CatalogEntry& entry) {
  FieldWriter out;
  ByteWriter id;
  write_id(id, entry.id());
  out.bytes(kId, id.view());
  out.integer(kOid, entry.item.oid);
  out.integer(kKind, static_cast<std::uint64_t>(entry.item.kind));
  ByteWriter name;
  name.bytes(entry.item.name.database);
  name.bytes(entry.item.name.schema);
  name.bytes(entry.item.name.item);
  out.bytes(kName, name.view());
  ByteWriter desc;
  repr::write_desc(desc, entry.item.desc);
  out.bytes(kDesc, desc.view());
  if (!entry.item.defaults.empty()) encode_defaults(out, entry.item.defaults);
  out.integer(kWritable, entry.item.writable ? 1 : 0);
  if (entry.item.index_on) {
    out.bytes(kIndexOn, encode_ids(std::vector{*entry.item.index_on}));
    out.bytes(kIndexKey, sql::encode_hir_scalars(entry.item.index_key));
  }
  if (entry.item.part_of) out.bytes(kPartOf, encode_ids(std::vector{*entry.item.part_of}));
  out.bytes(kCreateSql, entry.item.create_sql);
  if (entry.item.retain_history_micros) out.integer(kRetainHistory, *entry.item.retain_history_micros);
  if (entry.query) out.bytes(kQuery, sql::encode_hir(*entry.query));
  if (entry.generator) out.bytes(kGenerator, encode_generator(*entry.generator));
  if (!entry.outputs.empty()) out.bytes(kOutputs, encode_ids(entry.outputs));
  out.bytes(kDependsOn, encode_ids(entry.depends_on));
  ByteWriter texts;
  texts.varint(entry.default_texts.size());
  for (const std::string& text : entry.default_texts) texts.bytes(text);
  out.bytes(kDefaultTexts, texts.view());
  out.bytes(kQuerySql, entry.query_sql);
  return out.take();
}

Result<CatalogEntry> decode_entry(std::string_view bytes) {
  CatalogEntry entry;
  std::string presence;
  std::string_view defaults;
  FieldReader in(bytes);
  while (const auto field = FRESHET_TRY(in.next())) {
    const std::string_view value = field->payload;
    ByteReader reader(value);
    switch (field->number) {
      case kId: entry.item.id = read_id(reader); break;
      case kOid: entry.item.oid = static_cast<std::uint32_t>(reader.varint()); break;
      case kKind:
        entry.item.kind = FRESHET_TRY(field->enumerator(sql::ItemKind::kTable, sql::ItemKind::kIndex));
        break;
      case kName:
        entry.item.name.database = reader.bytes();
        entry.item.name.schema = reader.bytes();
        entry.item.name.item = reader.bytes();
        break;
      case kDesc: entry.item.desc = repr::read_desc(reader); break;
      case kDefaultPresence: presence = value; break;
      case kDefaults: defaults = value; break;
      case kWritable: entry.item.writable = reader.varint() != 0; break;
      case kIndexOn: entry.item.index_on = first_id(reader); break;
      case kIndexKey: entry.item.index_key = FRESHET_TRY(sql::decode_hir_scalars(value)); break;
      case kPartOf: entry.item.part_of = first_id(reader); break;
      case kCreateSql: entry.item.create_sql = value; break;
      case kRetainHistory: entry.item.retain_history_micros = reader.varint(); break;
      case kQuery: entry.query = FRESHET_TRY(sql::decode_hir(value)); break;
      case kGenerator: entry.generator = decode_generator(reader); break;
      case kOutputs: entry.outputs = decode_ids(reader); break;
      case kDependsOn: {
        const auto ids = decode_ids(reader);
        entry.depends_on = {ids.begin(), ids.end()};
        break;
      }
      case kDefaultTexts:
        for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
          entry.default_texts.emplace_back(reader.bytes());
        }
        break;
      case kQuerySql: entry.query_sql = value; break;
      default: break;  // from a later version
    }
    if (!reader.ok()) return corrupt("field");
  }
  if (!presence.empty()) FRESHET_TRY(decode_defaults(presence, defaults, entry.item.defaults));
  return entry;
}

}  // namespace freshet::adapter
