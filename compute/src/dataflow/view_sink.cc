// SPDX-License-Identifier: Apache-2.0
#include "dataflow/view_sink.h"

#include <algorithm>
#include <chrono>

namespace freshet::compute {

template <typename T, typename F>
void ViewSink::when_ready(base::Future<T> future, F f) {
  std::move(future).on_ready(strand_, [weak = weak_from_this(), f = std::move(f)](Result<T> result) mutable {
    const std::shared_ptr<ViewSink> self = weak.lock();
    if (self == nullptr || self->failed_) return;
    if (!result) return self->fail(result.error());
    f(*self, std::move(*result));
  });
}

void ViewSink::allow() {
  allowed_ = true;
  step();
}

void ViewSink::computed(repr::SqlTime upper) {
  computed_ = std::max(computed_, upper);
  step();
}

void ViewSink::fail(const Error& error) {
  failed_ = true;
  writer_.reset();
  callbacks_.on_failure(error);
}

void ViewSink::open() {
  busy_ = true;
  auto demand = [queue = strand_.handle(), weak = weak_from_this()](repr::SqlTime time) {
    queue->post([weak, time] {
      if (const auto self = weak.lock()) self->callbacks_.on_demand(time);
    });
  };
  when_ready(storage_.open_writer(id_, std::move(demand)), [](ViewSink& self, auto writer) {
    self.writer_ = std::move(writer);
    const repr::SqlTime durable = self.writer_->durable_upper();
    const auto frontiers = self.storage_.frontiers(self.id_);
    if (!frontiers) return self.fail(frontiers.error());
    if (durable <= frontiers->since) {  // never written: there is nothing to read
      self.busy_ = false;
      return self.step();
    }
    self.when_ready(self.storage_.open_reader(self.id_, durable - 1),
                    [](ViewSink& s, auto reader) { s.load(std::move(reader)); });
  });
}

// What the collection holds at its durable upper.
void ViewSink::load(std::shared_ptr<storage_api::CollectionReader> reader) {
  auto next = reader->next();
  when_ready(std::move(next), [reader](ViewSink& self, storage_api::ReadEvent event) {
    self.take_persisted(event.updates);
    if (event.upper < self.writer_->durable_upper()) return self.load(reader);
    self.busy_ = false;
    self.step();
  });
}

void ViewSink::take_persisted(const storage_api::CollectionUpdates& updates) {
  const auto negative = [](const storage_api::EncodedUpdates& side) {
    Collector::Updates result;
    for (std::size_t i = 0; i < side.size(); ++i) result.push(side.rows[i], {}, side.time(i), -side.diff(i));
    return result;
  };
  collector_->add_oks(negative(updates.oks));
  collector_->add_errs(negative(updates.errs));
}

void ViewSink::step() {
  if (failed_ || !allowed_ || busy_) return;
  if (writer_ == nullptr) return open();
  const repr::SqlTime durable = writer_->durable_upper();
  const repr::SqlTime lower = std::max(durable, has_written_ ? repr::SqlTime{0} : as_of_);
  if (computed_ <= std::max(reported_, lower)) return;
  const repr::SqlTime upper = computed_;
  storage_api::CollectionUpdates updates = collector_->take(lower, upper);
  if (updates.empty() && has_written_) return written(upper);
  repr::SqlTime last = lower;
  for (const auto* side : {&updates.oks, &updates.errs}) {
    for (std::size_t i = 0; i < side->size(); ++i) last = std::max(last, side->time(i));
  }
  busy_ = true;
  append(last + 1, upper, std::make_shared<const storage_api::CollectionUpdates>(std::move(updates)));
}

// The updates are kept until they are durable: a disk may be full for a while, a network away.
void ViewSink::append(repr::SqlTime next, repr::SqlTime upper,
                      std::shared_ptr<const storage_api::CollectionUpdates> updates) {
  auto appended = writer_->append(writer_->durable_upper(), next, storage_api::CollectionUpdates(*updates));
  std::move(appended).on_ready(strand_, [weak = weak_from_this(), next, upper,
                                           updates = std::move(updates)](Result<base::Unit> result) mutable {
    const std::shared_ptr<ViewSink> self = weak.lock();
    if (self == nullptr || self->failed_) return;
    if (!result) {
      const ErrorCode code = result.error().code;
      const bool changed_nothing = code == ErrorCode::kUnavailable || code == ErrorCode::kExhausted;
      if (!changed_nothing) return self->fail(result.error());
      self->callbacks_.on_delay(result.error());
      return self->append_later(next, upper, std::move(updates));
    }
    self->busy_ = false;
    self->has_written_ = true;
    self->written(upper);
    self->step();
  });
}

void ViewSink::append_later(repr::SqlTime next, repr::SqlTime upper,
                            std::shared_ptr<const storage_api::CollectionUpdates> updates) {
  constexpr std::chrono::milliseconds kPause{500};
  scheduler_.after(kPause, strand_, [weak = weak_from_this(), next, upper, updates = std::move(updates)]() mutable {
    const std::shared_ptr<ViewSink> self = weak.lock();
    if (self != nullptr && !self->failed_) self->append(next, upper, std::move(updates));
  });
}

void ViewSink::written(repr::SqlTime upper) {
  writer_->claim(upper);
  reported_ = upper;
  callbacks_.on_upper(upper);
}

}  // namespace freshet::compute
