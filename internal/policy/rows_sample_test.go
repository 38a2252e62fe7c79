package policy

import "testing"

// TestRows_Samples: numbers, hashes and dates that are computed, and what only looks
// like them.
func TestRows_Samples(t *testing.T) {
	t.Parallel()
	harmlessAndTwins(t, []string{
		`cmake --build build -j"$(nproc)"`, "make -j$(nproc) test", "make -j $(nproc) test", `ninja -C build -j "$(nproc 2>/dev/null || sysctl -n hw.ncpu)"`, `make -j"$(getconf _NPROCESSORS_ONLN)"`, `cargo test -j "$(nproc)"`,
		`git diff --stat "$(git merge-base main HEAD)"`, "git diff $(git merge-base HEAD origin/main)..HEAD -- src", `git log --oneline "$(git merge-base main HEAD)..HEAD"`, `git log "$(git rev-list --count HEAD)..HEAD"`,
		`ctest --test-dir build -j"$(nproc || echo 4)"`, `pytest -n "$(nproc)"`, `git show --stat "$(git rev-parse --short HEAD)"`,
		"for f in dist/*.js; do printf '%s %s\\n' \"$(gzip -c \"$f\" | wc -c)\" \"$f\"; done | sort -rn",
		"for d in packages/*/; do\n  if [ -f \"$d/package.json\" ]; then\n    printf '%s\\t%s\\n' \"$d\" \"$(jq -r .version \"$d/package.json\")\"\n  fi\ndone",
	}, []string{
		`make -j"$(cat n)" test`, "make -j$x test", `make -j"$(nproc)$x" test`, `make -B"$(nproc)" CC="$(nproc)x"`, `make "$(nproc)"`, `make -j $(sysctl -n hw.ncpu) deploy`, `make -C"$(git merge-base a b)" test`,
		`git show "$(git rev-parse HEAD):.env"`, `git show "$(git rev-parse HEAD)":.env`, `git diff "$(git rev-parse --abbrev-ref HEAD)"`, `git diff "$(git merge-base $a b)"`, `git diff "$(git describe)"`, `git diff "$(echo x)"`,
		`git diff "$(git log -1 --format=%B)"`, `git diff "$(git merge-base a b 2>&1)"`, `git push origin "$(git rev-parse HEAD)"`, `rm -rf "$(nproc)"`, `rm -rf src/"$(date +%F)"`, `cat ".env$(nproc)"`, `cat "$(date +%F)"`, `cat < "$(nproc)"`,
		`git checkout "$(git rev-parse HEAD)"`, `git diff "$(nproc)"*`, `git log --output="$(date +%F)"`, `git log -O"$(nproc)"`, `curl "http://localhost:$(wc -l < x)/"`, `kill "$(wc -l < x)"`, `chmod "$(wc -l < x)" a.sh`, `git diff "$(git rev-parse HEAD; cat .env)"`,
		`xargs -n $(git merge-base a b) rm`, `env X="$(nproc)" sh -c 'rm x'`, `"$(nproc)" x`, `sort -o"$(date +%F)" x`, `tar -c"$(nproc)" x`, `make -"$(nproc)" test`,
		"for f in dist/*.js; do printf -v f '%s' /etc/shadow; cat \"$f\"; done", "for f in dist/*.js; do printf \"$x\" f; cat \"$f\"; done",
	})
}
