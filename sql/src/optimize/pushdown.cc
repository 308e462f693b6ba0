// SPDX-License-Identifier: Apache-2.0
// Predicates go down to where their columns come from.
//
// A predicate that may fail stays above everything that can drop, cancel or group rows: evaluated below, it
// could fail for a row that does not reach it in the written order.
#include <algorithm>

#include <freshet/expr/match_keys.h>

#include "rewrite.h"
#include "scalar_rules.h"

namespace freshet::sql::passes {
namespace {

using expr::MatchKind;

/// Predicates are not inlined through a Map if that makes them larger than this.
constexpr std::size_t kMaxInlined = 300;

class Pusher {
 public:
  explicit Pusher(const Context& context) : context_(context) {}

  /// `relation` filtered by `predicates`.
  Relation push(const Relation& relation, std::vector<Scalar> predicates) {
    for (Scalar& predicate : predicates) predicate = retyped(predicate, relation.type().columns);
    return std::visit([&](const auto& n) { return node(n, relation, std::move(predicates)); },
                      relation.node());
  }

 private:
  using Predicates = std::vector<Scalar>;

  Relation node(const Relation::Constant&, const Relation& relation, Predicates predicates) {
    return relation.filter(std::move(predicates));
  }
  Relation node(const Relation::Get&, const Relation& relation, Predicates predicates) {
    return relation.filter(std::move(predicates));
  }
  Relation node(const Relation::Let& n, const Relation&, Predicates predicates) {
    Relation value = push(n.parts[0], {});
    return Relation::let(n.id, std::move(value), push(n.parts[1], std::move(predicates)));
  }
  Relation node(const Relation::LetRec& n, const Relation&, Predicates predicates) {
    std::vector<Relation> values;
    for (std::size_t i = 0; i < n.ids.size(); ++i) values.push_back(push(n.parts[i], {}));
    // The error of a recursion that does not end is filtered by what is known of it outside, not in the body.
    const bool fails = n.limit && !n.return_at_limit;
    Relation body = push(n.parts.back(), fails ? Predicates() : predicates);
    Relation whole = Relation::let_rec(n.ids, std::move(values), std::move(body), n.limit, n.return_at_limit);
    return fails ? whole.filter(std::move(predicates)) : whole;
  }

  Relation node(const Relation::Filter& n, const Relation&, Predicates predicates) {
    Predicates all = conjuncts(n.predicates);
    for (Scalar& predicate : conjuncts(predicates)) all.push_back(std::move(predicate));
    return push(n.input[0], std::move(all));
  }

  Relation node(const Relation::Project& n, const Relation&, Predicates predicates) {
    auto [below, above] = split(std::move(predicates), [&](const Scalar& p) {
      return !p.can_fail() || non_negative(n.input[0], context_);
    });
    for (Scalar& predicate : below) predicate = predicate.with_columns(n.columns);
    return push(n.input[0], std::move(below)).project(n.columns).filter(std::move(above));
  }

  Relation node(const Relation::Map& n, const Relation&, Predicates predicates) {
    const std::size_t before = n.input[0].arity();
    std::vector<Scalar> written;
    for (std::size_t c = 0; c < before; ++c) written.push_back(Scalar::column(c, n.input[0].type().columns[c]));
    for (const Scalar& expression : n.expressions) {
      // A long chain of expressions could grow without bound when written out.
      written.push_back(size_of(expression) > kMaxInlined ? expression : expression.substitute(written));
      if (size_of(written.back()) > kMaxInlined) {
        written.back() = Scalar::column(written.size() - 1, expression.type());
      }
    }
    Predicates below;
    Predicates above;
    const bool cancels = !non_negative(n.input[0], context_);
    for (Scalar& predicate : predicates) {
      Scalar inlined = predicate.substitute(written);
      const bool fits = size_of(inlined) <= kMaxInlined && within(inlined, {0, before});
      if (fits && !(inlined.can_fail() && cancels)) {
        below.push_back(simplify_scalar(inlined, context_.folding));
      } else {
        above.push_back(std::move(predicate));
      }
    }
    return push(n.input[0], std::move(below)).map(n.expressions).filter(std::move(above));
  }

  Relation node(const Relation::FlatMap& n, const Relation&, Predicates predicates) {
    const Span input{0, n.input[0].arity()};
    auto [below, above] =
        split(std::move(predicates), [&](const Scalar& p) { return !p.can_fail() && within(p, input); });
    return push(n.input[0], std::move(below))
        .flat_map(n.function, n.arguments, n.with_ordinality)
        .filter(std::move(above));
  }

