package program

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

var curlSpec = spec{
	flags: "sSfLiIvgk46#GNq0O", vals: "mAeHXowdFTubcxKDrC",
	long: longs(`silent show-error fail fail-with-body location include head verbose globoff insecure compressed max-time= connect-timeout= retry= retry-delay=
		retry-all-errors user-agent= referer= header= request= output= write-out= url= http1.1 http2 http3 ipv4 ipv6 no-progress-meter progress-bar get no-buffer tlsv1.2 tlsv1.3 max-redirs=
		create-dirs remote-name dump-header= range= continue-at= retry-max-time= retry-connrefused max-filesize= proto= fail-early show-headers no-keepalive
		data= data-raw= data-binary= data-urlencode= json= form= upload-file= user= cookie= cookie-jar= proxy= config=`),
}

// leaves reports a word with which curl may talk to more than the addresses that it is
// given, or to one that is not this machine's.
func leaves(w workspace.Word) bool {
	option := w.MayBeOption()
	follows := option && (strings.HasPrefix(w.Text, "--loc") || strings.HasPrefix(w.Text, "--prox") || !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text, "Lx"))
	return w.Kind != workspace.Literal || follows || strings.Contains(w.Text, "://") && !workspace.Loopback(w.Text)
}

// fixedWord reports a word that no name of a file can be, in part or whole: one that is
// written out, or an address with the question mark of its query.
func fixedWord(w workspace.Word) bool {
	return w.Kind == workspace.Literal || w.Kind == workspace.Pattern && !w.Listed && queried.MatchString(w.Text)
}

var queried = regexp.MustCompile(`^https?://[A-Za-z0-9.:-]+(?:/[^*?\[]*)?\?[A-Za-z0-9_.~&=%+,:;@/-]*$`)

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
	var addresses []workspace.Word
	named := false // by the addresses
	for t, ok := c.next(); ok; t, ok = c.next() {
		if !fixedWord(t.word) {
			x.Add(finding.DynamicArgument)
		}
		switch t.option {
		case "", "url":
			away = away || !workspace.Loopback(t.word.Text)
			x.Address(t.word.Text)
			addresses = append(addresses, t.word)
		case "X", "request":
			if !t.word.Is("GET") && !t.word.Is("HEAD") {
				x.Add(finding.SendsData)
			}
		case "d", "F", "T", "data", "data-raw", "data-binary", "data-urlencode", "json", "form", "upload-file":
			x.Add(finding.SendsData)
			x.Read(workspace.Word{Text: strings.TrimPrefix(t.word.Text, "@"), Kind: t.word.Kind})
		case "o", "output", "D", "dump-header":
			x.saves(t.word)
		case "O", "remote-name":
			named = true
		case "H", "header", "w", "write-out":
			if strings.HasPrefix(t.word.Text, "@") || strings.Contains(t.word.Text, "%output") {
				x.Add(finding.UnknownOption)
			}
		case "u", "user", "b", "c", "cookie", "cookie-jar", "x", "proxy", "K", "config":
			x.Add(finding.UnknownOption)
		}
	}
	for _, a := range addresses {
		if named {
			x.savesAs(a, "", "curl_response")
		}
	}
}

// saves judges a file that a download goes to.
func (x *Call) saves(w workspace.Word) {
	if w.Is("-") || w.Is("/dev/null") {
		return
	}
	x.content(w)
	if !inertFile(w.Text) {
		x.Add(finding.SavesDownload)
	}
}

// inertEnds are the endings of files that nothing runs or obeys by itself: data, text,
// pictures and archives.
var inertEnds = words.Set(`.txt .md .rst .html .htm .csv .tsv .jsonl .ndjson .pdf .png .jpg .jpeg .gif .webp .svg .ico .zip .tar .gz .tgz .xz .bz2 .zst .sql .log
	.parquet .geojson .pem .crt .woff .woff2 .ttf .mp3 .mp4 .wav .sha256 .asc .sig`)

// inertFile reports a name of such a file, or of data in JSON or YAML that no tool takes
// for its settings.
func inertFile(name string) bool {
	base := strings.ToLower(path.Base(name))
	ext := path.Ext(base)
	data := ext == ".json" || ext == ".yaml" || ext == ".yml"
	return (data || inertEnds[ext]) && !settingsFile.MatchString(base)
}

// settingsFile matches names of data files that project tools obey.
var settingsFile = regexp.MustCompile(`^(?:package|composer|deno|bower|lerna|nx|turbo|project|vercel|netlify|firebase|jest|babel|biome|angular|renovate|cspell|docker-compose|compose|taskfile|mkdocs|serverless|values|chart|kustomization|pom|build|ivy|cmake|requirements|constraints|conanfile|meson|claude|agents|gemini|nodemon|pnpm-workspace|pubspec|pulumi|environment|codegen|tsconfig|manifest|openapi-generator|conftest)|(?:rc|config|lock|settings)[.-]|^\.`)

// savesAs judges the file in dir that gets the name which stands last in an address.
func (x *Call) savesAs(address workspace.Word, dir, other string) {
	_, rest, ok := strings.Cut(address.Text, "://")
	if !ok {
		rest = address.Text
	}
	_, file, _ := strings.Cut(rest, "/")
	name := file[strings.LastIndexByte(file, '/')+1:]
	if name == "" {
		name = other
	}
	if address.Kind != workspace.Literal || !savedName.MatchString(name) || !inertFile(name) {
		x.Add(finding.SavesDownload)
		return
	}
	x.content(workspace.Word{Text: path.Join(dir, name)})
}

var savedName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)

var wgetSpec = spec{
	flags: "qSv46cNn", vals: "OTtUP",
	long: longs(`quiet spider output-document= timeout= tries= user-agent= server-response no-verbose show-progress progress= continue timestamping no-clobber directory-prefix=
		no-check-certificate https-only max-redirect= wait= connect-timeout= read-timeout= dns-timeout= inet4-only inet6-only no-hsts no-config`),
}

// wget saves what it fetches, unless it is told to print it.
func wget(x *Call, name string, args []workspace.Word) {
	if x.version(name, args) {
		return
	}
	x.add(Fetches)
	x.Add(finding.NetworkRead)
	var addresses []workspace.Word
	named, dir := true, ""
	c := x.scanner(&wgetSpec, args)
	for t, ok := c.next(); ok; t, ok = c.next() {
		if !fixedWord(t.word) {
			x.Add(finding.DynamicArgument)
		}
		switch t.option {
		case "":
			x.Address(t.word.Text)
			addresses = append(addresses, t.word)
		case "O", "output-document":
			named = false
			x.saves(t.word)
		case "P", "directory-prefix":
			dir = t.word.Text
			if t.word.Kind != workspace.Literal || t.word.Tilde {
				x.Add(finding.SavesDownload)
			}
		case "spider":
			named = false
		}
	}
	for _, a := range addresses {
		if named {
			x.savesAs(a, dir, "index.html")
		}
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
