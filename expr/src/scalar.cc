// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/scalar.h>

#include <algorithm>
#include <utility>

#include "datum_order.h"
#include "literal_safety.h"
#include "polymorphic.h"

namespace freshet::expr {

using repr::ColumnType;
using repr::SqlType;
using repr::TypeKind;

namespace {

/// Trees deeper than this are taken apart with a list instead of by recursion.
constexpr std::uint32_t kRecursiveDestruction = 64;

template <typename T>
concept HasArguments = requires(T t) { t.arguments; };

std::span<const Scalar> arguments_of(const Scalar::Node& node) {
  return std::visit(
      [](const auto& n) -> std::span<const Scalar> {
        if constexpr (HasArguments<std::decay_t<decltype(n)>>) return n.arguments;
        return {};
      },
      node);
}

void take_apart(std::vector<Scalar> children) {
  thread_local std::vector<std::vector<Scalar>>* pending = nullptr;
  if (pending != nullptr) {
    pending->push_back(std::move(children));
    return;
  }
  std::vector<std::vector<Scalar>> work;
  pending = &work;
  work.push_back(std::move(children));
  while (!work.empty()) {
    const std::vector<Scalar> last = std::move(work.back());
    work.pop_back();
  }
  pending = nullptr;
}

bool any_nullable(std::span<const Scalar> arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Scalar& a) { return a.type().nullable; });
}

SqlType common_type(const SqlType& a, const SqlType& b) {
  return a == b ? a : a.without_typmod();
}

std::size_t hash_node(const Scalar::Node& node) {
  const std::size_t content = std::visit(
      [](const auto& n) -> std::size_t {
        using T = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<T, Scalar::Column> || std::is_same_v<T, Scalar::Parameter>) {
          return n.index;
        } else if constexpr (std::is_same_v<T, Scalar::Literal>) {
          return identity_hash(n.value);
        } else if constexpr (std::is_same_v<T, Scalar::Failure>) {
          return std::hash<std::string>()(n.error.message);
        } else if constexpr (std::is_same_v<T, Scalar::SessionValue>) {
          return std::hash<std::string>()(n.name);
        } else if constexpr (std::is_same_v<T, Scalar::Call>) {
          return std::hash<std::string_view>()(n.function->signature);
        } else {
          return 0;
        }
      },
      node);
  return combine_hash(node.index(), content);
}

std::strong_ordering order_errors(const Error& a, const Error& b) {
  if (const auto order = a.sqlstate <=> b.sqlstate; order != 0) return order;
  if (const auto order = a.message <=> b.message; order != 0) return order;
  if (const auto order = a.detail <=> b.detail; order != 0) return order;
  if (const auto order = a.hint <=> b.hint; order != 0) return order;
  if (const auto order = a.position <=> b.position; order != 0) return order;
  return a.code <=> b.code;
}

/// The content of two nodes of the same kind, without their arguments.
std::strong_ordering order_contents(const Scalar::Node& a, const Scalar::Node& b) {
  return std::visit(
      [&](const auto& n) -> std::strong_ordering {
        using T = std::decay_t<decltype(n)>;
        const T& other = *std::get_if<T>(&b);
        if constexpr (std::is_same_v<T, Scalar::Column> || std::is_same_v<T, Scalar::Parameter>) {
          return n.index <=> other.index;
        } else if constexpr (std::is_same_v<T, Scalar::Literal>) {
          return identity_order(n.value, other.value);
        } else if constexpr (std::is_same_v<T, Scalar::Failure>) {
          return order_errors(n.error, other.error);
        } else if constexpr (std::is_same_v<T, Scalar::SessionValue>) {
          return n.name <=> other.name;
        } else if constexpr (std::is_same_v<T, Scalar::Call>) {
          return n.function->signature <=> other.function->signature;
        } else {
          return std::strong_ordering::equal;
        }
      },
      a);
}

}  // namespace

