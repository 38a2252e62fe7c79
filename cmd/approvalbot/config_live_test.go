package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"approvalbot/api"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/platform"
	"approvalbot/internal/schedule"
	"approvalbot/internal/server/auth"
)

const configExample = "../../config.example.yaml"

// loadText reads a configuration that must be right.
func loadText(t *testing.T, text string, env ...string) (cfg config.Config, warnings []string) {
	t.Helper()
	cfg, found, err := effective.Parse("f.yaml", []byte(text), config.NewEnviron(env), nil)
	require.NoError(t, err)
	for _, w := range found {
		warnings = append(warnings, w.String())
	}
	return cfg, warnings
}

// leavesOf lists the keys of a configuration that hold a value: of lists of blocks
// below [], of maps of blocks below *. on is the platform whose bot has them.
func leavesOf(t reflect.Type, on *platform.Row, at string) (out []string) {
	inner := func(more string) []string {
		if below := leavesOf(t.Elem(), on, at+more); len(below) > 1 {
			return below
		}
		return []string{at}
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return leavesOf(t.Elem(), on, at)
	case t.Kind() == reflect.Slice:
		return inner("[]")
	case t.Kind() == reflect.Map:
		return inner(".*")
	}
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		f := t.Field(i)
		key := f.Tag.Get("yaml")
		if f.Tag.Get("by") == "platform" {
			for j, r := range platform.Rows {
				out = append(out, leavesOf(f.Type.Elem(), &platform.Rows[j], at+"."+r.Name)...)
			}
		} else if only := f.Tag.Get("only") != ""; key != "" && (!only || on.Has(key)) {
			out = append(out, leavesOf(f.Type, on, strings.TrimPrefix(at+"."+key, "."))...)
		}
	}
	if len(out) == 0 {
		return []string{at}
	}
	return out
}

// edit is what to write at a key; nil takes it out.
type edit struct {
	key   string
	value any
}

// without takes keys out before a flip is written.
func without(keys ...string) (out []edit) {
	for _, k := range keys {
		out = append(out, edit{k, nil})
	}
	return out
}

// flips reads testdata/flips.yaml, and says what has to stand in the file beside.
func flips(t *testing.T, secret string) map[string]flip {
	t.Helper()
	text, err := os.ReadFile("testdata/flips.yaml")
	require.NoError(t, err)
	values := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), " SECRET\n", " "+secret+"\n")), values))
	all := map[string]flip{}
	for key, value := range values {
		f := flip{value: value}
		if twin, is := strings.CutSuffix(key, "File"); is {
			f.with = without(twin)
		}
		all[key] = f
	}
	beside := func(key string, from, with []edit) { all[key] = flip{from, with, all[key].value} }
	beside("server.tls.certFile", nil, []edit{{"server.tls.keyFile", "a"}})
	beside("server.tls.keyFile", nil, []edit{{"server.tls.certFile", "a"}})
	beside("store.keyFile", nil, nil)                // no secret
	beside("server.web.push.vapidKeyFile", nil, nil) // nor this
	const oidc = "server.web.oidc"
	provider := []edit{{oidc + ".issuer", "https://login.example.org"}, {oidc + ".clientId", "desk"}}
	beside(oidc+".issuer", nil, provider[1:])
	beside(oidc+".clientId", provider, nil)
	beside(oidc+".clientSecret", provider, provider)
	beside(oidc+".clientSecretFile", provider, append(without(oidc+".clientSecret"), provider...))

	agents, rule := "agents.list[].tools.verifier", "approvals.tools.rules[]"
	duty := "approvals.tools.onDuty[]"
	for _, at := range []string{agents, "tools.verifier"} {
		beside(at+".scope.include", nil, without(at+".scope.exclude"))
	}
	for _, key := range []string{".enabled", ".failMode", ".telegram.enabled"} { // of two values the stricter counts
		beside(agents+key, []edit{{"tools.verifier" + key, all[agents+key].value}}, nil)
	}
	// There is one chat, of whose people an agent's block can only take some away.
	for _, key := range []string{".telegram.chatId", ".telegram.allowedUserIds"} {
		beside(agents+key, without("tools.verifier.telegram"), nil)
		beside("tools.verifier"+key, without(agents+".telegram"), nil)
	}
	for at, other := range map[string]string{agents: "tools.verifier", "tools.verifier": agents} {
		own := append(without(other+".telegram"), edit{at + ".telegram.botToken", "654321:OTHER"})
		beside(at+".telegram.apiUrl", own, nil) // only a bot of its own has an address of its own
	}
	beside(rule+".confine", []edit{{rule + ".risk", nil}, {rule + ".role", nil}, {rule + ".minApprovals", nil}, {rule + ".outcome", "ask"}}, nil)
	beside(rule+".match.command", []edit{{rule + ".match.tool", "exec"}}, nil)
	beside(rule+".during.weekly", nil, []edit{{rule + ".during.timezone", "Europe/Berlin"}})
	beside(rule+".during.timezone", []edit{
		{rule + ".during.weekly", "Fri 16:00-Mon 08:00"}, {rule + ".during.timezone", "Europe/Berlin"},
	}, nil)
	beside(rule+".during.from", []edit{{rule + ".during.to", "2999-01-04T08:00:00+01:00"}}, nil)
	people := without(duty+".rotation", duty+".handoff", duty+".overrides")
	beside(duty+".calendar", append(people, edit{duty + ".calendar", "https://calendar.example.org/ops.ics"}), nil)
	beside("people[].name", without("approvals.tools.onDuty", "approvals.tools.routing.escalate"), nil)
	beside(duty+".name", without("approvals.tools.routing.escalate"), nil)
	beside(rule+".outcome", nil, without(rule+".risk"))
	beside(rule+".approve", nil, without(rule+".risk", rule+".role", rule+".minApprovals"))
	beside(rule+".minApprovals", nil, without(rule+".role"))
	return all
}

