// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/naive.h>

#include <algorithm>
#include <iterator>

#include <freshet/base/sqlstate.h>
#include <freshet/expr/table_rows.h>
#include <freshet/repr/shown_time.h>

#include "naive_rows.h"
#include "value_size.h"

namespace freshet::expr {

namespace naive {
namespace {

Scalar at_time(const Scalar& scalar, repr::SqlTime time) {
  if (!scalar.contains_mz_now()) return scalar;
  const auto millis = repr::shown_time(time);
  const Scalar now = Scalar::literal(Datum(millis), repr::TypeKind::kNumeric);
  return scalar.transform([&](Scalar s) { return s.as<Scalar::MzNow>() != nullptr ? now : s; });
}

std::size_t byte_size(const repr::Column& column) {
  if (column.physical() != repr::PhysicalType::kBytes) return 0;
  return column.values<repr::BytesVector>().byte_size();
}

/// Table functions are asked for so many rows at a time, so that a limit stops them.
constexpr std::size_t kTableFunctionRows = 4096;

class Interpreter {
 public:
  Interpreter(const std::map<GlobalId, Multiset>& inputs, const NaiveOptions& options)
      : inputs_(inputs), options_(options), budget_{options.max_rows} {}

  Result<RowsPtr> evaluate(const Relation& relation) {
    RowsPtr rows = FRESHET_TRY(
        std::visit([&](const auto& n) { return node(n, relation); }, relation.node()));
    if (auto fits = budget_.check(rows->oks.size() + rows->errs.size()); !fits) return fail(fits.error());
    return rows;
  }

 private:
  Result<RowsPtr> node(const Relation::Constant& n, const Relation& relation) {
    Collector out(relation.type().columns);
    if (n.error) out.add_error(ErrorRow::unknown(relation.arity(), *n.error));
    for (const auto& [row, diff] : n.rows) out.add(row, diff);
    return out.finish();
  }

  Result<RowsPtr> node(const Relation::Get& n, const Relation& relation) {
    if (const auto* local = std::get_if<LocalId>(&n.id)) {
      const auto found = locals_.find(*local);
      FRESHET_ASSERT(found != locals_.end(), local->number);
      return found->second;
    }
    const GlobalId id = *std::get_if<GlobalId>(&n.id);
    if (const auto cached = globals_.find(id); cached != globals_.end()) return cached->second;
    const auto input = inputs_.find(id);
    FRESHET_ASSERT(input != inputs_.end(), id);
    const Types& types = relation.type().columns;
    const repr::RowCodec codec = codec_of(types);
    Rows rows{types};
    for (const auto& [bytes, diff] : input->second.oks) {
      if (diff != 0) rows.oks[bytes] = {FRESHET_TRY(codec.decode_row(bytes)), diff};
    }
    for (const auto& [bytes, diff] : input->second.errs) {
      if (diff != 0) rows.errs[bytes] = FRESHET_TRY(decode_error_row(bytes, types));
    }
    return globals_[id] = std::make_shared<const Rows>(std::move(rows));
  }

  Result<RowsPtr> node(const Relation::Let& n, const Relation&) {
    locals_[n.id] = FRESHET_TRY(evaluate(n.parts[0]));
    return evaluate(n.parts[1]);
  }

  Result<RowsPtr> node(const Relation::LetRec& n, const Relation&) {
    for (std::size_t i = 0; i < n.ids.size(); ++i) {
      locals_[n.ids[i]] = Collector(n.parts[i].type().columns).finish();
    }
    loops_.emplace_back();
    const auto left = [&](bool body) -> Result<RowsPtr> {
      loops_.pop_back();
      return body ? evaluate(n.parts.back()) : at_limit(n);
    };
    for (std::uint64_t iteration = 0;; ++iteration) {
      loops_.back().iteration = iteration;
      loops_.back().next = 0;
      if (!n.limit && iteration >= options_.max_iterations) {
        return fail(sqlstate::kProgramLimitExceeded,
                    "recursion has not ended after " + std::to_string(iteration) + " iterations");
      }
      const auto before = locals_;
      bool changed = false;
      for (std::size_t i = 0; i < n.ids.size(); ++i) {
        RowsPtr value = FRESHET_TRY(evaluate(n.parts[i]));
        changed = changed || !same(*value, *locals_.at(n.ids[i]));
        locals_[n.ids[i]] = std::move(value);
      }
      if (!changed) break;
      if (!n.limit || iteration < *n.limit) continue;
      // This was iteration limit + 1, and it changed something.
      if (!n.return_at_limit) return left(false);
      for (const LocalId id : n.ids) locals_[id] = before.at(id);
      break;
    }
    return left(true);
  }

  static Result<RowsPtr> at_limit(const Relation::LetRec& n) {
    Collector out(n.parts.back().type().columns);
    out.add_error(ErrorRow::unknown(out.types().size(), recursion_limit_error(*n.limit)));
    return out.finish();
  }

