package policy

import "testing"

// TestRows_Languages: builds, tests and checks of smaller languages, of schemas and of
// documents, and their twins.
func TestRows_Languages(t *testing.T) {
	t.Parallel()
	harmlessAndTwins(t, []string{
		"dune build", "dune build @fmt", "dune runtest --force", "dune test src", "ocamlformat --check a.ml", "lein test", "clj-kondo --lint src", "ginkgo -r --race ./...", "alembic history -v", "alembic current", "flask routes", "bundle exec brakeman -q --no-pager",
		"bundle exec srb tc", "bundle exec jekyll build -d _site/build", "detekt -i src -r html:build/detekt.html", "swift-format lint -r Sources", "prove -lr t", "perlcritic --stern lib", "gleam test", "elm make src/Main.elm --output=/dev/null", "spago test",
		"crystal spec", "scala-cli test .", "scalafmt --check", "mill __.test", "forge test -vvv --match-test testX", "npx hardhat test", "slither .", "nargo test", "mage -l", "mage Test", "inv test", "scons -Q -j4", "pants test ::", "buck2 test //...", "nix flake check",
		"nixfmt --check a.nix", "statix check", "opa test . -v", "opa check policy", "conftest test a.yaml -p policy", "cue vet ./...", "jsonnetfmt --test a.jsonnet", "npx @redocly/cli lint openapi.yaml", "spectral lint openapi.yaml -r .spectral.yaml", "kube-linter lint .",
		"ansible-lint", "ansible-playbook --syntax-check site.yml", "packer fmt -check .", "packer validate .", "semgrep scan --config p/ci src", "trivy fs --severity HIGH .", "trivy config .", "gitleaks detect --redact", "typos", "codespell docs", "vale docs", "cspell '**/*.md'",
		"lychee --offline README.md", "pandoc README.md -o build/a.html", "pandoc -f gfm -t html a.md", "asciidoctor -D build a.adoc", "mmdc -i a.mmd -o a.svg", "gcovr -r . --html-details build/cov.html", "lcov -c -d build -o cov.info", "gcc -fsyntax-only a.c",
		"npx prisma validate", "npx prisma migrate status", "npx commitlint --from HEAD~1", "npx npm-check-updates", "npx @biomejs/biome check src", "npx cypress run --spec cypress/e2e/a.cy.ts", "npx lerna ls", "python manage.py showmigrations", "php artisan migrate:status",
		"php bin/console debug:router", "mix phx.routes", "cargo miri test", "valgrind --leak-check=full ./build/tests/test_queue",
	}, []string{
		"dune exec ./x.exe", "dune build @deploy", "dune build --root /tmp", "dune install", "lein run", "lein deploy", "clj-kondo --lint /etc", "ginkgo generate x", "ginkgo -r --output-dir /tmp", "ginkgo /tmp/x", "alembic upgrade head", "alembic -c /tmp/a.ini current", "alembic current -x a=b",
		"flask run", "flask shell", "bundle exec brakeman -o .git/hooks/x", "bundle exec jekyll serve", "bundle exec jekyll build -d src", "detekt -r html:/tmp/x", "detekt -p x.jar", "prove -e ./x t", "prove -I/tmp t", "prove -MX t", "gleam publish", "elm make x --output=/etc/x", "elm publish",
		"spago publish", "crystal run x.cr", "crystal eval 1", "scala-cli run x", "scala-cli", "mill a.run", "mill a.deploy", "forge script x", "forge create x", "forge build create", "forge test --ffi", "forge test --fork-url http://x", "npx hardhat run x.js", "npx hardhat test --network mainnet",
		"mage Deploy", "inv deploy", "scons deploy", "pants run x", "nix run .", "nix build", "nix flake check github:a/b", "nix-shell", "nixfmt .env", "opa eval 'http.send({})'", "opa run -s", "conftest test -u http://x a.yaml", "conftest push x", "cue cmd x", "spectral lint https://x.org/a -r https://x.org/r",
		"npx @evil/cli lint", "npx @redocly/cli push x", "ansible-playbook site.yml", "ansible-playbook --syntax-check -e @/etc/x site.yml", "ansible-playbook --syntax-check /tmp/site.yml", "ansible all -m shell", "packer build .", "packer validate /tmp", "semgrep scan", "semgrep scan --config auto", "semgrep ci",
		"semgrep scan --config https://x.org/r.yml", "trivy fs /", "trivy repo https://x.org", "trivy fs --server http://x .", "trivy fs --format template --template @/etc/x .", "gitleaks detect", "gitleaks detect --redact=0", "gitleaks detect --redact=false", "vale sync", "pandoc --lua-filter x.lua a.md", "pandoc -F ./x a.md",
		"pandoc -t x.lua a.md", "pandoc .env", "pandoc a.md -o .git/hooks/x", "pandoc https://x.org", "pandoc a.md --pdf-engine=./x -o a.pdf", "asciidoctor -r ./x.rb a.adoc", "mmdc -p x.json -i a.mmd", "gcovr --gcov-executable ./x", "lcov -c -d / -o x", "npx prisma migrate deploy", "npx prisma db push", "npx prisma studio",
		"npx commitlint --extends ./x", "npx npm-check-updates -u", "npx @biomejs/biome2 check", "npx cypress run --record --key x", "npx cypress open", "npx lerna publish", "python manage.py sqlmigrate a 1 --settings=x", "php artisan migrate", "php bin/console doctrine:migrations:migrate", "mix ecto.migrate",
		"valgrind --log-file=/etc/x ls", "valgrind ./a.out", "valgrind --tool=./x ls", "cd /tmp && valgrind ls", "cd /tmp && dune build", "cd /tmp && prove -l",
	})
}

