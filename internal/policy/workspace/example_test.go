package workspace_test

import (
	"fmt"

	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// A reader judges what becomes of the files that a word may mean, at a place: here /w, which is
// the workspace.
func ExampleReader() {
	own := workspace.NewOwn(workspace.Protected{Files: []string{"/etc/approvalbot.yaml"}})
	judge := func(does func(*workspace.Reader, workspace.Word), w workspace.Word) {
		var found finding.Set
		does(&workspace.Reader{Own: &own, Found: &found, Place: workspace.At([]string{"/w"}, &own, nil, "/w", "")}, w)
		fmt.Printf("%s:", w.Text)
		for _, c := range found.List(nil) {
			fmt.Print(" ", finding.Reasons[c].Name)
		}
		fmt.Println()
	}
	for _, file := range []string{"api/x.go", ".git/hooks/pre-commit", "/etc/hosts", "/etc/approvalbot.yaml"} {
		judge((*workspace.Reader).Write, workspace.Word{Text: file})
	}
	judge((*workspace.Reader).Write, workspace.Word{Text: "api/", Kind: workspace.Computed})
	judge((*workspace.Reader).Read, workspace.Word{Text: "api/.env"})
	// Output:
	// api/x.go: workspace-write
	// .git/hooks/pre-commit: writes-startup
	// /etc/hosts: writes-system
	// /etc/approvalbot.yaml: touches-the-desk writes-system
	// api/: dynamic-path workspace-write
	// api/.env: reads-secret
}
