-- +goose Up
-- Passkeys of people who were taken out of the configuration. They are no rows of passkeys,
-- so that no program, an older one included, takes their signature.
CREATE TABLE suspended_passkeys (
  id           TEXT   NOT NULL PRIMARY KEY,
  person       TEXT   NOT NULL,
  sign_count   BIGINT NOT NULL,
  backed_up    BIGINT NOT NULL,
  used_ms      BIGINT NOT NULL,
  created_ms   BIGINT NOT NULL,
  body         TEXT   NOT NULL,
  suspended_ms BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX suspended_person ON suspended_passkeys (person);

-- The session in which a browser was subscribed; empty: not known.
ALTER TABLE push_subscriptions ADD COLUMN session TEXT NOT NULL DEFAULT '';
