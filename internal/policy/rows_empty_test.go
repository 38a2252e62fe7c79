package policy

import "testing"

// TestEmptyingAsks: what writes a file from nothing deletes what is in it, whichever
// program does it. A file that is overwritten with something is a write like any other.
func TestEmptyingAsks(t *testing.T) {
	t.Parallel()
	e := engine(t)
	checkLines(t, e, lines("R3 deletes-file",
		"sort -o src/main.rs /dev/null", "sort /dev/null -o src/main.rs", "sort -u --output=src/main.rs < /dev/null", "tee src/main.rs < /dev/null", "cat /dev/null | tee src/main.rs",
		": | tee src/main.rs", "true | tee src/main.rs", "printf '' | tee src/main.rs", "printf %s '' > src/main.rs", "printf '' > src/main.rs", "echo -n > src/main.rs", "echo -n '' > src/main.rs",
		"head -0 README.md > src/main.rs", "head -n 0 README.md > src/main.rs", "head -qn0 README.md > src/main.rs", "head -c 0 a > b.go", "head --lines=0 a > b.go", "head --bytes 0 a > b.go", "ls | head -n 0 > b.go",
		"tail -n 0 a > b.go", "tail -0 a > b.go", "tail -c0 a > b.go", ": > src/main.rs", "true > src/main.rs", "false > src/main.rs", "test -f a > b.go", "[ -f a ] > b.go", "sleep 0 > b.go", "cd src > b.go",
		"truncate -s0 src/main.rs", "truncate -s 0 a.go", "tr -d '\\n' < /dev/null > src/main.rs", "tr a b < /dev/null > b.go", "cat < /dev/null > b.go", "cat > b.go < /dev/null", "sort < /dev/null > b.go",
		"cat /dev/null > b.go", "cat -n /dev/null > b.go", "cat /dev/null /dev/null > b.go", "cat - < /dev/null > b.go", "cut -d , -f 1 /dev/null > b.go", "uniq < /dev/null > b.go", "cat <<'E' > b.go\nE", "tee b.go <<'E'\nE",
		"grep -v '' x > b.go", "grep -v ^ x > b.go", "grep -iv '.*' x > b.go", "grep -q x y > b.go", "grep foo /dev/null > b.go", "grep foo < /dev/null > b.go",
		"sed d x > b.go", "sed -n '' x > b.go", "sed '1,$d' x > b.go", "sed '/^/d' x > b.go", "sed -i '/.*/d' b.go", "grep -v '^.*$' x > b.go", "sed p /dev/null > b.go", "sed -i d b.go", "sed -i '1,$d' b.go", "sed -i d src/*.go", "awk 0 x > b.go", "awk '{}' x > b.go", "awk -F, '' x > b.go",
		"(true) > b.go", "(cat; sort) < /dev/null > b.go", "(ls > /dev/null) > b.go", "(: && true) > b.go", "timeout 5 cat /dev/null > b.go", "cp /dev/null b.go", "cat /dev/null | sort | tee b.go | wc -l",
		"for f in a b; do : > b.go; done", "if ls; then true > b.go; fi",
	))
	checkLines(t, e, lines("R1 workspace-write",
		"cat README.md > src/index.ts", "sort -o names.txt names.txt", "sort -u names.txt -o names.txt", "tee a.txt < b.txt", "tee -a a.txt < /dev/null", "head -20 README.md > b.txt", "head -n 10 a > b.txt", "tail -n +2 a.csv > b.csv",
		"tail -c 100 a > b.txt", "cat /dev/null a.txt > b.txt", "cat a.txt /dev/null > b.txt", "grep -v '^#' a.txt > b.txt", "grep foo a.txt /dev/null > b.txt", "grep -v '^$' a.txt > b.txt", "sed '/^$/d' a.txt > b.txt", "sed -i '/^$/d' b.txt", "sed '1d' a.txt > b.txt", "sed -n '1,5p' a.txt > b.txt", "sed -n p a.txt > b.txt",
		"sed -i '1d' b.txt", "awk '{print $1}' a.txt > b.txt", "awk 'NR==10' a.txt > b.txt", "tr a b < a.txt > b.txt", "cut -d , -f 1 a.csv > b.csv", "printf '%s\\n' x > b.txt", "printf 'a' > b.txt", "echo -n x > b.txt", "echo > b.txt",
		": >> b.txt", "true >> b.txt", "cat /dev/null >> b.txt", "ls < /dev/null > b.txt", "wc -l < /dev/null > b.txt", "(true; ls) > b.txt", "true && ls > b.txt", "cat <<'E' > b.txt\nx\nE", ": > build.log", "true > \"server.log\"", "head -0 a > x.log", "cat /dev/null > test.out",
		"sort < /dev/null && cat a > b.txt", "cat < /dev/null | wc -l > b.txt", "touch b.txt", "ls 2>&1 | tee b.txt",
	))
	checkLines(t, e, lines("R0", "cat /dev/null", "sort /dev/null", "tail -n 0 a", ": < a.txt", "cat < /dev/null > /dev/null", "head -0 a | wc -l", "test -f a > /dev/null", "git log | grep -q fix"))
}