  Relation node(const Relation::Join& n, const Relation&, Predicates predicates) {
    const std::vector<Span> spans = input_spans(n.inputs);
    auto classes = n.equivalences;
    Predicates single;
    Predicates above;
    for (const Scalar& written : conjuncts(predicates)) {
      Scalar predicate = simplify_scalar(with_literals(written, n.equivalences), context_.folding);
      const bool at_home = std::any_of(spans.begin(), spans.end(), [&](Span s) { return within(predicate, s); });
      const auto equality = expr::as_equality(predicate);
      if (predicate.can_fail()) {
        above.push_back(std::move(predicate));
      } else if (at_home) {
        single.push_back(std::move(predicate));
      } else if (equality && !predicate.contains_mz_now()) {
        classes.push_back({equality->first, equality->second});
      } else {
        above.push_back(std::move(predicate));
      }
    }
    std::vector<Relation> inputs;
    const auto equal = with_null_safe(classes);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const auto to_input = [&](const Scalar& s) { return shifted(s, -static_cast<std::ptrdiff_t>(spans[i].begin)); };
      Predicates down;
      for (const Scalar& predicate : single) {
        // Also where equal columns stand: rows without a partner go early, and so do errors that the
        // predicate would have refused by what they imply.
        const auto moved = expressed_over(predicate, spans[i], equal);
        if (moved) down.push_back(simplify_scalar(to_input(*moved), context_.folding));
      }
      inputs.push_back(push(n.inputs[i], std::move(down)));
    }
    return Relation::join(std::move(inputs), std::move(classes)).filter(std::move(above));
  }

  /// Also classes of the columns that are equal or both NULL: those of `a IS NULL = b IS NULL` and
  /// COALESCE(a, v) = COALESCE(b, v). Good for predicates, which see no difference, and no equivalences of a join.
  static std::vector<std::vector<Scalar>> with_null_safe(std::vector<std::vector<Scalar>> classes) {
    const auto columns_in = [](const std::vector<Scalar>& members, auto argument) {
      std::vector<Scalar> columns;
      for (const Scalar& member : members) {
        const Scalar* inner = argument(member);
        if (inner != nullptr && inner->template as<Scalar::Column>() != nullptr) columns.push_back(*inner);
      }
      return columns;
    };
    const std::size_t written = classes.size();
    for (std::size_t i = 0; i < written; ++i) {
      const auto tested = columns_in(classes[i], [](const Scalar& member) -> const Scalar* {
        const auto* test = member.as<Scalar::IsNull>();
        return test == nullptr ? nullptr : &test->arguments.front();
      });
      for (std::size_t j = 0; tested.size() > 1 && j < written; ++j) {
        auto valued = columns_in(classes[j], [](const Scalar& member) -> const Scalar* {
          const auto* value = member.as<Scalar::Coalesce>();
          return value == nullptr ? nullptr : &value->arguments.front();
        });
        std::erase_if(valued, [&](const Scalar& c) { return std::find(tested.begin(), tested.end(), c) == tested.end(); });
        if (valued.size() > 1) classes.push_back(std::move(valued));
      }
    }
    return classes;
  }

  /// Columns that a class makes equal to a literal are that literal, where nothing can tell the difference.
  static Scalar with_literals(const Scalar& predicate, const std::vector<std::vector<Scalar>>& classes) {
    return predicate.transform([&](Scalar s) {
      if (s.as<Scalar::Column>() == nullptr || has_forms(s.type().type)) return s;
      for (const auto& members : classes) {
        if (std::find(members.begin(), members.end(), s) == members.end()) continue;
        for (const Scalar& member : members) {
          if (member.is_literal() && member.type().type.physical() == s.type().type.physical()) return member;
        }
      }
      return s;
    });
  }

