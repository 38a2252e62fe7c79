package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/hook/live"
)

// toolsFile says of each runtime's own tools what the desk does, by the client's version.
const toolsFile = "../../internal/policy/testdata/runtimes.tsv"

// A tool that a client offers its model and the table of runtimes does not name is one that nobody
// has read the source of: it asks, and the table is to be completed.
func TestAgents_T30_ToolsAreKnown(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile(toolsFile)
	require.NoError(t, err)
	known := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		if cells := strings.Split(line, "\t"); len(cells) > 2 && cells[1] == runtimeVersion(t, cells[0]) {
			known[cells[0]+" "+cells[2]] = true
		}
	}
	eachRuntime(t, func(t *testing.T, l *live.Lab) {
		var mu sync.Mutex
		offered := map[string]bool{}
		l.Model.Saw = func(request []byte) {
			mu.Lock()
			defer mu.Unlock()
			for _, name := range toolsOf(request) {
				offered[name] = true
			}
		}
		got, err := l.Run(t.Context())
		require.NoError(t, err, got.Output)
		mu.Lock()
		defer mu.Unlock()
		require.NotEmpty(t, offered)
		var missing []string
		for name := range offered {
			if !known[l.Runtime+" "+name] {
				missing = append(missing, name)
			}
		}
		slices.Sort(missing)
		require.Empty(t, missing, "%s %s", l.Runtime, l.Version(t.Context()))
	})
}

// runtimeVersion is the version that the table of runtimes was tried with.
func runtimeVersion(t *testing.T, name string) string {
	t.Helper()
	if slices.Contains(live.Runtimes(), name) {
		return runtimeOf(t, name).Tested
	}
	return ""
}

// toolsOf are the names of the tools that a request to a model offers, in any dialect; those of a
// namespace have its name before theirs.
func toolsOf(request []byte) (names []string) {
	type function struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		Function *struct {
			Name string `json:"name"`
		} `json:"function"`
		Declarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	var body struct {
		Tools []function `json:"tools"`
	}
	if json.Unmarshal(request, &body) != nil {
		return nil
	}
	for _, f := range body.Tools {
		switch {
		case f.Function != nil:
			names = append(names, f.Function.Name)
		case f.Type == "namespace":
			for _, inner := range f.Tools {
				names = append(names, f.Name+inner.Name)
			}
		case f.Name != "":
			names = append(names, f.Name)
		case f.Declarations == nil:
			names = append(names, f.Type)
		}
		for _, d := range f.Declarations {
			names = append(names, d.Name)
		}
	}
	return names
}
