package proof

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

func TestFingerprintIsTheDesks(t *testing.T) {
	bind := &approval.Bind{Workdir: new("/srv/app")}
	want, err := approval.Canonical("exec", json.RawMessage(`{"argv":["git","push"],"n":1}`), bind)
	require.NoError(t, err)
	got, err := Fingerprint("exec", json.RawMessage(`{ "n": 1.0, "argv": ["git", "push"] }`), bind)
	require.NoError(t, err)
	require.Equal(t, want.Fingerprint, got)
	got, err = FingerprintCall([]byte(` {"fingerprint":"0","params":{"n":1,"argv":["git","push"]},"bind":{"workdir":"/srv/app"},"toolName":"exec","claimUntilMs":5} `))
	require.NoError(t, err)
	require.Equal(t, want.Fingerprint, got)
	got, err = FingerprintCall(want.Bytes)
	require.NoError(t, err)
	require.Equal(t, want.Fingerprint, got)
	_, err = Fingerprint("exec", json.RawMessage(`[]`), nil)
	require.EqualError(t, err, "the call's params cannot be fingerprinted: they must be a JSON object")
}

func TestFingerprintCallRefusesWhatReadsTwoWays(t *testing.T) {
	for name, c := range map[string]struct{ call, want string }{
		"no JSON":               {`x`, "not a JSON object"},
		"an array":              {`[]`, "not a JSON object"},
		"cut":                   {`{"toolName":"exec"`, "not a JSON object"},
		"two of them":           {theCall + theCall, "has more text after it"},
		"no tool":               {`{"params":{}}`, "needs toolName"},
		"tool is a number":      {`{"params":{},"toolName":1}`, "needs toolName"},
		"no params":             {`{"toolName":"exec"}`, "needs toolName"},
		"params are text":       {`{"toolName":"exec","params":"x"}`, "must be a JSON object"},
		"params twice":          {`{"toolName":"exec","params":{},"params":{"a":1}}`, "twice"},
		"params in other case":  {`{"toolName":"exec","params":{},"Params":{"a":1}}`, "wrong upper or lower case"},
		"only in other case":    {`{"toolname":"exec","params":{}}`, "wrong upper or lower case"},
		"a name twice inside":   {`{"toolName":"exec","params":{"a":1,"a":2}}`, "duplicate"},
		"bind is text":          {`{"toolName":"exec","params":{},"bind":"x"}`, "bind is not a JSON object"},
		"bind has more":         {`{"toolName":"exec","params":{},"bind":{"user":"root"}}`, "other members"},
		"bind in another case":  {`{"toolName":"exec","params":{},"bind":{"Host":"a"}}`, "wrong upper or lower case"},
		"bind has a number":     {`{"toolName":"exec","params":{},"bind":{"host":1}}`, "not text"},
		"a number that changes": {`{"toolName":"exec","params":{"n":9007199254740993}}`, "survive"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := FingerprintCall([]byte(c.call))
			require.ErrorContains(t, err, c.want)
		})
	}
}
