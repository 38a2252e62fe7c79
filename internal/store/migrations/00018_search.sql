-- +goose Up
-- Which pieces of four and of three letters are in what a search looks through, of the approvals that were asked for in
-- a quarter of an hour, as a Bloom filter: it says where a word is not. Made together with the sums in numbers, and good
-- up to numbers_state. An empty one says nothing.
CREATE TABLE search_filters (
  start_ms BIGINT PRIMARY KEY,
  bits     BLOB   NOT NULL
);
-- Which quarters are to be counted again.
CREATE INDEX numbers_marks ON numbers (start_ms) WHERE body = '';
-- How bad a call could be, 0 to 4, to find the riskiest of many that wait; 4 also what an older program writes, which
-- does not say it.
ALTER TABLE approvals ADD COLUMN risk BIGINT NOT NULL DEFAULT 4;
UPDATE approvals SET risk = CASE WHEN body LIKE '%"riskClass":"R4"%' THEN 4 WHEN body LIKE '%"riskClass":"R3"%' THEN 3
 WHEN body LIKE '%"riskClass":"R2"%' THEN 2 WHEN body LIKE '%"riskClass":"R1"%' THEN 1 ELSE 0 END WHERE status = 'pending';
CREATE INDEX approvals_pending_risk ON approvals (risk, created_ms, key) WHERE status = 'pending';