  static bool same(const Rows& a, const Rows& b) {
    const auto equal = [](const auto& x, const auto& y, const auto& eq) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end(), eq);
    };
    return equal(a.oks, b.oks, [](const auto& x, const auto& y) {
      return x.first == y.first && x.second.diff == y.second.diff;
    }) && equal(a.errs, b.errs, [](const auto& x, const auto& y) { return x.first == y.first; });
  }

  Result<RowsPtr> node(const Relation::Project& n, const Relation&) {
    return project(*FRESHET_TRY(evaluate(n.input[0])), n.columns);
  }

  Result<RowsPtr> node(const Relation::Map& n, const Relation& relation) {
    const RowsPtr input = FRESHET_TRY(evaluate(n.input[0]));
    const std::size_t before = input->types.size();
    Mfp step = Mfp::identity(before);
    for (const Scalar& expression : n.expressions) step.expressions.push_back(at_time(expression, options_.time));
    for (std::size_t i = 0; i < n.expressions.size(); ++i) step.projection.push_back(before + i);
    Collector out(relation.type().columns);
    for (const auto& [bytes, error] : input->errs) {
      if (auto row = apply_mfp(step, error, input->types)) out.add_error(std::move(*row));
    }
    Batch batch(*input);
    std::vector<Evaluated> values;
    RowErrors failed;
    for (const Scalar& expression : step.expressions) {
      values.push_back(batch.evaluate(expression));
      if (byte_size(*values.back().column) > options_.max_bytes) return fail(too_large().error);
      failed.merge(values.back().errors);
      batch.columns().push_back(values.back().column);
    }
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
      if (const Error* error = failed.find(i)) {
        fail_row(step, batch[i].row, *error, input->types, out);
        continue;
      }
      DatumRow row = batch[i].row;
      for (std::size_t e = 0; e < values.size(); ++e) {
        row.push_back(values[e].column->datum(i, step.expressions[e].type().type));
      }
      out.add(std::move(row), batch[i].diff);
    }
    return out.finish();
  }

  // What vectorised evaluation says of an expression that uses a failed one means nothing: each is evaluated
  // anew, written out in full. Of what only a chunk's size made fail no value is known.
  static void fail_row(const Mfp& step, const DatumRow& row, const Error& found, const Types& types,
                       Collector& out) {
    std::optional<Error> least;
    for (const Scalar& expression : step.written_out()) {
      auto value = evaluate_row(expression, row, types);
      if (!value && (!least || error_less(value.error(), *least))) least = value.error();
    }
    if (!least) return out.add_error(ErrorRow::unknown(step.projection.size(), found));
    out.add_error(*apply_mfp(step, ErrorRow::of(row, *least), types));
  }

  Result<RowsPtr> node(const Relation::Filter& n, const Relation&) {
    const RowsPtr input = FRESHET_TRY(evaluate(n.input[0]));
    std::vector<Scalar> plain;
    std::vector<Scalar> temporal;
    for (const Scalar& conjunct : conjuncts(n.predicates)) {
      (conjunct.contains_mz_now() ? temporal : plain).push_back(at_time(conjunct, options_.time));
    }
    return filter(*input, plain, temporal);
  }

