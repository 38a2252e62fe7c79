package web

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/lazy"
	"approvalbot/internal/signin"
)

const (
	historyRows = 50
	exportRows  = 5000 // of a file
)

// entry is one request in a file of what was.
type entry struct {
	Code     string   `json:"code"`
	At       string   `json:"at"` // RFC 3339
	Owner    string   `json:"owner"`
	Agent    string   `json:"agentId"`
	Session  string   `json:"sessionKey"`
	Tool     string   `json:"toolName"`
	Summary  string   `json:"summary"`
	Risk     string   `json:"riskClass"`
	Status   string   `json:"status"`
	Decision string   `json:"decision"`
	By       []string `json:"decidedBy"`
	Ending   string   `json:"ending"`
	Ended    string   `json:"endedAt"`
}

// historyRow is one request in the page's list.
type historyRow struct {
	Code, Agent, Tool, Summary, Ending string
	Risk                               approval.RiskClass
	Bad                                bool
	At                                 stamp
}

// historyDay are the requests of one day.
type historyDay struct {
	Name string
	Rows []historyRow
}

// historyView is what the page shows.
type historyView struct {
	Filter url.Values
	Chips  [][]chip
	Days   []historyDay
	Next   string // address of the next page; empty on the last
	Back   string // how far back an incomplete search came; empty if it was complete
	CSV    string
	JSON   string
	Some   bool // a filter is set
	More   bool // one that has no chip is
}

// historyFilters are what an address may say.
func historyFilters() []string {
	return []string{"q", "status", "risk", "agent", "tool", "owner", "session", "from", "to"}
}

// historyPages are the page of what was, and files of it.
type historyPages struct {
	page
}

func (p *historyPages) routes() []route {
	return []route{
		{pattern: "GET /history", serve: p.history},
	}
}

func (p *historyPages) history(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v, q := p.reader(s), r.URL.Query()
	format, n := q.Get("format"), historyRows
	if format != "" {
		n = exportRows
	}
	found, err := p.found(r.Context(), v, filterOf(q, v.zone), n)
	if err != nil {
		p.refuse(out, r, s, err)
		return
	}
	switch format {
	case "csv":
		file(out, "text/csv; charset=utf-8", "approvals.csv")
		_ = writeCSV(out, entries(found.all))
	case "json":
		file(out, "application/json", "approvals.json")
		_ = json.NewEncoder(out).Encode(map[string]any{"items": entries(found.all), "nextCursor": found.next})
	default:
		p.show(out, http.StatusOK, historyPage(p.dayHead(s, "History"), historyOf(v, q, found)))
	}
}

// historyOf is the page of these requests.
func historyOf(v reader, q url.Values, found finding) historyView {
	h := historyView{Filter: q, CSV: with(q, "format", "csv"), JSON: with(q, "format", "json")}
	for _, name := range historyFilters() {
		h.Some = h.Some || q.Get(name) != ""
	}
	h.More = q.Get("owner")+q.Get("session")+q.Get("to") != ""
	h.chips(v, q, found.all)
	for _, a := range found.all {
		if day := v.day(a.CreatedAtMs); len(h.Days) == 0 || h.Days[len(h.Days)-1].Name != day {
			h.Days = append(h.Days, historyDay{Name: day})
		}
		last := &h.Days[len(h.Days)-1]
		last.Rows = append(last.Rows, historyRow{Code: a.Code, Agent: card.Asker(a), Tool: safe(a.ToolName), Summary: card.Summary(a),
			Ending: cmp.Or(card.Ending(a), "pending"), Risk: a.Assessment.RiskClass, At: v.clock(a.CreatedAtMs),
			Bad: a.Status == approval.Denied || a.RevokedAtMs != 0 || a.Failed()})
	}
	if found.next != "" {
		h.Next = with(q, "cursor", found.next)
	}
	if found.backMs != 0 {
		h.Back = "This search came as far back as " + v.day(found.backMs) + "."
	}
	return h
}

// chips offer each status and risk, the last days, and the agents and tools that the page has.
func (h *historyView) chips(v reader, q url.Values, all []approval.Approval) {
	var statuses, risks, since []chip
	for _, status := range []approval.Status{approval.Pending, approval.Approved, approval.Denied, approval.Expired, approval.Withdrawn} {
		statuses = append(statuses, chipOf(q, "status", string(status), 0))
	}
	for class := approval.R4; class >= approval.R0; class-- {
		risks = append(risks, chipOf(q, "risk", class.String(), 0))
	}
	for _, span := range []struct {
		days int
		text string
	}{{0, "today"}, {6, "7 days"}, {29, "30 days"}} {
		c := chipOf(q, "from", v.now.In(v.zone).AddDate(0, 0, -span.days).Format(time.DateOnly), 0)
		c.Text = span.text
		since = append(since, c)
	}
	h.Chips = [][]chip{statuses, risks, since}
	agents := chipsOf(q, "agent", all, func(a approval.Approval) string { return a.AgentID })
	tools := chipsOf(q, "tool", all, func(a approval.Approval) string { return a.ToolName })
	for _, group := range [][]chip{agents, tools} {
		if len(group) > 0 {
			h.Chips = append(h.Chips, uncounted(group))
		}
	}
}

func file(out http.ResponseWriter, kind, name string) {
	out.Header().Set("Content-Type", kind)
	out.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// with is the address with one more word in its query.
func with(q url.Values, name, value string) string {
	next := url.Values{}
	for k, v := range q {
		if len(v) > 0 && v[0] != "" {
			next[k] = v[:1]
		}
	}
	next.Set(name, value)
	return "?" + next.Encode()
}

// entries are requests as a file has them.
func entries(all []approval.Approval) []entry {
	at := func(ms int64) string {
		if ms == 0 {
			return ""
		}
		return time.UnixMilli(ms).UTC().Format(time.RFC3339)
	}
	out := make([]entry, 0, len(all))
	for _, a := range all {
		out = append(out, entry{Code: a.Code, At: at(a.CreatedAtMs), Owner: safe(a.Owner), Agent: safe(a.AgentID),
			Session: safe(a.SessionKey),
			Tool:    safe(a.ToolName), Summary: a.Summary, Risk: a.Assessment.RiskClass.String(), Status: string(a.Status),
			Decision: string(a.Decision), By: append([]string{}, a.DecidedBy...), Ending: cmp.Or(card.Ending(a), "waits"),
			Ended: at(a.ResolvedAtMs)})
	}
	return out
}

// writeCSV writes a list as CSV (RFC 4180). A cell that a spreadsheet would take for a
// formula gets an apostrophe in front, and what would act on a terminal is escaped.
func writeCSV(to io.Writer, rows []entry) error {
	out := csv.NewWriter(to)
	if err := out.Write([]string{"code", "at", "owner", "agent", "session", "tool", "summary", "risk", "status",
		"decision", "by", "ended"}); err != nil {
		return err
	}
	for _, x := range rows {
		row := []string{x.Code, x.At, x.Owner, x.Agent, x.Session, x.Tool, x.Summary, x.Risk, x.Status, x.Decision,
			strings.Join(x.By, " "), x.Ended}
		for i, cell := range row {
			row[i] = plainCell(display.Escape(cell))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func plainCell(s string) string {
	return formula.ReplaceAllString(s, "$1'$2")
}

// formula is the beginning of one, also behind what parts cells in many languages.
var formula = lazy.Pattern("(^|;)([=+\\-@\t\r])")
