package answer

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	mostPrograms = 64  // as many as a desk accepts
	mostProgram  = 256 // bytes of a name that a desk accepts
)

// Programs gives the words of a command that PATH finds as programs in the project of its folder: the repository that the
// folder is in, else the folder itself. What runs by them is the project's code, which an agent may have written, whatever the
// words say (node_modules/.bin/which). A project that holds the home of the user is none. A relative entry of PATH counts from the
// folder. An error means that there are too many, or that the folder cannot be found.
func Programs(dir, list string, texts ...string) (found []string, err error) {
	if len(texts) == 0 || list == "" {
		return nil, nil
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("it is not known where the command would run: %w", err)
	}
	top := cmp.Or(repository(dir), dir)
	if home, err := os.UserHomeDir(); err == nil {
		if home, err = filepath.EvalSymlinks(home); err == nil && isIn(home, top) {
			return nil, nil
		}
	}
	var places []string
	names, own := map[string]bool{}, map[string]bool{}
	for _, entry := range filepath.SplitList(list) {
		if rest, is := strings.CutPrefix(entry, "~/"); is { // bash takes it for the home
			entry = filepath.Join(os.Getenv("HOME"), rest)
		} else if !filepath.IsAbs(entry) {
			entry = filepath.Join(dir, entry)
		}
		at, err := filepath.EvalSymlinks(entry)
		if err != nil || slices.Contains(places, at) { // a place that is not there has no programs
			continue
		}
		places = append(places, at)
		if !isIn(at, top) {
			continue
		}
		own[at] = true
		all, err := os.ReadDir(at)
		if err != nil {
			return nil, fmt.Errorf("it is not known which programs are in %s: %w", at, err)
		}
		for _, e := range all {
			names[e.Name()] = true
		}
	}
	if len(own) == 0 {
		return nil, nil
	}
	words := slices.Clone(texts)
	for _, text := range texts {
		words = append(words, shellWords(text)...)
	}
	for _, word := range words {
		if !names[word] || slices.Contains(found, word) || len(word) > mostProgram {
			continue
		}
		first := slices.IndexFunc(places, func(at string) bool { return isProgram(filepath.Join(at, word)) })
		if first >= 0 && own[places[first]] {
			found = append(found, word)
		}
		if len(found) > mostPrograms {
			return nil, errors.New("the command has too many words that are programs of the project")
		}
	}
	return found, nil
}

// isIn reports whether an absolute path is a folder or below it, by their names.
func isIn(name, dir string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// isProgram reports a file that a shell would start.
func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// PathOf is the PATH of an environment.
func PathOf(environ []string) (list string) {
	for _, pair := range environ {
		if value, is := strings.CutPrefix(pair, "PATH="); is {
			list = value
		}
	}
	return list
}
