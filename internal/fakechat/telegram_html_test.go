package fakechat

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Results of TDLib's own parser for these inputs.
func TestTelegramT7_HTMLParser(t *testing.T) {
	entity := func(kind string, offset, length int) TelegramEntity {
		return TelegramEntity{Type: kind, Offset: offset, Length: length}
	}
	link := func(offset, length int, url string) TelegramEntity {
		return TelegramEntity{Type: "text_link", Offset: offset, Length: length, URL: url}
	}
	for _, row := range []struct {
		in, text string
		entities []TelegramEntity
	}{
		{"", "", nil},
		{"&lt;&gt;&amp;&quot; &#34;&#39;&#x41", "<>&\" \"'A", nil},
		{"&apos;&nbsp;&copy;&ge;&#12345678;&#0;", "&apos;&nbsp;&copy;&ge;&#12345678;&#0;", nil},
		{"😀<b>b</b>", "😀b", []TelegramEntity{entity("bold", 2, 1)}},
		{"<strong>a</strong><em>b</em><ins>c</ins><strike>d</strike><del>e</del>", "abcde", []TelegramEntity{
			entity("bold", 0, 1), entity("italic", 1, 1), entity("underline", 2, 1), entity("strikethrough", 3, 1), entity("strikethrough", 4, 1),
		}},
		{"<B>a</>", "a", []TelegramEntity{entity("bold", 0, 1)}},
		{"<b></b>", "", nil},
		{"<i x='<'   y=z>a</i  >", "a", []TelegramEntity{entity("italic", 0, 1)}},
		{"<code><b>x</b></code>", "x", []TelegramEntity{entity("code", 0, 1), entity("bold", 0, 1)}},
		{"<pre><code class=\"language-go\">x</code></pre>", "x", []TelegramEntity{{Type: "pre", Length: 1, Language: "go"}}},
		{"<code class=\"language-go\"><pre>x</pre></code>", "x", []TelegramEntity{{Type: "pre", Length: 1, Language: "go"}}},
		{"<code class=\"language-go\">x</code>", "x", []TelegramEntity{entity("code", 0, 1)}},
		{"<pre> <code class=\"language-go\">x</code></pre>", " x", []TelegramEntity{entity("pre", 0, 2), entity("code", 1, 1)}},
		{"<blockquote>a</blockquote><blockquote expandable>b</blockquote>", "ab", []TelegramEntity{
			entity("blockquote", 0, 1), entity("expandable_blockquote", 1, 1),
		}},
		{"<tg-spoiler>a</tg-spoiler><span class=\"tg-spoiler\">b</span>", "ab", []TelegramEntity{entity("spoiler", 0, 1), entity("spoiler", 1, 1)}},
		{"<a href=\"https://Example.com/A?b&amp;c\">x</a>", "x", []TelegramEntity{link(0, 1, "https://example.com/A?b&c")}},
		{"<a>example.com </a>", "example.com ", nil},
		{"<a href=example.com>x</a>", "x", []TelegramEntity{link(0, 1, "http://example.com/")}},
		{"<a>example.com</a>", "example.com", []TelegramEntity{link(0, 11, "http://example.com/")}},
		{"<a href=\"javascript:alert(1)\">x</a><a href=\"nodots\">y</a><a> </a>", "xy ", nil},
		{"<a href=\"tg://user?id=42\">x</a>", "x", []TelegramEntity{{Type: "text_mention", Length: 1, UserID: 42}}},
		{"<tg-emoji emoji-id=\"5\">😀</tg-emoji>", "😀", []TelegramEntity{{Type: "custom_emoji", Length: 2, CustomEmojiID: "5"}}},
		{"<tg-time unix=\"5\" format=\"r\">t</tg-time>", "t", []TelegramEntity{{Type: "date_time", Length: 1, UnixTime: 5, TimeFormat: "r"}}},
	} {
		text, entities, err := parseHTML(row.in)
		require.NoError(t, err, row.in)
		require.Equal(t, row.text, text, row.in)
		require.Equal(t, row.entities, entities, row.in)
	}
}

