package program

import (
	"slices"
	"strings"

	"approvalbot/policy/words"
)

// operands says of a program, or a subcommand of one, whose operands are data and
// never programs or code, how its words are read. Of an option that is not listed
// here the next word may be its value.
type operands struct {
	flags string          // options of one letter that take no value
	texts string          // options of one letter whose value is text that nothing runs
	long  map[string]bool // such options in full; true: they take text
	// counts reports an operand that is part of what is trusted all the same; i
	// counts the operands. It may be nil.
	counts func(i int, operand string) bool
}

// DataOnly are the programs and subcommands that a session grant covers with
// operands other than those which people saw. For each line of a program: its
// subcommands (a slash stands between two words, "-" is none), then the options
// that take no value, and those ending in "=" whose value is text. "each": what is named
// is part of what is trusted, since another one that runs or is published is another deed.
// Whatever is not here is granted word for word.
var DataOnly = func() map[string]*operands {
	m := map[string]*operands{}
	for _, row := range [...]struct{ programs, verbs, options string }{
		{"rm", "-", "-rRfidv --recursive --force --verbose"},
		{"rmdir mkdir", "-", "-pv --parents --verbose"},
		{"cp", "-", "-aRrpfinuvlsTdLPHx --recursive --archive --force --parents --verbose --no-clobber"},
		{"mv", "-", "-finuvT --force --no-clobber --verbose"},
		{"touch", "-", "-acm"},
		{"ln", "-", "-sfnvrT --symbolic --force"},
		{"chmod chown chgrp", "-", "-RvcfhHLP --recursive --verbose"},
		{"truncate", "-", "-co"},
		{"tar", "-", "each -cxtruzjJvkpmhOPa --gzip --bzip2 --xz --zstd --verbose --create --extract --list"},
		{"zip", "-", "-rqjvmuy0123456789"},
		{"unzip", "-", "each -oqnljtv"},
		{"gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd", "-", "-cdkfvrqt0123456789 --keep --force --decompress --stdout"},
		{"scp", "-", "-rpqCv346B"},
		{"rsync", "-", "-avzrnhPuHAXSltpogDWcxiq --delete --progress --stats --dry-run --archive --compress --recursive --verbose"},
		{"curl", "-", "each -fsSLkviIgO#4 --fail --silent --show-error --location --compressed --insecure --head"},
		{"wget", "-", "each -qcnNvS --quiet --continue --no-verbose"},
		{"kill pkill killall", "-", "each -0123456789"},
		{"ping", "-", "each -46nq"},
		{"dig host nslookup traceroute whois", "-", "each"},
		{"umount", "-", "each -lf"},
		{"journalctl", "-", "-fexra --no-pager"},

		{"git", "push", "-uqvnfd --force --force-with-lease --set-upstream --tags --follow-tags --all --mirror --prune --delete --atomic --dry-run --quiet --verbose --no-verify"},
		{"git", "fetch pull", "each -pqvtar --prune --tags --no-tags --all --quiet --verbose --rebase --no-rebase --ff-only --no-edit --autostash --unshallow"},
		{"git", "clone", "each -qvlns --bare --mirror --recursive --recurse-submodules --single-branch --no-checkout --no-tags --quiet"},
		{"git", "commit", "-aqvnsp -m= --message= --all --amend --no-edit --quiet --no-verify --signoff --allow-empty"},
		{"git", "tag", "each -adfls -m= --message= --annotate --delete --force --list --sign"},
		{"git", "add rm mv", "-AufnvNqrk --all --cached --force --update --dry-run --quiet"},
		{"git", "checkout switch", "-qfdt -b= -c= --quiet --force --detach --track --no-track --orphan= --ours --theirs"},
		{"git", "restore", "-SWq --staged --worktree --quiet"},
		{"git", "reset revert cherry-pick merge clean",
			"each -qnxfdv --soft --mixed --hard --keep --quiet --no-edit --no-commit --abort --continue --no-ff --ff-only --squash"},
		{"git", "branch", "each -dDmMcCfarvq --list --delete --force --all"},
		{"git", "stash/push stash/pop stash/apply stash/drop stash/list stash/show stash/clear",
			"-ukaq -m= --message= --include-untracked --all --keep-index --quiet --index"},
		{"git", "worktree/add worktree/remove worktree/prune worktree/list", "-fd -b= -B= --force --detach"},

		{"gh", "pr/create issue/create", "each -dfw -t= -b= --title= --body= --draft --fill --web"},
		{"gh", "pr/edit pr/comment pr/close pr/reopen pr/ready pr/view pr/list pr/status pr/checks pr/diff pr/checkout issue/edit issue/comment issue/close issue/reopen issue/view issue/list", "each -t= -b= --title= --body= --comments --web"},
		{"gh", "pr/review", "each -acr -b= --body= --approve --comment --request-changes"},
		{"gh", "pr/merge", "each -smrd -t= -b= --subject= --body= --squash --merge --rebase --auto --delete-branch"},
		{"gh", "release/create release/edit release/upload release/view release/list",
			"each -t= -n= --title= --notes= --draft --prerelease --generate-notes --clobber"},
		{"gh", "run/list run/view run/watch run/rerun run/cancel label/create", "each --failed --log --log-failed"},
		{"glab", "mr/create mr/note mr/close mr/merge mr/view mr/list issue/create issue/note issue/close issue/view issue/list", "each --title= --description= --draft"},

		{"npm pnpm", "install i add ci uninstall remove rm un update up upgrade outdated prune dedupe publish unpublish deprecate pack view info version dist-tag/add dist-tag/rm dist-tag/ls",
			"each -DEgSOPBfy --save --save-dev --save-exact --save-optional --no-save --global --force --legacy-peer-deps --ignore-scripts --yes --silent --production --dry-run --no-audit --no-fund --frozen-lockfile"},
		{"yarn", "add remove install upgrade", "each -DEPOTW --dev --exact --peer --optional --frozen-lockfile --immutable --ignore-scripts --silent"},
		{"pip pip3", "install uninstall download",
			"each -UqvyI --upgrade --user --quiet --yes --no-deps --no-cache-dir --break-system-packages --force-reinstall"},
		{"uv", "add remove sync lock pip/install pip/uninstall", "each -Uqv --dev --upgrade --system --quiet"},
		{"poetry", "add remove install update lock publish", "each -nqD --dev --quiet"},
		{"cargo", "add remove install update fetch publish", "each -qv --dev --release --locked --dry-run --allow-dirty --quiet"},
		{"gem", "install uninstall update push", "each -Nqax"},
		{"composer", "install require remove update", "each -noqW --no-dev --dev --no-interaction --no-scripts"},
		{"bundle", "install update add", "each --quiet"},
		{"go", "get mod/tidy mod/download mod/vendor", "each -uxv"},
		{"conda mamba", "install remove update", "each -yq --yes --quiet"},
		{"apt apt-get", "install remove purge update upgrade autoremove reinstall",
			"each -yqfm --yes --quiet --no-install-recommends --reinstall --purge"},
		{"dnf yum", "install remove update upgrade reinstall", "each -yqv --refresh --best"},
		{"brew", "install uninstall reinstall upgrade update", "each -qvf --cask --formula --quiet --force"},
		{"snap", "install remove refresh", "each --classic"},

		{"docker podman nerdctl", "cp network/create volume/create", "-qf --force --quiet"},
		{"docker podman nerdctl", "push pull tag rm rmi stop start restart pause unpause kill rename network/rm volume/rm image/rm container/rm", "each -qf --force --quiet"},
		{"kubectl oc", "get describe explain top wait rollout/status rollout/history",
			"-Aw --all-namespaces --watch --show-labels --all --force --now --overwrite"},
		{"kubectl oc", "delete cordon uncordon taint scale label annotate rollout/restart rollout/undo",
			"each -Aw --all-namespaces --watch --show-labels --all --force --now --overwrite"},
		{"kubectl oc", "logs", "-fp --follow --previous --all-containers --timestamps"},
		{"kubectl oc", "apply cp", "-R --recursive --server-side"},
		{"helm", "list history status repo/update", "-aAq --wait"},
		{"helm", "rollback uninstall", "each -aAq --wait"},
		{"aws", "s3/cp s3/mv s3/sync s3/ls", "each --recursive --delete --dryrun --quiet"},
		{"aws", "s3/rm", "each --recursive --dryrun --quiet"},
		{"systemctl", "start stop restart reload try-restart status enable disable mask unmask is-active is-enabled daemon-reload", "each -q --now --user --no-pager --quiet"},
		{"ip", "addr/show addr/add addr/del route/show link/show neigh/show", "each"},
	} {
		for program := range strings.FieldsSeq(row.programs) {
			for verb := range strings.FieldsSeq(row.verbs) {
				name := program
				if verb != "-" {
					name += " " + strings.ReplaceAll(verb, "/", " ")
				}
				o := newOperands(row.options)
				for _, of := range [...]string{program, name} {
					if o.counts == nil {
						o.counts = telling[of]
					}
				}
				m[name] = o
			}
		}
	}
	return m
}()

