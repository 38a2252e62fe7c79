package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Stats are the results of the calls that were asked since a time. Drills do not count.
type Stats struct {
	SinceMs     int64         `json:"sinceMs" doc:"The calls counted were asked since then."`
	All         Numbers       `json:"all"`
	ByStatus    []Count       `json:"byStatus" doc:"Most first, as the next one."`
	ReasonCodes []Count       `json:"reasonCodes" doc:"At most 200."`
	ByClass     []Numbers     `json:"byClass" doc:"By risk class, R0 first."`
	ByAgent     []Numbers     `json:"byAgent" doc:"By agent, at most 200, most calls first; an empty name counts calls without an agent."`
	ByTool      []Numbers     `json:"byTool" doc:"By tool, at most 200, most calls first."`
	Approvers   []PersonVotes `json:"approvers" doc:"Who voted, at most 200, most votes first."`
}

// Numbers are of all calls, or of those of one class, agent or tool. Times are in
// milliseconds, from asking.
type Numbers struct {
	Name         string  `json:"name"`
	Calls        int     `json:"calls"`
	Asked        int     `json:"asked" doc:"Calls that people were asked about; policy or a grant settled the others."`
	AskedPer100  float64 `json:"askedPer100" doc:"So many of a hundred calls."`
	Expired      int     `json:"expired"`
	ExpiredShare float64 `json:"expiredShare" doc:"Of the asks that have ended, 0 to 1."`
	FirstCard    Spread  `json:"firstCard" doc:"Until the first card stood in a chat."`
	FirstLook    Spread  `json:"firstLook" doc:"Until the first tap or vote of anybody, also one that was refused."`
	Decision     Spread  `json:"decision" doc:"Until people had decided."`
}

// Spread is the distribution of times. The count is exact; a time is up to 1.6 per cent too high, and exact below 128
// ms.
type Spread struct {
	Count    int   `json:"count"`
	MedianMs int64 `json:"medianMs" doc:"0 if the count is 0. Times are up to 1.6 per cent more than they were, and exact below 128 ms."`
	P90Ms    int64 `json:"p90Ms" doc:"Nine of ten took no longer."`
	P95Ms    int64 `json:"p95Ms" doc:"Nineteen of twenty took no longer."`
}

// Count is how often something was.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// PersonVotes is how one person voted.
type PersonVotes struct {
	Name      string `json:"name" doc:"The person, or the account if it belongs to no known person."`
	Approved  int    `json:"approved"`
	Denied    int    `json:"denied"`
	Vote      Spread `json:"vote" doc:"From asking to their vote."`
	SinceCard Spread `json:"sinceCard" doc:"From the first card in a chat to their vote."`
}

// Stats counts the approvals that were asked since then: your own, or all of them with
// operator.approvals.
func (c *Client) Stats(ctx context.Context, sinceMs int64) (Stats, error) {
	var out Stats
	query := url.Values{"sinceMs": {strconv.FormatInt(sinceMs, 10)}}
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/stats", query: query, wait: time.Minute}, &out)
	return out, err
}

// RebuildStats has the desk rebuild the sums behind Stats, in the background. Until they are ready, counts take longer
// but are as exact.
func (c *Client) RebuildStats(ctx context.Context) error {
	return c.do(ctx, call{method: http.MethodPost, path: "/v1/stats/rebuild", in: Empty{}}, &Empty{})
}