// flip is another value for a key, what has to be edited together with it, and what
// stands there before.
type flip struct {
	from, with []edit
	value      any
}

// put writes a value into a document: the first entry of each list, the entry "x" of
// each map.
func put(t *testing.T, doc map[string]any, e edit) {
	t.Helper()
	at := any(doc)
	parts := strings.Split(strings.ReplaceAll(strings.ReplaceAll(e.key, "[]", ".0"), "*", "x"), ".")
	for i, part := range parts {
		if list, ok := at.([]any); ok {
			n, err := strconv.Atoi(part)
			require.NoError(t, err, e.key)
			at = list[n]
			continue
		}
		block, ok := at.(map[string]any)
		require.True(t, ok, "%s: no block at %s", e.key, part)
		switch {
		case i == len(parts)-1 && e.value == nil:
			delete(block, part)
		case i == len(parts)-1:
			block[part] = e.value
		case block[part] == nil:
			block[part] = map[string]any{}
		}
		at = block[part]
	}
}

// example is config.example.yaml as a document, with what a running desk needs to be
// where it is, and with everything on.
func (r *rig) example() map[string]any {
	r.t.Helper()
	text, err := os.ReadFile(configExample)
	require.NoError(r.t, err)
	var doc map[string]any
	require.NoError(r.t, yaml.Unmarshal(text, &doc))
	running := r.desk.Config()
	telegram, discord := running.Channels.Bots["telegram"], running.Channels.Bots["discord"]
	for _, e := range []edit{
		{"server.listen", running.Server.Listen}, {"server.limits.requestsPerSecond", 100000},
		{"server.tokens[].token", agentSecret}, {"server.tokens[].callbackSecret", secondSecret},
		{"store.url", running.Store.URL}, {"store.keyFile", running.Store.KeyFile},
		{"channels.telegram.botToken", string(telegram.BotToken)}, {"channels.telegram.apiUrl", telegram.APIURL},
		{"channels.discord.botToken", string(discord.BotToken)}, {"channels.discord.apiUrl", discord.APIURL},
		{"approvals.tools.classifier", map[string]any{
			"enabled": true, "provider": "openai", "model": "m", "apiUrl": "https://c.example.org", "apiKey": "k",
		}},
		{"approvals.tools.policy.minApprovalsByRisk", map[string]int{"R3": 1}},
		{"approvals.tools.onDuty", []any{map[string]any{
			"name": "ops", "among": []string{"alice", "bob"}, "timezone": "Europe/Berlin",
			"rotation": []string{"alice", "bob"}, "handoff": "Mon 09:00", "overrides": []any{
				map[string]any{"who": "bob", "from": "2026-12-24T09:00:00+01:00", "to": "2026-12-27T09:00:00+01:00"},
			},
		}}},
		{"approvals.tools.routing.remindAfter", []string{"2s"}},
		{"approvals.tools.routing.escalate", []any{map[string]any{"after": "2s", "to": "onDuty"}}},
		{"agents.list[].tools.verifier", verified("https://w.example.org")},
		{"tools.verifier", verified("https://v.example.org")},
		{"tools.providers.*", map[string]any{}}, {"tools.groups.*", map[string]any{}},
		{"agents.list[].tools.providers.*", map[string]any{}},
	} {
		put(r.t, doc, e)
	}
	tokens := doc["server"].(map[string]any)["tokens"].([]any)
	tokens[1].(map[string]any)["token"] = operatorSecret
	people := doc["people"].([]any)
	doc["people"] = append(people, map[string]any{"name": "bob", "telegram": 111111119, "roles": []string{"dev"}})
	put(r.t, doc, edit{"channels.telegram.allowedUserIds", []int{111111111, 111111119}})
	return doc
}

