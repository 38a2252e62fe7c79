package language

import (
	"path"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

var curlSpec = sync.OnceValue(func() *command.Spec {
	return &command.Spec{
		Flags: "sSfLiIvgk46#GNq0O", Values: "mAeHXowdFTubcxKDrC",
		Long: command.Longs(`silent show-error fail fail-with-body location include head verbose globoff insecure
		compressed max-time= connect-timeout= retry= retry-delay=
		retry-all-errors user-agent= referer= header= request= output= write-out= url= http1.1 http2 http3 ipv4 ipv6
		no-progress-meter progress-bar get no-buffer tlsv1.2 tlsv1.3 max-redirs=
		create-dirs remote-name dump-header= range= continue-at= retry-max-time= retry-connrefused max-filesize=
		proto= fail-early show-headers no-keepalive
		data= data-raw= data-binary= data-urlencode= json= form= upload-file= user= cookie= cookie-jar= proxy= config=`),
	}
})

// leaves reports a word with which curl may talk to more than the addresses that it is
// given, or to one that is not this machine's.
func leaves(w workspace.Word) bool {
	if w.Kind != workspace.Literal || follows(w.Text) {
		return true
	}
	return strings.Contains(w.Text, "://") && !workspace.Loopback(w.Text)
}

// follows reports options with which curl follows redirects, or goes through a proxy.
func follows(option string) bool {
	return words.Begins(option, "--loc", "--prox") || strings.ContainsAny(words.ShortOptions(option), "Lx")
}

// queried is an address with the question mark of its query.
var queried = lazy.Pattern(`^https?://[A-Za-z0-9.:-]+(?:/[^*?\[]*)?\?[A-Za-z0-9_.~&=%+,:;@/-]*$`)

// curl reads with GET to its output. A call that sends or saves asks.
func curl(x *command.Call, name string, args []workspace.Word) {
	if ShowsVersion(x, name, args) {
		return
	}
	x.Mark(command.Fetches)
	away := true // to another machine than this one, also through a redirect
	c := x.Scanner(curlSpec(), args)
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
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if !t.Word.Fixed(queried.Compiled()) {
			x.Add(finding.DynamicArgument)
		}
		switch t.Option {
		case "", "url":
			away = away || !workspace.Loopback(t.Word.Text)
			x.Address(t.Word.Text)
			addresses = append(addresses, t.Word)
		case "X", "request":
			if !t.Word.Is("GET") && !t.Word.Is("HEAD") {
				x.Add(finding.SendsData)
			}
		case "d", "F", "T", "data", "data-raw", "data-binary", "data-urlencode", "json", "form", "upload-file":
			x.Add(finding.SendsData)
			x.Read(workspace.Word{Text: strings.TrimPrefix(t.Word.Text, "@"), Kind: t.Word.Kind})
		case "o", "output", "D", "dump-header":
			savesFile(x, t.Word)
		case "O", "remote-name":
			named = true
		case "H", "header", "w", "write-out":
			if strings.HasPrefix(t.Word.Text, "@") || strings.Contains(t.Word.Text, "%output") {
				x.Add(finding.UnknownOption)
			}
		case "u", "user", "b", "c", "cookie", "cookie-jar", "x", "proxy", "K", "config":
			x.Add(finding.UnknownOption)
		}
	}
	for _, a := range addresses {
		if named {
			savesAs(x, a, "", "curl_response")
		}
	}
}

// savesFile judges a file that a download goes to.
func savesFile(x *command.Call, w workspace.Word) {
	if w.Is("-") || w.Is("/dev/null") {
		return
	}
	x.Fill(w)
	if !InertFile(w.Text) {
		x.Add(finding.SavesDownload)
	}
}

// inertEnds are the endings of files that no program runs or obeys by itself: data, text,
// pictures and archives.
var inertEnds = lazy.Words(`.txt .md .rst .html .htm .csv .tsv .jsonl .ndjson .pdf .png .jpg .jpeg .gif .webp .svg
	.ico .zip .tar .gz .tgz .xz .bz2 .zst .sql .log
	.parquet .geojson .pem .crt .woff .woff2 .ttf .mp3 .mp4 .wav .sha256 .asc .sig`)

// InertFile reports a name of such a file, or of data in JSON or YAML that no tool takes
// for its settings.
func InertFile(name string) bool {
	base := strings.ToLower(path.Base(name))
	ext := path.Ext(base)
	data := ext == ".json" || ext == ".yaml" || ext == ".yml"
	return (data || inertEnds.Has(ext)) && !settingsFile.MatchString(base)
}

// settingsFile matches names of data files that project tools obey.
var settingsFile = lazy.Pattern(`^(?:package|composer|deno|bower|lerna|nx|turbo|project|vercel|netlify|firebase|jest|babel|biome|angular|renovate|cspell|docker-compose|compose|taskfile|mkdocs|serverless|values|chart|kustomization|pom|build|ivy|cmake|requirements|constraints|conanfile|meson|claude|agents|gemini|nodemon|pnpm-workspace|pubspec|pulumi|environment|codegen|tsconfig|manifest|openapi-generator|conftest)|(?:rc|config|lock|settings)[.-]|^\.`)

// savesAs judges the file in dir that gets the last name of an address.
func savesAs(x *command.Call, address workspace.Word, dir, other string) {
	_, rest, ok := strings.Cut(address.Text, "://")
	if !ok {
		rest = address.Text
	}
	_, file, _ := strings.Cut(rest, "/")
	name := file[strings.LastIndexByte(file, '/')+1:]
	if name == "" {
		name = other
	}
	if address.Kind != workspace.Literal || !savedName.MatchString(name) || !InertFile(name) {
		x.Add(finding.SavesDownload)
		return
	}
	x.Fill(workspace.Word{Text: path.Join(dir, name)})
}

var savedName = lazy.Pattern(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)

var wgetSpec = sync.OnceValue(func() *command.Spec {
	return &command.Spec{
		Flags: "qSv46cNn", Values: "OTtUP",
		Long: command.Longs(`quiet spider output-document= timeout= tries= user-agent= server-response no-verbose
		show-progress progress= continue timestamping no-clobber directory-prefix=
		no-check-certificate https-only max-redirect= wait= connect-timeout= read-timeout= dns-timeout= inet4-only
		inet6-only no-hsts no-config`),
	}
})

// wget saves what it fetches, unless it is told to print it.
func wget(x *command.Call, name string, args []workspace.Word) {
	if ShowsVersion(x, name, args) {
		return
	}
	x.Mark(command.Fetches)
	x.Add(finding.NetworkRead)
	var addresses []workspace.Word
	named, dir := true, ""
	c := x.Scanner(wgetSpec(), args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if !t.Word.Fixed(queried.Compiled()) {
			x.Add(finding.DynamicArgument)
		}
		switch t.Option {
		case "":
			x.Address(t.Word.Text)
			addresses = append(addresses, t.Word)
		case "O", "output-document":
			named = false
			savesFile(x, t.Word)
		case "P", "directory-prefix":
			dir = t.Word.Text
			if t.Word.Kind != workspace.Literal || t.Word.Tilde {
				x.Add(finding.SavesDownload)
			}
		case "spider":
			named = false
		}
	}
	for _, a := range addresses {
		if named {
			savesAs(x, a, dir, "index.html")
		}
	}
}

// gofmt prints, or with -w rewrites, Go files.
func gofmt(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	c := x.Scanner(&command.Spec{Flags: "ldsew"}, args)
	changes := false
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		changes = changes || t.Option == "w"
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
