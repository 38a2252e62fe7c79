package install

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	listPath = []string{"hooks", "PreToolUse"}
	ourItem  = "{\n  \"matcher\": \"*\",\n  \"hooks\": [{\"command\": \"/b hook x --client /c\"}]\n}"
)

func isOurs(item string) bool { return strings.Contains(item, "/b hook x --client ") }

// What is put into a file is put at the end of its list, all else stays byte by byte,
// and taking it away gives those bytes back.
func TestAppendItem(t *testing.T) {
	for name, text := range map[string]string{
		"an object":        "{}\n",
		"other keys":       "{\n  \"model\": \"opus\"\n}\n",
		"one line":         `{"model":"opus","hooks":{"PostToolUse":[]}}`,
		"other hooks":      "{\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\"matcher\": \"Bash\"}\n        ]\n    }\n}",
		"comments":         "{\n  // mine\n  \"a\": 1, /* and */ \"b\": 2 // last\n}\n",
		"comment after":    "{\n  \"a\": 1 /* one */\n  // two\n}\n",
		"comma at the end": "{\n  \"a\": 1, // one\n}\n",
		"windows":          "{\r\n  \"a\": \"x\"\r\n}\r\n",
		"tabs":             "{\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t}\n}\n",
		"escapes":          `{"a\"}": "]\\", "hooks": {"PreToolUse": [{"x": "\"}]"}]}}`,
		"after it, others": "{\n  \"hooks\": {\n    \"PreToolUse\": [ 1 ],\n    \"Stop\": []\n  },\n  \"z\": null\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			after, err := appendItem(text, listPath, ourItem)
			require.NoError(t, err)
			require.NoError(t, checkAppended(text, after, listPath, ourItem))
			for line := range strings.SplitSeq(text, "\n") {
				line = strings.ReplaceAll(strings.TrimRight(strings.TrimSpace(line), "{}[], "), ",", "")
				require.Contains(t, strings.ReplaceAll(after, ",", ""), line, after)
			}
			back, removed, err := removeItems(after, listPath, isOurs)
			require.NoError(t, err)
			require.True(t, removed)
			require.Equal(t, text, back)
		})
	}
	after, err := appendItem("", listPath, ourItem)
	require.NoError(t, err)
	require.True(t, json.Valid([]byte(after)), after)
	require.NoError(t, checkAppended("", after, listPath, ourItem))
}

// What is no such file is left alone, with the line and without what stands there.
func TestAppendItem_Refuses(t *testing.T) {
	for text, why := range map[string]string{
		"{\n\"a\": s3cret}":                    "line 2: a value expected",
		"{\"hooks\": []}":                      "hooks is not an object there",
		"{\"hooks\": {\"PreToolUse\": {}}}":    "hooks.PreToolUse is not a list there",
		"[]":                                   "the whole file is not an object there",
		"{\"a\": 1, \"a\": 2}":                 `line 1: "a" is given twice in the same object; remove one`,
		"{\"a\": 1} {}":                        "line 1: the end of the file expected",
		"{\"a\": 1":                            "line 1: a comma, or } expected",
		"{a: 1}":                               "line 1: a name in double quotes, or } expected",
		"\ufeff{}":                             "it begins with a byte order mark; save it without",
		"{\"a\": \"\xff\"}":                    "it is not UTF-8",
		"/* {}":                                "line 1: the end of a comment expected",
		strings.Repeat("[", 200):               errNested.Error(),
		"{\"hooks\": {\"PreToolUse\": \"x\"}}": "hooks.PreToolUse is not a list there",
	} {
		_, err := appendItem(text, listPath, ourItem)
		require.EqualError(t, err, why, text)
	}
}

// Whatever a file says, an item goes in without changing what it says, and out again.
func FuzzAppendItem(f *testing.F) {
	for _, text := range []string{
		"{}", "", "{ }", `{"hooks":{}}`, `{"hooks":{"PreToolUse":[]}}`, `{"hooks":{"PreToolUse":[1,]},}`,
		"{\n  // c\n  \"hooks\": {\"PreToolUse\": [ {} /* x */ ]}\n}\n", "{\"a\":1 // c\n}", "{\"hooks\":{//c\n}}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		after, err := appendItem(text, listPath, ourItem)
		if err != nil {
			return
		}
		require.NoError(t, checkAppended(text, after, listPath, ourItem))
		back, removed, err := removeItems(after, listPath, isOurs)
		require.NoError(t, err)
		require.True(t, removed)
		left, err := scan(back)
		require.NoError(t, err)
		was, _ := scan(text)
		if says, ok := was.plain(text).(map[string]any); ok && !strings.Contains(text, "/b hook x") {
			dropEmpty(says)
			is := left.plain(back).(map[string]any)
			dropEmpty(is)
			require.Equal(t, says, is)
		}
	})
}

// dropEmpty takes the list and the object of hooks away where they are empty: which of
// them was there before cannot be known.
func dropEmpty(o map[string]any) {
	hooks, ok := o["hooks"].(map[string]any)
	if !ok {
		return
	}
	if l, ok := hooks["PreToolUse"].([]any); ok && len(l) == 0 {
		delete(hooks, "PreToolUse")
	}
	if len(hooks) == 0 {
		delete(o, "hooks")
	}
}
