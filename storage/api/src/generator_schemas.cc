// SPDX-License-Identifier: Apache-2.0
#include <freshet/storage_api/storage.h>

namespace freshet::storage_api {
namespace {

using repr::ColumnType;
using repr::RelationDesc;
using repr::SqlType;
using repr::TypeKind;

const SqlType kKey = TypeKind::kInt8;
const SqlType kInt = TypeKind::kInt4;
const SqlType kText = TypeKind::kText;
const SqlType kDate = TypeKind::kDate;
// numeric(15, 2), as the benchmark's rules give it.
const SqlType kMoney{TypeKind::kNumeric, ((15 << 16) | 2) + 4};

struct NamedColumn {
  const char* name;
  SqlType type;
};

RelationDesc describe(std::initializer_list<NamedColumn> columns, std::vector<std::size_t> key) {
  RelationDesc desc;
  for (const NamedColumn& column : columns) {
    desc.names.emplace_back(column.name);
    desc.type.columns.push_back({column.type, false});
  }
  if (!key.empty()) desc.type.keys.push_back(std::move(key));
  return desc;
}

std::vector<std::pair<std::string, RelationDesc>> tpch_outputs() {
  return {
      {"supplier", describe({{"s_suppkey", kKey}, {"s_name", kText}, {"s_address", kText},
                             {"s_nationkey", kKey}, {"s_phone", kText}, {"s_acctbal", kMoney},
                             {"s_comment", kText}}, {0})},
      {"part", describe({{"p_partkey", kKey}, {"p_name", kText}, {"p_mfgr", kText},
                         {"p_brand", kText}, {"p_type", kText}, {"p_size", kInt},
                         {"p_container", kText}, {"p_retailprice", kMoney}, {"p_comment", kText}}, {0})},
      {"partsupp", describe({{"ps_partkey", kKey}, {"ps_suppkey", kKey}, {"ps_availqty", kInt},
                             {"ps_supplycost", kMoney}, {"ps_comment", kText}}, {0, 1})},
      {"customer", describe({{"c_custkey", kKey}, {"c_name", kText}, {"c_address", kText},
                             {"c_nationkey", kKey}, {"c_phone", kText}, {"c_acctbal", kMoney},
                             {"c_mktsegment", kText}, {"c_comment", kText}}, {0})},
      {"orders", describe({{"o_orderkey", kKey}, {"o_custkey", kKey}, {"o_orderstatus", kText},
                           {"o_totalprice", kMoney}, {"o_orderdate", kDate}, {"o_orderpriority", kText},
                           {"o_clerk", kText}, {"o_shippriority", kInt}, {"o_comment", kText}}, {0})},
      {"lineitem", describe({{"l_orderkey", kKey}, {"l_partkey", kKey}, {"l_suppkey", kKey},
                             {"l_linenumber", kInt}, {"l_quantity", kMoney}, {"l_extendedprice", kMoney},
                             {"l_discount", kMoney}, {"l_tax", kMoney}, {"l_returnflag", kText},
                             {"l_linestatus", kText}, {"l_shipdate", kDate}, {"l_commitdate", kDate},
                             {"l_receiptdate", kDate}, {"l_shipinstruct", kText}, {"l_shipmode", kText},
                             {"l_comment", kText}}, {0, 3})},
      {"nation", describe({{"n_nationkey", kKey}, {"n_name", kText}, {"n_regionkey", kKey},
                           {"n_comment", kText}}, {0})},
      {"region", describe({{"r_regionkey", kKey}, {"r_name", kText}, {"r_comment", kText}}, {0})},
  };
}

}  // namespace

RelationDesc progress_desc() { return describe({{"offset", kKey}}, {0}); }

std::vector<std::pair<std::string, RelationDesc>> generator_outputs(const LoadGenerator& generator) {
  switch (generator.kind) {
    case LoadGenerator::Kind::kCounter:
      return {{"counter", describe({{"counter", kKey}}, {0})}};
    case LoadGenerator::Kind::kTpch:
      return tpch_outputs();
  }
  FRESHET_UNREACHABLE(static_cast<int>(generator.kind));
}

}  // namespace freshet::storage_api
