-- +goose Up
-- Browsers that people want to be notified in. Whoever knows an endpoint and its two keys
-- can send it notifications that nobody else can read.
CREATE TABLE push_subscriptions (
  id         TEXT   PRIMARY KEY,
  person     TEXT   NOT NULL,
  endpoint   TEXT   NOT NULL,
  p256dh     TEXT   NOT NULL,
  auth       TEXT   NOT NULL,
  browser    TEXT   NOT NULL, -- what it called itself
  created_ms BIGINT NOT NULL
);
CREATE UNIQUE INDEX push_endpoint ON push_subscriptions (endpoint);
CREATE INDEX push_person ON push_subscriptions (person, created_ms);
