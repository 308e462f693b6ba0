// SPDX-License-Identifier: Apache-2.0
// Locals used once, or cheap to repeat, are inlined; unused ones dropped; reads of the others take the type
// that their value has by now.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "rewrite.h"

namespace freshet::sql::passes {
namespace {

/// A map-filter-project over something read: repeating it lets each use have its own filter and index.
bool is_cheap(const Relation& relation) {
  if (relation.as<Relation::Get>() || relation.as<Relation::Constant>()) return true;
  const bool simple = relation.as<Relation::Project>() || relation.as<Relation::Map>() ||
                      relation.as<Relation::Filter>();
  return simple && is_cheap(relation.children()[0]);
}

struct Uses {
  std::size_t count = 0;
  bool in_recursion = false;  // inside a LetRec that does not hold the binding
};

using Locals = std::set<LocalId>;

/// Whether it can have a row (or an error) while the locals of `empty` have none.
bool may_have_rows(const Relation& relation, const Locals& empty) {
  if (const auto* constant = relation.as<Relation::Constant>()) return !constant->rows.empty() || constant->error;
  if (const auto* get = relation.as<Relation::Get>()) {
    const auto* id = std::get_if<LocalId>(&get->id);
    return id == nullptr || !empty.contains(*id);
  }
  if (relation.as<Relation::LetRec>()) return true;
  const auto children = relation.children();
  const auto has_rows = [&](const Relation& child) { return may_have_rows(child, empty); };
  if (const auto* let = relation.as<Relation::Let>()) {
    if (has_rows(children[0])) return has_rows(children[1]);
    Locals more = empty;
    more.insert(let->id);
    return may_have_rows(children[1], more);
  }
  if (relation.as<Relation::Join>()) return std::ranges::all_of(children, has_rows);
  const auto* match = relation.as<Relation::Match>();
  if (match != nullptr && match->kind != expr::MatchKind::kFull) return has_rows(children[0]);
  return std::ranges::any_of(children, has_rows);
}

/// Bindings that begin empty and have nothing to grow from but each other stay empty. Nothing if there are none.
std::optional<Relation> without_empty(const Relation& relation, const Relation::LetRec& rec) {
  Locals empty(rec.ids.begin(), rec.ids.end());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < rec.ids.size(); ++i) {
      if (empty.contains(rec.ids[i]) && may_have_rows(rec.parts[i], empty)) changed = empty.erase(rec.ids[i]) > 0;
    }
  }
  std::vector<Relation> parts;
  bool smaller = false;
  for (std::size_t i = 0; i < rec.parts.size(); ++i) {
    if (i < rec.ids.size() && empty.contains(rec.ids[i])) {
      smaller = smaller || !is_empty(rec.parts[i]);
      parts.push_back(Relation::empty(rec.parts[i].type()));
      continue;
    }
    parts.push_back(rec.parts[i].transform([&](Relation r) {
      const auto* get = r.as<Relation::Get>();
      const auto* id = get == nullptr ? nullptr : std::get_if<LocalId>(&get->id);
      if (id == nullptr || !empty.contains(*id)) return r;
      smaller = true;
      return Relation::empty(r.type());
    }));
  }
  if (empty.size() == rec.ids.size()) return parts.back();
  return smaller ? std::optional(relation.with_children(std::move(parts))) : std::nullopt;
}

class Normalizer {
 public:
  explicit Normalizer(Context& context) : context_(context) {}

  Relation run(const Relation& relation) {
    count(relation, 0);
    return rewrite(relation);
  }

 private:
  void count(const Relation& relation, std::size_t recursion) {
    if (const auto* get = relation.as<Relation::Get>()) {
      if (const auto* id = std::get_if<LocalId>(&get->id)) {
        ++uses_[*id].count;
        if (recursion > bound_at_[*id]) uses_[*id].in_recursion = true;
      }
    }
    if (const auto* let = relation.as<Relation::Let>()) bound_at_[let->id] = recursion;
    const auto* rec = relation.as<Relation::LetRec>();
    if (rec != nullptr) {
      for (const LocalId id : rec->ids) bound_at_[id] = recursion + 1;
    }
    const auto children = relation.children();
    for (std::size_t i = 0; i < children.size(); ++i) {
      const bool recursive = rec != nullptr && i + 1 < children.size();
      count(children[i], recursion + (recursive ? 1 : 0));
    }
  }

  Relation rewrite(const Relation& relation) {
    if (const auto* get = relation.as<Relation::Get>()) {
      const auto* id = std::get_if<LocalId>(&get->id);
      const auto found = id == nullptr ? values_.end() : values_.find(*id);
      return found == values_.end() ? relation : found->second;
    }
    if (const auto* let = relation.as<Relation::Let>()) return rewrite_let(*let);
    const auto children = relation.children();
    if (children.empty()) return relation;
    if (const auto* rec = relation.as<Relation::LetRec>()) {
      if (const auto smaller = without_empty(relation, *rec)) return rewrite(*smaller);
      note_recursive(*rec);
    }
    std::vector<Relation> rewritten;
    for (const Relation& child : children) rewritten.push_back(rewrite(child));
    return relation.with_children(std::move(rewritten));
  }

  Relation rewrite_let(const Relation::Let& let) {
    const Uses uses = uses_[let.id];
    if (uses.count == 0) return rewrite(let.parts[1]);
    Relation value = rewrite(let.parts[0]);
    if (is_cheap(value) || (uses.count == 1 && !uses.in_recursion)) {
      values_.insert_or_assign(let.id, std::move(value));
      return rewrite(let.parts[1]);
    }
    context_.next_local = std::max(context_.next_local, let.id.number + 1);
    if (non_negative(value, context_)) context_.non_negative.insert(let.id);
    values_.insert_or_assign(let.id, Relation::get(let.id, value.type()));
    Relation body = rewrite(let.parts[1]);
    return Relation::let(let.id, std::move(value), std::move(body));
  }

  /// Without a negation anywhere, nothing in a recursion gets a negative count.
  void note_recursive(const Relation::LetRec& rec) {
    bool positive = true;
    for (const Relation& part : rec.parts) {
      part.visit([&](const Relation& r) {
        positive = positive && r.as<Relation::Negate>() == nullptr;
        if (as_rows(r) != nullptr) positive = positive && non_negative(r, context_);
      });
    }
    for (const LocalId id : rec.ids) {
      context_.next_local = std::max(context_.next_local, id.number + 1);
      if (positive) context_.non_negative.insert(id);
    }
  }

  Context& context_;
  std::map<LocalId, Uses> uses_;
  std::map<LocalId, std::size_t> bound_at_;
  std::map<LocalId, Relation> values_;
};

}  // namespace

Relation normalize_lets(const Relation& relation, Context& context) {
  context.non_negative.clear();
  return Normalizer(context).run(relation);
}

}  // namespace freshet::sql::passes
