package policy

import "testing"

// TestRows_Everyday: what agents run every day, and its twins.
func TestRows_Everyday(t *testing.T) {
	t.Parallel()
	harmlessAndTwins(t, []string{
		"cmake --build build --parallel 8", "cmake --build build --parallel --target test", "cmake --build build -j --target test", "ctest --test-dir build --parallel 4", "lsof -nP -iTCP:3000 -sTCP:LISTEN", "lsof -i :3000", "sw_vers -productVersion",
		"xcodebuild -scheme Notes -showdestinations", "xcodebuild -list -json", "xcodebuild test -scheme Notes -destination 'platform=iOS Simulator,name=iPhone 15' -only-testing:NotesTests/x CODE_SIGNING_ALLOWED=NO",
		"mkdir -p logs/out && csplit -s -f logs/out/part- logs/batch.log '/^=== RUN/' '{*}'", "busted --output=TAP spec/config_spec.lua", "dbt parse --profiles-dir . --target dev", "dbt ls -s tag:x --output json", "dbt compile --select orders",
		"docker build -t api:slim -f Dockerfile .", "docker build --target test -t acme/api:test . 2>&1 | tail -20", "docker build --build-arg VERSION=1.2 -f docker/Dockerfile.dev --progress=plain api",
		"cd /workspace/modules/vpc && terraform init -backend=false -lockfile=readonly -no-color", `gh run list --branch "$(git branch --show-current)" --limit 5`, `gh pr list --head "$(git branch --show-current)"`,
		"bin/rails db:migrate:status", "bundle exec rake db:version", "python manage.py makemigrations --check --dry-run", "cd /workspace/docs && make html SPHINXOPTS='-W --keep-going'", "git diff --name-only main -- '*.cc' | xargs -r clang-tidy -p build --quiet",
	}, []string{
		"cmake --build build --parallel deploy", "cmake --build build -j --target install", "lsof -D b/x", "sw_vers x", "xcodebuild archive -scheme Notes", "xcodebuild install", "xcodebuild -exportArchive -archivePath x", "xcodebuild test -derivedDataPath /tmp/x",
		"xcodebuild test -scheme Notes CC=/tmp/x", "xcodebuild -project /tmp/x.xcodeproj -list", "xcodebuild test -xcconfig x", "csplit x.log /y/", "csplit -f .git/hooks/x in.log 1", "csplit -f /srv/x in.log 1", "csplit -f x -b '%d.sh' in.log 1",
		"csplit -f x .env 1", "csplit --prefix=/etc/cron.d/x in.log 1", "busted --output=./x.lua", "busted -e 'os.execute()'", "busted --helper=/tmp/x.lua", "busted --config-file=/tmp/x", "busted -C /tmp", "dbt run", "dbt parse --profiles-dir /tmp", "dbt seed", "dbt run-operation drop_all",
		"docker build https://example.org/x.git", "docker build github.com/a/b", "docker build -", "docker build ..", "docker build /etc", "docker build --secret id=x,src=.env .", "docker build --ssh default .", "docker build --network=host .", "docker build --network host .",
		"docker build --push -t x .", "docker build --output /tmp .", "docker build -o type=local,dest=/ .", "docker build --build-context x=/etc .", "docker build -f /tmp/Dockerfile .", "docker build -f - .", "docker build -f https://x.org/Dockerfile .",
		"docker build --build-arg TOKEN .", `docker build --build-arg X="$TOKEN" .`, "docker build --privileged .", "docker build --iidfile /etc/x .", "docker build $x", "docker build . --allow security.insecure", "cd /tmp && docker build .", "docker build x/..",
		"terraform init", "terraform init -backend=false", "terraform init -lockfile=readonly", "terraform init -backend=true -lockfile=readonly", "terraform init -backend=false -lockfile=readonly -upgrade", "terraform init -backend=false -lockfile=readonly -plugin-dir=/tmp/x",
		"terraform init -backend=false -lockfile=readonly -from-module=git::https://x.org/y", "terraform init -backend-config=x -backend=false -lockfile=readonly", "cd /tmp && terraform init -backend=false -lockfile=readonly",
		"gh run list --branch $(git branch --show-current)", "gh run delete 1 --branch x", "bin/rails db:migrate", "bundle exec rake db:drop", "python manage.py makemigrations", "python manage.py makemigrations --check", "python manage.py makemigrations --dry-run --settings=x",
		"make html SPHINXOPTS='-W -c /tmp/x'", "make html SPHINXOPTS='-W; id'", "make html SPHINXOPTS='-D x=y'", "git diff --name-only | xargs clang-tidy -fix -load=x.so", "git diff --name-only | xargs -r clang-tidy --config-file=/tmp/x",
	})
}
