// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "naive_rows.h"

namespace freshet::expr::naive {
namespace {

using KeyBytes = std::string;

std::string key_bytes(const DatumRow& row, std::span<const repr::SqlType> types) {
  std::string out;
  for (std::size_t i = 0; i < row.size(); ++i) out += repr::encode_key(row[i], types[i]);
  return out;
}

std::vector<repr::SqlType> sql_types(std::span<const Scalar> scalars) {
  std::vector<repr::SqlType> out;
  for (const Scalar& scalar : scalars) out.push_back(scalar.type().type);
  return out;
}

/// An aggregate as columns over the input: whether the row counts, then arguments, then order.
struct AggregateColumns {
  std::optional<Scalar> filter;
  std::vector<Scalar> values;
};

AggregateColumns columns_of(const Aggregate& aggregate) {
  AggregateColumns out{aggregate.filter, {}};
  const auto guarded = [&](const Scalar& value) {
    return aggregate.filter
               ? Scalar::if_then(*aggregate.filter, value, Scalar::null(value.type().type))
               : value;
  };
  for (const Scalar& argument : aggregate.arguments) out.values.push_back(guarded(argument));
  for (const auto& by : aggregate.order_by) out.values.push_back(guarded(by.expression));
  return out;
}

struct Group {
  Diff count = 0;
  std::map<std::string, CountedRow> keys;       // by canonical bytes
  std::vector<std::vector<CountedRow>> values;  // per aggregate, only rows that count
};

class ReduceRun {
 public:
  ReduceRun(const Rows& input, std::span<const Scalar> group_key, std::span<const Aggregate> aggregates,
            Types types, FirstForms* forms)
      : input_(input), group_key_(group_key), aggregates_(aggregates), forms_(forms),
        key_types_(sql_types(group_key)), key_codec_(key_types_), batch_(input), out_(std::move(types)) {}

  RowsPtr run() {
    const std::size_t arity = out_.types().size();
    for (const auto& [bytes, error] : input_.errs) {
      out_.add_error(group_error(partial_key(error.known), arity, error.error));
    }
    evaluate();
    for (std::uint32_t i = 0; i < batch_.size(); ++i) {
      if (!errors_.contains(i)) {
        count(i);
        continue;
      }
      const ErrorRow row = ErrorRow::of(batch_[i].row, errors_.at(i));
      out_.add_error(group_error(partial_key(row.known), arity, row.error));
    }
    if (forms_ != nullptr) remember_forms();
    for (auto& [key, group] : groups_) emit(key, group);
    return out_.finish();
  }

 private:
  PartialRow partial_key(const PartialRow& row) const {
    PartialRow key;
    for (const Scalar& expression : group_key_) {
      PartialValue value = evaluate_partial(expression, row, input_.types);
      key.push_back(value.is_value() ? std::optional(std::move(value.value)) : std::nullopt);
    }
    return key;
  }

  Evaluated evaluate(const Scalar& scalar) {
    Evaluated out = batch_.evaluate(scalar);
    for (const auto& entry : out.errors.entries) {
      const auto [place, is_new] = errors_.try_emplace(entry.row, entry.error);
      if (!is_new && error_less(entry.error, place->second)) place->second = entry.error;
    }
    return out;
  }

  void evaluate() {
    for (const Scalar& expression : group_key_) keys_.push_back(evaluate(expression));
    for (const Aggregate& aggregate : aggregates_) {
      const AggregateColumns columns = columns_of(aggregate);
      filters_.push_back(columns.filter ? std::optional(evaluate(*columns.filter)) : std::nullopt);
      values_.emplace_back();
      for (const Scalar& value : columns.values) values_.back().push_back(evaluate(value));
      value_types_.push_back(sql_types(columns.values));
    }
  }

  void count(std::uint32_t i) {
    DatumRow key;
    for (std::size_t k = 0; k < keys_.size(); ++k) key.push_back(keys_[k].column->datum(i, key_types_[k]));
    Group& group = groups_[key_bytes(key, key_types_)];
    const Diff diff = batch_[i].diff;
    group.count += diff;
    CountedRow& same = group.keys[key_codec_.encode(key)];
    same.row = std::move(key);
    same.diff += diff;
    group.values.resize(aggregates_.size());
    for (std::size_t a = 0; a < aggregates_.size(); ++a) {
      if (filters_[a]) {
        const repr::Column& filter = *filters_[a]->column;
        if (filter.is_null(i) || filter.values<std::vector<std::uint8_t>>()[i] == 0) continue;
      }
      DatumRow row;
      for (std::size_t v = 0; v < values_[a].size(); ++v) {
        row.push_back(values_[a][v].column->datum(i, value_types_[a][v]));
      }
      group.values[a].push_back({std::move(row), diff});
    }
  }

  void remember_forms() {
    std::map<std::string, Diff> counts;
    for (const auto& [key, group] : groups_) {
      for (const auto& [form, row] : group.keys) {
        const auto before = forms_->counts.find(form);
        const Diff rise = row.diff - (before == forms_->counts.end() ? 0 : before->second);
        if (rise > 0) forms_->first.try_emplace(form, forms_->iteration);
        counts.emplace(form, row.diff);
      }
    }
    // From a negative count to none it rises, too.
    for (const auto& [form, count] : forms_->counts) {
      if (count < 0 && !counts.contains(form)) forms_->first.try_emplace(form, forms_->iteration);
    }
    forms_->counts = std::move(counts);
  }

  void fail_group(const DatumRow& key, Error error) {
    out_.add_error(group_error(PartialRow(key.begin(), key.end()), out_.types().size(), std::move(error)));
  }

