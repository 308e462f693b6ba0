// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include <catch2/catch.hpp>
#include <memory>
#include <thread>

namespace freshet::adapter {
namespace {

/// The fastest of schedulers: a task is done, on a thread of its own, before `post` returns.
class AtOnce final : public base::Scheduler {
 public:
  void post(base::Task task) override { std::thread(std::move(task)).join(); }
  void post_blocking(base::Task task) override { post(std::move(task)); }
  base::TimerId at(base::Instant, base::TaskQueue&, base::Task) override { return 0; }
  bool cancel(base::TimerId) override { return false; }
  [[nodiscard]] const base::Clock& clock() const override { return *clock_; }

 private:
  std::unique_ptr<base::Clock> clock_ = base::make_system_clock();
};

TEST_CASE("oracle: a read is answered when its reservation fails at once", "[adapter]") {
  AtOnce scheduler;
  bool broken = true;
  Oracle oracle(scheduler, 0, [&](SqlTime) {
    return base::Future<base::Unit>::ready(broken ? Result<base::Unit>(fail(ErrorCode::kUnavailable, "the disk is full"))
                                                  : Result<base::Unit>(base::Unit{}));
  });
  const auto refused = oracle.read_timestamp().poll();
  REQUIRE(refused.has_value());
  REQUIRE(refused->error().message == "the disk is full");
  broken = false;
  const auto given = oracle.read_timestamp().poll();
  REQUIRE(given.has_value());
  REQUIRE(given->has_value());
  CHECK(oracle.write_timestamp() > **given);
}

}  // namespace
}  // namespace freshet::adapter
