package workspace

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/words"
)

// secretNames are components of paths to secrets, in lower case.
var secretNames = lazy.Words(`.ssh .aws .azure .gnupg .kube .docker .gcloud gcloud .netrc _netrc .pgpass .my.cnf .mylogin.cnf .git-credentials
	.npmrc .pypirc .yarnrc.yml .password-store .vault-token .htpasswd .boto .s3cfg .dockercfg .databrickscfg .terraformrc
	.bash_history .zsh_history .history .python_history .psql_history .mysql_history .node_repl_history
	.env .envrc .credentials .credentials.json credentials.json credentials.toml credentials.db application_default_credentials.json
	.secrets secrets.json secrets.yaml secrets.yml secrets.toml secrets.env secret.json secret.yaml auth.json hosts.yml
	id_rsa id_dsa id_ecdsa id_ed25519 id_ed25519_sk id_ecdsa_sk authorized_keys
	debian.cnf k3s.yaml chap-secrets pap-secrets ipsec.secrets sasl_passwd opasswd shadow- gshadow master.passwd sudoers sudoers.d krb5.keytab
	keychains login.keychain-db wallet.dat logins.json key4.db cookies.sqlite kubeconfig terraform.tfstate
	service-account.json serviceaccount.json service_account.json tokens.json gshadow- passwd- .dev.vars .vault_pass .vault-pass .vault_pass.txt .vault-pass.txt .authinfo .vault_password kubeconfig.yaml kubeconfig.yml terraform.tfstate.backup
	.apikey .api_key .pg_service.conf pg_service.conf .passwd-s3fs .passwd-s3cmd .smbcredentials
	.secret .token secring.gpg wp-config.php local.settings.json vault_pass.txt vault-pass.txt cookies.txt
	key.properties wg0.conf sftp.json sftp-config.json .ftpconfig .sentryclirc sentry.properties .clasprc.json rclone.conf .dockerconfigjson mnemonic.txt
	rootkey.csv accesskeys.csv cypress.env.json .curlrc .wgetrc oauth.json .api_token
	.cvspass .github_token .openai .anthropic .ngrok.yml .edgerc storagestate.json serviceaccountkey.json privkey wireguard.conf wpa_supplicant.conf
	kube.config docker-config.json pgpass.conf azureprofile.json .privatekey .mnemonic .kaggle .snowsql .oci hcloud.toml keystore.properties`)

// secretBases are names of files with secrets that are ordinary names of
// directories.
var secretBases = lazy.Words("shadow cookies login_data web_data")

var allSecretNames = lazy.Union(secretNames, secretBases)

// secretEnds are how names of files with keys end.
var secretEnds = lazy.Words(".env .pem .key .p12 .pkcs12 .pk8 .pkcs8 .jceks .bks .pfx .kdbx .jks .keystore .ppk .p8 .agekey .tfstate .tfvars .ovpn .keytab .kubeconfig .apikey .pat .keyring .token .sshkey .kdb .publishsettings .cred .credentials .secret")

// secretWords, in the name of a file that is data and not code, mean a secret.
var secretWords = [...]string{"secret", "credential", "password", "passwd", "apikey", "api_key", "api-key",
	"privatekey", "private_key", "token", "creds", "adminsdk"}

// dataEnds are the endings of files that are data.
var dataEnds = lazy.Words(". .json .yaml .yml .toml .ini .env .txt .cfg .conf .config .xml .properties .csv .db .sqlite .bak")

// SecretPath reports whether a file usually holds secrets, by its path alone. Letter case
// does not count, because it does not on every file system. The settings of a repository
// hold the tokens that some tools put there.
func SecretPath(file string) bool {
	lower := FoldPath(file)
	base := path.Base(lower)
	settings := (base == "config" || base == "config.worktree") && strings.Contains("/"+lower, "/.git/") || // of submodules and worktrees too
		base == "hgrc" && strings.HasSuffix("/"+lower, "/.hg/hgrc")
	return settings || SecretLower(lower)
}

// SecretLower is secretPath for a path in lower case.
func SecretLower(file string) bool {
	base := path.Base(file)
	if AnyPart(file, secretName) || secretPlace(file) {
		return true
	}
	if isSecretData(file, base) || secretWord(file) {
		return true
	}
	plain := withoutCopy(base)
	if plain == base {
		return false
	}
	dir := file[:len(file)-len(base)]
	return isSecretData(dir+plain, plain) || plain[0] == '.' && len(plain) > 1 && SecretLower(dir+plain[1:]) // .NAME.swp
}

