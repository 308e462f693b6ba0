// SPDX-License-Identifier: Apache-2.0
#include <freshet/expr/eval.h>

#include <algorithm>
#include <numeric>

#include "evaluator.h"
#include "value_size.h"

namespace freshet::expr {
namespace {

using repr::ColumnPtr;
using repr::SqlType;

// Where each row of a result comes from: one of several columns, and a place in it.
struct Choice {
  std::uint32_t source = 0;
  std::uint32_t place = 0;
};

template <typename Vector>
Vector pick_values(std::span<const ColumnPtr> columns, std::span<const Choice> choices) {
  Vector out;
  if constexpr (std::is_same_v<Vector, repr::BytesVector>) {
    for (const Choice& c : choices) out.push_back(columns[c.source]->values<Vector>()[c.place]);
  } else {
    std::vector<const Vector*> from;
    for (const ColumnPtr& column : columns) from.push_back(&column->values<Vector>());
    out.resize(choices.size());
    for (std::size_t i = 0; i < choices.size(); ++i) {
      out[i] = (*from[choices[i].source])[choices[i].place];
    }
  }
  return out;
}

ColumnPtr pick(std::span<const ColumnPtr> columns, std::span<const Choice> choices) {
  std::vector<std::uint8_t> validity;
  const auto has_nulls = [](const ColumnPtr& c) { return c->has_nulls(); };
  if (std::any_of(columns.begin(), columns.end(), has_nulls)) {
    validity.resize(choices.size());
    for (std::size_t i = 0; i < choices.size(); ++i) {
      validity[i] = columns[choices[i].source]->is_null(choices[i].place) ? 0 : 1;
    }
  }
  repr::ColumnValues values = std::visit(
      [&](const auto& first) -> repr::ColumnValues {
        return pick_values<std::decay_t<decltype(first)>>(columns, choices);
      },
      columns[0]->all_values());
  return std::make_shared<const repr::Column>(std::move(values), std::move(validity));
}

// Text may be chosen many times over.
bool fits_column(std::span<const ColumnPtr> columns, std::span<const Choice> choices) {
  if (columns[0]->physical() != repr::PhysicalType::kBytes) return true;
  std::size_t bytes = 0;
  for (const Choice& c : choices) bytes += columns[c.source]->values<repr::BytesVector>()[c.place].size();
  return bytes <= kMostColumnBytes;
}

ColumnPtr bool_column(std::vector<std::uint8_t> values, std::vector<std::uint8_t> validity = {}) {
  return std::make_shared<const repr::Column>(std::move(values), std::move(validity));
}

class Evaluation {
 public:
  Evaluation(std::span<const Source> sources, std::size_t rows) : sources_(sources), rows_(rows) {}

  Operand run(const Scalar& scalar) const {
    return std::visit([&](const auto& node) { return run_node(scalar, node); }, scalar.node());
  }

 private:
  Operand run_node(const Scalar&, const Scalar::Column& node) const {
    const Source& source = sources_[node.index];
    FRESHET_ASSERT(source.column != nullptr, node.index);
    Operand out{.column = source.column};
    if (source.errors != nullptr) out.errors = *source.errors;
    return out;
  }

  Operand run_node(const Scalar& scalar, const Scalar::Literal& node) const {
    return {.column = repr::constant_column(node.value, scalar.type().type, 1), .constant = true};
  }

  Operand run_node(const Scalar& scalar, const Scalar::Failure& node) const { return failure(scalar, node.error); }
  static Operand failure(const Scalar& scalar, const Error& error) {
    Operand out{.column = repr::constant_column(repr::Datum(), scalar.type().type, 1),
                .constant = true};
    out.errors.add(0, error);
    return out;
  }

  Operand run_node(const Scalar& scalar, const Scalar::Call& node) const {
    std::vector<ColumnPtr> columns;
    std::vector<SqlType> types;
    std::vector<Operand> operands;
    bool constant = true;
    bool always_null = false;
    bool failed = false;
    for (const Scalar& argument : node.arguments) {
      operands.push_back(run(argument));
      Operand& operand = operands.back();
      types.push_back(argument.type().type);
      constant = constant && operand.constant;
      failed = failed || !operand.errors.empty();
      always_null = always_null || (operand.constant && operand.column->is_null(0));
      columns.push_back(operand.column);
    }
    if (node.function->strict && always_null && !failed) {
      return {.column = repr::constant_column(repr::Datum(), scalar.type().type, 1), .constant = true};
    }
    Operand out{.column = nullptr, .constant = constant};
    const std::size_t rows = constant ? 1 : rows_;
    if (failed) {
      for (Operand& operand : operands) merge_errors(out.errors, operand, rows);
    }
    KernelCall call{.arguments = columns,
                    .types = types,
                    .result_type = scalar.type().type,
                    .rows = rows,
                    .errors = out.errors,
                    .kernel = node.function->kernel};
    out.column = node.function->kernel->evaluate(call);
    FRESHET_DASSERT(out.column->size() == rows, node.function->signature, out.column->size(), rows);
    return out;
  }

