// SPDX-License-Identifier: Apache-2.0
#include "catalog.h"

#include <catch2/catch.hpp>

#include <freshet/base/fields.h>
#include <freshet/base/sqlstate.h>
#include <freshet/repr/row.h>

namespace freshet::adapter {
namespace {

CatalogEntry view(const Catalog& catalog, const std::string& schema, const std::string& name,
                  std::set<GlobalId> depends_on = {}) {
  CatalogEntry entry;
  entry.item.id = {GlobalId::Kind::kUser, catalog.next_id()};
  entry.item.oid = catalog.next_oid();
  entry.item.kind = sql::ItemKind::kView;
  entry.item.name = {"materialize", schema, name};
  entry.depends_on = std::move(depends_on);
  return entry;
}

CatalogPtr after(const CatalogPtr& catalog, CatalogChange change) {
  if (!change.put_items.empty()) change.next_id = catalog->next_id() + 1;
  return catalog->apply(change).value().first;
}

base::SqlState refusal(const CatalogPtr& catalog, const CatalogChange& change) {
  const auto applied = catalog->apply(change);
  return applied ? base::SqlState() : applied.error().sqlstate;
}

// A statement decides by the catalog it was planned with, another may have come first: each of these changes was
// right when it was planned.
TEST_CASE("catalog: a change that would leave something dangling is an error", "[adapter]") {
  namespace state = base::sqlstate;
  const auto system = std::make_shared<const std::vector<SystemRelation>>();
  const auto first = std::make_shared<const Catalog>(system);
  CatalogPtr catalog = after(first, first->initial_change());
  catalog = after(catalog, {.put_schemas = {{"materialize", "s", 1}}});
  const CatalogEntry base_view = view(*catalog, "s", "v");
  catalog = after(catalog, {.put_items = {base_view}});
  catalog = after(catalog, {.put_items = {view(*catalog, "public", "w", {base_view.id()})}});
  const GlobalId unknown{GlobalId::Kind::kUser, 99};

  CHECK(refusal(catalog, {.drop_items = {unknown}}) == state::kUndefinedTable);
  CHECK(refusal(catalog, {.drop_items = {base_view.id()}}) == state::kDependentObjectsStillExist);
  CHECK(refusal(catalog, {.drop_schemas = {{"materialize", "none"}}}) == state::kInvalidSchemaName);
  CHECK(refusal(catalog, {.drop_schemas = {{"materialize", "s"}}}) == state::kDependentObjectsStillExist);
  CHECK(refusal(catalog, {.drop_databases = {"none"}}) == state::kInvalidCatalogName);
  CHECK(refusal(catalog, {.drop_databases = {"materialize"}}) == state::kDependentObjectsStillExist);
  CHECK(refusal(catalog, {.put_schemas = {{"none", "s", 7}}}) == state::kInvalidCatalogName);
  CHECK(refusal(catalog, {.put_items = {view(*catalog, "none", "x")}}) == state::kInvalidSchemaName);
  CHECK(refusal(catalog, {.put_items = {view(*catalog, "s", "v")}}) == state::kDuplicateTable);
  CHECK(refusal(catalog, {.put_items = {view(*catalog, "s", "x", {unknown})}}) == state::kUndefinedTable);
  CHECK(refusal(catalog, {.put_items = {view(*catalog, "s", "x", {base_view.id()})}}) == base::SqlState());
}

CatalogEntry source(std::uint64_t number, std::optional<GlobalId> part_of = {}) {
  CatalogEntry entry;
  entry.item.id = {GlobalId::Kind::kUser, number};
  entry.item.kind = sql::ItemKind::kSource;
  entry.item.part_of = part_of;
  entry.item.name = {"materialize", "public", "s" + std::to_string(number)};
  if (part_of) entry.depends_on = {*part_of};
  return entry;
}

// The tables of TPCH come after their ingestion, a COUNTER before the one that writes it.
TEST_CASE("catalog: storage hears of an ingestion first, and an output names it", "[adapter]") {
  const auto first = std::make_shared<const Catalog>(std::make_shared<const std::vector<SystemRelation>>());
  CatalogPtr catalog = after(first, first->initial_change());
  CatalogEntry tpch = source(1);
  const CatalogEntry lineitem = source(2, tpch.id());
  tpch.generator.emplace().kind = storage_api::LoadGenerator::Kind::kTpch;
  tpch.outputs = {lineitem.id()};
  const CatalogEntry counter = source(3);
  CatalogEntry progress = source(4, counter.id());
  progress.generator.emplace();
  progress.outputs = {counter.id()};
  catalog = after(catalog, {.put_items = {tpch, lineitem, counter, progress}});

  std::vector<EntryPtr> collections;
  for (const auto& [id, entry] : catalog->entries()) collections.push_back(entry);
  sort_for_creation(collections);
  std::vector<std::uint64_t> order;
  for (const EntryPtr& entry : collections) order.push_back(entry->id().number);
  CHECK(order == std::vector<std::uint64_t>{1, 4, 2, 3});

  const auto kind_of = [&](GlobalId id) { return catalog->collection_of(*catalog->entry(id), 7).kind; };
  CHECK(std::get<storage_api::IngestionOutput>(kind_of(lineitem.id())).ingestion == tpch.id());
  CHECK(std::get<storage_api::IngestionOutput>(kind_of(counter.id())).ingestion == progress.id());
  CHECK(std::get<storage_api::IngestionCollection>(kind_of(progress.id())).outputs == progress.outputs);
  CHECK(catalog->collection_of(*catalog->entry(counter.id()), 7).since == 7);
}

// Everything an entry can hold, some of which no one object has together.
// Another version may have written the same in other bytes: an entry with a field that this one does not know.
TEST_CASE("catalog: what a change retracts are the bytes that are stored", "[adapter]") {
  const auto system = std::make_shared<const std::vector<SystemRelation>>();
  const repr::RowCodec codec({repr::TypeKind::kInt4, repr::TypeKind::kText, repr::TypeKind::kBytea});
  std::map<std::string, repr::Diff> stored;
  const auto take = [&](const storage_api::EncodedUpdates& updates) {
    for (std::size_t i = 0; i < updates.size(); ++i) {
      if ((stored[std::string(updates.rows[i])] += updates.diff(i)) == 0) stored.erase(std::string(updates.rows[i]));
    }
  };
  CatalogPtr catalog = std::make_shared<const Catalog>(system);
  const auto change = [&](CatalogChange how) {
    if (!how.put_items.empty()) how.next_id = catalog->next_id() + 1;
    auto [next, updates] = catalog->apply(how).value();
    take(updates.oks);
    catalog = next;
  };
  change(catalog->initial_change());
  change({.put_databases = {{"a.b", 7}}, .put_schemas = {{"materialize", "s", 1}, {"a.b", "c", 2}}});
  change({.put_databases = {{"a", 8}}, .put_schemas = {{"a", "b.c", 3}}});
  const CatalogEntry base_view = view(*catalog, "s", "v");
  change({.put_items = {base_view}});
  CHECK(stored.size() == 9);

  std::vector<repr::DatumRow> rows;
  for (const auto& [bytes, count] : std::map(stored)) {
    REQUIRE(count == 1);
    repr::DatumRow row = codec.decode_row(bytes).value();
    if (row[0].get<std::int32_t>() == 3) {
      base::FieldWriter unknown;
      unknown.bytes(200, "of a later version");
      row[2] = repr::Datum(row[2].get<std::string>() + std::string(unknown.data()));
      stored.erase(bytes);
      stored[codec.encode(row)] = 1;
    }
    rows.push_back(std::move(row));
  }
  catalog = Catalog::load(system, rows).value();
  change({.drop_items = {base_view.id()}});
  change({.drop_schemas = {{"materialize", "s"}, {"a.b", "c"}, {"a", "b.c"}}});
  change({.drop_databases = {"a.b", "a"}});
  change({.reserved = 99});
  CHECK(stored.size() == 3);
  for (const auto& [bytes, count] : stored) CHECK(count == 1);
}

CatalogEntry full_entry() {
  const repr::ColumnType integer{repr::TypeKind::kInt4, false};
  const auto literal = std::make_shared<sql::HirScalar>();
  literal->kind = sql::HirScalar::Kind::kLiteral;
  literal->type = integer;
  literal->value = repr::Datum(std::int32_t{7});
  const auto constant = std::make_shared<sql::HirRelation>();
  constant->kind = sql::HirRelation::Kind::kConstant;
  constant->columns = {integer};
  constant->rows = {{repr::Datum(std::int32_t{1})}, {repr::Datum(std::int32_t{2})}};
  const auto get = std::make_shared<sql::HirRelation>();
  get->kind = sql::HirRelation::Kind::kGet;
  get->columns = {integer};
  get->id = {GlobalId::Kind::kUser, 3};
  const auto join = std::make_shared<sql::HirRelation>();
  join->kind = sql::HirRelation::Kind::kJoin;
  join->join_kind = sql::HirJoinKind::kLeft;
  join->columns = {integer, integer};
  join->inputs = {constant, get};
  join->scalars = {literal};

  CatalogEntry entry;
  entry.item.id = {GlobalId::Kind::kUser, 9};
  entry.item.oid = 16400;
  entry.item.kind = sql::ItemKind::kMaterializedView;
  entry.item.name = {"materialize", "public", "v"};
  entry.item.desc = {{{integer, {repr::SqlType::array_of(repr::TypeKind::kText), true}}, {{0}}}, {"a", "b"}};
  entry.item.defaults = {literal, nullptr};
  entry.item.index_on = GlobalId{GlobalId::Kind::kUser, 3};
  entry.item.index_key = {literal};
  entry.item.part_of = GlobalId{GlobalId::Kind::kSystem, 4};
  entry.item.create_sql = "create";
  entry.item.retain_history_micros = 1'000'000;
  entry.query = sql::HirQuery{.relation = join, .names = {"a", "b"}};
  entry.generator = storage_api::LoadGenerator{.kind = storage_api::LoadGenerator::Kind::kTpch, .max_cardinality = 5};
  entry.outputs = {{GlobalId::Kind::kUser, 10}};
  entry.depends_on = {{GlobalId::Kind::kUser, 3}};
  entry.default_texts = {"7", ""};
  entry.query_sql = "select";
  return entry;
}

TEST_CASE("catalog codec: an entry with a changed byte is an error or an entry", "[adapter]") {
  const std::string bytes = encode_entry(full_entry());
  CHECK(encode_entry(decode_entry(bytes).value()) == bytes);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const Result<CatalogEntry> read = decode_entry(changed);
      if (!read) {
        ++refused;
        continue;
      }
      // It is an entry: everything in it has a name and can be written.
      CHECK_FALSE(to_string(read->item.kind).empty());
      for (const repr::ColumnType& column : read->item.desc.type.columns) CHECK_FALSE(to_string(column.type).empty());
      CHECK_FALSE(encode_entry(*read).empty());
    }
  }
  CHECK(refused > bytes.size());
}

