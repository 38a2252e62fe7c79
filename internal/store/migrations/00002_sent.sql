-- +goose Up
-- When the message first stood in its chat; 0: not yet, or by a program that kept no note of it.
ALTER TABLE deliveries ADD COLUMN sent_ms BIGINT NOT NULL DEFAULT 0;
