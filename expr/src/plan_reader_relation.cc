// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/match_keys.h>

#include "plan_reader.h"

namespace freshet::expr {
namespace {

bool in_range(std::span<const std::size_t> columns, std::size_t arity) {
  return std::all_of(columns.begin(), columns.end(), [&](std::size_t c) { return c < arity; });
}

bool all_boolean(std::span<const Scalar> scalars) {
  return std::all_of(scalars.begin(), scalars.end(), [](const Scalar& s) {
    return s.type().type.kind() == repr::TypeKind::kBool;
  });
}

std::vector<repr::ColumnType> side_by_side(std::span<const Relation> inputs) {
  std::vector<repr::ColumnType> columns;
  for (const Relation& input : inputs) {
    columns.insert(columns.end(), input.type().columns.begin(), input.type().columns.end());
  }
  return columns;
}

bool same_columns(const Relation& a, const Relation& b) {
  const auto& x = a.type().columns;
  const auto& y = b.type().columns;
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& p, const auto& q) {
    return p.type.physical() == q.type.physical();
  });
}

}  // namespace

Result<std::vector<Relation>> PlanReader::relations(std::size_t count) {
  std::vector<Relation> out;
  for (; count > 0; --count) out.push_back(FRESHET_TRY(relation()));
  return out;
}

Result<Relation> PlanReader::relation() {
  const DepthGuard guard(*this);
  if (auto shallow = guard.check(); !shallow) return fail(shallow.error());
  Relation out = FRESHET_TRY(relation_node(static_cast<RelationTag>(in_.u8())));
  if (auto read = ok(); !read) return fail(read.error());
  return out;
}

Result<Relation> PlanReader::relation_node(RelationTag tag) {
  switch (tag) {
    case RelationTag::kConstant:
      return read_constant();
    case RelationTag::kGet: {
      repr::RelationType type = FRESHET_TRY(relation_type());
      const auto id = any_id();
      if (const auto* global = std::get_if<GlobalId>(&id)) return Relation::get(*global, std::move(type));
      return Relation::get(*std::get_if<LocalId>(&id), std::move(type));
    }
    case RelationTag::kLet: {
      const LocalId id = local_id();
      std::vector<Relation> parts = FRESHET_TRY(relations(2));
      return Relation::let(id, std::move(parts[0]), std::move(parts[1]));
    }
    case RelationTag::kLetRec:
      return read_let_rec();
    case RelationTag::kProject: {
      const Relation input = FRESHET_TRY(relation());
      std::vector<std::size_t> columns = positions();
      if (!in_range(columns, input.arity())) return corrupt("column out of range");
      return input.project(std::move(columns));
    }
    case RelationTag::kMap: {
      const Relation input = FRESHET_TRY(relation());
      std::vector<Scalar> expressions = FRESHET_TRY(scalars());
      Columns columns = input.type().columns;
      for (const Scalar& expression : expressions) {
        if (auto fits = check_columns(expression, columns); !fits) return fail(fits.error());
        columns.push_back(expression.type());
      }
      return input.map(std::move(expressions));
    }
    case RelationTag::kFilter: {
      const Relation input = FRESHET_TRY(relation());
      std::vector<Scalar> predicates = FRESHET_TRY(scalars());
      if (auto fits = check_columns(predicates, input.type().columns); !fits) return fail(fits.error());
      if (!all_boolean(predicates)) return corrupt("predicates are booleans");
      return input.filter(std::move(predicates));
    }
    case RelationTag::kFlatMap:
      return read_flat_map();
    case RelationTag::kJoin:
      return read_join();
    case RelationTag::kMatch:
      return read_match();
    case RelationTag::kReduce:
      return read_reduce();
    case RelationTag::kTopK:
      return read_top_k();
    case RelationTag::kNegate:
      return FRESHET_TRY(relation()).negate();
    case RelationTag::kThreshold:
      return FRESHET_TRY(relation()).threshold();
    case RelationTag::kUnion: {
      std::vector<Relation> inputs = FRESHET_TRY(relations(count()));
      if (inputs.empty()) return corrupt("a union has inputs");
      for (const Relation& input : inputs) {
        if (!same_columns(input, inputs.front())) return corrupt("inputs of a union differ");
      }
      return Relation::union_all(std::move(inputs));
    }
  }
  return corrupt("unknown relation");
}

Result<Relation> PlanReader::read_constant() {
  repr::RelationType type = FRESHET_TRY(relation_type());
  std::optional<Error> error = optional_error();
  auto rows = FRESHET_TRY(this->rows(type.columns));
  if (error) return Relation::failed(std::move(*error), std::move(type));
  return Relation::constant(std::move(rows), std::move(type));
}

Result<Relation> PlanReader::read_let_rec() {
  std::vector<LocalId> ids;
  for (std::size_t n = count(); n > 0; --n) ids.push_back(local_id());
  const std::optional<std::uint64_t> limit = this->limit();
  const bool return_at_limit = in_.boolean();
  std::vector<Relation> values = FRESHET_TRY(relations(ids.size()));
  Relation body = FRESHET_TRY(relation());
  return Relation::let_rec(std::move(ids), std::move(values), std::move(body), limit, return_at_limit);
}

