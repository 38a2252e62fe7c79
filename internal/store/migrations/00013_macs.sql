-- approvalbot: unsafe
-- +goose Up
-- Further tables whose rows have MACs.
ALTER TABLE approval_ids ADD COLUMN mac TEXT NOT NULL DEFAULT '';
ALTER TABLE moves ADD COLUMN mac TEXT NOT NULL DEFAULT '';
ALTER TABLE ceremonies ADD COLUMN mac TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN mac TEXT NOT NULL DEFAULT '';
-- What waits for its answer begins again; what was spent stays so.
DELETE FROM ceremonies WHERE kind <> 'spent';
-- Their MACs are over one column more now.
DELETE FROM sessions WHERE mac <> '';

-- SQLite takes bytes for a text, and then no look-up finds them.
CREATE INDEX events_odd ON events (seq) WHERE type || '' <> type OR key || '' <> key;
-- Operators' grants that ended, which are of no approval.
CREATE INDEX events_ended ON events (at_ms) WHERE key = '' AND type = 'audit.grant_ended';
-- Which platform updates that were stored changed something; also if such a record was made bytes.
CREATE INDEX events_updates ON events ((data || '')) WHERE data || '' LIKE '{"update":%';
