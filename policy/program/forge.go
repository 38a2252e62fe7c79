package program

import (
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/workspace"
)

// ghAPI judges gh api, which sends any request: only GET of a path passes. A field makes
// it a POST unless a method is named.
func ghAPI(x *Call, _ string, args []workspace.Word) {
	get, fields, paths := false, false, 0
	c := x.scanner(&spec{flags: "i", vals: "XHqtfFR", strict: true, optional: map[string]bool{},
		long: longs("method= header= jq= template= field= raw-field= paginate slurp include silent verbose cache=")}, args)
	for t, ok := c.next(); ok; t, ok = c.next() {
		literal := t.word.Kind == workspace.Literal
		switch t.option {
		case "X", "method":
			get = literal && strings.EqualFold(t.word.Text, "GET")
			if !get {
				x.Add(finding.RemoteSystem)
			}
			if strings.EqualFold(t.word.Text, "DELETE") {
				x.Add(finding.DestroysInfrastructure)
			}
		case "f", "F", "field", "raw-field":
			fields = true
			if strings.Contains(t.word.Text, "=@") {
				x.Add(finding.SendsData) // what the file holds goes along
			}
		case "H", "header":
			if !literal || !strings.HasPrefix(strings.ToLower(t.word.Text), "accept:") && !strings.HasPrefix(strings.ToLower(t.word.Text), "x-github-api-version:") {
				x.Add(finding.UnknownOption)
			}
		case "q", "jq":
			jqRole.word(x, t.word)
		case "":
			paths++
			if !literal || !apiPath(t.word.Text) {
				x.Add(finding.RemoteSystem)
			}
		}
	}
	if fields && !get || paths != 1 {
		x.Add(finding.RemoteSystem)
	}
	if x.Found == (finding.Set{}) {
		x.Add(finding.RemoteRead)
	}
}

// apiPath reports a path of the forge's own API that tells no secret; graphql changes
// things as well.
func apiPath(text string) bool {
	lower := strings.ToLower(strings.TrimPrefix(text, "/"))
	return lower != "" && !strings.Contains(lower, "://") && !strings.HasPrefix(lower, "/") && !strings.HasPrefix(lower, "graphql") &&
		!strings.Contains(lower, "..") && !strings.Contains(lower, "token") && !strings.ContainsAny(lower, "@\\")
}
