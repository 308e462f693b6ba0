// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <freshet/base/assert.h>

#include "group.h"
#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {

constexpr std::size_t kUploadsMax = 2;

class BuilderState : public std::enable_shared_from_this<BuilderState> {
 public:
  BuilderState(std::shared_ptr<Machine> machine, ShardId shard)
      : machine_(std::move(machine)), io_(machine_->new_io()), shard_(shard) {}
  base::TaskQueue& queue() { return io_->queue(); }

  static Future<Unit> add(std::shared_ptr<BuilderState> self, Updates updates) {
    return on(self).and_then([updates = std::move(updates)](const auto& state) mutable {
      if (state->buffer_.empty()) {
        state->buffer_ = std::move(updates);
      } else {
        state->buffer_.append(updates);
      }
      if (state->buffer_.byte_size() >= state->machine_->options().part_bytes) {
        state->start_upload();
      }
      return wait_for_uploads(state, kUploadsMax - 1);
    });
  }

  /// Also when the caller goes away, perhaps with a scheduler that runs nothing any more.
  void wake() {
    auto waiter = waiter_.with([](auto& w) { return std::exchange(w, std::nullopt); });
    if (waiter) waiter->resolve(Unit{});
  }

  static Future<BatchRef> finish(std::shared_ptr<BuilderState> self) {
    return on(self)
        .and_then([](const auto& state) {
          if (!state->stays_in_state() && !state->buffer_.empty()) state->start_upload();
          return wait_for_uploads(state, 0);
        })
        .and_then([](const auto& state) { return state->assemble(); });
  }

 private:
  [[nodiscard]] bool stays_in_state() const {
    return parts_.empty() && buffer_.byte_size() <= machine_->options().inline_bytes;
  }

  // Each part is sorted by itself; none is sorted relative to another.
  BatchRef assemble() {
    auto batch = std::make_shared<UploadedBatch>();
    batch->group = machine_->name();
    batch->shard = shard_;
    for (PartRef& part : parts_) {
      if (part != nullptr) batch->runs.push_back({std::move(part)});
    }
    buffer_.consolidate();
    if (!buffer_.empty()) {
      batch->inlined = std::make_shared<const Updates>(std::exchange(buffer_, Updates()));
    }
    return batch;
  }

  void start_upload() {
    const std::size_t index = parts_.size();
    parts_.emplace_back();
    ++uploading_;
    on(shared_from_this(),
       upload_part(io_, machine_->new_key("p"), std::exchange(buffer_, Updates())))
        .finally([index](const auto& self, Result<PartRef> part) {
          self->uploaded(index, std::move(part));
        });
  }

  void uploaded(std::size_t index, Result<PartRef> part) {
    --uploading_;
    if (part) {
      parts_[index] = std::move(part).value();
    } else if (!failure_) {
      failure_ = std::move(part).error();
    }
    if (uploading_ <= waiter_limit_) wake();
  }

  static Future<Unit> wait_for_uploads(std::shared_ptr<BuilderState> self, std::size_t limit) {
    if (self->uploading_ <= limit) {
      return self->failure_ ? Future<Unit>::ready(Unexpected(*self->failure_)) : done();
    }
    self->waiter_limit_ = limit;
    base::Promise<Unit> promise;
    Future<Unit> woken = promise.future();
    self->waiter_.with([&](auto& waiter) { waiter.emplace(std::move(promise)); });
    return on(self, std::move(woken)).and_then([limit](const auto& state) {
      return wait_for_uploads(state, limit);
    });
  }

  std::shared_ptr<Machine> machine_;
  IoRef io_;
  ShardId shard_;
  Updates buffer_;
  std::vector<PartRef> parts_;
  std::size_t uploading_ = 0;
  base::Guarded<std::optional<base::Promise<Unit>>> waiter_;  // it holds us: see `wake`
  std::size_t waiter_limit_ = 0;
  std::optional<Error> failure_;
};

class BuilderHandle final : public BatchBuilder {
 public:
  explicit BuilderHandle(std::shared_ptr<BuilderState> state) : state_(std::move(state)) {}
  ~BuilderHandle() override { state_->wake(); }
  Future<Unit> add(Updates updates) override {
    return BuilderState::add(state_, std::move(updates));
  }
  Future<BatchRef> finish() override { return BuilderState::finish(state_); }

 private:
  std::shared_ptr<BuilderState> state_;
};

}  // namespace

std::unique_ptr<BatchBuilder> make_batch_builder(std::shared_ptr<Machine> machine, ShardId shard) {
  return std::make_unique<BuilderHandle>(std::make_shared<BuilderState>(std::move(machine), shard));
}

}  // namespace freshet::persist
