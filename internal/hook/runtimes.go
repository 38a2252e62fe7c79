package hook

import "time"

// Runtimes is the table of agent runtimes. Its failures and limits were measured
// on the client of that version; without a version they are from its
// documentation.
func Runtimes() []Runtime {
	all := []Runtime{
		claudeCode(), codex(), geminiCLI(), qwenCode(), copilotCLI(), cursor(),
		goose(), kiro(), windsurf(), cline(), openCode(), openClaw(),
	}
	for _, r := range all {
		for i := range r.Events {
			e := &r.Events[i]
			e.decode = named(r.Title, e.decode)
			if r.HidesTyping {
				e.decode = unseen(e.decode)
			}
			if e := &r.Events[i]; e.Phase != After && !r.handsNotes(*e) {
				e.decode = unheard(e.decode, r.Title)
			}
		}
	}
	return all
}

func claudeCode() Runtime {
	return Runtime{
		Name: "claude-code", Aliases: []string{"claude"}, Title: "Claude Code", Tested: "2.1.330", Managed: true,
		Notes: "`additionalContext` of `PreToolUse`, after the call's result",
		Ways: []Way{
			{CommandHook, "PreToolUse", "every call, in every permission mode"},
			{HTTPHook, "PreToolUse", "the same without a program; the desk's URL and the token are in the settings, and the " +
				"runtime cannot recognise the desk"},
			{CommandHook, "PermissionRequest", "beside the terminal's dialog, and the first answer counts; never together " +
				"with PreToolUse"},
			{HTTPHook, "PermissionRequest", "the same; a no in the terminal closes the connection, which " +
				"withdraws the card; the runtime cannot recognise the desk"},
			{PermissionPrompt, "", "in headless runs (`--permission-prompt-tool mcp__approvalbot__permission_prompt`)"},
			{MCPToolHook, "PreToolUse", "the desk as an MCP server"},
			{ACP, "", "through an editor"},
		},
		Events: []Event{
			{
				Name: "PreToolUse", Phase: Before, HTTP: true, Command: true, CallID: true,
				decode: claudeEvent("PreToolUse", "tool_use_id"), dialect: claudePre().orSilent().answering(),
			},
			{
				Name: "PermissionRequest", Phase: Permission, HTTP: true, Command: true,
				decode: claudeEvent("PermissionRequest", ""), dialect: claudePermission(),
			},
			{
				Name: "PostToolUse", Phase: After, HTTP: true, Command: true, CallID: true,
				decode: ended(claudeEvent("PostToolUse", "tool_use_id"), claudeEnd), dialect: claudePost(),
			},
			{
				Name: "PostToolUseFailure", Phase: After, HTTP: true, Command: true, CallID: true,
				decode: ended(claudeEvent("PostToolUseFailure", "tool_use_id"), claudeFailure), dialect: claudePostFailure(),
			},
		},
		Fails: Failures{Crash: FailOpen, Timeout: FailOpen, Unreachable: FailOpen}, Closed: `onFailure: "block"`,
		Limit: Limit{Default: 10 * time.Minute, Unit: time.Second},
		Traps: []string{
			`Versions before 2.1.295 ignore onFailure. In those versions the only thing that stops the call is ` +
				`--permission-mode dontAsk with no allow rules.`,
			`If the answer is empty, {} or another runtime's JSON, the call runs in spite of onFailure.`,
			`A repository's settings can switch a user's hook off (disableAllHooks, or a copy of the hook for which Claude Code does ` +
				`not wait). --bare, --safe-mode and programs of the ` +
				`Agent SDK with settingSources: [] skip it. None of these can disable a hook in the managed settings.`,
			"Commands that a skill or a page of commands runs by itself (!`...`) are not shown to any hook. With " +
				`"disableSkillShellExecution": true in its settings Claude Code does not run them.`,
			`The modes auto and acceptEdits never ask, so PermissionRequest does not see their calls.`,
			`Exit status 2 does not deny a PermissionRequest.`,
			`The desk gets no result of a command that goes on in the background.`,
			`A PermissionRequest hook does not learn of a yes in the terminal (no closed connection, no signal). ` +
				`PostToolUse withdraws the card once the call has run, and a tap before that has no effect. After a no the card stays ` +
				`until it expires or Claude Code ends.`,
		},
	}
}

