-- The store: one DuckDB file, open to `duckdb FILE` and any notebook.
-- Every time is int64 nanoseconds. Host and device times stand as recorded; nothing is shifted, clipped or
-- quarantined here: what the definitions do to them (SEMANTICS) happens when a run is cut and measured.
-- Text that repeats (kernel names, range names, shapes) is kept once, in `names` and `paths`.

CREATE TABLE meta (
  key   VARCHAR PRIMARY KEY,   -- 'schema_version', 'created_by'
  value VARCHAR NOT NULL
);

-- One row a trace file's content. The same content under two paths is one row.
CREATE TABLE files (
  file         INTEGER PRIMARY KEY,
  content      VARCHAR NOT NULL UNIQUE, -- hash of the bytes, with the reader's version: what "unchanged" means
  path         VARCHAR NOT NULL,        -- where it was read from (the first time)
  size_bytes   BIGINT NOT NULL,         -- on disk
  format       VARCHAR NOT NULL,        -- 'kineto'
  rank         INTEGER,                 -- distributedInfo.rank; null when the file does not say
  world_size   INTEGER,                 -- distributedInfo.world_size
  backend      VARCHAR,                 -- 'nccl', 'gloo', … as recorded; null when not
  device       VARCHAR NOT NULL,        -- 'cuda', 'rocm', 'cpu', … what the activities ran on
  device_name  VARCHAR,                 -- 'NVIDIA A100-SXM4-80GB'
  device_index INTEGER,                 -- the device its activities sit on
  host         VARCHAR,                 -- host name as recorded
  software     VARCHAR NOT NULL,        -- JSON object: library -> version, as recorded
  profiler     VARCHAR NOT NULL,        -- JSON object: record_shapes, with_stack, profile_memory, … as recorded
  groups       VARCHAR NOT NULL,        -- JSON list: distributedInfo.pg_config
  events       BIGINT NOT NULL,         -- events read
  odd_events   BIGINT NOT NULL,         -- events counted and skipped: no time, a wrong type, a negative duration
  odd_example  VARCHAR,                 -- the first of them, in words
  notes        VARCHAR NOT NULL,        -- JSON list: what else was odd and how it was taken, in words
  truncated    BOOLEAN NOT NULL,        -- the file ended before its JSON did
  trace_start  BIGINT NOT NULL,         -- earliest and latest time of any span kept from it
  trace_end    BIGINT NOT NULL,
  host_only    BOOLEAN NOT NULL         -- no device activity: compute and communication are host ranges
);

CREATE TABLE names (
  name INTEGER PRIMARY KEY,    -- id
  text VARCHAR NOT NULL UNIQUE
);

-- A host-range path: the ranges that enclose a launch call, outermost first, as a tree. ProfilerStep#N and
-- the launch call itself are not part of it. Rooted at parent = -1.
CREATE TABLE paths (
  path   INTEGER PRIMARY KEY,  -- id
  parent INTEGER NOT NULL,     -- path of the enclosing range, -1 at the root
  name   INTEGER NOT NULL      -- names.name of this path's innermost range
);

-- Activities. Device traces: one row a kernel, copy or memset on a device stream. Host-only traces: one row an
-- outermost operator of a compute thread (compute; c10d launches cut out, holes under 0.3 ms to the next
-- operator of the thread bridged by lengthening it) or a progress range of a collective (communication).
CREATE TABLE spans (
  file         INTEGER NOT NULL,
  span         INTEGER NOT NULL,  -- number within the file, by start
  kind         TINYINT NOT NULL,  -- 0 compute, 1 communication, 2 copy, 3 memset (SEMANTICS 2)
  name         INTEGER NOT NULL,  -- names.name: kernel or operator
  stream       BIGINT NOT NULL,   -- device stream, or thread number for host-only traces
  start_ns     BIGINT NOT NULL,
  end_ns       BIGINT NOT NULL,
  launch_start BIGINT,            -- its launch call on the host; null: no launch record. Host-only compute: own start
  launch_end   BIGINT,
  thread       INTEGER,           -- threads.thread that launched it
  path         INTEGER,           -- paths.path at the launch call
  range_start  BIGINT,            -- start of the outermost meaningful range of that path (SEMANTICS 4: names)
  range_path   INTEGER,           -- paths.path of that range; null where no range is meaningful
  shape        INTEGER,           -- names.name of its shapes or grid and block, as text; null when not recorded
  graph        BOOLEAN NOT NULL,  -- launched inside a CUDA/HIP graph launch
  bytes        BIGINT,            -- copies: bytes moved
  device       INTEGER,
  resource     INTEGER            -- resources.resource of its file: how the kernel was launched; null when not recorded
);

-- What kernels take of the device, as recorded at launch: one row a distinct launch configuration of a file.
CREATE TABLE resources (
  file          INTEGER NOT NULL,
  resource      INTEGER NOT NULL, -- number within the file
  blocks        INTEGER,          -- thread blocks: product of the grid; null here and below: not recorded
  threads       INTEGER,          -- threads of a block: product of the block's sizes
  registers     INTEGER,          -- registers of a thread
  shared_bytes  INTEGER,          -- shared memory of a block
  occupancy_pct DOUBLE            -- the recorder's estimate of achieved occupancy, percent; null too where its
                                  -- calculator failed
);

