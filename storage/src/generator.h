// SPDX-License-Identifier: Apache-2.0
/// Load generators: deterministic content as a function of (options, tick), so that a restart goes on
/// exactly where the durable progress says.
///
/// Offset 0 is before the first load, offset 1 after it; each tick adds one.
#pragma once

#include <memory>
#include <vector>

#include "ledger.h"

namespace freshet::storage {

/// Rows of one output, encoded; one diff a row, times unset.
struct GeneratedSlice {
  std::size_t output = 0;
  storage_api::EncodedUpdates updates{};
};

class Generator {
 public:
  virtual ~Generator() = default;
  /// The next piece of the first load; nothing when it is complete. Bounded: about 64k rows a piece.
  virtual std::optional<GeneratedSlice> next_load_slice() = 0;
  /// The changes of tick `offset` (1 is the first after the load). Ticks come in order, without gaps; those
  /// that are durable already are replayed with `skip`.
  virtual std::vector<GeneratedSlice> tick(std::uint64_t offset) = 0;
  virtual void skip(std::uint64_t offset) = 0;
};

std::unique_ptr<Generator> make_generator(const storage_api::LoadGenerator& options);
std::unique_ptr<Generator> make_counter_generator(const storage_api::LoadGenerator& options);
std::unique_ptr<Generator> make_tpch_generator(const storage_api::LoadGenerator& options);

}  // namespace freshet::storage
