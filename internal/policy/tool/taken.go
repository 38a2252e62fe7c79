package tool

import (
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
)

// clientTakes are all members of tools of files and the web as their client's source has them, by the tool's folded
// name (testdata/runtimes.tsv). Another program's tool may have such a name and take more.
var clientTakes = sync.OnceValue(func() map[string]*lazy.Set {
	return map[string]*lazy.Set{
		"editor": lazy.Words("path oldtext newtext insertline"), "searchcodebase": lazy.Words("queries"), "fetchwebcontent": lazy.Words("requests url prompt"),
	}
})

// taken asks for what a tool is told beyond what its client's source takes.
func (r *Params) taken(list []field, name string) {
	takes := clientTakes()[name]
	for i := range list {
		f := &list[i]
		unknown := takes != nil && (f.odd || !takes.Has(f.Key) || !takes.Has(f.root))
		option := name == "searchcodebase" && f.Str && strings.HasPrefix(strings.TrimSpace(f.Text), "-") // ripgrep gets it as it is: -uue. shows hidden files
		if unknown || option {
			r.Found.Add(finding.UnknownParameters)
		}
	}
}