func codex() Runtime {
	return Runtime{
		Name: "codex", Title: "Codex", Tested: "0.169.0", Managed: true, HidesTyping: true,
		Notes: "`additionalContext` of `PreToolUse`, as a message with the role developer",
		Ways: []Way{
			{CommandHook, "PreToolUse", "every call; the only way in for codex exec"},
			{MCPToolHook, "PreToolUse", "no program needed; with required = true Codex does not start without the desk"},
			{CommandHook, "PermissionRequest", "before the dialog, in the terminal only; never together with " +
				"PreToolUse"},
		},
		Events: []Event{
			{
				Name: "PreToolUse", Phase: Before, Command: true, CallID: true,
				decode: codexEvent("PreToolUse", "tool_use_id"), dialect: codexPre(),
			},
			{
				Name: "PermissionRequest", Phase: Permission, Command: true,
				decode: codexEvent("PermissionRequest", ""), dialect: codexPermission(),
			},
		},
		Fails: Failures{Crash: FailOpen, Timeout: FailOpen, Unreachable: FailOpen},
		Limit: Limit{Default: 10 * time.Minute, Unit: time.Second},
		Traps: []string{
			`Codex skips a new or changed hook, without a message, until it is trusted (/hooks). ` +
				`A hook of requirements.toml is trusted.`,
			`With an http hook in config.toml Codex does not start. With an http hook in hooks.json ` +
				`Codex ignores all hooks of that file.`,
			`If a hook exits with status 2 and no text on stderr, the call runs.`,
			`No hook sees what is typed into a running program (write_stdin), or that a command has a terminal (tty). So ` +
				`a call that starts a program which takes commands from a terminal asks, and the card says that later ` +
				`typing is not shown.`,
			`codex exec never asks, so PermissionRequest does not see its calls.`,
			`Its hooks are not told whether a command failed, so no result is reported.`,
			`A trusted repository can switch hooks off (features.hooks = false), but not the hooks of requirements.toml.`,
		},
	}
}

func geminiCLI() Runtime {
	return Runtime{
		Name: "gemini-cli", Aliases: []string{"gemini"}, Title: "Gemini CLI", Tested: "0.61.0",
		Ways: []Way{
			{CommandHook, "BeforeTool", "every call; in headless runs too, if a policy rule allows the tool"},
			{ACP, "", "always fails closed, no limit"},
		},
		Events: []Event{{
			Name: "BeforeTool", Phase: Before, Command: true,
			decode: geminiBeforeTool, dialect: geminiBefore(),
		}},
		Fails: Failures{Crash: FailOpen, Timeout: FailOpen, Unreachable: FailClosed},
		Limit: Limit{Default: time.Minute, Unit: time.Millisecond},
		Traps: []string{
			`The timeout is in milliseconds.`,
			`If a hook denies with JSON in Claude's shape, the call runs.`,
			`Headless runs offer no shell tool unless a policy rule allows it. With the rule and a dead hook the call runs.`,
			`A repository's settings can switch the hook off (hooksConfig).`,
			`Its hooks are not told which call ended, so no result is reported.`,
		},
	}
}

func qwenCode() Runtime {
	return Runtime{
		Name: "qwen-code", Aliases: []string{"qwen"}, Title: "Qwen Code", Tested: "0.24.4", KillsHooks: true,
		Notes: "`additionalContext` of `PostToolUse`, at the end of the result",
		Ways: []Way{
			{ACP, "", "no limit; the only way in for people who need more than a minute"},
			{CommandHook, "PreToolUse", "a person has 60 s; a later answer counts when the model repeats the call"},
			{HTTPHook, "PreToolUse", "the same without a program"},
		},
		Events: []Event{
			{
				Name: "PreToolUse", Phase: Before, HTTP: true, Command: true, CallID: true,
				decode: qwenEvent("PreToolUse"), dialect: claudePre().deaf(),
			},
			{
				Name: "PostToolUse", Phase: After, HTTP: true, Command: true, CallID: true,
				decode: ended(qwenEvent("PostToolUse"), qwenEnd), dialect: claudePost().notedAfter("PostToolUse"),
			},
			{
				Name: "PostToolUseFailure", Phase: After, HTTP: true, Command: true, CallID: true,
				decode: ended(qwenEvent("PostToolUseFailure"), qwenFailure), dialect: claudePostFailure().notedAfter("PostToolUseFailure"),
			},
		},
		Fails: Failures{Crash: FailOpen, Timeout: FailOpen, Unreachable: FailOpen},
		Limit: Limit{Default: time.Minute, Hard: time.Minute, Unit: time.Millisecond},
		Traps: []string{
			`After 60 s the call runs, even if timeout is longer.`,
			`If Qwen Code exits while no hook waits, as between a call and its repeat, the card stays until it expires.`,
			`allow only means "not blocked": Qwen's own permission step follows.`,
			`The timeout of a command hook is in milliseconds, that of an HTTP hook in seconds.`,
			`A repository's settings can switch the hook off (disableAllHooks).`,
			`Over ACP it starts in the mode called auto, in which a classifier allows calls. Let the editor choose the mode called ` +
				`default.`,
		},
	}
}

