// SPDX-License-Identifier: Apache-2.0
// Removing a group for ever.
#include "machine.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {
/// A commit of ours may be under way when we begin, so the state may change once or twice.
constexpr int kChangesMax = 3;
}  // namespace

/// First the state goes, so that nothing names the objects any more; then, when the last reader has
/// let go of them, the objects. A process that dies in between leaves objects of a group that is no
/// more, and the next start removes those.
class Machine::Erasure final : public Flow<Erasure, Unit> {
 public:
  explicit Erasure(std::shared_ptr<Machine> machine) : machine_(std::move(machine)) {}
  base::TaskQueue& queue() { return machine_->queue(); }

  void begin() {
    machine_->close();
    await(refresh(machine_), &Erasure::remove_state);
  }

 private:
  void remove_state() {
    const std::uint64_t seqno = machine_->state().seqno;
    if (seqno == 0) return wait_for_readers();
    const auto remove = [&consensus = machine_->environment_.consensus, key = machine_->key_,
                         seqno] { return consensus.remove(key, seqno); };
    await(patiently<CasOutcome>(machine_, machine_->environment_.scheduler, remove),
          &Erasure::look_again);
  }

  // Whatever the answer was: of two attempts the second finds nothing.
  void look_again(CasOutcome) { await(head(machine_), &Erasure::found); }

  void found(std::optional<Version> head) {
    if (!head) return wait_for_readers();
    if (++changes_ < kChangesMax) return await(refresh(machine_), &Erasure::remove_state);
    finish(fail(ErrorCode::kConflict, "group \"" + machine_->name_ + "\" is in use"));
  }

  void wait_for_readers() { await(machine_->unpinned(), &Erasure::list); }
  void list() { await(list_objects(machine_), &Erasure::remove); }
  void remove(std::vector<std::string> keys) {
    finish_with(remove_objects(machine_, std::move(keys)));
  }

  std::shared_ptr<Machine> machine_;
  int changes_ = 0;
};

Future<Unit> Machine::erase(std::shared_ptr<Machine> self) {
  return Erasure::start(std::move(self));
}

}  // namespace freshet::persist
