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
  BuilderState(std::shared_ptr<Machine> machine, ShardId shard, BatchOptions options)
      : machine_(std::move(machine)), io_(machine_->new_io()), shard_(shard), options_(options) {}
  BuilderState(const BuilderState&) = delete;
  BuilderState& operator=(const BuilderState&) = delete;
  // Nobody will ever name what is still here. Should it stay, it goes at a later start.
  ~BuilderState() {
    if (machine_->is_closed()) return;
    for (const PartRef& part : parts_) {
      if (part == nullptr) continue;
      const Future<Unit> removed = remove_patiently(io_, part->key);
      (void)removed;
    }
  }
  base::TaskQueue& queue() { return io_->queue(); }

  static Future<Unit> add(std::shared_ptr<BuilderState> self, Updates updates) {
    return on(self).and_then([updates = std::move(updates)](const auto& state) mutable {
      if (state->options_.timeless) updates.set_times(0);
      if (state->buffer_.empty()) {
        state->buffer_ = std::move(updates);
      } else {
        state->buffer_.append(updates);
      }
      if (state->buffer_.byte_size() >= state->part_bytes()) {
        state->start_upload();
      }
      return wait_for_uploads(state, kUploadsMax - 1);
    });
  }

  /// Also when the caller goes away, perhaps with a scheduler that runs nothing any more.
  void wake() {
    for (auto& waiter : waiters_.with([](auto& w) { return std::exchange(w, {}); })) {
      waiter.resolve(Unit{});
    }
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

  [[nodiscard]] std::size_t part_bytes() const {
    const std::size_t most = machine_->options().part_bytes;
    if (options_.first_part_bytes == 0) return most;
    return std::clamp(uploaded_bytes_ / 4, std::min(options_.first_part_bytes, most), most);
  }

  // Each part is sorted by itself; none is sorted relative to another.
  BatchRef assemble() {
    auto batch = std::make_shared<UploadedBatch>();
    batch->group = machine_->name();
    batch->shard = shard_;
    batch->timeless = options_.timeless;
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
    uploaded_bytes_ += buffer_.byte_size();
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
    wake();
  }

  static Future<Unit> wait_for_uploads(std::shared_ptr<BuilderState> self, std::size_t limit) {
    if (self->uploading_ <= limit) {
      return self->failure_ ? Future<Unit>::ready(Unexpected(*self->failure_)) : done();
    }
    base::Promise<Unit> promise;
    Future<Unit> woken = promise.future();
    self->waiters_.with([&](auto& waiters) { waiters.push_back(std::move(promise)); });
    return on(self, std::move(woken)).and_then([limit](const auto& state) {
      return wait_for_uploads(state, limit);
    });
  }

  std::shared_ptr<Machine> machine_;
  IoRef io_;
  ShardId shard_;
  BatchOptions options_;
  Updates buffer_;
  std::vector<PartRef> parts_;
  std::size_t uploading_ = 0;
  std::size_t uploaded_bytes_ = 0;  ///< Of rows, those under way included.
  base::Guarded<std::vector<base::Promise<Unit>>> waiters_;  // they hold us: see `wake`
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

std::unique_ptr<BatchBuilder> make_batch_builder(std::shared_ptr<Machine> machine, ShardId shard,
                                                 BatchOptions options) {
  return std::make_unique<BuilderHandle>(
      std::make_shared<BuilderState>(std::move(machine), shard, options));
}

}  // namespace freshet::persist
