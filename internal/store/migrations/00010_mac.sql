-- approvalbot: unsafe
-- +goose Up
-- A MAC by the store's key over what of a row decides. A row without a valid one counts for
-- nothing. Programs that know of none would write such rows.
ALTER TABLE approvals ADD COLUMN mac TEXT NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN mac TEXT NOT NULL DEFAULT '';
ALTER TABLE passkeys ADD COLUMN mac TEXT NOT NULL DEFAULT '';
ALTER TABLE suspended_passkeys ADD COLUMN mac TEXT NOT NULL DEFAULT '';
ALTER TABLE absences ADD COLUMN mac TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN mac TEXT NOT NULL DEFAULT '';
ALTER TABLE login_links ADD COLUMN mac TEXT NOT NULL DEFAULT '';
ALTER TABLE inbound ADD COLUMN mac TEXT NOT NULL DEFAULT ''; -- of what is not handled yet

-- What the log says of what became of an approval, and which grants ended.
CREATE INDEX events_outcome ON events (key, seq)
 WHERE type IN ('tool.approval.vote', 'tool.approval.resolved', 'tool.approval.expired', 'tool.approval.withdrawn',
 'tool.approval.revoked', 'tool.approval.result', 'audit.claimed', 'audit.joined', 'audit.rejudged', 'audit.retry',
 'audit.grant_ended');

-- Which passkeys were removed.
CREATE INDEX events_passkeys ON events (seq) WHERE type IN ('passkey.enrolled', 'passkey.removed', 'passkey.suspended');

-- How often the log says that absences have changed: the newest says it.
CREATE INDEX events_absences ON events (seq) WHERE type IN ('person.away', 'person.back');
