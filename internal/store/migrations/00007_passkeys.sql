-- +goose Up
-- Keys by which people sign in and sign a yes.
CREATE TABLE passkeys (
  id         TEXT   NOT NULL PRIMARY KEY, -- the credential's, in base64url
  person     TEXT   NOT NULL,
  sign_count BIGINT NOT NULL,
  backed_up  BIGINT NOT NULL,
  used_ms    BIGINT NOT NULL, -- 0: never
  created_ms BIGINT NOT NULL,
  body       TEXT   NOT NULL  -- what of core.Passkey never changes, as JSON
) WITHOUT ROWID;
CREATE INDEX passkeys_person ON passkeys (person);

-- Challenges that wait for their one answer.
CREATE TABLE ceremonies (
  id         TEXT   NOT NULL PRIMARY KEY,
  kind       TEXT   NOT NULL,
  expires_ms BIGINT NOT NULL,
  body       TEXT   NOT NULL -- core.Challenge, as JSON
) WITHOUT ROWID;
CREATE INDEX ceremonies_expiry ON ceremonies (expires_ms);
