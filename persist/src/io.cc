// SPDX-License-Identifier: Apache-2.0
#include "io.h"

#include <algorithm>

#include <freshet/base/assert.h>

namespace freshet::persist {

using base::Bytes;
using base::Future;
using base::Unit;

Future<Unit> Backoff::wait() {
  const auto delay = std::min(std::chrono::milliseconds(2) * (1 << std::min(attempts_, 10)),
                              std::chrono::milliseconds(1000));
  ++attempts_;
  base::Promise<Unit> promise;
  Future<Unit> future = promise.future();
  scheduler_.after(delay, scheduler_,
                   [promise = std::move(promise)]() mutable { promise.resolve(Unit{}); });
  return future;
}

Future<Bytes> get_patiently(IoRef io, std::string key) {
  Io& ref = *io;
  return patiently<Bytes>(std::move(io), ref.scheduler(),
                          [&ref, key] { return ref.blob().get(key); });
}

Future<Bytes> get_range_patiently(IoRef io, std::string key, std::uint64_t offset,
                                  std::uint64_t size) {
  Io& ref = *io;
  return patiently<Bytes>(std::move(io), ref.scheduler(), [&ref, key, offset, size] {
    return ref.blob().get_range(key, offset, size);
  });
}

Future<Unit> set_patiently(IoRef io, std::string key, SharedBytes bytes) {
  Io& ref = *io;
  return patiently<Unit>(std::move(io), ref.scheduler(),
                         [&ref, key, bytes] { return ref.blob().set(key, bytes); });
}

Future<Unit> remove_patiently(IoRef io, std::string key) {
  Io& ref = *io;
  return patiently<Unit>(std::move(io), ref.scheduler(),
                         [&ref, key] { return ref.blob().remove(key); });
}

namespace {

struct Encoded {
  std::shared_ptr<Part> part;  ///< Null if nothing is left.
  SharedBytes bytes;
};

Encoded encode(const PartCodec& codec, std::string key, Updates updates) {
  updates.consolidate();
  if (updates.empty()) return {};
  EncodedPart encoded = codec.encode(updates);
  auto part = std::make_shared<Part>(Part{.key = std::move(key),
                                          .format = codec.format(),
                                          .size = encoded.bytes.size(),
                                          .index_offset = encoded.index_offset,
                                          .updates = updates.size(),
                                          .row_hash_sum = updates.row_hash_sum(),
                                          .least_time = updates.least_time(),
                                          .greatest_time = updates.greatest_time()});
  return {std::move(part), std::make_shared<const Bytes>(std::move(encoded.bytes))};
}

Future<Encoded> encode_aside(Io& io, std::string key, Updates updates) {
  base::Promise<Encoded> promise;
  Future<Encoded> future = promise.future();
  io.scheduler().post_blocking([codec = io.codec_ref(), key = std::move(key),
                                updates = std::move(updates),
                                promise = std::move(promise)]() mutable {
    promise.resolve(encode(*codec, std::move(key), std::move(updates)));
  });
  return future;
}

}  // namespace

Future<PartRef> upload_part(IoRef io, std::string key, Updates updates) {
  return on(io, encode_aside(*io, std::move(key), std::move(updates)))
      .and_then([](const IoRef& self, Encoded encoded) -> Future<PartRef> {
        if (encoded.part == nullptr) return Future<PartRef>::ready(PartRef());
        return on(self, set_patiently(self, encoded.part->key, std::move(encoded.bytes)))
            .and_then([part = PartRef(std::move(encoded.part))](const IoRef&) { return part; });
      });
}

}  // namespace freshet::persist
