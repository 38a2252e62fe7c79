# On a fresh machine two commands do all the set-up: `make run` and `make test`.
GO      ?= go
BIN     := bin/approvalbot
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
# Packages that no hot path calls are compiled without inlining, which repeats their code (1.0 MB in all): a page is a
# function that gives functions, a verb runs once, a passkey is checked once a day, conditions are parsed at a reload, a desk is put together once. TestColdPackages_AreTheSameEverywhere.
COLD    := -gcflags=approvalbot/internal/web=-l -gcflags=approvalbot/internal/cli/...=-l -gcflags=approvalbot/internal/hook/...=-l -gcflags=approvalbot/internal/config/...=-l -gcflags=github.com/go-webauthn/...=-l -gcflags=github.com/antlr4-go/...=-l -gcflags=google.golang.org/protobuf/...=-l -gcflags=github.com/pressly/goose/...=-l -gcflags=github.com/pelletier/go-toml/...=-l -gcflags=github.com/spf13/...=-l -gcflags=github.com/arran4/golang-ical/...=-l -gcflags=github.com/coreos/go-oidc/...=-l -gcflags=github.com/modelcontextprotocol/...=-l -gcflags=github.com/fxamacker/...=-l -gcflags=github.com/bwmarrin/...=-l -gcflags=github.com/google/jsonschema-go/...=-l -gcflags=approvalbot/internal/daemon=-l -gcflags=approvalbot/internal/confine=-l
TOOL    := $(GO) tool -modfile=tools.mod

# The race detector watches our code and the drivers. SQLite itself, C that was translated to Go,
# its library and its allocator have no goroutines, and under the detector take sixteen times as
# long. go/... is what the tests that read our sources parse and type-check them with.
# go vet is for make lint.
RACE := -race -vet=off $(foreach p,modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory \
	modernc.org/mathutil go/...,-gcflags='$(p)=-race=false')

.PHONY: build run check test agents generate lint bench growth chaos shellproof confineproof obeys golden costs pictures vulnerabilities release fixture clean

build: ## the static binary, and the small one that answers hooks
	CGO_ENABLED=0 $(GO) build -trimpath $(COLD) -ldflags '$(LDFLAGS)' -o bin/ ./cmd/approvalbot ./cmd/approvalbot-hook

run: build ## the desk on embedded SQLite, with a generated local configuration
	@exec $(BIN) serve --local .

# These rooms are pure: none starts a goroutine (TestRooms_PureStartNoGoroutine), nor do their tests,
# so under the detector they take three times as long and find nothing more. The detector watches
# these rooms wherever desks use them, and policy in its tests that judge calls beside each other,
# whose names end in AtOnce.
PURE := ./internal/policy/... ./internal/approval ./internal/card ./internal/display ./internal/people \
	./internal/schedule ./bot/discord/render ./bot/telegram/render

# internal/confine's tests start hundreds of processes, in which with the detector it takes half as long again. It watches
# those whose wrapper does several things at once.

# cmd/approvalbot runs by itself: its whole desks answer within seconds, as people and hooks wait for them.

# A program with the detector sleeps for a second before it ends. Sixty test binaries do, and each
# command of a script.
test: export GORACE := atexit_sleep_ms=100
test: ## everything, with the race detector; ends with what this machine lacks the programs for
	$(GO) run ./internal/testsum $(RACE) -timeout 40m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(PURE) ./cmd/approvalbot ./internal/confine)") \
		-- $(RACE) -timeout 40m ./cmd/approvalbot -- -timeout 40m $(PURE) ./internal/confine \
		-- $(RACE) -run 'AtOnce|TestRun_|TestK4' ./internal/policy ./internal/confine -- -count=1 ./internal/costs

# Packages whose tests start whole desks, databases or browsers.
WHOLE := -e '/cmd/approvalbot$$' -e '/server$$' -e '/store$$' -e '/web$$'

check: lint ## for every commit: lint, and the tests that start no whole desk, database or browser
	$(GO) test -short $$($(GO) list ./... | grep -v $(WHOLE))

# The version whose stores make fixture makes.
RELEASED ?= 0.1.0

# What make agents installs from npm, and how long its slow person takes: beyond a minute some clients give up.
AGENTS      ?= claude-code codex gemini-cli qwen-code copilot-cli opencode cline libraries claude-agent-sdk
AGENTS_SLOW ?= 70s

agents: ## the real agent runtimes' clients against the desk, with a fake model; installs them under bin/agents (npm, 2 GB)
	internal/agents/install.sh $(AGENTS)
	APPROVALBOT_AGENTS='$(CURDIR)/bin/agents' APPROVALBOT_SLOW='$(AGENTS_SLOW)' $(GO) run ./internal/testsum \
		-exec '$(CURDIR)/internal/agents/alone.sh' -run 'TestAgents' -count=1 -timeout 40m ./cmd/approvalbot

