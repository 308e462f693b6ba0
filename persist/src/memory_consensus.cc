// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <freshet/base/guarded.h>
#include <freshet/persist/consensus.h>

namespace freshet::persist {
namespace {

using base::Future;

using Chain = std::map<std::uint64_t, base::Bytes>;  // never empty

class MemoryConsensus final : public Consensus {
 public:
  Future<std::optional<Version>> head(std::string key) override {
    return Future<std::optional<Version>>::ready(
        chains_.with([&](auto& chains) -> std::optional<Version> {
          const auto it = chains.find(key);
          if (it == chains.end()) return std::nullopt;
          const auto& [seqno, data] = *it->second.rbegin();
          return Version{seqno, data};
        }));
  }

  Future<CasOutcome> compare_and_set(std::string key, Version next) override {
    const bool applied = chains_.with([&](auto& chains) {
      const auto it = chains.find(key);
      const std::uint64_t head = it == chains.end() ? 0 : it->second.rbegin()->first;
      if (head + 1 != next.seqno) return false;
      chains[key].emplace(next.seqno, std::move(next.data));
      return true;
    });
    return Future<CasOutcome>::ready(applied ? CasOutcome::kApplied : CasOutcome::kMismatch);
  }

  Future<std::vector<Version>> scan(std::string key, std::uint64_t from,
                                    std::size_t limit) override {
    std::vector<Version> found;
    chains_.with([&](auto& chains) {
      const auto chain = chains.find(key);
      if (chain == chains.end()) return;
      for (auto it = chain->second.lower_bound(from);
           it != chain->second.end() && found.size() < limit; ++it) {
        found.push_back({it->first, it->second});
      }
    });
    return Future<std::vector<Version>>::ready(std::move(found));
  }

  Future<base::Unit> truncate(std::string key, std::uint64_t seqno) override {
    const bool done = chains_.with([&](auto& chains) {
      const auto it = chains.find(key);
      if (it == chains.end() || seqno > it->second.rbegin()->first) return false;
      it->second.erase(it->second.begin(), it->second.lower_bound(seqno));
      return true;
    });
    if (done) return Future<base::Unit>::ready(base::Unit{});
    return Future<base::Unit>::ready(
        fail(ErrorCode::kInvalid,
             "truncate \"" + key + "\" past its head, to " + std::to_string(seqno)));
  }

  Future<CasOutcome> remove(std::string key, std::uint64_t seqno) override {
    const bool applied = chains_.with([&](auto& chains) {
      const auto it = chains.find(key);
      if (it == chains.end() || it->second.rbegin()->first != seqno) return false;
      chains.erase(it);
      return true;
    });
    return Future<CasOutcome>::ready(applied ? CasOutcome::kApplied : CasOutcome::kMismatch);
  }

  Future<std::vector<std::string>> list_keys(std::string prefix) override {
    std::vector<std::string> keys;
    chains_.with([&](auto& chains) {
      for (auto it = chains.lower_bound(prefix);
           it != chains.end() && it->first.starts_with(prefix); ++it) {
        keys.push_back(it->first);
      }
    });
    return Future<std::vector<std::string>>::ready(std::move(keys));
  }

 private:
  base::Guarded<std::map<std::string, Chain>> chains_;
};

}  // namespace

std::unique_ptr<Consensus> make_memory_consensus() { return std::make_unique<MemoryConsensus>(); }

}  // namespace freshet::persist
