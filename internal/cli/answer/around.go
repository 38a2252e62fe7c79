package answer

import (
	"context"
	"errors"
	"slices"
	"time"

	"approvalbot/api"
)

// Around is what the words of a command do not tell, but its asker sees.
type Around struct {
	Untracked *api.Untracked
	Programs  []string
	unknown   bool // so a person decides, who is told nothing of it
}

// Look finds that for a command, all words of which texts have. It runs in the folder dir, with path as its PATH. An error means
// that it is not known, so a person is asked.
func Look(ctx context.Context, dir, path string, texts ...string) (Around, error) {
	untracked, err := Untracked(ctx, dir, texts...)
	if err != nil {
		return Around{unknown: true}, err
	}
	programs, err := programsBy(ctx, dir, path, texts)
	return Around{Untracked: untracked, Programs: programs, unknown: err != nil}, err
}

// programsBy is [Programs] for a file system that may hang.
func programsBy(ctx context.Context, dir, path string, texts []string) ([]string, error) {
	return within(ctx, time.Now().Add(untrackedTime), errPrograms, func() ([]string, error) { return Programs(dir, path, texts...) })
}

// Grew looks again, right before a command runs that was allowed with what was found before it asked. An error says that git
// could take more now, or that more of its programs are the project's.
func (a Around) Grew(ctx context.Context, dir, path string, texts ...string) error {
	if a.unknown {
		return nil
	}
	programs, err := programsBy(ctx, dir, path, texts)
	if err != nil || slices.ContainsFunc(programs, func(name string) bool { return !slices.Contains(a.Programs, name) }) {
		return errors.New("since it was asked about, PATH finds more of its programs in the project; make the same call again")
	}
	before := a.Untracked
	if before == nil || len(before.Folders) == 0 {
		return nil
	}
	now, err := Untracked(ctx, dir, texts...)
	if err != nil {
		return errGrew
	}
	all := slices.Concat(before.Files, before.Ignored)
	seen := func(name string) bool { return slices.Contains(all, name) || slices.Contains(before.Folders, name) }
	for _, name := range slices.Concat(now.Files, now.Ignored, now.Folders) {
		if !seen(name) {
			return errGrew
		}
	}
	if before.Ignored != nil && now.Ignored == nil {
		return errGrew
	}
	return nil
}

var errGrew = errors.New("since it was asked about, git could take more files with secrets into the repository " +
	"(git status shows them); make the same call again")
