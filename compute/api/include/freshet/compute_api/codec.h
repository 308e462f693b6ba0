// SPDX-License-Identifier: Apache-2.0
/// Commands and responses as bytes (a Cap'n Proto message) and back.
///
/// Decoding trusts nothing: whatever the bytes, the answer is a value or kInvalid.
///
///     Bytes bytes = encode(ComputeCommand(Schedule{id}));
///     ComputeCommand command = FRESHET_TRY(decode_command(bytes));
#pragma once

#include <freshet/base/bytes.h>
#include <freshet/compute_api/compute.h>

namespace freshet::compute_api {

base::Bytes encode(const ComputeCommand& command);
base::Bytes encode(const ComputeResponse& response);
Result<ComputeCommand> decode_command(base::BytesView bytes);
Result<ComputeResponse> decode_response(base::BytesView bytes);

}  // namespace freshet::compute_api
