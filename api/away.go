package api

import (
	"context"
	"net/http"
)

// AwayRequest records that a person is away.
type AwayRequest struct {
	UntilMs int64  `json:"untilMs" doc:"When they are back, in Unix milliseconds: at most 366 days from now."`
	To      string `json:"to,omitempty" doc:"The delegate, who may say yes in their stead: a person who is an approver already. Empty: no delegate."`
}

// Absence is a person who is away.
type Absence struct {
	Person  string `json:"person"`
	To      string `json:"to,omitzero" doc:"The delegate, if there is one."`
	SinceMs int64  `json:"sinceMs"`
	UntilMs int64  `json:"untilMs" doc:"From then on it is over, by itself."`
	By      string `json:"by" doc:"Who said so: person:alice, or token:ops."`
}

// Away is the answer to [Client.SetAway].
type Away struct {
	Absence Absence  `json:"absence"`
	Notes   []string `json:"notes" doc:"Sentences: what no available approver could allow during the absence."`
}

// Back is the answer to [Client.SetBack].
type Back struct {
	Person string `json:"person"`
	Ended  bool   `json:"ended" doc:"They were away until now."`
}

// AbsenceEvent is the data of person.away and person.back, which operators get.
type AbsenceEvent struct {
	Type    string  `json:"type" enum:"person.away,person.back"`
	Seq     int64   `json:"seq" doc:"As of any other event."`
	AtMs    int64   `json:"atMs"`
	Absence Absence `json:"absence" doc:"Of .back: the one that ended, before its time."`
	EndedBy string  `json:"endedBy,omitzero" doc:"Of .back: who said so, as in by."`
}

// SetAway records that a person is away, in place of an earlier record. A person's own
// token may do so for them, operator.admin for any person.
func (c *Client) SetAway(ctx context.Context, person string, in AwayRequest) (Away, error) {
	var out Away
	err := c.do(ctx, call{method: http.MethodPut, path: "/v1/people/" + segment(person) + "/away", in: in}, &out)
	return out, err
}

// SetBack records that a person is back.
func (c *Client) SetBack(ctx context.Context, person string) (Back, error) {
	var out Back
	err := c.do(ctx, call{method: http.MethodDelete, path: "/v1/people/" + segment(person) + "/away"}, &out)
	return out, err
}