-- Metadata of a communication span. A coalesced kernel may have several rows.
CREATE TABLE collectives (
  file        INTEGER NOT NULL,
  span        INTEGER NOT NULL,
  collective  VARCHAR NOT NULL,  -- all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather,
                                 -- scatter, send_recv, send, recv, barrier, unknown
  source      VARCHAR NOT NULL,  -- what says so: 'metadata', 'range', 'launch', 'name'
  group_name  VARCHAR,           -- process group as recorded
  group_desc  VARCHAR,
  group_size  INTEGER,
  group_ranks VARCHAR,           -- '0,1,2,3' where recorded in full
  seq         BIGINT,            -- sequence number as recorded; checked before it is trusted
  bytes       BIGINT,            -- S of the bus-bandwidth formula of its kind (SEMANTICS 4)
  dtype       VARCHAR,
  reduction   VARCHAR,           -- sum, avg, max, … where recorded or named by the kernel
  peer        INTEGER            -- rank within the group: the root, or the other side of a send or recv; null when
                                 -- not recorded
);

-- Recorded stream-wait edges: work launched on `stream` after `wait_start` waits for the work launched on
-- `on_stream` before `record_start` (both host times).
CREATE TABLE waits (
  file         INTEGER NOT NULL,
  stream       BIGINT NOT NULL,
  on_stream    BIGINT NOT NULL,
  wait_start   BIGINT NOT NULL,
  record_start BIGINT NOT NULL
);

-- Host calls in which a thread can be held up by the device (SEMANTICS 5, host waits).
CREATE TABLE host_calls (
  file     INTEGER NOT NULL,
  thread   INTEGER NOT NULL,
  name     INTEGER NOT NULL,     -- names.name: cudaStreamSynchronize, cudaFree, …
  kind     VARCHAR NOT NULL,     -- 'sync' (stream, event, device), 'copy' (blocking copy), 'alloc' (synchronises the
                                 -- device), 'graph' (launches a graph: holds nothing up)
  start_ns BIGINT NOT NULL,
  end_ns   BIGINT NOT NULL
);

-- Annotations on host threads: steps, user ranges, NVTX. `step` is N of ProfilerStep#N.
CREATE TABLE marks (
  file     INTEGER NOT NULL,
  thread   INTEGER NOT NULL,
  name     INTEGER NOT NULL,
  step     BIGINT,
  start_ns BIGINT NOT NULL,
  end_ns   BIGINT NOT NULL
);

CREATE TABLE threads (
  file         INTEGER NOT NULL,
  thread       INTEGER NOT NULL, -- number within the file
  pid          BIGINT,
  tid          BIGINT,
  label        VARCHAR,          -- thread_name as recorded
  has_step     BOOLEAN NOT NULL, -- carries ProfilerStep
  has_backward BOOLEAN NOT NULL  -- runs autograd nodes
);

-- A run: one side of a comparison, as last read.
CREATE TABLE runs (
  run       INTEGER PRIMARY KEY,
  name      VARCHAR NOT NULL UNIQUE, -- absolute path it was read from, or the name given
  label     VARCHAR,                 -- run.json label, else the directory's name
  read_unix BIGINT NOT NULL          -- when it was last read
);

CREATE TABLE run_files (
  run          INTEGER NOT NULL,
  file         INTEGER NOT NULL,
  repeat       INTEGER NOT NULL,     -- from 0
  rank         INTEGER NOT NULL,     -- SEMANTICS 1
  rank_guessed BOOLEAN NOT NULL,
  path         VARCHAR NOT NULL      -- relative to the run
);

CREATE TABLE run_repeats (
  run      INTEGER NOT NULL,
  repeat   INTEGER NOT NULL,
  path     VARCHAR NOT NULL,         -- sub-directory, '.' when the run has one repeat
  settings VARCHAR NOT NULL,         -- JSON object: run.json settings ({} without one)
  recorded VARCHAR NOT NULL,         -- JSON object: run.json recorded ({} without one)
  environment VARCHAR NOT NULL,      -- JSON object: run.json environment ({} without one)
  label    VARCHAR
);

-- Files of a run that could not be read: named, so that one bad rank does not lose the others.
CREATE TABLE run_problems (
  run     INTEGER NOT NULL,
  id      VARCHAR NOT NULL,          -- RESULT warning id: bad_file, rank_guessed, …
  path    VARCHAR NOT NULL,
  message VARCHAR NOT NULL
);

-- Step windows as last cut for a run with the standard markers (SEMANTICS 1).
CREATE TABLE windows (
  run      INTEGER NOT NULL,
  repeat   INTEGER NOT NULL,
  rank     INTEGER NOT NULL,
  step     BIGINT NOT NULL,
  cycle    INTEGER NOT NULL,         -- profiler cycle within the rank's repeat, from 0
  start_ns BIGINT,                   -- null: the step shows no work of its own
  end_ns   BIGINT,                   -- null: the next window's start is not in the trace
  reason   VARCHAR                   -- null: completed; else why it is dropped: last_in_cycle, incomplete, opaque_graph
);

-- What was measured of a run, so that a compare from a warm store need not measure again. A cache: it may be
-- emptied at any time, and is not meant to be read by others.
CREATE TABLE measures (
  run  INTEGER NOT NULL,
  key  VARCHAR NOT NULL,             -- what it was measured from: contents, markers, version
  part VARCHAR NOT NULL,             -- name of the frame
  data BLOB NOT NULL                 -- the frame, as an Arrow file
);