  static void merge_errors(RowErrors& into, const Operand& from, std::size_t rows) {
    if (from.errors.empty()) return;
    if (!from.constant || rows == 1) {
      into.merge(from.errors);
      return;
    }
    RowErrors all;
    const Error& error = from.errors.entries.front().error;
    for (std::size_t row = 0; row < rows; ++row) {
      all.entries.push_back({static_cast<std::uint32_t>(row), error});
    }
    into.merge(all);
  }

  Operand run_node(const Scalar&, const Scalar::And& node) const {
    return connect(node.arguments, 0);
  }
  Operand run_node(const Scalar&, const Scalar::Or& node) const {
    return connect(node.arguments, 1);
  }

  // AND (`decider` 0) and OR (1): the deciding value wins over errors, errors over NULL. An argument is not
  // evaluated for rows that are decided when that saves work or errors.
  Operand connect(std::span<const Scalar> arguments, std::uint8_t decider) const {
    std::vector<std::uint8_t> values(rows_, decider ^ 1);
    std::vector<std::uint8_t> validity(rows_, 1);
    RowErrors errors;
    std::vector<std::uint32_t> open;  // the undecided rows; only kept when `partial`
    bool partial = false;
    for (const Scalar& argument : arguments) {
      if (partial) {
        std::erase_if(open, [&](std::uint32_t row) { return values[row] == decider; });
      } else {
        const auto decided = static_cast<std::size_t>(std::count(values.begin(), values.end(), decider));
        if (decided * 2 > rows_ || (decided > 0 && argument.can_fail())) {
          partial = true;
          for (std::uint32_t row = 0; row < rows_; ++row) {
            if (values[row] != decider) open.push_back(row);
          }
        }
      }
      if (partial && open.empty()) break;
      const Operand operand = partial ? run_some(argument, open) : run(argument);
      const auto& truths = operand.column->values<std::vector<std::uint8_t>>();
      const std::size_t count = partial ? open.size() : rows_;
      RowErrors found;
      const bool clean = operand.errors.empty() && !operand.column->has_nulls() && !operand.constant;
      if (clean && !partial) {
        if (decider == 0) {
          for (std::size_t row = 0; row < count; ++row) values[row] &= truths[row];
        } else {
          for (std::size_t row = 0; row < count; ++row) values[row] |= truths[row];
        }
        continue;
      }
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t row = partial ? open[i] : static_cast<std::uint32_t>(i);
        if (const Error* error = operand.errors.empty() ? nullptr : operand.error(i)) {
          found.entries.push_back({row, *error});
        } else if (operand.is_null(i)) {
          validity[row] = 0;
        } else if (truths[operand.at(i)] == decider) {
          values[row] = decider;
        }
      }
      errors.merge(found);
    }
    return settle(std::move(values), std::move(validity), std::move(errors), decider);
  }

  static Operand settle(std::vector<std::uint8_t> values, std::vector<std::uint8_t> validity,
                        RowErrors errors, std::uint8_t decider) {
    std::erase_if(errors.entries, [&](const RowErrors::Entry& e) { return values[e.row] == decider; });
    bool any_null = false;
    for (std::size_t row = 0; row < values.size(); ++row) {
      if (values[row] == decider) validity[row] = 1;
      any_null = any_null || validity[row] == 0;
    }
    if (!any_null) validity.clear();
    return {.column = bool_column(std::move(values), std::move(validity)), .errors = std::move(errors)};
  }

  // `scalar` for the named rows only.
  Operand run_some(const Scalar& scalar, std::span<const std::uint32_t> rows) const {
    std::vector<Source> some(sources_.size());
    std::vector<RowErrors> errors(sources_.size());
    for (const std::size_t index : scalar.columns()) {
      some[index].column = repr::gather(*sources_[index].column, rows);
      if (sources_[index].errors != nullptr && !sources_[index].errors->empty()) {
        errors[index] = gather_errors(*sources_[index].errors, rows);
        some[index].errors = &errors[index];
      }
    }
    return Evaluation(some, rows.size()).run(scalar);
  }

  // Branches of CASE and COALESCE: rows, and the operand that has a value for each of them.
  struct Branch {
    std::vector<std::uint32_t> rows;
    Operand operand;
  };

