// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/relation.h>

#include <algorithm>
#include <utility>

#include "datum_order.h"
#include "relation_type.h"

namespace freshet::expr {

using repr::RelationType;

namespace {

constexpr std::uint32_t kRecursiveDestruction = 64;

template <typename N>
std::vector<Relation>* children_in(N& node) {
  using T = std::decay_t<N>;
  if constexpr (requires { node.parts; }) {
    return const_cast<std::vector<Relation>*>(&node.parts);
  } else if constexpr (requires { node.inputs; }) {
    return const_cast<std::vector<Relation>*>(&node.inputs);
  } else if constexpr (requires { node.input; }) {
    return const_cast<std::vector<Relation>*>(&node.input);
  } else {
    static_assert(std::is_same_v<T, Relation::Constant> || std::is_same_v<T, Relation::Get>);
    return nullptr;
  }
}

std::span<const Relation> children_of(const Relation::Node& node) {
  return std::visit(
      [](const auto& n) -> std::span<const Relation> {
        const std::vector<Relation>* children = children_in(n);
        return children == nullptr ? std::span<const Relation>() : *children;
      },
      node);
}

void take_apart(std::vector<Relation> children) {
  thread_local std::vector<std::vector<Relation>>* pending = nullptr;
  if (pending != nullptr) {
    pending->push_back(std::move(children));
    return;
  }
  std::vector<std::vector<Relation>> work;
  pending = &work;
  work.push_back(std::move(children));
  while (!work.empty()) {
    const std::vector<Relation> last = std::move(work.back());
    work.pop_back();
  }
  pending = nullptr;
}

std::vector<Scalar> retyped_all(std::vector<Scalar> scalars,
                                std::span<const repr::ColumnType> columns) {
  for (Scalar& scalar : scalars) scalar = retyped(scalar, columns);
  return scalars;
}

std::vector<Aggregate> retyped_all(std::vector<Aggregate> aggregates,
                                   std::span<const repr::ColumnType> columns) {
  for (Aggregate& aggregate : aggregates) {
    aggregate.arguments = retyped_all(std::move(aggregate.arguments), columns);
    if (aggregate.filter) aggregate.filter = retyped(*aggregate.filter, columns);
    for (Aggregate::OrderBy& order : aggregate.order_by) {
      order.expression = retyped(order.expression, columns);
    }
  }
  return aggregates;
}

std::vector<repr::ColumnType> joined_columns(std::span<const Relation> inputs) {
  std::vector<repr::ColumnType> columns;
  for (const Relation& input : inputs) {
    const auto& more = input.type().columns;
    columns.insert(columns.end(), more.begin(), more.end());
  }
  return columns;
}

bool same_rows(const Relation::Constant& a, const Relation::Constant& b) {
  if (a.error != b.error || a.rows.size() != b.rows.size()) return false;
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    if (a.rows[i].second != b.rows[i].second) return false;
    if (a.rows[i].first.size() != b.rows[i].first.size()) return false;
    for (std::size_t c = 0; c < a.rows[i].first.size(); ++c) {
      if (identity_order(a.rows[i].first[c], b.rows[i].first[c]) != 0) return false;
    }
  }
  return true;
}

/// Everything of two nodes of one kind but their children.
bool same_contents(const Relation::Node& a, const Relation::Node& b) {
  return std::visit(
      [&](const auto& n) {
        using T = std::decay_t<decltype(n)>;
        const T& m = *std::get_if<T>(&b);
        if constexpr (std::is_same_v<T, Relation::Constant>) return same_rows(n, m);
        if constexpr (std::is_same_v<T, Relation::Get>) return n.id == m.id;
        if constexpr (std::is_same_v<T, Relation::Let>) return n.id == m.id;
        if constexpr (std::is_same_v<T, Relation::LetRec>) {
          return n.ids == m.ids && n.limit == m.limit && n.return_at_limit == m.return_at_limit;
        }
        if constexpr (std::is_same_v<T, Relation::Project>) return n.columns == m.columns;
        if constexpr (std::is_same_v<T, Relation::Map>) return n.expressions == m.expressions;
        if constexpr (std::is_same_v<T, Relation::Filter>) return n.predicates == m.predicates;
        if constexpr (std::is_same_v<T, Relation::FlatMap>) {
          return n.function == m.function && n.arguments == m.arguments &&
                 n.with_ordinality == m.with_ordinality;
        }
        if constexpr (std::is_same_v<T, Relation::Join>) return n.equivalences == m.equivalences;
        if constexpr (std::is_same_v<T, Relation::Match>) return n.kind == m.kind && n.on == m.on;
        if constexpr (std::is_same_v<T, Relation::Reduce>) {
          return n.group_key == m.group_key && n.aggregates == m.aggregates;
        }
        if constexpr (std::is_same_v<T, Relation::TopK>) {
          return n.group_key == m.group_key && n.order == m.order && n.limit == m.limit &&
                 n.offset == m.offset;
        }
        return true;
      },
      a);
}

std::size_t hash_contents(const Relation::Node& node) {
  return std::visit(
      [](const auto& n) -> std::size_t {
        using T = std::decay_t<decltype(n)>;
        std::size_t hash = 0;
        const auto mix = [&](std::size_t value) { hash = combine_hash(hash, value); };
        const auto mix_all = [&](const std::vector<Scalar>& scalars) {
          for (const Scalar& scalar : scalars) mix(scalar.hash());
        };
        if constexpr (std::is_same_v<T, Relation::Constant>) {
          mix(n.rows.size());
          for (std::size_t i = 0; i < std::min<std::size_t>(n.rows.size(), 4); ++i) {
            for (const repr::Datum& value : n.rows[i].first) mix(identity_hash(value));
          }
        }
        if constexpr (std::is_same_v<T, Relation::Get>) {
          if (const auto* id = std::get_if<GlobalId>(&n.id)) mix(std::hash<GlobalId>()(*id));
          if (const auto* id = std::get_if<LocalId>(&n.id)) mix(~id->number);
        }
        if constexpr (std::is_same_v<T, Relation::Project>) {
          for (const std::size_t column : n.columns) mix(column);
        }
        if constexpr (std::is_same_v<T, Relation::Map>) mix_all(n.expressions);
        if constexpr (std::is_same_v<T, Relation::Filter>) mix_all(n.predicates);
        if constexpr (std::is_same_v<T, Relation::Join>) {
          for (const auto& members : n.equivalences) mix_all(members);
        }
        if constexpr (std::is_same_v<T, Relation::Match>) mix_all(n.on);
        if constexpr (std::is_same_v<T, Relation::Reduce>) {
          mix_all(n.group_key);
          mix(n.aggregates.size());
        }
        return hash;
      },
      node);
}

}  // namespace

