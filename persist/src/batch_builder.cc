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
    if (self->buffer_.empty()) {
      self->buffer_ = std::move(updates);
    } else {
      self->buffer_.append(updates);
    }
    if (self->buffer_.byte_size() >= self->machine_->options().part_bytes) self->start_upload();
    Future<Unit> waiting = wait_for_uploads(self, kUploadsMax - 1);
    Result<Unit> done = co_await std::move(waiting);
    co_return std::move(done);
  }

  /// Also when the caller goes away, perhaps with a scheduler that runs nothing any more.
  void wake() {
    auto waiter = waiter_.with([](auto& w) { return std::exchange(w, std::nullopt); });
    if (waiter) waiter->resolve(Unit{});
  }

  static Future<BatchRef> finish(std::shared_ptr<BuilderState> self) {
    auto batch = std::make_shared<UploadedBatch>();
    batch->group = self->machine_->name();
    batch->shard = self->shard_;
    const bool small =
        self->parts_.empty() && self->buffer_.byte_size() <= self->machine_->options().inline_bytes;
    if (small) {
      self->buffer_.consolidate();
      if (!self->buffer_.empty()) {
        batch->inlined = std::make_shared<const Updates>(std::exchange(self->buffer_, Updates()));
      }
      co_return BatchRef(std::move(batch));
    }
    if (!self->buffer_.empty()) self->start_upload();
    Future<Unit> waiting = wait_for_uploads(self, 0);
    Result<Unit> done = co_await std::move(waiting);
    FRESHET_CO_CHECK(done);
    // Each part is sorted by itself; none is sorted relative to another.
    for (PartRef& part : self->parts_) {
      if (part != nullptr) batch->runs.push_back({std::move(part)});
    }
    co_return BatchRef(std::move(batch));
  }

 private:
  void start_upload() {
    const std::size_t index = parts_.size();
    parts_.emplace_back();
    ++uploading_;
    upload_part(io_, machine_->new_key("p"), std::exchange(buffer_, Updates()))
        .on_ready(io_->queue(), [self = shared_from_this(), index](Result<PartRef> part) {
          --self->uploading_;
          if (part) {
            self->parts_[index] = std::move(part).value();
          } else if (!self->failure_) {
            self->failure_ = part.error();
          }
          if (self->uploading_ <= self->waiter_limit_) self->wake();
        });
  }

  static Future<Unit> wait_for_uploads(std::shared_ptr<BuilderState> self, std::size_t limit) {
    while (self->uploading_ > limit) {
      self->waiter_limit_ = limit;
      base::Promise<Unit> promise;
      Future<Unit> waiting = promise.future();
      self->waiter_.with([&](auto& waiter) { waiter.emplace(std::move(promise)); });
      Result<Unit> waited = co_await std::move(waiting);
      FRESHET_CO_CHECK(waited);
    }
    if (self->failure_) co_return Unexpected(*self->failure_);
    co_return Unit{};
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
