// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/expr/match_keys.h>

#include "naive_rows.h"

namespace freshet::expr::naive {
namespace {

/// The key bytes of each class that a (partial) row has a member for; no entry: none so far.
using ClassValues = std::vector<std::optional<std::string>>;

struct Joined {
  DatumRow row;
  Diff diff;
  ClassValues values;
};

struct Range {
  std::size_t begin;
  std::size_t end;
};

bool reads_only(const Scalar& member, Range range) {
  const auto columns = member.columns();
  return !columns.empty() && *columns.begin() >= range.begin && *columns.rbegin() < range.end;
}

Scalar moved_left(const Scalar& scalar, std::size_t by) {
  return scalar.transform([&](Scalar s) {
    const auto* column = s.as<Scalar::Column>();
    return column == nullptr ? s : Scalar::column(column->index - by, s.type());
  });
}

/// Takes a member's value into the class; false if the row can match nothing (NULL, or unequal).
bool take(std::optional<std::string>& known, const Datum& value, const repr::SqlType& type) {
  if (value.is_null()) return false;
  std::string bytes = repr::encode_key(value, type);
  if (!known) known = std::move(bytes);
  else if (*known != bytes) return false;
  return true;
}

class JoinRun {
 public:
  JoinRun(std::span<const RowsPtr> inputs, std::span<const std::vector<Scalar>> equivalences, Budget budget)
      : inputs_(inputs), equivalences_(equivalences), budget_(budget), out_(all_types(inputs)) {}

  Result<RowsPtr> run() {
    std::vector<Joined> joined{{{}, 1, ClassValues(equivalences_.size())}};
    if (!take_constants(joined.front())) joined.clear();
    std::size_t offset = 0;
    for (const RowsPtr& input : inputs_) {
      const Range range{offset, offset + input->types.size()};
      for (const auto& [bytes, error] : input->errs) fail_row(error, offset);
      if (auto extended = extend(joined, *input, range); !extended) return fail(extended.error());
      offset = range.end;
    }
    finish(std::move(joined));
    return out_.finish();
  }

 private:
  static Types all_types(std::span<const RowsPtr> inputs) {
    std::vector<Types> parts;
    for (const RowsPtr& input : inputs) parts.push_back(input->types);
    return concatenated(parts);
  }

  void fail_everything(Error error) {
    out_.add_error(ErrorRow::unknown(out_.types().size(), std::move(error)));
  }
  void fail_row(const ErrorRow& error, std::size_t offset) {
    auto row = join_error({equivalences_, out_.types()}, offset, error);
    if (row) out_.add_error(std::move(*row));
  }

  bool take_constants(Joined& start) {
    bool possible = true;
    for (std::size_t e = 0; e < equivalences_.size(); ++e) {
      for (const Scalar& member : equivalences_[e]) {
        if (!member.columns().empty()) continue;
        auto value = evaluate_row(member, {}, {});
        if (!value) {
          fail_everything(value.error());
          possible = false;
        } else {
          possible = take(start.values[e], *value, member.type().type) && possible;
        }
      }
    }
    return possible;
  }

  /// The rows of one input with the values of the members that read it alone.
  std::vector<Joined> prepare(const Rows& input, Range range) {
    const Batch batch(input);
    std::vector<Joined> rows;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      rows.push_back({batch[i].row, batch[i].diff, ClassValues(equivalences_.size())});
    }
    std::vector<char> keep(rows.size(), 1);
    std::vector<std::optional<Error>> errors(rows.size());
    for (std::size_t e = 0; e < equivalences_.size(); ++e) {
      for (const Scalar& member : equivalences_[e]) {
        if (!reads_only(member, range)) continue;
        const Evaluated result = batch.evaluate(moved_left(member, range.begin));
        const repr::SqlType& type = member.type().type;
        for (std::uint32_t i = 0; i < rows.size(); ++i) {
          if (const Error* error = result.errors.find(i)) {
            if (!errors[i] || error_less(*error, *errors[i])) errors[i] = *error;
          } else if (!take(rows[i].values[e], result.column->datum(i, type), type)) {
            keep[i] = 0;
          }
        }
      }
    }
    std::vector<Joined> kept;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (errors[i]) fail_row(ErrorRow::of(rows[i].row, *errors[i]), range.begin);
      else if (keep[i] != 0) kept.push_back(std::move(rows[i]));
    }
    return kept;
  }

  Result<void> extend(std::vector<Joined>& joined, const Rows& input, Range range) {
    std::vector<Joined> rows = prepare(input, range);
    std::vector<std::size_t> shared;
    for (std::size_t e = 0; e < equivalences_.size() && !joined.empty() && !rows.empty(); ++e) {
      if (joined.front().values[e] && rows.front().values[e]) shared.push_back(e);
    }
    const auto key = [&](const Joined& j) {
      std::vector<std::string> parts;
      for (const std::size_t e : shared) parts.push_back(*j.values[e]);
      return parts;
    };
    std::map<std::vector<std::string>, std::vector<const Joined*>> index;
    for (const Joined& row : rows) index[key(row)].push_back(&row);
    std::vector<Joined> next;
    for (const Joined& left : joined) {
      const auto found = index.find(key(left));
      if (found == index.end()) continue;
      for (const Joined* right : found->second) {
        ClassValues values = left.values;
        for (std::size_t e = 0; e < values.size(); ++e) {
          if (!values[e]) values[e] = right->values[e];
        }
        next.push_back({concatenated(left.row, right->row), left.diff * right->diff, std::move(values)});
      }
      if (auto fits = budget_.check(next.size()); !fits) return fits;
    }
    joined = std::move(next);
    return {};
  }