  Branch branch(const Scalar& scalar, std::vector<std::uint32_t> rows) const {
    Operand operand = rows.size() == rows_ ? run(scalar) : run_some(scalar, rows);
    return {std::move(rows), std::move(operand)};
  }

  Operand assemble(std::span<const Branch> branches, RowErrors errors, const SqlType& type) const {
    std::vector<Choice> choices(rows_);
    std::vector<ColumnPtr> columns;
    for (std::size_t b = 0; b < branches.size(); ++b) {
      const Branch& from = branches[b];
      if (from.rows.empty()) continue;
      const auto source = static_cast<std::uint32_t>(columns.size());
      columns.push_back(from.operand.column);
      RowErrors found;
      for (std::size_t i = 0; i < from.rows.size(); ++i) {
        choices[from.rows[i]] = {source, static_cast<std::uint32_t>(from.operand.at(i))};
        if (from.operand.errors.empty()) continue;
        if (const Error* error = from.operand.error(i)) found.entries.push_back({from.rows[i], *error});
      }
      errors.merge(found);
    }
    if (columns.empty()) columns.push_back(repr::constant_column(repr::Datum(), type, 1));
    if (!fits_column(columns, choices)) {
      RowErrors all;
      for (std::uint32_t row = 0; row < rows_; ++row) all.entries.push_back({row, too_large().error});
      errors.merge(all);
      columns.assign(1, repr::constant_column(repr::Datum(), type, 1));
      choices.assign(rows_, {});
    }
    return {.column = pick(columns, choices), .errors = std::move(errors)};
  }

  Operand run_node(const Scalar& scalar, const Scalar::If& node) const {
    Operand condition = run(node.arguments[0]);
    const auto& truths = condition.column->values<std::vector<std::uint8_t>>();
    if (condition.constant && condition.errors.empty()) {
      const bool yes = truths[0] != 0 && !condition.column->is_null(0);
      return run(node.arguments[yes ? 1 : 2]);
    }
    condition = spread(std::move(condition), rows_);
    std::vector<std::uint32_t> then;
    std::vector<std::uint32_t> otherwise;
    const auto& each = condition.column->values<std::vector<std::uint8_t>>();
    for (std::uint32_t row = 0; row < rows_; ++row) {
      if (!condition.errors.empty() && condition.error(row) != nullptr) continue;
      const bool yes = each[row] != 0 && !condition.column->is_null(row);
      (yes ? then : otherwise).push_back(row);
    }
    std::vector<Branch> branches;
    if (!then.empty()) branches.push_back(branch(node.arguments[1], std::move(then)));
    if (!otherwise.empty()) branches.push_back(branch(node.arguments[2], std::move(otherwise)));
    return assemble(branches, std::move(condition.errors), scalar.type().type);
  }

  Operand run_node(const Scalar& scalar, const Scalar::Coalesce& node) const {
    std::vector<std::uint32_t> open(rows_);
    std::iota(open.begin(), open.end(), 0U);
    std::vector<Branch> branches;
    for (const Scalar& argument : node.arguments) {
      Branch next = branch(argument, std::move(open));
      open.clear();
      const bool whole = branches.empty();
      if (whole && next.operand.errors.empty() && !next.operand.column->has_nulls()) {
        return std::move(next.operand);
      }
      for (std::size_t i = 0; i < next.rows.size(); ++i) {
        if (next.operand.is_null(i) &&
            (next.operand.errors.empty() || next.operand.error(i) == nullptr)) {
          open.push_back(next.rows[i]);
        }
      }
      branches.push_back(std::move(next));
      if (open.empty()) break;
    }
    return assemble(branches, {}, scalar.type().type);
  }

  Operand run_node(const Scalar&, const Scalar::IsNull& node) const {
    Operand operand = run(node.arguments[0]);
    std::vector<std::uint8_t> out(operand.column->size());
    if (operand.column->has_nulls()) {
      const auto validity = operand.column->validity();
      for (std::size_t row = 0; row < out.size(); ++row) out[row] = validity[row] ^ 1;
    }
    operand.column = bool_column(std::move(out));
    return operand;
  }

  Operand run_node(const Scalar& scalar, const Scalar::Parameter&) const { return unbound(scalar); }
  Operand run_node(const Scalar& scalar, const Scalar::MzNow&) const { return unbound(scalar); }
  Operand run_node(const Scalar& scalar, const Scalar::SessionValue&) const { return unbound(scalar); }
  static Operand unbound(const Scalar& scalar) {
    return failure(scalar, base::sql_error(base::sqlstate::kInternalError, to_string(scalar) + " has no value here"));
  }

  std::span<const Source> sources_;
  std::size_t rows_;
};

}  // namespace

