// SPDX-License-Identifier: Apache-2.0
#include <freshet/adapter/pgwire.h>

#include <algorithm>

#include <freshet/base/sqlstate.h>

#include "pgwire_messages.h"
#include "pgwire_rows.h"
#include "pgwire_startup.h"

namespace freshet::adapter {
namespace {

using base::Future;
using base::Unit;

constexpr std::size_t kHeaderBytes = 5;  // of a message
constexpr std::size_t kInboxLimit = 1 << 20;
constexpr std::size_t kFlushBytes = 64 << 10;
constexpr std::size_t kRowsAtOnce = 2048;
constexpr int kMessagesAtOnce = 64;

template <typename T = Unit>
Future<T> done(T value = {}) {
  return Future<T>::ready(std::move(value));
}

/// One client. Everything happens on one queue at a time: the connection's own until there is a session, the
/// session's from then on. Messages are handled one after another, while reading goes on.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Adapter& adapter, base::Scheduler& scheduler, base::Logger& log,
             std::unique_ptr<Transport> transport, PgwireOptions options)
      : adapter_(adapter), log_(log), transport_(std::move(transport)), options_(options),
        own_queue_(scheduler), queue_(&own_queue_) {}

  void start() {
    own_queue_.post([self = shared_from_this()] {
      self->read_more();
    });
  }

 private:
  // ---- Bytes in. The outstanding read notices a client that leaves while a statement runs.

  void read_more() {
    if (reading_ || closed_ || inbox_.size() - inbox_start_ > kInboxLimit + wanted_) return;
    reading_ = true;
    transport_->read([self = shared_from_this()](std::string bytes) {
      base::Strand& queue = *self->queue_;
      queue.run_or_post([self, bytes = std::move(bytes)] { self->take(bytes); });
    });
  }

  void take(const std::string& bytes) {
    reading_ = false;
    if (closed_) return;
    if (bytes.empty()) return client_left();
    if (inbox_start_ > 0) inbox_.erase(0, std::exchange(inbox_start_, 0));
    inbox_.append(bytes);
    // Once there is a session, its queue alone goes on.
    const base::Strand* before = queue_;
    copying_ ? pump_copy() : pump();
    if (queue_ == before) read_more();
  }

  void client_left() {
    left_ = true;
    if (session_ != nullptr) session_->cancel();
    if (copying_) return pump_copy();
    if (!busy_) close();
  }

  // The read that is still outstanding answers on the session's queue, so the session stays until the connection
  // itself goes, with the last continuation that holds it.
  void close() {
    if (std::exchange(closed_, true)) return;
    copy_.reset();
    transport_->close();
  }

  [[nodiscard]] std::string_view pending() const { return std::string_view(inbox_).substr(inbox_start_); }

  // Goes through the messages that are here, until one has to be waited for.
  void pump() {
    for (int handled = 0; handled < kMessagesAtOnce; ++handled) {
      if (busy_ || closed_) return;
      if (session_ == nullptr) return pump_startup();
      if (!handle_next()) return;
    }
    // Other sessions want the thread, too.
    busy_ = true;
    queue_->post([self = shared_from_this()] {
      self->busy_ = false;
      self->pump();
      self->read_more();
    });
  }

  // True if a message was handled and the next may be.
  bool handle_next() {
    if (deferred_ && pending().size() >= kHeaderBytes) {
      const auto [portal, most] = *std::exchange(deferred_, std::nullopt);
      return proceed(run_portal(portal, most));
    }
    MessageReader header(pending());
    const char type = static_cast<char>(header.int8());
    const std::int32_t length = header.int32();
    if (!header.ok()) return idle(), false;
    if (length < 4 || static_cast<std::size_t>(length) > options_.max_message_bytes) {
      return fatal(sql_error(sqlstate::kProtocolViolation, "invalid message length")), false;
    }
    const std::size_t whole = static_cast<std::size_t>(length) + 1;
    if (pending().size() < whole) {
      wanted_ = whole;
      return idle(), false;
    }
    wanted_ = 0;
    // The handlers are done with the text of a message when they return.
    const std::string_view body = pending().substr(5, whole - 5);
    inbox_start_ += whole;
    return proceed(handle(type, body));
  }

  // True if what was begun is done and the next message may be handled.
  bool proceed(Future<Unit> handled) {
    busy_ = true;
    if (const auto now = handled.poll()) {
      busy_ = false;
      if (*now && !left_) return true;
      close();
      return false;
    }
    std::move(handled).on_ready(*queue_, [self = shared_from_this()](Result<Unit> done) {
      self->busy_ = false;
      if (!done || self->left_) return self->close();
      self->pump();
      self->read_more();
    });
    return false;
  }

