// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/relation.h>
#include <freshet/expr/text.h>

namespace freshet::expr {
namespace {

/// Constants longer than this are shown by their first rows.
constexpr std::size_t kShownRows = 20;

std::string_view name_of(MatchKind kind) {
  switch (kind) {
    case MatchKind::kSemi:
      return "Semi";
    case MatchKind::kAnti:
      return "Anti";
    case MatchKind::kLeft:
      return "Left";
    case MatchKind::kFull:
      return "Full";
  }
  FRESHET_UNREACHABLE();
}

class Printer {
 public:
  void print(const Relation& relation, std::size_t indent) {
    std::visit([&](const auto& n) { node(n, relation, indent); }, relation.node());
  }
  std::string take() { return std::move(out_); }

 private:
  void line(std::size_t indent, std::string_view text) {
    out_.append(indent * 2, ' ');
    out_ += text;
    out_ += '\n';
  }
  void children(const Relation& relation, std::size_t indent) {
    for (const Relation& child : relation.children()) print(child, indent + 1);
  }

  void node(const Relation::Constant& n, const Relation& relation, std::size_t indent) {
    if (n.error) return line(indent, "Error '" + n.error->message + "'");
    if (n.rows.empty()) return line(indent, "Constant <empty>");
    line(indent, "Constant");
    for (std::size_t i = 0; i < n.rows.size() && i < kShownRows; ++i) {
      const auto& [row, diff] = n.rows[i];
      line(indent + 1, "- " + (diff == 1 ? "" : std::to_string(diff) + " x ") +
                           row_text(row, relation.type().columns));
    }
    if (n.rows.size() > kShownRows) {
      line(indent + 1, "- and " + std::to_string(n.rows.size() - kShownRows) + " more");
    }
  }
  void node(const Relation::Get& n, const Relation&, std::size_t indent) {
    line(indent, "Get " + std::visit([](auto id) { return to_string(id); }, n.id));
  }
  void node(const Relation::Let& n, const Relation&, std::size_t indent) {
    line(indent, "With");
    line(indent + 1, to_string(n.id) + " =");
    print(n.parts[0], indent + 2);
    line(indent, "Return");
    print(n.parts[1], indent + 1);
  }
  void node(const Relation::LetRec& n, const Relation&, std::size_t indent) {
    std::string head = "With Mutually Recursive";
    if (n.limit) {
      head += (n.return_at_limit ? " [return at " : " [error at ") + std::to_string(*n.limit) + "]";
    }
    line(indent, head);
    for (std::size_t i = 0; i < n.ids.size(); ++i) {
      line(indent + 1, to_string(n.ids[i]) + " =");
      print(n.parts[i], indent + 2);
    }
    line(indent, "Return");
    print(n.parts.back(), indent + 1);
  }
  void node(const Relation::Project& n, const Relation& relation, std::size_t indent) {
    line(indent, "Project " + columns_text(n.columns));
    children(relation, indent);
  }
  void node(const Relation::Map& n, const Relation& relation, std::size_t indent) {
    line(indent, "Map " + scalars_text(n.expressions));
    children(relation, indent);
  }
  void node(const Relation::Filter& n, const Relation& relation, std::size_t indent) {
    line(indent, "Filter " + scalars_text(n.predicates, " AND "));
    children(relation, indent);
  }
  void node(const Relation::FlatMap& n, const Relation& relation, std::size_t indent) {
    line(indent, "FlatMap " + std::string(n.function->name) + scalars_text(n.arguments) +
                     (n.with_ordinality ? " with ordinality" : ""));
    children(relation, indent);
  }
  void node(const Relation::Join& n, const Relation& relation, std::size_t indent) {
    line(indent, n.equivalences.empty() ? "CrossJoin" : "Join on=" + equivalences_text(n.equivalences));
    children(relation, indent);
  }
  void node(const Relation::Match& n, const Relation& relation, std::size_t indent) {
    line(indent, std::string(name_of(n.kind)) + "Join on=" + scalars_text(n.on, " AND "));
    children(relation, indent);
  }
  void node(const Relation::Reduce& n, const Relation& relation, std::size_t indent) {
    std::string text = n.aggregates.empty() ? "Distinct" : "Reduce";
    text += " group_by=" + scalars_text(n.group_key);
    if (!n.aggregates.empty()) text += " aggregates=" + aggregates_text(n.aggregates);
    line(indent, text);
    children(relation, indent);
  }
  void node(const Relation::TopK& n, const Relation& relation, std::size_t indent) {
    line(indent, "TopK" + top_k_text(n.group_key, n.order, n.limit, n.offset));
    children(relation, indent);
  }
  void node(const Relation::Negate&, const Relation& relation, std::size_t indent) {
    line(indent, "Negate");
    children(relation, indent);
  }
  void node(const Relation::Threshold&, const Relation& relation, std::size_t indent) {
    line(indent, "Threshold");
    children(relation, indent);
  }
  void node(const Relation::Union&, const Relation& relation, std::size_t indent) {
    line(indent, "Union");
    children(relation, indent);
  }

  std::string out_;
};

}  // namespace

std::string to_string(const Relation& relation) {
  Printer printer;
  printer.print(relation, 0);
  return printer.take();
}

std::string to_string(const Aggregate& aggregate) {
  std::string out = std::string(aggregate.spec->name) + "(";
  if (aggregate.distinct) out += "distinct ";
  if (aggregate.arguments.empty()) out += "*";
  out += scalars_text(aggregate.arguments, ", ", false);
  for (std::size_t i = 0; i < aggregate.order_by.size(); ++i) {
    const auto& by = aggregate.order_by[i];
    out += (i == 0 ? " order by " : ", ") + to_string(by.expression) + (by.descending ? " desc" : "");
    if (by.nulls_last == by.descending) out += by.nulls_last ? " nulls last" : " nulls first";
  }
  out += ")";
  if (aggregate.filter) out += " filter (where " + to_string(*aggregate.filter) + ")";
  return out;
}

}  // namespace freshet::expr
