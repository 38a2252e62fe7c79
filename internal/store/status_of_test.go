package store

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"approvalbot/internal/approval"
)

// Of a record's data only what is at its top and a text is its status.
func TestStatusOf(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		data string
		want approval.Status
	}{
		{`{"record":1,"id":"x","status":"approved","decision":"allow-once"}`, approval.Approved},
		{`{"x":{"status":"approved"},"status":"denied"}`, approval.Denied},
		{`{"x":["status","approved"],"status":"denied"}`, approval.Denied},
		{`{"x":{"status":"approved"}}`, ""}, {`{"id":"status","code":"approved"}`, ""},
		{`{"status":true}`, ""}, {`{"status":["approved"]}`, ""}, {`{"Status":"approved"}`, ""},
		{`["status","approved"]`, ""}, {`{"record":`, ""}, {`{"x":1,,"status":"approved"}`, ""}, {``, ""}, {`x`, ""},
	} {
		assert.Equal(t, c.want, statusOf([]byte(c.data)), strconv.Itoa(i)+": "+c.data)
	}
}
