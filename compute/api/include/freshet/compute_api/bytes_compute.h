// SPDX-License-Identifier: Apache-2.0
/// A `Compute` that sends every command and response of another one through bytes.
///
/// The configuration of tests that stands for a replica in another process. A message that does not
/// survive the trip is a bug and aborts.
#pragma once

#include <freshet/compute_api/codec.h>

namespace freshet::compute_api {

class BytesCompute final : public Compute {
 public:
  explicit BytesCompute(std::unique_ptr<Compute> inner) : inner_(std::move(inner)) {}
  void on_response(std::function<void(ComputeResponse)> handler) override {
    inner_->on_response([handler = std::move(handler)](ComputeResponse response) {
      handler(decode_response(encode(response)).value());
    });
  }
  void send(ComputeCommand command) override { inner_->send(decode_command(encode(command)).value()); }

 private:
  std::unique_ptr<Compute> inner_;
};

}  // namespace freshet::compute_api
