package server

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// plain is a request that needs no judgement to be read: HTTP/1.1 as programs
// send it to the routes that are asked most, without anything that two readers
// could take differently. It is used again for the next one.
type plain struct {
	r      http.Request
	url    url.URL
	header http.Header
	values [maxPlainLines]string
	body   plainBody
}

type plainBody struct{ bytes.Reader }

// Close implements io.Closer.
func (*plainBody) Close() error { return nil }

// How far a request has come.
type progress int

const (
	partly progress = iota // there is more to come
	wholly                 // it is all here, and plain
	other                  // it is for net/http to say what it is
)

const maxPlainLines = 24 // headers of a plain request

// read reads one request from the beginning of b into p.r. n is how many bytes
// of b it is. What is read wholly, net/http reads just so from the same bytes
// (FuzzPlain); whatever is not sure is other. Until the next read the body, and
// nothing else of the request, is in b. blank gives what the bytes do not say,
// such as the context.
func (p *plain) read(blank *http.Request, b []byte) (n int, how progress) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return 0, hopeful(b)
	}
	line, rest, _ := strings.Cut(string(b[:end+len("\r\n")]), "\r\n")
	method, target, ok := requestLine(line)
	if !ok || !p.headers(rest) {
		return 0, other
	}
	host := p.header["Host"]
	delete(p.header, "Host")
	length, ok := bodyLength(method, p.header["Content-Length"])
	if !ok || host == nil || !each(host[0], inHost) {
		return 0, other
	}
	begin := end + len("\r\n\r\n")
	switch n = begin + length; {
	case n > plainSize:
		return 0, other
	case n > len(b):
		return 0, partly
	}
	p.url = url.URL{}
	p.url.Path, p.url.RawQuery, _ = strings.Cut(target, "?")
	p.r = *blank
	p.r.Method, p.r.URL, p.r.RequestURI, p.r.Host = method, &p.url, target, host[0]
	p.r.Proto, p.r.ProtoMajor, p.r.ProtoMinor = "HTTP/1.1", 1, 1
	p.r.Header, p.r.ContentLength, p.r.Body = p.header, int64(length), http.NoBody
	if length > 0 {
		p.body.Reset(b[begin:n])
		p.r.Body = &p.body
	}
	return n, wholly
}

// hopeful tells of what is no whole head yet whether it may become a plain one. To
// what may not, net/http has perhaps something to say already.
func hopeful(b []byte) progress {
	line, _, whole := bytes.Cut(b, []byte("\r\n"))
	_, _, ok := requestLine(string(line))
	if whole && !ok || bytes.Count(b, []byte("\n")) > bytes.Count(b, []byte("\r\n")) {
		return other
	}
	return partly
}

// requestLine takes POST and GET of the routes that are asked most.
func requestLine(line string) (method, target string, ok bool) {
	method, line, _ = strings.Cut(line, " ")
	target, version, _ := strings.Cut(line, " ")
	path, query, asks := strings.Cut(target, "?")
	switch {
	case version != "HTTP/1.1", method != http.MethodPost && method != http.MethodGet:
	case path != "/v1/evaluate" && path != "/v1/approvals" && !strings.HasPrefix(path, "/v1/approvals/"):
	case !each(path, inPath) || strings.Contains(path, "//") || strings.Contains(path, "/."):
	case asks && query == "" || !each(query, inQuery):
	default:
		return method, target, true
	}
	return "", "", false
}

// headers takes headers, each at most once, that say nothing of how the request
// is sent but for its length.
func (p *plain) headers(lines string) bool {
	if p.header == nil {
		p.header = http.Header{}
	}
	clear(p.header)
	for i := 0; lines != ""; i++ {
		var line string
		line, lines, _ = strings.Cut(lines, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if i == len(p.values) || !ok || name == "" || !each(name, inName) || !each(value, inValue) {
			return false
		}
		name, value = textproto.CanonicalMIMEHeaderKey(name), strings.Trim(value, " ")
		switch name {
		case "Transfer-Encoding", "Trailer", "Expect", "Upgrade", "Pragma":
			return false
		case "Connection":
			if value != "keep-alive" {
				return false
			}
		}
		if p.header[name] != nil {
			return false
		}
		p.values[i] = value
		p.header[name] = p.values[i : i+1 : i+1]
	}
	return true
}

// bodyLength reads Content-Length: digits, which a POST has and a GET has not.
func bodyLength(method string, given []string) (n int, ok bool) {
	if method == http.MethodGet || given == nil {
		return 0, method == http.MethodGet && given == nil
	}
	for _, c := range []byte(given[0]) {
		if c < '0' || '9' < c || n > plainSize {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, given[0] != ""
}

// Where a byte may stand in a plain request.
const (
	inName = 1 << iota
	inValue
	inHost
	inPath
	inQuery
)

var places = func() (t [256]uint8) {
	for c := ' '; c <= '~'; c++ {
		t[c] = inValue
	}
	add := func(chars string, places uint8) {
		for _, c := range chars {
			t[c] |= places
		}
	}
	add("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", inName|inHost|inPath|inQuery)
	add(".", inHost|inPath|inQuery)
	add("_", inPath|inQuery)
	add(":", inHost)
	add("/", inPath)
	add("=&", inQuery)
	return t
}()

// each reports whether all bytes of a text may stand there.
func each(s string, place uint8) bool {
	for i := range len(s) {
		if places[s[i]]&place == 0 {
			return false
		}
	}
	return true
}