func TestTelegramT7_HTMLErrors(t *testing.T) {
	for in, want := range map[string]string{
		"a < b":                                 `Unsupported start tag "" at byte offset 2`,
		"é<x>":                                  `Unsupported start tag "x" at byte offset 2`,
		"<abc":                                  `Unclosed start tag at byte offset 0`,
		"<b":                                    `Unclosed start tag at byte offset 0`,
		"<b>":                                   `Can't find end tag corresponding to start tag "b"`,
		"<b>a</i>":                              `Unmatched end tag at byte offset 4, expected "</b>", found "</i>"`,
		"<b><i>a</b></i>":                       `Unmatched end tag at byte offset 7, expected "</i>", found "</b>"`,
		"a</b>":                                 `Unexpected end tag at byte offset 1`,
		"<i>a</i   ":                            `Unclosed end tag at byte offset 4`,
		"<i   =a>":                              `Empty attribute name in the tag "i" at byte offset 0`,
		"<i a = ":                               `Unclosed start tag "i" at byte offset 0`,
		"<i a = b,":                             `Unexpected end of name token at byte offset 7`,
		"<i a=\"b>":                             `Unclosed start tag at byte offset 0`,
		"<span>a</span>":                        `Tag "span" must have class "tg-spoiler" at byte offset 0`,
		"<script>a</script>":                    `Unsupported start tag "script" at byte offset 0`,
		"<tg-time unix=5 format=ts>a</tg-time>": "Invalid date format used",
		"&#xDFDF;":                              "Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units",
		"<tg-emoji emoji-id=x>a</tg-emoji>":     "Invalid custom emoji identifier specified",
	} {
		_, _, err := parseHTML(in)
		require.EqualError(t, err, want, in)
	}
}

func TestTelegramT7_TextIsFixed(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"trims", " \n a b \n ", "a b"},
		{"control characters become spaces", "a\tb\x00c\r\nd", "a b c\nd"},
		{"line separators and bidi overrides vanish", "a\u2028b\u202ec", "abc"},
		{"bidi isolates stay", "a\u2066b\u2069", "a\u2066b\u2069"},
		{"combining lines vanish", "a\u0333\u033f\u030ab\u0336", "ab\u0336"},
		{"direction marks are thinned out", "a\u200e\u200f\u200eb", "a\u200c\u200c\u200eb"},
		{"nothing visible", "\u200b \u200e\n", ""},
	} {
		require.Equal(t, row.want, fixText(row.in, nil).text, row.name)
	}
}

func TestTelegramT7_EntitiesAreFixed(t *testing.T) {
	type entities = []TelegramEntity
	for _, row := range []struct {
		in   string
		want entities
	}{
		{"<code><b>x</b></code>", entities{{Type: "code", Length: 1}}},
		{"<b>a<code>b</code>c</b>", entities{{Type: "bold", Length: 1}, {Type: "code", Offset: 1, Length: 1}, {Type: "bold", Offset: 2, Length: 1}}},
		{"<b>a</b><b>b</b>", entities{{Type: "bold", Length: 2}}},
		{"\r\t<b>\ra</b> ", entities{{Type: "bold", Length: 1}}},
		{"mail @alice at x@bob.example", entities{{Type: "mention", Offset: 5, Length: 6}}},
		{"<code>@alice example.com /go</code>", entities{{Type: "code", Length: 22}}},
		{"😀 see https://example.com/a.", entities{{Type: "url", Offset: 7, Length: 21}}},
		{"see example.com now", entities{{Type: "url", Offset: 4, Length: 11}}},
		{"rm /etc ; cat /etc/passwd a/b", entities{{Type: "bot_command", Offset: 3, Length: 4}}},
		{"<blockquote>@alice</blockquote>", entities{{Type: "blockquote", Length: 6}, {Type: "mention", Length: 6}}},
	} {
		text, list, err := parseHTML(row.in)
		require.NoError(t, err)
		require.Equal(t, row.want, fixText(text, list).entities, row.in)
	}
	require.Len(t, fixText(manyBold(150)).entities, maxEntities)
}

// manyBold is n bold letters with plain ones between.
func manyBold(n int) (string, []TelegramEntity) {
	var list []TelegramEntity
	text := ""
	for i := range n {
		text += "xy"
		list = append(list, TelegramEntity{Type: "bold", Offset: 2 * i, Length: 1})
	}
	return text, list
}