Operand evaluate_operand(const Scalar& scalar, std::span<const Source> sources, std::size_t rows) {
  if (rows == 0) {
    return {.column = repr::ColumnBuilder(scalar.type().type.physical()).finish()};
  }
  return Evaluation(sources, rows).run(scalar);
}

Operand spread(Operand operand, std::size_t rows) {
  if (!operand.constant || rows == 1) {
    operand.constant = false;
    return operand;
  }
  if (operand.column->physical() == repr::PhysicalType::kBytes) {
    const std::size_t bytes = operand.column->values<repr::BytesVector>().byte_size();
    if (operand.errors.empty() && bytes > kMostColumnBytes / rows) {
      operand.errors.add(0, too_large().error);
      operand.column = repr::constant_column(repr::Datum(), repr::SqlType(repr::TypeKind::kText), 1);
    }
  }
  const std::vector<std::uint32_t> zeros(rows, 0);
  operand.column = repr::gather(*operand.column, zeros);
  operand.constant = false;
  if (!operand.errors.empty()) {
    const Error error = operand.errors.entries.front().error;
    operand.errors.entries.clear();
    for (std::uint32_t row = 0; row < rows; ++row) operand.errors.entries.push_back({row, error});
  }
  return operand;
}

RowErrors gather_errors(const RowErrors& errors, std::span<const std::uint32_t> rows) {
  RowErrors out;
  auto entry = errors.entries.begin();
  for (std::size_t i = 0; i < rows.size() && entry != errors.entries.end(); ++i) {
    while (entry != errors.entries.end() && entry->row < rows[i]) ++entry;
    if (entry != errors.entries.end() && entry->row == rows[i]) {
      out.entries.push_back({static_cast<std::uint32_t>(i), entry->error});
    }
  }
  return out;
}

bool may_split(const repr::SqlType& result) { return result.physical() != repr::PhysicalType::kBytes; }

ColumnPtr joined(const ColumnPtr& first, const ColumnPtr& second) {
  const std::size_t split = first->size();
  std::vector<Choice> choices(split + second->size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::size_t place = i < split ? i : i - split;
    choices[i] = {i < split ? 0U : 1U, static_cast<std::uint32_t>(place)};
  }
  const std::vector<ColumnPtr> both{first, second};
  return pick(both, choices);
}

namespace {

// So often are rows that are too large together evaluated in halves.
constexpr std::size_t kHalvings = 4;

Evaluated evaluate_rows(const Scalar& scalar, std::span<const ColumnPtr> columns, std::size_t rows,
                        std::size_t halvings) {
  std::vector<Source> sources(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) sources[i].column = columns[i];
  Operand whole = spread(evaluate_operand(scalar, sources, rows), rows);
  const auto too_large = [](const RowErrors::Entry& e) { return is_too_large(e.error); };
  if (halvings == 0 || rows < 2 || std::none_of(whole.errors.entries.begin(), whole.errors.entries.end(), too_large)) {
    return {.column = std::move(whole.column), .errors = std::move(whole.errors)};
  }
  std::vector<std::uint32_t> each(rows);
  std::iota(each.begin(), each.end(), 0U);
  const auto part = [&](std::span<const std::uint32_t> wanted) {
    std::vector<ColumnPtr> some(columns.size());
    for (const std::size_t index : scalar.columns()) some[index] = repr::gather(*columns[index], wanted);
    return evaluate_rows(scalar, some, wanted.size(), halvings - 1);
  };
  Evaluated first = part(std::span(each).first(rows / 2));
  const Evaluated second = part(std::span(each).subspan(rows / 2));
  for (const RowErrors::Entry& entry : second.errors.entries) {
    first.errors.entries.push_back({static_cast<std::uint32_t>(entry.row + rows / 2), entry.error});
  }
  return {.column = joined(first.column, second.column), .errors = std::move(first.errors)};
}

}  // namespace

Evaluated evaluate(const Scalar& scalar, std::span<const repr::ColumnPtr> columns, std::size_t rows, bool in_parts) {
  return evaluate_rows(scalar, columns, rows, in_parts && may_split(scalar.type().type) ? kHalvings : 0);
}

Result<repr::Datum> evaluate_row(const Scalar& scalar, const repr::DatumRow& row,
                                 std::span<const repr::ColumnType> types) {
  std::vector<Source> sources(row.size());
  for (const std::size_t index : scalar.columns()) {
    FRESHET_ASSERT(index < row.size() && index < types.size(), index, row.size());
    sources[index].column = repr::constant_column(row[index], types[index].type, 1);
  }
  const Operand out = evaluate_operand(scalar, sources, 1);
  if (const Error* error = out.error(0)) return fail(*error);
  return out.column->datum(0, scalar.type().type);
}

}  // namespace freshet::expr
