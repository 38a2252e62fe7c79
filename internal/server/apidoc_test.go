package server

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/api.md explains every code.
func TestOpenAPIPage_ExplainsEveryCode(t *testing.T) {
	t.Parallel()
	explained, err := os.ReadFile("../../docs/api.md")
	require.NoError(t, err)
	for code, status := range statusOf() {
		require.Regexp(t, fmt.Sprintf("(?m)^\\| %d \\| .*`%s`", status, code), string(explained), "the page explains every code")
	}
}

// The reference has every route, and each type that it links to.
func TestReference(t *testing.T) {
	t.Parallel()
	page, headings := Reference(), map[string]bool{}
	for _, rt := range newDesk(t).srv.routes() {
		require.Contains(t, page, "\n### "+rt.method+" "+rt.path+"\n\n"+rt.summary)
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (\w+)$`).FindAllStringSubmatch(page, -1) {
		headings[strings.ToLower(m[1])] = true
	}
	links := regexp.MustCompile(`\]\(#(\w+)\)`).FindAllStringSubmatch(page, -1)
	require.Greater(t, len(links), 50)
	for _, m := range links {
		require.True(t, headings[m[1]], m[0])
	}
}
