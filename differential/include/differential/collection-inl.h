// SPDX-License-Identifier: Apache-2.0
/// Bodies of collection.h.
#pragma once

#include <differential/collection.h>

namespace differential {

namespace detail {
/// A reference back to a value: strings are copied, the rest is the value itself.
template <typename K>
K own(const RefOf<K>& ref) {
  return Column<K>::own(ref);
}
}  // namespace detail

template <timely::Timestamp T, typename D, typename R>
Collection<T, D, R> Collection<T, D, R>::consolidate() const {
  auto arranged = arrange_by_self("consolidate");
  return as_collection(arranged, [](const RefOf<D>& data, Unit) { return detail::own<D>(data); });
}

template <typename Tr, typename Map>
auto count_of(const Arranged<Tr, Map>& arranged) {
  using D = typename Tr::Key;
  using T = typename Map::Time;
  using R = typename Tr::Diff;
  static_assert(std::is_same_v<typename Tr::Val, Unit>);
  if constexpr (timely::TotalOrder<T> && std::is_same_v<Map, StoredTimes<T>>) {
    using Out = std::vector<Update<std::pair<D, R>, T, R>>;
    return Collection<T, std::pair<D, R>, R>(accumulate_core<Out>(
        arranged, "Count",
        [](const RefOf<D>& data, Unit, const T& time, const R& before, const R& after, Out& out) {
          if (!is_zero(before)) out.push_back({{detail::own<D>(data), before}, time, R{-1}});
          if (!is_zero(after)) out.push_back({{detail::own<D>(data), after}, time, R{1}});
        }));
  } else {
    auto counts = reduce_core<Trace<D, R, T, R>>(
        arranged, "count", [](const auto&, auto& group, auto& output) { output.push(group.diff(), R{1}); });
    return as_collection(counts, [](const RefOf<D>& data, const R& count) {
      return std::pair<D, R>(detail::own<D>(data), count);
    });
  }
}

template <timely::Timestamp T, typename D, typename R>
Collection<T, std::pair<D, R>, R> Collection<T, D, R>::count() const {
  return count_of(arrange_by_self("count"));
}

template <timely::Timestamp T, typename D, typename R>
template <typename F>
Collection<T, D, R> Collection<T, D, R>::threshold(F f) const {
  auto arranged = arrange_by_self("threshold");
  if constexpr (timely::TotalOrder<T>) {
    return Collection(accumulate_core<Message>(
        arranged, "Threshold",
        [f](const RefOf<D>& data, Unit, const T& time, const R& before, const R& after, Message& out) {
          // A count that is zero is an absent record, whatever f makes of zero.
          R change = is_zero(after) ? R{} : R(f(data, after));
          if (!is_zero(before)) add_to(change, negated(R(f(data, before))));
          if (!is_zero(change)) out.push_back({detail::own<D>(data), time, change});
        }));
  } else {
    auto reduced = reduce_core<Trace<D, Unit, T, R>>(
        arranged, "threshold", [f](const auto& data, auto& group, auto& output) {
          const R wanted = f(data, group.diff());
          if (!is_zero(wanted)) output.push({}, wanted);
        });
    return as_collection(reduced, [](const RefOf<D>& data, Unit) { return detail::own<D>(data); });
  }
}

template <timely::Timestamp T, typename D, typename R>
template <typename V2, typename Logic>
auto Collection<T, D, R>::reduce(Logic logic, std::string name) const {
  using K = typename D::first_type;
  using V = typename D::second_type;
  auto reduced = reduce_core<Trace<K, V2, T, R>>(
      arrange_by_key(name), name,
      [logic](const RefOf<K>& key, auto& group, auto& output) {
        std::vector<std::pair<V, R>> values;
        for (; group.valid(); group.step()) values.emplace_back(detail::own<V>(group.val()), group.diff());
        std::vector<std::pair<V2, R>> results;
        logic(detail::own<K>(key), values, results);
        for (const auto& [val, diff] : results) output.push(ref_of(val), diff);
      });
  return as_collection(reduced, [](const RefOf<K>& key, const RefOf<V2>& val) {
    return std::pair<K, V2>(detail::own<K>(key), detail::own<V2>(val));
  });
}

template <timely::Timestamp T, typename D, typename R>
template <typename D2, typename F>
auto Collection<T, D, R>::join(const Collection<T, D2, R>& other, F f) const {
  using K = typename D::first_type;
  using V1 = typename D::second_type;
  using V2 = typename D2::second_type;
  using D3 = std::decay_t<std::invoke_result_t<F&, const K&, const V1&, const V2&>>;
  using Out = std::vector<Update<D3, T, R>>;
  return Collection<T, D3, R>(join_core<Out>(
      arrange_by_key("join left"), other.arrange_by_key("join right"),
      [f](const auto& key, const auto& a, const auto& b, const T& time, const R& r1, const R& r2,
          Out& out) mutable {
        out.push_back({f(detail::own<K>(key), detail::own<V1>(a), detail::own<V2>(b)), time,
                       multiplied(r1, r2)});
      }));
}

template <timely::Timestamp T, typename D, typename R>
template <typename K>
Collection<T, D, R> Collection<T, D, R>::semijoin(const Collection<T, K, R>& keys) const {
  using V = typename D::second_type;
  return Collection(join_core<Message>(
      arrange_by_key("semijoin"), keys.arrange_by_self("semijoin keys"),
      [](const auto& key, const auto& val, Unit, const T& time, const R& r1, const R& r2, Message& out) {
        out.push_back({D{detail::own<K>(key), detail::own<V>(val)}, time, multiplied(r1, r2)});
      }));
}

template <timely::Timestamp T, typename D, typename R>
template <typename F>
Collection<T, D, R> Collection<T, D, R>::iterate(F f) const {
  using Inner = timely::Product<T, std::uint64_t>;
  timely::Scope<T> outer = scope();
  return outer.template iterative<std::uint64_t>("Iterate", [&](timely::Scope<Inner>& inner) {
    Variable<Inner, D, R> variable(enter(inner), {.outer = {}, .inner = {1}});
    Collection<Inner, D, R> result = f(variable.collection());
    variable.set(result);
    return result.leave(outer);
  });
}

}  // namespace differential
