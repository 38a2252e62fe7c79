package web

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"approvalbot/core"
)

// hostile are texts that would become markup, script or an address if a page took them for its own.
var hostile = []string{
	`<script>alert(1)</script>`, `</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`,
	`"><svg onload=alert(1)>`, `'><b onclick=alert(1)>`, `" onfocus="alert(1)" autofocus="`, `' onfocus='alert(1)`,
	"` onfocus=`alert(1)",
	` onfocus=alert(1) x`, `x=y/onclick=alert(1)//`,
	`</title></textarea></noscript><script>x</script>`,
	`</svg></text></g><a href="javascript:alert(1)">x</a>`,
	`</code></pre></article></main></body></html><h1>gone</h1>`,
	`-->]]><!--<script>`, `<!--`, `<![CDATA[`, `{{.Data}}${x}{ x }`, `&lt;script&gt;alert(1)&lt;/script&gt;`,
	`&#60;b&#62;`, `&quot; x`,
	`javascript:alert(1)`, `JaVaScRiPt:alert(1)`, ` javascript:alert(1)`, "java\tscript:alert(1)", "java\nscript:alert(1)",
	"\x01javascript:alert(1)", `&#106;avascript:alert(1)`, `javascript&colon;alert(1)`,
	`data:text/html,<script>alert(1)</script>`,
	`vbscript:x`, `blob:x`, `x.png 1x, javascript:alert(1) 2x`,
	`expression(alert(1));background:url(javascript:alert(1))`,
	"a\u2028b\u2029c", "\u202ea\u200bb\ufeff\u00ad", "\ufffd\ufffe\u0085", "日本<語>", `..`, `../../signout`, `/../x?y#z`, `%2e%2e%2f`,
}

// Whatever a text is, and wherever a page puts it, it stays the text that it is: the page has
// the elements, attributes and scripts that it has with a harmless word there, and leads to
// no address that runs something.
func TestAdversary_N5_TextStaysText(t *testing.T) {
	t.Parallel()
	for name, page := range allPages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := 0
			for shape := range uint64(6) {
				const word = "harmless"
				want := parsed(t, page(&filler{word, rand.New(rand.NewPCG(shape, 0))}))
				for _, text := range hostile {
					got := parsed(t, page(&filler{text, rand.New(rand.NewPCG(shape, 0))}))
					require.Equal(t, want.form, got.form, "%q", text)
					for i, value := range want.values {
						require.Equal(t, strings.ReplaceAll(value, word, text), got.values[i], "%q in %s", text, want.form[i])
						shown += strings.Count(value, word)
					}
					for _, to := range got.leads {
						require.NotContains(t, []string{"javascript", "data", "vbscript", "blob"}, schemeOf(to), "%q", text)
					}
				}
			}
			require.Positive(t, shown)
		})
	}
}

// Each page is tried with hostile texts.
func TestAllPages_AreAll(t *testing.T) {
	t.Parallel()
	tried, err := os.ReadFile("escape_test.go")
	require.NoError(t, err)
	files, err := filepath.Glob("*_templ.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, page := range regexp.MustCompile(`(?m)^func (\w+Page)\(`).FindAllStringSubmatch(string(text), -1) {
			require.True(t, strings.Contains(string(tried), page[1]+"("), "%s of %s is not in allPages", page[1], file)
		}
	}
}

// A path of an approval has its code as one part, whatever that is.
func TestPathOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, "/a/ABCDEF", pathOf("ABCDEF"))
	require.Equal(t, "/a/ABCDEF/vote", pathOf("ABCDEF", "vote"))
	require.Equal(t, "/a/a%2F..%3Fb%23c", pathOf("a/..?b#c"))
}

