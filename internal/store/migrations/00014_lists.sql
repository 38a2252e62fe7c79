-- +goose Up
-- The same indexes with OR instead of IN: SQLite makes a table of the list of an IN for each record that is written.
-- Older programs go on, and read more than they need, as they ask by IN.
DROP INDEX events_outcome;
CREATE INDEX events_outcome ON events (key, seq)
 WHERE type = 'tool.approval.vote' OR type = 'tool.approval.resolved' OR type = 'tool.approval.expired'
 OR type = 'tool.approval.withdrawn' OR type = 'tool.approval.revoked' OR type = 'tool.approval.result'
 OR type = 'audit.claimed' OR type = 'audit.joined' OR type = 'audit.rejudged' OR type = 'audit.retry'
 OR type = 'audit.grant_ended';
DROP INDEX events_passkeys;
CREATE INDEX events_passkeys ON events (seq)
 WHERE type = 'passkey.enrolled' OR type = 'passkey.removed' OR type = 'passkey.suspended';
