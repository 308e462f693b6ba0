// SPDX-License-Identifier: Apache-2.0
/// Turns LIR into operators.
///
/// A collection under construction is a `Bundle`: a stream of rows, a stream of error rows, and the
/// arrangements that exist of it. `Renderer<SqlTime>` renders a plan; the values of a LetRec are rendered by
/// a `Renderer<LoopTime>` in a nested scope, where outer collections are entered when first read.
///
/// The bodies are spread over render_*.cc, each of which instantiates its members for both times.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <differential/arrange.h>
#include <freshet/expr/dataflow.h>
#include <timely/builder.h>
#include <timely/scope.h>
#include <timely/unary.h>

#include "dataflow/arrange_rows.h"
#include "dataflow/mfp_operator.h"
#include "dataflow/rows.h"

namespace freshet::compute {

template <typename T>
using RowStream = timely::Stream<T, Rows<T>>;
template <typename T>
using ErrorStream = timely::Stream<T, ErrorUpdates<T>>;
template <typename T>
using ArrangedRows = differential::Arranged<differential::RowTrace<T>>;

template <typename T>
struct BundleArrangement {
  std::shared_ptr<const Arranger> arranger;
  ArrangedRows<T> oks;
  ErrorStream<T> errs;  ///< Those of the collection, and of rows whose key fails.
};

template <typename T>
struct Bundle {
  /// What has been made of it so far; copies of a bundle share it.
  struct Made {
    std::deque<BundleArrangement<T>> arrangements{};
    std::optional<RowStream<T>> stream{};
  };
  ColumnTypes types;
  std::optional<RowStream<T>> oks{};  ///< Absent only if there is an arrangement.
  ErrorStream<T> errs;
  /// Counts of rows may be below zero, by a Negate in the plan.
  bool may_be_negative = false;
  std::shared_ptr<Made> made = std::make_shared<Made>();
};

/// Some key of the rows may fail, if only because it is too large to be a value.
bool may_fail(const expr::ArrangementKey& key);

struct RenderOptions {
  SqlTime as_of = 0;
  SqlTime until = repr::kClosed;
  std::size_t block_bytes = differential::kBlockBytes;
  std::shared_ptr<FutureTimes> futures{};
};

struct LoopParts;

template <typename T>
class Renderer {
 public:
  using Outer = Renderer<SqlTime>;
  using Lir = expr::Lir;

  /// `parent` is null at the outermost level.
  Renderer(timely::Scope<T> scope, RenderOptions options, Outer* parent)
      : scope_(scope), options_(options), parent_(parent) {}

  Bundle<T> render(const expr::LirPtr& plan);

  void bind(expr::GlobalId id, Bundle<T> bundle) { globals_.insert_or_assign(id, std::move(bundle)); }
  /// A bound collection.
  [[nodiscard]] Bundle<T>& lookup(const std::variant<expr::GlobalId, expr::LocalId>& id);
  /// The rows as a stream, out of an arrangement if need be (remembered).
  RowStream<T> stream(Bundle<T>& bundle);
  /// The arrangement by `key`, made if need be (remembered).
  BundleArrangement<T>& arrange(Bundle<T>& bundle, const expr::ArrangementKey& key);

  [[nodiscard]] timely::Scope<T>& scope() { return scope_; }

 private:
  template <typename U>
  friend class Renderer;

  Bundle<T> constant(const Lir::Constant& node, const ColumnTypes& types);
  Bundle<T> get(const Lir::Get& node, const ColumnTypes& types);
  Bundle<T> let(const Lir::Let& node);
  Bundle<T> let_rec(const Lir::LetRec& node, const ColumnTypes& types);
  Bundle<T> map_filter_project(const Lir::MapFilterProject& node, const ColumnTypes& types);
  Bundle<T> flat_map(const Lir::FlatMap& node, const ColumnTypes& types);
  Bundle<T> join(const Lir::Join& node, const ColumnTypes& types);
  Bundle<T> match(const Lir::Match& node, const ColumnTypes& types);
  Bundle<T> reduce(const Lir::Reduce& node, const ColumnTypes& types);
  Bundle<T> top_k(const Lir::TopK& node, const ColumnTypes& types);
  Bundle<T> negate(const Lir::Negate& node);
  Bundle<T> threshold(const Lir::Threshold& node);
  Bundle<T> union_all(const Lir::Union& node);
  Bundle<T> arrange_by(const Lir::ArrangeBy& node);

