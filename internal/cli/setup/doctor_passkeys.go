package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/signin"
	"approvalbot/internal/store"
)

// passkeyFindings says whose passkeys are suspended and, if a yes must be signed, who could sign
// one.
func passkeyFindings(ctx context.Context, cfg config.Config) (found []core.Diagnostic) {
	signed := cfg.Approvals.Enabled() && len(effective.StepUp(cfg)) > 0
	if !signed && !cfg.Server.WebOn() {
		return nil
	}
	classes, err := effective.Classes(cfg)
	if err != nil {
		return nil // policyFindings have said so
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	all, suspended, err := store.PasskeysIn(ctx, store.Options{URL: cfg.Store.URL})
	if err != nil {
		if !signed {
			return nil // they only sign in, and there may be no store yet
		}
		return []core.Diagnostic{core.Warn("passkeys", "cannot be read: "+oneLine(err),
			"start the desk, which makes the store or brings an older schema up to date")}
	}
	if signed {
		found = holderFindings(classes, all)
	}
	return append(found, suspendedFindings(suspended)...)
}

// suspendedFindings say whose passkeys are suspended.
func suspendedFindings(all []signin.Passkey) []core.Diagnostic {
	counts := map[string]int{}
	for _, p := range all {
		counts[p.Person]++
	}
	var who []string
	for _, person := range slices.Sorted(maps.Keys(counts)) {
		who = append(who, fmt.Sprintf("%s (%d)", person, counts[person]))
	}
	if len(who) == 0 {
		return nil
	}
	return []core.Diagnostic{core.OK("passkeys", "suspended, because the configuration did not name their owners "+
		"for a time; a suspended passkey signs no yes, so its owner must make a new one: "+strings.Join(who, ", "))}
}

// holderFindings compares the people who could approve with those who have a passkey.
func holderFindings(classes []effective.ClassPolicy, all []signin.Passkey) (found []core.Diagnostic) {
	deciders := classes[0].People
	without := slices.DeleteFunc(slices.Clone(deciders), func(who string) bool {
		return slices.ContainsFunc(all, func(p signin.Passkey) bool { return p.Person == who })
	})
	have := len(deciders) - len(without)
	enrol := "approvalbot login --enrol PERSON gives each a link to make one"
	for _, c := range classes {
		if c.StepUp && c.Outcome == "ask" && have < c.Need {
			found = append(found, core.Fail("passkeys", fmt.Sprintf("%s needs %d signed approvals, and %d of those who "+
				"could approve have a passkey: such requests are denied at once", c.Class, c.Need, have), enrol))
		}
	}
	switch {
	case len(without) > 0:
		found = append(found, core.Warn("passkeys", "a yes must be signed, and these people have no passkey for it: "+
			strings.Join(without, ", "), enrol))
	case len(found) == 0:
		found = append(found, core.OK("passkeys", "everyone who could approve has one"))
	}
	return found
}
