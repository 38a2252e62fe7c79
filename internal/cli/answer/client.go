package answer

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"approvalbot/api"
	"approvalbot/internal/cli/reach"
	"approvalbot/internal/config"
)

// Connect makes the client of a program that a runtime starts, from its flags alone.
func (f Flags) Connect() (*api.Client, error) {
	server, token := f.Server, ""
	switch {
	case f.Token != "":
		return nil,
			errors.New("other users can see --token in the list of processes; write the token into a file, and give " +
				"its absolute path with --token-file")
	case f.TokenFile != "" && f.Client != "":
		return nil, errors.New("--token-file and --client exclude each other")
	case f.TokenFile != "":
		text, err := ReadNamed("--token-file", f.TokenFile)
		if err != nil {
			return nil, err
		}
		if server == "" {
			server = config.DefaultServer
		}
		token = strings.TrimSpace(string(text))
	case f.Client != "":
		if !filepath.IsAbs(f.Client) {
			return nil, errors.New("--client must be an absolute path: the working directory may be another user's")
		}
		file, err := config.OpenClientFile(f.Client)
		if err != nil {
			return nil, err
		}
		if server != "" && server != file.Server {
			return nil, fmt.Errorf("--server names another desk than the client file %s, and the file's token is "+
				"only for the file's own desk: leave out --server", f.Client)
		}
		if file.Token == "" || file.Server == "" {
			return nil, fmt.Errorf("the client file %s must have both a token and a server", f.Client)
		}
		return reach.Connect(file, f.Client, transport())
	default:
		return nil, errors.New("no desk is named: give --token-file or --client with an absolute path")
	}
	if token == "" {
		return nil, fmt.Errorf("the token file %s is empty", f.TokenFile)
	}
	return &api.Client{Server: server, Token: token, HTTP: &http.Client{Transport: transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// transport ignores the environment, which a repository's settings can set for
// programs that its agent starts: it uses no proxy and no certificates from there.
func transport() *http.Transport {
	_, _ = os.Unsetenv("SSL_CERT_FILE"), os.Unsetenv("SSL_CERT_DIR")
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.Protocols = &http.Protocols{} // GODEBUG can have version 2 print its headers, and so the token
	t.Protocols.SetHTTP1(true)
	return t
}

// ReadNamed reads a file with a token that a flag names by its absolute path.
func ReadNamed(flag, path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%s must be an absolute path: the working directory may be another user's", flag)
	}
	return config.ReadOwn(path)
}