struct Relation::Body {
  Body(Node n, RelationType t)
      : node(std::move(n)), type(std::move(t)), hash(combine_hash(node.index(), hash_contents(node))) {
    for (const Relation& child : children_of(node)) {
      depth = std::max(depth, child.body_->depth + 1);
      hash = combine_hash(hash, child.body_->hash);
    }
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() {
    if (depth <= kRecursiveDestruction) return;
    std::visit(
        [](auto& n) {
          if (std::vector<Relation>* children = children_in(n)) take_apart(std::move(*children));
        },
        node);
  }

  Node node;
  RelationType type;
  std::size_t hash;
  std::uint32_t depth = 1;
};

Relation Relation::make(Node node, RelationType type) {
  return Relation(std::make_shared<const Body>(std::move(node), std::move(type)));
}

Relation Relation::constant(std::vector<std::pair<repr::DatumRow, repr::Diff>> rows, RelationType type) {
  std::erase_if(rows, [](const auto& row) { return row.second == 0; });
  for (const auto& [row, diff] : rows) FRESHET_ASSERT(row.size() == type.arity(), row.size());
  if (rows.empty() || (rows.size() == 1 && rows.front().second == 1)) type.keys = {{}};
  return make(Constant{std::move(rows), std::nullopt}, std::move(type));
}

Relation Relation::failed(Error error, RelationType type) {
  return make(Constant{{}, std::move(error)}, std::move(type));
}

Relation Relation::get(GlobalId id, RelationType type) { return make(Get{id}, std::move(type)); }
Relation Relation::get(LocalId id, RelationType type) { return make(Get{id}, std::move(type)); }

Relation Relation::let(LocalId id, Relation value, Relation body) {
  RelationType type = body.type();
  return make(Let{id, {std::move(value), std::move(body)}}, std::move(type));
}

Relation Relation::let_rec(std::vector<LocalId> ids, std::vector<Relation> values, Relation body,
                           std::optional<std::uint64_t> limit, bool return_at_limit) {
  FRESHET_ASSERT(ids.size() == values.size(), ids.size(), values.size());
  RelationType type = body.type();
  values.push_back(std::move(body));
  return make(LetRec{std::move(ids), std::move(values), limit, return_at_limit}, std::move(type));
}

Relation Relation::join(std::vector<Relation> inputs, std::vector<std::vector<Scalar>> equivalences) {
  const auto columns = joined_columns(inputs);
  for (auto& members : equivalences) members = retyped_all(std::move(members), columns);
  RelationType type = join_type(inputs, equivalences);
  return make(Join{std::move(inputs), std::move(equivalences)}, std::move(type));
}

Relation Relation::match(MatchKind kind, Relation left, Relation right, std::vector<Scalar> on) {
  std::vector<Relation> inputs{std::move(left), std::move(right)};
  on = retyped_all(std::move(on), joined_columns(inputs));
  RelationType type = match_type(kind, inputs[0].type(), inputs[1].type(), on);
  return make(Match{kind, std::move(inputs), std::move(on)}, std::move(type));
}

Relation Relation::union_all(std::vector<Relation> inputs) {
  FRESHET_ASSERT(!inputs.empty());
  if (inputs.size() == 1) return inputs.front();
  RelationType type = union_type(inputs);
  return make(Union{std::move(inputs)}, std::move(type));
}

Relation Relation::project(std::vector<std::size_t> columns) const {
  bool identity = columns.size() == arity();
  for (std::size_t i = 0; identity && i < columns.size(); ++i) identity = columns[i] == i;
  if (identity) return *this;
  RelationType type = project_type(this->type(), columns);
  return make(Project{{*this}, std::move(columns)}, std::move(type));
}

Relation Relation::map(std::vector<Scalar> expressions) const {
  if (expressions.empty()) return *this;
  std::vector<repr::ColumnType> columns = type().columns;
  for (Scalar& expression : expressions) {
    expression = retyped(expression, columns);
    columns.push_back(expression.type());
  }
  RelationType type = map_type(this->type(), expressions);
  return make(Map{{*this}, std::move(expressions)}, std::move(type));
}

Relation Relation::filter(std::vector<Scalar> predicates) const {
  if (predicates.empty()) return *this;
  predicates = retyped_all(std::move(predicates), type().columns);
  RelationType type = filter_type(this->type(), predicates);
  return make(Filter{{*this}, std::move(predicates)}, std::move(type));
}

Relation Relation::flat_map(const TableFunctionSpec* function, std::vector<Scalar> arguments,
                            bool with_ordinality) const {
  FRESHET_ASSERT(function != nullptr);
  arguments = retyped_all(std::move(arguments), type().columns);
  FlatMap node{{*this}, function, std::move(arguments), with_ordinality};
  RelationType type = flat_map_type(this->type(), node);
  return make(std::move(node), std::move(type));
}

Relation Relation::reduce(std::vector<Scalar> group_key, std::vector<Aggregate> aggregates) const {
  group_key = retyped_all(std::move(group_key), type().columns);
  aggregates = retyped_all(std::move(aggregates), type().columns);
  RelationType type = reduce_type(this->type(), group_key, aggregates);
  return make(Reduce{{*this}, std::move(group_key), std::move(aggregates)}, std::move(type));
}

Relation Relation::distinct() const {
  std::vector<Scalar> key;
  for (std::size_t c = 0; c < arity(); ++c) key.push_back(Scalar::column(c, type().columns[c]));
  return reduce(std::move(key), {});
}

Relation Relation::top_k(std::vector<std::size_t> group_key, std::vector<ColumnOrder> order,
                         std::optional<Scalar> limit, std::uint64_t offset) const {
  for (const std::size_t column : group_key) FRESHET_ASSERT(column < arity(), column);
  for (const ColumnOrder& by : order) FRESHET_ASSERT(by.column < arity(), by.column);
  if (limit) limit = retyped(*limit, type().columns);
  TopK node{{*this}, std::move(group_key), std::move(order), std::move(limit), offset};
  RelationType type = top_k_type(this->type(), node);
  return make(std::move(node), std::move(type));
}

Relation Relation::negate() const {
  RelationType type = this->type();
  type.keys.clear();
  return make(Negate{{*this}}, std::move(type));
}

Relation Relation::threshold() const { return make(Threshold{{*this}}, type()); }

const Relation::Node& Relation::node() const { return body_->node; }
const RelationType& Relation::type() const { return body_->type; }
std::span<const Relation> Relation::children() const { return children_of(body_->node); }
std::size_t Relation::depth() const { return body_->depth; }
std::size_t Relation::hash() const { return body_->hash; }
const void* Relation::identity() const { return body_.get(); }

Relation Relation::with_children(std::vector<Relation> c) const {
  FRESHET_ASSERT(c.size() == children().size(), c.size());
  return std::visit(
      [&](const auto& n) -> Relation {
        using T = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<T, Let>) return let(n.id, std::move(c[0]), std::move(c[1]));
        if constexpr (std::is_same_v<T, LetRec>) {
          Relation body = std::move(c.back());
          c.pop_back();
          return let_rec(n.ids, std::move(c), std::move(body), n.limit, n.return_at_limit);
        }
        if constexpr (std::is_same_v<T, Project>) return c[0].project(n.columns);
        if constexpr (std::is_same_v<T, Map>) return c[0].map(n.expressions);
        if constexpr (std::is_same_v<T, Filter>) return c[0].filter(n.predicates);
        if constexpr (std::is_same_v<T, FlatMap>) {
          return c[0].flat_map(n.function, n.arguments, n.with_ordinality);
        }
        if constexpr (std::is_same_v<T, Join>) return join(std::move(c), n.equivalences);
        if constexpr (std::is_same_v<T, Match>) {
          return match(n.kind, std::move(c[0]), std::move(c[1]), n.on);
        }
        if constexpr (std::is_same_v<T, Reduce>) return c[0].reduce(n.group_key, n.aggregates);
        if constexpr (std::is_same_v<T, TopK>) return c[0].top_k(n.group_key, n.order, n.limit, n.offset);
        if constexpr (std::is_same_v<T, Negate>) return c[0].negate();
        if constexpr (std::is_same_v<T, Threshold>) return c[0].threshold();
        if constexpr (std::is_same_v<T, Union>) return union_all(std::move(c));
        return *this;
      },
      node());
}

