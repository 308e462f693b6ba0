// SPDX-License-Identifier: Apache-2.0
// Subtrees that occur more than once are bound to a local and computed once. All lets of a scope are first
// hoisted to its top; the values of a LetRec are scopes of their own.
#include <algorithm>
#include <unordered_map>

#include "rewrite.h"

namespace freshet::sql::passes {
namespace {

struct HashRelation {
  std::size_t operator()(const Relation& relation) const { return relation.hash(); }
};
template <typename T>
using ByRelation = std::unordered_map<Relation, T, HashRelation>;

struct Binding {
  LocalId id;
  Relation value;
};

bool is_cheap(const Relation& relation) {
  if (relation.as<Relation::Get>() || relation.as<Relation::Constant>()) return true;
  const bool simple = relation.as<Relation::Project>() || relation.as<Relation::Map>() ||
                      relation.as<Relation::Filter>();
  return simple && is_cheap(relation.children()[0]);
}

class Sharer {
 public:
  explicit Sharer(Context& context) : context_(context) {}

  Relation share(const Relation& root) {
    Scope scope;
    const Relation body = hoist(root, scope.bindings);
    for (const Binding& binding : scope.bindings) count(binding.value, scope);
    count(body, scope);
    for (const Binding& binding : scope.bindings) {
      Relation value = rebuild(binding.value, scope);
      scope.done.push_back({binding.id, std::move(value)});
    }
    Relation out = rebuild(body, scope);
    for (auto binding = scope.done.rbegin(); binding != scope.done.rend(); ++binding) {
      out = Relation::let(binding->id, std::move(binding->value), std::move(out));
    }
    return out;
  }

 private:
  struct Scope {
    std::vector<Binding> bindings;
    ByRelation<std::size_t> counts;
    ByRelation<Relation> shared;  // to the Get of the local
    std::vector<Binding> done;
  };

  /// The relation without lets, which go to `bindings` in an order in which each sees those it uses.
  Relation hoist(const Relation& relation, std::vector<Binding>& bindings) {
    if (const auto* let = relation.as<Relation::Let>()) {
      Relation value = hoist(let->parts[0], bindings);
      bindings.push_back({let->id, std::move(value)});
      return hoist(let->parts[1], bindings);
    }
    const auto children = relation.children();
    if (children.empty()) return relation;
    std::vector<Relation> rewritten;
    if (const auto* rec = relation.as<Relation::LetRec>()) {
      // The values and the body see the recursive locals: what is theirs stays inside.
      for (std::size_t i = 0; i < rec->parts.size(); ++i) rewritten.push_back(share(rec->parts[i]));
      return relation.with_children(std::move(rewritten));
    }
    for (const Relation& child : children) rewritten.push_back(hoist(child, bindings));
    return relation.with_children(std::move(rewritten));
  }

  static void count(const Relation& relation, Scope& scope) {
    if (is_cheap(relation)) return;
    if (++scope.counts[relation] > 1 || relation.as<Relation::LetRec>() != nullptr) return;
    for (const Relation& child : relation.children()) count(child, scope);
  }

  Relation rebuild(const Relation& relation, Scope& scope) {
    if (is_cheap(relation)) return relation;
    if (const auto found = scope.shared.find(relation); found != scope.shared.end()) return found->second;
    Relation rebuilt = relation;
    if (relation.as<Relation::LetRec>() == nullptr) {
      std::vector<Relation> children;
      for (const Relation& child : relation.children()) children.push_back(rebuild(child, scope));
      rebuilt = relation.with_children(std::move(children));
    }
    const auto counted = scope.counts.find(relation);
    if (counted == scope.counts.end() || counted->second < 2) return rebuilt;
    const LocalId id{context_.next_local++};
    const Relation get = Relation::get(id, rebuilt.type());
    scope.done.push_back({id, std::move(rebuilt)});
    scope.shared.emplace(relation, get);
    return get;
  }

  Context& context_;
};

}  // namespace

Relation share_subtrees(const Relation& relation, Context& context) {
  relation.visit([&](const Relation& r) {
    if (const auto* let = r.as<Relation::Let>()) {
      context.next_local = std::max(context.next_local, let->id.number + 1);
    }
    if (const auto* rec = r.as<Relation::LetRec>()) {
      for (const LocalId id : rec->ids) context.next_local = std::max(context.next_local, id.number + 1);
    }
  });
  return Sharer(context).share(relation);
}

}  // namespace freshet::sql::passes
