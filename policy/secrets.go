package policy

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// secretNames are components of paths to secrets, in lower case.
var secretNames = newLexicon(`.ssh .aws .azure .gnupg .kube .docker .gcloud gcloud .netrc _netrc .pgpass .my.cnf .mylogin.cnf .git-credentials
	.npmrc .pypirc .yarnrc.yml .password-store .vault-token .htpasswd .boto .s3cfg .dockercfg .databrickscfg .terraformrc
	.bash_history .zsh_history .history .python_history .psql_history .mysql_history .node_repl_history
	.env .envrc .credentials .credentials.json credentials.json credentials.toml credentials.db application_default_credentials.json
	.secrets secrets.json secrets.yaml secrets.yml secrets.toml secrets.env secret.json secret.yaml auth.json hosts.yml
	id_rsa id_dsa id_ecdsa id_ed25519 id_ed25519_sk id_ecdsa_sk authorized_keys
	shadow- gshadow master.passwd sudoers sudoers.d krb5.keytab
	keychains login.keychain-db wallet.dat logins.json key4.db cookies.sqlite kubeconfig terraform.tfstate
	service-account.json serviceaccount.json service_account.json tokens.json`)

// secretBases are names of files with secrets that are ordinary names of
// directories.
var secretBases = newLexicon("shadow cookies login_data web_data")

var allSecretNames = append(slices.Collect(maps.Keys(secretNames.words)), slices.Collect(maps.Keys(secretBases.words))...)

// secretEnds are how names of files with keys end.
var secretEnds = newLexicon(".env .pem .key .p12 .pfx .kdbx .jks .keystore .ppk .agekey .tfstate .tfvars .ovpn .keytab")

// secretWords, in the name of a file that is data and not code, mean a secret.
var secretWords = [...]string{"secret", "credential", "password", "passwd", "apikey", "api_key", "api-key", "privatekey", "private_key", "token"}

// dataEnds are the endings of files that are data.
var dataEnds = newLexicon(". .json .yaml .yml .toml .ini .env .txt .cfg .conf .config .xml .properties .csv .db .sqlite .bak")

// secretPath reports whether a file usually holds secrets, by its path alone.
// Letter case does not count, since it does not on every file system.
func secretPath(file string) bool { return secretLower(strings.ToLower(file)) }

// secretLower is secretPath for a path in lower case.
func secretLower(file string) bool {
	base := path.Base(file)
	return anyPart(file, secretName) || under(file, "/run/secrets") || under(file, "/var/run/secrets") || under(file, "/etc/ssl/private") ||
		secretBases.has(strings.ReplaceAll(base, " ", "_")) || secretData(base)
}

// anyPart reports whether is holds for a component of the path.
func anyPart(file string, is func(string) bool) bool {
	for {
		end := strings.IndexByte(file, '/')
		if end < 0 {
			return is(file)
		}
		if is(file[:end]) {
			return true
		}
		file = file[end+1:]
	}
}

// secretName reports whether one lower-case component names a secret.
func secretName(c string) bool {
	if c == "" {
		return false
	}
	if secretNames.has(c) {
		return true
	}
	if strings.HasPrefix(c, "id_rsa") && !strings.HasSuffix(c, ".pub") {
		return true
	}
	dot := strings.LastIndexByte(c, '.')
	if dot < 0 {
		return false
	}
	if strings.HasPrefix(c, ".env") {
		return c != ".env.example" && c != ".env.sample" && c != ".env.template" && c != ".env.dist"
	}
	return secretEnds.has(c[dot:])
}

// secretData reports whether a lower-case file name is data about a secret.
func secretData(name string) bool {
	if name == "passwd" || !dataEnds.has(either(path.Ext(name), ".")) {
		return false
	}
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// hitsSecret reports whether a glob may match a secret. Letters in brackets
// count as any letter. In the workspace a directory in the middle of the glob
// counts where it may be a hidden one: all others hold the project's own files,
// for which the end of the glob speaks.
func hitsSecret(glob string, workspace bool) bool {
	glob = strings.ToLower(glob)
	if secretPath(glob) {
		return true
	}
	for rest, more := glob, true; more; {
		var c string
		c, rest, more = strings.Cut(rest, "/")
		first := strings.IndexAny(c, "*?[")
		if first < 0 || workspace && more && c[0] != '.' && c[0] != '[' {
			continue
		}
		for _, name := range allSecretNames {
			if matches(c, name) {
				return true
			}
		}
		last := strings.LastIndexAny(c, "*?]")
		head, tail := c[:first], c[last+1:]
		for end := range secretEnds.words {
			if strings.HasSuffix(tail, end) || strings.HasSuffix(end, tail) {
				return true
			}
		}
		if strings.HasPrefix(head, ".e") || head == "." || strings.HasPrefix(head, "id_") {
			return true
		}
		if dataEnds.has(either(path.Ext(tail), ".")) {
			return true
		}
	}
	return false
}

// matches reports whether a glob without slashes matches a name. A bracket
// expression counts as any one character; a leading dot must be written.
func matches(glob, name string) bool {
	if name != "" && name[0] == '.' && (glob == "" || glob[0] != '.') {
		return false
	}
	star, mark := -1, 0
	g, n := 0, 0
	for n < len(name) {
		width := 1
		if g < len(glob) && glob[g] == '[' {
			if end := strings.IndexByte(glob[g+1:], ']'); end > 0 {
				width = end + 2
			}
		}
		switch {
		case g < len(glob) && glob[g] == '*':
			star, mark = g, n
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == '[' || glob[g] == name[n]):
			g, n = g+width, n+1
		case star >= 0:
			mark++
			g, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}

// startupNames are components of files that other programs run or obey, in
// lower case: writing them is more than a change of the workspace.
var startupNames = newLexicon(`.git .hg .svn .bzr .fslckout _fossil_ .gitconfig .gitmodules .husky .pre-commit-config.yaml .lefthook.yml lefthook.yml
	.github .gitlab-ci.yml .circleci jenkinsfile .vscode .idea .devcontainer .envrc .direnv
	.claude .claude.json .codex .gemini .cursor .opencode .openclaw .continue .kiro .aider.conf.yml .mcp.json mcp.json opencode.json openclaw.json
	.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .login .zshrc .zshenv .zprofile .zlogin .kshrc .cshrc .tcshrc
	.inputrc .vimrc .exrc .nvimrc .emacs .emacs.d .tmux.conf .screenrc .xinitrc .xsession .npmrc .yarnrc .yarnrc.yml .pypirc .condarc
	.config .local .ssh launchagents launchdaemons autostart crontab .wgetrc .curlrc .ripgreprc .jq .gdbinit .lldbinit .pythonrc .irbrc`)

// startupPath reports such a file. HEAD counts because git takes a directory
// with a HEAD and a config for a repository, and runs what the config names.
func startupPath(lower string) bool {
	return path.Base(lower) == "head" || anyPart(lower, startupNames.has)
}

// accessPath reports the files that say who may log in or act as administrator.
func accessPath(lower string) bool {
	switch path.Base(lower) {
	case "authorized_keys", "authorized_keys2", "sudoers", "shadow", "gshadow", "master.passwd", "ld.so.preload":
		return true
	case "passwd", "group":
		return path.Dir(lower) == "/etc"
	}
	return strings.Contains(lower, "/sudoers.d/") || under(lower, "/etc/pam.d") || under(lower, "/boot")
}
