// SPDX-License-Identifier: Apache-2.0
// Recursion: a nested scope in which the bindings of a LetRec feed themselves.
#include <differential/join.h>
#include <differential/reduce.h>

#include "dataflow/group_operators.h"
#include "dataflow/read_operator.h"
#include "dataflow/render.h"

namespace freshet::compute {
namespace {

Rows<LoopTime> entered(Rows<SqlTime> rows) {
  Rows<LoopTime> result;
  const std::span<const SqlTime> times = rows.chunk.times.dictionary();
  std::vector<SqlTime> indices;
  for (const SqlTime time : times) {
    indices.push_back(result.dictionary.size());
    result.dictionary.push_back({time, 0});
  }
  result.chunk = std::move(rows.chunk);
  result.chunk.times = result.chunk.times.is_single()
                           ? repr::Times(SqlTime{0})
                           : repr::Times(std::move(indices), {result.chunk.times.ids().begin(), result.chunk.times.ids().end()});
  return result;
}

Rows<SqlTime> left(Rows<LoopTime> rows) {
  Rows<SqlTime> result;
  std::vector<SqlTime> times(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) times[i] = rows.time(i).outer;
  result.chunk = std::move(rows.chunk);
  result.chunk.times = repr::Times::from_values(times);
  return result;
}

ErrorUpdates<LoopTime> entered_errors(const ErrorUpdates<SqlTime>& errors) {
  ErrorUpdates<LoopTime> result;
  for (const auto& error : errors) result.push_back({error.data, {error.time, 0}, error.diff});
  return result;
}

ErrorUpdates<SqlTime> left_errors(const ErrorUpdates<LoopTime>& errors) {
  ErrorUpdates<SqlTime> result;
  for (const auto& error : errors) result.push_back({error.data, error.time.outer, error.diff});
  return result;
}

/// What one iteration leaves is what the next one begins with. The messages moved; their rows move here.
Rows<LoopTime> again(Rows<LoopTime> rows) {
  for (LoopTime& time : rows.dictionary) ++time.inner;
  return rows;
}
ErrorUpdates<LoopTime> again_errors(ErrorUpdates<LoopTime> errors) {
  for (auto& error : errors) ++error.time.inner;
  return errors;
}

/// Rows whose iteration is below a limit.
Rows<LoopTime> below(Rows<LoopTime> rows, std::uint64_t limit) {
  std::vector<std::uint32_t> keep;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (rows.time(i).inner < limit) keep.push_back(i);
  }
  if (keep.size() == rows.size()) return rows;
  return rows.with(gather_rows(rows.chunk, keep));
}

}  // namespace

template <>
Bundle<LoopTime> Renderer<LoopTime>::enter(Bundle<SqlTime>& outer) {
  return {.types = outer.types,
          .oks = convert<Rows<LoopTime>>(parent_->stream(outer).enter(scope_), "Enter", entered),
          .errs = convert<ErrorUpdates<LoopTime>>(outer.errs.enter(scope_), "EnterErrors", entered_errors),
          .may_be_negative = outer.may_be_negative};
}

template <typename T>
RowStream<T> Renderer<T>::consolidated(const RowStream<T>& rows, const ColumnTypes& types) {
  const auto updates = rows.unary("KeyRows", timely::Pipeline{}, [types] { return KeyRows<T>(types, false); },
                                  timely::FrontierInterest::kNever);
  const ArrangedRows<T> arranged = arrange_updates(updates, "consolidate");
  // Sums of one time came together in one batch, whatever the trace does with them later.
  const auto layout = std::make_shared<const repr::RowCodec>(sql_types(types));
  return convert<Rows<T>>(arranged.stream(), "Consolidated", [layout](RowBatches<T> list) {
    repr::BytesVector keys;
    TimesBuilder<T> times;
    for (const auto& batch : list.batches) {
      differential::BatchCursor<std::string, std::string, T, Diff> cursor(*batch);
      for (; cursor.key_valid(); cursor.step_key()) {
        cursor.map_times([&](const T& time, const Diff& diff) {
          keys.push_back(cursor.key());
          times.push(time, diff);
        });
      }
    }
    return times.finish(layout->decode(keys).value());
  });
}

template <>
Bundle<LoopTime> Renderer<LoopTime>::let_rec(const Lir::LetRec&, const ColumnTypes& types) {
  // Lowering refuses it; a plan from elsewhere gets an error, not a crash.
  return constant({.rows = {}, .error = sql_error("0A000", "recursion inside recursion is not supported")}, types);
}