TEST_CASE("catalog codec: what a later version may write is XX001", "[adapter]") {
  const std::string kept = encode_entry(full_entry());
  const auto with = [&](std::uint64_t field, std::string_view payload) {
    base::FieldWriter more;
    more.bytes(field, payload);
    const Result<CatalogEntry> read = decode_entry(kept + more.data());
    return read ? base::SqlState() : read.error().sqlstate;
  };
  using namespace std::string_view_literals;
  CHECK(with(200, "unknown fields are skipped") == base::SqlState());
  CHECK(with(3, "\x06"sv) == base::sqlstate::kDataCorrupted);                       // a kind of item
  CHECK(with(1, "x\x01"sv) == base::sqlstate::kDataCorrupted);                      // a kind of id
  CHECK(with(5, "\x01\x01" "a\x1e\x01\x01\x00"sv) == base::sqlstate::kDataCorrupted);  // a type: 30 is jsonb
  CHECK(with(5, "\x01\x01" "a\x03\x01\x01\x01\x01\x05"sv) == base::sqlstate::kDataCorrupted);  // a key of no column
  CHECK(with(14, "\x09\0\0\0\0\0\0\0\0\0\0\0\0"sv) == base::sqlstate::kDataCorrupted);     // a load generator
}

}  // namespace
}  // namespace freshet::adapter
