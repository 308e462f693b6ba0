// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <catch2/catch.hpp>
#include <testing/sim_scheduler.h>

#include <freshet/repr/row.h>
#include <freshet/storage/storage.h>

#include "generator.h"

namespace freshet::storage {
namespace {

using storage_api::LoadGenerator;
using testing::SimScheduler;
using Content = std::map<std::string, repr::Diff>;

constexpr GlobalId id_of(std::uint64_t number) { return {GlobalId::Kind::kUser, number}; }

LoadGenerator tpch(double scale_factor) {
  return {.kind = LoadGenerator::Kind::kTpch, .scale_factor = scale_factor};
}

repr::RowCodec codec(const repr::RelationDesc& desc) {
  std::vector<repr::SqlType> types;
  for (const auto& column : desc.type.columns) types.push_back(column.type);
  return repr::RowCodec(std::move(types));
}

// The content of each output after the load and so many ticks.
std::vector<Content> generate(const LoadGenerator& options, std::uint64_t ticks) {
  auto generator = make_generator(options);
  std::vector<Content> outputs(storage_api::generator_outputs(options).size());
  auto add = [&](const GeneratedSlice& slice) {
    Content& content = outputs[slice.output];
    for (std::size_t i = 0; i < slice.updates.size(); ++i) {
      const std::string row(slice.updates.rows[i]);
      if ((content[row] += slice.updates.diff(i)) == 0) content.erase(row);
    }
  };
  while (auto slice = generator->next_load_slice()) add(*slice);
  for (std::uint64_t tick = 1; tick <= ticks; ++tick) {
    for (const GeneratedSlice& slice : generator->tick(tick)) add(slice);
  }
  return outputs;
}

TEST_CASE("tpch: tables have the sizes, keys and references of the benchmark", "[storage][tpch]") {
  const auto descs = storage_api::generator_outputs(tpch(0.01));
  const auto outputs = generate(tpch(0.01), 0);
  const std::size_t expected[] = {100, 2000, 8000, 1500, 15000, 0, 25, 5};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (descs[i].first != "lineitem") CHECK(outputs[i].size() == expected[i]);
    const repr::RowCodec rows = codec(descs[i].second);
    std::set<std::string> keys;
    for (const auto& [bytes, diff] : outputs[i]) {
      CHECK(diff == 1);
      auto row = rows.decode_row(bytes);
      REQUIRE(row);
      std::string key;
      for (const std::size_t column : descs[i].second.type.keys[0]) {
        key += repr::encode_key((*row)[column], descs[i].second.type.columns[column].type);
      }
      CHECK(keys.insert(key).second);
      if (descs[i].first == "lineitem" || descs[i].first == "partsupp") {
        const auto supplier = (*row)[descs[i].first == "lineitem" ? 2 : 1].get<std::int64_t>();
        CHECK((supplier >= 1 && supplier <= 100));
      }
      if (descs[i].first == "orders") {
        CHECK((*row)[1].get<std::int64_t>() % 3 != 0);
        const std::string date = repr::to_text((*row)[4], repr::TypeKind::kDate);
        CHECK((date >= "1992-01-01" && date <= "1998-08-02"));
      }
    }
  }
  CHECK(outputs[5].size() > 4 * outputs[4].size() * 9 / 10);
  CHECK(outputs[5].size() < 4 * outputs[4].size() * 11 / 10);
}

TEST_CASE("tpch: ticks retract exactly what they replace, also after skipping", "[storage][tpch]") {
  const LoadGenerator options = tpch(0.001);
  const auto before = generate(options, 0);
  const auto after = generate(options, 3000);
  for (std::size_t i = 0; i < after.size(); ++i) {
    for (const auto& [row, diff] : after[i]) CHECK(diff == 1);
    const bool churns = i == 4 || i == 5;
    CHECK((before[i] == after[i]) == !churns);
  }
  CHECK(after[4].size() == before[4].size());
  auto resumed = make_generator(options);
  for (std::uint64_t tick = 1; tick <= 2999; ++tick) resumed->skip(tick);
  for (const GeneratedSlice& slice : resumed->tick(3000)) {
    for (std::size_t i = 0; i < slice.updates.size(); ++i) {
      if (slice.updates.diff(i) > 0) {
        CHECK(after[slice.output].contains(std::string(slice.updates.rows[i])));
      }
    }
  }
}

struct Source {
  explicit Source(LoadGenerator options, std::uint64_t seed = 3)
      : generator(options), sim(seed), process(sim.new_process()) {
    storage = std::move(*sim.wait(make_memory_storage({process, *logger})));
    std::vector<GlobalId> outputs;
    const auto descs = storage_api::generator_outputs(generator);
    for (std::size_t i = 0; i < descs.size(); ++i) outputs.push_back(id_of(10 + i));
    created = process.clock().wall_micros();
    REQUIRE(sim.wait(storage->send(storage_api::CreateCollection{
        .id = id_of(1),
        .kind = storage_api::IngestionCollection{generator, outputs},
        .desc = storage_api::progress_desc(),
        .since = created})));
    for (std::size_t i = 0; i < descs.size(); ++i) {
      REQUIRE(sim.wait(storage->send(storage_api::CreateCollection{
          .id = outputs[i], .kind = storage_api::IngestionOutput{id_of(1)}, .desc = descs[i].second})));
    }
  }
  void start() {
    REQUIRE(sim.wait(storage->send(storage_api::InitializationComplete{})));
  }
  Content read(GlobalId id, SqlTime as_of) {
    auto reader = sim.wait(storage->open_reader(id, as_of));
    REQUIRE(reader);
    Content content;
    while (true) {
      auto event = sim.wait((*reader)->next());
      REQUIRE(event);
      for (std::size_t i = 0; i < event->updates.oks.size(); ++i) {
        if (event->updates.oks.time(i) > as_of) continue;
        const std::string row(event->updates.oks.rows[i]);
        if ((content[row] += event->updates.oks.diff(i)) == 0) content.erase(row);
      }
      if (event->upper > as_of) return content;
    }
  }
  SqlTime now() { return process.clock().wall_micros(); }