Result<Relation> PlanReader::read_flat_map() {
  const Relation input = FRESHET_TRY(relation());
  const base::BytesView signature = in_.bytes();
  std::vector<Scalar> arguments = FRESHET_TRY(scalars());
  const bool with_ordinality = in_.boolean();
  if (auto fits = check_columns(arguments, input.type().columns); !fits) return fail(fits.error());
  const TableFunctionSpec* function = table_function_by_signature(signature);
  if (function == nullptr) {
    return fail(sqlstate::kUndefinedFunction, "decode a plan: unknown function " + std::string(signature));
  }
  if (arguments.size() != function->arguments.size()) return corrupt("arguments do not fit");
  return input.flat_map(function, std::move(arguments), with_ordinality);
}

Result<Relation> PlanReader::read_join() {
  std::vector<Relation> inputs = FRESHET_TRY(relations(count()));
  auto classes = FRESHET_TRY(equivalences());
  if (inputs.empty()) return corrupt("a join has inputs");
  const Columns columns = side_by_side(inputs);
  for (const auto& members : classes) {
    if (auto fits = check_columns(members, columns); !fits) return fail(fits.error());
    for (const Scalar& member : members) {
      if (!same_key_encoding(member.type().type, members.front().type().type)) {
        return corrupt("equal expressions have types of different encodings");
      }
    }
  }
  return Relation::join(std::move(inputs), std::move(classes));
}

Result<Relation> PlanReader::read_match() {
  const std::uint8_t kind = in_.u8();
  if (kind > static_cast<std::uint8_t>(MatchKind::kFull)) return corrupt("unknown kind of match");
  std::vector<Relation> inputs = FRESHET_TRY(relations(2));
  std::vector<Scalar> on = FRESHET_TRY(scalars());
  if (auto fits = check_columns(on, side_by_side(inputs)); !fits) return fail(fits.error());
  if (!all_boolean(on)) return corrupt("predicates are booleans");
  return Relation::match(static_cast<MatchKind>(kind), std::move(inputs[0]), std::move(inputs[1]),
                         std::move(on));
}

Result<Relation> PlanReader::read_reduce() {
  const Relation input = FRESHET_TRY(relation());
  std::vector<Scalar> group_key = FRESHET_TRY(scalars());
  std::vector<Aggregate> aggregates = FRESHET_TRY(this->aggregates());
  const Columns& columns = input.type().columns;
  if (auto fits = check_columns(group_key, columns); !fits) return fail(fits.error());
  for (const Aggregate& aggregate : aggregates) {
    if (auto fits = check_columns(aggregate.arguments, columns); !fits) return fail(fits.error());
    for (const auto& by : aggregate.order_by) {
      if (auto fits = check_columns(by.expression, columns); !fits) return fail(fits.error());
    }
    if (!aggregate.filter) continue;
    if (auto fits = check_columns(*aggregate.filter, columns); !fits) return fail(fits.error());
  }
  return input.reduce(std::move(group_key), std::move(aggregates));
}

Result<Relation> PlanReader::read_top_k() {
  const Relation input = FRESHET_TRY(relation());
  std::vector<std::size_t> group_key = positions();
  std::vector<ColumnOrder> order = this->order();
  std::optional<Scalar> limit = FRESHET_TRY(optional_scalar());
  const std::uint64_t offset = in_.varint();
  if (!in_range(group_key, input.arity())) return corrupt("column out of range");
  for (const ColumnOrder& by : order) {
    if (by.column >= input.arity()) return corrupt("column out of range");
  }
  if (limit) {
    if (auto fits = check_columns(*limit, input.type().columns); !fits) return fail(fits.error());
    if (limit->type().type.kind() != repr::TypeKind::kInt8) return corrupt("a limit is an int8");
  }
  return input.top_k(std::move(group_key), std::move(order), std::move(limit), offset);
}

namespace {

template <typename T, typename Read>
Result<T> whole(base::BytesView bytes, const Read& read) {
  PlanReader reader(bytes);
  if (auto begun = reader.begin(); !begun) return fail(begun.error());
  T value = FRESHET_TRY(read(reader));
  if (auto ended = reader.end(); !ended) return fail(ended.error());
  return value;
}

}  // namespace

Result<Scalar> decode_scalar(base::BytesView bytes) {
  return whole<Scalar>(bytes, [](PlanReader& r) { return r.scalar(); });
}
Result<Mfp> decode_mfp(base::BytesView bytes) {
  return whole<Mfp>(bytes, [](PlanReader& r) { return r.mfp(); });
}
Result<Relation> decode_relation(base::BytesView bytes) {
  return whole<Relation>(bytes, [](PlanReader& r) { return r.relation(); });
}
Result<LirPtr> decode_lir(base::BytesView bytes) {
  return whole<LirPtr>(bytes, [](PlanReader& r) { return r.lir(); });
}
Result<DataflowDescription> decode_dataflow(base::BytesView bytes) {
  return whole<DataflowDescription>(bytes, [](PlanReader& r) { return r.dataflow(); });
}

}  // namespace freshet::expr