  bool reads_several(const Scalar& member) const {
    if (member.columns().empty()) return false;
    std::size_t offset = 0;
    for (const RowsPtr& input : inputs_) {
      const Range range{offset, offset + input->types.size()};
      if (reads_only(member, range)) return false;
      offset = range.end;
    }
    return true;
  }

  /// Tests the members that read several inputs, on whole rows.
  void finish(std::vector<Joined> joined) {
    for (Joined& j : joined) {
      bool keep = true;
      std::optional<Error> error;
      for (std::size_t e = 0; e < equivalences_.size(); ++e) {
        for (const Scalar& member : equivalences_[e]) {
          if (!reads_several(member)) continue;
          auto value = evaluate_row(member, j.row, out_.types());
          if (!value) {
            if (!error || error_less(value.error(), *error)) error = value.error();
          } else {
            keep = take(j.values[e], *value, member.type().type) && keep;
          }
        }
      }
      if (!keep) continue;
      if (error) out_.add_error(ErrorRow::of(j.row, *error));
      else out_.add(std::move(j.row), j.diff);
    }
  }

  std::span<const RowsPtr> inputs_;
  std::span<const std::vector<Scalar>> equivalences_;
  Budget budget_;
  Collector out_;
};

// --- Match ----------------------------------------------------------------------------------------------

struct KeySide {
  const Rows& rows;
  std::span<const Scalar> key;
};

/// The rows with their key bytes; nullopt for a key with a NULL, and for one that failed.
struct Keyed {
  const CountedRow* row;
  std::optional<std::string> key;
  std::optional<Error> error{};
};

std::vector<Keyed> keyed(const KeySide& side, const Batch& batch) {
  std::vector<Keyed> out;
  for (const CountedRow& row : batch.rows()) out.push_back({&row, std::string()});
  for (const Scalar& expression : side.key) {
    const Evaluated values = batch.evaluate(expression);
    for (std::uint32_t i = 0; i < out.size(); ++i) {
      // Keys cannot fail, but they may be too large to be; such a key is equal to none, and an error.
      if (const Error* error = values.errors.find(i)) {
        if (!out[i].error || error_less(*error, *out[i].error)) out[i].error = *error;
        out[i].key.reset();
        continue;
      }
      const Datum value = values.column->datum(i, expression.type().type);
      if (value.is_null()) out[i].key.reset();
      if (out[i].key) *out[i].key += repr::encode_key(value, expression.type().type);
    }
  }
  return out;
}

std::map<std::string, Diff> totals(std::span<const Keyed> rows) {
  std::map<std::string, Diff> out;
  for (const Keyed& row : rows) {
    if (row.key) out[*row.key] += row.row->diff;
  }
  return out;
}

bool has_match(const std::map<std::string, Diff>& totals, const std::optional<std::string>& key) {
  if (!key) return false;
  const auto found = totals.find(*key);
  return found != totals.end() && found->second > 0;
}

/// Errors of the inputs and of their keys.
struct MatchSides {
  const KeySide& left;
  const KeySide& right;
  std::span<const Keyed> left_rows;
  std::span<const Keyed> right_rows;
};

void add_match_errors(MatchKind kind, const MatchSides& sides, Collector& out) {
  const MatchErrors rule{kind, sides.left.key, sides.right.key, sides.left.rows.types, sides.right.rows.types};
  const auto of_left = [&](const ErrorRow& error) {
    for (ErrorRow& row : match_left_error(rule, error)) out.add_error(std::move(row));
  };
  const auto of_right = [&](const ErrorRow& error) {
    for (ErrorRow& row : match_right_error(rule, error)) out.add_error(std::move(row));
  };
  for (const auto& [bytes, error] : sides.left.rows.errs) of_left(error);
  for (const auto& [bytes, error] : sides.right.rows.errs) of_right(error);
  for (const Keyed& row : sides.left_rows) {
    if (row.error) of_left(ErrorRow::of(row.row->row, *row.error));
  }
  for (const Keyed& row : sides.right_rows) {
    if (row.error) of_right(ErrorRow::of(row.row->row, *row.error));
  }
}

/// The left rows that have a match in `right`, or that have none.
RowsPtr select_left(MatchKind kind, const KeySide& left, const KeySide& right) {
  Collector out(left.rows.types);
  const Batch left_batch(left.rows);
  const Batch right_batch(right.rows);
  const auto left_rows = keyed(left, left_batch);
  const auto right_rows = keyed(right, right_batch);
  const auto matched = totals(right_rows);
  for (const Keyed& row : left_rows) {
    const bool wanted = has_match(matched, row.key) == (kind == MatchKind::kSemi);
    if (wanted) out.add(row.row->row, row.row->diff);
  }
  add_match_errors(kind, {left, right, left_rows, right_rows}, out);
  return out.finish();
}

