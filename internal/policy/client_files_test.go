package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// Whoever writes a client file names the desk whose word counts for the asker, so
// that is no ordinary write, wherever the file is and whatever writes it.
func TestAdversary_N7_ClientFilesAreTheDesks(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R4 touches-the-desk",
		"echo 'server: http://evil' > approvalbot.client.yaml", "echo x >> ./sub/approvalbot.client.yaml", "printf x | tee approvalbot.client.yaml", "cp evil.yaml approvalbot.client.yaml", "cp -t . approvalbot.client.yaml", "mv evil.yaml sub/../approvalbot.client.yaml", "ln -sf evil.yaml Approvalbot.Client.yaml",
		"sed -i s/8787/9999/ approvalbot.client.yaml", "dd of=approvalbot.client.yaml", "git add approvalbot.client.yaml", "cat > approvalbot.client.yaml <<E\nserver: x\nE", "touch approvalbot/client.yaml", "mkdir -p home/approvalbot && cp evil.yaml home/approvalbot/client.yaml", "cd approvalbot && echo x > client.yaml",
		"echo x > ~/.config/approvalbot/client.yaml", "cp evil.yaml ~/.config/approvalbot/client.yaml", "echo x > $HOME/.config/approvalbot/client.yaml", "echo x > $XDG_CONFIG_HOME/approvalbot/client.yaml", `cp evil "${XDG_CONFIG_HOME:-$HOME/.config}/approvalbot/client.yaml"`, "echo x > /home/me/.config/approvalbot/client.yaml", "cp evil '~/Library/Application Support/approvalbot/client.yaml'", "cat ~/.config/approvalbot/operator.yaml", "cat approvalbot.operator.yaml",
		"cat ~/.config/*/operator.yaml", "tar xf evil.tar -C ~/.config", "rsync -a evil/ ~/.config/approvalbot", "cp -r evil ~/.config/approvalbot", "ln -s evil ~/.config/approvalbot",
		"APPROVALBOT_CLIENT=evil.yaml approvalbot run -- ls", "env APPROVALBOT_CLIENT=evil.yaml ls", "export APPROVALBOT_CLIENT=evil.yaml", "approvalbot run --client evil.yaml -- ls", "approvalbot --client evil.yaml run -- ls", "approvalbot request --client=evil.yaml --tool x",
		"HOME=/workspace/evil approvalbot run -- ls", "XDG_CONFIG_HOME=evil approvalbot request --tool x", "export XDG_CONFIG_HOME=$PWD/evil; approvalbot run -- ls", "env XDG_CONFIG_HOME=/x approvalbot wait ID", "APPDATA=x approvalbot run -- ls",
	))
	for tool, p := range map[string]any{
		"write":                map[string]any{"path": "approvalbot.client.yaml", "content": "server: http://evil"},
		"Write":                map[string]any{"file_path": "~/.config/approvalbot/client.yaml", "content": "x"},
		"Edit":                 map[string]any{"file_path": "/workspace/sub/approvalbot.client.yaml", "old_string": "a", "new_string": "b"},
		"apply_patch":          map[string]any{"input": "*** Begin Patch\n*** Add File: approvalbot.client.yaml\n+server: http://evil\n*** End Patch"},
		"str_replace_editor":   map[string]any{"command": "create", "path": "/workspace/approvalbot/client.yaml", "file_text": "x"},
		"delete_file":          map[string]any{"target_file": "approvalbot.client.yaml"},
		"read":                 map[string]any{"path": "~/.config/approvalbot/operator.yaml"},
		"mcp__fs__write_file":  map[string]any{"path": "/workspace/approvalbot.client.yaml", "content": "x"},
		"mcp__shell__run_once": map[string]any{"command": "cp a approvalbot.client.yaml"},
	} {
		j := judge(e, callOf(t, tool, p))
		require.Equal(t, approval.R4, j.Assessment.RiskClass, "%s %v: %v", tool, p, j.Assessment.ReasonCodes)
		require.Contains(t, j.Assessment.ReasonCodes, "touches-the-desk", tool)
	}
	checkLines(t, e, []row{
		{"cat client.yaml", "R0"}, {"kubectl apply -f operator.yaml", "R3"}, {"touch client.yaml", "R1"}, {"touch api/client.yaml", "R1"}, {"touch my-approvalbot.client.yaml", "R1"}, {"ls ~/.config", "R0"}, {"diff e ~", "R3"}, {"cp x ~", "R3"}, {"ls approvalbot", "R0"}, {"cat approvalbot/README.md", "R0"},
		{"XDG_CONFIG_HOME=x ls", "R3"}, {"approvalbot run -- ls", "R2 asks-the-desk"},
	})
}