/// The bindings of a LetRec while its loop is described.
struct LoopParts {
  std::vector<Bundle<LoopTime>> values{};  ///< What each binding is at the end of each iteration.
  std::vector<timely::Feedback<LoopTime, Rows<LoopTime>>> oks{};
  std::vector<timely::Feedback<LoopTime, ErrorUpdates<LoopTime>>> errs{};
};

// With a limit of n iterations, iteration n + 1 is only computed when its changes are an error.
template <>
void Renderer<LoopTime>::iterate(const Lir::LetRec& node, LoopParts& parts) {
  const timely::SummaryOf<LoopTime> next{.outer = {}, .inner = {1}};
  for (std::size_t i = 0; i < node.ids.size(); ++i) {
    parts.oks.push_back(scope_.template feedback<Rows<LoopTime>>(next));
    parts.errs.push_back(scope_.template feedback<ErrorUpdates<LoopTime>>(next));
    locals_.insert_or_assign(
        node.ids[i], Bundle<LoopTime>{.types = node.values[i]->types,
                                      .oks = convert<Rows<LoopTime>>(parts.oks[i].stream(), "Again", again),
                                      .errs = convert<ErrorUpdates<LoopTime>>(parts.errs[i].stream(), "AgainErrors",
                                                                              again_errors),
                                      .may_be_negative = true});
  }
  const std::uint64_t last = node.limit ? *node.limit - (node.return_at_limit ? 1 : 0) : UINT64_MAX;
  for (std::size_t i = 0; i < node.ids.size(); ++i) {
    Bundle<LoopTime> value = render(node.values[i]);
    Bundle<LoopTime> result{.types = value.types,
                            .oks = consolidated(stream(value), value.types),
                            .errs = present(value.errs),
                            .may_be_negative = true};
    parts.oks[i].connect(convert<Rows<LoopTime>>(*result.oks, "Below", [last](Rows<LoopTime> rows) {
      return below(std::move(rows), last);
    }));
    parts.errs[i].connect(convert<ErrorUpdates<LoopTime>>(result.errs, "BelowErrors", [last](ErrorUpdates<LoopTime> errors) {
      std::erase_if(errors, [&](const auto& error) { return error.time.inner >= last; });
      return errors;
    }));
    // Later bindings of the same iteration see the new value.
    locals_.insert_or_assign(node.ids[i], result);
    parts.values.push_back(std::move(result));
  }
}

template <>
Bundle<SqlTime> Renderer<SqlTime>::leave(const Bundle<LoopTime>& inner) {
  const ColumnTypes& types = inner.types;
  return {.types = types,
          .oks = consolidated(convert<Rows<SqlTime>>(inner.oks->leave(scope_), "Leave", left), types),
          .errs = present(convert<ErrorUpdates<SqlTime>>(inner.errs.leave(scope_), "LeaveErrors", left_errors)),
          .may_be_negative = inner.may_be_negative};
}

// What iteration n + 1 changes, under one key.
template <>
timely::Stream<SqlTime, differential::RowUpdates<SqlTime>> Renderer<SqlTime>::changes_at(
    const Bundle<LoopTime>& value, std::uint64_t limit) {
  using Updates = differential::RowUpdates<SqlTime>;
  const auto codec = std::make_shared<const repr::RowCodec>(sql_types(value.types));
  const auto oks = convert<Updates>(value.oks->leave(scope_), "Excess", [codec, limit](Rows<LoopTime> rows) {
    repr::BytesVector encoded;
    codec->encode(rows.chunk.columns, 0, rows.size(), encoded);
    Updates updates;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const LoopTime time = rows.time(i);
      if (time.inner == limit) updates.push({}, encoded[i], time.outer, rows.chunk.diff(i));
    }
    return updates;
  });
  const auto errs = convert<Updates>(value.errs.leave(scope_), "ExcessErrors", [limit](ErrorUpdates<LoopTime> errors) {
    Updates updates;
    for (const auto& error : errors) {
      if (error.time.inner == limit) updates.push({}, "error" + error.data, error.time.outer, error.diff);
    }
    return updates;
  });
  return oks.concat(errs);
}

