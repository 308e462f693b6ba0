// SPDX-License-Identifier: Apache-2.0
#include "compute_client.h"

#include <catch2/catch.hpp>
#include <freshet/base/sqlstate.h>
#include <testing/sim_scheduler.h>

namespace freshet::adapter {
namespace {

constexpr GlobalId kView{GlobalId::Kind::kUser, 1};
constexpr GlobalId kOther{GlobalId::Kind::kUser, 2};

/// Answers only what the test makes it answer.
class SilentCompute final : public compute_api::Compute {
 public:
  void on_response(std::function<void(compute_api::ComputeResponse)> handler) override { respond = std::move(handler); }
  void send(compute_api::ComputeCommand command) override { sent.push_back(std::move(command)); }
  std::function<void(compute_api::ComputeResponse)> respond;
  std::vector<compute_api::ComputeCommand> sent;
};

struct Fixture {
  testing::SimScheduler sim{1};
  SilentCompute compute;
  ComputeClient client{compute, 1, [](GlobalId, SqlTime) {}};
  base::Future<PeekResult> read(GlobalId collection, std::set<GlobalId> reads) {
    compute_api::Peek peek{.id = client.new_peek_id(), .target = compute_api::Peek::Collection{collection, {}},
                           .time = 5, .mfp = expr::Mfp::identity(0)};
    return client.peek(std::move(peek), 1000, std::move(reads));
  }
  void lose(GlobalId id) {
    compute.respond(compute_api::ExportFailure{id, Error{.code = ErrorCode::kCorrupt, .message = "a part is broken"}});
  }
};

TEST_CASE("compute client: a read of a view whose sink fails is answered with the error", "[adapter]") {
  Fixture f;
  auto before = f.read(kView, {kView});
  auto above = f.read(kOther, {kOther, kView});
  auto beside = f.read(kOther, {kOther});
  f.lose(kView);
  for (auto* read : {&before, &above}) {
    const auto answer = f.sim.wait(std::move(*read));
    REQUIRE_FALSE(answer);
    CHECK(answer.error().message == "a part is broken");
    CHECK(answer.error().sqlstate == SqlState("XX001"));
  }
  CHECK_FALSE(beside.is_ready());
  const std::size_t sent = f.compute.sent.size();
  const auto after = f.sim.wait(f.read(kView, {kView}));
  REQUIRE_FALSE(after);
  CHECK(f.compute.sent.size() == sent);
  // Made anew, it answers again.
  f.compute.respond(compute_api::Dropped{kView});
  auto again = f.read(kView, {kView});
  f.compute.respond(compute_api::PeekResponse{.id = std::get<compute_api::Peek>(f.compute.sent.back()).id});
  CHECK(f.sim.wait(std::move(again)));
}

TEST_CASE("compute client: a source that ended fails what reads it, before and after", "[adapter]") {
  Fixture f;
  const auto before = f.client.open_subscription(kView, {kOther});
  const auto beside = f.client.open_subscription({GlobalId::Kind::kUser, 3}, {kView});
  f.client.mark_failed(kOther, sql_error(sqlstate::kAdminShutdown, "gone"));
  const auto after = f.client.open_subscription({GlobalId::Kind::kUser, 4}, {kOther});
  for (const auto& queue : {before, after}) {
    const auto batch = f.sim.wait(queue->next());
    REQUIRE_FALSE(batch);
    CHECK(batch.error().sqlstate == sqlstate::kAdminShutdown);
  }
  CHECK_FALSE(beside->next().is_ready());
  f.client.forget_failure(kOther);
  CHECK_FALSE(f.read(kOther, {kOther}).is_ready());
}

TEST_CASE("compute client: a result beyond its limit ends the read", "[adapter]") {
  Fixture f;
  auto read = f.read(kView, {kView});
  compute_api::PeekResponse part{.id = std::get<compute_api::Peek>(f.compute.sent.back()).id, .last = false};
  part.rows.push_back(std::string(2000, 'x'));
  f.compute.respond(part);
  const auto answer = f.sim.wait(std::move(read));
  REQUIRE_FALSE(answer);
  CHECK(answer.error().sqlstate == SqlState("54000"));
  CHECK(std::holds_alternative<compute_api::CancelPeek>(f.compute.sent.back()));
}

}  // namespace
}  // namespace freshet::adapter
