// SPDX-License-Identifier: Apache-2.0
/// `Collection<T, D, R>`: a multiset of `D` that changes over time, while a dataflow is described.
///
/// A collection is a stream of updates; each method adds operators that keep its result up to date. At a
/// time t it contains the sum of all updates at times at or before t.
///
///     auto degrees = edges.map([](Edge e) { return e.source; }).count();     // (node, degree)
///     auto paths = edges_by_source.join(edges_by_target, [](auto key, auto a, auto b) { … });
///
/// Records are values (`D` has `<`, `==` and a `Column`); SQL uses the byte arrangements and the `_core`
/// operators instead.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <differential/instances.h>
#include <differential/join.h>
#include <differential/reduce.h>
#include <differential/total.h>
#include <timely/operators.h>
#include <timely/probe.h>

namespace differential {

template <typename K, typename V, typename T, typename R>
using KeyValTrace = Trace<K, V, T, R>;
template <typename K, typename T, typename R>
using KeyTrace = Trace<K, Unit, T, R>;

namespace detail {
/// Applies `f` to each message; what is empty is not sent.
template <typename Out, timely::Timestamp T, timely::Message M, typename F>
timely::Stream<T, Out> transform(const timely::Stream<T, M>& stream, std::string name, F f) {
  return stream.template unary<Out>(
      std::move(name), timely::Pipeline{},
      [f] {
        return [f](timely::Input<T, M>& input, timely::Output<T, Out>& output) mutable {
          input.for_each([&](const timely::Capability<T>& at, M message) {
            Out out = f(std::move(message));
            if (out.size() > 0) output.give(at, std::move(out));
          });
        };
      },
      timely::FrontierInterest::kNever);
}
}  // namespace detail

template <timely::Timestamp T, typename D, typename R = std::int64_t>
class Collection {
 public:
  using Time = T;
  using Data = D;
  using Diff = R;
  using Record = Update<D, T, R>;
  using Message = std::vector<Record>;
  using StreamType = timely::Stream<T, Message>;

  explicit Collection(StreamType stream) : stream_(std::move(stream)) {}
  [[nodiscard]] const StreamType& stream() const { return stream_; }
  [[nodiscard]] timely::Scope<T> scope() const { return stream_.scope(); }

  // Linear: one record at a time.
  template <typename F>
  auto map(F f) const {
    using D2 = std::decay_t<std::invoke_result_t<F&, const D&>>;
    return with<D2>("Map", [f](const Record& u, auto& out) mutable { out.push_back({f(u.data), u.time, u.diff}); });
  }
  template <typename F>
  Collection filter(F keep) const {
    return Collection(detail::transform<Message>(stream_, "Filter", [keep](Message message) mutable {
      std::erase_if(message, [&](const Record& u) { return !keep(u.data); });
      return message;
    }));
  }
  /// `f(record)` gives a range of records.
  template <typename F>
  auto flat_map(F f) const {
    using D2 = std::decay_t<decltype(*std::begin(std::declval<std::invoke_result_t<F&, const D&>&>()))>;
    return with<D2>("FlatMap", [f](const Record& u, auto& out) mutable {
      for (auto&& data : f(u.data)) out.push_back({std::move(data), u.time, u.diff});
    });
  }
  /// `f(record)` gives (record, diff); the diffs multiply.
  template <typename F>
  auto explode(F f) const {
    using D2 = std::decay_t<decltype(f(std::declval<const D&>()).first)>;
    return with<D2>("Explode", [f](const Record& u, auto& out) mutable {
      auto [data, diff] = f(u.data);
      out.push_back({std::move(data), u.time, multiplied(u.diff, diff)});
    });
  }
  Collection negate() const {
    return Collection(detail::transform<Message>(stream_, "Negate", [](Message message) {
      for (Record& u : message) u.diff = negated(u.diff);
      return message;
    }));
  }
  Collection concat(const Collection& other) const { return Collection(stream_.concat(other.stream_)); }
  /// Calls `f(data, time, diff)` for each update that passes.
  template <typename F>
  Collection inspect(F f) const {
    return Collection(detail::transform<Message>(stream_, "Inspect", [f](Message message) mutable {
      for (const Record& u : message) f(u.data, u.time, u.diff);
      return message;
    }));
  }
  [[nodiscard]] timely::ProbeHandle<T> probe() const { return stream_.probe(); }

