// SPDX-License-Identifier: Apache-2.0
/// Keeps a durable collection equal to what a dataflow computes.
///
/// It corrects itself: what the collection held when the sink opened counts negative beside what the dataflow
/// wants, so the first append writes exactly the difference, whoever wrote before. While nothing changes, the
/// logical upper moves by claims and nothing is written.
///
/// Runs on its owner's strand; callbacks arrive there too.
#pragma once

#include <functional>
#include <memory>

#include <freshet/storage_api/storage.h>

#include "dataflow/collector.h"

namespace freshet::compute {

class ViewSink : public std::enable_shared_from_this<ViewSink> {
 public:
  struct Callbacks {
    std::function<void(repr::SqlTime)> on_demand;  ///< Someone wants the upper to exceed this.
    std::function<void(repr::SqlTime)> on_upper;   ///< Durable (logically) up to here.
    std::function<void(const Error&)> on_failure;
    std::function<void(const Error&)> on_delay;  ///< An append failed for now, and is tried again.
  };
  ViewSink(base::Scheduler& scheduler, base::Strand& strand, storage_api::Storage& storage, expr::GlobalId id, repr::SqlTime as_of,
           std::shared_ptr<Collector> collector, Callbacks callbacks)
      : scheduler_(scheduler),
        strand_(strand),
        storage_(storage),
        id_(id),
        as_of_(as_of),
        collector_(std::move(collector)),
        callbacks_(std::move(callbacks)) {}

  /// It may write from now on.
  void allow();
  /// The collector has everything below `upper`.
  void computed(repr::SqlTime upper);

 private:
  void open();
  void load(std::shared_ptr<storage_api::CollectionReader> reader);
  void take_persisted(const storage_api::CollectionUpdates& updates);
  void step();
  void append(repr::SqlTime next, repr::SqlTime upper, std::shared_ptr<const storage_api::CollectionUpdates> updates);
  void append_later(repr::SqlTime next, repr::SqlTime upper,
                    std::shared_ptr<const storage_api::CollectionUpdates> updates);
  void written(repr::SqlTime upper);
  void fail(const Error& error);
  template <typename T, typename F>
  void when_ready(base::Future<T> future, F f);

  base::Scheduler& scheduler_;
  base::Strand& strand_;
  storage_api::Storage& storage_;
  expr::GlobalId id_;
  repr::SqlTime as_of_;
  std::shared_ptr<Collector> collector_;
  Callbacks callbacks_;
  std::unique_ptr<storage_api::CollectionWriter> writer_{};
  repr::SqlTime computed_ = 0;
  repr::SqlTime reported_ = 0;
  bool allowed_ = false;
  bool busy_ = false;      // opening, loading or appending
  bool has_written_ = false;
  bool failed_ = false;
};

}  // namespace freshet::compute