func newOperands(options string) *operands {
	o := &operands{long: map[string]bool{}}
	for w := range strings.FieldsSeq(options) {
		name, text := strings.CutSuffix(w, "=")
		switch {
		case name == "each":
			o.counts = func(int, string) bool { return true }
		case strings.HasPrefix(name, "--"):
			o.long[name] = text
		case text:
			o.texts += name[1:]
		default:
			o.flags += name[1:]
		}
	}
	return o
}

// telling are the operands that say more than which data it is: a mode, an
// address where a name is usual, a package that is none of a registry, what
// another machine's shell reads.
var telling = map[string]func(i int, operand string) bool{
	"chmod": firstOperand, "chown": firstOperand, "chgrp": firstOperand,
	"scp": remoteShell, "rsync": remoteShell,
	"git push": pushed, "git fetch": firstOperand, "git pull": firstOperand, "git clone": transport,
	"npm": npmPackage, "pnpm": npmPackage, "yarn": npmPackage, "pip": otherPackage, "pip3": otherPackage, "uv": otherPackage, "poetry": otherPackage,
	"cargo": otherPackage, "gem": otherPackage, "composer": otherPackage, "bundle": otherPackage, "conda": otherPackage, "mamba": otherPackage,
	"apt": debianPackage, "apt-get": debianPackage, "dnf": otherPackage, "yum": otherPackage, "brew": otherPackage, "snap": otherPackage,
	"kubectl get": firstOperand, "kubectl describe": firstOperand, "kubectl explain": firstOperand,
	"oc get": firstOperand, "oc describe": firstOperand, "oc explain": firstOperand,
}

