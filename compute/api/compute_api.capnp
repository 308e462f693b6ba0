# What a controller and a replica say to each other. Plans and rows of datums travel as bytes of
# <freshet/expr/codec.h>; this schema carries everything else.
@0xb6f0b7d1c0a94e21;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("freshet::compute_api::wire");

struct GlobalId {
  kind @0 :UInt8;
  number @1 :UInt64;
}

struct PeekId {
  first @0 :UInt64;
  second @1 :UInt64;
}

struct Error {
  code @0 :UInt8;
  sqlstate @1 :Data;
  message @2 :Data;
  detail @3 :Data;
  hint @4 :Data;
  position @5 :Int32;
}

struct InstanceConfig {
  workers @0 :UInt32;
  maxResultBytes @1 :UInt64;
}

struct ColumnOrder {
  column @0 :UInt64;
  descending @1 :Bool;
  nullsLast @2 :Bool;
}

struct IdTime {
  id @0 :GlobalId;
  time @1 :UInt64;
}

struct Peek {
  id @0 :PeekId;
  target :union {
    index @1 :IndexTarget;
    collection @2 :CollectionTarget;
  }
  time @3 :UInt64;
  mfp @4 :Data;
  order @5 :List(ColumnOrder);
  limit :union {
    none @6 :Void;
    rows @7 :UInt64;
  }
}

struct IndexTarget {
  id @0 :GlobalId;
  seek :union {
    all @1 :Void;
    keys @2 :List(Data);
  }
}

struct CollectionTarget {
  id @0 :GlobalId;
  type @1 :Data;   # an empty relation of it
  names @2 :List(Data);
}

struct Command {
  union {
    hello @0 :PeekId;
    createInstance @1 :InstanceConfig;
    initializationComplete @2 :Void;
    updateConfiguration @3 :InstanceConfig;
    createDataflow @4 :Data;
    schedule @5 :GlobalId;
    allowWrites @6 :GlobalId;
    allowCompaction @7 :IdTime;
    peek @8 :Peek;
    cancelPeek @9 :PeekId;
    advance @10 :IdTime;
  }
}

struct Rows {
  bytes @0 :Data;
  ends @1 :List(UInt32);   # where each row ends in bytes
  times @2 :List(UInt64);
  diffs @3 :List(Int64);
}

struct PeekResponse {
  id @0 :PeekId;
  rows @1 :Rows;
  error :union {
    none @2 :Void;
    some @3 :Error;
  }
  last @4 :Bool;
}

struct SubscribeResponse {
  id @0 :GlobalId;
  lower @1 :UInt64;
  upper @2 :UInt64;
  rows @3 :Rows;
  error :union {
    none @4 :Void;
    some @5 :Error;
  }
}

struct ExportFailure {
  id @0 :GlobalId;
  error @1 :Error;
}

struct Response {
  union {
    frontier @0 :IdTime;
    peek @1 :PeekResponse;
    subscribe @2 :SubscribeResponse;
    failure @3 :ExportFailure;
    dropped @4 :GlobalId;
  }
}
