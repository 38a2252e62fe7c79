-- +goose Up
-- Calls that failed confined: when they come again before until_ms, they ask.
CREATE TABLE confined_runs (
  owner       TEXT   NOT NULL,
  agent_id    TEXT   NOT NULL,
  fingerprint TEXT   NOT NULL,
  approval    TEXT   NOT NULL,
  until_ms    BIGINT NOT NULL,
  PRIMARY KEY (owner, agent_id, fingerprint)
);
