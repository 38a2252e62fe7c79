-- +goose Up
-- The risk classes of the approvals that were asked for in a quarter of an hour, a bit for each (1 is R0), to pass over the
-- quarters without a class; all bits also in what an older program writes, which does not say it.
ALTER TABLE search_filters ADD COLUMN classes BIGINT NOT NULL DEFAULT 31;
CREATE INDEX search_filters_classes ON search_filters (start_ms, classes);
