// SPDX-License-Identifier: Apache-2.0
#include <freshet/server/server.h>

#include <algorithm>
#include <future>
#include <random>
#include <thread>

#include <freshet/adapter/pgwire.h>
#include <freshet/base/file_system.h>
#include <freshet/compute/dataflow_compute.h>
#include <freshet/compute/naive_compute.h>
#include <freshet/compute_api/bytes_compute.h>
#include <freshet/persist/client.h>
#include <freshet/storage/storage.h>
#include <timely/tbb_executor.h>

#include "data_directory.h"
#include "listener.h"

namespace freshet::server {
namespace {

constexpr const char* kMemory = ":memory:";

/// Waits on the calling thread; only here, before and after there are sessions.
template <typename T>
Result<T> wait(base::Scheduler& scheduler, base::Future<T> future) {
  std::promise<Result<T>> done;
  auto answer = done.get_future();
  std::move(future).on_ready(scheduler, [&done](Result<T> result) { done.set_value(std::move(result)); });
  return answer.get();
}

/// Members in the order in which they are built; destroyed the other way round.
class ServerProcess final : public Server {
 public:
  ServerProcess(ServerConfig config, base::Logger& log)
      : config_(std::move(config)), log_(log), files_(base::make_posix_file_system()) {
    const std::uint32_t cores = std::max(2u, std::thread::hardware_concurrency());
    if (config_.threads == 0) config_.threads = cores;
    if (config_.workers == 0) config_.workers = std::max(1u, std::thread::hardware_concurrency());
  }

  ~ServerProcess() override {
    if (listener_ != nullptr) log_.info("shutting down");
    if (listener_ != nullptr) listener_->stop();
    if (adapter_ != nullptr) (void)wait(*scheduler_, adapter_->shutdown());
    // Threads stop first: nothing runs any more when the objects that tasks point to go away.
    if (scheduler_ != nullptr) scheduler_->stop();
    listener_.reset();  // and with it the sessions of clients that are still there
    adapter_.reset();
    compute_.reset();
    executor_.reset();
  }

  Result<void> start() {
    // The address first: a start that is refused for it leaves nothing behind.
    if (!config_.listen.empty()) listener_ = FRESHET_TRY(listen(config_.listen, config_.threads));
    FRESHET_TRY(open_directory());
    if (listener_ != nullptr) {
      log_.info("listening", {{"address", listener_->address()}, {"data", config_.data_directory}});
    }
    scheduler_ = base::make_thread_scheduler(config_.threads, 64);
    seed_ = std::random_device()() | (static_cast<std::uint64_t>(std::random_device()()) << 32);
    FRESHET_TRY(open_storage());
    make_compute();
    adapter_ = FRESHET_TRY(
        wait(*scheduler_, adapter::Adapter::start({*scheduler_, *storage_, *compute_, log_, metrics_},
                                                  {.workers = config_.workers,
                                                   .max_connections = config_.max_connections,
                                                   .maintain = config_.maintain,
                                                   .seed = seed_})));
    if (listener_ == nullptr) return {};
    listener_->accept([this](std::unique_ptr<adapter::Transport> transport) {
      adapter::serve_pgwire(*adapter_, *scheduler_, log_, std::move(transport));
    });
    log_.info("ready for sessions");
    return {};
  }

  [[nodiscard]] std::string address() const override {
    return listener_ == nullptr ? std::string() : listener_->address();
  }
  [[nodiscard]] std::uint16_t port() const override { return listener_ == nullptr ? std::uint16_t{0} : listener_->port(); }
  [[nodiscard]] adapter::Adapter& adapter() override { return *adapter_; }

 private:
  [[nodiscard]] bool in_memory() const { return config_.data_directory == kMemory; }

  Result<void> open_directory() {
    if (config_.storage == ServerConfig::Storage::kMemory && !in_memory()) {
      return fail(ErrorCode::kInvalid, "memory storage keeps nothing: the data directory must be :memory:");
    }
    if (!in_memory()) directory_ = FRESHET_TRY(DataDirectory::open(*files_, config_.data_directory));
    return {};
  }

  Result<void> open_storage() {
    const storage::StorageEnvironment environment{*scheduler_, log_};
    if (config_.storage == ServerConfig::Storage::kMemory) {
      storage_ = FRESHET_TRY(wait(*scheduler_, storage::make_memory_storage(environment)));
      return {};
    }
    if (in_memory()) {
      blob_ = persist::make_memory_blob();
      consensus_ = persist::make_memory_consensus();
    } else {
      blob_ = FRESHET_TRY(persist::make_file_blob(*scheduler_, *files_, directory_->blob()));
      consensus_ = FRESHET_TRY(persist::make_sqlite_consensus(
          *scheduler_, {.path = directory_->consensus()}));
      FRESHET_TRY(files_->sync_directory(config_.data_directory));
      FRESHET_TRY(directory_->mark_in_use());
    }
    client_ = std::make_unique<persist::PersistClient>(
        persist::Environment{*scheduler_, *blob_, *consensus_, log_, metrics_},
        persist::ClientOptions{.seed = seed_});
    storage_ = FRESHET_TRY(wait(*scheduler_, storage::make_durable_storage(environment, *client_)));
    return {};
  }

  void make_compute() {
    if (config_.engine == ServerConfig::Engine::kNaive) {
      compute_ = compute::make_naive_compute({*scheduler_, *storage_, log_});
    } else {
      executor_ = timely::make_tbb_executor({.threads = config_.threads});
      compute_ = compute::make_dataflow_compute(
          {*scheduler_, *executor_, *storage_, log_, metrics_, config_.workers});
    }
    if (config_.commands_through_bytes) {
      compute_ = std::make_unique<compute_api::BytesCompute>(std::move(compute_));
    }
  }

  ServerConfig config_;
  base::Logger& log_;
  base::Metrics metrics_;
  std::unique_ptr<base::FileSystem> files_;
  std::unique_ptr<DataDirectory> directory_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<base::Scheduler> scheduler_;
  std::unique_ptr<persist::Blob> blob_;
  std::unique_ptr<persist::Consensus> consensus_;
  std::unique_ptr<persist::PersistClient> client_;
  std::unique_ptr<storage_api::Storage> storage_;
  std::unique_ptr<timely::Executor> executor_;
  std::unique_ptr<compute_api::Compute> compute_;
  std::unique_ptr<adapter::Adapter> adapter_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(ServerConfig config, base::Logger& log) {
  auto server = std::make_unique<ServerProcess>(std::move(config), log);
  FRESHET_TRY(server->start());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace freshet::server
