package hook

import (
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Answer is what a runtime reads: of a program its output and exit status, of an
// endpoint Stdout as the body of a 200.
type Answer struct {
	Stdout []byte
	Stderr string
	Exit   int
}

// dialect is the encoder of one event.
type dialect struct {
	allow func(c Call, why string) Answer
	deny  func(c Call, why string) Answer // of what cannot be read c is empty

	// noted is allow with a text for the model; nil if the runtime cannot hand it one.
	noted func(c Call, why, note string) Answer
	// answer is noted with another input for the call; nil if the runtime takes no other input. See answered.
	answer func(c Call, why, note string, input jsontext.Value) Answer

	silence bool // an empty answer with status 0 leaves the call to the runtime's own rules
}

// Allow lets a call run, and why is for people.
func (e Event) Allow(c Call, why string) Answer { return e.dialect.allow(c, line(why)) }

// Answer encodes a verdict for the runtime. If silent, an allow by policy alone leaves the call to the runtime's own
// rules, if the event has such an answer.
func (e Event) Answer(c Call, v Verdict, silent bool) Answer {
	switch note := v.note(); {
	case !v.Allow && note != "":
		return e.Deny(c, behind(v.Why, note))
	case !v.Allow:
		return e.Deny(c, v.Why)
	case v.Confined != nil: // before all other answers, of which each would run the command as it is
		return e.confined(c, v, note)
	case c.Instead != nil:
		return e.dialect.answer(c, line(v.Why), note, c.Instead)
	case v.Policy && silent:
		return e.Silent(c, v.Why)
	case note != "" && e.dialect.answer != nil:
		return e.dialect.answer(c, line(v.Why), note, answered(c, v.Notes))
	case note != "" && e.HandsNotes():
		return e.dialect.noted(c, line(v.Why), note)
	}
	return e.Allow(c, v.Why)
}

// HandsNotes reports whether the runtime hands the model what a person said with a yes.
func (e Event) HandsNotes() bool { return e.dialect.noted != nil }

// CanBeSilent reports whether the event has an answer that leaves the call to the runtime's own rules.
func (e Event) CanBeSilent() bool { return e.dialect.silence }

// Silent leaves the call to the runtime's own rules. It is an allow if the event has no such answer.
func (e Event) Silent(c Call, why string) Answer {
	if !e.dialect.silence {
		return e.Allow(c, why)
	}
	return Answer{}
}

// Deny keeps a call from running. The model reads why, if the runtime shows it.
func (e Event) Deny(c Call, why string) Answer {
	text := line(why)
	if text == "" {
		text = "denied"
	}
	return e.dialect.deny(c, text)
}

// Decode reads the event's body.
func (e Event) Decode(raw []byte) (Call, error) { return e.decode(raw) }

// LastResort is the one deny that blocks in Claude Code, Codex, Gemini CLI, Qwen Code,
// Goose and, without its sentence, Copilot CLI: for a caller whose runtime is not
// known. There is no allow that all of them understand.
func LastResort(why string) Answer { return blocking(line(why)) }

func blocking(why string) Answer {
	return Answer{Stdout: encode(words{"decision", "block", "reason", why}), Stderr: why, Exit: 2}
}

// maxLine is how many bytes of a sentence are sent.
const maxLine = 2000

// line makes one line of a text, since what follows a break may be read as something
// else.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Cf) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return cut(strings.Join(strings.Fields(s), " "), maxLine)
}

// words are the names and values of a flat object.
type words []string

func (w words) object() map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(w); i += 2 {
		m[w[i]] = w[i+1]
	}
	return m
}

// encode writes an object; its values are text, objects, or lists of text.
func encode(v any) []byte {
	if flat, ok := v.(words); ok {
		v = flat.object()
	}
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // plain text always marshals
	}
	return out
}

// output is an answer that consists of JSON on stdout alone.
func output(v any) Answer { return Answer{Stdout: encode(v)} }

// specific wraps an answer as Claude Code and those that follow it want it.
func specific(v any) Answer { return output(map[string]any{"hookSpecificOutput": v}) }

// claudePre is the dialect of PreToolUse in Claude Code, Qwen Code, and Copilot CLI
// with a capital P.
func claudePre() dialect {
	answer := func(decision, why string) Answer {
		return specific(map[string]string{
			"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": why,
		})
	}
	return dialect{
		allow: func(_ Call, why string) Answer { return answer("allow", why) },
		deny:  func(_ Call, why string) Answer { return answer("deny", why) },
		noted: func(_ Call, why, note string) Answer {
			return specific(map[string]string{"hookEventName": "PreToolUse", "permissionDecision": "allow",
				"permissionDecisionReason": why, "additionalContext": note})
		},
	}
}

// deaf is the dialect of a runtime that was seen to drop the text.
func (d dialect) deaf() dialect {
	d.noted = nil
	return d
}

// orSilent is the dialect of a runtime whose own rules were seen to decide after an empty answer.
func (d dialect) orSilent() dialect {
	d.silence = true
	return d
}