  // Nothing to do until more comes: what was written goes out.
  void idle() {
    if (out_.size() == 0) {
      if (left_) close();
      return;
    }
    auto flushed = flush();
    if (const auto sent = flushed.poll()) {
      if (!*sent || left_) close();
      return;
    }
    busy_ = true;
    std::move(flushed).on_ready(*queue_, [self = shared_from_this()](Result<Unit> sent) {
      self->busy_ = false;
      if (!sent || self->left_) return self->close();
      self->pump();
    });
  }

  Future<Unit> flush() {
    if (out_.size() == 0) return done();
    return transport_->write(out_.take());
  }
  Future<Unit> flush_if_large() { return out_.size() < kFlushBytes ? done() : flush(); }

  void fatal(const Error& error) {
    log_.info("connection ended", {{"error", error.message}});
    out_.error(error, "FATAL");
    busy_ = true;
    flush().on_ready(*queue_, [self = shared_from_this()](Result<Unit>) { self->close(); });
  }

  // ---- Start.

  void pump_startup() {
    const auto size = startup_size(pending());
    if (!size) return fatal(size.error());
    if (!*size) return;
    auto request = read_startup(pending().substr(0, **size));
    inbox_start_ += **size;
    if (!request) return fatal(request.error());
    if (std::holds_alternative<EncryptionRequest>(*request)) {
      out_.bytes("N");
      return idle();
    }
    if (const auto* cancel = std::get_if<CancelRequest>(&*request)) {
      adapter_.cancel(cancel->process, cancel->secret);
      return close();
    }
    start_session(std::move(std::get<SessionRequest>(*request)));
  }

  void parameter_changed(const std::string& name, const std::string& value) {
    if (name == "TimeZone") {
      text_.time_zone = value;
      format_ = repr::TextFormat(text_);
    }
    out_.parameter_status(name, value);
  }

  void start_session(SessionRequest request) {
    if (request.negotiates) {
      out_.begin('v');
      out_.int32(kProtocol3);
      out_.int32(static_cast<std::int32_t>(request.unknown_options.size()));
      for (const std::string& name : request.unknown_options) out_.text(name);
      out_.end();
    }
    auto session = adapter_.new_session(std::move(request.startup));
    if (!session) return fatal(session.error());
    session_ = std::move(*session);
    queue_ = &session_->queue();
    out_.begin('R');
    out_.int32(0);
    out_.end();
    // The session ends as a task of its strand, which may come after the connection has gone.
    session_->on_notice([weak = weak_from_this()](Notice notice) {
      if (const auto self = weak.lock()) self->out_.notice(notice);
    });
    session_->on_variable([weak = weak_from_this()](std::string name, std::string value) {
      if (const auto self = weak.lock()) self->parameter_changed(name, value);
    });
    session_->on_end([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->forget_copy();
    });
    out_.begin('K');
    out_.int32(static_cast<std::int32_t>(session_->process_id()));
    out_.int32(static_cast<std::int32_t>(session_->secret_key()));
    out_.end();
    out_.ready(TransactionStatus::kIdle);
    // From here on the session's queue drives the connection.
    busy_ = true;
    queue_->post([self = shared_from_this()] {
      self->busy_ = false;
      self->pump();
      self->read_more();
    });
  }

  // ---- Messages.

  Future<Unit> handle(char type, std::string_view body) {
    if (type == 'X') {
      left_ = true;
      return flush();
    }
    if (skip_until_sync_ && type != 'S') return done();
    MessageReader in(body);
    switch (type) {
      case 'Q': return simple_query(in);
      case 'P': return parse(in);
      case 'B': return bind(body);
      case 'D': return describe(in);
      case 'E': return execute(in);
      case 'C': return close_object(in);
      case 'H': return flush();
      case 'S': return sync();
      case 'd':
      case 'c':
      case 'f': return done();  // left over from a COPY that failed
      default:
        out_.error(sql_error(sqlstate::kProtocolViolation,
                             "invalid frontend message type " +
                                 std::to_string(static_cast<unsigned char>(type))),
                   "FATAL");
        left_ = true;
        return flush();
    }
  }

  // Whatever the error is, what came before it since the last Sync is undone with it.
  Future<Unit> extended_error(const Error& error) {
    session_->fail_transaction();
    out_.error(error, "ERROR");
    skip_until_sync_ = true;
    return done();
  }

