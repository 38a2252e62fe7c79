-- +goose Up
-- Browsers in which people are signed in to the desk's pages. cookie is a hash.
CREATE TABLE sessions (
  id         TEXT   PRIMARY KEY,
  cookie     TEXT   NOT NULL UNIQUE,
  person     TEXT   NOT NULL,
  how        TEXT   NOT NULL,
  browser    TEXT   NOT NULL,
  enrols     BIGINT NOT NULL,
  created_ms BIGINT NOT NULL,
  used_ms    BIGINT NOT NULL,
  ends_ms    BIGINT NOT NULL
);
CREATE INDEX sessions_person ON sessions (person, created_ms);

-- One-time links that were neither spent nor swept. hash is of the link's secret.
CREATE TABLE login_links (
  hash    TEXT   PRIMARY KEY,
  person  TEXT   NOT NULL,
  made_by TEXT   NOT NULL,
  enrols  BIGINT NOT NULL,
  ends_ms BIGINT NOT NULL
);

-- Hashes of what has signed somebody in and must not do so again, as long as it could.
CREATE TABLE spent (
  hash    TEXT   PRIMARY KEY,
  ends_ms BIGINT NOT NULL
);

-- Messages to one person that belong to no approval; a row is gone once it is posted.
CREATE TABLE notices (
  id         TEXT   PRIMARY KEY,
  channel    TEXT   NOT NULL,
  chat       TEXT   NOT NULL,
  text       TEXT   NOT NULL,
  session    TEXT   NOT NULL, -- that its button ends; empty: no button
  created_ms BIGINT NOT NULL,
  due_ms     BIGINT NOT NULL,
  attempts   BIGINT NOT NULL
);
CREATE INDEX notices_due ON notices (due_ms);
