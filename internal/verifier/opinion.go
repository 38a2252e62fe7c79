package verifier

import (
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
)

const maxReasonCodes = 16

var reasonCode = lazy.Pattern(`^[a-z0-9-]+$`)

// envelope is the part of a completion that counts. Other members, such as the
// model's thinking, are neither read nor kept.
type envelope struct {
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Role         string           `json:"role"`
			Content      *string          `json:"content"`
			Refusal      *string          `json:"refusal"`
			ToolCalls    []jsontext.Value `json:"tool_calls"`
			FunctionCall *jsontext.Value  `json:"function_call"`
		} `json:"message"`
	} `json:"choices"`
}

// readOpinion reads a completion. It takes one choice that the model finished,
// without a refusal or a tool call, whose content is exactly the JSON object
// that was asked for. Its reason codes are the model's own words.
func readOpinion(body []byte) (approval.Assessment, *failure) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return odd("its answer is not the JSON of a completion")
	}
	if len(e.Choices) != 1 {
		return odd("its answer has not exactly one choice")
	}
	choice := e.Choices[0]
	m := choice.Message
	switch {
	case choice.FinishReason != "stop":
		return odd("the model did not finish its answer")
	case m.Refusal != nil && *m.Refusal != "":
		return odd("the model refused to answer")
	case len(m.ToolCalls) > 0 || m.FunctionCall != nil && m.FunctionCall.Kind() != 'n':
		return odd("the model wants to call a tool")
	case m.Role != "" && m.Role != "assistant" || m.Content == nil:
		return odd("its answer has no content")
	}
	return readAssessment([]byte(*m.Content))
}

// readAssessment reads what the model wrote. Pointers tell what is missing or
// null from what is zero: R0 must have been said.
func readAssessment(content []byte) (approval.Assessment, *failure) {
	var r struct {
		RiskClass   *approval.RiskClass    `json:"riskClass"`
		SideEffects *[]approval.SideEffect `json:"sideEffects"`
		Confidence  *float64               `json:"confidence"`
		ReasonCodes *[]string              `json:"reasonCodes"`
	}
	if err := json.Unmarshal(content, &r, json.RejectUnknownMembers(true)); err != nil {
		return odd("the opinion is not exactly the JSON object that was asked for")
	}
	risk := r.RiskClass != nil && r.SideEffects != nil
	grounds := r.Confidence != nil && r.ReasonCodes != nil
	if !risk || !grounds {
		return odd("the opinion lacks a field")
	}
	switch {
	case math.IsNaN(*r.Confidence) || *r.Confidence < 0 || *r.Confidence > 1:
		return odd("the opinion's confidence is not between 0 and 1")
	case !validEffects(*r.SideEffects):
		return odd("the opinion's side effects are not from the list, or contradict each other")
	case len(*r.ReasonCodes) > maxReasonCodes || slices.ContainsFunc(*r.ReasonCodes,
		func(s string) bool { return len(s) > 64 || !reasonCode.MatchString(s) }):
		return odd("the opinion's reason codes are too many or malformed")
	}
	return approval.Assessment{
		RiskClass: *r.RiskClass, SideEffects: *r.SideEffects, Confidence: *r.Confidence, Source: "classifier",
		ReasonCodes: *r.ReasonCodes,
	}, nil
}

// validEffects accepts known words, each once, and "none" only alone.
func validEffects(list []approval.SideEffect) bool {
	seen := map[approval.SideEffect]bool{}
	for _, e := range list {
		notAlone := e == approval.NoSideEffect && len(list) > 1
		if !slices.Contains(sideEffects, e) || seen[e] || notAlone {
			return false
		}
		seen[e] = true
	}
	return true
}

func odd(text string) (approval.Assessment, *failure) {
	return approval.Assessment{}, problem("invalid", text)
}
