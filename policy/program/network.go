package program

import (
	"slices"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/workspace"
)

// networkTools talk to other machines.
func networkTools(m map[string]Rule) {
	m["curl"], m["wget"] = curl, wget
	m["gofmt"] = gofmt
	for n := range strings.FieldsSeq("http https xh aria2c axel fetch lynx w3m links elinks nc ncat netcat socat openssl") {
		m[n] = func(x *Call, _ string, args []workspace.Word) {
			x.add(Fetches)
			x.Add(finding.SendsData)
			if startsPrograms(args) {
				x.add(RunsUnread)
			}
		}
	}
	for n := range strings.FieldsSeq("ping dig host nslookup traceroute whois") {
		m[n] = (&spec{flags: "46nqv", vals: "ciWwts", fixed: true, code: finding.NetworkRead, long: longs("short")}).judge
	}
}

// startsPrograms reports the words with which netcat and socat connect a
// program to the network.
func startsPrograms(args []workspace.Word) bool {
	for _, w := range args {
		lower := strings.ToLower(w.Text)
		switch {
		case w.Is("-e"), w.Is("-c"), w.Is("--exec"), w.Is("--sh-exec"), w.Is("--lua-exec"),
			strings.HasPrefix(lower, "exec:"), strings.HasPrefix(lower, "system:"), strings.HasPrefix(lower, "shell:"):
			return true
		case len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' && strings.HasSuffix(w.Text, "e"): // -lvpe
			return true
		}
	}
	return false
}

var curlSpec = spec{
	flags: "sSfLiIvgk46#GNq0", vals: "mAeHXowdFTubcxK",
	long: longs(`silent show-error fail fail-with-body location include head verbose globoff insecure compressed max-time= connect-timeout= retry= retry-delay=
		retry-all-errors user-agent= referer= header= request= output= write-out= url= http1.1 http2 http3 ipv4 ipv6 no-progress-meter progress-bar get no-buffer tlsv1.2 tlsv1.3 max-redirs=
		data= data-raw= data-binary= data-urlencode= json= form= upload-file= user= cookie= cookie-jar= proxy= config=`),
}

// leaves reports a word with which curl may talk to more than the addresses that it is
// given, or to one that is not this machine's.
func leaves(w workspace.Word) bool {
	option := w.MayBeOption()
	follows := option && (strings.HasPrefix(w.Text, "--loc") || strings.HasPrefix(w.Text, "--prox") || !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, "Lx"))
	return w.Kind != workspace.Literal || follows || strings.Contains(w.Text, "://") && !workspace.Loopback(w.Text)
}

// curl reads with GET to its output; whatever sends or saves asks.
func curl(x *Call, name string, args []workspace.Word) {
	if x.version(name, args) {
		return
	}
	x.add(Fetches)
	away := true // somewhere else than on this machine, also where a redirect leads
	c := x.scanner(&curlSpec, args)
	defer func() {
		if away {
			x.Add(finding.NetworkRead)
		}
	}()
	if !slices.ContainsFunc(args, leaves) {
		away = false
	}
	for t, ok := c.next(); ok; t, ok = c.next() {
		if t.word.Kind == workspace.Computed {
			x.Add(finding.DynamicArgument)
		}
		switch t.option {
		case "", "url":
			away = away || !workspace.Loopback(t.word.Text)
			x.Address(t.word.Text)
		case "X", "request":
			if !t.word.Is("GET") && !t.word.Is("HEAD") {
				x.Add(finding.SendsData)
			}
		case "d", "F", "T", "data", "data-raw", "data-binary", "data-urlencode", "json", "form", "upload-file":
			x.Add(finding.SendsData)
			x.Read(workspace.Word{Text: strings.TrimPrefix(t.word.Text, "@"), Kind: t.word.Kind})
		case "o", "output":
			x.saves(t.word)
		case "H", "header", "w", "write-out":
			if strings.HasPrefix(t.word.Text, "@") || strings.Contains(t.word.Text, "%output") {
				x.Add(finding.UnknownOption)
			}
		case "u", "user", "b", "c", "cookie", "cookie-jar", "x", "proxy", "K", "config":
			x.Add(finding.UnknownOption)
		}
	}
}

// saves judges a file that a download goes to.
func (x *Call) saves(w workspace.Word) {
	if w.Is("-") || w.Is("/dev/null") {
		return
	}
	x.Add(finding.SavesDownload)
	x.content(w)
}

// wget saves what it fetches, unless it is told to print it.
func wget(x *Call, name string, args []workspace.Word) {
	if x.version(name, args) {
		return
	}
	x.add(Fetches)
	x.Add(finding.NetworkRead)
	printed := false
	c := x.scanner(&spec{flags: "qSv46", vals: "OTtU", long: longs("quiet spider output-document= timeout= tries= user-agent= server-response no-verbose")}, args)
	for t, ok := c.next(); ok; t, ok = c.next() {
		if t.word.Kind == workspace.Computed {
			x.Add(finding.DynamicArgument)
		}
		switch t.option {
		case "":
			x.Address(t.word.Text)
		case "O", "output-document":
			printed = true
			x.saves(t.word)
		case "spider":
			printed = true
		}
	}
	if !printed {
		x.Add(finding.SavesDownload)
	}
}

// gofmt prints, or with -w rewrites, Go files.
func gofmt(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	c := x.scanner(&spec{flags: "ldsew"}, args)
	changes := false
	for t, ok := c.next(); ok; t, ok = c.next() {
		changes = changes || t.option == "w"
	}
	for _, w := range args {
		switch {
		case w.MayBeOption():
		case changes:
			x.Write(w)
		default:
			x.Read(w)
		}
	}
}
