package textcmd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

func TestCanonicalForms(t *testing.T) {
	for want, cmd := range map[string]Command{
		"/approve K7QX2M":                once(""),
		"/approve K7QX2M session":        session(""),
		"/approve K7QX2M always":         always(""),
		"/deny K7QX2M":                   denied(""),
		"/denyreason K7QX2M":             {Verb: DenyReason, Code: code, Decision: approval.Deny},
		"/more K7QX2M":                   {Verb: More, Code: code},
		"/back K7QX2M":                   {Verb: Back, Code: code},
		"/details K7QX2M":                {Verb: Details, Code: code},
		"/show K7QX2M":                   {Verb: Show, Code: code},
		"/denyall K7QX2M 12":             {Verb: DenyAll, Code: code, Version: 12},
		"/approve K7QX2M once: fine":     once("fine"),
		"/approve K7QX2M session: fine":  session("fine"),
		"/deny K7QX2M too risky":         denied("too risky"),
		"/pending":                       {Verb: Pending},
		"/approve K7QX2M once: two more": once(" two\nmore "),
	} {
		require.Equal(t, want, cmd.String())
	}
}

func TestPayloadIsOnlyTheCanonicalForm(t *testing.T) {
	for _, data := range []string{
		"/approve K7QX2M", "/approve K7QX2M session", "/approve K7QX2M always", "/deny K7QX2M",
		"/denyreason K7QX2M", "/more K7QX2M", "/back K7QX2M", "/details K7QX2M", "/show K7QX2M",
		"/denyall K7QX2M 1", "/denyall K7QX2M 9223372036854775807",
	} {
		cmd, ok := ParsePayload(data)
		require.True(t, ok, data)
		require.Equal(t, data, cmd.String())
		require.LessOrEqual(t, len(data), 64)
	}
	for _, data := range []string{
		"", "/approve", "/approve k7qx2m", "/approve  K7QX2M", "/approve K7QX2M ", "/approve K7QX2M once",
		"/approve session K7QX2M", "/approve K7QX2M fine", "/approve K7QX2M session: fine", "/approve K7QX2M deny",
		"/deny K7QX2M no", "/deny NONSENSE", "/more", "/pending", "approve K7QX2M", "/Approve K7QX2M",
		"/approve@bot K7QX2M", "/approve K7QX2M\n/deny K7QX2M", "tga1:e:o:K7QX2M",
		"/denyall K7QX2M", "/denyall K7QX2M 0", "/denyall K7QX2M -1", "/denyall K7QX2M 01", "/denyall K7QX2M +1",
		"/denyall K7QX2M 9223372036854775808", "/denyall NONSENSE 1", "/denyall 1", "/denyall K7QX2M 1 2",
	} {
		cmd, ok := ParsePayload(data)
		require.False(t, ok, "%q", data)
		require.Zero(t, cmd)
	}
}

// The second button of an R4 call is on buttons only, in one spelling.
func TestConfirmIsOnButtonsOnly(t *testing.T) {
	const proof = "jYKDSB194eAL2UWN"
	for data, want := range map[string]Command{
		"/confirm K7QX2M allow-once " + proof: {Verb: Confirm, Code: code, Decision: approval.AllowOnce, Proof: proof},
		"/confirm K7QX2M retry " + proof:      {Verb: Confirm, Code: code, Decision: approval.Retry, Proof: proof},
	} {
		cmd, ok := ParsePayload(data)
		require.True(t, ok, data)
		require.Equal(t, want, cmd)
		require.LessOrEqual(t, len(data), 64)
		typed, _ := Parse(data, Context{})
		require.NotEqual(t, Confirm, typed.Verb, "nobody types it")
	}
	for _, data := range []string{
		"/confirm K7QX2M", "/confirm K7QX2M allow-once", "/confirm K7QX2M allow-session " + proof, "/confirm K7QX2M allow-always " + proof,
		"/confirm K7QX2M deny " + proof, "/confirm k7qx2m allow-once " + proof, "/confirm K7QX2M allow-once  " + proof,
		"/confirm K7QX2M allow-once " + proof + " x", "/confirm NONSENSE allow-once " + proof,
	} {
		_, ok := ParsePayload(data)
		require.False(t, ok, data)
	}
}
