// SPDX-License-Identifier: Apache-2.0
// HIR as text, for tests and for reading.
#include <freshet/sql/hir.h>

namespace freshet::sql {
namespace {

void put(std::string& out, const HirRelation& r, std::size_t indent);

std::string list(const std::vector<HirScalarPtr>& scalars) {
  std::string text;
  for (const HirScalarPtr& s : scalars) text += (text.empty() ? "" : ", ") + to_string(*s);
  return text;
}

std::string aggregates(const std::vector<HirAggregate>& items) {
  std::string text;
  for (const HirAggregate& a : items) {
    text += (text.empty() ? "" : ", ") + std::string(a.spec->name) + "(" + (a.distinct ? "distinct " : "") +
            (a.arguments.empty() ? "*" : list(a.arguments)) + ")";
    if (a.filter) text += " filter " + to_string(*a.filter);
  }
  return text;
}

std::string numbers(const std::vector<std::size_t>& columns) {
  std::string text;
  for (std::size_t c : columns) text += (text.empty() ? "#" : ", #") + std::to_string(c);
  return text;
}

std::string head(const HirRelation& r) {
  using Kind = HirRelation::Kind;
  switch (r.kind) {
    case Kind::kConstant: return "Constant " + std::to_string(r.rows.size()) + " rows";
    case Kind::kGet: return "Get " + expr::to_string(r.id);
    case Kind::kGetLocal: return "Get l" + std::to_string(r.locals.front());
    case Kind::kLet: return "Let l" + std::to_string(r.locals.front());
    case Kind::kLetRec: {
      std::string text = "LetRec";
      for (std::uint64_t id : r.locals) text += " l" + std::to_string(id);
      if (r.recursion_limit) text += " limit " + std::to_string(*r.recursion_limit);
      return text;
    }
    case Kind::kProject: return "Project " + numbers(r.projection);
    case Kind::kMap: return "Map " + list(r.scalars);
    case Kind::kFilter: return "Filter " + list(r.scalars);
    case Kind::kFlatMap: return "FlatMap " + std::string(r.table_function->name) + "(" + list(r.scalars) + ")";
    case Kind::kJoin: {
      const char* kinds[] = {"", "Join", "LeftJoin", "FullJoin"};
      return std::string(kinds[static_cast<std::size_t>(r.join_kind)]) + (r.lateral ? " lateral" : "") +
             (r.scalars.empty() ? "" : " on " + list(r.scalars));
    }
    case Kind::kReduce: return "Reduce by (" + list(r.scalars) + ") " + aggregates(r.aggregates);
    case Kind::kDistinct: return "Distinct";
    case Kind::kTopK: {
      std::string text = "TopK group (" + numbers(r.projection) + ") order (";
      for (std::size_t i = 0; i < r.order.size(); ++i) {
        text += (i == 0 ? "#" : ", #") + std::to_string(r.order[i].column) + (r.order[i].descending ? " desc" : "") +
                (r.order[i].nulls_last ? "" : " nulls first");
      }
      text += ")";
      if (r.limit) text += " limit " + to_string(*r.limit);
      if (r.offset) text += " offset " + to_string(*r.offset);
      return text;
    }
    case Kind::kNegate: return "Negate";
    case Kind::kThreshold: return "Threshold";
    case Kind::kUnion: return "Union";
  }
  return "?";
}

void put(std::string& out, const HirRelation& r, std::size_t indent) {
  out += std::string(2 * indent, ' ') + head(r) + "\n";
  for (const HirRelationPtr& input : r.inputs) put(out, *input, indent + 1);
}

}  // namespace

std::string to_string(const HirRelation& relation) {
  std::string out;
  put(out, relation, 0);
  return out;
}

std::string to_string(const HirScalar& s) {
  using Kind = HirScalar::Kind;
  switch (s.kind) {
    case Kind::kColumn:
      return "#" + (s.level == 0 ? "" : std::string(s.level, '^')) + std::to_string(s.index);
    case Kind::kLiteral:
      if (s.value.is_null()) return "null";
      if (s.type.type.kind() == repr::TypeKind::kUnknown) return "'" + s.value.get<std::string>() + "'";
      return repr::to_text(s.value, s.type.type) + "::" + repr::to_string(s.type.type);
    case Kind::kFailure: return "error(" + s.error.message + ")";
    case Kind::kCall: return std::string(s.function->name) + "(" + list(s.arguments) + ")";
    case Kind::kAnd: return "and(" + list(s.arguments) + ")";
    case Kind::kOr: return "or(" + list(s.arguments) + ")";
    case Kind::kIf: return "if(" + list(s.arguments) + ")";
    case Kind::kCoalesce: return "coalesce(" + list(s.arguments) + ")";
    case Kind::kIsNull: return "isnull(" + list(s.arguments) + ")";
    case Kind::kParameter: return "$" + std::to_string(s.index + 1);
    case Kind::kMzNow: return "mz_now()";
    case Kind::kSessionValue: return s.name;
    case Kind::kExists: return "exists(\n" + to_string(*s.query) + ")";
    case Kind::kScalarSubquery: return "subquery(\n" + to_string(*s.query) + ")";
    case Kind::kAny: return "any(" + list(s.arguments) + " over\n" + to_string(*s.query) + ")";
  }
  return "?";
}

}  // namespace freshet::sql
