package main

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/platform"
)

// namesPlatforms are the files that name a platform in their code, outside of its four places, with the reason. The list only
// gets shorter: what a file asks about a platform, its row answers.
var namesPlatforms = map[string]string{
	"api/pairing.go":                       "the contract's examples of a chat",
	"api/policy.go":                        "the contract: GET /v1/policy says verifier.telegram",
	"api/requests.go":                      "the contract's descriptions, which OpenAPI shows",
	"api/types.go":                         "the contract's descriptions, which OpenAPI shows",
	"internal/cli/help/examples.go":        "an example is of one platform",
	"internal/cli/pair.go":                 "one platform alone needs the bot's name in groups",
	"internal/config/tools.go":             "the key tools.verifier.telegram, which the contract promises",
	"internal/daemon/reload.go":            "fills api.VerifierPolicy",
	"internal/display/shapes.go":           "shapes of secrets, of these and twenty other services",
	"internal/policy/workspace/secrets.go": "words in the names of files with secrets, of many services",
	"internal/signin/session.go":           "Mini Apps, which Telegram alone has, are a way to sign in",
	"internal/verifier/config.go":          "the key tools.verifier.telegram, in refusals",
	"internal/web/me.go":                   "Mini Apps",
	"internal/web/miniapp.go":              "Mini Apps",
	"internal/web/signin_templ.go":         "Mini Apps",
}

// Outside of its own room, its row and its adapter, almost no code names a platform. Comments may, as examples do.
func TestPlatforms_FewFilesNameOne(t *testing.T) {
	t.Parallel()
	const own = `^(bot/|internal/(platform|fakechat|faketelegram|pictures|bench|costs)/|internal/daemon/(adapters|telegram|discord)\.go$)`
	names := regexp.MustCompile("(?i)" + strings.Join(platform.Names(), "|"))
	var found []string
	require.NoError(t, fs.WalkDir(os.DirFS("../.."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || regexp.MustCompile(own).MatchString(path) {
			return err
		}
		source, err := os.ReadFile("../../" + path)
		if err == nil && names.MatchString(code(source)) {
			found = append(found, path)
		}
		return err
	}))
	require.ElementsMatch(t, slices.Collect(maps.Keys(namesPlatforms)), found)
}

// code is a source without its comments.
func code(source []byte) string {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", -1, len(source)), source, nil, 0)
	var out strings.Builder
	for {
		switch _, tok, text := s.Scan(); tok {
		case token.EOF:
			return out.String()
		default:
			out.WriteString(text + "\n")
		}
	}
}
