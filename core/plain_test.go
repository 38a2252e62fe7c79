package core

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// pieces lists what Plain reads of a value.
func (p *Plain) pieces(list []string) []string {
	switch p.Kind() {
	case '{':
		list = append(list, "{")
		for o := (Object{}); p.Member(&o); {
			list = p.pieces(append(list, "text "+o.Name))
		}
		return append(list, "}")
	case '[':
		list = append(list, "[")
		for l := (List{}); p.Element(&l); {
			list = p.pieces(list)
		}
		return append(list, "]")
	}
	text, isText := p.Scalar()
	if isText {
		text = "text " + text
	}
	return append(list, text)
}

// tokens lists the same by a strict parser that is not ours.
func tokens(value string) (list []string, err error) {
	d := jsontext.NewDecoder(strings.NewReader(value))
	for {
		tok, err := d.ReadToken()
		switch {
		case err == io.EOF && d.StackDepth() == 0 && len(list) > 0:
			return list, nil
		case err != nil:
			return nil, err
		case len(list) > 0 && d.StackDepth() == 0 && tok.Kind() != '}' && tok.Kind() != ']':
			return nil, fmt.Errorf("a second value")
		case tok.Kind() == '"':
			list = append(list, "text "+tok.String())
		default:
			list = append(list, tok.String())
		}
	}
}

// plainly requires that what Plain takes, the library reads the same.
func plainly(t *testing.T, value string) (taken bool) {
	t.Helper()
	p := ReadPlain([]byte(value))
	got := p.pieces(nil)
	taken = p.Done()
	p = ReadPlain([]byte(value))
	raw := p.Raw()
	require.Equal(t, taken, p.Done(), "%q", value)
	if taken {
		want, err := tokens(value)
		require.NoError(t, err, "%q", value)
		require.Equal(t, want, got, "%q", value)
		require.Equal(t, strings.Trim(value, " \t\r\n"), raw)
	}
	return taken
}

func TestPlainIsWhatAStrictParserReads(t *testing.T) {
	for _, v := range oddParams {
		plainly(t, v)
		plainly(t, `{"n":{"o":`+v+`,"a":[`+v+`]}}`)
	}
	for _, v := range []string{`{}`, ` { "a" : [ 1 , -20 , "x" , true , false , null , { } ] } `, `{"path":"/x","limit":200}`, `{"a":"\"\u0061é\n"}`, `[]`, `"x"`, `0`,
		`{"a":{"a":{"a":1},"b":1}}`, strings.Repeat("[", plainDepth) + strings.Repeat("]", plainDepth)} {
		require.True(t, plainly(t, v), v)
	}
	for _, v := range []string{`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{"a":1}}`, `{"a":1`, `{"a":[1}`, `["a`, `["\`, "[\"\xff\"]", "[\"\n\"]", `["\ud800"]`, `[01]`, `[-]`, `[truee]`, `{"a"}`, `[]x`, `{} {}`, ``, ` `,
		strings.Repeat("[", plainDepth+1) + strings.Repeat("]", plainDepth+1)} {
		require.False(t, plainly(t, v), v)
	}
	var many bytes.Buffer
	for i := range plainMembers + 1 {
		fmt.Fprintf(&many, `,"%d":0`, i)
	}
	require.False(t, plainly(t, "{"+many.String()[1:]+"}"))
}

func FuzzPlain(f *testing.F) {
	for _, s := range oddParams {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) { plainly(t, value) })
}
