package api

import (
	"context"
	"net/http"
)

// Duties tells who is on duty, by roster.
type Duties struct {
	Rosters []Duty `json:"rosters"`
}

// Duty tells who is on duty by one roster.
type Duty struct {
	Name     string   `json:"name"`
	Among    []string `json:"among" doc:"Who can be on duty at all."`
	OnDuty   []string `json:"onDuty" doc:"Who is on duty now; never empty."`
	UntilMs  int64    `json:"untilMs,omitzero" doc:"When that changes; absent if it is not known or never happens."`
	Next     []string `json:"next" doc:"Who follows, as far as it is known."`
	Timezone string   `json:"timezone"`
	Unknown  string   `json:"unknown,omitzero" doc:"Why the person on duty is unknown, so that all of the roster are on duty."`
}

// Duty tells who is on duty.
func (c *Client) Duty(ctx context.Context) (Duties, error) {
	var out Duties
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/duty"}, &out)
	return out, err
}
