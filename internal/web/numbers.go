package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"approvalbot/core"
	"approvalbot/internal/card"
	"approvalbot/internal/signin"
)

// numbersView is how it went.
type numbersView struct {
	core.Stats
	Days    int
	Choices []int
	Charts  []chart
}

type chart struct {
	Title string
	Bars  []bar
}

// bar is one row of a chart. Sizes are in units of the drawing, which is 320 wide.
type bar struct {
	Name, Text string
	Y, Width   int
}

const (
	barHeight = 22
	barRoom   = 220
	barsMost  = 12
)

// chartHeight is how high a chart of so many rows is.
func chartHeight(bars []bar) int { return max(1, len(bars)) * barHeight }

// numberPages say how it went.
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
	if !p.operator(out, v) {
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
		p.refuse(out, s, err)
		return
	}
	data := numbersView{Stats: n, Days: days, Choices: []int{1, 7, 30, 90}, Charts: []chart{
		{"How they ended", countBars(n.ByStatus)}, {"By agent", numberBars(n.ByAgent)},
		{"By tool", numberBars(n.ByTool)}, {"Reasons", countBars(n.ReasonCodes)}}}
	p.show(out, http.StatusOK, numbersPage(p.head(s, "Numbers"), data))
}

func countBars(all []core.NameCount) (out []bar) {
	most := 1
	for i, c := range all[:min(len(all), barsMost)] {
		most = max(most, c.Count)
		out = append(out, bar{Name: safe(c.Name), Text: strconv.Itoa(c.Count), Y: i * barHeight,
			Width: barRoom * c.Count / most})
	}
	return out
}

func numberBars(all []core.Numbers) (out []bar) {
	most := 1
	for i, n := range all[:min(len(all), barsMost)] {
		most = max(most, n.Calls)
		name := safe(n.Name)
		if name == "" {
			name = "no agent"
		}
		out = append(out, bar{Name: name, Y: i * barHeight, Width: barRoom * n.Calls / most,
			Text: fmt.Sprintf("%d calls, %s of 100 asked", n.Calls, short(n.AskedPer100))})
	}
	return out
}

// short is a number without needless digits.
func short(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// daysText is a number of days in words.
func daysText(n int) string {
	if n == 1 {
		return "1 day"
	}
	return strconv.Itoa(n) + " days"
}

// percent is a share in words: "12.5 %".
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// took says a time that people took, with one digit where it is short.
func took(ms int64) string {
	if ms == 0 {
		return "–"
	}
	if ms < 10_000 {
		return fmt.Sprintf("%.1f s", float64(ms)/1000)
	}
	return card.Span(time.Duration(ms) * time.Millisecond)
}
