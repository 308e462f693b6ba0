// SPDX-License-Identifier: Apache-2.0
// The contracts of Blob and Consensus, checked against every implementation, plain and with delays.
#include <unistd.h>
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>

#include <freshet/persist/blob.h>
#include <freshet/persist/consensus.h>
#include <freshet/persist/faults.h>
#include <testing/sim_scheduler.h>

namespace freshet::persist {
namespace {

using ::testing::SimScheduler;

struct TemporaryDirectory {
  TemporaryDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "freshet-persist-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  std::string path;
};

SharedBytes shared(base::Bytes bytes) {
  return std::make_shared<const base::Bytes>(std::move(bytes));
}

struct BlobWorld {
  SimScheduler sim{3};
  SimScheduler::Process& process = sim.new_process();
  TemporaryDirectory directory;
  std::unique_ptr<base::FileSystem> files = base::make_posix_file_system();
  std::unique_ptr<Blob> inner;
  std::unique_ptr<FaultControl> faults;
  std::unique_ptr<Blob> blob;

  explicit BlobWorld(const std::string& kind) {
    if (kind == "file") {
      blob = make_file_blob(process, *files, directory.path + "/blob").value();
      return;
    }
    blob = make_memory_blob();
    if (kind == "memory") return;
    inner = std::move(blob);
    faults = std::make_unique<FaultControl>(
        process, 1, FaultRates{.delay_max = std::chrono::microseconds(900)});
    blob = make_faulty_blob(*faults, *inner);
  }
  template <typename T>
  Result<T> wait(base::Future<T> future) {
    return sim.wait(std::move(future));
  }
};

TEST_CASE("blob: every implementation keeps the contract", "[persist][blob]") {
  const auto kind = GENERATE(as<std::string>(), "memory", "file", "delayed");
  INFO(kind);
  BlobWorld w(kind);
  CHECK(w.wait(w.blob->get("a/b")).error().code == ErrorCode::kNotFound);
  CHECK(w.wait(w.blob->list(""))->empty());
  REQUIRE(w.wait(w.blob->set("a/b", shared("0123456789"))));
  REQUIRE(w.wait(w.blob->set("a/c", shared(""))));
  REQUIRE(w.wait(w.blob->set("ab", shared("other"))));
  CHECK(w.wait(w.blob->get("a/b")).value() == "0123456789");
  CHECK(w.wait(w.blob->get("a/c")).value().empty());
  CHECK(w.wait(w.blob->get_range("a/b", 3, 4)).value() == "3456");
  CHECK(w.wait(w.blob->get_range("a/b", 10, 0)).value().empty());
  CHECK(w.wait(w.blob->get_range("a/b", 8, 3)).error().code == ErrorCode::kCorrupt);
  REQUIRE(w.wait(w.blob->set("a/b", shared("0123456789"))));  // a retry
  const auto listed = w.wait(w.blob->list("a/")).value();
  REQUIRE(listed.size() == 2);
  CHECK((listed[0].key == "a/b" && listed[0].size == 10 && listed[1].key == "a/c"));
  CHECK(w.wait(w.blob->list(""))->size() == 3);
  REQUIRE(w.wait(w.blob->remove("a/b")));
  REQUIRE(w.wait(w.blob->remove("a/b")));
  CHECK(w.wait(w.blob->get("a/b")).error().code == ErrorCode::kNotFound);
  CHECK(w.wait(w.blob->list("a/"))->size() == 1);
}

TEST_CASE("blob: errors name the file in which an object lies", "[persist][blob]") {
  BlobWorld w("file");
  REQUIRE(w.wait(w.blob->set("tables/1/p8", shared("0123456789"))));
  const std::vector<std::string> names = w.files->list(w.directory.path + "/blob").value();
  REQUIRE(names.size() == 1);
  CHECK(w.blob->location("tables/1/p8") == names[0]);
  const Error error = w.wait(w.blob->get_range("tables/1/p8", 8, 3)).error();
  CHECK_THAT(error.message, Catch::Contains(names[0]));
}

TEST_CASE("blob: a second handle sees what the first wrote, and sweeps its leftovers",
          "[persist][blob]") {
  BlobWorld w("file");
  REQUIRE(w.wait(w.blob->set("k", shared("v"))));
  const auto left = w.files->open(w.directory.path + "/blob/tmp=77", base::OpenMode::kCreateNew);
  REQUIRE(left);
  const auto again = make_file_blob(w.process, *w.files, w.directory.path + "/blob").value();
  CHECK(w.wait(again->get("k")).value() == "v");
  CHECK(w.files->list(w.directory.path + "/blob").value() == std::vector<std::string>{"k"});
}

struct ConsensusWorld {
  SimScheduler sim{3};
  SimScheduler::Process& process = sim.new_process();
  TemporaryDirectory directory;
  std::unique_ptr<Consensus> inner;
  std::unique_ptr<FaultControl> faults;
  std::unique_ptr<Consensus> consensus;

