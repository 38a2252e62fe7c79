package local

import (
	"os"
	"path/filepath"

	"approvalbot/internal/config"
	"approvalbot/internal/platform"
)

// File is a configuration that serve --local generates.
type File struct {
	Dir string         // absolute
	Env config.Environ // of the desk's process
}

// Path is the path of the file.
func (l *File) Path() string { return filepath.Join(l.Dir, config.LocalFile) }

// edited reports whether the file was edited.
func (l *File) edited() bool {
	text, err := os.ReadFile(l.Path())
	return err != nil || !stillGenerated(string(text))
}

// Writable reports whether a chat can be written into the file: it is as it was
// generated, and no variable would win at the next start.
func (l *File) Writable(c Chat) bool {
	chats, err := ChatsOf(l.Env)
	named := chats[c.At.Channel]
	another := named.At.To != "" && named.At != c.At || named.User != "" && named.User != c.User
	return err == nil && !another && !l.edited()
}

// Write has the file name a chat, in place of any other of that platform. undo puts
// back what it was.
func (l *File) Write(c Chat) (undo func() error, err error) {
	before, err := os.ReadFile(l.Path())
	if err != nil {
		return nil, err
	}
	env, on := remembering(l.Env, string(before)), platform.ByName(c.At.Channel)
	env[on.PlaceVariable()], env[on.UserVariable()] = spelled(c.At), c.User
	if err := writeAll(l.Dir, env, string(before)); err != nil {
		return nil, err
	}
	return func() error { return replaceFile(l.Path(), string(before)) }, nil
}