  Future<Unit> sync() {
    skip_until_sync_ = false;
    auto committed = session_->sync();
    if (const auto now = committed.poll()) return synced(*now);
    return std::move(committed).then(
        *queue_, [self = shared_from_this()](const Result<Unit>& done) { return self->synced(done); });
  }

  Future<Unit> synced(const Result<Unit>& committed) {
    if (!committed) out_.error(committed.error(), "ERROR");
    out_.ready(session_->transaction_status());
    return flush();
  }

  // ---- Simple query.

  Future<Unit> simple_query(MessageReader& in) {
    const std::string sql(in.text());
    if (!in.at_end()) {
      session_->fail_transaction();
      out_.error(MessageReader::malformed(), "ERROR");
      return sync();
    }
    session_->close_statement("");  // as the protocol says
    auto parsed = session_->parse(sql);
    if (!parsed) {
      out_.error(parsed.error(), "ERROR");
      return sync();
    }
    if (parsed->empty()) {
      out_.simple('I');
      return sync();
    }
    return run_statements(std::make_shared<std::vector<sql::Statement>>(std::move(*parsed)), 0);
  }

  Future<Unit> run_statements(std::shared_ptr<std::vector<sql::Statement>> statements, std::size_t next) {
    if (next == statements->size()) return sync();
    const bool last = next + 1 == statements->size();
    return session_->run((*statements)[next], last)
        .then(*queue_,
              [self = shared_from_this()](Result<Outcome> outcome) -> Future<Unit> {
                if (!outcome) return Future<Unit>::ready(base::Unexpected(outcome.error()));
                return self->send_outcome(std::move(*outcome), {}, true);
              })
        .then(*queue_, [self = shared_from_this(), statements, next](Result<Unit> sent) {
          if (!sent) {
            self->session_->fail_transaction();
            self->out_.error(sent.error(), "ERROR");
            return self->sync();
          }
          return self->run_statements(statements, next + 1);
        });
  }

  // ---- Outcomes.

  Future<Unit> send_outcome(Outcome outcome, Formats formats, bool describe_rows) {
    if (auto* command = std::get_if<CommandDone>(&outcome)) {
      out_.command_complete(command->tag);
      return flush_if_large();
    }
    if (std::holds_alternative<Nothing>(outcome)) {
      out_.simple('I');
      return done();
    }
    if (auto* rows = std::get_if<Rows>(&outcome)) {
      if (describe_rows) out_.row_description(rows->desc, formats);
      auto shared = std::make_shared<Rows>(std::move(*rows));
      return send_rows(std::move(shared), std::move(formats));
    }
    if (auto* copy_out = std::get_if<CopyOut>(&outcome)) return send_copy(std::move(*copy_out));
    return begin_copy_in(std::move(std::get<CopyIn>(outcome)));
  }

  /// A stream on its way to the client.
  struct Sending {
    std::shared_ptr<Rows> rows;
    std::function<void(const RowBatch&)> write;  ///< Puts rows into the outbox.
    std::function<void(std::uint64_t sent)> end;  ///< The stream has ended, or `most` rows were sent.
    std::uint64_t most = UINT64_MAX;
    std::uint64_t sent = 0;
    base::Promise<Unit> done{};
  };

  // Rows until the stream ends. Waiting for more (SUBSCRIBE) sends what there is.
  Future<Unit> send_rows(std::shared_ptr<Rows> rows, Formats formats) {
    return send_stream({.rows = rows,
                        .write = [this, rows, formats = std::move(formats)](
                                     const RowBatch& batch) { write_data_rows(out_, batch, rows->desc, formats, format_); },
                        .end = [this, rows](std::uint64_t sent) { out_.command_complete(rows->tag(sent)); }});
  }

  Future<Unit> send_stream(Sending what) {
    auto sending = std::make_shared<Sending>(std::move(what));
    auto done = sending->done.future();
    send_next(std::move(sending));
    return done;
  }

  // A loop with one promise, so that a stream without end leaves nothing behind.
  void send_next(std::shared_ptr<Sending> sending) {
    if (sending->sent == sending->most) return end_sending(*sending);
    const std::size_t most = std::min<std::uint64_t>(sending->most - sending->sent, kRowsAtOnce);
    next_rows(sending->rows, most).on_ready(*queue_, [self = shared_from_this(), sending](Result<RowBatch> batch) {
      if (!batch) return sending->done.resolve(base::Unexpected(batch.error()));
      if (batch->rows == 0) return self->end_sending(*sending);
      sending->write(*batch);
      sending->sent += batch->rows;
      self->flush_if_large().on_ready(*self->queue_, [self, sending](Result<Unit> flushed) {
        if (!flushed) return sending->done.resolve(base::Unexpected(flushed.error()));
        self->send_next(sending);
      });
    });
  }

