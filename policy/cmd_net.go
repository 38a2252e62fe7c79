package policy

import (
	"slices"
	"strings"

	"approvalbot/policy/finding"
)

// networkTools talk to other machines.
func networkTools(m map[string]rule) {
	m["curl"], m["wget"] = curl, wget
	m["gofmt"] = gofmt
	for n := range strings.FieldsSeq("http https xh aria2c axel fetch lynx w3m links elinks nc ncat netcat socat openssl") {
		m[n] = func(s *shell, _ string, args []word) {
			s.fetches = true
			s.found.Add(finding.SendsData)
			s.runs = s.runs || startsPrograms(args)
		}
	}
	for n := range strings.FieldsSeq("ping dig host nslookup traceroute whois") {
		m[n] = (&spec{flags: "46nqv", vals: "ciWwts", fixed: true, code: finding.NetworkRead, long: longs("short")}).judge
	}
}

// startsPrograms reports the words with which netcat and socat connect a
// program to the network.
func startsPrograms(args []word) bool {
	for _, w := range args {
		lower := strings.ToLower(w.text)
		switch {
		case w.is("-e"), w.is("-c"), w.is("--exec"), w.is("--sh-exec"), w.is("--lua-exec"),
			strings.HasPrefix(lower, "exec:"), strings.HasPrefix(lower, "system:"), strings.HasPrefix(lower, "shell:"):
			return true
		case len(w.text) > 2 && w.text[0] == '-' && w.text[1] != '-' && strings.HasSuffix(w.text, "e"): // -lvpe
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
func leaves(w word) bool {
	option := w.mayBeOption()
	follows := option && (strings.HasPrefix(w.text, "--loc") || strings.HasPrefix(w.text, "--prox") || !strings.HasPrefix(w.text, "--") && strings.ContainsAny(w.text, "Lx"))
	return w.kind != literal || follows || strings.Contains(w.text, "://") && !loopback(w.text)
}

// curl reads with GET to its output; whatever sends or saves asks.
func curl(s *shell, name string, args []word) {
	if s.version(name, args) {
		return
	}
	s.fetches = true
	away := true // somewhere else than on this machine, also where a redirect leads
	c := s.scanner(&curlSpec, args)
	defer func() {
		if away {
			s.found.Add(finding.NetworkRead)
		}
	}()
	if !slices.ContainsFunc(args, leaves) {
		away = false
	}
	for t, ok := c.next(); ok; t, ok = c.next() {
		if t.word.kind == computed {
			s.found.Add(finding.DynamicArgument)
		}
		switch t.option {
		case "", "url":
			away = away || !loopback(t.word.text)
			s.address(t.word.text)
		case "X", "request":
			if !t.word.is("GET") && !t.word.is("HEAD") {
				s.found.Add(finding.SendsData)
			}
		case "d", "F", "T", "data", "data-raw", "data-binary", "data-urlencode", "json", "form", "upload-file":
			s.found.Add(finding.SendsData)
			s.read(word{text: strings.TrimPrefix(t.word.text, "@"), kind: t.word.kind})
		case "o", "output":
			s.saves(t.word)
		case "H", "header", "w", "write-out":
			if strings.HasPrefix(t.word.text, "@") || strings.Contains(t.word.text, "%output") {
				s.found.Add(finding.UnknownOption)
			}
		case "u", "user", "b", "c", "cookie", "cookie-jar", "x", "proxy", "K", "config":
			s.found.Add(finding.UnknownOption)
		}
	}
}

// saves judges a file that a download goes to.
func (s *shell) saves(w word) {
	if w.is("-") || w.is("/dev/null") {
		return
	}
	s.found.Add(finding.SavesDownload)
	s.content(w)
}

// wget saves what it fetches, unless it is told to print it.
func wget(s *shell, name string, args []word) {
	if s.version(name, args) {
		return
	}
	s.fetches = true
	s.found.Add(finding.NetworkRead)
	printed := false
	c := s.scanner(&spec{flags: "qSv46", vals: "OTtU", long: longs("quiet spider output-document= timeout= tries= user-agent= server-response no-verbose")}, args)
	for t, ok := c.next(); ok; t, ok = c.next() {
		if t.word.kind == computed {
			s.found.Add(finding.DynamicArgument)
		}
		switch t.option {
		case "":
			s.address(t.word.text)
		case "O", "output-document":
			printed = true
			s.saves(t.word)
		case "spider":
			printed = true
		}
	}
	if !printed {
		s.found.Add(finding.SavesDownload)
	}
}

// gofmt prints, or with -w rewrites, Go files.
func gofmt(s *shell, _ string, args []word) {
	s.found.Add(finding.ReadOnlyCommand)
	c := s.scanner(&spec{flags: "ldsew"}, args)
	changes := false
	for t, ok := c.next(); ok; t, ok = c.next() {
		changes = changes || t.option == "w"
	}
	for _, w := range args {
		switch {
		case w.mayBeOption():
		case changes:
			s.write(w)
		default:
			s.read(w)
		}
	}
}
