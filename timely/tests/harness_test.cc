// SPDX-License-Identifier: Apache-2.0
// The harness for operators, on operators whose faults only a frontier shows.
#include <testing/operator_harness.h>
#include <timely/notificator.h>

#include <catch2/catch.hpp>

#include <map>

namespace timely {
namespace {

using Time = std::uint64_t;
using Numbers = std::vector<std::uint64_t>;

/// Holds numbers until their time is complete.
struct Hold {
  std::map<Time, Numbers> held{};
  Notificator<Time> notificator{};
  void step(Input<Time, Numbers>& input, Output<Time, Numbers>& output) {
    input.for_each([&](const Capability<Time>& at, Numbers numbers) {
      auto [place, fresh] = held.try_emplace(at.time());
      if (fresh) notificator.notify_at(at.retain());
      place->second.insert(place->second.end(), numbers.begin(), numbers.end());
    });
    notificator.for_each({&input.frontier()}, [&](Capability<Time> done) {
      output.give(done, held.extract(done.time()).mapped());
    });
  }
};

/// Keeps the first capability for ever.
struct Hoarder {
  Capability<Time> kept{};
  void step(Input<Time, Numbers>& input, Output<Time, Numbers>& output) {
    input.for_each([&](const Capability<Time>& at, Numbers numbers) {
      if (!kept.valid()) kept = at.retain();
      output.give(at, std::move(numbers));
    });
  }
};

TEST_CASE("harness: shows what was sent and the output frontier", "[timely][harness]") {
  testing::OperatorHarness<Time, Numbers, Hold> hold;
  CHECK(hold.output_frontier() == Antichain<Time>{0});
  hold.send(2, {7});
  hold.send(3, {8});
  hold.advance_to({2});
  CHECK(hold.batches() == 0);
  CHECK(hold.output_frontier() == Antichain<Time>{2});
  hold.advance_to({3});
  CHECK(hold.received() == Numbers{7});
  CHECK(hold.output_frontier() == Antichain<Time>{3});
  hold.close();
  CHECK(hold.received() == Numbers{7, 8});
  CHECK(hold.output_frontier().empty());
}

TEST_CASE("harness: a capability kept too long shows", "[timely][harness]") {
  testing::OperatorHarness<Time, Numbers, Hoarder> hoarder;
  hoarder.send(2, {7});
  hoarder.advance_to({5});
  CHECK(hoarder.received() == Numbers{7});
  CHECK(hoarder.output_frontier() == Antichain<Time>{2});
  hoarder.close();
  CHECK(hoarder.output_frontier() == Antichain<Time>{2});
}

TEST_CASE("harness: messages and capabilities may hold several times",
          "[timely][harness][capability]") {
  using Pair = Product<Time, Time>;
  struct Merge {
    Capability<Pair> all{};
    void step(Input<Pair, Numbers>& input, Output<Pair, Numbers>& output) {
      input.for_each([&](const Capability<Pair>& at, const Numbers&) {
        Antichain<Pair> times = at.times();
        if (all.valid()) times.extend(all.times());
        all = at.times() == times ? at.retain() : at.delayed(at.times());
      });
      if (all.valid() && input.frontier().empty()) output.give(std::exchange(all, {}), {1});
    }
  };
  testing::OperatorHarness<Pair, Numbers, Merge> merge;
  merge.send_at({Pair{1, 3}, Pair{3, 1}}, {5});
  merge.advance_to({Pair{9, 9}});
  CHECK(merge.output_frontier() == Antichain<Pair>{Pair{1, 3}, Pair{3, 1}});
  merge.close();
  REQUIRE(merge.messages().size() == 1);
  CHECK(merge.messages()[0].first == Antichain<Pair>{Pair{1, 3}, Pair{3, 1}});
  CHECK(merge.output_frontier().empty());
}

}  // namespace
}  // namespace timely
