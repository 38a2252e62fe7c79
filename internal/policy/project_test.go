package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestProjectToolsTurnedIntoSomethingElse: what builds and tests is allowed, and
// nothing that only looks like it.
func TestProjectToolsTurnedIntoSomethingElse(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, line := range []string{
		"go test -exec=./x ./...", "go test --exec ./x ./...", "go test -toolexec=./x .", "go vet -vettool=./x .", "go test -C /opt/x .", "go test -c -o /usr/bin/x .", "go test -coverprofile=/etc/x .", "go test -coverprofile .git/hooks/pre-commit .", "go test ../x", "go test /opt/x", "go test x@latest", "go test $x", "go test \"$x\"", "go test \"./$x\"", "go test ./... -args -x", "go build -ldflags='-extld=./x' .", "go build -ldflags \"-X a=b -extldflags=./x\" .", "go build -gcflags=-trimpath=/x .", "GOFLAGS=-exec=./x go test ./...", "go mod edit -replace a=b", "go tool ./x", "go tool cover -o /etc/x", "cd /opt/x && go test ./...", "cd .. && go test ./...", "go test -vet=off -exec ./x",
		"npm run deploy", "npm run test-and-deploy", "npm run test:publish", "npm run build:release", "npm run db:reset", "npm run test$x", "npm run \"$x\"", "npm run $(id)", "npm test --script-shell=./x", "npm test --node-options=x", "npm --prefix /opt test", "npm --prefix ../x test", "npm test -- --config /opt/x.json", "npm test -- --globalSetup=./x.js", "npm test -- $x", "npm test -- ../../x", "npm build", "yarn dlx jest", "pnpm dlx jest", "pnpm add jest", "yarn add jest", "npx jest@latest", "npx --package x jest", "npx -c 'jest'", "npx $x", "npx", "bunx x", "yarn node x.js", "bun test.ts", "bun run test.ts", "bun x.ts", "npx tsc -p /opt/x", "npx jest -c ~/x.js", "npx eslint -c ../x.js .", "npx eslint --plugin x .",
		"make install", "make test install", "make -f /opt/Makefile test", "make -C .. test", "make SHELL=./x", "make CC=./x test", "make test TESTS='; id'", "make test TESTS='$(id)'", "make --eval='x: ; id' x", "make -I /x", "make \"$x\"", "make deploy-test", "make test-deploy", "make ./x", "just install", "rake db:drop", "ninja install", "ninja test install", "ninja -C /opt/x", "zig build run", "sbt test publish", "gradle test publish", "gradle -p /opt test", "gradle -I x.gradle test", "gradle publishToMavenLocal", "./gradlew :app:installDebug", "mvn install", "mvn test deploy", "mvn -f /opt/pom.xml test", "mvn exec:exec", "mvn -DargLine=-javaagent:/tmp/x test", "mvn -s settings.xml test",
		"cargo run", "cargo install x", "cargo publish", "cargo +nightly test", "cargo test --config x=y", "cargo test -- --format=json", "cargo clippy -- -C linker=x", "cargo test --manifest-path ../x/Cargo.toml", "cargo build --target-dir /opt/x", "cargo fmt -- --config-path /opt", "RUSTC_WRAPPER=./x cargo build", "CARGO_HOME=/tmp cargo build",
		"pytest -p x", "pytest -px", "pytest -c x.ini", "pytest --rootdir=/x", "pytest --confcutdir=/", "pytest -o x=y", "pytest /opt/x", "pytest ../x", "pytest ~/x", "pytest --junitxml=/etc/x", "pytest --junitxml=.git/x", "PYTHONPATH=/x pytest", "PYTHONPATH=src:/x pytest", "PYTHONPATH=$PWD pytest", "PYTHONPATH=.. pytest", "PYTHONPATH=~/x pytest", "cd /opt; PYTHONPATH=. pytest", "env PYTHONPATH=/x pytest", "env PYTHONPATH= pytest", "python -m pytest -p x", "python -m http.server", "python -m pip install x", "python -m json.tool a b", "python -m $x", "black -c 'x'", "pylint --init-hook=x .", "pylint --load-plugins=x .", "mypy --python-executable=./x .", "mypy --install-types", "coverage run x.py", "tox -c /x", "nox -f /opt/x.py", "source /opt/venv/bin/activate", "source .venv/bin/activate x", "source .venv/bin/activate2", "cd /opt && source .venv/bin/activate", ".venv/bin/evil", "x/.venv/bin/pytest", "/opt/.venv/bin/pytest", "../node_modules/.bin/jest", "~/.venv/bin/pytest", ".venv/bin/python x.py", "cd /opt/x && ./gradlew test", "./gradlew2 test", "sub/gradlew test", "uv run x.py", "hatch run test", "pdm run ls", "rake 'x:*'", "uv run --with x pytest", "poetry run x", "poetry publish", "bundle exec x",
		"cmake -P x.cmake", "cmake -E rm x", "cmake --install build", "cmake --build build --target install", "cmake --build build -t install", "cmake --build build -- install", "cmake -S /opt/x", "cmake -DCMAKE_C_COMPILER=/opt/x .", "cmake -DCMAKE_C_COMPILER_LAUNCHER=x .", "ctest -S x.cmake", "gcc -fplugin=x.so a.c", "gcc -B. a.c", "gcc -o /usr/bin/x a.c", "gcc -o .git/hooks/pre-commit a.c", "gcc -Wl,-Map=/x a.c", "gcc -specs=x a.c", "gcc @x", "gcc .env", "clang -Xclang -load a.c", "javac -processorpath /x A.java", "javac @x", "javac -d /opt A.java", "dotnet run", "dotnet publish", "dotnet test /opt/x.dll", "dotnet build -p:X=y", "dotnet tool install x", "nx affected -t deploy", "nx run-many --target=deploy", "nx run app:deploy", "turbo run deploy", "turbo login", "deno test https://x.org/a.ts", "deno test npm:x", "deno run x.ts", "deno task x", "terraform apply", "terraform init", "composer run-script deploy", "flutter run", "dart run", "swift run", "mix run", "buf generate", "bazel run //x", "golangci-lint run -c /opt/x.yml", "gotestsum -- -exec ./x", "pytest -- -p x", "bun run x.ts", "node --test --require ./x.js", "node --test /opt/x", "vite", "next dev", "biome migrate",
	} {
		j := judge(e, lineCall(t, line))
		require.NotEqual(t, approval.OutcomeAllow, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
		require.GreaterOrEqual(t, j.Assessment.RiskClass, approval.R3, "%s: %v", line, j.Assessment.ReasonCodes)
	}
}

func TestProjectToolsNeedAWorkspace(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, line := range []string{"go test ./...", "npm test", "pytest", "make", "cargo build", "gcc a.c", "mvn test", "cmake .", ".venv/bin/pytest", "source .venv/bin/activate", "grep -r handler"} {
		c := lineCall(t, line)
		c.AgentID = "nobody"
		require.GreaterOrEqual(t, judge(e, c).Assessment.RiskClass, approval.R3, line)
		require.Equal(t, approval.OutcomeAsk, judge(e, callOf(t, "exec", map[string]any{"command": line, "workdir": "/opt/x"})).Outcome, line)
	}
}

// TestCdThatMustHaveWorked: behind "&&" a directory is the new one, and
// everywhere else it may be the old one, too.
func TestCdThatMustHaveWorked(t *testing.T) {
	t.Parallel()
	checkLines(t, engine(t), []row{
		{"mkdir -p build && cd build && cmake .. && make", "R1"}, {"cd a && cd b && pytest ../../x", "R1"}, {"cd web && npm test && cd .. && go test ./...", "R1"}, {"cd web && npm test; cd .. && go test ./...", "R3 outside-project"},
		{"cd build; cmake ..", "R3 outside-project"}, {"cd build || true && cmake ..", "R3 outside-project"}, {"! cd build && cmake ..", "R3 outside-project"}, {"(cd build) && cmake ..", "R3 outside-project"}, {"env cd build && cmake ..", "R3 outside-project"}, {"sh -c 'cd build' && cmake ..", "R3 outside-project"}, {"cd build | true && cmake ..", "R3 outside-project"}, {"cd build & cmake ..", "R3 outside-project"}, {"cd $x && cmake ..", "R3 outside-project"}, {"cd build && cd - && make", "R3 outside-project"}, {"for d in a b; do cd $d && make; done", "R3 outside-project"},
		{"cd /opt/x && touch y", "R3 writes-outside"}, {"cd /opt/x && cd /workspace && touch y", "R1"}, {"cd /opt/x; cd /workspace; touch y", "R3 writes-outside"},
	})
}
