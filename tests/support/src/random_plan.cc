// SPDX-License-Identifier: Apache-2.0
#include <testing/random_plan.h>

#include <algorithm>
#include <numeric>

#include <freshet/base/sqlstate.h>

#include "random_scalar.h"

namespace testing {

using freshet::expr::Aggregate;
using freshet::expr::ColumnOrder;
using freshet::expr::LocalId;
using freshet::expr::MatchKind;
using freshet::repr::Datum;

namespace {

constexpr std::size_t kMaxArity = 5;

class PlanGenerator {
 public:
  PlanGenerator(Random& random, const RandomSchema& schema, const PlanOptions& options)
      : random_(random), schema_(schema), options_(options) {}

  Relation relation(std::size_t depth) { return narrowed(node(depth)); }

 private:
  using Columns = std::vector<ColumnType>;

  ScalarGenerator scalars(const Columns& columns) {
    // Most plans fail nowhere, or errors would hide everything.
    return {random_, columns, options_.failing_scalars && fails_};
  }

  Relation narrowed(Relation relation) {
    if (relation.arity() <= kMaxArity) return relation;
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < kMaxArity; ++i) columns.push_back(random_.below(relation.arity()));
    return relation.project(std::move(columns));
  }

  Relation node(std::size_t depth) {
    if (depth == 0) return leaf();
    switch (random_.below(22)) {
      case 0:
      case 1:
      case 2:
        return filter(relation(depth - 1));
      case 3:
      case 4:
        return map(relation(depth - 1));
      case 5:
        return project(relation(depth - 1));
      case 6:
      case 7:
      case 8:
        return join(depth);
      case 9:
      case 10:
      case 11:
        return match(depth);
      case 12:
      case 13:
      case 14:
        return reduce(relation(depth - 1));
      case 15:
        return relation(depth - 1).distinct();
      case 16:
        return top_k(relation(depth - 1));
      case 17:
        return union_all(depth);
      case 18:
        return set_operation(depth);
      case 19:
        return flat_map(relation(depth - 1));
      case 20:
        return let(depth);
      default:
        return options_.recursion && random_.coin() ? recursion(depth) : leaf();
    }
  }

  Relation leaf() {
    if (!locals_.empty() && random_.coin()) return locals_[random_.below(locals_.size())];
    if (random_.one_in(10)) return constant();
    if (options_.failing_scalars && fails_ && random_.one_in(40)) {
      return Relation::failed(freshet::sql_error(freshet::sqlstate::kDataException, "bad constant"), pair_type());
    }
    auto collection = schema_.collections.begin();
    std::advance(collection, static_cast<std::ptrdiff_t>(random_.below(schema_.collections.size())));
    return Relation::get(collection->first, collection->second.type);
  }

  Relation constant() {
    freshet::repr::RelationType type{{{TypeKind::kInt4, true}, {random_kind(random_), true}}};
    std::vector<std::pair<freshet::repr::DatumRow, std::int64_t>> rows;
    for (std::uint64_t n = random_.one_in(30) ? 0 : 1 + random_.below(3); n > 0; --n) {
      freshet::repr::DatumRow row;
      for (const ColumnType& column : type.columns) {
        row.push_back(random_.one_in(5) ? Datum() : random_value(random_, column.type.kind()));
      }
      rows.emplace_back(std::move(row), random_.between(1, 2));
    }
    return Relation::constant(std::move(rows), std::move(type));
  }

  Relation filter(const Relation& input) {
    ScalarGenerator generate = scalars(input.type().columns);
    std::vector<Scalar> predicates{generate.predicate(2)};
    // Keys that can be looked up, and few filters that keep nothing.
    if (input.arity() > 0 && random_.one_in(5)) {
      const std::size_t c = random_.below(input.arity());
      const ColumnType& column = input.type().columns[c];
      if (column.type.kind() != TypeKind::kArray) {
        predicates[0] = equality(Scalar::column(c, column), Scalar::literal(random_value(random_, column.type.kind()), column.type.kind()));
      }
    }
    if (!random_.one_in(3)) predicates[0] = Scalar::disjunction({predicates[0], generate.predicate(1)});
    if (input.arity() > 0 && random_.one_in(3)) {
      const std::size_t c = random_.below(input.arity());
      predicates[0] = Scalar::disjunction(
          {predicates[0], Scalar::negation(Scalar::is_null(Scalar::column(c, input.type().columns[c])))});
    }
    if (random_.one_in(6)) predicates.push_back(generate.predicate(1));
    return input.filter(std::move(predicates));
  }

