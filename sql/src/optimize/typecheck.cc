// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/match_keys.h>

#include "rewrite.h"

namespace freshet::sql {
namespace {

using expr::LocalId;
using expr::Relation;
using expr::Scalar;
using passes::Columns;

Result<void> wrong(const Relation& relation, const std::string& what) {
  std::string text = to_string(relation);
  if (text.size() > 2000) text.resize(2000);
  return fail(sqlstate::kInternalError, "plan is ill-typed: " + what + "\n" + text);
}

bool alike(const repr::SqlType& a, const repr::SqlType& b) { return a.physical() == b.physical(); }

class Checker {
 public:
  Result<void> check(const Relation& relation) {
    if (auto own = node(relation); !own) return own;
    if (const auto* let = relation.as<Relation::Let>()) {
      if (auto value = check(let->parts[0]); !value) return value;
      if (!bind(let->id, let->parts[0].type())) return wrong(relation, "local bound twice");
      return check(let->parts[1]);
    }
    if (const auto* rec = relation.as<Relation::LetRec>()) {
      for (std::size_t i = 0; i < rec->ids.size(); ++i) {
        if (!bind(rec->ids[i], rec->parts[i].type())) return wrong(relation, "local bound twice");
      }
    }
    for (const Relation& child : relation.children()) {
      if (auto below = check(child); !below) return below;
    }
    return {};
  }

 private:
  bool bind(LocalId id, const repr::RelationType& type) { return locals_.emplace(id, type).second; }

  Result<void> scalar(const Relation& relation, const Scalar& s, const Columns& columns, bool predicate) {
    bool fits = true;
    s.visit([&](const Scalar& part) {
      const auto* column = part.as<Scalar::Column>();
      if (column == nullptr) return;
      fits = fits && column->index < columns.size() &&
             alike(part.type().type, columns[column->index].type) &&
             (part.type().nullable || !columns[column->index].nullable);
    });
    if (!fits) return wrong(relation, "column of another type in " + to_string(s));
    if (predicate && s.type().type.kind() != repr::TypeKind::kBool) {
      return wrong(relation, "predicate is no boolean: " + to_string(s));
    }
    return {};
  }

  Result<void> scalars(const Relation& relation, const std::vector<Scalar>& all, const Columns& columns,
                       bool predicates = false) {
    for (const Scalar& s : all) {
      if (auto fits = scalar(relation, s, columns, predicates); !fits) return fits;
    }
    return {};
  }

  Result<void> get(const Relation& relation, const Relation::Get& n) {
    const auto* local = std::get_if<LocalId>(&n.id);
    if (local == nullptr) return {};
    const auto found = locals_.find(*local);
    if (found == locals_.end()) return wrong(relation, "local is not bound");
    const repr::RelationType& value = found->second;
    const repr::RelationType& claim = relation.type();
    if (value.arity() != claim.arity()) return wrong(relation, "local has another arity");
    for (std::size_t c = 0; c < claim.arity(); ++c) {
      if (!alike(value.columns[c].type, claim.columns[c].type)) return wrong(relation, "local has another type");
    }
    return {};
  }

  Result<void> node(const Relation& relation) {
    const auto children = relation.children();
    if (const auto* n = relation.as<Relation::Get>()) return get(relation, *n);
    if (const auto* n = relation.as<Relation::Constant>()) {
      for (const auto& [row, diff] : n->rows) {
        for (std::size_t c = 0; c < row.size(); ++c) {
          if (row[c].is_null() && !relation.type().columns[c].nullable) return wrong(relation, "NULL in constant");
        }
      }
      return {};
    }
    if (const auto* n = relation.as<Relation::Map>()) {
      Columns columns = children[0].type().columns;
      for (const Scalar& expression : n->expressions) {
        if (auto fits = scalar(relation, expression, columns, false); !fits) return fits;
        columns.push_back(expression.type());
      }
      return {};
    }
    if (const auto* n = relation.as<Relation::Filter>()) {
      return scalars(relation, n->predicates, children[0].type().columns, true);
    }
    if (const auto* n = relation.as<Relation::FlatMap>()) {
      return scalars(relation, n->arguments, children[0].type().columns);
    }
    if (const auto* n = relation.as<Relation::Match>()) {
      return scalars(relation, n->on, passes::side_by_side(children), true);
    }
    if (const auto* n = relation.as<Relation::Join>()) return join(relation, *n);
    if (const auto* n = relation.as<Relation::Reduce>()) return reduce(relation, *n);
    if (const auto* n = relation.as<Relation::TopK>()) return top_k(relation, *n);
    if (relation.as<Relation::Union>() == nullptr) return {};
    for (const Relation& child : children) {
      if (child.arity() != relation.arity()) return wrong(relation, "inputs of a union differ in arity");
      for (std::size_t c = 0; c < child.arity(); ++c) {
        if (!alike(child.type().columns[c].type, relation.type().columns[c].type)) {
          return wrong(relation, "inputs of a union differ in type");
        }
      }
    }
    return {};
  }

  Result<void> join(const Relation& relation, const Relation::Join& n) {
    const Columns columns = passes::side_by_side(n.inputs);
    for (const auto& members : n.equivalences) {
      if (auto fits = scalars(relation, members, columns); !fits) return fits;
      for (const Scalar& member : members) {
        if (!expr::same_key_encoding(member.type().type, members[0].type().type)) {
          return wrong(relation, "equal expressions of different encodings");
        }
      }
    }
    return {};
  }

  Result<void> reduce(const Relation& relation, const Relation::Reduce& n) {
    const Columns& columns = n.input[0].type().columns;
    if (auto fits = scalars(relation, n.group_key, columns); !fits) return fits;
    for (const expr::Aggregate& aggregate : n.aggregates) {
      if (auto fits = scalars(relation, aggregate.arguments, columns); !fits) return fits;
      if (aggregate.filter) {
        if (auto fits = scalar(relation, *aggregate.filter, columns, true); !fits) return fits;
      }
      for (const auto& by : aggregate.order_by) {
        if (auto fits = scalar(relation, by.expression, columns, false); !fits) return fits;
      }
    }
    return {};
  }

  Result<void> top_k(const Relation& relation, const Relation::TopK& n) {
    if (!n.limit) return {};
    if (n.limit->type().type.kind() != repr::TypeKind::kInt8) return wrong(relation, "limit is no int8");
    for (const std::size_t c : n.limit->columns()) {
      if (std::find(n.group_key.begin(), n.group_key.end(), c) == n.group_key.end()) {
        return wrong(relation, "limit reads a column outside the group key");
      }
    }
    return {};
  }

  std::map<LocalId, repr::RelationType> locals_;
};

}  // namespace

Result<void> typecheck(const Relation& relation) { return Checker().check(relation); }

}  // namespace freshet::sql
