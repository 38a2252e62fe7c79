-- +goose Up
-- When the retry round of an approval ends that was opened last; 0: none was, or it is settled.
ALTER TABLE approvals ADD COLUMN round_ms BIGINT NOT NULL DEFAULT 0;
CREATE INDEX approvals_round ON approvals (round_ms) WHERE round_ms > 0;