  Relation map(const Relation& input) {
    Columns columns = input.type().columns;
    std::vector<Scalar> expressions;
    for (std::uint64_t n = 1 + random_.below(2); n > 0; --n) {
      expressions.push_back(scalars(columns).any(2));
      columns.push_back(expressions.back().type());
    }
    return input.map(std::move(expressions));
  }

  Relation project(const Relation& input) {
    std::vector<std::size_t> columns;
    if (input.arity() == 0) return input;
    for (std::uint64_t n = 1 + random_.below(3); n > 0; --n) columns.push_back(random_.below(input.arity()));
    return input.project(std::move(columns));
  }

  /// Columns of both sides that can be equal.
  std::optional<std::pair<std::size_t, std::size_t>> equal_columns(const Columns& left, const Columns& right) {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t l = 0; l < left.size(); ++l) {
      for (std::size_t r = 0; r < right.size(); ++r) {
        const TypeKind a = left[l].type.kind();
        const TypeKind b = right[r].type.kind();
        const auto integer = [](TypeKind k) { return k == TypeKind::kInt4 || k == TypeKind::kInt8; };
        if (a == TypeKind::kArray || b == TypeKind::kArray) continue;
        if (a == b || (integer(a) && integer(b))) found.emplace_back(l, r);
      }
    }
    if (found.empty()) return std::nullopt;
    return found[random_.below(found.size())];
  }