  LoadGenerator generator;
  SimScheduler sim;
  base::Scheduler& process;
  std::unique_ptr<base::Logger> logger = base::make_null_logger();
  std::unique_ptr<storage_api::Storage> storage;
  SqlTime created = 0;
};

TEST_CASE("ingestion: a read right after creation waits for the load and sees all of it",
          "[storage][ingestion]") {
  Source source(tpch(0.001));
  auto opening = source.storage->open_reader(id_of(10 + 4), source.now());
  source.sim.run_ready();
  CHECK_FALSE(opening.is_ready());  // it has not started
  source.start();
  REQUIRE(source.sim.wait(std::move(opening)));
  const auto expected = generate(source.generator, 0);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(source.read(id_of(10 + i), source.created) == expected[i]);
  }
}

TEST_CASE("ingestion: progress says how many ticks the outputs contain, at every time",
          "[storage][ingestion]") {
  LoadGenerator options{.kind = LoadGenerator::Kind::kCounter, .max_cardinality = 5};
  Source source(options);
  source.start();
  repr::RowCodec number({repr::TypeKind::kInt8});
  for (int i = 0; i < 30; ++i) {
    source.sim.run_for(std::chrono::milliseconds(700));
    const SqlTime now = source.now();
    const Content progress = source.read(id_of(1), now);
    REQUIRE(progress.size() == 1);
    const auto offset = number.decode_row(progress.begin()->first)->at(0).get<std::int64_t>();
    Content expected;
    for (std::int64_t n = std::max<std::int64_t>(1, offset - 5); n < offset; ++n) {
      expected[number.encode({repr::Datum(n)})] = 1;
    }
    CHECK(source.read(id_of(10), now) == expected);
  }
  const auto offset =
      number.decode_row(source.read(id_of(1), source.now()).begin()->first)->at(0).get<std::int64_t>();
  CHECK(offset >= 20);
}

}  // namespace
}  // namespace freshet::storage