/// kLeft and kFull without a residual.
Result<RowsPtr> outer(MatchKind kind, const KeySide& left, const KeySide& right, const Budget& budget) {
  const std::vector<Types> parts{left.rows.types, right.rows.types};
  Collector out(concatenated(parts));
  const Batch left_batch(left.rows);
  const Batch right_batch(right.rows);
  const auto left_rows = keyed(left, left_batch);
  const auto right_rows = keyed(right, right_batch);
  std::multimap<std::string, const CountedRow*> index;
  for (const Keyed& row : right_rows) {
    if (row.key) index.emplace(*row.key, row.row);
  }
  const auto right_totals = totals(right_rows);
  const DatumRow right_nulls(right.rows.types.size());
  for (const Keyed& row : left_rows) {
    if (!has_match(right_totals, row.key)) out.add(concatenated(row.row->row, right_nulls), row.row->diff);
    if (!row.key) continue;
    const auto [begin, end] = index.equal_range(*row.key);
    for (auto entry = begin; entry != end; ++entry) {
      out.add(concatenated(row.row->row, entry->second->row), row.row->diff * entry->second->diff);
    }
    if (auto fits = budget.check(out.size()); !fits) return fail(fits.error());
  }
  if (kind == MatchKind::kFull) {
    const auto left_totals = totals(left_rows);
    const DatumRow left_nulls(left.rows.types.size());
    for (const Keyed& row : right_rows) {
      if (!has_match(left_totals, row.key)) out.add(concatenated(left_nulls, row.row->row), row.row->diff);
    }
  }
  add_match_errors(kind, {left, right, left_rows, right_rows}, out);
  return out.finish();
}

std::vector<std::size_t> columns_between(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> out;
  for (; begin < end; ++begin) out.push_back(begin);
  return out;
}

/// `rows` that have (or have not) a partner in `pairs`, whose columns `columns` are theirs.
RowsPtr select_paired(MatchKind kind, const Rows& rows, std::span<const Scalar> key, const Rows& pairs,
                      std::span<const std::size_t> columns) {
  std::vector<Scalar> whole(key.begin(), key.end());
  for (Scalar& part : null_safe_key(rows.types)) whole.push_back(std::move(part));
  const RowsPtr partners = reduce(*project(pairs, columns), all_columns(rows.types), {}, rows.types);
  return select_left(kind, {rows, whole}, {*partners, whole});
}

}  // namespace

Result<RowsPtr> join(std::span<const RowsPtr> inputs, std::span<const std::vector<Scalar>> equivalences,
                     const Budget& budget) {
  return JoinRun(inputs, equivalences, budget).run();
}

Result<RowsPtr> match(MatchKind kind, const RowsPtr& left_input, const RowsPtr& right_input,
                      std::span<const Scalar> on, const Budget& budget) {
  const std::size_t split = left_input->types.size();
  const std::vector<Types> parts{left_input->types, right_input->types};
  const Types types = concatenated(parts);
  const MatchSplit keys = split_match(kind, on, split, types);
  const RowsPtr left = keys.left_filter.empty() ? left_input : filter(*left_input, conjuncts(keys.left_filter), {});
  const RowsPtr right = keys.right_filter.empty() ? right_input : filter(*right_input, conjuncts(keys.right_filter), {});
  const std::vector<Scalar>& left_key = keys.left_key;
  const std::vector<Scalar>& right_key = keys.right_key;
  std::vector<std::vector<Scalar>> equivalences;
  const std::vector<std::size_t> shift = columns_between(split, types.size());
  for (std::size_t k = 0; k < left_key.size(); ++k) {
    equivalences.push_back({left_key[k], right_key[k].with_columns(shift)});
  }
  const bool one_sided = kind == MatchKind::kSemi || kind == MatchKind::kAnti;
  if (keys.residual.empty()) {
    if (!one_sided) return outer(kind, {*left, left_key}, {*right, right_key}, budget);
    return select_left(kind, {*left, left_key}, {*right, right_key});
  }
  const std::vector<RowsPtr> inputs{left, right};
  const RowsPtr pairs = filter(*FRESHET_TRY(join(inputs, equivalences, budget)), conjuncts(keys.residual), {});
  const auto left_columns = columns_between(0, split);
  if (one_sided) return select_paired(kind, *left, left_key, *pairs, left_columns);
  Collector out(types);
  out.add_all(*pairs);
  out.add_all(*pad(*select_paired(MatchKind::kAnti, *left, left_key, *pairs, left_columns), right->types, true));
  if (kind == MatchKind::kFull) {
    const auto right_columns = columns_between(split, types.size());
    const RowsPtr unmatched = select_paired(MatchKind::kAnti, *right, right_key, *pairs, right_columns);
    out.add_all(*pad(*unmatched, left->types, false));
  }
  return out.finish();
}

}  // namespace freshet::expr::naive
