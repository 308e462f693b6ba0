// SPDX-License-Identifier: Apache-2.0
#include "data_directory.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <freshet/server/server.h>

namespace freshet::server {
namespace {

/// Goes with what is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "freshet-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string path;
};

TEST_CASE("data directory: one of another format is refused, and both formats are named", "[server]") {
  const TemporaryDirectory directory;
  const auto files = base::make_posix_file_system();
  std::ofstream(directory.path + "/format") << "1\n";
  const auto refused = DataDirectory::open(*files, directory.path);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::ErrorCode::kInvalid);
  CHECK(refused.error().message == "data directory \"" + directory.path +
                                       "\" was written by another version of Freshet: its format is 1, this version reads 2");
  std::filesystem::remove(directory.path + "/format");
  CHECK(DataDirectory::open(*files, directory.path));
}

TEST_CASE("data directory: a start that is refused for its address leaves nothing behind", "[server]") {
  const TemporaryDirectory directory;
  const auto log = base::make_stderr_logger(base::LogLevel::kError);
  const auto taken = Server::start({.data_directory = ":memory:", .listen = "127.0.0.1:0"}, *log);
  REQUIRE(taken);
  for (const std::string& address : {std::string("nowhere"), (*taken)->address()}) {
    CAPTURE(address);
    const std::string data = directory.path + "/data";
    const auto refused = Server::start({.data_directory = data, .listen = address}, *log);
    REQUIRE_FALSE(refused);
    CHECK_FALSE(std::filesystem::exists(data));
  }
}

}  // namespace
}  // namespace freshet::server
