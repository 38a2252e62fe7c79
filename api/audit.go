package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// AuditRecord is one entry of the hash-chained log, byte for byte as it was hashed.
type AuditRecord struct {
	Seq      int64           `json:"seq" doc:"Number in the log, without gaps."`
	AtMs     int64           `json:"atMs"`
	Type     string          `json:"type"`
	Key      string          `json:"key" doc:"The approval's internal id, or empty."`
	Owner    string          `json:"owner" doc:"Name of the token it is about."`
	Data     json.RawMessage `json:"data" doc:"What happened; never raw params."`
	Hash     string          `json:"hash" doc:"Hex SHA-256 over the record and prevHash."`
	PrevHash string          `json:"prevHash" doc:"Of the record before; empty for the first."`
}

// AuditPage is one page of the log.
type AuditPage struct {
	Items      []AuditRecord `json:"items"`
	NextCursor string        `json:"nextCursor" doc:"Give it as cursor to get the next page; empty on the last one."`
	HeadSeq    int64         `json:"headSeq" doc:"Number of the log's newest record."`
	HeadHash   string        `json:"headHash"`
	Keys       []string      `json:"keys" doc:"Verifier keys of the log's checkpoints, the present one first."`
	// Checking is the progress of a check of the log; nil if no check runs.
	Checking *AuditProgress `json:"checking,omitempty" doc:"How far a check of the log is, if one runs."`
}

// AuditProgress is the progress of a check of the log.
type AuditProgress struct {
	Seq     int64 `json:"seq" doc:"The record that it is at."`
	HeadSeq int64 `json:"headSeq" doc:"The last one that it checks; its rows and approvals come after that."`
}

// AuditReport is the result of a check of the whole chain.
type AuditReport struct {
	OK          bool   `json:"ok"`
	Records     int64  `json:"records" doc:"How many records were found good, from the first."`
	From        int64  `json:"from" doc:"Number of the first record that is kept."`
	HeadHash    string `json:"headHash" doc:"Hash of the last good record."`
	Checkpoints int    `json:"checkpoints" doc:"Signed checkpoints in the log that fit it."`
	Covered     int64  `json:"covered" doc:"The last record that a checkpoint covers."`
	BadSeq      int64  `json:"badSeq,omitzero" doc:"The first record that is not as it was written."`
	Problem     string `json:"problem,omitzero"`
	New         bool   `json:"new,omitzero" doc:"Only what came since the last check was checked, and no row."`
}

// AuditOptions selects a page of the log for [Client.Audit].
type AuditOptions struct {
	Oldest bool   // oldest first; else newest first
	Cursor string // NextCursor of the previous page
	Limit  int    // 1 to 200; 0 means 50
}

// Audit gives one page of the log.
func (c *Client) Audit(ctx context.Context, o AuditOptions) (AuditPage, error) {
	q := url.Values{}
	if o.Oldest {
		q.Set("order", "oldest")
	}
	if o.Cursor != "" {
		q.Set("cursor", o.Cursor)
	}
	if o.Limit != 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	var out AuditPage
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/audit", query: q}, &out)
	return out, err
}

// checkTime is how long a check of the log may take.
const checkTime = time.Hour

// VerifyAudit has the desk check its whole log.
func (c *Client) VerifyAudit(ctx context.Context) (AuditReport, error) {
	return c.verifyAudit(ctx, nil)
}

// VerifyNewAudit has the desk check the records after the checkpoint up to which the last check found no fault, or
// the whole log if there was no such check.
func (c *Client) VerifyNewAudit(ctx context.Context) (AuditReport, error) {
	return c.verifyAudit(ctx, url.Values{"new": {"true"}})
}

func (c *Client) verifyAudit(ctx context.Context, query url.Values) (AuditReport, error) {
	var out AuditReport
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/audit/verify", query: query, work: checkTime}, &out)
	return out, err
}