  // -- streams --
  [[nodiscard]] RowStream<T> no_rows();
  [[nodiscard]] ErrorStream<T> no_errors();
  RowStream<T> concat(const std::vector<RowStream<T>>& streams);
  ErrorStream<T> concat(const std::vector<ErrorStream<T>>& streams);
  std::pair<RowStream<T>, ErrorStream<T>> through(const RowStream<T>& rows, const expr::Mfp& mfp,
                                                  const ColumnTypes& types);
  ErrorStream<T> errors_through(const ErrorStream<T>& errors, ErrorRule rule, const ColumnTypes& from,
                                const ColumnTypes& to);
  ErrorStream<T> errors_through(const ErrorStream<T>& errors, const expr::Mfp& mfp, const ColumnTypes& types);
  /// Errors of a node that meets rows with counts below zero: each once, if it is there at all.
  ErrorStream<T> present(const ErrorStream<T>& errors);
  RowStream<T> negated(const RowStream<T>& rows);
  /// Rows out of an arrangement through `mfp`; only those with one of the keys if there is a seek.
  std::pair<RowStream<T>, ErrorStream<T>> read(const BundleArrangement<T>& from, const expr::Mfp& mfp,
                                               const std::optional<std::vector<repr::DatumRow>>& seek);
  /// What a reduce with tagged values puts out: rows of `types`, errors of a node with `error_types`.
  std::pair<RowStream<T>, ErrorStream<T>> untag(const ArrangedRows<T>& reduced, const ColumnTypes& types,
                                                bool row_begins_with_key);

  // -- joins --
  struct Joined {
    RowStream<T> rows;
    ErrorStream<T> errs;
  };
  Joined linear_join(const Lir::Join& node, const expr::LinearJoin& plan, std::vector<Bundle<T>>& inputs);
  Joined delta_join(const Lir::Join& node, const expr::DeltaJoin& plan, std::vector<Bundle<T>>& inputs);
  Joined join_stage(const BundleArrangement<T>& stream, const BundleArrangement<T>& lookup,
                    const expr::Mfp& after, const ColumnTypes& joined, bool nulls_match = false);
  Joined half_join(const Joined& stream, const ColumnTypes& stream_types, const expr::JoinStage& stage,
                   Bundle<T>& input, bool strict);
  ErrorStream<T> join_errors(const Lir::Join& node, std::vector<Bundle<T>>& inputs, const ColumnTypes& types);
  /// The keys of one side that match, as an arrangement by key bytes with empty values.
  ArrangedRows<T> matched_keys(const BundleArrangement<T>& side, bool may_be_negative);
  /// Rows of `left` whose key is in `keys`, as a stream.
  RowStream<T> semi_join(const BundleArrangement<T>& left, const ArrangedRows<T>& keys);

  // -- reduces --
  /// The rows once each; errors that count as group errors pass as they are.
  Bundle<T> distinct(Bundle<T>& input);
  using Stage = std::pair<RowStream<T>, ErrorStream<T>>;
  Stage summed_part(const Lir::Reduce& node, const RowStream<T>& rows, const ColumnTypes& input,
                    const ColumnTypes& output, const std::vector<std::size_t>& which);
  Stage read_part(const Lir::Reduce& node, const RowStream<T>& rows, const ColumnTypes& input,
                  const ColumnTypes& output, const std::vector<std::size_t>& which, bool may_be_negative);
  RowStream<T> join_parts(const Lir::Reduce& node, const RowStream<T>& summed, const RowStream<T>& read_rows,
                          const ColumnTypes& input, const std::vector<std::size_t>& which_summed,
                          const std::vector<std::size_t>& which_read);
  ArrangedRows<T> arrange_updates(const timely::Stream<T, differential::RowUpdates<T>>& updates,
                                  std::string name);

