// SPDX-License-Identifier: Apache-2.0
#include "naive/naive_core.h"
#include <freshet/compute_api/errors.h>

#include "naive/naive_peek.h"
#include "read_failure.h"

namespace freshet::compute {

void NaiveCore::start_peek(compute_api::Peek peek) {
  const compute_api::PeekId id = peek.id;
  const auto* index = std::get_if<compute_api::Peek::Index>(&peek.target);
  if (index != nullptr && exporting(index->id) == nullptr) {
    return fail_peek(id, Error{.code = ErrorCode::kNotFound, .message = "unknown index " + to_string(index->id)});
  }
  if (const auto error = never_comes(peek)) return fail_peek(id, *error);
  const auto pending = peeks_.emplace(id, PendingPeek{.peek = std::move(peek)}).first;
  if (index == nullptr) return open_collection_peek(id);
  // `index` points into what was moved from.
  const auto& target = std::get<compute_api::Peek::Index>(pending->second.peek.target);
  ask(*exporting(target.id)->dataflow, pending->second.peek.time);
  if (answer_index_peek(pending->second)) peeks_.erase(id);
}

void NaiveCore::cancel_peek(const compute_api::PeekId& id) {
  if (peeks_.erase(id) == 0) return;
  fail_peek(id, compute_api::cancelled());
}

void NaiveCore::fail_export(Flow& flow, GlobalId id, const Error& error) {
  if (!flow.failures.emplace(id, error).second) return;
  respond(compute_api::ExportFailure{id, error});
  std::map<compute_api::PeekId, Error> failed;
  for (const auto& [peek, pending] : peeks_) {
    if (auto why = never_comes(pending.peek)) failed.emplace(peek, *std::move(why));
  }
  for (auto& [peek, why] : failed) fail_peek(peek, std::move(why));
}

std::optional<Error> NaiveCore::never_comes(const compute_api::Peek& peek) const {
  const auto* index = std::get_if<compute_api::Peek::Index>(&peek.target);
  const GlobalId id = index != nullptr ? index->id : std::get<compute_api::Peek::Collection>(peek.target).id;
  const auto flow = exporting(id);
  if (flow == nullptr) return std::nullopt;
  const auto failure = flow->failures.find(id);
  if (failure == flow->failures.end()) return std::nullopt;
  // What was there before the failure stays readable.
  SqlTime upper = flow->scheduled ? flow->dataflow->upper() : 0;
  if (index == nullptr) {
    const auto frontiers = options_.storage.frontiers(id);
    upper = frontiers ? frontiers->upper : 0;
  }
  return peek.time < upper ? std::nullopt : std::optional(failure->second);
}

void NaiveCore::fail_peek(const compute_api::PeekId& id, Error error) {
  peeks_.erase(id);
  respond(compute_api::PeekResponse{.id = id, .error = std::move(error)});
}

// True once it was answered.
bool NaiveCore::answer_index_peek(PendingPeek& pending) {
  const auto* target = std::get_if<compute_api::Peek::Index>(&pending.peek.target);
  if (target == nullptr) return false;
  const auto flow = exporting(target->id);
  if (flow == nullptr) {
    respond(compute_api::PeekResponse{
        .id = pending.peek.id,
        .error = Error{.code = ErrorCode::kNotFound, .message = "the index was dropped"}});
    return true;
  }
  if (!flow->scheduled || flow->dataflow->upper() <= pending.peek.time) return false;
  const expr::IndexExport& index = flow->dataflow->description().index_exports.at(target->id);
  const auto content = flow->dataflow->content(index.on, pending.peek.time);
  if (!content) {
    respond(compute_api::PeekResponse{.id = pending.peek.id, .error = content.error()});
    return true;
  }
  answer(pending.peek, **content, index.type.columns, &index.key);
  return true;
}

void NaiveCore::open_collection_peek(const compute_api::PeekId& id) {
  PendingPeek& pending = peeks_.at(id);
  const auto& target = std::get<compute_api::Peek::Collection>(pending.peek.target);
  const SqlTime time = pending.peek.time;
  pending.input.emplace(time);
  static_cast<void>(options_.storage.send(storage_api::Advance{target.id, time}));
  options_.storage.open_reader(target.id, time).on_ready(strand_, [this, id](auto reader) {
    const auto peek = peeks_.find(id);
    if (peek == peeks_.end()) return;
    if (!reader) return fail_peek(id, read_failure(reader.error()));
    peek->second.reader = std::move(*reader);
    read_collection_peek(id);
  });
}

void NaiveCore::read_collection_peek(const compute_api::PeekId& id) {
  const auto reader = peeks_.at(id).reader;
  reader->next().on_ready(strand_, [this, id, reader](Result<storage_api::ReadEvent> event) {
    const auto peek = peeks_.find(id);
    if (peek == peeks_.end()) return;
    if (!event) return fail_peek(id, read_failure(event.error()));
    PendingPeek& pending = peek->second;
    pending.input->apply(event->updates);
    pending.input->set_upper(event->upper);
    if (event->upper <= pending.peek.time) return read_collection_peek(id);
    const auto& target = std::get<compute_api::Peek::Collection>(pending.peek.target);
    answer(pending.peek, pending.input->at(pending.peek.time), target.desc.type.columns, nullptr);
    peeks_.erase(peek);
  });
}

void NaiveCore::answer(const compute_api::Peek& peek, const expr::Multiset& content,
                       const std::vector<repr::ColumnType>& types, const expr::ArrangementKey* key) {
  compute_api::PeekResponse response{.id = peek.id};
  Result<expr::Multiset> rows = peek_content(peek, content, types, key);
  if (!rows) {
    response.error = rows.error();
    return respond(std::move(response));
  }
  for (const auto& [row, count] : rows->oks) {
    response.rows.push_back(row);
    response.diffs.push_back(count);
  }
  if (response.rows.byte_size() > config_.max_result_bytes) {
    response = {.id = peek.id,
                .error = compute_api::result_too_large(config_.max_result_bytes)};
  }
  respond(std::move(response));
}

}  // namespace freshet::compute