  Result<RowsPtr> node(const Relation::FlatMap& n, const Relation& relation) {
    const RowsPtr input = FRESHET_TRY(evaluate(n.input[0]));
    Collector out(relation.type().columns);
    const auto fail_with = [&](PartialRow known, const Error& error) {
      known.resize(relation.arity());
      out.add_error({std::move(known), error});
    };
    for (const auto& [bytes, error] : input->errs) fail_with(error.known, error.error);
    const Batch batch(*input);
    std::vector<Evaluated> arguments;
    std::vector<repr::SqlType> types;
    RowErrors failed;
    for (const Scalar& argument : n.arguments) {
      arguments.push_back(batch.evaluate(argument));
      failed.merge(arguments.back().errors);
      types.push_back(argument.type().type);
    }
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
      const PartialRow known(batch[i].row.begin(), batch[i].row.end());
      if (const Error* error = failed.find(i)) {
        fail_with(known, *error);
        continue;
      }
      DatumRow values;
      bool null = false;
      for (std::size_t a = 0; a < arguments.size(); ++a) {
        values.push_back(arguments[a].column->datum(i, types[a]));
        null = null || values.back().is_null();
      }
      if (null && n.function->strict) continue;
      std::int64_t ordinal = 0;
      for (TableRowsCursor at; !at.done;) {
        std::vector<DatumRow> produced;
        const auto applied = next_rows(*n.function, values, types, at, kTableFunctionRows, produced);
        for (DatumRow& more : produced) {
          DatumRow row = concatenated(batch[i].row, more);
          if (n.with_ordinality) row.emplace_back(++ordinal);
          out.add(std::move(row), batch[i].diff);
        }
        if (!applied) {
          fail_with(known, applied.error());
          break;
        }
        if (auto fits = budget_.check(out.size()); !fits) return fail(fits.error());
      }
    }
    return out.finish();
  }

  Result<RowsPtr> node(const Relation::Join& n, const Relation&) {
    std::vector<RowsPtr> inputs;
    for (const Relation& input : n.inputs) inputs.push_back(FRESHET_TRY(evaluate(input)));
    return join(inputs, n.equivalences, budget_);
  }

  Result<RowsPtr> node(const Relation::Match& n, const Relation&) {
    // Null-safe keys depend on nullability: take it from where the lowering takes it.
    const RowsPtr left = with_types(FRESHET_TRY(evaluate(n.inputs[0])), n.inputs[0].type().columns);
    const RowsPtr right = with_types(FRESHET_TRY(evaluate(n.inputs[1])), n.inputs[1].type().columns);
    return match(n.kind, left, right, n.on, budget_);
  }

  static RowsPtr with_types(const RowsPtr& rows, const Types& types) {
    if (rows->types == types) return rows;
    return std::make_shared<const Rows>(Rows{types, rows->oks, rows->errs});
  }

  Result<RowsPtr> node(const Relation::Reduce& n, const Relation& relation) {
    const RowsPtr input = FRESHET_TRY(evaluate(n.input[0]));
    FirstForms* forms = nullptr;
    if (!loops_.empty() && n.aggregates.empty()) {
      Loop& loop = loops_.back();
      if (loop.next == loop.forms.size()) loop.forms.emplace_back();
      forms = &loop.forms[loop.next++];
      forms->iteration = loop.iteration;
    }
    return reduce(*input, n.group_key, n.aggregates, relation.type().columns, forms);
  }

  Result<RowsPtr> node(const Relation::TopK& n, const Relation&) {
    return top_k(*FRESHET_TRY(evaluate(n.input[0])), n);
  }

  Result<RowsPtr> node(const Relation::Negate& n, const Relation&) {
    const RowsPtr input = FRESHET_TRY(evaluate(n.input[0]));
    Rows rows = *input;
    for (auto& [bytes, counted] : rows.oks) counted.diff = -counted.diff;
    return std::make_shared<const Rows>(std::move(rows));
  }

  Result<RowsPtr> node(const Relation::Threshold& n, const Relation&) {
    const RowsPtr input = FRESHET_TRY(evaluate(n.input[0]));
    Rows rows = *input;
    const repr::RowCodec codec = codec_of(rows.types);
    // Equal rows of different looks stand next to each other: keys come before forms.
    for (auto begin = rows.oks.begin(); begin != rows.oks.end();) {
      const std::string_view key = std::string_view(begin->first).substr(0, codec.key_size(begin->first));
      auto end = begin;
      Diff left = 0;
      for (; end != rows.oks.end() && end->first.starts_with(key); ++end) left += end->second.diff;
      while (begin != end) {
        const Diff shown = std::clamp<Diff>(begin->second.diff, 0, std::max<Diff>(left, 0));
        left -= shown;
        begin->second.diff = shown;
        begin = shown == 0 ? rows.oks.erase(begin) : std::next(begin);
      }
    }
    return std::make_shared<const Rows>(std::move(rows));
  }

  Result<RowsPtr> node(const Relation::Union& n, const Relation& relation) {
    Collector out(relation.type().columns);
    for (const Relation& input : n.inputs) out.add_all(*FRESHET_TRY(evaluate(input)));
    return out.finish();
  }

  /// A recursion under way. Its iterations evaluate the same nodes in the same order, which numbers the distincts.
  struct Loop {
    std::uint64_t iteration = 0;
    std::size_t next = 0;
    std::vector<FirstForms> forms{};
  };

  const std::map<GlobalId, Multiset>& inputs_;
  const NaiveOptions& options_;
  std::vector<Loop> loops_;
  Budget budget_;
  std::map<GlobalId, RowsPtr> globals_;
  std::map<LocalId, RowsPtr> locals_;
};

}  // namespace
}  // namespace naive

Error recursion_limit_error(std::uint64_t limit) {
  return sql_error(sqlstate::kProgramLimitExceeded,
                   "recursion has not ended after " + std::to_string(limit) + " iterations");
}

Result<Multiset> evaluate_naive(const Relation& relation, const std::map<GlobalId, Multiset>& inputs,
                                const NaiveOptions& options) {
  const naive::RowsPtr rows = FRESHET_TRY(naive::Interpreter(inputs, options).evaluate(relation));
  Multiset out;
  for (const auto& [bytes, counted] : rows->oks) out.oks[bytes] = counted.diff;
  for (const auto& [bytes, error] : rows->errs) out.errs[bytes] = 1;
  return out;
}

}  // namespace freshet::expr
