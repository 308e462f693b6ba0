// SPDX-License-Identifier: Apache-2.0
/// A shard as a stream: its content as of one time, then every change after it.
///
/// `decode(const Updates&)` turns stored rows into a message; it is copied per worker and runs
/// there. The rows keep their own times: a message travels with a capability at or before them.
/// `read.filter` leaves out blocks by their statistics; `read.until` ends the stream.
///
///     auto rows = persist::persist_source<Rows>(scope, "orders", {
///         .group = group, .read = {.shard = id, .as_of = t}, .scheduler = scheduler,
///         .on_error = [&](Error error) { dataflow.fail(error); }}, decode);
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <freshet/persist/dataflow/feed.h>
#include <timely/timely.h>

namespace freshet::persist {

/// The operator of one worker.
template <typename M, typename Decode>
class SourceOperator {
 public:
  SourceOperator(std::shared_ptr<Feed> feed, timely::Setup<Time>& setup, Decode decode)
      : feed_(std::move(feed)),
        worker_(setup.worker()),
        capability_(setup.capability()),
        decode_(std::move(decode)) {
    capability_.downgrade(feed_->as_of());
    feed_->join(worker_, setup.activator());
  }

  void step(timely::Output<Time, M>& output, timely::Context& context) {
    Feed::Item item;
    while (capability_.valid() && feed_->next(worker_, item)) {
      if (item.updates != nullptr) {
        output.give(capability_.delayed(item.time), decode_(*item.updates));
      } else if (item.done) {
        capability_ = timely::Capability<Time>();
      } else {
        capability_.downgrade(item.time);
      }
      if (context.should_yield()) return context.activate();
    }
  }

 private:
  std::shared_ptr<Feed> feed_;
  std::size_t worker_;
  timely::Capability<Time> capability_;
  Decode decode_;
};

template <typename M, typename Decode>
timely::Stream<Time, M> persist_source(const timely::Scope<Time>& scope, std::string name,
                                       SourceOptions options, Decode decode) {
  auto feed = std::make_shared<Feed>(std::move(options), scope.width());
  return scope.template source<M>(std::move(name),
                                  [feed = std::move(feed), decode](timely::Setup<Time>& setup) {
                                    return SourceOperator<M, Decode>(feed, setup, decode);
                                  });
}

}  // namespace freshet::persist
