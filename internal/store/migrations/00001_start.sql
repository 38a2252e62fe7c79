-- One text for SQLite and PostgreSQL. Times are Unix milliseconds, booleans are
-- 0 or 1, JSON and sealed bytes are TEXT. INTEGER PRIMARY KEY is SQLite's word for
-- a table that is its own index; PostgreSQL gets BIGINT. WITHOUT ROWID is another,
-- for tables of short rows: a commit costs what it costs to write the pages that it
-- touches, and an index is one more. PostgreSQL does without.

-- +goose Up
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

-- The first thirty bits of the key are the code that people type, and no two rows
-- share them. body is what of the approval no column holds.
-- sealed is the call itself, last, because it can be long and is hardly ever read.
CREATE TABLE approvals (
  key         TEXT   PRIMARY KEY,
  version     BIGINT NOT NULL,
  owner       TEXT   NOT NULL,
  id          TEXT   NOT NULL, -- empty: the key
  status      TEXT   NOT NULL,
  agent_id    TEXT   NOT NULL,
  session_key TEXT   NOT NULL,
  tool_name   TEXT   NOT NULL,
  fingerprint TEXT   NOT NULL,
  created_ms  BIGINT NOT NULL,
  expires_ms  BIGINT NOT NULL,
  timer_ms    BIGINT,          -- when time asks something of it; NULL once it has ended
  resolved_ms BIGINT NOT NULL, -- 0 while pending
  kept_ms     BIGINT NOT NULL, -- since when the sealed call is kept for a retry alone; 0: it is not
  body        TEXT   NOT NULL,
  sealed      TEXT   NOT NULL  -- empty: the call is no longer kept
);
CREATE INDEX approvals_newest ON approvals (created_ms, key);
CREATE INDEX approvals_owner ON approvals (owner, created_ms, key);
CREATE INDEX approvals_timer ON approvals (timer_ms, key) WHERE timer_ms IS NOT NULL;
CREATE INDEX approvals_kept ON approvals (kept_ms) WHERE kept_ms > 0;
-- The others hold pending approvals only: small, however long the history is.
CREATE INDEX approvals_pending_newest ON approvals (created_ms, key) WHERE status = 'pending';
CREATE INDEX approvals_pending_owner ON approvals (owner, created_ms, key) WHERE status = 'pending';
CREATE INDEX approvals_pending_same ON approvals (owner, fingerprint) WHERE status = 'pending' AND session_key <> '';

-- How many pending approvals an owner has: counting them would take longer the
-- more there are.
CREATE TABLE owners (
  owner   TEXT   PRIMARY KEY,
  pending BIGINT NOT NULL
) WITHOUT ROWID;

-- What owners call their approvals where that is not the key: ids of their own,
-- and aliases.
CREATE TABLE approval_ids (
  id    TEXT NOT NULL,
  owner TEXT NOT NULL,
  key   TEXT NOT NULL REFERENCES approvals (key) ON DELETE CASCADE,
  PRIMARY KEY (id, owner)
) WITHOUT ROWID;
CREATE INDEX approval_ids_key ON approval_ids (key);

CREATE TABLE deliveries (
  key           TEXT   NOT NULL REFERENCES approvals (key) ON DELETE CASCADE,
  id            TEXT   NOT NULL,
  kind          TEXT   NOT NULL,
  channel       TEXT   NOT NULL,
  chat          TEXT   NOT NULL,
  thread        TEXT   NOT NULL,
  state         TEXT   NOT NULL,
  message_id    TEXT   NOT NULL,
  reply_to      TEXT   NOT NULL,
  for_user      TEXT   NOT NULL,
  attached      BIGINT NOT NULL,
  shown         BIGINT NOT NULL,
  deny_only     BIGINT NOT NULL,
  fallback      BIGINT NOT NULL,
  error         TEXT   NOT NULL,
  attempts      BIGINT NOT NULL,
  due_ms        BIGINT NOT NULL, -- 0: nothing to do
  revision      BIGINT NOT NULL,
  rank          BIGINT NOT NULL,
  created_ms    BIGINT NOT NULL,
  turn          BIGINT NOT NULL, -- urgency, least first: -1-rank for a card nobody has seen of a pending approval and no try has failed for, else 0
  since_ms      BIGINT NOT NULL, -- order within a turn, oldest first
  PRIMARY KEY (key, id)
) WITHOUT ROWID;
CREATE INDEX deliveries_work ON deliveries (channel, chat, turn, since_ms, id, due_ms) WHERE due_ms > 0;
CREATE INDEX deliveries_callbacks ON deliveries (created_ms, id) WHERE channel = 'callback' AND state <> 'settled';
CREATE INDEX deliveries_message ON deliveries (channel, chat, message_id) WHERE message_id <> '';

