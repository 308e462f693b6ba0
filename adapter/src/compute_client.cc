// SPDX-License-Identifier: Apache-2.0
#include "compute_client.h"

#include <freshet/compute_api/errors.h>

#include "client_error.h"

namespace freshet::adapter {

using base::Future;
using base::Promise;
using compute_api::PeekResponse;
using compute_api::SubscribeResponse;

std::size_t PeekResult::rows() const {
  std::size_t sum = 0;
  for (const PeekResponse& part : parts) sum += part.rows.size();
  return sum;
}

Future<SubscribeResponse> SubscriptionQueue::next() {
  const std::lock_guard lock(mutex_);
  if (!queue_.empty()) {
    SubscribeResponse response = std::move(queue_.front());
    queue_.pop_front();
    bytes_ -= response.rows.byte_size();
    return Future<SubscribeResponse>::ready(std::move(response));
  }
  if (failure_) return Future<SubscribeResponse>::ready(fail(*failure_));
  FRESHET_ASSERT(!waiting_.has_value());
  waiting_.emplace();
  return waiting_->future();
}

void SubscriptionQueue::push(SubscribeResponse response) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  if (waiting_) {
    auto promise = std::move(*waiting_);
    waiting_.reset();
    promise.resolve(std::move(response));
    return;
  }
  bytes_ += response.rows.byte_size();
  if (bytes_ > kMostBytes) {
    failure_ = sql_error(sqlstate::kProgramLimitExceeded,
                         "the subscription is read too slowly: " + std::to_string(bytes_) +
                             " bytes are waiting");
    queue_.clear();
    return;
  }
  queue_.push_back(std::move(response));
}

void SubscriptionQueue::fail_with(Error error) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  failure_ = error;
  queue_.clear();
  if (!waiting_) return;
  waiting_->resolve(fail(std::move(error)));
  waiting_.reset();
}

ComputeClient::ComputeClient(compute_api::Compute& compute, std::uint64_t seed,
                             OnFrontier on_frontier)
    : compute_(compute), on_frontier_(std::move(on_frontier)), random_(seed) {
  compute_.on_response([this](compute_api::ComputeResponse response) {
    receive(std::move(response));
  });
}

PeekId ComputeClient::new_peek_id() {
  const std::lock_guard lock(mutex_);
  return {random_.next(), random_.next()};
}

Future<PeekResult> ComputeClient::peek(compute_api::Peek peek, std::uint64_t max_bytes,
                                       std::set<GlobalId> reads) {
  reads.insert(std::visit([](const auto& what) { return what.id; }, peek.target));
  Future<PeekResult> answer = [&] {
    const std::lock_guard lock(mutex_);
    for (const GlobalId id : reads) {
      if (const auto failed = failures_.find(id); failed != failures_.end()) {
        return Future<PeekResult>::ready(fail(failed->second));
      }
    }
    PendingPeek& pending = peeks_[peek.id];
    pending.max_bytes = max_bytes;
    pending.reads = std::move(reads);
    return pending.promise.future();
  }();
  if (!answer.is_ready()) send(std::move(peek));
  return answer;
}

std::shared_ptr<SubscriptionQueue> ComputeClient::open_subscription(GlobalId sink, std::set<GlobalId> reads) {
  auto queue = std::make_shared<SubscriptionQueue>();
  const std::lock_guard lock(mutex_);
  for (const GlobalId id : reads) {
    if (const auto failed = failures_.find(id); failed != failures_.end()) queue->fail_with(failed->second);
  }
  subscriptions_[sink] = {queue, std::move(reads)};
  return queue;
}

std::shared_ptr<SubscriptionQueue> ComputeClient::subscription(GlobalId sink) const {
  const std::lock_guard lock(mutex_);
  auto it = subscriptions_.find(sink);
  return it == subscriptions_.end() ? nullptr : it->second.queue;
}

void ComputeClient::end_subscriptions(GlobalId id, const Error& error) {
  std::vector<std::shared_ptr<SubscriptionQueue>> ended;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [sink, subscription] : subscriptions_) {
      if (subscription.reads.contains(id)) ended.push_back(subscription.queue);
    }
  }
  for (const auto& queue : ended) queue->fail_with(error);
}

void ComputeClient::mark_failed(GlobalId id, Error error) {
  {
    const std::lock_guard lock(mutex_);
    failures_.insert_or_assign(id, error);
  }
  if (const auto queue = subscription(id)) queue->fail_with(error);
  end_subscriptions(id, error);
  fail_peeks(id, error);
}

void ComputeClient::forget_failure(GlobalId id) {
  const std::lock_guard lock(mutex_);
  failures_.erase(id);
}

void ComputeClient::close_subscription(GlobalId sink) {
  const std::lock_guard lock(mutex_);
  subscriptions_.erase(sink);
}

void ComputeClient::close() {
  compute_.on_response([](compute_api::ComputeResponse) {});
  std::map<PeekId, PendingPeek> peeks;
  std::map<GlobalId, Subscription> subscriptions;
  const std::lock_guard lock(mutex_);
  peeks.swap(peeks_);
  subscriptions.swap(subscriptions_);
}

void ComputeClient::receive(compute_api::ComputeResponse response) {
  if (auto* frontier = std::get_if<compute_api::FrontierUpdate>(&response)) {
    on_frontier_(frontier->id, frontier->upper);
  } else if (auto* peek = std::get_if<PeekResponse>(&response)) {
    receive_peek(std::move(*peek));
  } else if (auto* batch = std::get_if<SubscribeResponse>(&response)) {
    const auto queue = subscription(batch->id);
    if (queue == nullptr) return;
    if (batch->error) {
      queue->fail_with(client_error(std::move(*batch->error)));
    } else {
      queue->push(std::move(*batch));
    }
  } else if (auto* failure = std::get_if<compute_api::ExportFailure>(&response)) {
    mark_failed(failure->id, client_error(std::move(failure->error)));
  } else if (auto* dropped = std::get_if<compute_api::Dropped>(&response)) {
    const std::lock_guard lock(mutex_);
    failures_.erase(dropped->id);
  }
}

void ComputeClient::fail_peeks(GlobalId lost, const Error& error) {
  std::vector<PendingPeek> failed;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = peeks_.begin(); it != peeks_.end();) {
      if (!it->second.reads.contains(lost)) {
        ++it;
        continue;
      }
      failed.push_back(std::move(it->second));
      it = peeks_.erase(it);
    }
  }
  for (PendingPeek& peek : failed) peek.promise.resolve(fail(error));
}

void ComputeClient::receive_peek(PeekResponse response) {
  std::unique_lock lock(mutex_);
  auto it = peeks_.find(response.id);
  if (it == peeks_.end()) return;  // it failed earlier; what still comes is dropped
  PendingPeek& pending = it->second;
  pending.bytes += response.rows.byte_size();
  std::optional<Error> error = std::move(response.error);
  const PeekId id = response.id;
  const bool too_large = !error && pending.bytes > pending.max_bytes;
  if (too_large) {
    error = compute_api::result_too_large(pending.max_bytes);
  }
  const bool last = response.last;
  if (!error) pending.result.parts.push_back(std::move(response));
  if (!error && !last) return;
  PendingPeek done = std::move(pending);
  peeks_.erase(it);
  lock.unlock();
  if (too_large && !last) cancel_peek(id);
  if (error) {
    done.promise.resolve(fail(client_error(std::move(*error))));
  } else {
    done.promise.resolve(std::move(done.result));
  }
}

}  // namespace freshet::adapter
