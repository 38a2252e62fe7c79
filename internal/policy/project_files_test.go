package policy

import "testing"

// Build tools empty the directory that they build into.
func TestOutputDirectoriesAsk(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 deletes-file", "vite build --outDir src", "vite build --outDir docs", "vite build --outDir=.", "npx vite build --outDir /workspace/src", "tsup --clean --out-dir .", "tsup src/x.ts --out-dir src", "astro build --outDir src",
		"astro build --outDir=dist/../src", "deno test --clean --coverage=src", "coverage erase --data-file=src/app.py", "npm run build -- --outDir src", "yarn build --outDir src", "turbo run build -- --outDir=src"))
	checkLines(t, e, lines("R3 writes-startup", "vite build --outDir .git", "astro build --outDir=.git", "deno test -A --clean --coverage=.git", "esbuild x.js --outfile=.claude/x.json", "esbuild x.js --outfile=.husky/pre-commit", "esbuild x.js --outfile=sub/HEAD",
		"esbuild x.js --outfile=.claude/x.json", "esbuild x.js --outdir=.git", "pytest --junitxml=.github/workflows/x.yml", "pytest --junitxml .vscode/tasks.json", "pytest --junitxml=HEAD", "pytest --cov-report=html:.github", "rollup -o .claude/x.json x.json", "rollup -d .git",
		"cmake -B .git", "cmake -B .claude/x", "dotnet build -o .git", "gotestsum --junitfile=.husky/pre-commit", "gotestsum --junitfile .github/workflows/x.yml", "rspec -o .husky/pre-commit", "tsc --outDir .git", "babel x --out-dir .vscode", "swc x --out-dir .husky",
		"eslint --fix .husky", "clang-format -i .claude/x.json", "prettier --write .claude/x.json", "rustfmt .husky/x", "black .git", "javac -d .git A.java", "cargo build --target-dir .git", "npx eslint --fix .github"))
	checkLines(t, e, lines("R3 writes-secret", "pytest --junitxml=.env", "gotestsum --junitfile=id_rsa", "esbuild x.js --outfile=secrets.json"))
	checkLines(t, e, lines("R1 runs-project-code", "vite build", "vite build --outDir dist", "vite build --outDir=../workspace/dist/web", "astro build --outDir build", "tsup src/x.ts --out-dir dist", "tsc --outDir lib", "tsc --outDir dist --rootDir src", "esbuild x.js --bundle --outfile=public/app.js",
		"pytest --junitxml=report.xml", "pytest --junitxml=reports/junit.xml", "pytest --cov=src --cov-report=xml:coverage.xml", "deno test --coverage=coverage", "coverage report --data-file=.coverage.unit", "cmake -B build", "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
		"actionlint .github/workflows/ci.yml", "yamllint .github", "prettier --check .github", "flake8 --exclude .git,__pycache__", "black --check --exclude .git .", "eslint --config .config/eslint.json src", "jest --changedSince=HEAD", "golangci-lint run --new-from-rev=HEAD~1",
		"nx test web", "turbo run test -- --coverage", "npm run build -- --outDir dist", "npm ls @types/node", "rollup -c -o dist/x.js"))
}

// Formatters and linters print what they are pointed at, or the lines that they
// cannot read.
func TestProjectToolsPrintWhatTheyRead(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 reads-secret", "prettier secrets.json", "npx prettier config/credentials.json", "shfmt .env", "clang-format id_rsa", "autopep8 .env", "esbuild secrets.json", "tofu fmt terraform.tfvars", "terraform fmt prod.tfvars", "biome format secrets.json", "ruff check .env",
		"black --diff .env", "python3 -m py_compile .env", "flake8 --show-source .env", "node_modules/.bin/prettier .env.production.json", "deno fmt secrets.json", "taplo fmt secrets.toml", "rubocop .env", "goimports .env", "buf format id_rsa", "node --test .env", "prettier 'x/{a.js,.env}' --check", "prettier '{secrets,x}.json' --check", "pytest .env", "npm run lint -- .env"))
	checkLines(t, e, lines("R3 may-read-secret", "prettier .", "prettier 'src/**'", "prettier '**/*.json'", "eslint '.e*'"))
	checkLines(t, e, lines("R3 unknown-option", "tsc @x", "pytest @x", "dotnet build @x.rsp", "cabal build -w ./evil", "stack test -w ./evil", "phpunit -d x=y"))
	checkLines(t, e, lines("R3 runs-workspace-code", "cargo nextest self update", "cargo nextest self setup"))
	checkLines(t, e, lines("R1 runs-project-code", "prettier --check .", "prettier --write .", "prettier src/index.ts", "prettier -w '**/*.{js,json}'", "prettier 'src/**/*.ts'", "shfmt -w scripts/x.sh", "shfmt .", "black .", "ruff check .", "eslint src --ext .ts", "biome check .", "tofu fmt main.tf", "terraform fmt --recursive",
		"pytest tests/test_secrets.py", "eslint src/token.ts", "cargo nextest run", "cargo --version", "cabal build", "stack test", "phpunit tests", "dotnet build x.sln"))
}
