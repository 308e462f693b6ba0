// SPDX-License-Identifier: Apache-2.0
#include "naive/naive_dataflow.h"

#include <algorithm>
#include <tuple>

namespace freshet::compute {
namespace {

constexpr std::size_t kCachedContents = 64;

bool contains_mz_now(const expr::Relation& relation) {
  bool found = false;
  relation.visit([&](const expr::Relation& node) {
    if (const auto* filter = node.as<expr::Relation::Filter>()) {
      for (const expr::Scalar& predicate : filter->predicates) {
        found = found || predicate.contains_mz_now();
      }
    }
  });
  return found;
}

std::map<expr::GlobalId, NaiveInput> make_inputs(const expr::DataflowDescription& description) {
  std::map<expr::GlobalId, NaiveInput> inputs;
  for (const auto& [id, source] : description.sources) inputs.emplace(id, NaiveInput(description.as_of));
  return inputs;
}

}  // namespace

NaiveDataflow::NaiveDataflow(expr::DataflowDescription description,
                             std::map<expr::GlobalId, std::shared_ptr<NaiveDataflow>> upstream)
    : description_(std::move(description)),
      upstream_(std::move(upstream)),
      inputs_(make_inputs(description_)),
      temporal_(std::ranges::any_of(description_.objects, [](const expr::ObjectPlan& object) {
        return contains_mz_now(object.raw);
      })) {}

bool NaiveDataflow::reads(const NaiveDataflow& other) const {
  return std::ranges::any_of(upstream_, [&](const auto& entry) {
    return entry.second.get() == &other || entry.second->reads(other);
  });
}

bool NaiveDataflow::is_temporal() const {
  return temporal_ || std::ranges::any_of(upstream_, [](const auto& entry) {
           return entry.second->is_temporal();
         });
}

repr::SqlTime NaiveDataflow::upper() const {
  repr::SqlTime upper = repr::kClosed;
  for (const auto& [id, input] : inputs_) upper = std::min(upper, input.upper());
  for (const auto& [id, dataflow] : upstream_) upper = std::min(upper, dataflow->upper());
  return upper >= description_.until ? repr::kClosed : upper;
}

Result<NaiveDataflow::Content> NaiveDataflow::content(expr::GlobalId id, repr::SqlTime time) {
  if (const auto cached = cache_.find({time, id}); cached != cache_.end()) return cached->second;
  Content content = FRESHET_TRY(evaluate(id, time));
  if (cache_.size() >= kCachedContents) cache_.clear();
  cache_.emplace(std::pair(time, id), content);
  return content;
}

Result<NaiveDataflow::Content> NaiveDataflow::evaluate(expr::GlobalId id, repr::SqlTime time) {
  const auto object = std::ranges::find(description_.objects, id, &expr::ObjectPlan::id);
  if (object == description_.objects.end()) {
    if (const auto from = upstream_.find(id); from != upstream_.end()) {
      return from->second->content(id, time);
    }
    const auto input = inputs_.find(id);
    FRESHET_ASSERT(input != inputs_.end(), id);
    return std::make_shared<const expr::Multiset>(input->second.at(time));
  }
  std::map<expr::GlobalId, expr::Multiset> inputs;
  for (const expr::GlobalId read : object->raw.global_ids()) {
    const auto rows = FRESHET_TRY(content(read, time));
    inputs.emplace(read, *rows);
  }
  return std::make_shared<const expr::Multiset>(
      FRESHET_TRY(expr::evaluate_naive(object->raw, inputs, {.time = time})));
}

void NaiveDataflow::input_changes(repr::SqlTime after, repr::SqlTime before,
                                  std::set<repr::SqlTime>& times) const {
  for (const auto& [id, input] : inputs_) {
    const auto found = input.changes(after, before);
    times.insert(found.begin(), found.end());
  }
  for (const auto& [id, dataflow] : upstream_) dataflow->input_changes(after, before, times);
}

Result<std::vector<repr::SqlTime>> NaiveDataflow::changes(expr::GlobalId id, repr::SqlTime after,
                                                          repr::SqlTime before) {
  std::set<repr::SqlTime> inputs;
  input_changes(after, before, inputs);
  if (!is_temporal()) return std::vector<repr::SqlTime>(inputs.begin(), inputs.end());
  std::vector<repr::SqlTime> times;
  repr::SqlTime from = after;
  for (const repr::SqlTime change : inputs) {
    FRESHET_TRY(bisect(id, from, change - 1, times));
    times.push_back(change);
    from = change;
  }
  if (before > 0) {
    FRESHET_TRY(bisect(id, from, before - 1, times));
  }
  return times;
}

// Adds the times in (low, high] at which the content differs from that of the time before.
Result<void> NaiveDataflow::bisect(expr::GlobalId id, repr::SqlTime low, repr::SqlTime high,
                                   std::vector<repr::SqlTime>& times) {
  if (low >= high) return {};
  const Content at_low = FRESHET_TRY(content(id, low));
  const Content at_high = FRESHET_TRY(content(id, high));
  if (*at_low == *at_high) return {};
  if (high == low + 1) {
    times.push_back(high);
    return {};
  }
  const repr::SqlTime middle = low + (high - low) / 2;
  FRESHET_TRY(bisect(id, low, middle, times));
  return bisect(id, middle, high, times);
}

void NaiveDataflow::compact(repr::SqlTime since) {
  for (auto& [id, input] : inputs_) input.compact(since);
  std::erase_if(cache_, [&](const auto& entry) { return entry.first.first < since; });
}

Result<void> check_content(const expr::Multiset& content, const std::vector<repr::ColumnType>& types) {
  if (!content.errs.empty()) {
    std::optional<Error> least;
    for (const auto& [bytes, count] : content.errs) {
      const expr::ErrorRow row = FRESHET_TRY(expr::decode_error_row(bytes, types));
      const auto key = [](const Error& e) { return std::tie(e.sqlstate, e.message); };
      if (!least || key(row.error) < key(*least)) least = row.error;
    }
    return fail(*least);
  }
  for (const auto& [row, count] : content.oks) {
    if (count < 0) return fail(SqlState("XX000"), "negative multiplicity");
  }
  return {};
}

}  // namespace freshet::compute
