package hook

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// A desk that cannot be reached is named by its host; the query, which has the claim's
// name, stays out of what a model reads.
func TestFailed_SaysNoQuery(t *testing.T) {
	err := fmt.Errorf("asking: %w", &url.Error{Op: "Post", URL: "http://127.0.0.1:1/v1/approvals?claim=1&claimId=SECRET", Err: errors.New("connection refused")})
	text := Failed(err)
	require.Contains(t, text, "the approval desk at 127.0.0.1:1 cannot be reached: connection refused")
	require.NotContains(t, text, "SECRET")
}
