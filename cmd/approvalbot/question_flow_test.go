package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// questionsAsked is a desk whose operator wants the model's questions on the phone.
func questionsAsked(r *rig) {
	r.agentHas = ", agentId: main"
	r.tools = "    rules: [{name: questions, match: {tool: AskUserQuestion}, outcome: ask}]\n"
	hearsEverything(r)
}

const aQuestion = `{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,` +
	`"options":[{"label":"Green","description":"like grass"},{"label":"Blue","description":"like sky"}]}]}`

// A question of Claude Code's model asks people only if a rule says so. Its card has the options with numbers and
// a button for each; a tap, a number or words are the note of a yes.
func TestFlow_AQuestion(t *testing.T) {
	t.Parallel()
	quiet := newRig(t)
	a, err := quiet.agent().Create(quiet.ctx(), api.CreateRequest{ToolName: "AskUserQuestion", Params: json.RawMessage(aQuestion)}, api.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, api.Approved, a.Status, "without a rule the terminal asks")
	for said, want := range map[string]string{"tap 2. Blue": "Blue", "yes: 1": "Green", "yes: neither, ask Bob": "neither, ask Bob", "tap Allow unanswered": ""} {
		r := newRig(t, questionsAsked)
		a := r.ask(aQuestion, func(c *api.CreateRequest) { c.ToolName = "AskUserQuestion" })
		card := r.card(a)
		require.Contains(t, card.Text, "Colour: Which colour?\n1. Green\n   like grass\n2. Blue\n   like sky")
		if label, tap := strings.CutPrefix(said, "tap "); tap {
			if want == "" {
				r.menu(card.ID, "More", "Allow unanswered")
			}
			r.tap(r.alice, r.group, card.ID, label)
		} else {
			r.reply(r.group, r.alice.Say(r.group, said, fakechat.TelegramSay{ReplyTo: card.ID}))
		}
		got := r.final(a)
		require.Equal(t, api.Approved, got.Status)
		if want == "" {
			require.Empty(t, got.Notes)
		} else {
			require.Equal(t, []api.Note{{By: "person:alice", Text: want}}, got.Notes, said)
		}
	}
}

// A question of which the card cannot say all, or with several choices, is shown as it is and has no answers to tap.
func TestFlow_AQuestionOfAnotherShape(t *testing.T) {
	t.Parallel()
	r := newRig(t, questionsAsked)
	for _, odd := range []string{
		strings.Replace(aQuestion, `"multiSelect":false`, `"multiSelect":true`, 1),
		strings.Replace(aQuestion, `"multiSelect"`, `"hidden":"rm -rf /","multiSelect"`, 1),
	} {
		a := r.ask(odd, func(c *api.CreateRequest) { c.ToolName = "AskUserQuestion" })
		card := r.card(a)
		require.Contains(t, strings.ReplaceAll(card.Text, "\n  ↳", ""), "questions.0.question  Which colour?")
		for _, row := range card.Buttons {
			for _, b := range row {
				require.NotContains(t, b.CallbackData, "/answer")
			}
		}
	}
}

// The real client: what a person taps is what its model reads as the answer.
func TestAgents_AQuestion(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"tap 2. Blue": `\"Which colour?\"=\"Blue\"`, "yes: neither, ask Bob": `\"Which colour?\"=\"neither, ask Bob\"`} {
		l := lab(t, "claude-code")
		r := newRig(t, questionsAsked)
		attached(t, r, l, false)
		seed := fmt.Sprintf(`{"hasCompletedOnboarding": true, "customApiKeyResponses": {"approved": ["x"]},
			"projects": {%q: {"hasTrustDialogAccepted": true}}}`, l.Project)
		require.NoError(t, os.WriteFile(filepath.Join(l.Home, ".claude.json"), []byte(seed), 0o600))
		var args map[string]any
		require.NoError(t, json.Unmarshal([]byte(aQuestion), &args))
		useTool(l, "AskUserQuestion", "", args)
		screen := openTerminal(t, l, "--permission-mode", "default", "clean up the build folder")
		card := r.asked("Which colour?")
		if label, tap := strings.CutPrefix(said, "tap "); tap {
			if want == "" {
				r.menu(card.ID, "More", "Allow unanswered")
			}
			r.tap(r.alice, r.group, card.ID, label)
		} else {
			r.reply(r.group, r.alice.Say(r.group, said, fakechat.TelegramSay{ReplyTo: card.ID}))
		}
		screen.shows("FINAL:")
		require.Contains(t, fmt.Sprintf("%q", l.Model.Read()), strings.ReplaceAll(want, `\"`, `\"`))
	}
}
