package effective

import (
	"slices"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/people"
)

// ClassPolicy is the configuration's treatment of one risk class.
type ClassPolicy struct {
	Class     string   `json:"class"`
	Outcome   string   `json:"outcome"` // allow, ask or deny
	Need      int      `json:"minApprovals"`
	Human     bool     `json:"requiresHuman"`
	StepUp    bool     `json:"stepUp,omitzero"` // a yes must be signed by a passkey
	People    []string `json:"people"`          // who could approve it now
	Unmapped  int      `json:"unmapped"`        // other accounts, of no configured person
	Open      bool     `json:"open"`            // a role may decide: there may be more
	Reachable bool     `json:"reachable"`
}

// Classes tells the outcome for each class and who could approve it now. A
// single call may be treated more strictly because of its targets.
func Classes(c config.Config) ([]ClassPolicy, error) {
	dir, err := people.NewDirectory(Rights(c))
	if err != nil {
		return nil, err
	}
	t := c.ApprovalTools()
	mapped, unmapped, open := dir.Eligible(nil)
	names := decidersOf(c, dir)
	var out []ClassPolicy
	for class := range approval.R4 + 1 {
		p := ClassPolicy{Class: class.String(), Outcome: outcomeOf(c, class), Need: needOf(c, class), People: names,
			StepUp: t.Policy.StepUpAtOrAbove.Reaches(class), Unmapped: unmapped, Open: open}
		p.Human = p.StepUp || t.Policy.RequireHumanApproverAtOrAbove.Reaches(class)
		have := func() int {
			if p.Need <= 1 {
				return mapped + unmapped
			}
			return mapped
		}
		for t.ClampMinApprovals && !open && p.Need > max(1, have()) {
			p.Need--
		}
		person := slices.Contains(t.AllowedApprovers, "user_request") && !slices.Contains(t.DisabledApprovers, "user_request")
		p.Reachable = person && (have() >= p.Need || open)
		out = append(out, p)
	}
	return out, nil
}

// outcomeOf is the outcome for a call by its class alone.
func outcomeOf(c config.Config, class approval.RiskClass) string {
	switch t := c.ApprovalTools(); {
	case !c.Approvals.Enabled():
		return "deny"
	case t.Mode == "off":
		return "allow"
	case t.Policy.DenyAtOrAbove.Reaches(class):
		return "deny"
	case t.Mode == "always", t.Policy.RequireApprovalAtOrAbove.Reaches(class), t.Policy.StepUpAtOrAbove.Reaches(class):
		return "ask"
	}
	return "allow"
}

// needOf is how many approvals a class needs: never fewer than a class below it.
func needOf(c config.Config, class approval.RiskClass) int {
	t := c.ApprovalTools()
	need := t.MinApprovals
	for name, n := range t.Policy.MinApprovalsByRisk {
		var of approval.RiskClass
		if of.UnmarshalText([]byte(name)) == nil && of <= class {
			need = max(need, n)
		}
	}
	return need
}

// decidersOf names the configured people who may decide on any channel.
func decidersOf(c config.Config, dir *people.Directory) []string {
	names := map[string]bool{}
	rights := Rights(c)
	for channel, ids := range rights.AllowedUsers {
		for _, id := range ids {
			if v := dir.Identify(approval.Voter{Channel: channel, UserID: id}); v.Person != "" {
				names[v.Person] = true
			}
		}
	}
	for _, person := range rights.Tokens {
		names[person] = true
	}
	out := []string{}
	for n := range names {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// View is the class as the API shows it.
func (p ClassPolicy) View() api.ClassPolicy {
	return api.ClassPolicy{RiskClass: p.Class, Outcome: p.Outcome, MinApprovals: p.Need,
		RequiresHuman: p.Human, StepUp: p.StepUp,
		People: append([]string{}, p.People...), Unmapped: p.Unmapped, Open: p.Open, Reachable: p.Reachable}
}
