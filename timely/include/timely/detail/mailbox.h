// SPDX-License-Identifier: Apache-2.0
/// A lock-free stack of mail for one reader, taken whole and turned round.
///
/// Orderings: a push publishes the node with release (sequentially
/// consistent, so that a worker shutting down and a late push see each other); `take` acquires the
/// whole list, so everything written before a push is seen after the take. The reader sees mail in
/// the order of the pushes.
#pragma once

#include <atomic>

namespace timely::detail {

class MailNode {
 public:
  MailNode() = default;
  MailNode(const MailNode&) = delete;
  MailNode& operator=(const MailNode&) = delete;
  virtual ~MailNode() = default;

  /// Called once by the worker it was mailed to; a node that lives on the heap deletes itself.
  virtual void deliver() = 0;
  /// Called instead of `deliver` when the worker is gone.
  virtual void discard() = 0;

 private:
  friend class Mailbox;
  MailNode* next_ = nullptr;
};

class Mailbox {
 public:
  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Any thread.
  void push(MailNode* node) {
    MailNode* head = head_.load(std::memory_order_relaxed);
    do {
      node->next_ = head;
    } while (!head_.compare_exchange_weak(head, node, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
  }
  [[nodiscard]] bool empty() const { return head_.load(std::memory_order_relaxed) == nullptr; }
  /// Passes every node to `f`, oldest first. Only the reader.
  template <typename F>
  void take(F f) {
    MailNode* node = head_.exchange(nullptr, std::memory_order_acquire);
    MailNode* oldest = nullptr;
    while (node != nullptr) {
      MailNode* next = node->next_;
      node->next_ = oldest;
      oldest = node;
      node = next;
    }
    while (oldest != nullptr) {
      MailNode* next = oldest->next_;
      f(oldest);
      oldest = next;
    }
  }

 private:
  std::atomic<MailNode*> head_{nullptr};
};

}  // namespace timely::detail
