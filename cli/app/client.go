package app

import (
	"errors"
	"io/fs"
	"path/filepath"

	"approvalbot/config"
	"approvalbot/config/local"
)

// readClientFile reads the client file: the one that --client or APPROVALBOT_CLIENT
// names, else client.yaml in the user's configuration directory. The working
// directory names no desk: whoever writes there would decide for the asker. Without
// a file the result is empty.
func (a *App) readClientFile() (config.ClientFile, string, error) {
	path, named := a.ClientPath()
	if path == "" {
		return config.ClientFile{}, "", nil
	}
	file, err := config.OpenClientFile(path)
	if !named && errors.Is(err, fs.ErrNotExist) {
		return config.ClientFile{}, "", nil
	}
	return file, path, err
}

// ClientPath says where the client file is, and whether somebody named it.
func (a *App) ClientPath() (path string, named bool) {
	for _, path := range []string{a.ClientFile, a.Env["APPROVALBOT_CLIENT"]} {
		if path != "" {
			return path, true
		}
	}
	if dir := config.Home(a.Env); dir != "" {
		return filepath.Join(dir, local.HomeFiles.Client), false
	}
	return "", false
}
