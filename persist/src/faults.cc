// SPDX-License-Identifier: Apache-2.0
#include <freshet/persist/faults.h>

#include <freshet/base/guarded.h>
#include <freshet/base/random.h>

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {

enum class Fault : std::uint8_t { kNone, kRefuse, kLoseAnswer, kLoseRequest, kLate };

struct Draw {
  Fault fault = Fault::kNone;
  std::chrono::microseconds before{0};
  std::chrono::microseconds after{0};
};

struct Dice {
  explicit Dice(std::uint64_t seed) : random(seed) {}
  base::Random random;
  bool active = true;
  std::uint64_t failures = 0;
};

}  // namespace

struct FaultControl::Core : std::enable_shared_from_this<FaultControl::Core> {
  Core(base::Scheduler& s, std::uint64_t seed, FaultRates r)
      : scheduler(s), rates(r), dice(std::in_place, seed) {}

  Draw draw() {
    return dice.with([this](Dice& d) {
      Draw draw;
      const auto span = static_cast<std::uint64_t>(rates.delay_max.count()) + 1;
      draw.before = std::chrono::microseconds(d.random.below(span));
      draw.after = std::chrono::microseconds(d.random.below(span));
      double at = d.random.uniform();
      const auto falls = [&](double rate) { return (at -= rate) < 0; };
      if (!d.active) return draw;
      if (falls(rates.refuse)) {
        draw.fault = Fault::kRefuse;
      } else if (falls(rates.lose_answer)) {
        draw.fault = Fault::kLoseAnswer;
      } else if (falls(rates.lose_request)) {
        draw.fault = Fault::kLoseRequest;
      } else if (falls(rates.late)) {
        draw.fault = Fault::kLate;
      }
      if (draw.fault != Fault::kNone) ++d.failures;
      return draw;
    });
  }

  template <typename T>
  Future<T> run(base::UniqueFunction<Future<T>()> ask) {
    base::Promise<T> promise;
    Future<T> future = promise.future();
    const Draw drawn = draw();
    scheduler.after(drawn.before, scheduler,
                    [self = shared_from_this(), drawn, ask = std::move(ask),
                     promise = std::move(promise)]() mutable {
                      self->act<T>(drawn, std::move(ask), std::move(promise));
                    });
    return future;
  }

  template <typename T>
  void act(Draw drawn, base::UniqueFunction<Future<T>()> ask, base::Promise<T> promise) {
    const auto unclear = [] { return fail(ErrorCode::kIndeterminate, "injected: no answer came"); };
    switch (drawn.fault) {
      case Fault::kRefuse:
        promise.resolve(fail(ErrorCode::kUnavailable, "injected: refused"));
        return;
      case Fault::kLoseRequest:
        promise.resolve(unclear());
        return;
      case Fault::kLate:
        promise.resolve(unclear());
        scheduler.after(drawn.after * 20, scheduler,
                        [self = shared_from_this(), ask = std::move(ask)]() mutable {
                          ask().on_ready(self->scheduler, [](Result<T>) {});
                        });
        return;
      case Fault::kNone:
      case Fault::kLoseAnswer:
        break;
    }
    ask().on_ready(scheduler, [self = shared_from_this(), drawn, unclear,
                               promise = std::move(promise)](Result<T> result) mutable {
      if (drawn.fault == Fault::kLoseAnswer) result = unclear();
      self->scheduler.after(drawn.after, self->scheduler,
                            [promise = std::move(promise), result = std::move(result)]() mutable {
                              promise.resolve(std::move(result));
                            });
    });
  }

  base::Scheduler& scheduler;
  FaultRates rates;
  base::Guarded<Dice> dice;
};

namespace {

class FaultyBlob final : public Blob {
 public:
  FaultyBlob(std::shared_ptr<FaultControl::Core> core, Blob& inner)
      : core_(std::move(core)), inner_(inner) {}
  Future<base::Bytes> get(std::string key) override {
    return core_->run<base::Bytes>([&inner = inner_, key] { return inner.get(key); });
  }
  Future<base::Bytes> get_range(std::string key, std::uint64_t offset,
                                std::uint64_t size) override {
    return core_->run<base::Bytes>(
        [&inner = inner_, key, offset, size] { return inner.get_range(key, offset, size); });
  }
  Future<Unit> set(std::string key, SharedBytes bytes) override {
    return core_->run<Unit>([&inner = inner_, key, bytes] { return inner.set(key, bytes); });
  }
  Future<Unit> remove(std::string key) override {
    return core_->run<Unit>([&inner = inner_, key] { return inner.remove(key); });
  }
  Future<std::vector<BlobInfo>> list(std::string prefix) override {
    return core_->run<std::vector<BlobInfo>>(
        [&inner = inner_, prefix] { return inner.list(prefix); });
  }
  [[nodiscard]] std::string location(const std::string& key) const override {
    return inner_.location(key);
  }

 private:
  std::shared_ptr<FaultControl::Core> core_;
  Blob& inner_;
};

class FaultyConsensus final : public Consensus {
 public:
  FaultyConsensus(std::shared_ptr<FaultControl::Core> core, Consensus& inner)
      : core_(std::move(core)), inner_(inner) {}
  Future<std::optional<Version>> head(std::string key) override {
    return core_->run<std::optional<Version>>([&inner = inner_, key] { return inner.head(key); });
  }
  Future<CasOutcome> compare_and_set(std::string key, Version next) override {
    return core_->run<CasOutcome>(
        [&inner = inner_, key, next] { return inner.compare_and_set(key, next); });
  }
  Future<std::vector<Version>> scan(std::string key, std::uint64_t from,
                                    std::size_t limit) override {
    return core_->run<std::vector<Version>>(
        [&inner = inner_, key, from, limit] { return inner.scan(key, from, limit); });
  }
  Future<Unit> truncate(std::string key, std::uint64_t seqno) override {
    return core_->run<Unit>([&inner = inner_, key, seqno] { return inner.truncate(key, seqno); });
  }
  Future<CasOutcome> remove(std::string key, std::uint64_t seqno) override {
    return core_->run<CasOutcome>(
        [&inner = inner_, key, seqno] { return inner.remove(key, seqno); });
  }
  Future<std::vector<std::string>> list_keys(std::string prefix) override {
    return core_->run<std::vector<std::string>>(
        [&inner = inner_, prefix] { return inner.list_keys(prefix); });
  }

 private:
  std::shared_ptr<FaultControl::Core> core_;
  Consensus& inner_;
};

}  // namespace

FaultControl::FaultControl(base::Scheduler& scheduler, std::uint64_t seed, FaultRates rates)
    : core_(std::make_shared<Core>(scheduler, seed, rates)) {}
FaultControl::~FaultControl() = default;

void FaultControl::set_active(bool active) {
  core_->dice.with([&](Dice& dice) { dice.active = active; });
}

std::uint64_t FaultControl::failures() const {
  return core_->dice.with([](const Dice& dice) { return dice.failures; });
}

std::unique_ptr<Blob> make_faulty_blob(const FaultControl& faults, Blob& inner) {
  return std::make_unique<FaultyBlob>(faults.core(), inner);
}

std::unique_ptr<Consensus> make_faulty_consensus(const FaultControl& faults, Consensus& inner) {
  return std::make_unique<FaultyConsensus>(faults.core(), inner);
}

}  // namespace freshet::persist
