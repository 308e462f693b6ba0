// SPDX-License-Identifier: Apache-2.0
#include <freshet/persist/client.h>

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include <freshet/base/assert.h>
#include <freshet/base/guarded.h>

#include "flow.h"
#include "group.h"
#include "machine.h"
#include "session.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {

constexpr const char* kGroupPrefix = "group/";

using Keys = std::vector<std::string>;

Unexpected closed() { return fail(ErrorCode::kCancelled, "persist was closed"); }

bool is_name(const std::string& name) {
  return !name.empty() && name.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789_.-") == std::string::npos;
}

}  // namespace

struct PersistClient::State : std::enable_shared_from_this<State> {
  struct Opening {
    std::shared_ptr<Machine> machine;
    std::shared_ptr<Group> group;  ///< Null while it loads.
    std::vector<base::Promise<std::shared_ptr<Group>>> waiting;
  };

  struct Book {
    std::map<std::string, Opening> groups{};
    std::vector<base::Promise<Unit>> sweeping{};  ///< Who waits for the sweep.
    bool closed = false;
  };

  State(Environment e, const ClientOptions& o)
      : environment(e), options(o), session(std::make_shared<Session>(e, o)), strand(e.scheduler) {}
  base::TaskQueue& queue() { return strand; }

  static Future<std::shared_ptr<Group>> open(const std::shared_ptr<State>& self,
                                             const std::string& name) {
    if (!is_name(name)) {
      return Future<std::shared_ptr<Group>>::ready(
          fail(ErrorCode::kInvalid, "bad name of a group: \"" + name + "\""));
    }
    base::Promise<std::shared_ptr<Group>> promise;
    Future<std::shared_ptr<Group>> opened = promise.future();
    const std::shared_ptr<Machine> fresh = self->register_open(name, promise);
    if (promise.pending()) promise.resolve(closed());
    if (fresh != nullptr) {
      on(self, load(self, fresh)).finally([name](const auto& state, Result<Unit> loaded) {
        state->finish_open(name, std::move(loaded));
      });
    }
    return opened;
  }

  // Answers, takes the promise, or leaves it when the client is closed. The machine comes back if
  // it is to be loaded.
  std::shared_ptr<Machine> register_open(const std::string& name,
                                         base::Promise<std::shared_ptr<Group>>& promise) {
    return book.with([&](Book& b) -> std::shared_ptr<Machine> {
      if (b.closed) return nullptr;
      const auto [it, first] = b.groups.try_emplace(name);
      Opening& opening = it->second;
      if (opening.group != nullptr) {
        promise.resolve(opening.group);
        return nullptr;
      }
      opening.waiting.push_back(std::move(promise));
      if (!first) return nullptr;
      opening.machine = std::make_shared<Machine>(environment, options, session, name);
      return opening.machine;
    });
  }

  static Future<Unit> load(std::shared_ptr<State> self, std::shared_ptr<Machine> machine) {
    return on(self)
        .and_then(sweep_once)
        .and_then([machine = std::move(machine)](const auto& state) {
          auto found = state->stock.extract(machine->name());
          return Machine::load(machine, found.empty() ? Keys() : std::move(found.mapped()));
        });
  }

  // The first who comes sweeps; the others wait for it.
  static Future<Unit> sweep_once(std::shared_ptr<State> self) {
    if (!self->options.exclusive || self->swept) return done();
    base::Promise<Unit> promise;
    Future<Unit> swept = promise.future();
    const bool first = self->book.with([&](Book& b) {
      if (!b.closed) b.sweeping.push_back(std::move(promise));
      return b.sweeping.size() == 1;
    });
    if (promise.pending()) promise.resolve(closed());
    if (first) {
      on(self, sweep(self)).finally([](const auto& state, Result<Unit> result) {
        state->swept = result.has_value();
        auto waiting = state->book.with([](Book& b) { return std::exchange(b.sweeping, {}); });
        for (auto& waiter : waiting) waiter.resolve(result);
      });
    }
    return swept;
  }

  // Before any group is open, once: nothing in Blob or Consensus is ours yet.
  static Future<Unit> sweep(std::shared_ptr<State> self) {
    return on(self, self->environment.consensus.list_keys(""))
        .and_then([](const auto& state, const Keys& keys) {
          return keys.empty() ? refuse_parts_without_state(state) : Session::sweep(state->session);
        })
        .and_then(
            [](const auto& state) { return state->environment.consensus.list_keys(kGroupPrefix); })
        .and_then([](const auto& state, const Keys& groups) {
          return take_stock(state, {groups.begin(), groups.end()});
        });
  }

