package language

import (
	"strings"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// ghAPI judges gh api, which sends any request: only GET of a path passes. A field makes
// it a POST unless a method is named.
func ghAPI(x *command.Call, _ string, args []workspace.Word) {
	get, fields, paths, queries, asks, graphql := false, false, 0, 0, true, false
	c := x.Scanner(&command.Spec{Flags: "i", Values: "XHqtfFR", Strict: true, Optional: map[string]bool{},
		Long: command.Longs("method= header= jq= template= field= raw-field= paginate slurp include silent verbose cache=")}, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		literal := t.Word.Kind == workspace.Literal
		switch t.Option {
		case "X", "method":
			get = literal && strings.EqualFold(t.Word.Text, "GET")
			if !get {
				x.Add(finding.RemoteSystem)
			}
			if strings.EqualFold(t.Word.Text, "DELETE") {
				x.Add(finding.DestroysInfrastructure)
			}
		case "f", "F", "field", "raw-field":
			fields = true
			if query, ok := strings.CutPrefix(t.Word.Text, "query="); ok || !literal {
				queries++
				asks = asks && literal && onlyAsks(query)
				for name := range strings.FieldsFuncSeq(query, func(r rune) bool { return strings.ContainsRune(" \t\n\"'():{}", r) }) {
					x.Read(workspace.Word{Text: name}) // of a file in a repository
				}
			}
			if strings.Contains(t.Word.Text, "=@") {
				x.Add(finding.SendsData) // what the file holds goes along
			}
		case "H", "header":
			if !literal || !words.Begins(strings.ToLower(t.Word.Text), "accept:", "x-github-api-version:") {
				x.Add(finding.UnknownOption)
			}
		case "q", "jq":
			JQ(x, t.Word)
		case "":
			paths++
			if _, file, ok := strings.Cut(t.Word.Text, "/contents/"); ok {
				if file, _, _ = strings.Cut(file, "?"); strings.Contains(file, "%") {
					x.Add(finding.MayReadSecret) // the server reads it otherwise
				}
				x.Read(workspace.Word{Text: file, Kind: t.Word.Kind}) // the text of a file in a repository
			}
			graphql = t.Word.Is("graphql")
			if !literal || !graphql && !apiPath(t.Word.Text) {
				x.Add(finding.RemoteSystem)
			}
		}
	}
	if graphql {
		get = asks && queries == 1
	}
	sends := (fields || graphql) && !get
	if sends || paths != 1 {
		x.Add(finding.RemoteSystem)
	}
	if x.Found == (finding.Set{}) {
		x.Add(finding.RemoteRead)
	}
}

// onlyAsks reports a document of GraphQL without a word that begins a mutation or a
// subscription.
func onlyAsks(query string) bool {
	query = strings.TrimSpace(query)
	return words.Begins(query, "query", "{") && !words.Holds(query, "mutation", "subscription")
}

// apiPath reports a path of the forge's own API that tells no secret; graphql changes
// things as well.
func apiPath(text string) bool {
	lower := strings.ToLower(strings.TrimPrefix(text, "/"))
	return lower != "" && !words.Begins(lower, "/", "graphql") && !words.Holds(lower, "://", "..", "token", "@", `\`, "secret-scanning", "actions/variables")
}
