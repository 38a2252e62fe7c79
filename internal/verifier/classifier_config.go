package verifier

import (
	"cmp"
	"errors"
	"net/url"
	"strings"
	"time"

	"approvalbot/internal/approval"
)

// ClassifierConfig says which model is asked, and how.
type ClassifierConfig struct {
	Provider      string // a name; "openai" (default) knows its own address
	Model         string // required
	APIURL        string // the API's base address, such as https://api.openai.com/v1
	APIKey        string // sent as a bearer token, if set
	TimeoutMs     int    // for the whole exchange; 0 means 1200
	MaxInputChars int    // of the description of the call, in characters; 0 means 6000
	Production    bool   // https only

	// Observe, if set, is called with each opinion and how long it took. It is called in the
	// caller's goroutine.
	Observe func(latency time.Duration, o approval.Opinion)
}

const (
	defaultTimeoutMs     = 1200
	defaultMaxInputChars = 6000
	minInputChars        = 1000
	openAI               = "https://api.openai.com/v1"
)

// normal fills in the defaults, and names every mistake.
func (cfg ClassifierConfig) normal() (_ ClassifierConfig, address string, warnings []string, _ error) {
	const key = "approvals.tools.classifier"
	c := &checker{production: cfg.Production}
	cfg.Provider = cmp.Or(cfg.Provider, "openai")
	if cfg.APIURL == "" && cfg.Provider == "openai" {
		cfg.APIURL = openAI
	}
	if cfg.APIURL == "" {
		c.mistake(key+".apiUrl", "is required for provider %q: the base address of its OpenAI-compatible API",
			cfg.Provider)
	} else {
		c.url(cfg.APIURL, key+".apiUrl")
	}
	if cfg.Model == "" {
		c.mistake(key+".model", "is required")
	}
	if strings.ContainsFunc(cfg.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		c.mistake(key+".apiKey", "must be printable ASCII without blanks")
	}
	cfg.TimeoutMs = cmp.Or(cfg.TimeoutMs, defaultTimeoutMs)
	if cfg.TimeoutMs < 1 || cfg.TimeoutMs > 60_000 {
		c.mistake(key+".timeoutMs", "must be 1 to 60000 milliseconds")
	}
	cfg.MaxInputChars = cmp.Or(cfg.MaxInputChars, defaultMaxInputChars)
	if cfg.MaxInputChars < minInputChars || cfg.MaxInputChars > 1_000_000 {
		c.mistake(key+".maxInputChars", "must be %d to 1000000 characters", minInputChars)
	}
	if len(c.bad) > 0 {
		return cfg, "", c.warnings, errors.Join(c.bad...)
	}
	return cfg, completions(cfg.APIURL), c.warnings, nil
}

// completions gives the address that is asked: the base address with
// /chat/completions behind its path, whether or not it ends in a slash or has
// that already. A base without any path is taken for one that forgot /v1.
func completions(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base // refused before
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	switch {
	case path == "":
		u = u.JoinPath("v1", "chat", "completions")
	case strings.HasSuffix(path, "/chat/completions"):
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	default:
		u = u.JoinPath("chat", "completions")
	}
	return u.String()
}