  // -- loops --
  void iterate(const Lir::LetRec& node, LoopParts& parts);
  Bundle<T> leave(const Bundle<LoopTime>& inner);
  timely::Stream<T, differential::RowUpdates<T>> changes_at(const Bundle<LoopTime>& value, std::uint64_t limit);
  Bundle<T> failed_if_any(const timely::Stream<T, differential::RowUpdates<T>>& excess, Bundle<T>& body,
                          std::uint64_t limit);
  RowStream<T> consolidated(const RowStream<T>& rows, const ColumnTypes& types);
  /// An outer collection inside the loop.
  Bundle<T> enter(Bundle<SqlTime>& outer);

  timely::Scope<T> scope_;
  RenderOptions options_;
  Outer* parent_;
  std::map<expr::GlobalId, Bundle<T>> globals_{};
  std::map<expr::LocalId, Bundle<T>> locals_{};
};

// Delta joins need times in one line; see render_delta.cc.
template <>
Renderer<SqlTime>::Joined Renderer<SqlTime>::half_join(const Joined& stream, const ColumnTypes& stream_types,
                                                       const expr::JoinStage& stage, Bundle<SqlTime>& input, bool strict);
template <>
Renderer<LoopTime>::Joined Renderer<LoopTime>::delta_join(const Lir::Join& node, const expr::DeltaJoin& plan,
                                                          std::vector<Bundle<LoopTime>>& inputs);
template <>
Renderer<SqlTime>::Joined Renderer<SqlTime>::delta_join(const Lir::Join& node, const expr::DeltaJoin& plan,
                                                        std::vector<Bundle<SqlTime>>& inputs);

// Loops are described in one direction only; see render_loop.cc.
template <>
Bundle<LoopTime> Renderer<LoopTime>::enter(Bundle<SqlTime>& outer);
template <>
Bundle<LoopTime> Renderer<LoopTime>::let_rec(const Lir::LetRec& node, const ColumnTypes& types);
template <>
void Renderer<LoopTime>::iterate(const Lir::LetRec& node, LoopParts& parts);
template <>
Bundle<SqlTime> Renderer<SqlTime>::let_rec(const Lir::LetRec& node, const ColumnTypes& types);
template <>
Bundle<SqlTime> Renderer<SqlTime>::leave(const Bundle<LoopTime>& inner);
template <>
timely::Stream<SqlTime, differential::RowUpdates<SqlTime>> Renderer<SqlTime>::changes_at(
    const Bundle<LoopTime>& value, std::uint64_t limit);
template <>
Bundle<SqlTime> Renderer<SqlTime>::failed_if_any(
    const timely::Stream<SqlTime, differential::RowUpdates<SqlTime>>& excess, Bundle<SqlTime>& body,
    std::uint64_t limit);

/// An operator with one input and two outputs. `factory(Setup&)` makes an object with
/// `step(input, output1, output2)`.
template <typename Out1, typename Out2, typename T, typename M, typename Pact, typename Factory>
std::pair<timely::Stream<T, Out1>, timely::Stream<T, Out2>> split(
    const timely::Stream<T, M>& stream, std::string name, Pact pact, Factory factory,
    timely::FrontierInterest interest = timely::FrontierInterest::kNever) {
  timely::OperatorBuilder<T> builder(stream.scope(), std::move(name));
  const auto in = builder.input(stream, std::move(pact), interest);
  const auto out1 = builder.template output<Out1>();
  const auto out2 = builder.template output<Out2>();
  timely::detail::build_stepper(builder, std::move(factory), in, out1.first, out2.first);
  return {out1.second, out2.second};
}

/// Each message through `f`, at its time.
template <typename M2, typename T, typename M, typename F>
timely::Stream<T, M2> convert(const timely::Stream<T, M>& stream, std::string name, F f) {
  return stream.template unary<M2>(
      std::move(name), timely::Pipeline{},
      [f] {
        return [f](timely::Input<T, M>& input, timely::Output<T, M2>& output) {
          input.for_each([&](const timely::Capability<T>& at, M message) {
            output.give(at, f(std::move(message)));
          });
        };
      },
      timely::FrontierInterest::kNever);
}

}  // namespace freshet::compute
