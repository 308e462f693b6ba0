// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <future>
#include <unistd.h>

#include <freshet/base/bytes.h>
#include <freshet/base/fields.h>
#include <freshet/base/file_system.h>
#include <freshet/base/future.h>
#include <freshet/base/random.h>
#include <freshet/base/result.h>
#include <freshet/base/scheduler.h>
#include <freshet/base/sqlstate.h>

namespace freshet::base {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(sqlstate::kDataException, "odd");
  return value / 2;
}

Result<int> quarter(int value) {
  const int once = FRESHET_TRY(half(value));
  return half(once);
}

TEST_CASE("result: TRY passes values on and returns errors", "[base]") {
  CHECK(*quarter(8) == 2);
  CHECK(quarter(6).error().sqlstate == sqlstate::kDataException);
}

TEST_CASE("bytes: what is written reads back, and a short input is bad, not undefined", "[base]") {
  ByteWriter writer;
  writer.u8(7);
  writer.svarint(-123456789);
  writer.varint(UINT64_MAX);
  writer.bytes("freshet");
  writer.f64(0.5);
  const Bytes whole = writer.take();
  ByteReader reader(whole);
  CHECK(reader.u8() == 7);
  CHECK(reader.svarint() == -123456789);
  CHECK(reader.varint() == UINT64_MAX);
  CHECK(reader.bytes() == "freshet");
  CHECK(reader.f64() == 0.5);
  CHECK((reader.ok() && reader.at_end()));
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    ByteReader torn(BytesView(whole).substr(0, cut));
    torn.u8(), torn.svarint(), torn.varint(), torn.bytes(), torn.f64();
    CHECK_FALSE(torn.ok());
  }
}

TEST_CASE("fields: what is written reads back, a short input is an error, an unknown enumerator too", "[base]") {
  enum class Colour : std::uint8_t { kRed = 1, kBlue = 2 };
  FieldWriter writer;
  writer.integer(1, UINT64_MAX);
  writer.non_zero(2, 0);
  writer.bytes(3, "freshet");
  writer.integer(4, 2);
  writer.integer(5, 3);
  FieldReader reader(writer.data());
  const Field number = reader.next().value().value();
  CHECK((number.number == 1 && number.integer().value() == UINT64_MAX));
  const Field text = reader.next().value().value();
  CHECK((text.number == 3 && text.payload == "freshet"));
  CHECK(text.integer().error().code == ErrorCode::kCorrupt);
  CHECK(reader.next().value()->enumerator(Colour::kRed, Colour::kBlue).value() == Colour::kBlue);
  const auto unknown = reader.next().value()->enumerator(Colour::kRed, Colour::kBlue);
  CHECK(unknown.error().sqlstate == sqlstate::kDataCorrupted);
  CHECK_FALSE(reader.next().value().has_value());
  const Bytes& whole = writer.data();
  FieldReader torn(BytesView(whole).substr(0, 3));
  CHECK(torn.next().error().code == ErrorCode::kCorrupt);
  CHECK(torn.next().error().code == ErrorCode::kCorrupt);  // and stays one
}

TEST_CASE("random: bounds hold at the edges of the type", "[base]") {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    CHECK(random.below(3) < 3);
    const std::int64_t value = random.between(INT64_MIN, INT64_MIN + 1);
    CHECK(value <= INT64_MIN + 1);
  }
}

TEST_CASE("strand: drops its tasks when the scheduler drops it", "[base]") {
  struct Dropping final : Scheduler {
    void post(Task) override {}
    void post_blocking(Task) override {}
    TimerId at(Instant, TaskQueue&, Task) override { return 0; }
    bool cancel(TimerId) override { return false; }
    [[nodiscard]] const Clock& clock() const override { return *clock_; }
    std::unique_ptr<Clock> clock_ = make_system_clock();
  };
  Dropping scheduler;
  const auto held = std::make_shared<int>(1);
  auto strand = std::make_shared<Strand>(scheduler);
  strand->post([held, strand] { (void)held; });  // a cycle, broken by the drop
  CHECK(held.use_count() == 1);
  CHECK(strand.use_count() == 1);
}

TEST_CASE("strand: tasks run in order and never overlap", "[base]") {
  auto scheduler = make_thread_scheduler(4, 1);
  Strand strand(*scheduler);
  std::atomic<int> inside{0};
  std::vector<int> order;
  std::promise<void> done;
  for (int i = 0; i < 1000; ++i) {
    strand.post([&, i] {
      FRESHET_ASSERT(inside.fetch_add(1) == 0);
      order.push_back(i);
      inside.fetch_sub(1);
      if (i == 999) done.set_value();
    });
  }
  done.get_future().wait();
  CHECK(std::ranges::is_sorted(order));
}