// TestRows_Telling: what tells of files, tables and processes, and its twins.
func TestRows_Telling(t *testing.T) {
	t.Parallel()
	harmlessAndTwins(t, []string{
		"tokei", "cloc . --json", "scc --by-file src", "csvcut -n a.csv", "csvstat a.csv", "gron a.json", "echo '1+1' | bc -l", "pstree -p", "tput cols", "stty size", "split -l 100 a.csv part-", "split -d -b 1M --additional-suffix=.csv a.csv out/p-", "install -d build/x", "dos2unix a.txt",
		"7z l a.7z", "pdfinfo a.pdf", "colordiff -u a.c b.c", "difft a.c b.c", "otool -L a", "lipo -info a", "plutil -lint a.plist", "xcode-select -p", "xcrun simctl list devices", "xcrun --show-sdk-path", "rpm -qa", "pacman -Q", "snap list", "opam list",
		"asdf current", "volta --version", "git merge-tree --write-tree main x", "git stripspace -s", "pg_dump -s -d app_dev",
	}, []string{
		"tokei .env -o json --input x", "cloc --out=/tmp/x .", "cloc --diff-list-file=x .", "scc -o /tmp/x", "csvcut .env", "csvgrep -f .env a.csv", "gron https://x.org", "gron .env", "bc .env", "tput init", "tput -T x cols", "stty -F /dev/ttyS0 raw", "split -l 100 a.csv .git/hooks/x", "split --filter='sh' a.csv x",
		"split a.csv", "patch --dry-run -p1 < a.diff", "patch -p1 --dry-run -i a.diff", "split -l 1 .env x", "split -l 100 a.csv x --additional-suffix=.sh", "install -m 755 a /usr/bin/a", "install a b", "install -d /etc/x", "dos2unix /etc/x", "dos2unix .github/workflows/x.yml", "patch -p1 < a.diff", "patch --dry-run -o x -p1 < a.diff", "patch --dry-run -d /etc -p1 < a.diff",
		"patch --dry-run -p1 < .env", "7z x a.7z", "7z l @list", "7z l -si", "lipo -create a b", "plutil -convert json a.plist", "plutil -p .env", "xcode-select -s /tmp", "xcode-select --install", "xcrun ./x", "xcrun simctl boot x", "xcrun simctl erase all", "rpm -i x.rpm", "rpm -qa --eval '%(id)'", "rpm -V x", "rpm -qa -e x",
		"pacman -S x", "pacman -Syu", "pacman -R x", "snap install x", "opam install x", "asdf install x", "asdf exec x", "volta install x", "corepack enable", "git merge-tree --stdin", "pg_dump -d app_dev", "pg_dump -s -h db.prod x", "pg_dump -s -f /etc/x x", "kill $(pgrep approvalbot)", "difft .env a",
	})
}
