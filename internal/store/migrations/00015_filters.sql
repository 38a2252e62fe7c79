-- +goose Up
-- Lists by one filter, newest first. They are by created_ms + 0, which no other index has: so a planner that does not know
-- how rare a value is cannot walk approvals_newest instead. Those of one moment are sorted by key as they are read,
-- since the key in an index would double its size.
CREATE INDEX approvals_tool ON approvals (tool_name, (created_ms + 0));
CREATE INDEX approvals_agent ON approvals (agent_id, (created_ms + 0)) WHERE agent_id <> '';
CREATE INDEX approvals_session ON approvals (session_key, (created_ms + 0)) WHERE session_key <> '';
-- Of the others most are approved.
CREATE INDEX approvals_refused ON approvals (status, (created_ms + 0))
 WHERE status = 'denied' OR status = 'expired' OR status = 'withdrawn';