// The body, or one error in its place while `excess` holds anything.
template <>
Bundle<SqlTime> Renderer<SqlTime>::failed_if_any(
    const timely::Stream<SqlTime, differential::RowUpdates<SqlTime>>& excess, Bundle<SqlTime>& body,
    std::uint64_t limit) {
  using Updates = differential::RowUpdates<SqlTime>;
  using Batches = RowBatches<SqlTime>;
  const ColumnTypes& types = body.types;
  const ArrangedRows<SqlTime> any = differential::reduce_core<differential::RowTrace<SqlTime>>(
      arrange_updates(excess, "excess"), "excess", PresenceLogic{}, options_.block_bytes);
  const std::string error = expr::encode_error_row(
      expr::ErrorRow::unknown(
          types.size(), sql_error("54000", "recursion has not ended after " + std::to_string(limit) + " iterations")),
      types);
  const auto failed = convert<ErrorUpdates<SqlTime>>(any.stream(), "LimitError", [error](Batches list) {
    ErrorUpdates<SqlTime> errors;
    for (const auto& batch : list.batches) {
      differential::BatchCursor<std::string, std::string, SqlTime, Diff> cursor(*batch);
      for (; cursor.key_valid(); cursor.step_key()) {
        cursor.map_times([&](const SqlTime& time, const Diff& diff) { errors.push_back({error, time, diff}); });
      }
    }
    return errors;
  });
  // What there is, minus what there is while it failed.
  const auto codec = std::make_shared<const repr::RowCodec>(sql_types(types));
  const auto rows = convert<Updates>(stream(body), "Keyless", [codec](Rows<SqlTime> chunk) {
    repr::BytesVector encoded;
    codec->encode(chunk.chunk.columns, 0, chunk.size(), encoded);
    Updates updates;
    for (std::size_t i = 0; i < chunk.size(); ++i) updates.push({}, encoded[i], chunk.time(i), chunk.chunk.diff(i));
    return updates;
  });
  const auto errors = convert<Updates>(body.errs, "KeylessErrors", [](ErrorUpdates<SqlTime> list) {
    Updates updates;
    for (const auto& e : list) updates.push({}, e.data, e.time, e.diff);
    return updates;
  });
  const auto hide = [](std::string_view, std::string_view value, std::string_view, const SqlTime& time, Diff a, Diff b,
                       Updates& out) { out.push(value, {}, time, -(a * b)); };
  const auto hidden = differential::join_core<Updates>(arrange_updates(rows, "body"), any, hide);
  const auto hidden_errors = differential::join_core<Updates>(arrange_updates(errors, "body errors"), any, hide);
  const auto hidden_rows = convert<Rows<SqlTime>>(hidden, "Hidden", [codec](Updates updates) {
    repr::BytesVector keys;
    TimesBuilder<SqlTime> times;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      keys.push_back(updates.keys[i]);
      times.push(updates.times[i], updates.diffs[i]);
    }
    return times.finish(codec->decode(keys).value());
  });
  const auto hidden_errs = convert<ErrorUpdates<SqlTime>>(hidden_errors, "HiddenErrors", [](Updates updates) {
    ErrorUpdates<SqlTime> list;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      list.push_back({std::string(updates.keys[i]), updates.times[i], updates.diffs[i]});
    }
    return list;
  });
  return {.types = types,
          .oks = concat({stream(body), hidden_rows}),
          .errs = concat({body.errs, hidden_errs, failed}),
          .may_be_negative = body.may_be_negative};
}

template <>
Bundle<SqlTime> Renderer<SqlTime>::let_rec(const Lir::LetRec& node, const ColumnTypes&) {
  if (node.limit == 0 && node.return_at_limit) {
    for (std::size_t i = 0; i < node.ids.size(); ++i) {
      locals_.insert_or_assign(node.ids[i],
                               Bundle<SqlTime>{.types = node.values[i]->types, .oks = no_rows(), .errs = no_errors()});
    }
    return render(node.body);
  }
  LoopParts parts;
  std::optional<timely::Stream<SqlTime, differential::RowUpdates<SqlTime>>> excess;
  scope_.template iterative<std::uint64_t>("LetRec", [&](timely::Scope<LoopTime>& scope) {
    Renderer<LoopTime> inner(scope, options_, this);
    inner.iterate(node, parts);
    for (std::size_t i = 0; i < node.ids.size(); ++i) {
      locals_.insert_or_assign(node.ids[i], leave(parts.values[i]));
      if (!node.limit || node.return_at_limit) continue;
      const auto more = changes_at(parts.values[i], *node.limit);
      excess = excess ? excess->concat(more) : more;
    }
  });
  Bundle<SqlTime> body = render(node.body);
  return excess ? failed_if_any(*excess, body, *node.limit) : body;
}

}  // namespace freshet::compute