  explicit ConsensusWorld(const std::string& kind) {
    if (kind == "sqlite") {
      consensus = make_sqlite_consensus(process, {.path = directory.path + "/c.db"}).value();
      return;
    }
    consensus = make_memory_consensus();
    if (kind == "memory") return;
    inner = std::move(consensus);
    faults = std::make_unique<FaultControl>(
        process, 1, FaultRates{.delay_max = std::chrono::microseconds(900)});
    consensus = make_faulty_consensus(*faults, *inner);
  }
  template <typename T>
  Result<T> wait(base::Future<T> future) {
    return sim.wait(std::move(future));
  }
  CasOutcome set(const std::string& key, std::uint64_t seqno, const std::string& data) {
    return wait(consensus->compare_and_set(key, {seqno, data})).value();
  }
};

TEST_CASE("consensus: every implementation keeps the contract", "[persist][consensus]") {
  const auto kind = GENERATE(as<std::string>(), "memory", "sqlite", "delayed");
  INFO(kind);
  ConsensusWorld w(kind);
  Consensus& c = *w.consensus;
  using enum CasOutcome;
  CHECK_FALSE(w.wait(c.head("k")).value());
  CHECK(w.wait(c.scan("k", 0, 10))->empty());
  CHECK(w.wait(c.truncate("k", 1)).error().code == ErrorCode::kInvalid);
  CHECK(w.wait(c.remove("k", 0)).value() == kMismatch);
  CHECK(w.set("k", 2, "x") == kMismatch);
  CHECK(w.set("k", 1, "one") == kApplied);
  CHECK(w.set("k", 1, "again") == kMismatch);
  CHECK(w.set("k", 3, "x") == kMismatch);
  CHECK(w.set("k", 2, "") == kApplied);
  const std::string big(100000, 'b');
  CHECK(w.set("k", 3, big) == kApplied);
  CHECK(w.set("j", 1, "j") == kApplied);
  CHECK(*w.wait(c.head("k")).value() == Version{3, big});
  CHECK(w.wait(c.scan("k", 0, 2)).value() == std::vector<Version>{{1, "one"}, {2, ""}});
  CHECK(w.wait(c.scan("k", 3, 9))->size() == 1);
  CHECK(w.wait(c.scan("k", 4, 9))->empty());
  CHECK(w.wait(c.truncate("k", 4)).error().code == ErrorCode::kInvalid);
  REQUIRE(w.wait(c.truncate("k", 3)));
  REQUIRE(w.wait(c.truncate("k", 3)));
  CHECK(w.wait(c.scan("k", 0, 9)).value() == std::vector<Version>{{3, big}});
  CHECK(w.set("k", 4, "four") == kApplied);
  CHECK(w.wait(c.list_keys("")).value() == std::vector<std::string>{"j", "k"});
  CHECK(w.wait(c.list_keys("k")).value() == std::vector<std::string>{"k"});
  CHECK(w.wait(c.remove("k", 3)).value() == kMismatch);
  CHECK(w.wait(c.remove("k", 4)).value() == kApplied);
  CHECK_FALSE(w.wait(c.head("k")).value());
  CHECK(w.set("k", 5, "x") == kMismatch);
  CHECK(w.set("k", 1, "anew") == kApplied);
}

TEST_CASE("sqlite: many writers share a transaction, and only one of two rivals wins",
          "[persist][consensus]") {
  ConsensusWorld w("sqlite");
  std::vector<base::Future<CasOutcome>> pending;
  for (int i = 0; i < 50; ++i) {
    const std::string key = "k" + std::to_string(i % 25);
    pending.push_back(w.consensus->compare_and_set(key, {1, "v"}));
  }
  int applied = 0;
  for (auto& future : pending) applied += w.wait(std::move(future)).value() == CasOutcome::kApplied;
  CHECK(applied == 25);
}

TEST_CASE("sqlite: a second opener is refused, and a reopened database has everything",
          "[persist][consensus]") {
  ConsensusWorld w("sqlite");
  w.set("k", 1, "one");
  CHECK(make_sqlite_consensus(w.process, {.path = w.directory.path + "/c.db"}).error().code ==
        ErrorCode::kConflict);
  w.consensus.reset();
  w.consensus = make_sqlite_consensus(w.process, {.path = w.directory.path + "/c.db"}).value();
  CHECK(*w.wait(w.consensus->head("k")).value() == Version{1, "one"});
  CHECK(w.set("k", 2, "two") == CasOutcome::kApplied);
  CHECK(make_sqlite_consensus(w.process, {.path = w.directory.path + "/none/c.db"}).error().code ==
        ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace freshet::persist
