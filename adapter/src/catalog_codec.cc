// SPDX-License-Identifier: Apache-2.0
// The stored form of a catalog entry: (field number, bytes) pairs; unknown fields are skipped.
#include <freshet/base/bytes.h>
#include <freshet/base/sqlstate.h>

#include "catalog.h"

namespace freshet::adapter {
namespace {

using base::ByteReader;
using base::ByteWriter;

// Stable: never reuse a number.
enum Field : std::uint64_t {
  kId = 1, kOid = 2, kKind = 3, kName = 4, kDesc = 5, kDefaults = 6, kWritable = 7, kIndexOn = 8,
  kIndexKey = 9, kPartOf = 10, kCreateSql = 11, kRetainHistory = 12, kQuery = 13, kGenerator = 14,
  kOutputs = 15, kDependsOn = 16, kDefaultTexts = 17, kQuerySql = 18, kDefaultPresence = 19,
};

base::Unexpected corrupt(const char* what) {
  return fail(Error{.code = ErrorCode::kCorrupt,
                    .sqlstate = sqlstate::kDataCorrupted,
                    .message = std::string("catalog entry has a bad ") + what});
}

void write_id(ByteWriter& out, GlobalId id) {
  out.u8(static_cast<std::uint8_t>(id.kind));
  out.varint(id.number);
}
GlobalId read_id(ByteReader& in) {
  const auto kind = static_cast<GlobalId::Kind>(in.u8());
  return {kind, in.varint()};
}

void write_type(ByteWriter& out, const repr::SqlType& type) {
  out.u8(static_cast<std::uint8_t>(type.kind()));
  out.svarint(type.typmod());
  if (type.kind() == repr::TypeKind::kArray) write_type(out, type.element());
}
repr::SqlType read_type(ByteReader& in, int depth = 0) {
  const auto kind = static_cast<repr::TypeKind>(in.u8());
  const auto typmod = static_cast<std::int32_t>(in.svarint());
  if (kind != repr::TypeKind::kArray) return repr::SqlType(kind, typmod);
  // An array of arrays is no type.
  if (depth > 0) return in.bad(), repr::SqlType();
  return repr::SqlType::array_of(read_type(in, depth + 1));
}

std::string encode_desc(const repr::RelationDesc& desc) {
  ByteWriter out;
  out.varint(desc.arity());
  for (std::size_t i = 0; i < desc.arity(); ++i) {
    out.bytes(desc.names[i]);
    write_type(out, desc.type.columns[i].type);
    out.boolean(desc.type.columns[i].nullable);
  }
  out.varint(desc.type.keys.size());
  for (const auto& key : desc.type.keys) {
    out.varint(key.size());
    for (const std::size_t column : key) out.varint(column);
  }
  return out.take();
}
repr::RelationDesc decode_desc(ByteReader& in) {
  repr::RelationDesc desc;
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    desc.names.emplace_back(in.bytes());
    repr::SqlType type = read_type(in);
    desc.type.columns.push_back({std::move(type), in.boolean()});
  }
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    std::vector<std::size_t>& key = desc.type.keys.emplace_back();
    for (std::uint64_t columns = in.varint(); columns > 0 && in.ok(); --columns) {
      key.push_back(in.varint());
    }
  }
  return desc;
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
  storage_api::LoadGenerator generator;
  generator.kind = static_cast<storage_api::LoadGenerator::Kind>(in.u8());
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

class FieldWriter {
 public:
  void field(Field number, std::string_view bytes) {
    out_.varint(number);
    out_.bytes(bytes);
  }
  void number(Field number, std::uint64_t value) {
    ByteWriter out;
    out.varint(value);
    field(number, out.view());
  }
  std::string take() { return out_.take(); }

 private:
  ByteWriter out_;
};

// Defaults: which columns have one, and those that do.
void encode_defaults(FieldWriter& out, const std::vector<sql::HirScalarPtr>& defaults) {
  std::string presence;
  std::vector<sql::HirScalarPtr> present;
  for (const sql::HirScalarPtr& scalar : defaults) {
    presence.push_back(scalar == nullptr ? '0' : '1');
    if (scalar != nullptr) present.push_back(scalar);
  }
  out.field(kDefaultPresence, presence);
  out.field(kDefaults, sql::encode_hir_scalars(present));
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
  out.field(kId, id.view());
  out.number(kOid, entry.item.oid);
  out.number(kKind, static_cast<std::uint64_t>(entry.item.kind));
  ByteWriter name;
  name.bytes(entry.item.name.database);
  name.bytes(entry.item.name.schema);
  name.bytes(entry.item.name.item);
  out.field(kName, name.view());
  out.field(kDesc, encode_desc(entry.item.desc));
  if (!entry.item.defaults.empty()) encode_defaults(out, entry.item.defaults);
  out.number(kWritable, entry.item.writable ? 1 : 0);
  if (entry.item.index_on) {
    out.field(kIndexOn, encode_ids(std::vector{*entry.item.index_on}));
    out.field(kIndexKey, sql::encode_hir_scalars(entry.item.index_key));
  }
  if (entry.item.part_of) out.field(kPartOf, encode_ids(std::vector{*entry.item.part_of}));
  out.field(kCreateSql, entry.item.create_sql);
  if (entry.item.retain_history_micros) out.number(kRetainHistory, *entry.item.retain_history_micros);
  if (entry.query) out.field(kQuery, sql::encode_hir(*entry.query));
  if (entry.generator) out.field(kGenerator, encode_generator(*entry.generator));
  if (!entry.outputs.empty()) out.field(kOutputs, encode_ids(entry.outputs));
  out.field(kDependsOn, encode_ids(entry.depends_on));
  ByteWriter texts;
  texts.varint(entry.default_texts.size());
  for (const std::string& text : entry.default_texts) texts.bytes(text);
  out.field(kDefaultTexts, texts.view());
  out.field(kQuerySql, entry.query_sql);
  return out.take();
}

Result<CatalogEntry> decode_entry(std::string_view bytes) {
  CatalogEntry entry;
  std::string presence;
  std::string_view defaults;
  ByteReader in(bytes);
  while (!in.at_end() && in.ok()) {
    const std::uint64_t field = in.varint();
    const std::string_view value = in.bytes();
    ByteReader reader(value);
    switch (field) {
      case kId: entry.item.id = read_id(reader); break;
      case kOid: entry.item.oid = static_cast<std::uint32_t>(reader.varint()); break;
      case kKind: entry.item.kind = static_cast<sql::ItemKind>(reader.varint()); break;
      case kName:
        entry.item.name.database = reader.bytes();
        entry.item.name.schema = reader.bytes();
        entry.item.name.item = reader.bytes();
        break;
      case kDesc: entry.item.desc = decode_desc(reader); break;
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
  if (!in.ok()) return corrupt("length");
  if (!presence.empty()) FRESHET_TRY(decode_defaults(presence, defaults, entry.item.defaults));
  return entry;
}

}  // namespace freshet::adapter
