// SPDX-License-Identifier: Apache-2.0
/// Writes a stream into a shard: whenever its frontier has moved, what is complete is appended.
///
/// `encode(M&&, Updates&)` adds the rows of a message. The shard's upper follows the frontier, so a
/// restarted dataflow that starts at that upper writes everything once. One append is under way at
/// a time; what becomes complete meanwhile goes with the next. The stream must arrive at worker 0
/// (a dataflow of width 1, or an exchange before).
///
///     persist::persist_sink(rows, "view", {.group = group, .shard = id, .epoch = epoch, .upper =
///     d,
///                                          .scheduler = scheduler, .on_error = fail}, encode);
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <freshet/persist/dataflow/appender.h>
#include <timely/timely.h>

namespace freshet::persist {

template <typename M, typename Encode>
class SinkOperator {
 public:
  SinkOperator(std::shared_ptr<Appender> appender, timely::Setup<Time>& setup, Encode encode)
      : appender_(std::move(appender)), first_(setup.worker() == 0), encode_(std::move(encode)) {
    if (first_) appender_->activate_with(setup.activator());
  }

  void step(timely::Input<Time, M>& input) {
    input.for_each([this](const timely::Capability<Time>&, M message) {
      FRESHET_ASSERT(first_, "a persist sink got a message on another worker than the first");
      encode_(std::move(message), pending_);
    });
    if (!first_) return;
    const timely::Antichain<Time>& frontier = input.frontier();
    appender_->advance(pending_, frontier.empty() ? kClosed : frontier.only());
  }

 private:
  std::shared_ptr<Appender> appender_;
  bool first_;
  Encode encode_;
  Updates pending_;
};

template <typename M, typename Encode>
void persist_sink(const timely::Stream<Time, M>& stream, std::string name, SinkOptions options,
                  Encode encode) {
  auto appender = std::make_shared<Appender>(std::move(options));
  stream.sink(std::move(name), timely::Pipeline{},
              [appender = std::move(appender), encode](timely::Setup<Time>& setup) {
                return SinkOperator<M, Encode>(appender, setup, encode);
              });
}

}  // namespace freshet::persist