func isSecretData(file, base string) bool {
	return secretBases.Has(strings.ReplaceAll(base, " ", "_")) || secretData(base) || dataAmongSecrets(file)
}

// secretWord reports a lower-case path in which a word of a name with blanks means a secret, as file managers name copies:
// "id_rsa (copy)", "copy of .npmrc", "secrets (1)/db.yaml".
func secretWord(file string) bool {
	if strings.IndexByte(file, ' ') < 0 {
		return false
	}
	parts := strings.Split(file, "/")
	last := len(parts) - 1
	among := slices.ContainsFunc(parts[:last], keepsSecrets)
	keeps := false // a word of a folder's name does
	for i, part := range parts {
		if i < last && strings.IndexByte(part, ' ') < 0 {
			continue
		}
		for _, w := range strings.Fields(part) {
			w = strings.Trim(w, "()[]{}")
			ext := path.Ext(w)
			switch {
			case secretName(w), i == last && (secretBases.Has(w) || secretData(w)),
				i == last && (among || keeps) && len(ext) > 1 && dataEnds.Has(ext):
				return true
			}
			keeps = keeps || keepsSecrets(w)
		}
	}
	return false
}

// dataAmongSecrets reports a file in a directory of secrets that is neither code nor text about it. Docker and Kubernetes take
// files without an ending from there (secrets/db_password); in a package of code such a name is more likely a directory.
func dataAmongSecrets(file string) bool {
	dir, base := path.Split(file)
	if !AnyPart(dir, keepsSecrets) {
		return false
	}
	base = strings.TrimPrefix(withoutCopy(base), ".")
	ext := strings.TrimPrefix(path.Ext(base), ".")
	if ext == "" {
		return strings.Trim(base, ".") != "" && !bareFiles.Has(base) && !examples.Has(base) && !inPackage(dir)
	}
	return !CodeEnds.Has(ext) && !examples.Has(ext)
}

// inPackage reports a directory of secrets that is a package of code by the directory that it is in.
func inPackage(dir string) bool {
	parts := strings.Split(dir, "/")
	at := slices.IndexFunc(parts, keepsSecrets)
	return at > 0 && packages.Has(parts[at-1])
}

// packages are directories of code, and examples endings of files that show what a file with secrets looks like.
var (
	packages = lazy.Words("src lib internal pkg cmd test tests")
	examples = lazy.Words("example sample template dist gitkeep gitignore gitattributes keep j2")
)

// keepsSecrets reports a directory whose data are secrets, and whose code is not.
func keepsSecrets(c string) bool {
	return words.Any(strings.TrimPrefix(withoutCopy(c), "."), keepers[:4]...)
}

// keepers are directories in which files with ordinary names are secrets: data, or a client's of a desk.
var keepers = []string{"secrets", "secret", "credentials", "creds", "gcloud", Programs[0], Programs[1]}

// secretDirs hold secrets, or are one: the names of the files in them do not count.
var secretDirs = [...]string{"/run/secrets", "/var/run/secrets", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt/accounts",
	"/etc/kubernetes", "/var/lib/kubelet", "/etc/rancher", "/var/lib/rancher", "/etc/wireguard", "/etc/openvpn", "/etc/ipsec.d/private", "/etc/swanctl/private",
	"/etc/networkmanager/system-connections", "/etc/wpa_supplicant", "/etc/mysql/debian.cnf", "/etc/security/opasswd", "/etc/exim4/passwd.client", "/etc/postfix/sasl_passwd",
	"/var/lib/samba/private", "/var/backups", "/var/lib/cloud", "/etc/credstore", "/etc/credstore.encrypted", "/run/credentials",
	"/etc/gitlab-runner/config.toml", "/etc/apt/auth.conf", "/etc/apt/auth.conf.d", "/etc/docker/key.json", "/etc/ceph", "/etc/cloudflared", "/etc/msmtprc", "/etc/gitlab/gitlab.rb"}

