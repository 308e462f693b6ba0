// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/lir.h>
#include <freshet/expr/text.h>

namespace freshet::expr {
namespace {

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

std::string key_text(const ArrangementKey& key) { return "[" + scalars_text(key, ", ", false) + "]"; }

std::string unless_identity(std::string_view name, const Mfp& mfp) {
  return mfp.is_identity() ? "" : " " + std::string(name) + "{" + to_string(mfp) + "}";
}

class Printer {
 public:
  void print(const Lir& lir, std::size_t indent) {
    std::visit([&](const auto& n) { node(n, lir, indent); }, lir.node);
  }
  std::string take() { return std::move(out_); }

 private:
  void line(std::size_t indent, std::string_view text) {
    out_.append(indent * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  void node(const Lir::Constant& n, const Lir& lir, std::size_t indent) {
    if (n.error) return line(indent, "Error '" + n.error->message + "'");
    if (n.rows.empty()) return line(indent, "Constant <empty>");
    line(indent, "Constant (" + std::to_string(n.rows.size()) + " rows)");
    for (std::size_t i = 0; i < n.rows.size() && i < 5; ++i) {
      line(indent + 1, "- " + row_text(n.rows[i].first, lir.types));
    }
  }
  void node(const Lir::Get& n, const Lir&, std::size_t indent) {
    std::string text = "Get " + std::visit([](auto id) { return to_string(id); }, n.id);
    if (n.key) text += " by=" + key_text(*n.key);
    if (n.seek) {
      std::vector<repr::ColumnType> types;
      for (const Scalar& key : *n.key) types.push_back(key.type());
      text += " seek=[";
      for (std::size_t i = 0; i < n.seek->size(); ++i) {
        text += (i == 0 ? "" : ", ") + row_text((*n.seek)[i], types);
      }
      text += "]";
    }
    line(indent, text + unless_identity("mfp", n.mfp));
  }
  void node(const Lir::Let& n, const Lir&, std::size_t indent) {
    line(indent, "With");
    line(indent + 1, to_string(n.id) + " =");
    print(*n.value, indent + 2);
    line(indent, "Return");
    print(*n.body, indent + 1);
  }
  void node(const Lir::LetRec& n, const Lir&, std::size_t indent) {
    std::string head = "With Mutually Recursive";
    if (n.limit) {
      head += (n.return_at_limit ? " [return at " : " [error at ") + std::to_string(*n.limit) + "]";
    }
    line(indent, head);
    for (std::size_t i = 0; i < n.ids.size(); ++i) {
      line(indent + 1, to_string(n.ids[i]) + " =");
      print(*n.values[i], indent + 2);
    }
    line(indent, "Return");
    print(*n.body, indent + 1);
  }
  void node(const Lir::MapFilterProject& n, const Lir&, std::size_t indent) {
    line(indent, "MapFilterProject " + to_string(n.mfp));
    print(*n.input, indent + 1);
  }
  void node(const Lir::FlatMap& n, const Lir&, std::size_t indent) {
    line(indent, "FlatMap " + std::string(n.function->name) + scalars_text(n.arguments) +
                     (n.with_ordinality ? " with ordinality" : "") + unless_identity("after", n.after));
    print(*n.input, indent + 1);
  }

  void stages(const std::vector<JoinStage>& all, std::size_t indent) {
    for (const JoinStage& stage : all) {
      line(indent, "-> %" + std::to_string(stage.input) + key_text(stage.lookup_key) + " = " +
                       key_text(stage.stream_key) + unless_identity("after", stage.after));
    }
  }
  void node(const Lir::Join& n, const Lir&, std::size_t indent) {
    if (const auto* linear = std::get_if<LinearJoin>(&n.plan)) {
      line(indent, "Join linear");
      line(indent + 1, "from %" + std::to_string(linear->source) +
                           (linear->source_key ? key_text(*linear->source_key) : "") +
                           unless_identity("initial", linear->initial));
      stages(linear->stages, indent + 1);
    } else {
      line(indent, "Join delta");
      for (const DeltaJoin::Path& path : std::get_if<DeltaJoin>(&n.plan)->paths) {
        line(indent + 1, "path %" + std::to_string(path.source) + key_text(path.source_key) +
                             unless_identity("initial", path.initial));
        stages(path.stages, indent + 2);
      }
    }
    for (const LirPtr& input : n.inputs) print(*input, indent + 1);
  }
  void node(const Lir::Match& n, const Lir&, std::size_t indent) {
    line(indent, std::string(name_of(n.kind)) + "Match " + key_text(n.left_key) + " = " +
                     key_text(n.right_key) + unless_identity("after", n.after));
    print(*n.left, indent + 1);
    print(*n.right, indent + 1);
  }
  void node(const Lir::Reduce& n, const Lir&, std::size_t indent) {
    std::string text = n.plan.is_distinct() ? "Distinct" : "Reduce";
    if (!n.plan.accumulable.empty()) text += " accumulable=" + columns_text(n.plan.accumulable);
    if (!n.plan.extrema.empty()) text += " extrema=" + columns_text(n.plan.extrema);
    if (!n.plan.ordered.empty()) text += " ordered=" + columns_text(n.plan.ordered);
    text += " keys=" + std::to_string(n.key_arity);
    if (!n.aggregates.empty()) text += " aggregates=" + aggregates_text(n.aggregates);
    line(indent, text + unless_identity("input", n.key_and_values) + unless_identity("after", n.after));
    print(*n.input, indent + 1);
  }
  void node(const Lir::TopK& n, const Lir&, std::size_t indent) {
    line(indent, "TopK" + top_k_text(n.group_key, n.order, n.limit, n.offset));
    print(*n.input, indent + 1);
  }
  void node(const Lir::Negate& n, const Lir&, std::size_t indent) {
    line(indent, "Negate");
    print(*n.input, indent + 1);
  }
  void node(const Lir::Threshold& n, const Lir&, std::size_t indent) {
    line(indent, "Threshold");
    print(*n.input, indent + 1);
  }
  void node(const Lir::Union& n, const Lir&, std::size_t indent) {
    line(indent, n.consolidate ? "Union consolidated" : "Union");
    for (const LirPtr& input : n.inputs) print(*input, indent + 1);
  }
  void node(const Lir::ArrangeBy& n, const Lir&, std::size_t indent) {
    std::string text = "ArrangeBy";
    for (const ArrangementKey& key : n.keys) text += " " + key_text(key);
    line(indent, text);
    print(*n.input, indent + 1);
  }

  std::string out_;
};

}  // namespace

std::string to_string(const Lir& lir) {
  Printer printer;
  printer.print(lir, 0);
  return printer.take();
}

}  // namespace freshet::expr