  void end_sending(Sending& sending) {
    sending.end(sending.sent);
    flush_if_large().on_ready(*queue_, [done = std::move(sending.done)](Result<Unit> flushed) mutable {
      done.resolve(std::move(flushed));
    });
  }

  Future<RowBatch> next_rows(const std::shared_ptr<Rows>& rows, std::size_t most = kRowsAtOnce) {
    auto next = rows->stream->next(most);
    if (next.is_ready() || out_.size() == 0) return next;
    return flush().and_then(*queue_, [next = std::move(next)](Unit) mutable { return std::move(next); });
  }

  Future<Unit> send_copy(CopyOut copy) {
    out_.begin('H');
    const bool binary = copy.options.format == sql::CopyOptions::Format::kBinary;
    out_.int8(binary ? 1 : 0);
    out_.int16(static_cast<std::int16_t>(copy.rows.desc.arity()));
    for (std::size_t i = 0; i < copy.rows.desc.arity(); ++i) out_.int16(binary ? 1 : 0);
    out_.end();
    if (!binary) write_copy_header(out_, copy.rows.desc, copy.options);
    auto shared = std::make_shared<CopyOut>(std::move(copy));
    auto header_due = std::make_shared<bool>(binary);
    return send_stream({.rows = std::shared_ptr<Rows>(shared, &shared->rows),
                        .write = [this, shared, header_due](const RowBatch& batch) {
                          write_copy_rows(out_, batch, shared->rows.desc, shared->options, format_, *header_due);
                        },
                        .end = [this, shared, header_due](std::uint64_t sent) {
                          write_copy_trailer(out_, shared->options, *header_due);
                          out_.simple('c');
                          out_.command_complete(shared->rows.tag(sent));
                        }});
  }

  // ---- COPY FROM STDIN: the statement's future resolves when the client has sent everything.

  Future<Unit> begin_copy_in(CopyIn copy) {
    out_.begin('G');
    const bool binary = copy.options.format == sql::CopyOptions::Format::kBinary;
    out_.int8(binary ? 1 : 0);
    out_.int16(static_cast<std::int16_t>(copy.columns));
    for (std::size_t i = 0; i < copy.columns; ++i) out_.int16(binary ? 1 : 0);
    out_.end();
    copy_ = std::move(copy.input);
    copy_done_.emplace();
    auto finished = copy_done_->future();
    // Messages are read again while the statement waits for its data.
    return flush().and_then(*queue_, [self = shared_from_this(), finished = std::move(finished)](Unit) mutable {
      self->copying_ = true;
      self->pump_copy();
      return std::move(finished);
    });
  }

  // As `pump`, inside a statement that is under way. Data is taken in a loop: psql sends one message a line.
  void pump_copy() {
    while (copying_ && !copy_busy_) {
      if (left_) return end_copy(sql_error(sqlstate::kConnectionFailure, "the client left during COPY"));
      MessageReader header(pending());
      const char type = static_cast<char>(header.int8());
      const std::int32_t length = header.int32();
      if (header.ok() && (length < 4 || static_cast<std::size_t>(length) > options_.max_message_bytes)) {
        left_ = true;
        return end_copy(sql_error(sqlstate::kProtocolViolation, "invalid message length"));
      }
      const std::size_t whole = static_cast<std::size_t>(length) + 1;
      if (!header.ok() || pending().size() < whole) {
        wanted_ = header.ok() ? whole : 0;
        return read_more();
      }
      wanted_ = 0;
      const std::string_view body = pending().substr(5, whole - 5);
      inbox_start_ += whole;
      if (type == 'd') {
        if (auto fed = copy_->feed(body); !fed) {
          end_copy(fed.error());
        } else if (auto room = copy_->room()) {
          copy_busy_ = true;
          std::move(*room).on_ready(*queue_, [self = shared_from_this()](const Result<Unit>&) {
            self->copy_busy_ = false;
            self->pump_copy();
          });
        }
        continue;
      }
      copy_busy_ = true;
      handle_copy(type, std::string(body)).on_ready(*queue_, [self = shared_from_this()](Result<Unit> handled) {
        self->copy_busy_ = false;
        if (!handled) return self->end_copy(handled.error());
        self->pump_copy();
      });
    }
  }

