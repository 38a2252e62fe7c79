package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// OnDisk is how the configuration file differs from what is in force.
type OnDisk struct {
	Mistake string   // why it could not be loaded; the rest is empty then
	Same    bool     // its policy is the one in force
	Looser  []string // what a reload would loosen, or may
	// Otherwise are calls that a reload would have judged otherwise, if the form of the change does not tell.
	Otherwise []string
	Restart   []string // keys that have changed and wait for a restart
}

// policyView is what the page shows.
type policyView struct {
	api.Policy
	Known bool    // the table is there
	Disk  *OnDisk // nil: there is no file
	Try   trial
}

// trial is a call that somebody tries, and what policy would say of it.
type trial struct {
	Tool, Params, Agent, Workdir string
	Problem                      string
	Done                         bool
	Outcome, Risk, Reason, By    string
	Why                          []string
	Offers                       []approval.Decision
	Trace                        []approval.Step
}

// policy shows what holds. A POST tries a call, which changes nothing.
func (w *Web) policy(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := w.reader(s)
	if !w.operator(out, v) {
		return
	}
	r.Body = http.MaxBytesReader(out, r.Body, maxFields)
	p := policyView{Try: trial{Tool: "exec"}}
	if w.cfg.Policy != nil {
		var err error
		if p.Policy, err = w.cfg.Policy(r.Context()); err != nil {
			w.refuse(out, s, err)
			return
		}
		p.Known = true
	}
	if w.cfg.OnDisk != nil {
		disk := w.cfg.OnDisk(r.Context())
		p.Disk = &disk
	}
	if r.Method == http.MethodPost {
		p.Try = w.try(r, v)
	}
	w.show(out, http.StatusOK, policyPage(w.head(s, "Policy"), p))
}

// try judges a call as the API's evaluate does.
func (w *Web) try(r *http.Request, v reader) trial {
	t := trial{Tool: strings.TrimSpace(r.PostFormValue("tool")), Params: strings.TrimSpace(r.PostFormValue("params")),
		Agent: strings.TrimSpace(r.PostFormValue("agent")), Workdir: strings.TrimSpace(r.PostFormValue("workdir"))}
	call := approval.Call{ToolName: t.Tool, Params: json.RawMessage(t.Params), AgentID: t.Agent}
	if t.Tool == "exec" && !strings.HasPrefix(t.Params, "{") { // a command line, as people write it
		call.Params, _ = json.Marshal(map[string]string{"command": t.Params})
	}
	if t.Workdir != "" {
		call.Bind = &approval.Bind{Workdir: &t.Workdir}
	}
	p, err := w.gate.Evaluate(r.Context(), v.caller, call)
	if err != nil {
		if approval.CodeOf(err) == "" {
			w.cfg.Log.Error("a call could not be tried", "reason", err)
			t.Problem = "The desk could not judge it now; try again."
			return t
		}
		t.Problem = err.Error()
		return t
	}
	t.Done, t.Outcome, t.Risk, t.Reason, t.By = true, p.Outcome.String(), p.Assessment.RiskClass.String(),
		safe(p.Reason), p.By
	t.Why, t.Offers, t.Trace = p.Why, p.Offers, p.Trace
	return t
}
