//go:build linux

package confine

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"approvalbot/internal/lazy"
)

var (
	// ownPlace are variables that say where somebody is, and no more.
	ownPlace = lazy.Words(`PWD OLDPWD HOME TMPDIR TMP TEMP INIT_CWD GOPATH CDPATH MANPATH INFOPATH _`)
	// searched are variables whose value is a list of folders that programs or settings are looked for in.
	searched = lazy.Pattern(`PATH|LIB|^XDG_.*_(HOME|DIRS)$`)
	// gitFree are git's variables that name no settings, no repository and no program but by their value's words.
	gitFree = lazy.Pattern(`^GIT_((AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|EDITOR|SEQUENCE_EDITOR|PAGER|TERMINAL_PROMPT|OPTIONAL_LOCKS|` +
		`SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|MERGE_AUTOEDIT|CONFIG_NOSYSTEM|ATTR_NOSYSTEM|NO_LAZY_FETCH|ADVICE|LFS_SKIP_SMUDGE|` +
		`PS1_\w+|PREFIX|PAGER_IN_USE|COMMIT|BRANCH|LOCAL_BRANCH|URL|PREVIOUS_\w+|CEILING_DIRECTORIES|TRACE\w*)$`)
)

// environment notes what variables name in the workspaces: programs of the host obey that, whatever the variable is.
func (o *outside) environment(env []string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "GIT_") && !gitFree.MatchString(name) {
			return fmt.Errorf("git obeys the variable %s, and it may name any setting or repository; run "+
				"approvalbot without it", name)
		}
		if ownPlace.Has(name) || value == "" {
			continue
		}
		isList := searched.MatchString(name)
		parts := strings.Split(value, ":")
		if !isList {
			parts = append(parts, between.FindAllString(value, -1)...) // options and lines of a shell
		}
		for _, part := range append(parts, value) {
			file, err := expanded(cwd, part)
			word := !isList && !strings.Contains(part, "/") && !isFile(file)
			if err != nil || word || part == "" && strings.HasPrefix(name, "XDG_") { // or what the shell alone would expand
				continue
			}
			end, _ := trail(file)
			if root := o.lead(file); isList && (root || o.above(end)) {
				return fmt.Errorf("a workspace is or lies in %q, which is in the variable %s; name another one, or "+
					"change the variable", part, name)
			}
		}
	}
	return nil
}

func isFile(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// above reports a folder that a workspace lies in.
func (o *outside) above(dir string) bool {
	for _, root := range o.roots {
		if strings.HasPrefix(root, strings.TrimSuffix(dir, "/")+"/") {
			return true
		}
	}
	return false
}

// homeLinks notes what links of the homes lead to, of files and folders that programs obey there.
func (o *outside) homeLinks() error {
	hidden := func(name string) bool { return strings.HasPrefix(name, ".") || name == "bin" }
	all := func(string) bool { return true }
	for _, home := range homes() {
		root := cmp.Or(o.links(home, hidden), o.links(path.Join(home, ".local/bin"), all))
		names, _ := os.ReadDir(home)
		for _, f := range names {
			if f.IsDir() && hidden(f.Name()) {
				root = cmp.Or(root, o.links(path.Join(home, f.Name()), all))
			}
		}
		if root != "" {
			return fmt.Errorf("the link %s leads to a workspace itself, and programs obey what is in it; name "+
				"another one, or remove the link", root)
		}
	}
	return nil
}

// links notes what the links of a folder lead to. It gives one that leads to a workspace itself.
func (o *outside) links(dir string, obeyed func(name string) bool) (root string) {
	all, _ := os.ReadDir(dir)
	for _, f := range all {
		if f.Type()&fs.ModeSymlink != 0 && obeyed(f.Name()) && o.lead(path.Join(dir, f.Name())) {
			root = path.Join(dir, f.Name())
		}
	}
	return root
}

// trail gives a path without links in what there is of it, and each link on the way. A name from which it goes up again is
// on the way too, as "name/..": a link of that name would lead elsewhere.
func trail(file string) (end string, through []string) {
	end, rest, links := "/", file, 0
	for rest != "" {
		name := ""
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			through = append(through, end+"/..")
			end = path.Dir(end)
			continue
		}
		next := path.Join(end, name)
		target, err := os.Readlink(next)
		if err != nil || links > 40 {
			end = next
			continue
		}
		links++
		if through = append(through, next); path.IsAbs(target) {
			end = "/"
		}
		rest = target + "/" + rest
	}
	return end, through
}
