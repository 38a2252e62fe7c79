package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxAnswer   = 64 << 20         // bytes of an answer that are read
	largeBody   = 256 << 10        // bytes of a request's body; larger ones have paths of their own
	answerGrace = 30 * time.Second // the time that the desk may take beyond the requested wait
)

// call is one request to the desk.
type call struct {
	method, path string
	large        string // the path for a body that is larger than largeBody; empty means path
	query        url.Values
	in           any           // body, or nil
	wait         time.Duration // how long the desk was asked to wait
	work         time.Duration // how long it may work on its answer, if that is longer
	accept       int           // a further status whose body is the answer, not a problem
}

// patience is how long the answer is waited for. The desk waits for a minute at most.
func (c call) patience() time.Duration {
	return max(min(max(c.wait, 0), time.Minute)+answerGrace, c.work)
}

// do sends one request and reads its answer into out.
func (c *Client) do(ctx context.Context, what call, out any) error {
	ctx, cancel := context.WithTimeout(ctx, what.patience())
	defer cancel()
	req, err := c.request(ctx, what)
	if err != nil {
		return err
	}
	res, err := c.http().Do(req)
	if err != nil {
		return notReached(req.URL, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the approval desk's answer broke off: %w", err)
	}
	if res.StatusCode/100 != 2 && res.StatusCode != what.accept {
		return problemOf(res, body)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("the approval desk's answer is not the JSON it should be: %w", err)
	}
	return nil
}

// notReached is the error of a request that got no answer. If an answer came but
// is not trusted, the error gives that reason instead.
func notReached(to *url.URL, err error) error {
	var where *url.Error
	if errors.Is(err, ErrNotBelieved) && errors.As(err, &where) {
		return where.Err
	}
	return fmt.Errorf("the approval desk at %s %w: %w", to.Host, ErrNotReached, err)
}

func (c *Client) request(ctx context.Context, what call) (*http.Request, error) {
	base, err := url.Parse(c.Server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("the server must be an http or https URL, such as http://127.0.0.1:8787")
	}
	var body io.Reader
	if what.in != nil {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(what.in); err != nil {
			return nil, err
		}
		body = &b
		if b.Len() > largeBody && what.large != "" {
			what.path = what.large
		}
	}
	to := strings.TrimRight(c.Server, "/") + what.path
	if len(what.query) > 0 {
		to += "?" + what.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, what.method, to, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return req, nil
}

// segment writes a name as one segment of a path. "." and ".." would be read as
// steps in the path; as %2E they are names.
func segment(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}

func (c *Client) http() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	// The token is for the server that was named, so no redirect is followed.
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// problemOf reads an error answer, even if it is no problem document.
func problemOf(res *http.Response, body []byte) error {
	p := &Problem{}
	if json.Unmarshal(body, p) != nil || p.Code == "" {
		p = &Problem{Title: http.StatusText(res.StatusCode),
			Detail: fmt.Sprintf("The server answered %s, and not as an approval desk does; is its address right?",
				res.Status)}
	}
	p.Status = res.StatusCode
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
		p.RetryAfter = time.Duration(s) * time.Second
	}
	return p
}
