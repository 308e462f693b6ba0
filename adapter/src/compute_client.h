// SPDX-License-Identifier: Apache-2.0
/// `ComputeClient`: turns compute's stream of responses into answers for those who asked.
///
/// Thread safety: all methods.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <freshet/base/future.h>
#include <freshet/base/random.h>
#include <freshet/compute_api/compute.h>

namespace freshet::adapter {

using compute_api::GlobalId;
using compute_api::PeekId;
using compute_api::SqlTime;

struct PeekResult {
  std::vector<compute_api::PeekResponse> parts;
  [[nodiscard]] std::size_t rows() const;
};

/// What a subscription has delivered and nobody has taken yet.
/// Limit: `kMostBytes` of rows; a reader that falls behind further gets 54000, and the subscription ends.
class SubscriptionQueue {
 public:
  static constexpr std::size_t kMostBytes = 256 << 20;
  /// One call at a time.
  base::Future<compute_api::SubscribeResponse> next();
  void push(compute_api::SubscribeResponse response);
  /// The pending and every later `next` answer with this error.
  void fail_with(Error error);

 private:
  std::mutex mutex_;
  std::deque<compute_api::SubscribeResponse> queue_;
  std::size_t bytes_ = 0;
  std::optional<Error> failure_;
  std::optional<base::Promise<compute_api::SubscribeResponse>> waiting_;
};

class ComputeClient {
 public:
  using OnFrontier = std::function<void(GlobalId, SqlTime upper)>;
  ComputeClient(compute_api::Compute& compute, std::uint64_t seed, OnFrontier on_frontier);

  void send(compute_api::ComputeCommand command) { compute_.send(std::move(command)); }
  std::unique_ptr<compute_api::Lookup> make_lookup(GlobalId index, const expr::Mfp& mfp) {
    return compute_.make_lookup(index, mfp);
  }
  PeekId new_peek_id();
  /// All parts of the answer, or its error. 54000 beyond `max_bytes`.
  /// `reads` names all that the answer is computed from, directly or not: if one of them has failed, or fails, that is
  /// the answer, for the time that is waited for will never come.
  base::Future<PeekResult> peek(compute_api::Peek peek, std::uint64_t max_bytes, std::set<GlobalId> reads);
  void cancel_peek(PeekId id) { send(compute_api::CancelPeek{id}); }

  /// Before the dataflow with that sink is created.
  std::shared_ptr<SubscriptionQueue> open_subscription(GlobalId sink, std::set<GlobalId> reads);
  void close_subscription(GlobalId sink);
  /// Subscriptions that read `id` end with this error.
  void end_subscriptions(GlobalId id, const Error& error);

  /// Forgets whoever waits: their answers are abandoned. For the end of the process.
  void close();

  /// From now on reads of the export fail with this error.
  void mark_failed(GlobalId id, Error error);
  /// Of something that compute never had; what it had it reports as dropped.
  void forget_failure(GlobalId id);

 private:
  struct PendingPeek {
    base::Promise<PeekResult> promise;
    PeekResult result;
    std::uint64_t bytes = 0;
    std::uint64_t max_bytes = 0;
    std::set<GlobalId> reads{};
  };
  struct Subscription {
    std::shared_ptr<SubscriptionQueue> queue;
    std::set<GlobalId> reads{};  ///< As named in the statement.
  };
  [[nodiscard]] std::shared_ptr<SubscriptionQueue> subscription(GlobalId sink) const;
  void fail_peeks(GlobalId lost, const Error& error);
  void receive(compute_api::ComputeResponse response);
  void receive_peek(compute_api::PeekResponse response);

  compute_api::Compute& compute_;
  OnFrontier on_frontier_;
  mutable std::mutex mutex_;
  base::Random random_;
  std::map<PeekId, PendingPeek> peeks_;
  std::map<GlobalId, Subscription> subscriptions_;
  std::map<GlobalId, Error> failures_;
};

}  // namespace freshet::adapter
