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

// entry is one request in a list of what was.
type entry struct {
	Code     string   `json:"code"`
	At       string   `json:"at"` // of the page: in the reader's zone; of a file: RFC 3339
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

// historyView is what the page shows.
type historyView struct {
	Filter  url.Values
	Rows    []entry
	Next    string // address of the next page; empty: there is none
	CSV     string
	JSON    string
	Some    bool // a filter is set
	Choices []string
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
	all, next, err := p.found(r.Context(), v, filterOf(q, v.zone), n)
	if err != nil {
		p.refuse(out, s, err)
		return
	}
	h := historyView{Filter: q, CSV: with(q, "format", "csv"), JSON: with(q, "format", "json"),
		Choices: []string{"pending", "approved", "denied", "expired", "withdrawn"}}
	for _, name := range []string{"q", "status", "risk", "tool", "agent", "owner", "session", "from", "to"} {
		h.Some = h.Some || q.Get(name) != ""
	}
	for _, a := range all {
		h.Rows = append(h.Rows, entryOf(a, v, format != ""))
	}
	if next != "" {
		h.Next = with(q, "cursor", next)
	}
	switch format {
	case "csv":
		file(out, "text/csv; charset=utf-8", "approvals.csv")
		_ = writeCSV(out, h.Rows)
	case "json":
		file(out, "application/json", "approvals.json")
		_ = json.NewEncoder(out).Encode(map[string]any{"items": append([]entry{}, h.Rows...), "nextCursor": next})
	default:
		p.show(out, http.StatusOK, historyPage(p.head(s, "History"), h))
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

func entryOf(a approval.Approval, v reader, forFile bool) entry {
	at := v.at
	if forFile {
		at = func(ms int64) string {
			if ms == 0 {
				return ""
			}
			return time.UnixMilli(ms).UTC().Format(time.RFC3339)
		}
	}
	return entry{Code: a.Code, At: at(a.CreatedAtMs), Owner: safe(a.Owner), Agent: safe(a.AgentID),
		Session: safe(a.SessionKey),
		Tool:    safe(a.ToolName), Summary: a.Summary, Risk: a.Assessment.RiskClass.String(), Status: string(a.Status),
		Decision: string(a.Decision), By: append([]string{}, a.DecidedBy...), Ending: cmp.Or(card.Ending(a), "waits"),
		Ended: at(a.ResolvedAtMs)}
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