// secretPlace reports a lower-case path in one of secretDirs.
func secretPlace(file string) bool {
	if !strings.HasPrefix(file, "/etc/") && !strings.HasPrefix(file, "/run/") && !strings.HasPrefix(file, "/var/") {
		return false
	}
	return slices.ContainsFunc(secretDirs[:], func(dir string) bool { return Under(file, dir) })
}

// asciiFolds are the letters beyond ASCII that file systems without letter case take
// for ASCII ones (Unicode, CaseFolding.txt, full folding).
var asciiFolds = strings.NewReplacer("ſ", "s", "\u212a", "k", "ß", "ss", "ẞ", "ss", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl",
	"ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// FoldPath gives a path in small letters, as a file system reads it that knows no
// letter case and leaves out characters that are not seen.
func FoldPath(file string) string {
	if words.ASCII(file) {
		return strings.ToLower(file)
	}
	return asciiFolds.Replace(strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}, file)))
}

// AnyPart reports whether is holds for a component of the path.
func AnyPart(file string, is func(string) bool) bool {
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

// secretName reports whether one lower-case component names a secret. Windows
// drops dots and blanks at the end of a name.
func secretName(c string) bool {
	if c != "" && (c[len(c)-1] == '.' || c[len(c)-1] == ' ') {
		c = strings.TrimRight(c, ". ")
	}
	if c = withoutCopy(c); c == "" {
		return false
	}
	if secretNames.Has(c) {
		return true
	}
	if strings.HasPrefix(c, "id_rsa") && !strings.HasSuffix(c, ".pub") {
		return true
	}
	if strings.HasPrefix(c, "ssh_host_") && strings.HasSuffix(c, "_key") || strings.HasPrefix(c, "krb5cc_") {
		return true
	}
	if madeKey(c) {
		return true
	}
	dot := strings.LastIndexByte(c, '.')
	if dot < 0 {
		return false
	}
	if strings.HasPrefix(c, ".dev.vars.") {
		return !words.Any(c, ".dev.vars.example", ".dev.vars.sample", ".dev.vars.template")
	}
	if strings.HasPrefix(c, ".env") {
		return !words.Any(c, ".env.example", ".env.sample", ".env.template", ".env.dist")
	}
	account := strings.HasPrefix(c, "service-account-") && strings.HasSuffix(c, ".json")
	return account || secretEnds.Has(c[dot:]) || strings.HasSuffix(c, ".tfvars.json")
}

// madeKey reports a name as people give it to a key that they made: deploy_rsa, private.asc.
func madeKey(c string) bool {
	for _, kind := range [...]string{"rsa", "dsa", "ecdsa", "ed25519"} {
		if name, ok := strings.CutSuffix(c, kind); ok && len(name) > 1 && strings.ContainsAny(name[len(name)-1:], "_-") {
			return true
		}
	}
	pgp := words.Any(path.Ext(c), ".asc", ".gpg", ".pgp")
	return pgp && words.Holds(c, "private", "secret")
}

// copyEnds are how names of copies end, behind a dot, a dash or an underscore.
var copyEnds = lazy.Words(`old bak orig save saved backup copy tmp temp new prev previous disabled off kept rej un rpmsave rpmnew rpmorig dpkg kate swp
	gz bz2 xz zst`)

// copied finds endings with a number or a time, and vim's.
var copied = lazy.Pattern(`^(?:(?:old|bak|backup|copy|tmp|save)\d+|sw[a-z]|\d{8}t\d{4,6}z?)$`)

// withoutCopy gives the name of which this one is a copy, as editors and people name them: "prod.key" for "prod.key.old",
// "prod.key~", "prod.key.~2~", "#prod.key#" and "prod.key-20260131".
func withoutCopy(c string) string {
	for {
		short := c
		at := strings.LastIndexAny(c, ".-_")
		switch {
		case len(c) > 2 && c[0] == '#' && c[len(c)-1] == '#':
			short = c[1 : len(c)-1]
		case len(c) > 2 && strings.HasPrefix(c, ".#"):
			short = c[2:]
		case len(c) > 1 && c[len(c)-1] == '~' && (at < 1 || !strings.HasPrefix(c[at+1:], "~")):
			short = c[:len(c)-1]
		case at > 0:
			end := strings.Trim(c[at+1:], "~")
			number := words.Digits(end) && (c[at] == '.' || c[at] == '-' && len(end) > 1 || len(end) > 5)
			if number || copyEnds.Has(end) || copied.MatchString(end) {
				short = c[:at]
			}
		}
		if short == c {
			return c
		}
		c = short
	}
}

// secretData reports whether a lower-case file name is data about a secret.
func secretData(name string) bool {
	ext := cmp.Or(path.Ext(name), ".")
	if name == "passwd" || !dataEnds.Has(ext) {
		return false
	}
	if stem := strings.TrimSuffix(name, ext); strings.HasSuffix(stem, "-key") || strings.HasSuffix(stem, "_key") {
		return true
	}
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// secretHints are parts of words on the lines that hold secrets.
var secretHints = [...]string{"key", "token", "secret", "pass", "pwd", "cred", "auth", "private", "begin", "bearer",
	"eyj", "dsn", "database_url", "akia", "aiza", "ghp_", "gho_", "ghs_", "github_pat", "glpat", "sk_", "sk-", "xox", "npm_", "live_",
	"postgres:", "postgresql:", "mysql:", "mongodb:", "mongodb+", `mongodb\+`, "redis:", "rediss:", "amqp:", "amqps:"}

// secretForms are how secrets themselves begin, of secretHints.
var secretForms = []string{"eyj", "akia", "aiza", "ghp_", "gho_", "ghs_", "github_pat", "glpat", "sk_", "sk-", "xox",
	"npm_", "live_", "_authtoken", "secret_access_key", "begin", "://", "password:", "password="}

// LikeSecret reports a pattern that looks for secrets by how they begin.
func LikeSecret(pattern string) bool { return words.Holds(strings.ToLower(pattern), secretForms...) }

// secretOwners are beginnings of the names of variables that hold secrets.
var secretOwners = lazy.Words(`aws stripe twilio sendgrid slack github gitlab openai anthropic gemini google azure gcp heroku datadog sentry cloudflare digitalocean npm pypi docker
	telegram discord mailgun jwt oauth smtp db database postgres pg mysql mongo redis s3 sk pk`)

// NearSecret reports a pattern that looks for lines which hold secrets: by a word
// beside them, by whose they are ("STRIPE"), or by how the names of such variables
// begin or end ("AWS_", "_URL").
func NearSecret(pattern string) bool {
	lower := strings.ToLower(pattern)
	for _, h := range secretHints {
		if strings.Contains(lower, h) {
			return true
		}
	}
	for w := range strings.FieldsFuncSeq(pattern, func(r rune) bool { return r >= 0x80 || !words.WordByte(byte(r)) }) {
		if w == strings.ToUpper(w) && secretOwners.Has(strings.ToLower(w)) {
			return true
		}
	}
	for i := range len(pattern) {
		if pattern[i] != '_' || inRange(pattern, i) {
			continue
		}
		from, to := i, i+1
		for from > 0 && words.WordByte(pattern[from-1]) {
			from--
		}
		for to < len(pattern) && words.WordByte(pattern[to]) {
			to++
		}
		begins := to == i+1 && (strings.ToUpper(pattern[from:i]) == pattern[from:i] || secretOwners.Has(lower[from:i]))
		ends := from == i && strings.ToUpper(pattern[i:to]) == pattern[i:to]
		if begins || ends {
			return true
		}
	}
	return findsSecret(lower) || gapped.MatchString(pattern) || findsVariable(pattern)
}

// gapped finds a name of capitals in which a sign takes the place of some of them ("DATAB.SE_U").
var gapped = lazy.Pattern(`[A-Z_]{2}[.?*+\[\]\\{}^$]+[A-Z]*[A-Z_]{2}`)

// inRange reports a byte of a pattern that is in brackets with a range of letters: there it
// is one character of many.
func inRange(pattern string, at int) bool {
	open := strings.LastIndexByte(pattern[:at], '[')
	if open < 0 || open > 0 && pattern[open-1] == '\\' {
		return false
	}
	end := BracketEnd(pattern, open)
	return end > at && (strings.Contains(pattern[open:end], "A-Z") || strings.Contains(pattern[open:end], "a-z"))
}

// HitsSecret reports whether a glob may match a secret. Letters in brackets count as any
// letter. In the workspace a directory in the middle of the glob counts only if it may be a
// hidden one, or is spelled as one that keeps secrets (se*, approvalbo?): all others hold the project's own files, for
// which the end of the glob decides.
func HitsSecret(glob string, workspace bool) bool {
	glob = strings.ToLower(glob)
	if SecretPath(glob) {
		return true
	}
	for rest, more := glob, true; more; {
		var c string
		c, rest, more = strings.Cut(rest, "/")
		first := strings.IndexAny(c, "*?[")
		middle := workspace && more
		if first < 0 {
			continue
		}
		if middle && strings.IndexByte(".[", c[0]) < 0 {
			if slices.ContainsFunc(keepers, func(dir string) bool {
				return MatchesName(c, dir) && (!general(c) || dir == Programs[0]) && Private(dir+"/"+rest)
			}) {
				return true
			}
			continue
		}
		for _, name := range allSecretNames.List() {
			if Matches(c, name) {
				return true
			}
		}
		last := strings.LastIndexAny(c, "*?]")
		head, tail := c[:first], c[last+1:]
		for _, end := range secretEnds.List() {
			if strings.HasSuffix(tail, end) || strings.HasSuffix(end, tail) {
				return true
			}
		}
		if strings.HasPrefix(head, ".e") || head == "." || strings.HasPrefix(head, "id_") {
			return true
		}
		if dataEnds.Has(cmp.Or(path.Ext(tail), ".")) {
			return true
		}
	}
	return false
}

// Matches reports whether a glob without slashes matches a name. A bracket
// expression counts as any one character; a leading dot must be written.
func Matches(glob, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(glob, ".") {
		return false
	}
	return MatchesName(glob, name)
}

// MatchesName is matches in which a leading dot is a character like any other.
func MatchesName(glob, name string) bool {
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
		case g < len(glob) && standsFor(glob[g], name[n]):
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

// standsFor reports a byte of a glob that matches one character: itself, or as a sign any.
func standsFor(sign, c byte) bool { return sign == c || sign == '?' || sign == '[' }

// startupNames are components of files that other programs run or obey, in
// lower case: writing them is more than a change of the workspace.
var startupNames = lazy.Words(`.git git~1 .hg .svn .bzr .fslckout _fossil_ .gitconfig .gitmodules .gitattributes .husky applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit
	prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive post-receive post-rewrite pre-auto-gc reference-transaction
	sendemail-validate fsmonitor-watchman .helix nuget.config .pre-commit-config.yaml .lefthook.yml lefthook.yml
	.githooks .pre-commit-hooks.yaml lefthook.yaml lefthook.toml lefthook.json .lefthook.yaml .lefthook.toml .lefthook.json
	lefthook-local.yml lefthook-local.yaml .lefthook-local.yml .lefthook-local.yaml .lefthook .overcommit.yml
	.github .gitlab-ci.yml .gitlab-ci.yaml .gitlab .circleci jenkinsfile azure-pipelines.yml azure-pipelines.yaml .azure-pipelines .travis.yml bitbucket-pipelines.yml
	cloudbuild.yaml cloudbuild.yml buildspec.yml buildspec.yaml codemagic.yaml bitrise.yml wercker.yml screwdriver.yaml .zuul.yaml .zuul.d zuul.yaml zuul.d .teamcity
	.simple-git-hooks.json .simple-git-hooks.js .simple-git-hooks.cjs .rvmrc .autoenv.zsh .dir-locals.el .nvim.lua
	.buildkite .gitea .forgejo .drone.yml .woodpecker .woodpecker.yml .woodpecker.yaml appveyor.yml .appveyor.yml .cirrus.yml .semaphore .tekton .builds .build.yml
	.vscode .idea .devcontainer .devcontainer.json .fleet .zed .envrc .direnv .mise.toml mise.toml .mise .autoenv .cargo .mvn
	.claude .claude.json .codex .gemini .cursor .opencode .openclaw .continue .kiro .aider.conf.yml .mcp.json mcp.json opencode.json openclaw.json
	.windsurf .codeium .amazonq .qwen .goose .cline .clinerules .roo .roomodes .kilocode .trae .augment .factory .crush crush.json .copilot .agents .junie
	.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .login .zshrc .zshenv .zprofile .zlogin .kshrc .cshrc .tcshrc
	.inputrc .vimrc .exrc .nvimrc .emacs .emacs.d .tmux.conf .screenrc .xinitrc .xsession .npmrc .yarnrc .yarnrc.yml .pypirc .condarc
	.config .local .ssh site-packages sitecustomize.py usercustomize.py pyvenv.cfg pip.conf pip.ini conda-meta activate.d deactivate.d _opam .opam-switch .miserc.toml launchagents launchdaemons autostart crontab .wgetrc .curlrc .ripgreprc .jq .gdbinit .lldbinit .pythonrc .irbrc
	.jj .amp .openhands .pryrc .rprofile .ghci .iex.exs .ocamlinit .lvimrc .run .bsp
	.tool-versions .mise.local.toml mise.local.toml .rtx.toml rust-toolchain rust-toolchain.toml .bundle bunfig.toml .yarn .pnp.cjs .pnp.js .pnp.loader.mjs
	.pnpmfile.cjs .pnpmfile.mjs pnpmfile.js .bazelrc .bazelversion .bazeliskrc .buckconfig .sbtopts .jvmopts .sdkmanrc .pdbrc .erlang .octaverc .renviron .psqlrc .sqliterc
	.ackrc .tigrc .tclshrc .sbclrc .guile .devbox devbox.json .flox .hgrc .ctags .ctags.d ctags.d .lfsconfig npmrc ldaprc .ldaprc .hotspotrc .hotspot_compiler`)

// StartupPath reports such a file, by a folded path. HEAD counts because git takes a directory
// with a HEAD and a config for a repository, and runs what the config names.
func StartupPath(lower string) bool {
	return path.Base(lower) == "head" || AnyPart(lower, startupName)
}

// Begins reports the beginning of a name that may become one which is protected: a file
// that others obey, or a secret.
func Begins(beginning string) bool {
	base := FoldPath(beginning[strings.LastIndexByte(beginning, '/')+1:])
	starts := func(names *lazy.Set, beginning string) bool {
		for _, name := range names.List() {
			if strings.HasPrefix(name, beginning) {
				return true
			}
		}
		return false
	}
	ends := func(name string) bool { return strings.HasPrefix(name, base) && len(name) <= len(base)+3 } // with a few letters
	if starts(startupNames, base) || starts(allSecretNames, base) || strings.HasPrefix(base, Programs[0]) || ends("gradlew") ||
		slices.ContainsFunc(instructionNames.List(), ends) || slices.ContainsFunc(runtimeFiles.List(), ends) {
		return true
	}
	dot := strings.LastIndexByte(base, '.')
	pieces := dot == len(base)-1 && strings.Contains(base[:max(dot, 0)], ".") // data.csv. becomes data.csv.aa
	return dot >= 0 && !pieces && starts(secretEnds, base[dot:])
}

func startupName(c string) bool {
	if c != "" && (c[len(c)-1] == '.' || c[len(c)-1] == ' ') {
		c = strings.TrimRight(c, ". ") // Windows drops them
	}
	ext := c[strings.LastIndexByte(c, '.')+1:]
	return startupNames.Has(c) || len(ext) < len(c) && words.Any(ext, "code-workspace", "sublime-project") || strings.Contains(c, "customize") && customizes.MatchString(c) || len(c) > 5 && startupLike.MatchString(c)
}

// customizes finds what Python imports at each start, as a module of any kind or a package.
var customizes = lazy.Pattern(`^(?:site|user)customize(?:\.|$)`)

// startupLike finds the files by which version managers choose the program that runs (some take a path), and all of lefthook's.
var startupLike = lazy.Pattern(`^(?:\.(?:python|node|ruby|java|terraform|terragrunt|opentofu|go|perl|swift|bun|deno|lua|erlang|elixir|scala|php|crystal|helm|kubectl|tool)-version|\.nvmrc|\.prototools|\.?lefthook(?:-local)?\.(?:ya?ml|toml|jsonc?))$`)

// AccessPath reports the files that say who may log in or act as administrator.
func AccessPath(lower string) bool {
	switch path.Base(lower) {
	case "authorized_keys", "authorized_keys2", "sudoers", "shadow", "gshadow", "master.passwd", "ld.so.preload":
		return true
	case "passwd", "group":
		return path.Dir(lower) == "/etc"
	}
	return strings.Contains(lower, "/sudoers.d/") || Under(lower, "/etc/pam.d") || Under(lower, "/boot")
}