TEST_CASE("strand: an idle one runs a task on the caller, and what it posts, in order", "[base]") {
  auto scheduler = make_thread_scheduler(1, 1);
  Strand strand(*scheduler);
  std::vector<int> order;
  strand.run_or_post([&] {
    CHECK(strand.running_here());
    strand.post([&] { order.push_back(2); });
    order.push_back(1);
  });
  CHECK(order == std::vector{1, 2});
  CHECK(!strand.running_here());
}

TEST_CASE("strand: destroyed in its own task, it runs no other", "[base]") {
  auto scheduler = make_thread_scheduler(1, 1);
  auto strand = std::make_unique<Strand>(*scheduler);
  const auto held = std::make_shared<int>(1);
  std::vector<int> order;
  const auto queue = strand->handle();
  strand->run_or_post([&, held] {
    for (int i = 0; i < 40; ++i) queue->post([&, held, i] { order.push_back(i); });
    queue->post([&] { strand.reset(); });
    for (int i = 40; i < 80; ++i) queue->post([&, held, i] { order.push_back(i); });
  });
  for (int turn = 0; turn < 10; ++turn) {  // one thread, first come first served: the strand has its turns, too
    std::promise<void> passed;
    scheduler->post([&] { passed.set_value(); });
    passed.get_future().wait();
  }
  CHECK(strand == nullptr);
  CHECK(order.size() == 40);
  CHECK(held.use_count() == 1);
}

TEST_CASE("result: the value of a temporary lives as long as a loop over it", "[base]") {
  const auto make = [] { return Result<std::string>(std::string(100, 'x')); };
  std::string copy;
  for (const char c : *make()) copy.push_back(c);
  CHECK(copy == *make());
}

TEST_CASE("strand: shut waits for the task that runs, and for what it drops", "[base]") {
  auto scheduler = make_thread_scheduler(2, 1);
  for (int round = 0; round < 200; ++round) {
    Strand strand(*scheduler);
    auto state = std::make_unique<int>(0);
    struct AtEnd {
      int* count;
      ~AtEnd() { ++*count; }
    };
    std::promise<void> runs;
    strand.post([&] {
      runs.set_value();
      for (int i = 0; i < 100; ++i) ++*state;
    });
    const auto at_end = [&] { return std::make_shared<AtEnd>(state.get()); };
    for (int i = 0; i < 3; ++i) strand.post([held = at_end()] {});
    if (round % 2 == 0) runs.get_future().wait();
    strand.shut();
    strand.post([&] { *state = -1; });
    if (round % 2 == 0) CHECK(*state == 103);
    state.reset();  // nobody touches it any more
  }
}

// Between two turns of a busy strand nobody is inside it, and what it has taken up is neither waiting nor running.
TEST_CASE("strand: shut destroys what waits for the strand's next turn", "[base]") {
  auto scheduler = make_thread_scheduler(1, 1);
  Strand strand(*scheduler);
  std::promise<void> posted, between, go_on;
  const auto held = std::make_shared<int>(0);
  scheduler->post([&] { posted.get_future().wait(); });
  strand.post([&] {  // first of its turn; the next turn comes after what is posted here
    scheduler->post([&] {
      between.set_value();
      go_on.get_future().wait();
    });
  });
  for (int i = 0; i < 40; ++i) strand.post([held] { ++*held; });
  posted.set_value();
  between.get_future().wait();
  strand.shut();
  CHECK(held.use_count() == 1);
  CHECK(*held > 0);
  CHECK(*held < 40);
  go_on.set_value();
}

TEST_CASE("strand: shut from inside a task of its own does not wait", "[base]") {
  auto scheduler = make_thread_scheduler(1, 1);
  Strand strand(*scheduler);
  std::promise<bool> done;
  strand.post([&] {
    strand.shut();
    done.set_value(true);
  });
  CHECK(done.get_future().get());
}

