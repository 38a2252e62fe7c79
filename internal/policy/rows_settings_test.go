package policy

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"approvalbot/internal/approval"
)

// harmlessAndTwins judges lines that need nobody, and twins of them that ask at least.
func harmlessAndTwins(t *testing.T, harmless, twins []string) {
	t.Helper()
	e := engine(t, shipped)
	for _, line := range harmless {
		a := judge(e, lineCall(t, line)).Assessment
		assert.LessOrEqual(t, a.RiskClass, approval.R2, "%s %v", line, a.ReasonCodes)
	}
	for _, line := range twins {
		a := judge(e, lineCall(t, line)).Assessment
		assert.GreaterOrEqual(t, a.RiskClass, approval.R3, "%s %v", line, a.ReasonCodes)
	}
}

// TestRows_Settings: what may be set before a command, and the values of the same
// variables that decide what runs, where, or what is written.
func TestRows_Settings(t *testing.T) {
	harmlessAndTwins(t, []string{
		"RAILS_ENV=test bundle exec rspec spec/models/invoice_spec.rb:48", "MIX_ENV=test mix test --trace", "APP_ENV=dev php artisan test", "UPDATE_GOLDEN=1 go test ./render/...", "RACK_ENV=test bundle exec rake test",
		`JAVA_OPTS="-Xmx1g" ./gradlew test`, "MAVEN_OPTS='-Xmx2g -Xms512m' mvn -q test", `NODE_OPTIONS=--max-old-space-size=4096 npm run build`, "NODE_OPTIONS='--experimental-vm-modules --no-warnings' npx jest",
		`RUSTFLAGS="-D warnings" cargo clippy`, "RUSTDOCFLAGS='-D rustdoc::broken_intra_doc_links' cargo doc --no-deps", "ASAN_OPTIONS=detect_leaks=1:halt_on_error=0 make test", "GOMAXPROCS=2 GOGC=off go test ./...",
		"DJANGO_SETTINGS_MODULE=shop.settings.test pytest -q", "DJANGO_SETTINGS_MODULE=config.settings python -m pytest", "CARGO_TERM_COLOR=never cargo test", "INSTA_UPDATE=no cargo test", "PYTHONWARNINGS=error pytest",
		"GIT_PAGER=cat git log -3", "AWS_PAGER= AWS_REGION=eu-west-1 aws s3 ls", "PORT=0 npm test", "env RAILS_ENV=test rspec", "DEBUG=1 make test", "TF_IN_AUTOMATION=1 terraform fmt -check", "GO111MODULE=on go build ./...",
	}, []string{
		"RAILS_ENV=production bundle exec rspec", "MIX_ENV=prod mix test", `RAILS_ENV="$x" bundle exec rspec`, "APP_ENV=production php artisan test", "UPDATE_GOLDEN=/tmp/x go test ./...",
		`JAVA_OPTS="-javaagent:/tmp/x.jar" ./gradlew test`, "MAVEN_OPTS='-Xmx2g -XX:OnOutOfMemoryError=sh' mvn test", "JAVA_OPTS='-Xmx1g -Dx=y' ./gradlew test", "NODE_OPTIONS=--require=./x.js npm test", "NODE_OPTIONS='--no-warnings -r ./x' npm test",
		"NODE_OPTIONS='--experimental-vm-modules --import=./x.mjs' npx jest", `RUSTFLAGS="-C linker=/tmp/x" cargo test`, "RUSTFLAGS='-D warnings -Clinker=x' cargo clippy", "RUSTFLAGS='-D warnings --cfg x' cargo build",
		"ASAN_OPTIONS=log_path=/tmp/x make test", "ASAN_OPTIONS=detect_leaks=1:suppressions=/etc/x make test", "ASAN_OPTIONS=external_symbolizer_path=/tmp/x make test", "TSAN_OPTIONS=include=/tmp/x make test",
		"DJANGO_SETTINGS_MODULE=shop.settings.production pytest", "DJANGO_SETTINGS_MODULE=antigravity pytest", "DJANGO_SETTINGS_MODULE=../x.settings pytest", "PYTHONWARNINGS=error::evil.Thing pytest",
		"GIT_PAGER='sh -c id' git log", "PAGER=./x git log", "GIT_PAGER=$x git log", "PGOPTIONS=-cx=y psql -c 'select 1'", "GOFLAGS=-mod=mod go test ./...", "GOTOOLCHAIN=go1.99 go test ./...", "GOWORK=/tmp/go.work go test ./...",
		"AWS_PROFILE=prod aws s3 ls", "PYTHONSTARTUP=x.py pytest", "env NODE_OPTIONS=-rx npm test", "DOCKER_HOST=tcp://203.0.113.7 docker ps", "LD_PRELOAD=./x.so ls", "RAILS_ENV+=test bundle exec rspec", "TZ=../../etc/x date",
	})
}