  Future<Unit> handle_copy(char type, const std::string& body) {
    switch (type) {
      case 'c':
        return copy_->finish().and_then(*queue_, [self = shared_from_this()](std::string tag) {
          self->out_.command_complete(tag);
          self->end_copy(std::nullopt);
          return Unit{};
        });
      case 'f': {
        MessageReader in(body);
        return Future<Unit>::ready(
            fail(sqlstate::kQueryCanceled, "COPY from stdin failed: " + std::string(in.text())));
      }
      case 'H':
      case 'S': return done();  // ignored during COPY, as the protocol says
      default:
        return Future<Unit>::ready(fail(sqlstate::kProtocolViolation,
                                        "unexpected message type during COPY from stdin"));
    }
  }

  // The statement that waits for the data keeps the connection.
  void forget_copy() {
    copy_.reset();
    copy_done_.reset();
  }

  void end_copy(std::optional<Error> error) {
    copying_ = false;
    copy_.reset();
    if (!copy_done_) return;
    auto promise = std::move(*copy_done_);
    copy_done_.reset();
    if (error) {
      promise.resolve(fail(std::move(*error)));
    } else {
      promise.resolve(Unit{});
    }
  }

  // ---- Extended query.

  Future<Unit> parse(MessageReader& in) {
    std::string name(in.text());
    const std::string sql(in.text());
    const std::int16_t count = in.int16();
    std::vector<repr::SqlType> types;
    for (std::int16_t i = 0; i < count && in.ok(); ++i) {
      const auto oid = static_cast<std::uint32_t>(in.int32());
      if (oid == 0 || oid == 705) {
        types.emplace_back();
        continue;
      }
      auto type = repr::type_from_oid(oid);
      if (!type) {
        return extended_error(sql_error(sqlstate::kUndefinedObject,
                                        "type with OID " + std::to_string(oid) + " does not exist"));
      }
      types.push_back(*type);
    }
    if (!in.at_end()) return extended_error(MessageReader::malformed());
    return session_->prepare(std::move(name), sql, std::move(types))
        .then(*queue_, [self = shared_from_this()](Result<StatementDescription> prepared) {
          if (!prepared) return self->extended_error(prepared.error());
          self->out_.simple('1');
          return done();
        });
  }

  Future<Unit> bind(std::string_view body) {
    auto message = read_bind(body);
    if (!message) return extended_error(message.error());
    const auto described = session_->describe_statement(message->statement);
    if (!described) return extended_error(described.error());
    const StatementDescription* description = *described;
    auto parameters = decode_parameters(*message, description->parameter_types, text_.time_zone);
    if (!parameters) return extended_error(parameters.error());
    const std::size_t columns = description->columns ? description->columns->arity() : 0;
    if (message->result_formats.size() > 1 && message->result_formats.size() != columns) {
      return extended_error(sql_error(
          sqlstate::kProtocolViolation,
          "bind message has " + std::to_string(message->result_formats.size()) +
              " result formats but query has " + std::to_string(columns) + " columns"));
    }
    auto bound = session_->bind(message->portal, message->statement, std::move(*parameters));
    if (!bound) return extended_error(bound.error());
    formats_[message->portal] = std::move(message->result_formats);
    out_.simple('2');
    return done();
  }

  Future<Unit> describe(MessageReader& in) {
    const char kind = static_cast<char>(in.int8());
    const std::string name(in.text());
    if (!in.at_end() || (kind != 'S' && kind != 'P')) return extended_error(MessageReader::malformed());
    const auto described = kind == 'S' ? session_->describe_statement(name) : session_->describe_portal(name);
    if (!described) return extended_error(described.error());
    const StatementDescription* description = *described;
    if (kind == 'S') {
      out_.begin('t');
      out_.int16(static_cast<std::int16_t>(description->parameter_types.size()));
      for (const repr::SqlType& type : description->parameter_types) {
        out_.int32(static_cast<std::int32_t>(repr::type_oid(type)));
      }
      out_.end();
    }
    if (description->columns) {
      out_.row_description(*description->columns, kind == 'S' ? Formats{} : formats_[name]);
    } else {
      out_.simple('n');
    }
    return done();
  }

  // True if the next message is already here and is Sync.
  [[nodiscard]] bool sync_follows() const {
    const std::string_view next = pending();
    return next.size() >= kHeaderBytes && next[0] == 'S';
  }