  Relation join(std::size_t depth) {
    std::vector<Relation> inputs{relation(depth - 1), relation(depth - 1)};
    if (random_.one_in(3)) inputs.push_back(relation(depth - 1));
    std::vector<std::vector<Scalar>> classes;
    Columns before = inputs[0].type().columns;
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      const Columns& own = inputs[i].type().columns;
      for (std::uint64_t n = random_.one_in(4) ? 2 : 1; n > 0; --n) {
        const auto pair = equal_columns(before, own);
        if (!pair || random_.one_in(10)) continue;
        Scalar left = Scalar::column(pair->first, before[pair->first]);
        Scalar right = Scalar::column(before.size() + pair->second, own[pair->second]);
        if (random_.one_in(8)) left = Scalar::coalesce({left, scalars({}).literal(left.type().type.kind())});
        classes.push_back({std::move(left), std::move(right)});
        if (random_.one_in(12)) classes.back().push_back(scalars({}).literal(own[pair->second].type.kind()));
      }
      before.insert(before.end(), own.begin(), own.end());
    }
    return Relation::join(std::move(inputs), std::move(classes));
  }

  Scalar equality(const Scalar& left, const Scalar& right) {
    const auto name = [](const Scalar& s) { return std::string(freshet::repr::type_info(s.type().type.kind()).pg_name); };
    const auto* function =
        freshet::expr::function_by_signature("=(" + name(left) + "," + name(right) + ")");
    FRESHET_ASSERT(function != nullptr, name(left), name(right));
    return Scalar::call(function, {left, right});
  }

  Relation match(std::size_t depth) {
    const Relation left = relation(depth - 1);
    const Relation right = relation(depth - 1);
    const Columns& own = left.type().columns;
    const Columns& other = right.type().columns;
    std::vector<Scalar> on;
    for (std::uint64_t n = random_.one_in(4) ? 2 : 1; n > 0; --n) {
      const auto pair = equal_columns(own, other);
      if (!pair || random_.one_in(8)) continue;
      on.push_back(equality(Scalar::column(pair->first, own[pair->first]),
                            Scalar::column(own.size() + pair->second, other[pair->second])));
    }
    if (random_.one_in(3)) {
      Columns both = own;
      both.insert(both.end(), other.begin(), other.end());
      on.push_back(scalars(both).predicate(1));
    }
    const MatchKind kind =
        random_.pick({MatchKind::kSemi, MatchKind::kAnti, MatchKind::kLeft, MatchKind::kLeft, MatchKind::kFull});
    Relation match = Relation::match(kind, left, right, std::move(on));
    const bool wanted = kind == MatchKind::kFull ? random_.coin() : kind == MatchKind::kLeft && random_.one_in(8);
    return wanted ? one_sided(match, own.size()) : match;
  }

  /// A condition on the columns of one side: whether it may go below the join depends on the join's kind.
  Relation one_sided(const Relation& match, std::size_t split) {
    const Columns& columns = match.type().columns;
    if (columns.empty()) return match;
    const bool left = split > 0 && (split == columns.size() || random_.coin());
    const std::size_t c = left ? random_.below(split) : split + random_.below(columns.size() - split);
    const Scalar column = Scalar::column(c, columns[c]);
    const TypeKind kind = columns[c].type.kind();
    Scalar predicate = Scalar::is_null(column);
    if (kind != TypeKind::kArray && random_.coin()) {
      predicate = equality(column, Scalar::literal(random_value(random_, kind), kind));
    }
    if (!random_.one_in(8)) predicate = Scalar::negation(predicate);  // keeps most rows
    return match.filter({std::move(predicate)});
  }

  std::optional<Aggregate> aggregate(const Columns& columns) {
    ScalarGenerator generate = scalars(columns);
    const char* name = random_.pick({"count", "count", "sum", "sum", "avg", "min", "max", "bool_and", "every",
                                     "bool_or", "string_agg", "array_agg"});
    const auto specs = freshet::expr::aggregates_named(name);
    const auto* spec = specs[random_.below(specs.size())];
    Aggregate out{spec};
    for (const auto& parameter : spec->arguments) {
      using Kind = freshet::expr::ArgumentType::Kind;
      if (parameter.kind == Kind::kAnyArray) return std::nullopt;
      if (parameter.kind != Kind::kConcrete) {
        out.arguments.push_back(generate.any(1));
        continue;
      }
      switch (parameter.type.kind()) {
        case TypeKind::kBool:
        case TypeKind::kInt4:
        case TypeKind::kInt8:
        case TypeKind::kNumeric:
        case TypeKind::kFloat8:
        case TypeKind::kText:
          out.arguments.push_back(generate.of_kind(parameter.type.kind(), 1));
          break;
        default:
          return std::nullopt;
      }
    }
    using Class = freshet::expr::AggregateClass;
    out.distinct = !out.arguments.empty() && random_.one_in(4);
    if (random_.one_in(4)) out.filter = generate.predicate(1);
    if (spec->aggregate_class == Class::kOrdered && random_.coin()) {
      // With DISTINCT, SQL orders by arguments only.
      Scalar by = out.distinct ? out.arguments[0] : generate.any(1);
      out.order_by.push_back({std::move(by), random_.coin(), random_.coin()});
    }
    return out;
  }

  Relation reduce(const Relation& input) {
    const Columns& columns = input.type().columns;
    std::vector<Scalar> keys;
    for (std::uint64_t n = random_.below(3); n > 0; --n) {
      if (columns.empty()) break;
      const std::size_t c = random_.below(columns.size());
      keys.push_back(random_.one_in(5) ? scalars(columns).any(1) : Scalar::column(c, columns[c]));
    }
    std::vector<Aggregate> aggregates;
    for (std::uint64_t n = random_.below(4); n > 0; --n) {
      if (auto one = aggregate(columns)) aggregates.push_back(*std::move(one));
    }
    return input.reduce(std::move(keys), std::move(aggregates));
  }

  Relation top_k(const Relation& input) {
    const Columns& columns = input.type().columns;
    std::vector<std::size_t> group;
    std::vector<ColumnOrder> order;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (random_.one_in(4)) group.push_back(c);
      else if (random_.one_in(3)) order.push_back({c, random_.coin(), random_.coin()});
    }
    std::optional<Scalar> limit;
    if (!random_.one_in(6)) limit = Scalar::literal(Datum(random_.between(1, 3)), TypeKind::kInt8);
    for (const std::size_t c : group) {
      if (columns[c].type.kind() == TypeKind::kInt8 && !random_.one_in(8)) limit = Scalar::column(c, columns[c]);
    }
    return input.top_k(std::move(group), std::move(order), std::move(limit), random_.one_in(6) ? 1 : 0);
  }

  /// A relation with these kinds of columns, made of another.
  Relation shaped(const Relation& input, const std::vector<TypeKind>& kinds) {
    std::vector<Scalar> expressions;
    for (const TypeKind kind : kinds) expressions.push_back(scalars(input.type().columns).of_kind(kind, 1));
    std::vector<std::size_t> columns(kinds.size());
    std::iota(columns.begin(), columns.end(), input.arity());
    return input.map(std::move(expressions)).project(std::move(columns));
  }

  std::vector<TypeKind> random_shape() {
    std::vector<TypeKind> kinds{TypeKind::kInt4};
    for (std::uint64_t n = random_.below(2); n > 0; --n) kinds.push_back(random_kind(random_));
    return kinds;
  }

  Relation union_all(std::size_t depth) {
    const auto kinds = random_shape();
    return Relation::union_all({shaped(relation(depth - 1), kinds), shaped(relation(depth - 1), kinds)});
  }

  /// A relation that is read more than once: locals are bound once in a plan.
  template <typename F>
  Relation bound(const Relation& value, const F& body) {
    const LocalId id{next_local_++};
    return Relation::let(id, value, body(Relation::get(id, value.type())));
  }

  /// EXCEPT, EXCEPT ALL, INTERSECT, and differences that are not put right before something counts them.
  Relation set_operation(std::size_t depth) {
    const auto kinds = random_shape();
    const Relation right = shaped(relation(depth - 1), kinds);
    return bound(shaped(relation(depth - 1), kinds),
                 [&](const Relation& left) { return set_operation(left, right); });
  }
  Relation set_operation(const Relation& left, const Relation& right) {
    switch (random_.below(4)) {
      case 0:
        return Relation::union_all({left, right.negate()}).threshold();
      case 1:
        return Relation::union_all({left.distinct(), right.distinct().negate()}).threshold();
      case 2: {
        const Relation rest = Relation::union_all({left, right.negate()}).threshold();
        return Relation::union_all({left, rest.negate()});
      }
      default:
        break;
    }
    if (!options_.negative_counts) return Relation::union_all({left, right.negate()}).threshold();
    const Relation difference = Relation::union_all({left, random_.coin() ? right.negate() : left.negate()});
    switch (random_.below(3)) {
      case 0:
        return reduce(difference);
      case 1:
        return top_k(difference);
      default:
        return difference.distinct();
    }
  }

  Relation flat_map(const Relation& input) {
    const auto* function = freshet::expr::table_function_by_signature("generate_series(int4,int4)");
    if (function == nullptr) return input;
    ScalarGenerator generate(random_, input.type().columns, false);
    return input.flat_map(function, {generate.of_kind(TypeKind::kInt4, 0), generate.of_kind(TypeKind::kInt4, 0)},
                          random_.coin());
  }

  Relation let(std::size_t depth) {
    const Relation value = relation(depth - 1);
    const LocalId id{next_local_++};
    locals_.push_back(Relation::get(id, value.type()));
    const Relation body = join(depth);
    locals_.pop_back();
    return Relation::let(id, value, body);
  }

  static freshet::repr::RelationType pair_type() {
    return {{{TypeKind::kInt4, true}, {TypeKind::kInt4, true}}};
  }

  /// Paths over edges: reach = edges + reach joined with edges, as a set; sometimes by two relations in turn.
  Relation recursion(std::size_t depth) {
    const Relation edges = shaped(relation(depth - 1), {TypeKind::kInt4, TypeKind::kInt4});
    const Relation more = random_.coin() ? Relation::union_all({edges, chain()}) : edges;
    if (!random_.one_in(3)) return bound(more, [&](const Relation& all) { return paths(all); });
    // The same numbers, written differently: 1, 1.0, 1.00.
    return bound(more, [&](const Relation& all) {
      std::vector<Relation> parts{as_numeric(all, std::nullopt)};
      for (std::int32_t scale = 1; scale <= 2; ++scale) {
        if (random_.coin()) parts.push_back(as_numeric(filter(all), scale));
      }
      return bound(Relation::union_all(std::move(parts)), [&](const Relation& numbers) { return paths(numbers); });
    });
  }
  static Scalar rounded(const Scalar& value, const Scalar& scale) {
    return Scalar::call(freshet::expr::function_by_signature("round(numeric,int4)"), {value, scale});
  }
  static Relation as_numeric(const Relation& pairs, std::optional<std::int32_t> scale) {
    const auto cast = freshet::expr::find_cast(TypeKind::kInt4, TypeKind::kNumeric);
    std::vector<Scalar> numbers;
    for (std::size_t c = 0; c < 2; ++c) {
      numbers.push_back(Scalar::call(cast->function, {Scalar::column(c, pairs.type().columns[c])}));
      if (scale) numbers.back() = rounded(numbers.back(), Scalar::literal(Datum(*scale), TypeKind::kInt4));
    }
    return pairs.map(std::move(numbers)).project({2, 3});
  }
  /// Columns of numbers in another form: of scale 0 in scale 2 and back, or all in one.
  Relation reformed(const Relation& numbers) {
    if (numbers.type().columns[0].type.kind() != TypeKind::kNumeric) return numbers;
    const auto literal = [](std::int32_t n) { return Scalar::literal(Datum(n), TypeKind::kInt4); };
    std::vector<Scalar> forms;
    std::vector<std::size_t> places;
    for (std::size_t c = 0; c < 2; ++c) {
      const Scalar value = Scalar::column(c, numbers.type().columns[c]);
      places.push_back(c);
      if (random_.one_in(3)) continue;
      const Scalar scale = Scalar::call(freshet::expr::function_by_signature("scale(numeric)"), {value});
      const Scalar turned = Scalar::call(freshet::expr::function_by_signature("-(int4,int4)"), {literal(2), scale});
      places.back() = 2 + forms.size();
      forms.push_back(rounded(value, random_.one_in(3) ? literal(1) : turned));
    }
    return forms.empty() ? numbers : numbers.map(std::move(forms)).project(std::move(places));
  }
  /// Few random edges make a path of three; on a chain a recursion is cut at every limit.
  static Relation chain() {
    std::vector<std::pair<freshet::repr::DatumRow, std::int64_t>> rows;
    for (std::int32_t from = 0; from < 5; ++from) rows.push_back({{Datum(from), Datum(from + 1)}, 1});
    return Relation::constant(std::move(rows), pair_type());
  }
  Relation paths(const Relation& edges) {
    const LocalId id{next_local_++};
    const LocalId other{next_local_++};
    const freshet::repr::RelationType type{{{edges.type().columns[0].type, true}, {edges.type().columns[1].type, true}}};
    const Relation reach = Relation::get(id, type);
    const Relation step = Relation::get(other, type);
    const auto& columns = type.columns;
    const auto extend = [&](const Relation& from) {
      return reformed(Relation::join({from, edges}, {{Scalar::column(1, columns[1]), Scalar::column(2, columns[0])}})
                          .project({0, 3}));
    };
    std::optional<std::uint64_t> limit;
    if (random_.coin()) limit = random_.one_in(8) ? 0 : 1 + random_.below(3);
    const bool returns = !random_.one_in(3);
    const bool two = random_.coin();
    std::vector<LocalId> ids{id};
    std::vector<Relation> values;
    if (two) {
      ids = {other, id};
      values.push_back(extend(reach).distinct());
      values.push_back(Relation::union_all({edges, step}).distinct());
    } else {
      values.push_back(Relation::union_all({edges, extend(reach)}).distinct());
    }
    Relation body = random_.coin() ? reach : filter(reach);
    return Relation::let_rec(std::move(ids), std::move(values), std::move(body), limit, returns);
  }

 public:
  void may_fail(bool fails) { fails_ = fails; }

 private:
  Random& random_;
  const RandomSchema& schema_;
  const PlanOptions& options_;
  bool fails_ = false;
  std::uint64_t next_local_ = 0;
  std::vector<Relation> locals_{};
};

}  // namespace

RandomSchema random_schema(Random& random, const PlanOptions& options) {
  RandomSchema schema;
  const std::uint64_t count = 1 + random.below(options.max_collections);
  for (std::uint64_t n = 1; n <= count; ++n) {
    freshet::repr::RelationDesc desc;
    const std::uint64_t arity = 1 + random.below(4);
    for (std::uint64_t c = 0; c < arity; ++c) {
      const TypeKind kind = c == 0 ? TypeKind::kInt4 : random_kind(random);
      desc.type.columns.push_back({kind, !random.one_in(4)});
      desc.names.push_back("c" + std::to_string(c));
    }
    if (random.one_in(3)) {
      desc.type.columns[0].nullable = false;
      desc.type.keys = {{0}};
    }
    schema.collections.emplace(GlobalId{GlobalId::Kind::kUser, n}, std::move(desc));
  }
  return schema;
}

Relation random_relation(Random& random, const RandomSchema& schema, const PlanOptions& options) {
  PlanGenerator generator(random, schema, options);
  generator.may_fail(random.one_in(3));
  return generator.relation(1 + random.below(options.max_depth));
}

}  // namespace testing