// verified is a verifier with everything on.
func verified(url string) map[string]any {
	return map[string]any{
		"enabled": true, "failMode": "deny", "scope": map[string]any{"exclude": []string{"read"}},
		"webhook":  map[string]any{"url": url, "secret": "0123456789abcdef", "headers": map[string]string{"X-Key": "a"}},
		"telegram": map[string]any{"enabled": true, "chatId": "123456789", "allowedUserIds": []int{111111111}},
	}
}

// inForce prints what the running parts go by, none of it from the configuration
// that they were handed.
func (r *rig) inForce() string {
	r.t.Helper()
	var out strings.Builder
	rules := r.desk.Gate.Rules()
	dump(&out, reflect.ValueOf(rules), map[uintptr]bool{})
	for _, secret := range []string{agentSecret, "another-agent-secret"} {
		who, _, ok := r.desk.Server.Tokens.Holder(auth.Hash(secret))
		fmt.Fprintf(&out, "\ntoken %v %+v", ok, who)
	}
	for _, name := range []string{"main-agent", "other-agent"} {
		owner, ok := r.desk.CallbackOwner(name)
		fmt.Fprintf(&out, "\nowner %v %+v", ok, owner)
	}
	fmt.Fprintf(&out, "\nissuer %s", r.desk.Auditor.Issuer())
	fmt.Fprintf(&out, "\nlog kept in %v", r.desk.Auditor.Chats())
	return out.String()
}

// dump prints a value with all below it that is ours and does not change by itself.
// The policy's hash, and what is in it alone, is nothing that anybody goes by.
func dump(out *strings.Builder, v reflect.Value, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.Type() == reflect.TypeFor[*time.Location]() && !v.IsNil() {
			fmt.Fprint(out, v.Elem().FieldByName("name"))
			return
		}
		if v.IsNil() || v.Kind() == reflect.Pointer && seen[v.Pointer()] {
			return
		}
		if v.Kind() == reflect.Pointer {
			seen[v.Pointer()] = true
		}
		dump(out, v.Elem(), seen)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			fmt.Fprint(out, v.FieldByName("wall"), v.FieldByName("ext"))
			return
		}
		pkg := v.Type().PkgPath()
		if pkg != "" && !strings.HasPrefix(pkg, "approvalbot/") && pkg != "net/url" {
			return
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if slices.Contains([]string{"hash", "Beside", "breaker", "now"}, name) || readMeanwhile(v.Type(), name) {
				continue
			}
			out.WriteString(name + "{")
			dump(out, v.Field(i), seen)
			out.WriteString("}")
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			dump(out, v.Index(i), seen)
			out.WriteString(",")
		}
	case reflect.Map:
		entries := map[string]string{}
		for _, k := range v.MapKeys() {
			var key, value strings.Builder
			dump(&key, k, seen)
			dump(&value, v.MapIndex(k), seen)
			entries[key.String()] = value.String()
		}
		for _, k := range slices.Sorted(maps.Keys(entries)) {
			out.WriteString(k + ":" + entries[k] + ",")
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	default:
		fmt.Fprint(out, v)
	}
}