func firstOperand(i int, _ string) bool { return i == 0 }

func remoteShell(_ int, w string) bool { return strings.ContainsAny(w, "$`;&|<>(){}[]*?!#'\"\\ \t\n") }

// pushed reports the remote, and what is pushed under another name or by force, or
// deleted there.
func pushed(i int, w string) bool { return i == 0 || strings.ContainsAny(w, "+:") }

// transport reports an address of git's that names a helper program.
func transport(_ int, w string) bool { return strings.Contains(w, "::") }

func npmPackage(i int, w string) bool {
	scope, name, ok := strings.Cut(w, "/")
	if owner, scoped := strings.CutPrefix(scope, "@"); ok && scoped && nameOnly(owner) {
		w = name
	}
	return otherPackage(i, w)
}

// otherPackage reports what could be a file, a directory, an address or another
// name for one, and not a registry's package with a version.
func otherPackage(_ int, w string) bool {
	name := w
	if i := strings.IndexAny(w, "@=<>~!^["); i >= 0 {
		name = w[:i]
	}
	return !nameOnly(name) || strings.ContainsAny(w, "/:\\ ")
}

// debianPackage also reports a name with a sign behind it: "sudo-" is removed, and "/" or "="
// takes it from elsewhere.
func debianPackage(i int, w string) bool { return strings.HasSuffix(w, "-") || otherPackage(i, w) }