struct Scalar::Body {
  Body(Node n, ColumnType t) : node(std::move(n)), type(std::move(t)), hash(hash_node(node)) {
    if (const auto* call = std::get_if<Call>(&node)) {
      can_fail = call->function->can_fail && !is_safe_call(*call->function, call->arguments);
    }
    if (std::holds_alternative<Failure>(node)) can_fail = true;
    if (std::holds_alternative<MzNow>(node)) contains_mz_now = true;
    for (const Scalar& child : arguments_of(node)) {
      const Body& body = *child.body_;
      depth = std::max(depth, body.depth + 1);
      can_fail = can_fail || body.can_fail;
      contains_mz_now = contains_mz_now || body.contains_mz_now;
      hash = combine_hash(hash, body.hash);
    }
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() {
    if (depth <= kRecursiveDestruction) return;
    std::visit(
        [](auto& n) {
          if constexpr (HasArguments<std::decay_t<decltype(n)>>) take_apart(std::move(n.arguments));
        },
        node);
  }

  Node node;
  ColumnType type;
  std::size_t hash;
  std::uint32_t depth = 1;
  bool can_fail = false;
  bool contains_mz_now = false;
};

Scalar Scalar::make(Node node, ColumnType type) {
  return Scalar(std::make_shared<const Body>(std::move(node), std::move(type)));
}

Scalar Scalar::column(std::size_t index, ColumnType type) { return make(Column{index}, std::move(type)); }

Scalar Scalar::literal(repr::Datum value, SqlType type) {
  const bool nullable = value.is_null();
  return make(Literal{std::move(value)}, {std::move(type), nullable});
}

Scalar Scalar::null(SqlType type) { return literal(repr::Datum(), std::move(type)); }

Scalar Scalar::boolean(bool value) { return literal(repr::Datum(value), TypeKind::kBool); }

Scalar Scalar::failure(Error error, SqlType type) {
  return make(Failure{std::move(error)}, {std::move(type), false});
}

Scalar Scalar::call(const FunctionSpec* function, std::vector<Scalar> arguments) {
  std::vector<SqlType> types;
  types.reserve(arguments.size());
  for (const Scalar& argument : arguments) types.push_back(argument.type().type);
  return call_typed(function, std::move(arguments),
                    resolve_result(function->arguments, function->result, types));
}

Scalar Scalar::call_typed(const FunctionSpec* function, std::vector<Scalar> arguments, SqlType type) {
  FRESHET_ASSERT(function != nullptr);
  const bool nullable = !function->preserves_not_null || any_nullable(arguments);
  return make(Call{function, std::move(arguments)}, {std::move(type), nullable});
}

Scalar Scalar::conjunction(std::vector<Scalar> arguments) {
  std::vector<Scalar> flat;
  flat.reserve(arguments.size());
  for (Scalar& argument : arguments) {
    if (const And* nested = argument.as<And>()) {
      flat.insert(flat.end(), nested->arguments.begin(), nested->arguments.end());
    } else {
      flat.push_back(std::move(argument));
    }
  }
  if (flat.empty()) return boolean(true);
  if (flat.size() == 1) return flat.front();
  const bool nullable = any_nullable(flat);
  return make(And{std::move(flat)}, {TypeKind::kBool, nullable});
}

Scalar Scalar::disjunction(std::vector<Scalar> arguments) {
  std::vector<Scalar> flat;
  flat.reserve(arguments.size());
  for (Scalar& argument : arguments) {
    if (const Or* nested = argument.as<Or>()) {
      flat.insert(flat.end(), nested->arguments.begin(), nested->arguments.end());
    } else {
      flat.push_back(std::move(argument));
    }
  }
  if (flat.empty()) return boolean(false);
  if (flat.size() == 1) return flat.front();
  const bool nullable = any_nullable(flat);
  return make(Or{std::move(flat)}, {TypeKind::kBool, nullable});
}

Scalar Scalar::if_then(Scalar condition, Scalar then, Scalar otherwise) {
  ColumnType type{common_type(then.type().type, otherwise.type().type),
                  then.type().nullable || otherwise.type().nullable};
  std::vector<Scalar> arguments{std::move(condition), std::move(then), std::move(otherwise)};
  return make(If{std::move(arguments)}, std::move(type));
}

Scalar Scalar::coalesce(std::vector<Scalar> arguments) {
  FRESHET_ASSERT(!arguments.empty());
  ColumnType type = arguments.front().type();
  for (const Scalar& argument : arguments) {
    type.type = common_type(type.type, argument.type().type);
    type.nullable = type.nullable && argument.type().nullable;
  }
  return make(Coalesce{std::move(arguments)}, std::move(type));
}

Scalar Scalar::is_null(Scalar argument) {
  return make(IsNull{{std::move(argument)}}, {TypeKind::kBool, false});
}

Scalar Scalar::negation(Scalar argument) {
  const FunctionSpec* negate = function_by_signature("not(bool)");
  FRESHET_ASSERT(negate != nullptr);
  return call_typed(negate, {std::move(argument)}, TypeKind::kBool);
}

Scalar Scalar::parameter(std::size_t index, SqlType type) {
  return make(Parameter{index}, {std::move(type), true});
}

Scalar Scalar::mz_now() { return make(MzNow{}, {TypeKind::kNumeric, false}); }

Scalar Scalar::session_value(std::string name, ColumnType type) {
  return make(SessionValue{std::move(name)}, std::move(type));
}

const Scalar::Node& Scalar::node() const { return body_->node; }
const ColumnType& Scalar::type() const { return body_->type; }
std::span<const Scalar> Scalar::children() const { return arguments_of(body_->node); }
bool Scalar::can_fail() const { return body_->can_fail; }
bool Scalar::is_literal() const { return as<Literal>() != nullptr; }
bool Scalar::contains_mz_now() const { return body_->contains_mz_now; }
std::size_t Scalar::depth() const { return body_->depth; }
std::size_t Scalar::hash() const { return body_->hash; }

Scalar Scalar::with_children(std::vector<Scalar> children) const {
  FRESHET_ASSERT(children.size() == this->children().size(), children.size());
  if (children.empty()) return *this;
  if (const Call* call = as<Call>()) {
    return call_typed(call->function, std::move(children), type().type);
  }
  if (as<And>() != nullptr) return conjunction(std::move(children));
  if (as<Or>() != nullptr) return disjunction(std::move(children));
  if (as<If>() != nullptr) {
    return if_then(std::move(children[0]), std::move(children[1]), std::move(children[2]));
  }
  if (as<Coalesce>() != nullptr) return coalesce(std::move(children));
  FRESHET_ASSERT(as<IsNull>() != nullptr);
  return is_null(std::move(children[0]));
}

Scalar Scalar::transform(const std::function<Scalar(Scalar)>& f) const {
  const std::span<const Scalar> before = children();
  if (before.empty()) return f(*this);
  std::vector<Scalar> after;
  after.reserve(before.size());
  bool changed = false;
  for (const Scalar& child : before) {
    after.push_back(child.transform(f));
    changed = changed || after.back().body_ != child.body_;
  }
  return f(changed ? with_children(std::move(after)) : *this);
}

void Scalar::visit(const std::function<void(const Scalar&)>& f) const {
  std::vector<const Scalar*> stack{this};
  while (!stack.empty()) {
    const Scalar* scalar = stack.back();
    stack.pop_back();
    f(*scalar);
    const auto below = scalar->children();
    for (auto child = below.rbegin(); child != below.rend(); ++child) stack.push_back(&*child);
  }
}

Scalar Scalar::with_columns(std::span<const std::size_t> map) const {
  return transform([&](Scalar s) {
    const Column* c = s.as<Column>();
    if (c == nullptr) return s;
    FRESHET_ASSERT(c->index < map.size(), c->index, map.size());
    return map[c->index] == c->index ? s : column(map[c->index], s.type());
  });
}

Scalar Scalar::substitute(std::span<const Scalar> columns) const {
  return transform([&](Scalar s) {
    const Column* c = s.as<Column>();
    if (c == nullptr) return s;
    FRESHET_ASSERT(c->index < columns.size(), c->index, columns.size());
    return columns[c->index];
  });
}

std::set<std::size_t> Scalar::columns() const {
  std::set<std::size_t> found;
  visit([&](const Scalar& s) {
    if (const Column* c = s.as<Column>()) found.insert(c->index);
  });
  return found;
}

bool operator==(const Scalar& a, const Scalar& b) {
  if (a.body_ == b.body_) return true;
  if (a.body_->hash != b.body_->hash) return false;
  return (a <=> b) == 0;
}

std::strong_ordering operator<=>(const Scalar& a, const Scalar& b) {
  if (a.body_ == b.body_) return std::strong_ordering::equal;
  if (const auto order = a.node().index() <=> b.node().index(); order != 0) return order;
  if (const auto order = order_contents(a.node(), b.node()); order != 0) return order;
  if (const auto order = type_order(a.type().type, b.type().type); order != 0) return order;
  const auto left = a.children();
  const auto right = b.children();
  if (const auto order = left.size() <=> right.size(); order != 0) return order;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (const auto order = left[i] <=> right[i]; order != 0) return order;
  }
  return std::strong_ordering::equal;
}

}  // namespace freshet::expr
