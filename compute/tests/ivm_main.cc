// SPDX-License-Identifier: Apache-2.0
// The property of ivm_property_test.cc for many seeds, and how often each kind of plan occurred.
//
//     compute_ivm [--seeds N] [--start S] [--threads | --simulated] [--naive] [--literal] [--workers W] [--least C]
//
// Without a choice every eighth seed runs on threads and the others in the simulator. Exit code 1 if a seed failed
// (its plan and contents are printed), if something that must occur did so less than C times (default: a hundredth
// of the seeds), or if fewer than 60 % of the contents held rows (unless C is 0).
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "support/ivm_check.h"

namespace {

struct Arguments {
  std::uint64_t seeds = 1000;
  std::uint64_t start = 1;
  std::optional<std::uint64_t> least{};
  std::optional<bool> threads{};
  compute_testing::IvmOptions options{};
};

bool parse(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (argument == "--seeds") {
      out.seeds = number();
    } else if (argument == "--start") {
      out.start = number();
    } else if (argument == "--least") {
      out.least = number();
    } else if (argument == "--workers") {
      out.options.workers = number();
    } else if (argument == "--threads") {
      out.threads = true;
    } else if (argument == "--simulated") {
      out.threads = false;
    } else if (argument == "--naive") {
      out.options.naive = true;
    } else if (argument == "--literal") {
      out.options.literal = true;
    } else {
      std::cerr << "unknown argument " << argument << "\n";
      return false;
    }
  }
  return true;
}

void print(const std::string& kind, const std::map<std::string, std::uint64_t>& counts) {
  for (const auto& [name, count] : counts) std::cout << kind << " " << count << "  " << name << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) return 2;
  compute_testing::IvmCoverage coverage;
  std::uint64_t failures = 0;
  for (std::uint64_t seed = arguments.start; seed < arguments.start + arguments.seeds; ++seed) {
    arguments.options.threads = arguments.threads.value_or(seed % 8 == 0);
    if (const auto wrong = compute_testing::check_ivm(seed, arguments.options, coverage)) {
      std::cout << "FAILED " << *wrong << std::endl;
      if (++failures >= 10) break;
    }
  }
  print("ir   ", coverage.plan.counts);
  print("lir  ", coverage.lir);
  print("error", coverage.errors);
  print("run  ", coverage.runs);
  const auto missing = coverage.missing(arguments.least.value_or(arguments.seeds / 100));
  for (const std::string& name : missing) std::cout << "TOO RARE " << name << "\n";
  std::cout << "seeds " << coverage.seeds << ", contents compared " << coverage.checked << ", non-empty "
            << coverage.non_empty_percent() << " %, failures " << failures << "\n";
  return failures == 0 && missing.empty() && (coverage.non_empty_percent() >= 60 || arguments.least == 0U) ? 0 : 1;
}
