// SPDX-License-Identifier: Apache-2.0
/// Rows as DataRow messages and as COPY data.
#pragma once

#include <freshet/adapter/session.h>
#include <freshet/repr/text.h>

#include "pgwire_messages.h"

namespace freshet::adapter {

/// Appends one DataRow for each row of the batch.
void write_data_rows(MessageWriter& out, const RowBatch& batch, const repr::RelationDesc& desc,
                     const Formats& formats, const repr::TextFormat& text);

/// Appends one CopyData for each row, in COPY's text, CSV or binary form.
void write_copy_rows(MessageWriter& out, const RowBatch& batch, const repr::RelationDesc& desc,
                     const sql::CopyOptions& options, const repr::TextFormat& text, bool& header_due);
/// The header line of CSV (if asked for), or binary COPY's signature.
void write_copy_header(MessageWriter& out, const repr::RelationDesc& desc, const sql::CopyOptions& options);
/// Binary COPY's trailer.
void write_copy_trailer(MessageWriter& out, const sql::CopyOptions& options, bool header_due);

}  // namespace freshet::adapter
