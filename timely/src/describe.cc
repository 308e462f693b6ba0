// SPDX-License-Identifier: Apache-2.0
#include <timely/detail/describe.h>

namespace timely::detail {

void DataflowBuilder::add_logs(Sender& sender) {
  for (auto& scope : scopes_) sender.add_log(scope->make_log(sender));
}

freshet::Result<void> DataflowBuilder::finish() {
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    FRESHET_TRY(scopes_[i]->check());
    scopes_[i]->summarize();  // into a scope that stands before it
  }
  for (auto& scope : scopes_) state_.graphviz += scope->draw();
  for (std::size_t worker = 0; worker < state_.width(); ++worker) {
    WorkerDataflow& instance = state_.instance(worker);
    for (auto& op : operators_) {
      FRESHET_ASSERT(op != nullptr, "an operator was begun and not built");
      instance.add(op->instantiate(instance));
    }
  }
  for (auto& scope : scopes_) state_.trackers.push_back(scope->build(state_.outstanding));
  for (std::size_t worker = 0; worker < state_.width(); ++worker) {
    WorkerDataflow& instance = state_.instance(worker);
    add_logs(instance);
    SenderContext context{instance};
    for (auto& op : operators_) op->connect(context, worker);
  }
  for (auto& action : at_end_) action();
  return {};
}

}  // namespace timely::detail
