-- +goose Up
-- The advisory lock that an instance holds on a connection of its own for as long as it lives, and
-- the one under which a lease was taken. 0: none, and others wait until it was not seen for ten seconds.
ALTER TABLE instances ADD COLUMN lock_no BIGINT NOT NULL DEFAULT 0;
ALTER TABLE leases ADD COLUMN lock_no BIGINT NOT NULL DEFAULT 0;
