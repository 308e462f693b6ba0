// SPDX-License-Identifier: Apache-2.0
#include <freshet/adapter/adapter.h>

#include <algorithm>
#include <utility>

#include <freshet/base/random.h>
#include <freshet/base/sqlstate.h>

#include "boot.h"
#include "catalog_writer.h"
#include "session_state.h"

namespace freshet::adapter {
namespace {

/// What clients hold: forwards to the state, and closes it on its own strand.
class SessionHandle final : public Session {
 public:
  explicit SessionHandle(SessionPtr state) : state_(std::move(state)) {}
  ~SessionHandle() override {
    state_->strand.post([state = state_] { state->close(); });
  }

  [[nodiscard]] base::Strand& queue() override { return state_->strand; }
  [[nodiscard]] std::uint32_t process_id() const override { return state_->process_id; }
  [[nodiscard]] std::uint32_t secret_key() const override { return state_->secret_key; }
  [[nodiscard]] TransactionStatus transaction_status() const override { return state_->status(); }
  void on_notice(std::function<void(Notice)> handler) override { state_->on_notice = std::move(handler); }
  void on_end(std::function<void()> handler) override { state_->on_end = std::move(handler); }
  void on_variable(std::function<void(std::string, std::string)> handler) override {
    state_->on_variable = std::move(handler);
    for (auto& [name, value] : state_->variables.reported()) {
      state_->on_variable(std::move(name), std::move(value));
    }
  }

  [[nodiscard]] Result<std::vector<sql::Statement>> parse(std::string_view sql) override {
    auto parsed = sql::parse(sql);
    if (!parsed) state_->fail_transaction();
    return parsed;
  }
  Future<Outcome> run(const sql::Statement& statement, bool last) override {
    return state_->run(statement, last);
  }
  Future<StatementDescription> prepare(std::string name, std::string_view sql,
                                       std::vector<repr::SqlType> types) override {
    return state_->prepare(std::move(name), sql, std::move(types));
  }
  Result<const StatementDescription*> describe_statement(const std::string& name) override {
    return state_->describe_statement(name);
  }
  Result<Unit> bind(std::string portal, const std::string& statement, repr::DatumRow parameters) override {
    return state_->bind(std::move(portal), statement, std::move(parameters));
  }
  Result<const StatementDescription*> describe_portal(const std::string& portal) override {
    auto it = state_->portals.find(portal);
    if (it != state_->portals.end()) return it->second.description.get();
    state_->fail_transaction();
    return fail(sqlstate::kInvalidCursorName, "portal \"" + portal + "\" does not exist");
  }
  Future<Outcome> execute(const std::string& portal, bool last) override {
    return state_->execute(portal, last);
  }
  bool is_lone_write(const std::string& portal) const override { return state_->is_lone_write(portal); }
  std::optional<RowBatch> lookup(const std::string& portal, bool last) override {
    return state_->lookup(portal, last);
  }
  void suspend(const std::string& portal, Rows rest) override {
    if (auto it = state_->portals.find(portal); it != state_->portals.end()) {
      it->second.rest = std::move(rest);
    }
  }
  void close_statement(const std::string& name) override { state_->statements.erase(name); }
  void close_portal(const std::string& name) override { state_->portals.erase(name); }
  Future<Unit> sync() override { return state_->sync(); }
  void fail_transaction() override { state_->fail_transaction(); }
  void cancel() override {
    state_->strand.post([state = state_] {
      state->cancelled = true;
      state->cancel_current();
    });
  }

 private:
  SessionPtr state_;
};

class AdapterService final : public Adapter {
 public:
  explicit AdapterService(std::unique_ptr<Services> services)
      : services_(std::move(services)), sessions_(std::make_shared<Sessions>()) {
    sessions_->random.emplace(services_->config.seed ^ 0x73657373696f6e73ULL);
  }
  /// Nothing runs any more, so the end of a session that its client's leaving posted may never have come.
  ~AdapterService() override {
    for (const SessionPtr& state : live()) {
      state->close();
      if (state->on_end) std::exchange(state->on_end, nullptr)();
    }
    services_->compute->close();
  }

  Result<std::unique_ptr<Session>> new_session(SessionStartup startup) override {
    if (startup.database.empty()) startup.database = startup.user;
    if (!services_->catalog.get()->has_database(startup.database)) {
      return fail(sqlstate::kInvalidCatalogName, "database \"" + startup.database + "\" does not exist");
    }
    const std::lock_guard lock(sessions_->mutex);
    if (sessions_->live.size() >= services_->config.max_connections) {
      return fail(sqlstate::kTooManyConnections, "sorry, too many clients already");
    }
    const std::uint32_t process = sessions_->next_process++;
    const auto secret = static_cast<std::uint32_t>(sessions_->random->next());
    auto variables = std::move(startup.variables);
    auto state = std::make_shared<SessionState>(*services_, std::move(startup), process, secret);
    for (auto& [name, value] : variables) {
      FRESHET_TRY(state->variables.set_default(name, std::move(value)));
    }
    state->on_close = [sessions = sessions_, process] {
      const std::lock_guard guard(sessions->mutex);
      sessions->live.erase(process);
    };
    sessions_->live[process] = state;
    return std::unique_ptr<Session>(std::make_unique<SessionHandle>(std::move(state)));
  }

  void cancel(std::uint32_t process_id, std::uint32_t secret_key) override {
    SessionPtr state = find(process_id);
    if (state == nullptr || state->secret_key != secret_key) return;
    state->stop_asked->store(true);
    state->strand.post([state] {
      state->cancelled = true;
      state->cancel_current();
    });
  }

  Future<Unit> shutdown() override {
    for (const SessionPtr& state : live()) {
      state->strand.post([state] {
        state->stop_cause = SessionState::StopCause::kShutdown;
        state->cancelled = true;
        state->cancel_current();
      });
    }
    // Where the reservation cannot be taken back, the next start is a little ahead of the clock.
    return services_->oracle->release().then(services_->scheduler, [services = services_.get()](const Result<Unit>&) {
      return services->committer->settled();
    });
  }

 private:
  struct Sessions {
    std::mutex mutex;
    std::map<std::uint32_t, std::weak_ptr<SessionState>> live;
    std::uint32_t next_process = 1;
    std::optional<base::Random> random;
  };
  /// Not under the lock: the end of a session takes it.
  std::vector<SessionPtr> live() {
    std::vector<SessionPtr> all;
    const std::lock_guard lock(sessions_->mutex);
    for (auto& [process, weak] : sessions_->live) {
      if (auto state = weak.lock()) all.push_back(std::move(state));
    }
    return all;
  }
  SessionPtr find(std::uint32_t process) {
    const std::lock_guard lock(sessions_->mutex);
    auto it = sessions_->live.find(process);
    return it == sessions_->live.end() ? nullptr : it->second.lock();
  }

  std::unique_ptr<Services> services_;
  std::shared_ptr<Sessions> sessions_;
};

}  // namespace

base::Future<std::unique_ptr<Adapter>> Adapter::start(AdapterEnvironment environment,
                                                      AdapterConfig config) {
  return boot(environment, std::move(config))
      .and_then(environment.scheduler, [](std::unique_ptr<Services> services) {
        return std::unique_ptr<Adapter>(std::make_unique<AdapterService>(std::move(services)));
      });
}

}  // namespace freshet::adapter
