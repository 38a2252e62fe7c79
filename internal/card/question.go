package card

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// QuestionTool is the tool by which Claude Code's model asks its user. Its hook takes the answer.
const QuestionTool = "AskUserQuestion"

// maxAnswers is how many options a question may have that is answered by a button.
const maxAnswers = 8

// questionFacts gives the facts of a call that asks one question with options of which one is chosen. It gives
// nil for any other call, and for one with a member that these facts would not show. Each option has a line with
// its number.
func questionFacts(call approval.Call) []Fact {
	var in any
	if call.ToolName != QuestionTool || json.Unmarshal(call.Params, &in) != nil {
		return nil
	}
	questions, _ := only(in, "questions")["questions"].([]any)
	if len(questions) != 1 {
		return nil
	}
	q := only(questions[0], "question", "header", "multiSelect", "options")
	asked, _ := q["question"].(string)
	header, isText := q["header"].(string)
	options, _ := q["options"].([]any)
	if asked == "" || !isText && q["header"] != nil || q["multiSelect"] != false || len(options) == 0 || len(options) > maxAnswers {
		return nil
	}
	lines := []string{strings.TrimPrefix(display.Safe(header)+": ", ": ") + display.Safe(asked)}
	for i, o := range options {
		option := only(o, "label", "description")
		label, labelled := option["label"].(string)
		says, described := option["description"].(string)
		if !labelled || !described && option["description"] != nil {
			return nil
		}
		if lines = append(lines, fmt.Sprintf("%d. %s", i+1, display.Safe(label))); says != "" {
			lines = append(lines, "   "+display.Safe(says))
		}
	}
	return []Fact{{Name: "question", Value: strings.Join(lines, "\n"), Block: true}}
}

// OptionNumber reads the number of an option, as a card shows it; 0 if the text is anything else, such as "+1" or
// "01".
func OptionNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(n) != text {
		return 0
	}
	return max(n, 0)
}

// only gives v as an object if it has no members other than these names; else nil.
func only(v any, names ...string) map[string]any {
	members, _ := v.(map[string]any)
	for name := range members {
		if !slices.Contains(names, name) {
			return nil
		}
	}
	return members
}

// answers are the options of a question that the payload asks, in order.
func answers(a approval.Approval, payload []Fact) (out []string) {
	i := slices.IndexFunc(payload, func(f Fact) bool { return f.Block && f.Name == "question" })
	if a.ToolName != QuestionTool || i < 0 {
		return nil
	}
	_, options, _ := strings.Cut(payload[i].Value, "\n") // the first line is what is asked
	for line := range strings.SplitSeq(options, "\n") {
		if label, is := strings.CutPrefix(line, fmt.Sprintf("%d. ", len(out)+1)); is {
			out = append(out, label)
		}
	}
	return out
}

// AnswerNote is the note for answer n of a question, counted from 1: its text if that identifies it and is
// unchanged from the call; else its number.
func AnswerNote(answers []string, n int) string {
	chosen := answers[n-1]
	text, no := approval.ReadNote(chosen)
	_, numeric := strconv.Atoi(text)
	alike := 0
	for _, other := range answers {
		if strings.EqualFold(other, text) {
			alike++
		}
	}
	changed := strings.Contains(text, "[REDACTED]") || strings.ContainsAny(text, `\`)
	if no == nil && text == chosen && numeric != nil && alike == 1 && !changed {
		return text
	}
	return strconv.Itoa(n)
}