  // Scopes.
  template <timely::Timestamp T2>
    requires timely::Refines<T2, T>
  [[nodiscard]] Collection<T2, D, R> enter(const timely::Scope<T2>& inner) const {
    using Entered = std::vector<Update<D, T2, R>>;
    return Collection<T2, D, R>(detail::transform<Entered>(stream_.enter(inner), "Enter", [](Message message) {
      Entered out;
      out.reserve(message.size());
      for (Record& u : message) {
        out.push_back({std::move(u.data), timely::Refinement<T2, T>::to_inner(u.time), u.diff});
      }
      return out;
    }));
  }
  /// Enters each record at a time of its own, at or after its outer time: `f(record, inner_time)`.
  template <timely::Timestamp T2, typename F>
    requires timely::Refines<T2, T>
  [[nodiscard]] Collection<T2, D, R> enter_at(const timely::Scope<T2>& inner, F f) const {
    using Entered = std::vector<Update<D, T2, R>>;
    return Collection<T2, D, R>(detail::transform<Entered>(enter(inner).stream(), "EnterAt", [f](Entered message) mutable {
      for (auto& u : message) {
        T2 later = f(u.data, u.time);
        FRESHET_ASSERT(timely::less_equal(u.time, later));
        u.time = std::move(later);
      }
      return message;
    }));
  }
  template <timely::Timestamp T2>
    requires timely::Refines<T, T2>
  [[nodiscard]] Collection<T2, D, R> leave(const timely::Scope<T2>& outer) const {
    using Left = std::vector<Update<D, T2, R>>;
    auto converted = detail::transform<Left>(stream_, "Leave", [](Message message) {
      Left out;
      out.reserve(message.size());
      for (Record& u : message) {
        out.push_back({std::move(u.data), timely::Refinement<T, T2>::to_outer(u.time), u.diff});
      }
      return out;
    });
    return Collection<T2, D, R>(converted.leave(outer));
  }

  // Arranging. By key: `D` is a pair.
  [[nodiscard]] auto arrange_by_key(std::string name = "by key",
                                    std::size_t block_bytes = kBlockBytes) const {
    using K = typename D::first_type;
    using V = typename D::second_type;
    return arrange_with<Trace<K, V, T, R>>(
        stream_, std::move(name),
        timely::Exchange{[](const Record& u) { return hash_of(ref_of(u.data.first)); }},
        [](auto& batcher, Message message) {
          auto& rows = batcher.incoming();
          for (const Record& u : message) rows.push(ref_of(u.data.first), ref_of(u.data.second), u.time, u.diff);
          batcher.written();
        },
        block_bytes);
  }
  [[nodiscard]] auto arrange_by_self(std::string name = "by self",
                                     std::size_t block_bytes = kBlockBytes) const {
    return arrange_with<Trace<D, Unit, T, R>>(
        stream_, std::move(name), timely::Exchange{[](const Record& u) { return hash_of(ref_of(u.data)); }},
        [](auto& batcher, Message message) {
          auto& rows = batcher.incoming();
          for (const Record& u : message) rows.push(ref_of(u.data), {}, u.time, u.diff);
          batcher.written();
        },
        block_bytes);
  }
  /// Sends only net changes, once their time is complete. Stateless beyond that.
  [[nodiscard]] Collection consolidate() const;

  // Grouping. By default of all records that are equal; `D` needs no pair.

  /// Each distinct record with its count, while that is not zero.
  [[nodiscard]] Collection<T, std::pair<D, R>, R> count() const;
  /// Each record as often as `f(record, count)` says; 0 for absent ones is assumed.
  template <typename F>
  [[nodiscard]] Collection threshold(F f) const;
  /// Each record with a positive count, once.
  [[nodiscard]] Collection distinct() const {
    return threshold([](const auto&, const R& count) { return count > R{} ? R{1} : R{}; });
  }
  /// `D` is (key, value): `logic(key, values, output)` sees a vector of (value, diff) in order and pushes
  /// (value, diff) to `output`. For large groups read lazily with `reduce_core`.
  template <typename V2, typename Logic>
  [[nodiscard]] auto reduce(Logic logic, std::string name = "reduce") const;

  // Joins. `D` is (key, value).

