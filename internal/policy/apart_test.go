package policy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatchesThatNoCallFitsBoth(t *testing.T) {
	t.Parallel()
	tool := func(names ...string) Match { return Match{Tool: names} }
	for name, c := range map[string]struct {
		a, b  Match
		apart bool
	}{
		"other tools":                     {tool("payment"), tool("browser", "read"), true},
		"the same tool":                   {tool("payment", "read"), tool("read"), false},
		"the same tool in other spelling": {tool("write_file"), tool("WriteFile"), false},
		"exec is every tool that runs":    {tool("exec"), tool("bash"), false},
		"a pattern that fits":             {tool("jira__*"), tool("jira__delete"), false},
		"a pattern that does not":         {tool("jira__*"), tool("browser"), true},
		"two patterns":                    {tool("jira__*"), tool("github__*"), false},
		"every tool":                      {tool("*"), tool("browser"), false},
		"a group":                         {tool("group:fs"), tool("write"), false},
		"a group beside":                  {tool("group:fs"), tool("browser"), true},
		"no tool named":                   {Match{Command: []string{"npm publish"}}, tool("browser"), false},
		"other commands of one line":      {Match{Command: []string{"npm publish"}}, Match{Command: []string{"curl *"}}, false},
		"other agents":                    {Match{Agent: []string{"main"}}, Match{Agent: []string{"other", "third"}}, true},
		"the same agent":                  {Match{Agent: []string{"main"}}, Match{Agent: []string{"other", "main"}}, false},
		"other sessions":                  {Match{Session: []string{"guest-*"}}, Match{Session: []string{"main"}}, true},
		"a session of a beginning":        {Match{Session: []string{"guest-*"}}, Match{Session: []string{"guest-7"}}, false},
		"beginnings of each other":        {Match{Session: []string{"guest-a*"}}, Match{Session: []string{"guest-*"}}, false},
	} {
		require.Equal(t, c.apart, c.a.Apart(c.b), name)
		require.Equal(t, c.apart, c.b.Apart(c.a), name)
	}
}
