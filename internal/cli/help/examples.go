package help

import "sync"

// Examples are command lines to start from, by command, as --help, docs cli and
// the manual pages show them.
var Examples = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"approvalbot": `  approvalbot run -- terraform apply plan.out
  approvalbot --client ~/.config/approvalbot/operator.yaml watch`,
		"request": `  approvalbot request --tool exec --params '{"command":"make deploy"}' --wait
  approvalbot request --tool mail --params @mail.json --requester person:alice`,
		"run": `  approvalbot run -- terraform apply plan.out
  approvalbot run --justification "weekly patch run" -- ./patch.sh`,
		"wait":     `  approvalbot wait job-17 --for 10m`,
		"withdraw": `  approvalbot withdraw job-17 --reason "no longer needed"`,
		"pending": `  approvalbot pending
  approvalbot pending --agent deployer -o json`,
		"list": `  approvalbot list --status denied --limit 10
  approvalbot list -o name --status pending
  approvalbot list --offline --config approvalbot.yaml`,
		"view":           `  approvalbot view K7QX2M`,
		"approve":        `  approvalbot approve K7QX2M --reason "looks fine"`,
		"deny":           `  approvalbot deny K7QX2M --reason "not on a Friday"`,
		"decide":         `  approvalbot decide K7QX2M --decision allow-session`,
		"revoke":         `  approvalbot revoke K7QX2M --reason "wrong host"`,
		"retry":          `  approvalbot retry K7QX2M`,
		"watch":          `  approvalbot --client ~/.config/approvalbot/operator.yaml watch`,
		"allowlist list": `  approvalbot allowlist list --agent deployer`,
		"allowlist remove": `  approvalbot allowlist remove 3cee2a14
  approvalbot allowlist remove 5d41402abc4b2a76`,
		"allowlist add": `  approvalbot allowlist add --owner main-agent --agent main --yes \
    -- git push origin '*'`,
		"admin sessions list": `  approvalbot admin sessions list`,
		"admin sessions end":  `  approvalbot admin sessions end nightly`,
		"evaluate": `  approvalbot evaluate --tool exec --params '{"command":"npm publish"}'
  approvalbot evaluate --agent main --tool write --params @call.json --json`,
		"policy show": `  approvalbot policy show`,
		"policy test": `  approvalbot policy test --tool exec --params '{"command":"npm publish"}'`,
		"policy explain": `  approvalbot policy explain kubectl
  approvalbot policy explain -- git push origin main
  approvalbot policy explain --bind-workdir /srv/app 'git fetch && git push'`,
		"policy reload":       `  approvalbot policy reload`,
		"config check":        `  approvalbot config check approvalbot.yaml`,
		"admin verifier test": `  approvalbot admin verifier test --config approvalbot.yaml`,
		"mcp":                 `  approvalbot mcp --client /home/u/.config/approvalbot/agent.yaml`,
		"mcp-proxy": `  approvalbot mcp-proxy --name github \
    --client /home/u/.config/approvalbot/github.yaml \
    -- npx -y @modelcontextprotocol/server-github
  approvalbot mcp-proxy --name wiki --url https://wiki.example.com/mcp \
    --client /home/u/.config/approvalbot/wiki.yaml`,
		"acp": `  approvalbot acp --client /home/u/.config/approvalbot/gemini.yaml \
    -- gemini --acp`,
		"beside": `  approvalbot beside ~/.local/state/approvalbot/x/1-2.calls/a.call 12`,
		"confine": `  approvalbot confine -- go test ./...
  approvalbot confine --workspace /srv/app --show ~/go/pkg/mod -- make`,
		"hook": `  approvalbot hook claude-code PreToolUse --limit 24h \
    --client /home/u/.config/approvalbot/claude-code.yaml`,
		"audit list": `  approvalbot audit list --limit 20
  approvalbot audit list --csv > log.csv`,
		"audit verify": `  approvalbot audit verify
  approvalbot audit verify --new
  approvalbot audit verify --store sqlite:old.db --key-file old.key`,
		"audit export": `  approvalbot audit export > log.jsonl`,
		"audit keys":   `  approvalbot audit keys`,
		"admin receipt verify": `  approvalbot admin receipt verify "$RECEIPT" --jwks keys.json \
    --params call.json`,
		"stats":                 `  approvalbot stats`,
		"admin stats rebuild":   `  approvalbot admin stats rebuild`,
		"admin callbacks list":  `  approvalbot admin callbacks list`,
		"admin callbacks retry": `  approvalbot admin callbacks retry K7QX2M`,
		"init": `  approvalbot init
  approvalbot init --decide telegram --token-env TELEGRAM_BOT_TOKEN \\
    --who 111111111`,
		"install": `  approvalbot install claude-code
  approvalbot install codex --managed --client /home/u/agent.yaml`,
		"uninstall": `  approvalbot uninstall claude-code`,
		"serve": `  approvalbot serve --config /etc/approvalbot/approvalbot.yaml
  approvalbot serve --local .`,
		"duty": `  approvalbot duty
  approvalbot duty --json`,
		"away": `  approvalbot away until 18:00
  approvalbot away 3d to bob
  approvalbot away`,
		"back": `  approvalbot back`,
		"pair": `  approvalbot --client ~/.config/approvalbot/operator.yaml pair`,
		"login": `  approvalbot --client ~/.config/approvalbot/operator.yaml login
  approvalbot login --enrol alice`,
		"doctor": `  approvalbot doctor
  approvalbot doctor --offline --config approvalbot.yaml`,
		"drill":   `  approvalbot drill`,
		"version": `  approvalbot version --json`,
		"health":  `  approvalbot health --server http://127.0.0.1:8787`,
		"backup":  `  approvalbot backup desk-$(date +%F).db`,
		"admin keys trust": `  approvalbot admin keys trust
  approvalbot admin keys trust --client ~/approvalbot/operator.yaml`,
		"admin keys rotate": `  approvalbot admin keys rotate
  approvalbot admin keys rotate --exposed --discard-old`,
		"admin store compact": `  approvalbot admin store compact`,
		"admin store vacuum":  `  approvalbot admin store vacuum`,
		"admin store migrate": `  approvalbot admin store migrate --from sqlite:approvalbot.db \
    --to postgres://approvalbot@db/approvalbot`,
		"docs cli":      `  approvalbot docs cli > cli.md`,
		"docs routes":   `  approvalbot docs routes > routes.md`,
		"docs reasons":  `  approvalbot docs reasons`,
		"docs programs": `  approvalbot docs programs > programs.md`,
		"docs man":      `  approvalbot docs man /usr/local/share/man/man1`,
	}
})
