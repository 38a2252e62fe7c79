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