-- Standing permissions and cool-downs. name is what a call is looked up by: its
-- fingerprint, or the subject of session grants and patterns.
CREATE TABLE grants (
  id          TEXT   PRIMARY KEY,
  owner       TEXT   NOT NULL,
  agent_id    TEXT   NOT NULL,
  name        TEXT   NOT NULL,
  session_key TEXT   NOT NULL,
  approval    TEXT   NOT NULL, -- key of the approval that left it, or empty
  created_ms  BIGINT NOT NULL,
  expires_ms  BIGINT NOT NULL, -- 0: until it is removed
  body        TEXT   NOT NULL
);
CREATE INDEX grants_name ON grants (owner, agent_id, name);
CREATE INDEX grants_approval ON grants (approval) WHERE approval <> '';
CREATE INDEX grants_expiry ON grants (expires_ms) WHERE expires_ms > 0;

-- Chats that live elsewhere now.
CREATE TABLE moves (
  old_channel TEXT NOT NULL,
  old_chat    TEXT NOT NULL,
  new_channel TEXT NOT NULL,
  new_chat    TEXT NOT NULL,
  PRIMARY KEY (old_channel, old_chat)
);

-- What was said of a server's tool when a call of it was last handed out.
CREATE TABLE tools (
  owner  TEXT NOT NULL,
  server TEXT NOT NULL, -- as the bridge names it, or empty
  tool   TEXT NOT NULL,
  hash   TEXT NOT NULL,
  PRIMARY KEY (owner, server, tool)
);

-- Chats that have left the last try unanswered: it ended in no answer, or in one
-- that says nothing but that the platform is in trouble. An answer, a limit too,
-- takes the row away.
CREATE TABLE silences (
  channel  TEXT   NOT NULL,
  chat     TEXT   NOT NULL,
  since_ms BIGINT NOT NULL, -- of the first of those tries
  tried_ms BIGINT NOT NULL, -- of the last
  PRIMARY KEY (channel, chat)
);

-- Platform updates, and for two days those that were handled, lest one that comes
-- again is handled twice.
CREATE TABLE inbound (
  source      TEXT   NOT NULL,
  id          BIGINT NOT NULL,
  body        TEXT   NOT NULL, -- empty once it is handled
  received_ms BIGINT NOT NULL,
  waited      BIGINT NOT NULL,
  handled_ms  BIGINT NOT NULL, -- 0: not yet
  PRIMARY KEY (source, id)
) WITHOUT ROWID;
CREATE INDEX inbound_open ON inbound (source, received_ms, id) WHERE handled_ms = 0;

-- The programs that run on this database, and what only one of them may have at a
-- time: it is the holder's for as long as the holder is seen. SQLite has one
-- program, and both tables are empty.
CREATE TABLE instances (
  id          TEXT   PRIMARY KEY,
  started_ms  BIGINT NOT NULL,
  seen_ms     BIGINT NOT NULL, -- by the database's clock
  version     TEXT   NOT NULL,
  schema_no   BIGINT NOT NULL,
  policy_hash TEXT   NOT NULL,
  key_id      TEXT   NOT NULL
);
CREATE TABLE leases (
  name          TEXT   PRIMARY KEY,
  holder        TEXT   NOT NULL, -- empty: nobody
  token         BIGINT NOT NULL, -- another for every holder
  not_before_ms BIGINT NOT NULL  -- of a chat: nobody posts there before
);
CREATE INDEX leases_holder ON leases (holder) WHERE holder <> '';

-- The hash-chained log, and its one-row head: whoever commits takes the head
-- last, so that the order of seq is the order of commits.
CREATE TABLE events (
  seq   INTEGER PRIMARY KEY,
  at_ms BIGINT NOT NULL,
  type  TEXT   NOT NULL,
  key   TEXT   NOT NULL,
  owner TEXT   NOT NULL,
  data  TEXT   NOT NULL,
  hash  TEXT   NOT NULL
);
CREATE TABLE log_head (
  id   BIGINT PRIMARY KEY,
  seq  BIGINT NOT NULL,
  hash TEXT   NOT NULL
);
INSERT INTO log_head (id, seq, hash) VALUES (1, 0, '');
