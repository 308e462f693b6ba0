// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include <algorithm>

#include <freshet/base/sqlstate.h>

namespace freshet::adapter {
namespace {
/// How far a reservation reaches beyond the clock, and at least beyond the time that needs it. The next is fetched when
/// half of it is used.
constexpr SqlTime kWindow = 2'000'000;
constexpr SqlTime kLeast = 10'000;

base::Unexpected ended() {
  return base::Unexpected(base::sql_error(base::sqlstate::kAdminShutdown, "the server is shutting down"));
}
}  // namespace

Oracle::Oracle(base::Scheduler& scheduler, SqlTime floor, Reserve reserve)
    : scheduler_(scheduler), reserve_(std::move(reserve)), last_read_(floor), last_write_(floor),
      applied_(floor), given_(floor) {}

base::Future<SqlTime> Oracle::read_timestamp() {
  std::unique_lock lock(mutex_);
  if (released_) return base::Future<SqlTime>::ready(ended());
  const SqlTime time = next_read(lock);
  if (time < reserved_) return base::Future<SqlTime>::ready(given_ = time);
  // In line before (another) reservation starts: the first may have failed meanwhile, when nobody waited for it.
  waiting_.push_back({time, {}});
  auto answer = waiting_.back().promise.future();
  extend(lock, time);
  return answer;
}

std::optional<SqlTime> Oracle::read_now() {
  std::unique_lock lock(mutex_);
  if (released_) return std::nullopt;
  const SqlTime time = next_read(lock);
  if (time >= reserved_) return std::nullopt;
  return given_ = time;
}

SqlTime Oracle::next_read(std::unique_lock<std::mutex>& lock) {
  const SqlTime time = std::max({scheduler_.clock().wall_micros(), last_read_, applied_});
  last_read_ = time;
  if (time >= renew_at_) extend(lock, time);
  return time;
}

base::Future<base::Unit> Oracle::release() {
  std::unique_lock lock(mutex_);
  released_ = true;  // an extension that is under way was asked for earlier, and is made durable earlier
  const SqlTime until = std::max({last_read_, last_write_, applied_}) + 1;
  if (reserved_ <= until && !extending_) return base::Future<base::Unit>::ready(base::Unit{});
  lock.unlock();
  return reserve_(until);
}

SqlTime Oracle::write_timestamp() {
  const std::lock_guard lock(mutex_);
  last_write_ = std::max({scheduler_.clock().wall_micros(), last_read_ + 1, last_write_ + 1});
  return last_write_;
}

void Oracle::apply_write(SqlTime time) {
  const std::lock_guard lock(mutex_);
  applied_ = std::max(applied_, time);
  last_write_ = std::max(last_write_, time);
}

void Oracle::extend(std::unique_lock<std::mutex>& lock, SqlTime needed) {
  if (extending_) return;
  const SqlTime until = std::max(scheduler_.clock().wall_micros() + kWindow, needed + kLeast);
  if (until <= reserved_) {  // The clock was set back: what is reserved must not become less, and will do.
    renew_at_ = needed + (reserved_ - needed) / 2;
    return;
  }
  extending_ = true;
  lock.unlock();
  reserve_(until).on_ready(scheduler_, [this, needed, until](Result<base::Unit> result) {
    extended(needed, until, std::move(result));
  });
  lock.lock();
}

void Oracle::extended(SqlTime needed, SqlTime until, Result<base::Unit> result) {
  std::unique_lock lock(mutex_);
  extending_ = false;
  if (result && released_) result = ended();
  if (result) {
    reserved_ = until;
    renew_at_ = needed + (until - needed) / 2;
  }
  // On a disk that is full readers stay below what was reserved, as long as nothing newer was given or written.
  const bool stays = !result && !released_ && reserved_ > std::max(given_, applied_);
  auto waiting = std::exchange(waiting_, {});
  SqlTime most = 0;
  for (Waiting& reader : waiting) {
    if (stays || (result && reader.time < reserved_)) {
      given_ = std::max(given_, std::min(reader.time, reserved_ - 1));
      reader.promise.resolve(given_);
    } else if (!result) {
      reader.promise.resolve(base::Unexpected(result.error()));
    } else {
      most = std::max(most, reader.time);
      waiting_.push_back(std::move(reader));
    }
  }
  if (!waiting_.empty()) extend(lock, most);
}

}  // namespace freshet::adapter
