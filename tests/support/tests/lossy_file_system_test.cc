// SPDX-License-Identifier: Apache-2.0
#include <testing/lossy_file_system.h>

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace testing {
namespace {

using freshet::base::Bytes;
using freshet::base::ErrorCode;
using freshet::base::OpenMode;

constexpr int kSeeds = 200;

void put(LossyFileSystem& disk, const std::string& path, const Bytes& bytes, bool sync) {
  const auto file = disk.open(path, OpenMode::kCreate).value();
  REQUIRE(file->write_at(0, bytes));
  if (sync) REQUIRE(file->sync());
}

std::string content(LossyFileSystem& disk, const std::string& path) {
  const auto file = disk.open(path, OpenMode::kRead);
  if (!file) return "-";
  return (*file)->read_at(0, 100000).value();
}

TEST_CASE("lossy: what is synced, name and content, survives every restart", "[testing][lossy]") {
  for (int seed = 0; seed < kSeeds; ++seed) {
    LossyFileSystem disk(static_cast<std::uint64_t>(seed));
    REQUIRE(disk.make_directory("/d/e"));
    REQUIRE(disk.sync_directory("/"));
    REQUIRE(disk.sync_directory("/d"));
    put(disk, "/d/e/a", "kept", true);
    REQUIRE(disk.rename("/d/e/a", "/d/e/b"));
    REQUIRE(disk.sync_directory("/d/e"));
    disk.restart();
    CHECK(content(disk, "/d/e/b") == "kept");
    CHECK(disk.list("/d/e").value() == std::vector<std::string>{"b"});
  }
}

TEST_CASE("lossy: without a sync everything can happen, and does", "[testing][lossy]") {
  std::set<std::string> contents;
  std::set<std::string> names;
  const Bytes old(1024, 'o');
  const Bytes fresh(1024, 'n');
  for (int seed = 0; seed < kSeeds; ++seed) {
    LossyFileSystem disk(static_cast<std::uint64_t>(seed));
    put(disk, "/a", old, true);
    REQUIRE(disk.sync_directory("/"));
    put(disk, "/a", fresh, false);
    put(disk, "/new", "x", true);
    disk.restart();
    contents.insert(content(disk, "/a"));
    names.insert(content(disk, "/new"));
  }
  // Old, new, and each half torn; the name there or not.
  CHECK(contents.size() == 4);
  CHECK(contents.count(old) + contents.count(fresh) == 2);
  CHECK(names == std::set<std::string>{"-", "x"});
}

TEST_CASE("lossy: a rename without content sync may give an empty or a torn file",
          "[testing][lossy]") {
  std::set<std::string> contents;
  for (int seed = 0; seed < kSeeds; ++seed) {
    LossyFileSystem disk(static_cast<std::uint64_t>(seed));
    put(disk, "/tmp", "data", false);
    REQUIRE(disk.rename("/tmp", "/a"));
    REQUIRE(disk.sync_directory("/"));
    disk.restart();
    contents.insert(content(disk, "/a"));
  }
  CHECK(contents == std::set<std::string>{"", std::string(4, '\0'), "data"});
}

TEST_CASE("lossy: power goes at the chosen operation, and old files stay dead",
          "[testing][lossy]") {
  LossyFileSystem disk(1);
  const auto file = disk.open("/a", OpenMode::kCreate).value();
  const auto lock = disk.lock("/lock").value();
  CHECK(disk.lock("/lock").error().code == ErrorCode::kConflict);
  disk.power_off_after(1);
  REQUIRE(file->write_at(0, "x"));
  CHECK(file->sync().error().code == ErrorCode::kUnavailable);
  CHECK(disk.is_off());
  CHECK_FALSE(disk.exists("/a"));
  disk.restart();
  CHECK_FALSE(file->read_at(0, 1));
  CHECK(disk.lock("/lock"));
}

TEST_CASE("lossy: a failed sync loses its writes for good; a full disk takes nothing",
          "[testing][lossy]") {
  LossyFileSystem disk(1);
  const auto file = disk.open("/a", OpenMode::kCreate).value();
  REQUIRE(disk.sync_directory("/"));
  disk.fail_sync_after(0);
  REQUIRE(file->write_at(0, "gone"));
  CHECK_FALSE(file->sync());
  CHECK(disk.sync_failed());
  REQUIRE(file->write_at(4, "kept"));
  REQUIRE(file->sync());
  CHECK(file->read_at(0, 9).value() == "gonekept");
  disk.restart();
  CHECK(content(disk, "/a") == std::string(4, '\0') + "kept");
  CHECK(disk.used() == 8);
  disk.set_capacity(10);
  const auto again = disk.open("/a", OpenMode::kReadWrite).value();
  CHECK(again->write_at(7, "wxyz").error().code == ErrorCode::kExhausted);
  CHECK(again->write_at(7, "wxy"));
  REQUIRE(disk.remove("/a"));
  CHECK(disk.used() == 0);
}

TEST_CASE("durable directories: none is lost once made, wherever power went before",
          "[testing][files]") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    LossyFileSystem disk(seed);
    disk.power_off_after(seed % 8);
    const bool made = make_durable_directory(disk, "/a/b/c").has_value();
    disk.restart();
    CHECK((!made || disk.exists("/a/b/c").value()));
    // The first process was killed between making "/x" and syncing it; the power failed later.
    REQUIRE(disk.make_directory("/x"));
    REQUIRE(make_durable_directory(disk, seed % 2 == 0 ? "/x" : "/x/y/"));
    disk.restart();
    CHECK(disk.exists(seed % 2 == 0 ? "/x" : "/x/y").value());
  }
}

}  // namespace
}  // namespace testing