func copilotCLI() Runtime {
	return Runtime{
		Name: "copilot-cli", Aliases: []string{"copilot"}, Title: "GitHub Copilot CLI", Tested: "1.0.102",
		Notes:   "`additionalContext` of `preToolUse`, as a message after the result",
		Managed: true,
		Ways: []Way{
			{CommandHook, "preToolUse", "every call"},
			{HTTPHook, "preToolUse", "on loopback only with COPILOT_HOOK_ALLOW_LOCALHOST=1"},
			{CommandHook, "permissionRequest", "when Copilot would ask; never together with preToolUse"},
			{ACP, "", "always fails closed, no limit"},
		},
		Events: []Event{
			{
				Name: "preToolUse", Phase: Before, HTTP: true, Command: true,
				decode: copilotCamel, dialect: copilotPre(),
			},
			{
				Name: "PreToolUse", Phase: Before, HTTP: true, Command: true,
				decode: copilotPascal, dialect: claudePre(),
			},
			{
				Name: "permissionRequest", Phase: Permission, HTTP: true, Command: true,
				decode: copilotPermission, dialect: copilotAsk(),
			},
			{
				Name: "PermissionRequest", Phase: Permission, HTTP: true, Command: true,
				decode: copilotPermission, dialect: copilotAsk(),
			},
		},
		Fails: Failures{Crash: FailClosed, Timeout: FailOpen, Unreachable: FailClosed},
		Limit: Limit{Default: 30 * time.Second, Unit: time.Second},
		Traps: []string{
			`The answer's JSON differs with the letter case of the event's name.`,
			`Without COPILOT_HOOK_ALLOW_LOCALHOST=1 an HTTP hook on loopback is dropped, and the call runs.`,
			`After a time-out the call always runs, so timeoutSec has to be long.`,
			`It also runs the hooks of a trusted repository's .claude/settings.json: put the hook into ` +
				`only one of the two files.`,
			`A trusted repository's settings (.github/copilot, .claude) can switch a user's hook off (disableAllHooks), ` +
				`but not a hook of policy.d.`,
			`Copilot's hooks are not told which call ended, and Copilot counts a failed command as a success, ` +
				`so no result is reported.`,
		},
	}
}

func cursor() Runtime {
	return Runtime{
		Name: "cursor", Title: "Cursor",
		Ways: []Way{
			{CommandHook, "preToolUse", "every call; with failClosed a hook has to answer each call"},
			{CommandHook, "beforeShellExecution", "only commands; never together with preToolUse"},
			{CommandHook, "beforeMCPExecution", "only MCP tools; never together with preToolUse"},
		},
		Events: []Event{
			{
				Name: "preToolUse", Phase: Before, Command: true, CallID: true,
				decode: cursorPreToolUse, dialect: cursorBefore(),
			},
			{
				Name: "beforeShellExecution", Phase: Before, Command: true,
				decode: cursorShell, dialect: cursorBefore(),
			},
			{
				Name: "beforeMCPExecution", Phase: Before, Command: true,
				decode: cursorMCP, dialect: cursorBefore(),
			},
		},
		Fails: Failures{Crash: FailOpen, Timeout: FailOpen, Unreachable: FailOpen}, Closed: `failClosed: true`,
		Managed: true,
		Limit:   Limit{Default: time.Minute, Unit: time.Second},
		Traps: []string{
			`Its documentation names two units for timeout. install writes 86400: as milliseconds that would be only 86 s.`,
			`It ignores the answer ask in Auto-review mode.`,
			`Cursor can load Claude Code's hooks too, and then asks twice.`,
			`Cloud agents do not run beforeMCPExecution.`,
		},
	}
}

func goose() Runtime {
	return Runtime{
		Name: "goose", Title: "Goose",
		Ways: []Way{{CommandHook, "PreToolUse", "a plugin's hooks.json"}},
		Events: []Event{{
			Name: "PreToolUse", Phase: Before, Command: true, CallID: true,
			decode: goosePreToolUse, dialect: goosePre(),
		}},
		Fails: Failures{Crash: FailOpen, Timeout: FailOpen, Unreachable: FailOpen}, Closed: `on_failure: "block"`,
		Limit: Limit{Default: 30 * time.Second, Unit: time.Second},
		Traps: []string{
			`Any text on stdout that is not a decision counts as a failure.`,
			`A deny tells the model not to try again, so the model does not repeat a call that still waits for a person.`,
		},
	}
}

