// SPDX-License-Identifier: Apache-2.0
#include <freshet/base/metrics.h>

#include <map>
#include <mutex>

namespace freshet::base {

struct Metrics::State {
  mutable std::mutex mutex;
  std::map<std::string, std::unique_ptr<Counter>, std::less<>> counters;
  std::map<std::string, std::unique_ptr<Gauge>, std::less<>> gauges;
};

namespace {
template <typename Map>
auto& find_or_make(Map& map, std::string_view name) {
  auto it = map.find(name);
  if (it == map.end()) {
    using Metric = typename Map::mapped_type::element_type;
    it = map.emplace(std::string(name), std::make_unique<Metric>()).first;
  }
  return *it->second;
}
}  // namespace

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::counter(std::string_view name) {
  std::lock_guard lock(state_->mutex);
  return find_or_make(state_->counters, name);
}

Gauge& Metrics::gauge(std::string_view name) {
  std::lock_guard lock(state_->mutex);
  return find_or_make(state_->gauges, name);
}

std::string Metrics::text() const {
  std::lock_guard lock(state_->mutex);
  std::map<std::string_view, std::string> lines;
  for (const auto& [name, metric] : state_->counters) lines[name] = std::to_string(metric->value());
  for (const auto& [name, metric] : state_->gauges) lines[name] = std::to_string(metric->value());
  std::string out;
  for (const auto& [name, value] : lines) out.append(name).append(" ").append(value).append("\n");
  return out;
}

}  // namespace freshet::base
