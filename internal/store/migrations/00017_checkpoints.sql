-- +goose Up
-- The newest checkpoint, however many records came after it.
CREATE INDEX events_checkpoints ON events (seq) WHERE type = 'audit.checkpoint';
