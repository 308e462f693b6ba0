// SPDX-License-Identifier: Apache-2.0
#include "catalog_writer.h"

#include <deque>

#include "services.h"

namespace freshet::adapter {

using base::Future;
using base::Promise;

struct CatalogWriter::State : std::enable_shared_from_this<State> {
  struct Queued {
    Decide decide;
    Promise<CommittedChange> promise;
  };

  State(base::Scheduler& scheduler, CatalogHolder& h, Committer& c)
      : strand(scheduler), holder(h), committer(c) {}

  void start() {
    if (busy || queue.empty()) return;
    Queued next = std::move(queue.front());
    queue.pop_front();
    busy = true;
    const CatalogPtr newest = holder.get();
    auto planned = next.decide(*newest);
    if (!planned) return finish(std::move(next.promise), base::Unexpected(planned.error()));
    auto applied = newest->apply(planned->catalog);
    if (!applied) return finish(std::move(next.promise), base::Unexpected(applied.error()));
    TableWrite write = std::move(planned->tables);
    write.appends[kCatalogCollection] = std::move(applied->second);
    committer.commit(std::move(write))
        .on_ready(strand, [self = shared_from_this(), catalog = std::move(applied->first),
                           on_commit = std::move(planned->on_commit),
                           promise = std::move(next.promise)](Result<SqlTime> time) mutable {
          if (!time) return self->finish(std::move(promise), base::Unexpected(time.error()));
          CommittedChange committed{std::move(catalog), *time};
          if (!on_commit) return self->show(std::move(promise), std::move(committed), base::Unit{});
          auto ended = on_commit(committed);
          std::move(ended).on_ready(self->strand, [self, promise = std::move(promise),
                                                   committed = std::move(committed)](Result<base::Unit> result) mutable {
            self->show(std::move(promise), std::move(committed), std::move(result));
          });
        });
  }

  void show(Promise<CommittedChange> promise, CommittedChange committed, Result<base::Unit> result) {
    holder.set(committed.catalog);
    if (!result) return finish(std::move(promise), base::Unexpected(result.error()));
    finish(std::move(promise), std::move(committed));
  }

  void finish(Promise<CommittedChange> promise, Result<CommittedChange> result) {
    promise.resolve(std::move(result));
    busy = false;
    start();
  }

  base::Strand strand;
  CatalogHolder& holder;
  Committer& committer;
  std::deque<Queued> queue;
  bool busy = false;
};

CatalogWriter::CatalogWriter(base::Scheduler& scheduler, CatalogHolder& holder, Committer& committer)
    : state_(std::make_shared<State>(scheduler, holder, committer)) {}

CatalogWriter::~CatalogWriter() { state_->strand.close(); }

Future<CommittedChange> CatalogWriter::change(Decide decide) {
  Promise<CommittedChange> promise;
  auto answer = promise.future();
  state_->strand.post(
      [state = state_, decide = std::move(decide), promise = std::move(promise)]() mutable {
        state->queue.push_back({std::move(decide), std::move(promise)});
        state->start();
      });
  return answer;
}

}  // namespace freshet::adapter
