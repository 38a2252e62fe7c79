package tool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/policy/finding"
)

// The file that is shipped has no mistake.
func TestServers(t *testing.T) {
	table, err := Servers()
	require.NoError(t, err)
	for _, name := range []string{"filesystem", "github", "gitlab", "postgres", "sqlite", "fetch", "slack", "playwright", "puppeteer", "memory",
		"kubernetes", "aws"} {
		require.NotEmpty(t, table[name], name)
	}
	require.Equal(t, Param{Role: Reads}, table["filesystem"]["read_file"].Params["path"])
	require.Equal(t, finding.MayReadSecret, table["kubernetes"]["resources_get"].Params["kind"].Else)
}

// What a row cannot mean is refused.
func TestLoad_Refuses(t *testing.T) {
	for text, mistake := range map[string]string{
		`- {server: a, tools: [{tool: x, is: network-read, reeds: path}]}`: "field reeds not found",
		`- {server: a, tols: []}`:                                                                            "field tols not found",
		`- {server: a, tools: [{tool: x, is: network-red}]}`:                                                 `"network-red" is not a reason code`,
		`- {server: a, tools: [{tool: x, is: risk-denied}]}`:                                                 `"risk-denied" is not a reason code`,
		`- {server: a, tools: [{tool: x, is: network-read, only: {m: get}, else: gone}]}`:                    `"gone" is not a reason code`,
		`- {server: a, tools: [{tool: x, is: network-read}, {tool: y x, is: network-read}]}`:                 `tool "x": is given twice`,
		"- {server: a, tools: [{tool: x, is: network-read}]}\n- {server: b a, tools: [{tool: x, reads: p}]}": "server a: is given twice",
		`- {server: a, tools: [{tool: x, reads: file_path, writes: filePath}]}`:                              "is given twice",
		`- {server: a, tools: [{tool: x, plain: m, is: network-read, only: {m: get}}]}`:                      "param m: is given twice",
		`- {server: a, tools: [{tool: x, is: network-read, is: network-read}]}`:                              `"is" already`,
		`- {server: a, tools: [{tool: x, plain: path}]}`:                                                     "says neither what it does",
		`- {server: a, tools: [{tool: x, is: network-read, only: {m: ""}}]}`:                                 "may have no value",
		`- {server: a, tools: [{tool: x, is: network-read, else: sends-data}]}`:                              "else has no effect",
		`- {server: a, tools: [{tool: x, is: network-read, overwrites: true}]}`:                              "overwrites has no effect",
		`- {server: a, tools: [{tool: " ", is: network-read}]}`:                                              "has no name",
		`- {server: a, tools: []}`:                                                                           "has no name or no tools",
		`- {server: a, tools: [{tool: x, is: network-read}]}` + "\n---\n[]":                                  "must be one document",
		`[`: "cannot be read",
	} {
		_, err := Load([]byte(text))
		require.ErrorContains(t, err, mistake, text)
	}
}
