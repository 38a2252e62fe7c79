package web

import (
	"context"
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
	Looser  []string // changes that would loosen the rules, or may
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

// trial is a call that a person tries, and policy's answer to it.
type trial struct {
	Tool, Params, Agent, Workdir string
	Problem                      string
	Done                         bool
	Outcome, Risk, Reason, By    string
	Why                          []string
	Offers                       []approval.Decision
	Trace                        []approval.Step
}

// policyPages show the rules in force, and their answer to a call.
type policyPages struct {
	page
	effective func(context.Context) (api.Policy, error) // nil: it is not shown
	onDisk    func(context.Context) OnDisk              // nil: there is no file
}

func (p *policyPages) routes() []route {
	return []route{
		{pattern: "GET /policy", serve: p.policy},
		{pattern: "POST /policy", serve: p.policy},
	}
}

// policy shows the rules in force. A POST tries a call and changes no state.
func (p *policyPages) policy(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	if !p.operator(out, r, v) {
		return
	}
	r.Body = http.MaxBytesReader(out, r.Body, maxFields)
	d := policyView{Try: trial{Tool: "exec"}}
	if p.effective != nil {
		var err error
		if d.Policy, err = p.effective(r.Context()); err != nil {
			p.refuse(out, r, s, err)
			return
		}
		d.Known = true
	}
	if p.onDisk != nil {
		disk := p.onDisk(r.Context())
		d.Disk = &disk
	}
	if r.Method == http.MethodPost {
		d.Try = p.try(r, v)
	}
	p.show(out, http.StatusOK, policyPage(p.head(s, "Policy"), d))
}

// try judges a call as the API's evaluate does.
func (p *policyPages) try(r *http.Request, v reader) trial {
	t := trial{Tool: strings.TrimSpace(r.PostFormValue("tool")), Params: strings.TrimSpace(r.PostFormValue("params")),
		Agent: strings.TrimSpace(r.PostFormValue("agent")), Workdir: strings.TrimSpace(r.PostFormValue("workdir"))}
	call := approval.Call{ToolName: t.Tool, Params: json.RawMessage(t.Params), AgentID: t.Agent}
	if t.Tool == "exec" && !strings.HasPrefix(t.Params, "{") { // a command line, as people write it
		call.Params, _ = json.Marshal(map[string]string{"command": t.Params})
	}
	if t.Workdir != "" {
		call.Bind = &approval.Bind{Workdir: &t.Workdir}
	}
	j, err := p.gate.Evaluate(r.Context(), v.caller, call)
	if err != nil {
		if approval.CodeOf(err) == "" {
			p.log.Error("could not judge a call for the policy page; the person was told to try again",
				"person", v.session.Person, "tool", t.Tool, "reason", err)
			t.Problem = "The desk could not judge it now; try again."
			return t
		}
		t.Problem = err.Error()
		return t
	}
	t.Done, t.Outcome, t.Risk, t.Reason, t.By = true, j.Outcome.String(), j.Assessment.RiskClass.String(),
		safe(j.Reason), j.By
	t.Why, t.Offers, t.Trace = j.Why, j.Offers, j.Trace
	return t
}