Relation Relation::transform(const std::function<Relation(Relation)>& bottom_up) const {
  const std::span<const Relation> before = children();
  if (before.empty()) return bottom_up(*this);
  std::vector<Relation> after;
  after.reserve(before.size());
  bool changed = false;
  for (const Relation& child : before) {
    after.push_back(child.transform(bottom_up));
    changed = changed || after.back().body_ != child.body_;
  }
  return bottom_up(changed ? with_children(std::move(after)) : *this);
}

void Relation::visit(const std::function<void(const Relation&)>& f) const {
  std::vector<const Relation*> stack{this};
  while (!stack.empty()) {
    const Relation* relation = stack.back();
    stack.pop_back();
    f(*relation);
    const auto below = relation->children();
    for (auto child = below.rbegin(); child != below.rend(); ++child) stack.push_back(&*child);
  }
}

std::set<GlobalId> Relation::global_ids() const {
  std::set<GlobalId> ids;
  visit([&](const Relation& relation) {
    const Get* get = relation.as<Get>();
    if (get == nullptr) return;
    if (const auto* id = std::get_if<GlobalId>(&get->id)) ids.insert(*id);
  });
  return ids;
}

bool operator==(const Relation& a, const Relation& b) {
  if (a.body_ == b.body_) return true;
  if (a.body_->hash != b.body_->hash || a.node().index() != b.node().index()) return false;
  if (!same_contents(a.node(), b.node())) return false;
  if (a.type().columns != b.type().columns) return false;
  const auto left = a.children();
  const auto right = b.children();
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

}  // namespace freshet::expr
