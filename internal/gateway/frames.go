package gateway

import (
	"bytes"
	"encoding/json"

	"approvalbot/internal/approval"
	"approvalbot/internal/server"
)

// request is a frame of a client. Only these members are known; the last two
// are what existing clients may add, and are ignored by this desk.
type request struct {
	Type              string          `json:"type"`
	ID                json.RawMessage `json:"id"`
	Method            string          `json:"method"`
	Params            json.RawMessage `json:"params"`
	Traceparent       string          `json:"traceparent"`
	ExpectedProfileID string          `json:"expectedProfileId"`
}

// response answers one request. A two-phase request gets two.
type response struct {
	Type    string          `json:"type"`
	ID      json.RawMessage `json:"id"`
	OK      bool            `json:"ok"`
	Payload any             `json:"payload,omitempty"`
	Error   *refusal        `json:"error,omitempty"`
}

// event is a frame that the desk sends unasked. Seq counts the events of this
// connection, so that a client can see that it missed none; an approval's event
// has the log's number in its payload.
type event struct {
	Type    string `json:"type"`
	Event   string `json:"event"`
	Payload any    `json:"payload"`
	Seq     int64  `json:"seq"`
}

// noID is the id in answers to frames whose own id cannot be read.
var noID = json.RawMessage(`"invalid"`)

// maxID bounds a request's id, in bytes of JSON.
const maxID = 256

// parse reads a request frame strictly. id is what the answer is to carry, also
// when the frame is refused.
func parse(frame []byte) (req request, id json.RawMessage, err error) {
	id = noID
	if err := server.Decode(frame, &req); err != nil {
		var loose struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal(frame, &loose) == nil && validID(loose.ID) {
			id = loose.ID
		}
		return req, id, err
	}
	var bad []approval.FieldError
	if !validID(req.ID) {
		bad = append(bad, approval.FieldError{Field: "id", Problem: "must be a non-empty text or a number"})
	} else {
		id = req.ID
	}
	if req.Type != "req" {
		bad = append(bad, approval.FieldError{Field: "type", Problem: "must be req"})
	}
	if req.Method == "" {
		bad = append(bad, approval.FieldError{Field: "method", Problem: "is required"})
	}
	if len(bad) > 0 {
		return req, id, approval.Invalid(bad...)
	}
	return req, id, nil
}

func validID(id json.RawMessage) bool {
	id = bytes.TrimSpace(id)
	if len(id) == 0 || len(id) > maxID || string(id) == `""` {
		return false
	}
	return id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

// decode reads a method's params strictly; missing params and null are {}.
func decode[T any](params json.RawMessage) (in T, err error) {
	if string(bytes.TrimSpace(params)) == "null" {
		return in, nil
	}
	return in, server.Decode(params, &in)
}