  // A group is in Consensus before its first part is in Blob: parts beside a Consensus that holds nothing at all are the
  // data of one that was lost, and must not be taken for rubbish.
  static Future<Unit> refuse_parts_without_state(std::shared_ptr<State> self) {
    return on(self, self->environment.blob.list(""))
        .and_then([](const auto&, const std::vector<BlobInfo>& objects) -> Result<Unit> {
          if (objects.empty()) return Unit{};
          return fail(ErrorCode::kCorrupt, "there are " + std::to_string(objects.size()) +
                                               " parts of data, such as \"" + objects.front().key +
                                               "\", but no state that names them");
        });
  }

  // Looks at all that earlier processes left in Blob. What belongs to groups that are no more goes
  // now (their removal was interrupted); the rest is for the groups to judge as they are opened.
  static Future<Unit> take_stock(std::shared_ptr<State> self, std::set<std::string> groups) {
    return on(self, self->environment.blob.list(""))
        .and_then([groups = std::move(groups)](const auto& state, std::vector<BlobInfo> objects) {
          Keys orphans;
          state->stock.clear();
          for (BlobInfo& object : objects) {
            std::string group = object.key.substr(0, object.key.find('/'));
            const bool known = groups.contains(kGroupPrefix + group);
            (known ? state->stock[std::move(group)] : orphans).push_back(std::move(object.key));
          }
          return in_order(state, std::move(orphans), [](const auto& owner, const std::string& key) {
            return owner->environment.blob.remove(key);
          });
        });
  }

  void finish_open(const std::string& name, Result<Unit> loaded) {
    Opening opening;
    book.with([&](Book& b) {
      const auto it = b.groups.find(name);
      if (it == b.groups.end()) return;  // closed meanwhile
      opening.waiting = std::exchange(it->second.waiting, {});
      opening.machine = it->second.machine;
      if (loaded) {
        it->second.group = opening.group = make_group(opening.machine);
      } else {
        b.groups.erase(it);
      }
    });
    if (!loaded && opening.machine != nullptr) opening.machine->close();
    for (auto& promise : opening.waiting) {
      promise.resolve(loaded ? Result<std::shared_ptr<Group>>(opening.group)
                             : Unexpected(loaded.error()));
    }
  }

  static Future<Unit> settle(const std::shared_ptr<State>& self) {
    std::vector<std::shared_ptr<Machine>> machines;
    self->book.with([&](Book& b) {
      for (const auto& [name, opening] : b.groups) machines.push_back(opening.machine);
    });
    return in_order(self, std::move(machines),
                    [](const auto&, const auto& machine) { return Machine::settle(machine); });
  }

  static Future<Unit> erase(const std::shared_ptr<State>& self, const std::string& name) {
    return on(self, open(self, name))
        .and_then([name](const auto& state, const std::shared_ptr<Group>&) -> Future<Unit> {
          const std::shared_ptr<Machine> machine = state->forget(name);
          return machine == nullptr ? done() : Machine::erase(machine);
        });
  }

  static Future<Keys> groups(const std::shared_ptr<State>& self) {
    return on(self, self->environment.consensus.list_keys(kGroupPrefix))
        .and_then([](const auto&, Keys keys) {
          for (std::string& key : keys) key.erase(0, std::string_view(kGroupPrefix).size());
          return keys;
        });
  }

  /// Null if it was not open.
  std::shared_ptr<Machine> forget(const std::string& name) {
    return book.with([&](Book& b) -> std::shared_ptr<Machine> {
      const auto it = b.groups.find(name);
      if (it == b.groups.end()) return nullptr;
      const auto machine = it->second.machine;
      b.groups.erase(it);
      return machine;
    });
  }

  // Works without the scheduler: a killed process runs nothing any more, and what waits holds us.
  void close() {
    std::map<std::string, Opening> left;
    std::vector<base::Promise<Unit>> sweeping;
    book.with([&](Book& b) {
      b.closed = true;
      left.swap(b.groups);
      sweeping.swap(b.sweeping);
    });
    for (auto& promise : sweeping) promise.resolve(closed());
    for (auto& [name, opening] : left) {
      if (opening.machine != nullptr) opening.machine->close();
    }
    session->close();
  }

  Environment environment;
  ClientOptions options;
  std::shared_ptr<Session> session;
  base::Strand strand;
  base::Guarded<Book> book;
  // On the strand.
  bool swept = false;
  std::map<std::string, Keys> stock;  ///< Objects found at the start, by group.
};

PersistClient::PersistClient(Environment environment, ClientOptions options)
    : state_(std::make_shared<State>(environment, options)) {}

PersistClient::~PersistClient() { state_->close(); }

Future<std::shared_ptr<Group>> PersistClient::open(std::string name) {
  return State::open(state_, name);
}

Future<Unit> PersistClient::settle() { return State::settle(state_); }

Future<std::vector<std::string>> PersistClient::groups() { return State::groups(state_); }

Future<Unit> PersistClient::erase(std::string name) { return State::erase(state_, name); }

}  // namespace freshet::persist
