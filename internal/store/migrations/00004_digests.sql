-- +goose Up
-- Of a card that is or was folded into a digest: the approval that the digest is a
-- delivery of, at the same place.
ALTER TABLE deliveries ADD COLUMN digest TEXT NOT NULL DEFAULT '';
CREATE INDEX deliveries_folded ON deliveries (digest) WHERE digest <> '';
CREATE INDEX deliveries_digests ON deliveries (channel, chat, created_ms) WHERE kind = 'digest';

-- What digests have listed, each version as it was drawn.
CREATE TABLE digest_lists (
  key      TEXT   NOT NULL REFERENCES approvals (key) ON DELETE CASCADE,
  id       TEXT   NOT NULL, -- of the digest, a delivery
  version  BIGINT NOT NULL,
  keys     TEXT   NOT NULL, -- of the approvals, in the order of the list, with blanks between
  drawn_ms BIGINT NOT NULL, -- when it was drawn last
  PRIMARY KEY (key, id, version)
) WITHOUT ROWID;