// readMeanwhile reports what a running desk has read of a calendar, which no key says.
func readMeanwhile(of reflect.Type, field string) bool {
	said := slices.Contains([]string{"source", "emails", "zone"}, field)
	return of == reflect.TypeFor[schedule.Calendar]() && !said
}

// elsewhere are the keys whose effect is seen by asking, and how.
var elsewhere = map[string]func(*rig) string{
	"server.limits.requestsPerSecond": func(r *rig) string {
		for range 50 {
			if _, err := r.agent().List(r.ctx(), api.Filter{}); err != nil {
				return err.Error()
			}
		}
		return "no limit"
	},
	"server.production": func(r *rig) string {
		owner, _ := r.desk.CallbackOwner("main-agent") // at the call itself; tokens show it too
		return fmt.Sprint(owner.Secure)
	},
	"approvals.agentshield.enabled": func(r *rig) string {
		w := r.gateway(agentSecret)
		w.send("2", "agentshield.approval.list", "{}")
		return fmt.Sprint(w.answer("2").OK)
	},
	// All that it says is that the address may be reached from elsewhere.
	"server.behindProxy": func(r *rig) string {
		doc := r.read()
		put(r.t, doc, edit{"server.listen", "0.0.0.0:1"})
		text, err := yaml.Marshal(doc)
		require.NoError(r.t, err)
		_, _, err = effective.Parse("f.yaml", text, config.Environ{}, nil)
		return fmt.Sprint(err)
	},
}

func (r *rig) read() (doc map[string]any) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "approvalbot.yaml"))
	require.NoError(r.t, err)
	require.NoError(r.t, yaml.Unmarshal(text, &doc))
	return doc
}

// loads writes a document with edits, and has the running desk read it.
func (r *rig) loads(edits ...edit) (api.Reloaded, error) {
	r.t.Helper()
	doc := r.example()
	for _, e := range edits {
		put(r.t, doc, e)
	}
	text, err := yaml.Marshal(doc)
	require.NoError(r.t, err)
	r.write(string(text))
	return r.desk.Reload(r.ctx(), "token:test")
}

// No key is silent: what an operator changes on a running desk is in force after a
// reload, or named as waiting for a restart.
func TestNoSilentKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("another-agent-secret"), 0o600))
	all, leaves := flips(t, secret), leavesOf(reflect.TypeFor[config.Config](), nil, "")
	require.Greater(t, len(leaves), 140)
	unused := maps.Clone(all)
	for _, key := range leaves {
		_, has := unused[key]
		assert.True(t, has, "testdata/flips.yaml has no other value for %s", key)
		delete(unused, key)
	}
	require.Empty(t, slices.Collect(maps.Keys(unused)), "testdata/flips.yaml has keys that are none")
	_, err := r.loads()
	require.NoError(t, err)
	same := r.inForce()
	_, err = r.loads()
	require.NoError(t, err)
	require.Equal(t, same, r.inForce(), "what a reload of the same changes hides what it does not")
	for _, key := range leaves {
		f := all[key]
		look := elsewhere[key]
		if look == nil {
			look = (*rig).inForce
		}
		_, err := r.loads(f.from...)
		require.NoError(t, err, key)
		before := look(r)
		got, err := r.loads(slices.Concat(f.from, f.with, []edit{{key, f.value}})...)
		require.NoError(t, err, key)
		at := strings.TrimPrefix(key, "agents.list[].") // one bot asks for all agents
		named := slices.ContainsFunc(got.Restart, func(k string) bool { return strings.HasPrefix(at+".", k+".") })
		if !named && look(r) == before {
			t.Errorf("%s: a reload puts it in force nowhere, and does not say that it waits for a restart: %v", key, got.Restart)
		}
	}
}