TEST_CASE("futures, timers: a queue that is gone drops what comes for it", "[base]") {
  auto scheduler = make_thread_scheduler(2, 1);
  Strand alive(*scheduler);

  SECTION("an answer") {
    auto asker = std::make_unique<Strand>(*scheduler);
    Promise<int> promise;
    bool ran = false;
    std::promise<Result<int>> heard;
    promise.future()
        .then(*asker, [&](Result<int>) {
          ran = true;
          return 1;
        })
        .on_ready(alive, [&](Result<int> result) { heard.set_value(std::move(result)); });
    asker.reset();
    promise.resolve(1);
    const Result<int> result = heard.get_future().get();
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::kCancelled);
    CHECK(!ran);
  }
  SECTION("the answer of a continuation that waits again") {
    auto asker = std::make_unique<Strand>(*scheduler);
    Promise<int> first;
    Promise<int> second;
    std::promise<void> waiting;
    std::promise<Result<int>> heard;
    first.future()
        .and_then(*asker, [later = second.future()](int) mutable { return std::move(later); })
        .on_ready(alive, [&](Result<int> result) { heard.set_value(std::move(result)); });
    first.resolve(1);
    asker->post([&] { waiting.set_value(); });  // after the continuation
    waiting.get_future().wait();
    asker.reset();
    second.resolve(2);
    CHECK(!heard.get_future().get());
  }
  SECTION("a timer, whose task cancels another as it dies") {
    struct Cancels {
      Scheduler& scheduler;
      TimerId other;
      std::promise<bool>& done;
      ~Cancels() { done.set_value(scheduler.cancel(other)); }
    };
    std::promise<bool> done;
    auto asker = std::make_unique<Strand>(*scheduler);
    const TimerId other = scheduler->after(std::chrono::hours(1), alive, [] {});
    auto dies = std::make_unique<Cancels>(*scheduler, other, done);
    scheduler->after(std::chrono::milliseconds(1), *asker, [dies = std::move(dies)] {});
    asker.reset();
    CHECK(done.get_future().get());
  }
}

TEST_CASE("future: continuations flatten, errors pass through, and a lost promise is an error",
          "[base]") {
  auto scheduler = make_thread_scheduler(2, 1);
  auto wait = [&](Future<int> future) {
    std::promise<Result<int>> done;
    std::move(future).on_ready(*scheduler, [&](Result<int> r) { done.set_value(std::move(r)); });
    return done.get_future().get();
  };
  Promise<int> promise;
  auto chained = promise.future()
                     .and_then(*scheduler, [](int x) { return x + 1; })
                     .and_then(*scheduler, [](int x) { return half(x); })
                     .and_then(*scheduler, [](int x) { return Future<int>::ready(x * 10); });
  promise.resolve(5);
  CHECK(*wait(std::move(chained)) == 30);
  CHECK(wait(Future<int>::ready(5).and_then(*scheduler, half)).error().message == "odd");
  auto lost = Promise<int>().future();
  CHECK(wait(std::move(lost)).error().code == ErrorCode::kCancelled);
}

TEST_CASE("timers: fire in the order of their times, unless cancelled", "[base]") {
  auto scheduler = make_thread_scheduler(1, 1);
  Strand strand(*scheduler);
  std::vector<int> order;
  std::promise<void> done;
  using std::chrono::milliseconds;
  scheduler->after(milliseconds(20), strand, [&] { done.set_value(); });
  scheduler->after(milliseconds(10), strand, [&] { order.push_back(2); });
  scheduler->after(milliseconds(1), strand, [&] { order.push_back(1); });
  const TimerId dropped = scheduler->after(milliseconds(5), strand, [&] { order.push_back(9); });
  CHECK(scheduler->cancel(dropped));
  done.get_future().wait();
  CHECK(order == std::vector{1, 2});
}

TEST_CASE("posix files: write, read, rename, list and lock", "[base]") {
  auto files = make_posix_file_system();
  const std::string root =
      std::filesystem::temp_directory_path() / ("freshet_base_" + std::to_string(::getpid()));
  REQUIRE(files->make_directory(root));
  {
    auto file = files->open(root + "/a", OpenMode::kCreateNew);
    REQUIRE(file);
    REQUIRE((*file)->write_at(0, "hello"));
    REQUIRE((*file)->sync());
    CHECK(*(*file)->read_at(1, 1u << 30) == "ello");
  }
  REQUIRE(files->rename(root + "/a", root + "/b"));
  REQUIRE(files->sync_directory(root));
  CHECK(*files->list(root) == std::vector<std::string>{"b"});
  CHECK(files->open(root + "/a", OpenMode::kRead).error().code == ErrorCode::kNotFound);
  auto lock = files->lock(root + "/lock");
  REQUIRE(lock);
  CHECK(files->lock(root + "/lock").error().code == ErrorCode::kConflict);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace freshet::base