// allPages makes each page, with whatever it can show filled.
var allPages = map[string]func(f *filler) templ.Component{
	"alert":    func(f *filler) templ.Component { return alertPage(filled[head](f), f.text) },
	"approval": func(f *filler) templ.Component { return approvalPage(filled[head](f), filled[approvalView](f), f.text) },
	"audit":    func(f *filler) templ.Component { return auditPage(filled[head](f), filled[auditView](f)) },
	"dialog":   func(f *filler) templ.Component { return dialogWindow(f.text, filled[dialog](f)) },
	"grants":   func(f *filler) templ.Component { return grantsPage(filled[head](f), filled[[]grantView](f), f.text) },
	"health":   func(f *filler) templ.Component { return healthPage(filled[head](f), filled[[]core.Diagnostic](f), 1) },
	"history": func(f *filler) templ.Component {
		v := filled[historyView](f)
		v.Filter = url.Values{"q": {f.text}, "tool": {f.text}, "from": {f.text}, "risk": {f.text}}
		return historyPage(filled[head](f), v)
	},
	"inbox":    func(f *filler) templ.Component { return inboxPage(filled[head](f), filled[waiting](f), f.text) },
	"me":       func(f *filler) templ.Component { return mePage(filled[head](f), filled[[]shownSession](f)) },
	"mini app": func(f *filler) templ.Component { return miniAppPage(filled[head](f)) },
	"numbers":  func(f *filler) templ.Component { return numbersPage(filled[head](f), filled[numbersView](f)) },
	"passkeys": func(f *filler) templ.Component {
		v := filled[passkeysView](f)
		v.zone = time.UTC
		for i := range v.Held {
			v.Held[i].PublicKey = "AAAA" // of which the page has a hash
		}
		return passkeysPage(filled[head](f), v)
	},
	"people": func(f *filler) templ.Component {
		return peoplePage(filled[head](f), filled[[]personView](f), filled[[]rosterView](f))
	},
	"policy": func(f *filler) templ.Component {
		v := filled[policyView](f)
		v.PolicyHash = "0123456789abcdef" // of which the page has the beginning
		return policyPage(filled[head](f), v)
	},
	"push":     func(f *filler) templ.Component { return pushPage(filled[head](f), filled[pushDevices](f)) },
	"sentence": func(f *filler) templ.Component { return sentencePage(filled[head](f), f.text, f.text) },
	"sign":     func(f *filler) templ.Component { return signPage(filled[head](f), filled[signView](f)) },
	"sign in":  func(f *filler) templ.Component { return signInPage(filled[head](f), filled[signIn](f)) },
}

// filler fills values: each string is the text, all else is as the dice fall.
type filler struct {
	text string
	dice *rand.Rand
}

func filled[T any](f *filler) (x T) {
	f.fill(reflect.ValueOf(&x).Elem(), 0)
	return x
}

func (f *filler) fill(v reflect.Value, depth int) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() || v.Type().Field(i).Anonymous {
				f.fill(v.Field(i), depth+1)
			}
		}
	case v.Kind() == reflect.String:
		v.SetString(f.text)
	case v.Kind() == reflect.Bool:
		v.SetBool(f.dice.IntN(2) == 0)
	case v.CanInt():
		v.SetInt(f.dice.Int64N(3))
	case v.CanUint():
		v.SetUint(f.dice.Uint64N(3))
	case v.CanFloat():
		v.SetFloat(f.dice.Float64())
	case v.Kind() == reflect.Slice:
		n := f.dice.IntN(3)
		if depth > 8 { // values of JSON have values
			n = 0
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i), depth+2)
		}
	case v.Kind() == reflect.Pointer && f.dice.IntN(2) == 0:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth+1)
	}
}

// document is a page as a browser reads it.
type document struct {
	form   []string // its elements, attributes and places of text, in their order
	values []string // what each has for a text, but an address
	leads  []string // addresses in it
}

func parsed(t *testing.T, page templ.Component) (d document) {
	t.Helper()
	text, err := fragment(page)
	require.NoError(t, err)
	root, err := html.Parse(strings.NewReader(string(text)))
	require.NoError(t, err)
	for n := range root.Descendants() {
		switch n.Type {
		case html.TextNode:
			require.NotEqual(t, "script", n.Parent.Data, "a script in a page")
			d.form, d.values = append(d.form, "text in "+n.Parent.Data), append(d.values, n.Data)
		case html.ElementNode:
			require.NotContains(t, []string{"style", "iframe", "object", "embed", "base", "img"}, n.Data)
			d.form, d.values = append(d.form, n.Data), append(d.values, "")
			for _, a := range n.Attr {
				d.attribute(t, n.Data, a)
			}
		case html.CommentNode:
			require.Fail(t, "a comment in a page", n.Data)
		}
	}
	return d
}

// addresses are the attributes that lead somewhere; hx- ones are asked by a script.
var addresses = []string{"href", "src", "action", "data-href", "hx-post", "hx-sse:connect"}

func (d *document) attribute(t *testing.T, element string, a html.Attribute) {
	t.Helper()
	require.False(t, strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Key, "hx-on"), "a handler in a page: %s", a.Key)
	require.NotContains(t, []string{"style", "srcset", "srcdoc", "formaction", "ping", "background"}, a.Key)
	value := a.Val
	if slices.Contains(addresses, a.Key) {
		d.leads, value = append(d.leads, a.Val), ""
	}
	d.form = append(d.form, fmt.Sprintf("%s of %s", a.Key, element))
	d.values = append(d.values, value)
}

// schemeOf is what a browser takes for the scheme of an address (WHATWG URL, basic URL parser).
func schemeOf(address string) string {
	address = strings.TrimLeftFunc(address, func(r rune) bool { return r <= ' ' })
	address = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(address)
	scheme, _, found := strings.Cut(address, ":")
	if !found {
		return ""
	}
	return strings.ToLower(scheme)
}
