// SPDX-License-Identifier: Apache-2.0
#include "group.h"

#include <algorithm>

#include <freshet/base/assert.h>

#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

class Hold::Implementation {
 public:
  Implementation(std::shared_ptr<Machine> machine, ShardId shard, Time at)
      : machine_(std::move(machine)), shard_(shard), at_(at) {}
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() { machine_->change_hold(shard_, at_, std::nullopt); }

  [[nodiscard]] ShardId shard() const { return shard_; }
  [[nodiscard]] Time at() const { return at_; }
  void downgrade(Time to) {
    if (to <= at_) return;
    machine_->change_hold(shard_, at_, to);
    at_ = to;
  }

 private:
  std::shared_ptr<Machine> machine_;
  ShardId shard_;
  Time at_;
};

Hold::Hold() = default;
Hold::Hold(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Hold::Hold(Hold&&) noexcept = default;
Hold& Hold::operator=(Hold&&) noexcept = default;
Hold::~Hold() = default;
ShardId Hold::shard() const { return implementation_->shard(); }
Time Hold::at() const { return implementation_->at(); }
void Hold::downgrade(Time to) { implementation_->downgrade(to); }

namespace {

Future<Hold> take_hold(std::shared_ptr<Machine> machine, ShardId shard, Time at) {
  return on(machine, Machine::hold(machine, shard, at)).and_then([shard, at](const auto& self) {
    return Hold(std::make_unique<Hold::Implementation>(self, shard, at));
  });
}

Future<std::unique_ptr<Reader>> open_reader(std::shared_ptr<Machine> machine, ReadOptions options) {
  if (options.until <= options.as_of || options.as_of == kClosed) {
    return Future<std::unique_ptr<Reader>>::ready(
        fail(ErrorCode::kInvalid, "a read ends before it begins"));
  }
  return on(machine, take_hold(machine, options.shard, options.as_of))
      .and_then([options = std::move(options)](const auto& self, Hold hold) mutable {
        return make_reader(self, std::move(options), std::move(hold));
      });
}

class GroupHandle final : public Group {
 public:
  explicit GroupHandle(std::shared_ptr<Machine> machine) : machine_(std::move(machine)) {}
  [[nodiscard]] const std::string& name() const override { return machine_->name(); }
  Future<Epoch> acquire_writer() override { return Machine::acquire(machine_); }
  Future<Unit> join_writer(Epoch epoch) override { return Machine::join(machine_, epoch); }
  Future<CommitOutcome> commit(Commit commit) override {
    return Machine::commit(machine_, std::move(commit));
  }
  std::unique_ptr<BatchBuilder> build_batch(ShardId shard, BatchOptions options) override {
    return make_batch_builder(machine_, shard, options);
  }
  void downgrade_since(ShardId shard, Time since) override {
    machine_->downgrade_since(shard, since);
  }
  [[nodiscard]] std::optional<ShardInfo> shard(ShardId shard) const override {
    return machine_->shard(shard);
  }
  [[nodiscard]] std::vector<ShardInfo> shards() const override { return machine_->shards(); }
  [[nodiscard]] Epoch epoch() const override { return machine_->epoch(); }
  Future<Time> upper_past(ShardId shard, Time time) override {
    return machine_->upper_past(shard, time);
  }
  Future<Unit> refresh() override { return Machine::refresh(machine_); }
  Future<Hold> hold(ShardId shard, Time at) override { return take_hold(machine_, shard, at); }
  Future<std::unique_ptr<Reader>> read(ReadOptions options) override {
    return open_reader(machine_, std::move(options));
  }

 private:
  std::shared_ptr<Machine> machine_;
};

}  // namespace

std::shared_ptr<Group> make_group(std::shared_ptr<Machine> machine) {
  return std::make_shared<GroupHandle>(std::move(machine));
}

}  // namespace freshet::persist