  void emit(const KeyBytes& bytes, const Group& group) {
    if (group.count == 0) return;
    // Key bytes alone are the key in its default form: the group has no row whose form it would show.
    if (group.count < 0) return fail_group(key_codec_.decode_row(bytes).value(), negative_multiplicity());
    DatumRow row;
    std::uint64_t first = UINT64_MAX;
    for (const auto& [form, key] : group.keys) {
      if (key.diff <= 0) continue;
      const std::uint64_t came = forms_ == nullptr ? 0 : forms_->first.at(form);
      if (came >= first) continue;
      first = came;
      row = key.row;
    }
    const DatumRow key = row;
    std::optional<Error> error;
    for (std::size_t a = 0; a < aggregates_.size(); ++a) {
      auto value = aggregate_rows(aggregates_[a], group.values[a]);
      if (value) {
        row.push_back(*std::move(value));
      } else if (!error || error_less(value.error(), *error)) {
        error = value.error();
      }
    }
    if (error) return fail_group(key, std::move(*error));
    out_.add(std::move(row), 1);
  }

  const Rows& input_;
  std::span<const Scalar> group_key_;
  std::span<const Aggregate> aggregates_;
  FirstForms* forms_;
  std::vector<repr::SqlType> key_types_;
  repr::RowCodec key_codec_;
  Batch batch_;
  Collector out_;
  std::map<std::uint32_t, Error> errors_;
  std::vector<Evaluated> keys_;
  std::vector<std::optional<Evaluated>> filters_;
  std::vector<std::vector<Evaluated>> values_;
  std::vector<std::vector<repr::SqlType>> value_types_;
  std::map<KeyBytes, Group> groups_;
};

// --- TopK -------------------------------------------------------------------------------------------------

struct Ordering {
  std::span<const ColumnOrder> order;
  const Types& types;
  bool operator()(const CountedRow* a, const CountedRow* b) const {
    for (const ColumnOrder& by : order) {
      const Datum& x = a->row[by.column];
      const Datum& y = b->row[by.column];
      if (x.is_null() && y.is_null()) continue;
      if (x.is_null() || y.is_null()) return y.is_null() == by.nulls_last;
      const auto order_of = compare(x, y, types[by.column].type);
      if (order_of != 0) return by.descending ? order_of > 0 : order_of < 0;
    }
    return false;
  }
};

/// How many rows to keep; nullopt: all.
Result<std::optional<std::uint64_t>> limit_of(const Relation::TopK& node, const DatumRow& row,
                                              const Types& types) {
  if (!node.limit) return std::optional<std::uint64_t>();
  const Datum value = FRESHET_TRY(evaluate_row(*node.limit, row, types));
  if (value.is_null()) return std::optional<std::uint64_t>();
  if (value.get<std::int64_t>() < 0) {
    return fail(sqlstate::kInvalidRowCountInLimit, "LIMIT must not be negative");
  }
  return std::optional(static_cast<std::uint64_t>(value.get<std::int64_t>()));
}

/// The error of a whole group, whose rows may look different: its columns are known in their default form.
ErrorRow error_of_group(const std::string& key, const Relation::TopK& node, const Types& types, Error error) {
  std::vector<repr::SqlType> key_types;
  for (const std::size_t column : node.group_key) key_types.push_back(types[column].type);
  const DatumRow values = repr::RowCodec(std::move(key_types)).decode_row(key).value();
  ErrorRow out = ErrorRow::unknown(types.size(), std::move(error));
  for (std::size_t i = 0; i < values.size(); ++i) out.known[node.group_key[i]] = values[i];
  return out;
}

void top_rows(const std::string& key, std::vector<const CountedRow*> rows, const Relation::TopK& node,
              const Types& types, Collector& out) {
  const auto refuse = [&](Error error) { out.add_error(error_of_group(key, node, types, std::move(error))); };
  if (std::ranges::any_of(rows, [](const CountedRow* row) { return row->diff < 0; })) {
    return refuse(negative_multiplicity());
  }
  const auto limit = limit_of(node, rows.front()->row, types);
  if (!limit) return refuse(limit.error());
  // The rows come in canonical order, which a stable sort keeps among equals.
  std::stable_sort(rows.begin(), rows.end(), Ordering{node.order, types});
  std::uint64_t skip = node.offset;
  std::uint64_t left = limit->value_or(UINT64_MAX);
  for (const CountedRow* row : rows) {
    auto count = static_cast<std::uint64_t>(row->diff);
    const std::uint64_t skipped = std::min(skip, count);
    skip -= skipped;
    count = std::min(count - skipped, left);
    left -= count;
    out.add(row->row, static_cast<Diff>(count));
  }
}

}  // namespace

RowsPtr reduce(const Rows& input, std::span<const Scalar> group_key, std::span<const Aggregate> aggregates,
               Types types, FirstForms* forms) {
  return ReduceRun(input, group_key, aggregates, std::move(types), forms).run();
}

RowsPtr top_k(const Rows& input, const Relation::TopK& node) {
  Collector out(input.types);
  for (const auto& [bytes, error] : input.errs) out.add_error(top_k_error(node.group_key, error));
  std::map<std::string, std::vector<const CountedRow*>> groups;
  for (const auto& [bytes, counted] : input.oks) {
    std::string key;
    for (const std::size_t c : node.group_key) key += repr::encode_key(counted.row[c], input.types[c].type);
    groups[key].push_back(&counted);
  }
  for (auto& [key, rows] : groups) top_rows(key, std::move(rows), node, input.types, out);
  return out.finish();
}

}  // namespace freshet::expr::naive
