-- +goose Up
-- A new message makes no sound.
ALTER TABLE deliveries ADD COLUMN silent BIGINT NOT NULL DEFAULT 0;
-- Whom a reminder mentions: user ids of its platform, with a blank between.
ALTER TABLE deliveries ADD COLUMN mention TEXT NOT NULL DEFAULT '';
