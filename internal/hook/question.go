package hook

import (
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// answered is the input of a call by which Claude Code's model asks its user one question, with the answer that a
// person gave as their note: an option by its number or name, or words of their own. It is nil if the call is no
// such question, or if the notes give no answer or several: then the agent asks its user itself.
func answered(c Call, notes []Note) jsontext.Value {
	var in struct {
		Questions []struct {
			Question    string `json:"question"`
			MultiSelect bool   `json:"multiSelect"`
			Options     []struct {
				Label string `json:"label"`
			} `json:"options"`
		} `json:"questions"`
	}
	var all map[string]jsontext.Value
	if c.Tool != "AskUserQuestion" || len(notes) == 0 || jsonv2.Unmarshal(c.Params, &in) != nil ||
		jsonv2.Unmarshal(c.Params, &all) != nil || len(in.Questions) != 1 || in.Questions[0].MultiSelect {
		return nil
	}
	q, answer := in.Questions[0], notes[0].Text
	for _, n := range notes {
		if n.Text != answer {
			return nil
		}
	}
	if n := optionNumber(answer); n > 0 && n <= len(q.Options) {
		answer = q.Options[n-1].Label // also if another one is called so: the card has the number before each
	} else {
		for _, o := range q.Options {
			if strings.EqualFold(answer, o.Label) {
				answer = o.Label
				break
			}
		}
	}
	all["answers"] = encode(words{q.Question, answer})
	out, err := jsonv2.Marshal(all, jsonv2.Deterministic(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil
	}
	return out
}

// optionNumber reads the number of an option, as cards have it; 0 if the text is anything else, such as "+1" or "01".
func optionNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(n) != text {
		return 0
	}
	return max(n, 0)
}

// answering is the dialect of an event whose allow may bring the answer to the model's question.
func (d dialect) answering() dialect {
	noted := d.noted
	d.answer = func(c Call, why, note string, input jsontext.Value) Answer {
		if input == nil {
			return noted(c, why, note)
		}
		said := map[string]any{"hookEventName": "PreToolUse", "permissionDecision": "allow",
			"permissionDecisionReason": why, "updatedInput": input}
		if note != "" {
			said["additionalContext"] = note
		}
		return specific(said)
	}
	return d
}
