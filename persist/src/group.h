// SPDX-License-Identifier: Apache-2.0
// The handles that callers hold, on top of a machine.
#pragma once

#include <memory>

#include <freshet/persist/group.h>

namespace freshet::persist {

class Machine;

std::shared_ptr<Group> make_group(std::shared_ptr<Machine> machine);
std::unique_ptr<Reader> make_reader(std::shared_ptr<Machine> machine, ReadOptions options,
                                    Hold hold);
std::unique_ptr<BatchBuilder> make_batch_builder(std::shared_ptr<Machine> machine, ShardId shard,
                                                 BatchOptions options);

}  // namespace freshet::persist
