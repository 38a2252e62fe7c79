-- +goose Up
-- Who is away, and who stands in for them: one row a person, kept when it is over. The
-- revision, in meta, grows with every change.
CREATE TABLE absences (
  person   TEXT   PRIMARY KEY,
  stand_in TEXT   NOT NULL, -- empty: nobody
  since_ms BIGINT NOT NULL,
  until_ms BIGINT NOT NULL,
  said_by  TEXT   NOT NULL
);
