// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include <algorithm>

namespace freshet::adapter {
namespace {
/// How far ahead of the clock a reservation reaches, and when the next is fetched.
constexpr SqlTime kWindow = 20'000'000;
constexpr SqlTime kRenewBefore = 10'000'000;
}  // namespace

Oracle::Oracle(base::Scheduler& scheduler, SqlTime floor, Reserve reserve)
    : scheduler_(scheduler), reserve_(std::move(reserve)), last_read_(floor), last_write_(floor),
      applied_(floor), reserved_(0) {}

base::Future<SqlTime> Oracle::read_timestamp() {
  std::unique_lock lock(mutex_);
  const SqlTime time = next_read(lock);
  if (time < reserved_) return base::Future<SqlTime>::ready(time);
  // In line before (another) reservation starts: the first may have failed meanwhile, when nobody waited for it.
  waiting_.push_back({time, {}});
  auto answer = waiting_.back().promise.future();
  extend(lock, time);
  return answer;
}

std::optional<SqlTime> Oracle::read_now() {
  std::unique_lock lock(mutex_);
  const SqlTime time = next_read(lock);
  return time < reserved_ ? std::optional(time) : std::nullopt;
}

SqlTime Oracle::next_read(std::unique_lock<std::mutex>& lock) {
  const SqlTime time = std::max({scheduler_.clock().wall_micros(), last_read_, applied_});
  last_read_ = time;
  if (time + kRenewBefore >= reserved_) extend(lock, time);
  return time;
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
  if (std::exchange(extending_, true)) return;
  const SqlTime until = needed + kWindow;
  lock.unlock();
  reserve_(until).on_ready(scheduler_, [this, until](Result<base::Unit> result) {
    extended(until, std::move(result));
  });
  lock.lock();
}

void Oracle::extended(SqlTime until, Result<base::Unit> result) {
  std::unique_lock lock(mutex_);
  extending_ = false;
  if (result) reserved_ = std::max(reserved_, until);
  auto waiting = std::exchange(waiting_, {});
  SqlTime most = 0;
  for (Waiting& reader : waiting) {
    if (!result) {
      reader.promise.resolve(base::Unexpected(result.error()));
    } else if (reader.time < reserved_) {
      reader.promise.resolve(reader.time);
    } else {
      most = std::max(most, reader.time);
      waiting_.push_back(std::move(reader));
    }
  }
  if (!waiting_.empty()) extend(lock, most);
}

}  // namespace freshet::adapter
