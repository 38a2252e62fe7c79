-- approvalbot: unsafe
-- +goose Up
-- Further tables whose rows have MACs.
ALTER TABLE approval_ids ADD COLUMN mac TEXT NOT NULL DEFAULT '';
