// SPDX-License-Identifier: Apache-2.0
/// Plans as bytes: for the catalog, and for commands between processes.
///
/// Functions are named by signature, nodes and enumerators by stable numbers. The first byte is the version;
/// there is one so far. Sharing between subtrees is written out.
///
/// Errors: decoding bytes that `encode` did not write is kCorrupt; a function that this build does not have is
/// 42883; a tree deeper than kMaxPlanDepth is 54001. Never undefined behaviour: columns, types and arities
/// are checked before a node is built.
#pragma once

#include <freshet/base/bytes.h>
#include <freshet/base/result.h>
#include <freshet/expr/dataflow.h>

namespace freshet::expr {

inline constexpr std::size_t kMaxPlanDepth = 2048;

base::Bytes encode(const Scalar& scalar);
base::Bytes encode(const Mfp& mfp);
base::Bytes encode(const Relation& relation);
base::Bytes encode(const Lir& lir);
base::Bytes encode(const DataflowDescription& dataflow);

Result<Scalar> decode_scalar(base::BytesView bytes);
Result<Mfp> decode_mfp(base::BytesView bytes);
Result<Relation> decode_relation(base::BytesView bytes);
Result<LirPtr> decode_lir(base::BytesView bytes);
Result<DataflowDescription> decode_dataflow(base::BytesView bytes);

}  // namespace freshet::expr
