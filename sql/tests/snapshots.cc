// SPDX-License-Identifier: Apache-2.0
#include "snapshots.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

namespace freshet::sql::testing {

void run_script(const std::string& path,
                const std::function<std::string(const std::string& command, const std::string& input)>& answer) {
  const std::string name = std::string(FRESHET_SQL_TESTS) + "/" + path;
  std::ifstream in(name);
  REQUIRE(in.good());
  const bool rewrite = std::getenv("FRESHET_REWRITE") != nullptr;
  std::string out;
  std::string line;
  std::size_t cases = 0;
  while (std::getline(in, line)) {
    if (line.empty() || line.starts_with("#")) {
      out += line + "\n";
      continue;
    }
    const std::string command = line;
    std::string input;
    while (std::getline(in, line) && line != "----") input += (input.empty() ? "" : "\n") + line;
    std::string expected;
    while (std::getline(in, line) && !line.empty()) expected += line + "\n";
    std::string actual = answer(command, input);
    if (!actual.empty() && actual.back() != '\n') actual += '\n';
    ++cases;
    out += command + "\n" + input + (input.empty() ? "" : "\n") + "----\n" + actual + "\n";
    if (rewrite) continue;
    INFO(path << ": " << command << "\n" << input);
    CHECK(actual == expected);
  }
  REQUIRE(cases > 0);
  if (rewrite) std::ofstream(name) << out;
}

}  // namespace freshet::sql::testing