// nameOnly reports letters, digits and what joins them.
func nameOnly(s string) bool {
	for i := range len(s) {
		if c := s[i]; !words.WordByte(c) && c != '-' && c != '+' {
			return false
		}
	}
	return s != "" && s[0] != '-'
}

// SubjectOf names what a session grant for the command covers. Where its operands
// are data, that is its program with the subcommand and every option, each with
// the word that may be its value, sorted and once; else it is the whole command.
// Different meanings have different subjects: operands stand
// before the options, and a word stands in quotes where it could be taken for
// more than one.
func SubjectOf(name string, words []string) string {
	o, verbs := DataOf(name, words)
	if o == nil {
		var b strings.Builder
		b.Grow(64)
		b.WriteString("exec")
		for _, w := range words {
			b.WriteByte(' ')
			b.WriteString(Quoted(w))
		}
		return b.String()
	}
	var told, given [8]string
	named, options, operand := told[:0], given[:0], 0
	for i := 1 + verbs; i < len(words); i++ {
		w := words[i]
		switch {
		case w != "" && w[0] == '-':
			unit := Quoted(w)
			takes, text := o.takes(w)
			if takes && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
				if i++; !text {
					unit += " " + Quoted(words[i])
				}
			}
			options = append(options, unit)
		case assigns(w) || o.counts != nil && o.counts(operand, w):
			named = append(named, Quoted(w))
			operand++
		default:
			operand++
		}
	}
	slices.Sort(named)
	slices.Sort(options)
	var b strings.Builder
	b.Grow(64)
	b.WriteString("exec ")
	b.WriteString(name)
	for _, list := range [...][]string{words[1 : 1+verbs], slices.Compact(named), slices.Compact(options)} {
		for _, w := range list {
			b.WriteByte(' ')
			b.WriteString(w)
		}
	}
	return b.String()
}

// DataOf gives how the operands of the command are read, if they are data, and
// how many words its subcommand has.
func DataOf(name string, words []string) (o *operands, verbs int) {
	if o = DataOnly[name]; o != nil {
		if name == "tar" && len(words) > 1 && !strings.HasPrefix(words[1], "-") { // its first word is options without a dash
			if strings.Trim(words[1], o.flags+o.texts) != "" || words[1] == "" {
				return nil, 0
			}
			return o, 1
		}
		return o, 0
	}
	for ; verbs < 2 && verbs+1 < len(words); verbs++ {
		name += " " + words[verbs+1]
		if o = DataOnly[name]; o != nil {
			return o, verbs + 1
		}
	}
	return nil, 0
}

// takes reports whether the word after an option may be its value, and whether
// that is text that nothing runs.
func (o *operands) takes(w string) (value, text bool) {
	if text, ok := o.long[w]; ok {
		return text, text
	}
	if w == "--" || strings.Contains(w, "=") {
		return false, false
	}
	if letters := w[1:]; letters != "" && letters[0] != '-' {
		rest := strings.TrimLeft(letters, o.flags)
		if rest == "" {
			return false, false
		}
		return true, len(rest) == 1 && strings.Contains(o.texts, rest)
	}
	return true, false
}

// assigns reports a word like NAME=value.
func assigns(w string) bool {
	i := strings.IndexByte(w, '=')
	for k := range max(i, 0) {
		if c := w[k]; !words.WordByte(c) && c != '-' && c != '.' {
			return false
		}
	}
	return i > 0 && !strings.HasPrefix(w[i:], "==")
}

// Quoted is the word as a shell reads it.
func Quoted(w string) string {
	for i := range len(w) {
		if c := w[i]; !words.WordByte(c) && strings.IndexByte("-.+:@/=,%^~", c) < 0 && c < 0x80 {
			return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	if w == "" {
		return "''"
	}
	return w
}
