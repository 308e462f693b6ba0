// SPDX-License-Identifier: Apache-2.0
// The equivalence classes of joins: merged, ordered, and used. What equals a literal is filtered by it in every
// input; two members of one input become a filter there; a member alone means "not NULL".
#include <algorithm>

#include <freshet/expr/match_keys.h>

#include "rewrite.h"
#include "scalar_rules.h"

namespace freshet::sql::passes {
namespace {

using Class = std::vector<Scalar>;

/// Classes that share a member are one.
std::vector<Class> merged(const std::vector<Class>& classes) {
  std::vector<Class> out;
  for (const Class& members : classes) {
    Class all = members;
    for (auto other = out.begin(); other != out.end();) {
      const bool shares = std::any_of(other->begin(), other->end(), [&](const Scalar& m) {
        return std::find(all.begin(), all.end(), m) != all.end();
      });
      if (!shares) {
        ++other;
        continue;
      }
      all.insert(all.end(), other->begin(), other->end());
      other = out.erase(other);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    out.push_back(std::move(all));
  }
  std::sort(out.begin(), out.end());
  return out;
}

class JoinEqualities {
 public:
  JoinEqualities(const Relation::Join& n, const Context& context)
      : context_(context), inputs_(n.inputs), spans_(input_spans(n.inputs)) {
    classes_ = merged(n.equivalences);
    added_.resize(inputs_.size());
  }

  /// Nothing if the join is empty for certain.
  std::optional<Relation> run() {
    std::vector<Class> kept;
    for (Class& members : classes_) {
      if (!literals(members)) return std::nullopt;
      within_inputs(members);
      if (!members.empty()) kept.push_back(std::move(members));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = inputs_[i].filter(std::move(added_[i]));
    return Relation::join(std::move(inputs_), std::move(kept));
  }

 private:
  /// The input that alone the member reads.
  std::optional<std::size_t> home(const Scalar& member) const {
    if (member.columns().empty() || member.can_fail()) return std::nullopt;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      if (within(member, spans_[i])) return i;
    }
    return std::nullopt;
  }
  Scalar local(const Scalar& member, std::size_t input) const {
    return shifted(member, -static_cast<std::ptrdiff_t>(spans_[input].begin));
  }

  /// False if the class holds two literals that differ.
  bool literals(Class& members) {
    std::optional<Scalar> literal;
    for (const Scalar& member : members) {
      std::optional<Scalar> found;
      if (member.is_literal()) {
        found = member;
      } else if (const auto i = home(member)) {
        found = literal_of(inputs_[*i], local(member, *i));
      }
      if (!found) continue;
      if (!literal) {
        literal = found;
      } else if (differ(*literal, *found)) {
        return false;
      }
    }
    if (literal && !literal->type().nullable) pin(members, *literal);
    return true;
  }

  /// True if the literals are not equal for certain, whatever their types.
  bool differ(const Scalar& a, const Scalar& b) const {
    const repr::Datum& x = a.as<Scalar::Literal>()->value;
    const repr::Datum& y = b.as<Scalar::Literal>()->value;
    if (a.type().type.kind() == b.type().type.kind()) return compare(x, y, a.type().type) != 0;
    const auto equality = make_equality(a, b);
    if (!equality) return false;
    const Scalar known = simplify_scalar(*equality, context_.folding);
    const auto* value = known.as<Scalar::Literal>();
    return value != nullptr && (value->value.is_null() || !value->value.get<bool>());
  }

  /// Filters every member by the literal. The class stays: it says which columns of an error row are known.
  void pin(const Class& members, const Scalar& literal) {
    for (const Scalar& member : members) {
      const auto i = home(member);
      const auto equality = i ? make_equality(local(member, *i), literal) : std::nullopt;
      if (equality && !literal_of(inputs_[*i], local(member, *i))) added_[*i].push_back(*equality);
    }
  }

  /// Two members of one input are filtered there; a member alone has to have a value.
  void within_inputs(Class& members) {
    std::vector<std::optional<Scalar>> first(inputs_.size());
    std::set<std::size_t> homes;
    bool all_tested = true;
    for (const Scalar& member : members) {
      const auto i = home(member);
      all_tested = all_tested && i;
      if (!i) continue;
      homes.insert(*i);
      if (!first[*i]) {
        first[*i] = member;
        continue;
      }
      const auto equality = make_equality(local(*first[*i], *i), local(member, *i));
      all_tested = all_tested && equality;
      if (equality && !has_filter(inputs_[*i], *equality)) added_[*i].push_back(*equality);
    }
    if (!all_tested || homes.size() != 1) return;
    const std::size_t i = *homes.begin();
    if (members.size() == 1 && members[0].type().nullable && !literal_of(inputs_[i], local(members[0], i))) {
      added_[i].push_back(is_not_null(local(members[0], i)));
    }
    members.clear();
  }

  static bool has_filter(const Relation& relation, const Scalar& predicate) {
    if (const auto* project = relation.as<Relation::Project>()) {
      return has_filter(project->input[0], predicate.with_columns(project->columns));
    }
    const auto* filter = relation.as<Relation::Filter>();
    if (filter == nullptr) return false;
    const auto& all = filter->predicates;
    return std::find(all.begin(), all.end(), predicate) != all.end() || has_filter(filter->input[0], predicate);
  }

  const Context& context_;
  std::vector<Relation> inputs_;
  std::vector<Span> spans_;
  std::vector<Class> classes_;
  std::vector<std::vector<Scalar>> added_;
};

}  // namespace

Relation propagate_equalities(const Relation& relation, const Context& context) {
  return relation.transform([&](Relation r) {
    const auto* n = r.as<Relation::Join>();
    if (n == nullptr) return r;
    const auto rewritten = JoinEqualities(*n, context).run();
    return rewritten ? *rewritten : empty_like(r);
  });
}

}  // namespace freshet::sql::passes
