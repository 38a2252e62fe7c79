-- +goose Up
-- What was counted of the approvals that were asked for in a quarter of an hour (level 0) or a day (level 1) and have
-- ended. An empty body, of no owner: that quarter is to be counted again, and counts for nothing meanwhile.
CREATE TABLE numbers (
  level    BIGINT NOT NULL,
  start_ms BIGINT NOT NULL,
  owner    TEXT   NOT NULL,
  body     TEXT   NOT NULL,
  PRIMARY KEY (level, start_ms, owner)
) WITHOUT ROWID;

-- How far that is: all that the log says up to seq, of what was asked for before until_ms.
CREATE TABLE numbers_state (
  id       BIGINT PRIMARY KEY,
  turn     BIGINT NOT NULL, -- grows with each change of it, and of numbers
  version  BIGINT NOT NULL, -- of the bodies
  seq      BIGINT NOT NULL,
  until_ms BIGINT NOT NULL
);
INSERT INTO numbers_state (id, turn, version, seq, until_ms) VALUES (1, 0, 0, 0, 0);
