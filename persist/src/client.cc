// SPDX-License-Identifier: Apache-2.0
#include <freshet/persist/client.h>

#include <map>
#include <set>
#include <vector>

#include <freshet/base/assert.h>
#include <freshet/base/guarded.h>

#include "async.h"
#include "group.h"
#include "machine.h"
#include "session.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {

constexpr const char* kGroupPrefix = "group/";

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
    bool closed = false;
  };

  State(Environment e, const ClientOptions& o)
      : environment(e), options(o), session(std::make_shared<Session>(e, o)), strand(e.scheduler) {}
  base::TaskQueue& queue() { return strand; }

  static Future<std::shared_ptr<Group>> open(std::shared_ptr<State> self, std::string name) {
    if (!is_name(name))
      co_return fail(ErrorCode::kInvalid, "bad name of a group: \"" + name + "\"");
    base::Promise<std::shared_ptr<Group>> promise;
    Future<std::shared_ptr<Group>> opened = promise.future();
    const std::shared_ptr<Machine> fresh = self->book.with([&](Book& book) {
      std::shared_ptr<Machine> made;
      if (book.closed) return made;  // the promise is dropped: kCancelled
      const auto [it, first] = book.groups.try_emplace(name);
      if (it->second.group != nullptr) {
        promise.resolve(it->second.group);
        return made;
      }
      it->second.waiting.push_back(std::move(promise));
      if (first) {
        made = std::make_shared<Machine>(self->environment, self->options, self->session, name);
        it->second.machine = made;
      }
      return made;
    });
    if (promise.pending()) promise.resolve(fail(ErrorCode::kCancelled, "persist was closed"));
    if (fresh != nullptr) {
      Future<Unit> loading = load(self, fresh);
      std::move(loading).on_ready(self->strand, [self, name](Result<Unit> loaded) {
        self->finish_open(name, std::move(loaded));
      });
    }
    Result<std::shared_ptr<Group>> group = co_await std::move(opened);
    co_return std::move(group);
  }

  static Future<Unit> load(std::shared_ptr<State> self, std::shared_ptr<Machine> machine) {
    if (self->options.exclusive && !self->swept) {
      Future<Unit> sweeping = Session::sweep(self->session);
      Result<Unit> swept = co_await std::move(sweeping);
      FRESHET_CO_CHECK(swept);
      Future<Unit> removing = remove_orphans(self);
      Result<Unit> removed = co_await std::move(removing);
      FRESHET_CO_CHECK(removed);
      self->swept = true;
    }
    Future<Unit> loading = Machine::load(std::move(machine));
    Result<Unit> loaded = co_await std::move(loading);
    co_return std::move(loaded);
  }

  // Objects of groups that are no more: their removal was interrupted.
  static Future<Unit> remove_orphans(std::shared_ptr<State> self) {
    Future<std::vector<std::string>> asking = self->environment.consensus.list_keys(kGroupPrefix);
    Result<std::vector<std::string>> keys = co_await std::move(asking);
    FRESHET_CO_CHECK(keys);
    Future<std::vector<BlobInfo>> listing = self->environment.blob.list("");
    Result<std::vector<BlobInfo>> objects = co_await std::move(listing);
    FRESHET_CO_CHECK(objects);
    const std::set<std::string> known(keys->begin(), keys->end());
    for (const BlobInfo& object : *objects) {
      const std::string group = object.key.substr(0, object.key.find('/'));
      if (known.contains(kGroupPrefix + group)) continue;
      Future<Unit> removing = self->environment.blob.remove(object.key);
      Result<Unit> removed = co_await std::move(removing);
      FRESHET_CO_CHECK(removed);
    }
    co_return Unit{};
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

  static Future<Unit> settle(std::shared_ptr<State> self) {
    std::vector<std::shared_ptr<Machine>> machines;
    self->book.with([&](Book& book) {
      for (const auto& [name, opening] : book.groups) machines.push_back(opening.machine);
    });
    for (const auto& machine : machines) {
      Future<Unit> settling = Machine::settle(machine);
      Result<Unit> settled = co_await std::move(settling);
      FRESHET_CO_CHECK(settled);
    }
    co_return Unit{};
  }

  static Future<Unit> erase(std::shared_ptr<State> self, std::string name) {
    Future<std::shared_ptr<Group>> opening = open(self, name);
    Result<std::shared_ptr<Group>> opened = co_await std::move(opening);
    FRESHET_CO_CHECK(opened);
    const std::shared_ptr<Machine> machine = self->book.with([&](Book& book) {
      const auto it = book.groups.find(name);
      if (it == book.groups.end()) return std::shared_ptr<Machine>();
      auto found = it->second.machine;
      book.groups.erase(it);
      return found;
    });
    if (machine == nullptr) co_return Unit{};
    Future<Unit> erasing = Machine::erase(machine);
    Result<Unit> erased = co_await std::move(erasing);
    co_return std::move(erased);
  }

  // Works without the scheduler: a killed process runs nothing any more, and what waits holds us.
  void close() {
    std::map<std::string, Opening> left;
    book.with([&](Book& b) {
      b.closed = true;
      left.swap(b.groups);
    });
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
  bool swept = false;  ///< On the strand.
};

PersistClient::PersistClient(Environment environment, ClientOptions options)
    : state_(std::make_shared<State>(environment, options)) {}

PersistClient::~PersistClient() { state_->close(); }

Future<std::shared_ptr<Group>> PersistClient::open(std::string name) {
  return State::open(state_, std::move(name));
}

Future<Unit> PersistClient::settle() { return State::settle(state_); }

Future<Unit> PersistClient::erase(std::string name) {
  return State::erase(state_, std::move(name));
}

}  // namespace freshet::persist
