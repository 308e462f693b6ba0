// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/expr/text.h>
#include <freshet/repr/row.h>
#include <testing/random_plan.h>

namespace testing {

using freshet::expr::ErrorRow;
using freshet::expr::MatchKind;
using freshet::expr::PartialRow;
using freshet::repr::ColumnType;
using freshet::repr::DatumRow;

namespace {

using Types = std::vector<ColumnType>;

freshet::repr::RowCodec codec_of(const Types& types) {
  std::vector<freshet::repr::SqlType> out;
  for (const ColumnType& column : types) out.push_back(column.type);
  return freshet::repr::RowCodec(std::move(out));
}

std::vector<ErrorRow> error_rows(const Multiset& multiset, const Types& types) {
  std::vector<ErrorRow> out;
  for (const auto& [bytes, count] : multiset.errs) {
    auto row = freshet::expr::decode_error_row(bytes, types);
    FRESHET_ASSERT(row.has_value());
    out.push_back(*std::move(row));
  }
  return out;
}

/// Every row behind `inner` is behind `outer`.
bool covers(const PartialRow& outer, const PartialRow& inner, const Types& types) {
  for (std::size_t c = 0; c < types.size(); ++c) {
    if (!outer[c]) continue;
    if (!inner[c] || compare(*outer[c], *inner[c], types[c].type) != 0) return false;
  }
  return true;
}

bool in_scope(const std::vector<ErrorRow>& errors, const PartialRow& row, const Types& types) {
  return std::any_of(errors.begin(), errors.end(),
                     [&](const ErrorRow& error) { return covers(error.known, row, types); });
}

std::string text_of(const ErrorRow& row, const Types& types) {
  std::string out = "(";
  for (std::size_t c = 0; c < types.size(); ++c) {
    if (c > 0) out += ", ";
    out += row.known[c] ? freshet::expr::row_text({*row.known[c]}, std::span(types).subspan(c, 1)) : "?";
  }
  return out + ") " + row.error.message;
}

}  // namespace

std::string describe(const Multiset& multiset, const Types& types) {
  std::string out;
  const auto codec = codec_of(types);
  for (const auto& [bytes, count] : multiset.oks) {
    out += "  " + std::to_string(count) + " x " + freshet::expr::row_text(codec.decode_row(bytes).value(), types) + "\n";
  }
  for (const ErrorRow& row : error_rows(multiset, types)) out += "  error " + text_of(row, types) + "\n";
  return out;
}

std::optional<std::string> compare_by_error_rule(const Multiset& naive, const Multiset& optimized,
                                                 const Types& types) {
  const std::vector<ErrorRow> errors = error_rows(naive, types);
  for (const ErrorRow& error : error_rows(optimized, types)) {
    if (!in_scope(errors, error.known, types)) return "an error was added: " + text_of(error, types);
  }
  const auto codec = codec_of(types);
  const auto check = [&](const std::string& bytes) -> std::optional<std::string> {
    const auto count = [&](const Multiset& m) {
      const auto found = m.oks.find(bytes);
      return found == m.oks.end() ? std::int64_t{0} : found->second;
    };
    if (count(naive) == count(optimized)) return std::nullopt;
    const DatumRow row = codec.decode_row(bytes).value();
    if (in_scope(errors, PartialRow(row.begin(), row.end()), types)) return std::nullopt;
    return "row " + freshet::expr::row_text(row, types) + " has count " + std::to_string(count(naive)) +
           " and optimised " + std::to_string(count(optimized));
  };
  for (const auto* side : {&naive, &optimized}) {
    for (const auto& [bytes, diff] : side->oks) {
      if (auto wrong = check(bytes)) return wrong;
    }
  }
  return std::nullopt;
}

namespace {

std::string name_of(MatchKind kind) {
  switch (kind) {
    case MatchKind::kSemi:
      return "semi join";
    case MatchKind::kAnti:
      return "anti join";
    case MatchKind::kLeft:
      return "left join";
    case MatchKind::kFull:
      return "full join";
  }
  FRESHET_UNREACHABLE();
}

std::string name_of(const Relation& relation) {
  return std::visit(
      [](const auto& n) -> std::string {
        using T = std::decay_t<decltype(n)>;
        if constexpr (std::is_same_v<T, Relation::Constant>) return "constant";
        if constexpr (std::is_same_v<T, Relation::Get>) return "get";
        if constexpr (std::is_same_v<T, Relation::Let>) return "let";
        if constexpr (std::is_same_v<T, Relation::LetRec>) {
          if (!n.limit) return "recursion";
          return n.return_at_limit ? "recursion, return at limit" : "recursion, error at limit";
        }
        if constexpr (std::is_same_v<T, Relation::Project>) return "project";
        if constexpr (std::is_same_v<T, Relation::Map>) return "map";
        if constexpr (std::is_same_v<T, Relation::Filter>) return "filter";
        if constexpr (std::is_same_v<T, Relation::FlatMap>) return "flat map";
        if constexpr (std::is_same_v<T, Relation::Join>) {
          return n.equivalences.empty() ? "cross join" : n.inputs.size() > 2 ? "join of three" : "join";
        }
        if constexpr (std::is_same_v<T, Relation::Match>) return name_of(n.kind);
        if constexpr (std::is_same_v<T, Relation::Reduce>) return n.aggregates.empty() ? "distinct" : "reduce";
        if constexpr (std::is_same_v<T, Relation::TopK>) return "top k";
        if constexpr (std::is_same_v<T, Relation::Negate>) return "negate";
        if constexpr (std::is_same_v<T, Relation::Threshold>) return "threshold";
        if constexpr (std::is_same_v<T, Relation::Union>) return "union";
      },
      relation.node());
}

}  // namespace

void PlanCoverage::add(const Relation& relation) {
  relation.visit([&](const Relation& r) {
    ++counts[name_of(r)];
    const auto* reduce = r.as<Relation::Reduce>();
    if (reduce == nullptr) return;
    for (const auto& aggregate : reduce->aggregates) {
      ++counts["aggregate " + std::string(aggregate.spec->name)];
      if (aggregate.distinct) ++counts["aggregate distinct"];
      if (aggregate.filter) ++counts["aggregate filter"];
      if (!aggregate.order_by.empty()) ++counts["aggregate order by"];
    }
  });
}

void PlanCoverage::add_outcome(const Multiset& result) {
  ++counts[result.oks.empty() && result.errs.empty() ? "empty" : "non-empty"];
  if (!result.errs.empty()) ++counts["with errors"];
}

}  // namespace testing
