package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/signin"
)

// numbersView is how it went.
type numbersView struct {
	core.Stats
	Ended   int // asks that have ended
	Days    int
	Choices []int
	Charts  []chart
}

// chart answers one question.
type chart struct {
	Title string
	Bars  []bar
	More  int // values that have no bar
}

// bar is one row of a chart.
type bar struct {
	Name, Text string
	Path       string // of the requests that it counts; empty if there is no such list
	Width      int    // of 100
}

// barsMost is how many values a chart has: more of them are not read.
const barsMost = 8

// numberPages show statistics.
type numberPages struct {
	page
	counting chan struct{} // one count at a time
}

func (p *numberPages) routes() []route {
	return []route{
		{pattern: "GET /numbers", serve: p.numbers},
	}
}

func (p *numberPages) numbers(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	if !p.operator(out, r, v) {
		return
	}
	days, _ := strconv.Atoi(r.URL.Query().Get("days"))
	if days < 1 || days > 90 {
		days = 7
	}
	select { // one count at a time: it takes a processor for as long as there is to count
	case p.counting <- struct{}{}:
		defer func() { <-p.counting }()
	case <-r.Context().Done():
		return
	}
	n, err := p.gate.Stats(r.Context(), v.caller, v.now.AddDate(0, 0, -days).UnixMilli())
	if err != nil {
		p.refuse(out, r, s, err)
		return
	}
	d := numbersView{Stats: n, Days: days, Choices: []int{1, 7, 30, 90}, Charts: []chart{
		countChart("How did they end?", n.ByStatus, func(status string) (string, string) {
			return status, "/history?status=" + url.QueryEscape(status)
		}),
		numberChart("Which agents ask?", n.ByAgent, "agent"),
		numberChart("For which tools?", n.ByTool, "tool"),
		countChart("Why are people asked?", n.ReasonCodes, func(code string) (string, string) { return reasonWords(code), "" }),
	}}
	d.Ended = n.All.Asked
	for _, c := range n.ByStatus {
		if c.Name == string(approval.Pending) {
			d.Ended -= c.Count
		}
	}
	for i := range d.Approvers {
		d.Approvers[i].Name = safe(d.Approvers[i].Name)
	}
	p.show(out, http.StatusOK, numbersPage(p.head(s, "Numbers"), d))
}

// reasonWords is the code of a reason as words: "curl-to-shell" is "curl to shell".
func reasonWords(code string) string {
	return strings.ReplaceAll(strings.TrimPrefix(code, "rule:"), "-", " ")
}

func countChart(title string, all []core.NameCount, said func(name string) (text, path string)) chart {
	c := chart{Title: title, More: max(0, len(all)-barsMost)}
	most := 1
	for _, n := range all[:min(len(all), barsMost)] {
		most = max(most, n.Count)
		text, path := said(n.Name)
		c.Bars = append(c.Bars, bar{Name: safe(text), Text: digits(n.Count), Path: path, Width: 100 * n.Count / most})
	}
	return c
}

func numberChart(title string, all []core.Numbers, filter string) chart {
	c := chart{Title: title, More: max(0, len(all)-barsMost)}
	most := 1
	for _, n := range all[:min(len(all), barsMost)] {
		most = max(most, n.Calls)
		b := bar{Name: "no agent", Width: 100 * n.Calls / most,
			Text: counted(n.Calls, "call", "calls") + ", " + percent(n.Asked, n.Calls) + " asked"}
		if n.Name != "" {
			b.Name, b.Path = safe(n.Name), "/history?"+url.Values{filter: {n.Name}}.Encode()
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

// digits is a number of at most three: "12.3 k".
func digits(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 999_500:
		return three(float64(n)/1000) + " k"
	}
	return three(float64(n)/1e6) + " M"
}

func three(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

// counted is a number of things: "1 call", "12 calls".
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return digits(n) + " " + more
}

// percent is a share in words: "83 %".
func percent(n, of int) string {
	if of == 0 {
		return "–"
	}
	return strconv.Itoa((100*n+of/2)/of) + " %"
}

// took says a time that people took, with one decimal if it is short.
func took(ms int64) string {
	if ms == 0 {
		return "–"
	}
	if ms < 10_000 {
		return fmt.Sprintf("%.1f s", float64(ms)/1000)
	}
	return card.Span(time.Duration(ms) * time.Millisecond)
}
