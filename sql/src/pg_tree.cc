// SPDX-License-Identifier: Apache-2.0
// The one file that wraps libpg_query, and the thread that gives it room: parser and unpacking recurse
// (about 2.6 KB a level) and have no limit of their own, so that a deep text would overrun a normal stack.
#include "pg_tree.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include <freshet/base/assert.h>
#include <freshet/base/sqlstate.h>

#include <pg_query.h>

namespace freshet::sql {
namespace {

/// Texts up to this length cannot nest deep enough to hurt a normal stack.
constexpr std::size_t kInlineBytes = 2000;
constexpr std::size_t kStackBytes = std::size_t{256} << 20;

SqlState state_of(std::string_view message) {
  if (message.find("memory exhausted") != std::string_view::npos) return sqlstate::kStatementTooComplex;
  if (message.find("stack depth") != std::string_view::npos) return sqlstate::kStatementTooComplex;
  if (message.find("not supported") != std::string_view::npos ||
      message.find("not implemented") != std::string_view::npos) {
    return sqlstate::kFeatureNotSupported;
  }
  return sqlstate::kSyntaxError;
}

/// Depth of a message tree, counting messages; stops early beyond `limit`.
int depth_of(const ProtobufCMessage& message, int limit) {
  if (limit <= 0) return 1;
  int deepest = 0;
  const ProtobufCMessageDescriptor& descriptor = *message.descriptor;
  const char* base = reinterpret_cast<const char*>(&message);
  for (unsigned i = 0; i < descriptor.n_fields; ++i) {
    const ProtobufCFieldDescriptor& field = descriptor.fields[i];
    if (field.type != PROTOBUF_C_TYPE_MESSAGE) continue;
    std::size_t count = 1;
    ProtobufCMessage* const* children = nullptr;
    if (field.label == PROTOBUF_C_LABEL_REPEATED) {
      std::memcpy(&count, base + field.quantifier_offset, sizeof count);
      std::memcpy(&children, base + field.offset, sizeof children);
    } else {
      if ((field.flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        std::uint32_t chosen = 0;
        std::memcpy(&chosen, base + field.quantifier_offset, sizeof chosen);
        if (chosen != field.id) continue;
      }
      children = reinterpret_cast<ProtobufCMessage* const*>(base + field.offset);
    }
    for (std::size_t child = 0; child < count; ++child) {
      if (children[child] == nullptr) continue;
      deepest = std::max(deepest, depth_of(*children[child], limit - 1));
      if (deepest >= limit) return deepest + 1;
    }
  }
  return deepest + 1;
}

struct ParseJob {
  const std::string* sql;
  PgQuery__ParseResult* tree = nullptr;
  Error error{};

  void run() {
    PgQueryProtobufParseResult parsed = pg_query_parse_protobuf(sql->c_str());
    if (parsed.error != nullptr) {
      const std::string_view message = parsed.error->message;
      error = sql_error(state_of(message), std::string(message));
      error.position = parsed.error->cursorpos;
      if (error.sqlstate == sqlstate::kStatementTooComplex) error.message = "statement is nested too deep";
    } else {
      tree = pg_query__parse_result__unpack(nullptr, parsed.parse_tree.len,
                                            reinterpret_cast<const std::uint8_t*>(parsed.parse_tree.data));
      if (tree == nullptr) {
        error = sql_error(sqlstate::kInternalError, "cannot read the parser's tree");
      } else if (depth_of(tree->base, 2 * kMaxTreeDepth) >= 2 * kMaxTreeDepth) {
        // Freed here, where the stack is big enough.
        pg_query__parse_result__free_unpacked(tree, nullptr);
        tree = nullptr;
        error = sql_error(sqlstate::kStatementTooComplex, "stack depth limit exceeded");
        error.hint = "the statement is nested more than " + std::to_string(kMaxTreeDepth) + " levels deep";
      }
    }
    pg_query_free_protobuf_parse_result(parsed);
  }
};

struct Call {
  void (*work)(void*);
  void* argument;
};

void* thread_main(void* argument) {
  const auto* call = static_cast<const Call*>(argument);
  call->work(call->argument);
  return nullptr;
}

}  // namespace

void run_on_big_stack(void (*work)(void*), void* argument) {
  Call call{work, argument};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  const int failed = pthread_create(&thread, &attributes, thread_main, &call);
  pthread_attr_destroy(&attributes);
  FRESHET_ASSERT(failed == 0, failed);
  pthread_join(thread, nullptr);
}

PgTree::~PgTree() { pg_query__parse_result__free_unpacked(result_, nullptr); }

Result<std::shared_ptr<const PgTree>> PgTree::parse(const std::string& sql) {
  ParseJob job{&sql};
  if (sql.size() <= kInlineBytes) {
    job.run();
  } else {
    run_on_big_stack([](void* argument) { static_cast<ParseJob*>(argument)->run(); }, &job);
  }
  if (job.tree == nullptr) return fail(std::move(job.error));
  auto tree = std::make_shared<const PgTree>(job.tree);
  if (job.tree->n_stmts != 1 || job.tree->stmts[0]->stmt == nullptr) {
    return fail(sqlstate::kSyntaxError, "expected one statement");
  }
  return tree;
}

}  // namespace freshet::sql