  Future<Unit> execute(MessageReader& in) {
    const std::string name(in.text());
    const std::int32_t most = in.int32();
    if (!in.at_end()) return extended_error(MessageReader::malformed());
    // A write that is alone before its Sync may be tried again after a conflict. Where the bytes were cut on their way
    // shall not matter: it waits for what follows.
    if (pending().size() < kHeaderBytes && session_->is_lone_write(name)) {
      deferred_.emplace(name, most);
      return done();
    }
    return run_portal(name, most);
  }

  Future<Unit> run_portal(const std::string& name, std::int32_t most) {
    if (most <= 0) {
      if (const auto rows = session_->lookup(name, sync_follows())) return send_lookup(name, *rows);
    }
    return session_->execute(name, sync_follows())
        .then(*queue_,
              [self = shared_from_this(), name, most](Result<Outcome> outcome) -> Future<Unit> {
                if (!outcome) return Future<Unit>::ready(base::Unexpected(outcome.error()));
                const Formats formats = self->formats_[name];
                auto* rows = std::get_if<Rows>(&*outcome);
                if (rows == nullptr || most <= 0) {
                  return self->send_outcome(std::move(*outcome), formats, false);
                }
                return self->send_some(name, std::make_shared<Rows>(std::move(*rows)), formats,
                                       static_cast<std::uint64_t>(most));
              })
        .then(*queue_, [self = shared_from_this()](Result<Unit> sent) {
          return sent ? done() : self->extended_error(sent.error());
        });
  }

  Future<Unit> send_lookup(const std::string& name, const RowBatch& rows) {
    const auto described = session_->describe_portal(name);
    FRESHET_ASSERT(described.has_value());
    write_data_rows(out_, rows, *(*described)->columns, formats_[name], format_);
    out_.command_complete("SELECT " + std::to_string(rows.rows));
    return flush_if_large();
  }

  // At most `most` rows, then the portal is suspended.
  Future<Unit> send_some(std::string name, std::shared_ptr<Rows> rows, Formats formats, std::uint64_t most) {
    return send_stream({.rows = rows,
                        .write = [this, rows, formats = std::move(formats)](
                                     const RowBatch& batch) { write_data_rows(out_, batch, rows->desc, formats, format_); },
                        .end = [this, name = std::move(name), rows, most](std::uint64_t sent) {
                          if (sent < most) return out_.command_complete(rows->tag(sent));
                          session_->suspend(name, std::move(*rows));
                          out_.simple('s');
                        },
                        .most = most});
  }

  Future<Unit> close_object(MessageReader& in) {
    const char kind = static_cast<char>(in.int8());
    const std::string name(in.text());
    if (!in.at_end() || (kind != 'S' && kind != 'P')) return extended_error(MessageReader::malformed());
    if (kind == 'S') {
      session_->close_statement(name);
    } else {
      session_->close_portal(name);
      formats_.erase(name);
    }
    out_.simple('3');
    return done();
  }

  Adapter& adapter_;
  base::Logger& log_;
  std::unique_ptr<Transport> transport_;
  PgwireOptions options_;
  base::Strand own_queue_;   ///< Until there is a session.
  base::Strand* queue_;
  std::unique_ptr<Session> session_;
  repr::TextOptions text_;
  repr::TextFormat format_{};  ///< of `text_`

  std::string inbox_;
  std::size_t inbox_start_ = 0;
  std::size_t wanted_ = 0;  ///< Size of the message of which a part is here.
  bool reading_ = false;
  bool busy_ = false;    ///< A message is being handled.
  bool left_ = false;    ///< The client is gone, or will be sent away.
  bool closed_ = false;

  MessageWriter out_;
  bool skip_until_sync_ = false;
  /// Execute, of this portal and so many rows, that waits for the next message.
  std::optional<std::pair<std::string, std::int32_t>> deferred_;
  std::map<std::string, Formats> formats_;
  std::unique_ptr<CopyInput> copy_;
  std::optional<base::Promise<Unit>> copy_done_;
  bool copying_ = false;
  bool copy_busy_ = false;
};

}  // namespace

void serve_pgwire(Adapter& adapter, base::Scheduler& scheduler, base::Logger& log,
                  std::unique_ptr<Transport> transport, PgwireOptions options) {
  std::make_shared<Connection>(adapter, scheduler, log, std::move(transport), options)->start();
}

}  // namespace freshet::adapter
