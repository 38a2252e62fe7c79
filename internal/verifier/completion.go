package verifier

import (
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
)

// completion is the body of a request to /chat/completions.
type completion struct {
	Model           string         `json:"model"`
	Messages        []message      `json:"messages"`
	Temperature     *int           `json:"temperature,omitzero"`
	ReasoningEffort string         `json:"reasoning_effort,omitzero"`
	ResponseFormat  jsontext.Value `json:"response_format"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// request writes the body for a call. Cut says that the params did not fit whole.
func (c *Classifier) request(call approval.Call, static approval.Judgement) (body []byte, cut bool, err error) {
	data, cut, err := describe(call, static, c.cfg.MaxInputChars)
	if err != nil {
		return nil, cut, err
	}
	q := completion{
		Model:           c.cfg.Model,
		Messages:        []message{{"system", instructions}, {"user", framed(data)}},
		ReasoningEffort: effort(c.cfg.Model),
		ResponseFormat:  responseFormat(),
	}
	if q.ReasoningEffort == "" {
		q.Temperature = new(0)
	}
	body, err = json.Marshal(q)
	return body, cut, err
}

var (
	reasoners = lazy.Pattern(`(?i)^(?:.*/)?(?:gpt-[5-9]|o[1-9](?:$|-))`)
	minimal   = lazy.Pattern(`(?i)^(?:.*/)?gpt-5(?:-mini|-nano)?(?:-\d{4}-\d{2}-\d{2})?$`)
)

// effort tells a reasoning model to think as little as it can, since there is
// about a second. Such models refuse a temperature. Others get "".
func effort(model string) string {
	switch {
	case minimal.MatchString(model):
		return "minimal"
	case reasoners.MatchString(model):
		return "low"
	}
	return ""
}

// sideEffects are the words that an answer may use.
var sideEffects = []approval.SideEffect{
	approval.FilesystemRead, approval.FilesystemWrite, approval.ProcessExec, approval.NetworkRead, approval.ExternalWrite, approval.MessageSend,
	approval.Payment, approval.CredentialAccess, approval.SecurityChange, approval.DataLoss, approval.NoSideEffect,
}

// responseFormat asks for exactly the answer that readOpinion takes. Lengths
// and bounds are left out, since strict mode does not know them everywhere.
var responseFormat = sync.OnceValue(func() jsontext.Value {
	words := make([]string, len(sideEffects))
	for i, e := range sideEffects {
		words[i] = `"` + string(e) + `"`
	}
	return jsontext.Value(`{"type":"json_schema","json_schema":{"name":"risk","strict":true,"schema":{"type":"object","additionalProperties":false,` +
		`"required":["riskClass","sideEffects","confidence","reasonCodes"],"properties":{` +
		`"riskClass":{"type":"string","enum":["R0","R1","R2","R3","R4"]},` +
		`"sideEffects":{"type":"array","items":{"type":"string","enum":[` + strings.Join(words, ",") + `]}},` +
		`"confidence":{"type":"number"},` +
		`"reasonCodes":{"type":"array","items":{"type":"string"}}}}}}`)
})