  Relation node(const Relation::Match& n, const Relation&, Predicates predicates) {
    const std::size_t split_at = n.inputs[0].arity();
    const Span left{0, split_at};
    const Span right{split_at, split_at + n.inputs[1].arity()};
    const std::vector<Scalar> written = conjuncts(n.on);
    expr::MatchSplit parts = expr::split_match(n.kind, written, split_at, side_by_side(n.inputs));
    Predicates to_left = std::move(parts.left_filter);
    Predicates to_right = std::move(parts.right_filter);
    Predicates on = std::move(parts.residual);
    std::vector<std::vector<Scalar>> classes;
    for (const Scalar& conjunct : written) {
      const auto equality = expr::as_equality(conjunct);
      if (!equality || conjunct.can_fail() || conjunct.contains_mz_now()) continue;
      const bool a_left = within(equality->first, left) && within(equality->second, right);
      const bool b_left = within(equality->second, left) && within(equality->first, right);
      const bool has_columns = !equality->first.columns().empty() && !equality->second.columns().empty();
      if (!has_columns || (!a_left && !b_left)) continue;
      on.push_back(conjunct);
      classes.push_back({equality->first, equality->second});
    }
    auto [below, above] = split(conjuncts(predicates), [&](const Scalar& p) {
      return !p.can_fail() && n.kind != MatchKind::kFull && within(p, left);
    });
    classes = with_null_safe(std::move(classes));
    for (const Scalar& predicate : below) {
      // What no left row can match may go on the right, too.
      const auto moved = expressed_over(predicate, right, classes);
      if (moved && !moved->columns().empty()) {
        to_right.push_back(simplify_scalar(shifted(*moved, -static_cast<std::ptrdiff_t>(split_at)), context_.folding));
      }
    }
    to_left.insert(to_left.end(), below.begin(), below.end());
    return Relation::match(n.kind, push(n.inputs[0], std::move(to_left)),
                           push(n.inputs[1], std::move(to_right)), std::move(on))
        .filter(std::move(above));
  }

  Relation node(const Relation::Reduce& n, const Relation&, Predicates predicates) {
    const Span keys{0, n.group_key.size()};
    Predicates below;
    Predicates above;
    for (Scalar& predicate : conjuncts(predicates)) {
      const bool on_key = !predicate.columns().empty() && within(predicate, keys) &&
                          !sees_form(predicate, keys) && !predicate.contains_mz_now();
      Scalar inlined = on_key ? predicate.substitute(n.group_key) : predicate;
      if (on_key && !inlined.can_fail() && size_of(inlined) <= kMaxInlined) {
        below.push_back(simplify_scalar(inlined, context_.folding));
      } else {
        above.push_back(std::move(predicate));
      }
    }
    return push(n.input[0], std::move(below)).reduce(n.group_key, n.aggregates).filter(std::move(above));
  }

  Relation node(const Relation::TopK& n, const Relation& relation, Predicates predicates) {
    const Span all{0, relation.arity()};
    auto [below, above] = split(conjuncts(predicates), [&](const Scalar& p) {
      const auto columns = p.columns();
      return !p.can_fail() && !columns.empty() && !sees_form(p, all) &&
             std::all_of(columns.begin(), columns.end(), [&](std::size_t c) {
               return std::find(n.group_key.begin(), n.group_key.end(), c) != n.group_key.end();
             });
    });
    return push(n.input[0], std::move(below))
        .top_k(n.group_key, n.order, n.limit, n.offset)
        .filter(std::move(above));
  }

  Relation node(const Relation::Negate& n, const Relation&, Predicates predicates) {
    auto [below, above] = split_safe(std::move(predicates));
    return push(n.input[0], std::move(below)).negate().filter(std::move(above));
  }
  Relation node(const Relation::Threshold& n, const Relation& relation, Predicates predicates) {
    const Span all{0, relation.arity()};
    auto [below, above] =
        split(std::move(predicates), [&](const Scalar& p) { return !p.can_fail() && !sees_form(p, all); });
    return push(n.input[0], std::move(below)).threshold().filter(std::move(above));
  }
  Relation node(const Relation::Union& n, const Relation& relation, Predicates predicates) {
    const bool cancels = !non_negative(relation, context_);
    auto [below, above] =
        split(std::move(predicates), [&](const Scalar& p) { return !p.can_fail() || !cancels; });
    std::vector<Relation> inputs;
    for (const Relation& input : n.inputs) inputs.push_back(push(input, below));
    return Relation::union_all(std::move(inputs)).filter(std::move(above));
  }

  struct Split {
    Predicates below;
    Predicates above;
  };
  template <typename F>
  static Split split(Predicates predicates, const F& goes_below) {
    Split out;
    for (Scalar& predicate : predicates) {
      (goes_below(predicate) ? out.below : out.above).push_back(std::move(predicate));
    }
    return out;
  }
  static Split split_safe(Predicates predicates) {
    return split(std::move(predicates), [](const Scalar& p) { return !p.can_fail(); });
  }

  const Context& context_;
};

}  // namespace

Relation push_predicates(const Relation& relation, const Context& context) {
  return Pusher(context).push(relation, {});
}

}  // namespace freshet::sql::passes