  /// `f(key, value, other_value)` for each match.
  template <typename D2, typename F>
  [[nodiscard]] auto join(const Collection<T, D2, R>& other, F f) const;
  /// The records whose key is among `keys`, multiplied by its count there.
  template <typename K>
  [[nodiscard]] Collection semijoin(const Collection<T, K, R>& keys) const;
  /// The records whose key is not among `keys`, which must be distinct.
  template <typename K>
  [[nodiscard]] Collection antijoin(const Collection<T, K, R>& keys) const {
    return concat(semijoin(keys).negate());
  }

  /// The fixed point of `f` from here on: `f(collection)` in a scope with one more coordinate, applied
  /// until nothing changes. The body needs an operator that consolidates (distinct, reduce, …).
  template <typename F>
  [[nodiscard]] Collection iterate(F f) const;

 private:
  /// `f(update, out)` appends any number of updates.
  template <typename D2, typename F>
  Collection<T, D2, R> with(std::string name, F f) const {
    using Out = std::vector<Update<D2, T, R>>;
    return Collection<T, D2, R>(detail::transform<Out>(stream_, std::move(name), [f](Message message) mutable {
      Out out;
      out.reserve(message.size());
      for (const Record& u : message) f(u, out);
      return out;
    }));
  }
  StreamType stream_;
};

/// The updates of an arrangement as a collection: `f(key, val)` makes the record.
template <typename Tr, typename Map, typename F>
auto as_collection(const Arranged<Tr, Map>& arranged, F f) {
  using T = typename Map::Time;
  using R = typename Tr::Diff;
  using D = std::decay_t<std::invoke_result_t<F&, RefOf<typename Tr::Key>, RefOf<typename Tr::Val>>>;
  using Out = std::vector<Update<D, T, R>>;
  return Collection<T, D, R>(detail::transform<Out>(
      arranged.stream(), "AsCollection", [f, map = arranged.time_map()](BatchList<Tr> list) mutable {
        Out out;
        out.reserve(list.size());
        for (const auto& batch : list.batches) {
          for (BatchCursor cursor(*batch); cursor.key_valid(); cursor.step_key()) {
            for (; cursor.val_valid(); cursor.step_val()) {
              cursor.map_times([&](const auto& time, const R& diff) {
                out.push_back({f(cursor.key(), cursor.val()), map(time), diff});
              });
            }
          }
        }
        return out;
      }));
}

/// Each distinct key of an arrangement by self with its count, while that is not zero.
template <typename Tr, typename Map>
[[nodiscard]] auto count_of(const Arranged<Tr, Map>& arranged);

/// A collection defined later, in terms of itself, one round delayed: the way to write loops.
///
/// From nothing it reads as what was fed back. From a source it reads as feedback plus source, and what
/// is fed back is result minus source, so that it converges to the result. Mutual recursion is several
/// variables.
///
///     Variable<Inner, Node> reached(roots.enter(inner), {.inner = {1}});
///     auto next = …reached.collection()…distinct();
///     reached.set(next);
template <timely::Timestamp T, typename D, typename R = std::int64_t>
class Variable {
 public:
  using CollectionType = Collection<T, D, R>;
  using Message = typename CollectionType::Message;
  using Summary = timely::SummaryOf<T>;

  /// Starts from nothing. `step` must advance time.
  Variable(const timely::Scope<T>& scope, Summary step)
      : feedback_(scope.template feedback<Message>(step)), step_(step), collection_(feedback_.stream()) {}
  /// Starts from `source`.
  Variable(CollectionType source, Summary step) : Variable(source.scope(), step) {
    collection_ = collection_.concat(source);
    source_ = std::move(source);
  }

  /// What the variable reads as.
  [[nodiscard]] const CollectionType& collection() const { return collection_; }
  /// Defines it. Once.
  void set(const CollectionType& result) {
    const CollectionType fed = source_ ? result.concat(source_->negate()) : result;
    feedback_.connect(detail::transform<Message>(fed.stream(), "NextRound", [step = step_](Message message) {
      // The message's time moves on the edge; the times of its updates here.
      std::erase_if(message, [&](auto& update) {
        auto later = step.results_in(update.time);
        if (later) update.time = *later;
        return !later;
      });
      return message;
    }));
  }

 private:
  timely::Feedback<T, Message> feedback_;
  Summary step_;
  CollectionType collection_;
  std::optional<CollectionType> source_;
};

}  // namespace differential

#include <differential/collection-inl.h>