generate: ## the pages' Go code, from internal/web/*.templ, and the sum of policy's sources
	$(TOOL) templ generate -path internal/web
	$(GO) test ./internal/policy -run BuildIsOfTheSources -update

lint: ## formatting, vet, staticcheck, generated code that is not of its source
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'gofmt would change:'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags faults ./...
	$(TOOL) staticcheck ./...
	@$(TOOL) templ generate -check -log-level error -path internal/web || { echo 'make generate makes the pages anew'; exit 1; }

vulnerabilities: ## known ones in what the program calls; says so loudly where their database cannot be reached
	internal/release/vulnerabilities.sh $(TOOL)

release: ## binaries for five platforms, deb, rpm, image archive, modules with licences, checksums: into dist/
	$(GO) run -C internal/release . -out '$(CURDIR)/dist'

fixture: ## before a release: stores as RELEASED leaves them behind, and hashes of its migrations (docs/upgrading.md)
	$(GO) test ./internal/store -run Migrations_Released -update
	$(GO) test ./cmd/approvalbot -run Released_Make -count=1 -released '$(RELEASED)'
	$(GO) test ./cmd/approvalbot -run Released_StoreGoesOn -count=1

bench: build ## our figures beside references of the same run; BENCH=evaluate,chat for some (docs/performance.md)
	$(GO) run ./internal/bench -bin $(BIN) -only '$(BENCH)'

# What make growth fills, and on which engine.
SIZE   ?= 300000
ENGINE ?= sqlite

growth: build ## what operations cost in a store of SIZE approvals; ENGINE=postgres for that; 300,000 take some five minutes
	$(GO) run ./internal/bench -bin $(BIN) -growth $(SIZE) -engine $(ENGINE)

chaos: ## two minutes of trouble for three instances on one PostgreSQL; APPROVALBOT_CHAOS_SEED=… for the same again
	APPROVALBOT_CHAOS=$${APPROVALBOT_CHAOS:-2m} $(GO) test ./cmd/approvalbot -run 'TestAdversary_P2_Chaos$$' -count=1 -timeout 20m -v

shellproof: ## ten minutes each of what the two readers say of allowed lines, in five shells; APPROVALBOT_SHELLPROOF_SEED=… for the same again
	APPROVALBOT_REQUIRE_SHELLS=1 APPROVALBOT_SHELLPROOF=$${APPROVALBOT_SHELLPROOF:-10m} $(GO) test ./internal/policy -run 'W11_AllowedLines' -count=1 -timeout 60m -v

confineproof: ## what 20,000 generated lines leave behind that run confined in five shells (Linux, 15 minutes); APPROVALBOT_CONFINEPROOF_SEED=… for the same again
	APPROVALBOT_REQUIRE_SHELLS=1 APPROVALBOT_CONFINEPROOF=$${APPROVALBOT_CONFINEPROOF:-20000} $(GO) test ./internal/confine -run GeneratedLines -count=1 -timeout 90m -v

obeys: ## which files of its directory each program obeys that may run unasked, under strace (Linux, 15 minutes); OBEYS='ctags git' for some
	APPROVALBOT_OBEYS='$(or $(OBEYS),all)' $(GO) test ./internal/policy -run 'TestObeys$$' -count=1 -timeout 90m -v

golden: ## rewrite golden files from what the code does now, but those of stored and answered bytes; read the diff (CONTRIBUTING.md)
	$(GO) test ./bot/telegram/render ./bot/discord/render -run Golden -update
	$(GO) test ./internal/server -run OpenAPI -update
	$(GO) test ./internal/gateway -run SchemaSays -update
	$(GO) test ./internal/messages -update
	$(GO) test ./internal/hook/install -run AgentsPage -update
	$(GO) test ./internal/policy/program -run TableIsMade -update
	$(GO) test ./internal/policy -run 'JudgementsStay|BuildIsOfTheSources' -update

costs: ## measure what calls and a start cost, and write it into internal/costs/costs.tsv; read the diff
	$(GO) test ./internal/costs -count=1 -update

pictures: ## the README's pictures, drawn by Chromium; INTO=FOLDER: of 24 kinds of call as well (chats, pages, terminal), and of every page
	$(GO) run ./internal/pictures docs/pictures $(INTO)
	APPROVALBOT_REQUIRE_CHROMIUM=1 APPROVALBOT_README_PICTURES='$(CURDIR)/docs/pictures' APPROVALBOT_PICTURES='$(abspath $(INTO))' \
		$(GO) test ./internal/web -run 'Browser_(ReadmePicture$(if $(INTO),|EveryPage|EveryKind))' -count=1

clean:
	rm -rf bin dist