func kiro() Runtime {
	return Runtime{
		Name: "kiro", Title: "Kiro CLI",
		Ways: []Way{{CommandHook, "preToolUse", "the agent's JSON; .kiro/hooks/*.json in version 3"}},
		Events: []Event{
			{
				Name: "preToolUse", Phase: Before, Command: true,
				decode: kiroEvent("preToolUse"), dialect: byStatus(),
			},
			{
				Name: "PreToolUse", Phase: Before, Command: true,
				decode: kiroEvent("PreToolUse"), dialect: byStatus(),
			},
		},
		Fails: Failures{Crash: FailOpen, Timeout: FailOpen, Unreachable: FailOpen},
		Limit: Limit{Default: 30 * time.Second, Unit: time.Millisecond},
		Traps: []string{
			`After an exit status other than 0 and 2 it warns, and the call runs.`,
			`timeout_ms is in milliseconds in an agent's JSON; timeout in .kiro/hooks is in seconds.`,
			`Its hooks are told neither the session nor the call, so a call that still waits at the limit is denied for good.`,
		},
	}
}

func windsurf() Runtime {
	return Runtime{
		Name: "windsurf", Title: "Windsurf",
		Ways: []Way{
			{CommandHook, "pre_run_command", "commands"},
			{CommandHook, "pre_mcp_tool_use", "MCP tools"},
			{CommandHook, "pre_write_code", "files that it writes"},
		},
		Events: []Event{
			{
				Name: "pre_run_command", Phase: Before, Command: true,
				decode: windsurfRun, dialect: byStatus(),
			},
			{
				Name: "pre_mcp_tool_use", Phase: Before, Command: true,
				decode: windsurfMCP, dialect: byStatus(),
			},
			{
				Name: "pre_write_code", Phase: Before, Command: true,
				decode: windsurfWrite, dialect: byStatus(),
			},
		},
		Limit: Limit{Default: 30 * time.Second},
		Traps: []string{
			`Only exit status 2 denies; a hook cannot allow.`,
			`Windsurf's documentation names neither the time limit of a hook nor what happens after a crash.`,
		},
	}
}

func cline() Runtime {
	return Runtime{
		Name: "cline", Title: "Cline", Tested: "3.0.65",
		Notes: "`contextModification` of `PreToolUse`, after the call's result",
		Ways: []Way{
			{CommandHook, "PreToolUse", "an executable named PreToolUse in the hooks folder"},
			{ACP, "", "in the CLI only; always fails closed"},
		},
		Events: []Event{{
			Name: "PreToolUse", Phase: Before, Command: true, CallID: true,
			decode: clinePreToolUse, dialect: clinePre(),
		}},
		Fails: Failures{Crash: FailOpen, Timeout: FailOpen, Unreachable: FailOpen},
		Limit: Limit{Default: 30 * time.Second, Hard: 2 * time.Minute},
		Traps: []string{
			`It ignores exit status 2. approvalbot denies a command by replacing it, and every other tool ` +
				`by cancelling the run.`,
			`The limit is 30 s in VS Code and 120 s in the CLI. After it the call runs.`,
			`Over ACP it needs a login, or CLINE_API_KEY and CLINE_PROVIDER. cline auth with an endpoint ` +
				`of your own is not enough.`,
			`An editor's session can switch its questions off over ACP (auto_approve).`,
		},
	}
}

func openCode() Runtime {
	return Runtime{
		Name: "opencode", Title: "OpenCode", Tested: "1.18.33",
		Notes: "the plugin's `tool.execute.after`, at the end of the result",
		Ways: []Way{
			{Plugin, "tool.execute.before", "every call; waits without a limit"},
			{Bridge, "permission.asked", "whatever OpenCode would ask about, when it runs as `opencode serve`"},
			{ACP, "", "always fails closed, no limit"},
		},
		Fails: Failures{Crash: FailClosed, Timeout: FailWaits, Unreachable: FailClosed},
		Traps: []string{
			`If the plugin's file is missing, does not parse or fails to load, every call runs, without a message.`,
			`It never calls a plugin's permission.ask.`,
			`If a tool throws, or a command is cut off, no result is reported.`,
			`It names a server's tools SERVER_TOOL. So the desk takes no name with an underscore for one of OpenCode's own tools: ` +
				`apply_patch asks.`,
			`opencode run rejects every call that it would have asked about.`,
			`Over ACP and as opencode serve it does not ask unless its configuration says "permission": {"*": "ask"}.`,
		},
	}
}

func openClaw() Runtime {
	return Runtime{
		Name: "openclaw", Title: "OpenClaw",
		Ways:  []Way{{Gateway, "", "in the dialects of existing gateway clients"}},
		Traps: []string{`It has no hooks that run before a tool. Point its gateway client at the desk.`},
	}
}
