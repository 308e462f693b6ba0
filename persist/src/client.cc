// SPDX-License-Identifier: Apache-2.0
#include <freshet/persist/client.h>

#include <map>
#include <vector>

#include <freshet/base/assert.h>

#include "async.h"
#include "group.h"
#include "machine.h"
#include "session.h"

namespace freshet::persist {

using base::Future;
using base::Unit;

namespace {

bool is_name(const std::string& name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
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

  State(Environment e, const ClientOptions& o)
      : environment(e), options(o), session(std::make_shared<Session>(e, o)), strand(e.scheduler) {}
  base::TaskQueue& queue() { return strand; }

  static Future<std::shared_ptr<Group>> open(std::shared_ptr<State> self, std::string name) {
    if (!is_name(name)) co_return fail(ErrorCode::kInvalid, "bad name of a group: \"" + name + "\"");
    if (self->closed) co_return fail(ErrorCode::kCancelled, "persist was closed");
    const auto [it, first] = self->groups.try_emplace(name);
    if (it->second.group != nullptr) co_return it->second.group;
    base::Promise<std::shared_ptr<Group>> promise;
    Future<std::shared_ptr<Group>> opened = promise.future();
    it->second.waiting.push_back(std::move(promise));
    if (first) {
      it->second.machine =
          std::make_shared<Machine>(self->environment, self->options, self->session, name);
      Future<Unit> loading = load(self, it->second.machine);
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
      self->swept = true;
    }
    Future<Unit> loading = Machine::load(std::move(machine));
    Result<Unit> loaded = co_await std::move(loading);
    co_return std::move(loaded);
  }

  void finish_open(const std::string& name, Result<Unit> loaded) {
    const auto it = groups.find(name);
    if (it == groups.end()) return;  // closed meanwhile
    auto waiting = std::exchange(it->second.waiting, {});
    if (!loaded) {
      it->second.machine->close();
      groups.erase(it);
      for (auto& promise : waiting) promise.resolve(Unexpected(loaded.error()));
      return;
    }
    it->second.group = make_group(it->second.machine);
    for (auto& promise : waiting) promise.resolve(it->second.group);
  }

  static Future<Unit> settle(std::shared_ptr<State> self) {
    std::vector<std::shared_ptr<Machine>> machines;
    for (const auto& [name, opening] : self->groups) machines.push_back(opening.machine);
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
    const auto it = self->groups.find(name);
    if (it == self->groups.end()) co_return Unit{};
    const std::shared_ptr<Machine> machine = it->second.machine;
    self->groups.erase(it);
    Future<Unit> erasing = Machine::erase(machine);
    Result<Unit> erased = co_await std::move(erasing);
    co_return std::move(erased);
  }

  void close() {
    session->close();
    // Not only on the strand: a killed process runs nothing any more.
    strand.post([self = shared_from_this()] {
      self->closed = true;
      for (auto& [name, opening] : self->groups) {
        if (opening.machine != nullptr) opening.machine->close();
        for (auto& promise : opening.waiting) {
          promise.resolve(fail(ErrorCode::kCancelled, "persist was closed"));
        }
      }
      self->groups.clear();
    });
  }

  Environment environment;
  ClientOptions options;
  std::shared_ptr<Session> session;
  base::Strand strand;
  // On the strand.
  std::map<std::string, Opening> groups;
  bool swept = false;
  bool closed = false;
};

PersistClient::PersistClient(Environment environment, ClientOptions options)
    : state_(std::make_shared<State>(environment, options)) {}

PersistClient::~PersistClient() { state_->close(); }

Future<std::shared_ptr<Group>> PersistClient::open(std::string name) {
  return State::open(state_, std::move(name));
}

Future<Unit> PersistClient::settle() { return State::settle(state_); }

Future<Unit> PersistClient::erase(std::string name) { return State::erase(state_, std::move(name)); }

}  // namespace freshet::persist
