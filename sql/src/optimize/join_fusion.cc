// SPDX-License-Identifier: Apache-2.0
// Nested inner joins become one, so that their order is chosen as a whole. What stands between them (filters,
// maps, projections) moves above; constants of one row become literals.
#include <algorithm>

#include "rewrite.h"

namespace freshet::sql::passes {
namespace {

constexpr std::size_t kMaxInlined = 300;

/// A join with everything else pulled above it; all scalars are over the inputs' columns side by side.
struct Flat {
  std::vector<Relation> inputs{};
  std::vector<std::vector<Scalar>> classes{};
  std::vector<Scalar> predicates{};
  std::vector<Scalar> outputs{};
  bool changed = false;
};

Flat leaf(const Relation& relation) {
  Flat flat{{relation}};
  for (std::size_t c = 0; c < relation.arity(); ++c) {
    flat.outputs.push_back(Scalar::column(c, relation.type().columns[c]));
  }
  return flat;
}

/// What lies below projections, maps and filters.
bool covers_join(const Relation& relation) {
  if (relation.as<Relation::Join>() != nullptr) return true;
  const bool transparent = relation.as<Relation::Project>() || relation.as<Relation::Map>() ||
                           relation.as<Relation::Filter>();
  return transparent && covers_join(relation.children()[0]);
}

bool is_one_row(const Relation& relation) {
  const auto* constant = as_rows(relation);
  return constant != nullptr && constant->rows.size() == 1 && constant->rows[0].second == 1;
}

std::vector<Scalar> substituted(const std::vector<Scalar>& scalars, std::span<const Scalar> columns) {
  std::vector<Scalar> out;
  for (const Scalar& scalar : scalars) out.push_back(scalar.substitute(columns));
  return out;
}

Flat flatten(const Relation& relation);

/// An input of a join: opened if it is a join below, and if that evaluates nothing earlier than written.
Flat open_input(const Relation& relation, std::span<const std::uint8_t> in_class) {
  if (is_one_row(relation)) {
    Flat flat{.changed = true};
    const auto& row = as_rows(relation)->rows[0].first;
    for (std::size_t c = 0; c < row.size(); ++c) {
      flat.outputs.push_back(Scalar::literal(row[c], relation.type().columns[c].type));
    }
    return flat;
  }
  if (!covers_join(relation)) return leaf(relation);
  Flat flat = flatten(relation);
  for (std::size_t c = 0; c < flat.outputs.size(); ++c) {
    const Scalar& output = flat.outputs[c];
    if ((in_class[c] != 0 && output.can_fail()) || size_of(output) > kMaxInlined) return leaf(relation);
  }
  flat.changed = true;
  return flat;
}

Flat flatten_join(const Relation::Join& n) {
  Flat out;
  std::vector<std::uint8_t> in_class(side_by_side(n.inputs).size());
  for (const auto& members : n.equivalences) {
    for (const Scalar& member : members) {
      for (const std::size_t c : member.columns()) in_class[c] = 1;
    }
  }
  std::size_t column = 0;
  std::size_t offset = 0;
  for (const Relation& input : n.inputs) {
    const std::size_t arity = input.arity();
    Flat flat = open_input(input, std::span(in_class).subspan(column, arity));
    column += arity;
    const auto by = static_cast<std::ptrdiff_t>(offset);
    for (Relation& inner : flat.inputs) {
      offset += inner.arity();
      out.inputs.push_back(std::move(inner));
    }
    for (const auto& members : flat.classes) {
      out.classes.emplace_back();
      for (const Scalar& member : members) out.classes.back().push_back(shifted(member, by));
    }
    for (const Scalar& predicate : flat.predicates) out.predicates.push_back(shifted(predicate, by));
    for (const Scalar& output : flat.outputs) out.outputs.push_back(shifted(output, by));
    out.changed = out.changed || flat.changed;
  }
  for (const auto& members : n.equivalences) out.classes.push_back(substituted(members, out.outputs));
  return out;
}

Flat flatten(const Relation& relation) {
  if (const auto* n = relation.as<Relation::Join>()) return flatten_join(*n);
  Flat flat = flatten(relation.children()[0]);
  if (const auto* n = relation.as<Relation::Project>()) {
    std::vector<Scalar> outputs;
    for (const std::size_t c : n->columns) outputs.push_back(flat.outputs[c]);
    flat.outputs = std::move(outputs);
  } else if (const auto* map = relation.as<Relation::Map>()) {
    for (const Scalar& expression : map->expressions) {
      flat.outputs.push_back(expression.substitute(flat.outputs));
    }
  } else {
    const auto* filter = relation.as<Relation::Filter>();
    FRESHET_ASSERT(filter != nullptr);
    for (Scalar& predicate : substituted(filter->predicates, flat.outputs)) {
      flat.predicates.push_back(std::move(predicate));
    }
  }
  return flat;
}

/// A join of one input is a filter, if its classes can be written as predicates.
std::optional<Relation> as_filter(const Relation& input, const std::vector<std::vector<Scalar>>& classes) {
  std::vector<Scalar> predicates;
  for (const auto& members : classes) {
    if (members.size() == 1) predicates.push_back(is_not_null(members[0]));
    for (std::size_t m = 1; m < members.size(); ++m) {
      const auto equality = make_equality(members[0], members[m]);
      if (!equality) return std::nullopt;
      predicates.push_back(*equality);
    }
  }
  return input.filter(std::move(predicates));
}

/// What a class makes equal to a literal is that literal: an error row then shows it as the join did.
Scalar with_literals(const Scalar& output, const std::vector<std::vector<Scalar>>& classes) {
  if (output.as<Scalar::Column>() == nullptr || has_forms(output.type().type)) return output;
  for (const auto& members : classes) {
    if (std::find(members.begin(), members.end(), output) == members.end()) continue;
    for (const Scalar& member : members) {
      if (member.is_literal() && member.type().type.physical() == output.type().type.physical()) {
        return Scalar::literal(member.as<Scalar::Literal>()->value, output.type().type);
      }
    }
  }
  return output;
}

Relation rebuild(Flat flat) {
  if (flat.inputs.empty()) flat.inputs.push_back(Relation::constant({{{}, 1}}, {}));
  std::optional<Relation> joined;
  if (flat.inputs.size() == 1) joined = as_filter(flat.inputs[0], flat.classes);
  if (joined) {
    for (Scalar& output : flat.outputs) output = with_literals(output, flat.classes);
  }
  if (!joined) joined = Relation::join(std::move(flat.inputs), std::move(flat.classes));
  const std::size_t arity = joined->arity();
  std::vector<Scalar> expressions;
  std::vector<std::size_t> columns;
  for (Scalar& output : flat.outputs) {
    if (const auto* column = output.as<Scalar::Column>()) {
      columns.push_back(column->index);
    } else {
      columns.push_back(arity + expressions.size());
      expressions.push_back(std::move(output));
    }
  }
  return joined->filter(std::move(flat.predicates)).map(std::move(expressions)).project(std::move(columns));
}

}  // namespace

Relation fuse_joins(const Relation& relation) {
  return relation.transform([](Relation r) {
    const auto* n = r.as<Relation::Join>();
    if (n == nullptr) return r;
    Flat flat = flatten_join(*n);
    if (!flat.changed && n->inputs.size() > 1) return r;
    return rebuild(std::move(flat));
  });
}

}  // namespace freshet::sql::passes