// claudePermission is the dialect of PermissionRequest in Claude Code.
func claudePermission() dialect {
	d := codexPermission()
	plain := d.allow
	d.allow = func(c Call, why string) Answer {
		if c.Echo() == nil {
			return plain(c, why)
		}
		return permission(map[string]any{"behavior": "allow", "updatedInput": c.Echo()})
	}
	return d
}

// codexPermission is the same in Codex, which accepts no changed input.
func codexPermission() dialect {
	return dialect{
		allow: func(Call, string) Answer { return permission(words{"behavior", "allow"}.object()) },
		deny: func(_ Call, why string) Answer {
			return permission(words{"behavior", "deny", "message", why}.object())
		},
	}
}

func permission(decision any) Answer {
	return specific(map[string]any{"hookEventName": "PermissionRequest", "decision": decision})
}

// claudePost is the dialect of PostToolUse: the call can no longer be denied, but
// the model reads why the result did not reach the desk.
func claudePost() dialect {
	return dialect{
		allow: func(Call, string) Answer { return specific(map[string]string{"hookEventName": "PostToolUse"}) },
		deny:  func(_ Call, why string) Answer { return output(words{"decision", "block", "reason", why}) },
	}
}

// notedAfter is the dialect of an event after the call by which the runtime hands the model a text.
func (d dialect) notedAfter(event string) dialect {
	d.noted = func(_ Call, _, note string) Answer {
		return specific(words{"hookEventName", event, "additionalContext", note}.object())
	}
	return d
}

// claudePostFailure is the same of PostToolUseFailure, which accepts no decision.
func claudePostFailure() dialect {
	answer := words{"hookEventName", "PostToolUseFailure"}
	return dialect{
		allow: func(Call, string) Answer { return specific(answer.object()) },
		deny: func(_ Call, why string) Answer {
			return specific(append(answer[:2:2], "additionalContext", why).object())
		},
	}
}

// codexPre allows by silence: an allow without another input is not valid there.
func codexPre() dialect {
	d := claudePre()
	d.allow = func(Call, string) Answer { return Answer{} }
	d.noted = func(_ Call, _, note string) Answer {
		return specific(words{"hookEventName", "PreToolUse", "additionalContext", note}.object())
	}
	return d
}

func geminiBefore() dialect {
	return dialect{
		allow: func(Call, string) Answer { return output(words{"decision", "allow"}) },
		deny:  func(_ Call, why string) Answer { return output(words{"decision", "deny", "reason", why}) },
	}
}

// copilotPre is the dialect of preToolUse with a small p.
func copilotPre() dialect {
	return dialect{
		allow: func(Call, string) Answer { return output(words{"permissionDecision", "allow"}) },
		deny: func(_ Call, why string) Answer {
			return output(words{"permissionDecision", "deny", "permissionDecisionReason", why})
		},
		noted: func(_ Call, _, note string) Answer {
			return output(words{"permissionDecision", "allow", "additionalContext", note})
		},
	}
}

// copilotAsk is the dialect of permissionRequest, in either spelling.
func copilotAsk() dialect {
	return dialect{
		allow: func(Call, string) Answer { return output(words{"behavior", "allow"}) },
		deny:  func(_ Call, why string) Answer { return output(words{"behavior", "deny", "message", why}) },
	}
}

func cursorBefore() dialect {
	return dialect{
		allow: func(Call, string) Answer { return output(words{"permission", "allow"}) },
		deny: func(_ Call, why string) Answer {
			return output(words{"permission", "deny", "user_message", why, "agent_message", why})
		},
	}
}

func goosePre() dialect {
	return dialect{
		allow: func(Call, string) Answer { return output(words{"decision", "allow"}) },
		deny:  func(_ Call, why string) Answer { return blocking(why) },
	}
}

// byStatus is the dialect of runtimes that read the exit status alone.
func byStatus() dialect {
	return dialect{
		allow: func(Call, string) Answer { return Answer{} },
		deny:  func(_ Call, why string) Answer { return Answer{Stderr: why, Exit: 2} },
	}
}

func clinePre() dialect {
	return dialect{
		allow: func(Call, string) Answer { return Answer{Stdout: []byte("{}")} },
		deny:  clineDeny,
		noted: func(_ Call, _, note string) Answer {
			return output(map[string]any{"cancel": false, "contextModification": note})
		},
	}
}

// clineDeny denies one command by running another one in its place, which prints
// the reason and fails. If the input cannot be replaced, only ending the run stops
// the call.
func clineDeny(c Call, why string) Answer {
	if !c.replaceable {
		return output(map[string]any{"cancel": true, "errorMessage": why})
	}
	commands := []string{"echo approvalbot: " + unquoted(why) + " >&2; exit 1"}
	return output(map[string]any{"overrideInput": map[string]any{"commands": commands}})
}

// unquoted leaves of a text what no shell takes for anything but text: it goes into
// a command line, and people's reasons are in it.
func unquoted(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".,:_/-", r) {
			return r
		}
		return ' '
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
