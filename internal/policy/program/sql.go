package program

import (
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// sql judges the statements that a database client is given. A statement is accepted only
// if it only reads. One that is not recognised counts as talking to a database.
func judgeSQL(x *command.Call, dialect role, w workspace.Word) {
	text := strings.TrimSpace(w.Text)
	switch {
	case w.Kind != workspace.Literal:
		x.Add(finding.DynamicArgument)
	case dialect == mysqlRole && strings.HasSuffix(text, "\\G"): // how it prints
		judgeSQL(x, dialect, workspace.Word{Text: strings.TrimSuffix(text, "\\G")})
	case dialect == postgresRole && describes.MatchString(text), dialect == sqliteRole && dots.MatchString(text):
	default:
		r := statements{dialect: dialect}
		if !r.read(text) || r.other {
			x.Add(finding.DatabaseClient)
		}
		if r.secret {
			x.Add(finding.ReadsSecret)
		}
	}
}

// describes are the commands of psql that only show what there is, one of them with at
// most one name: a second backslash begins another command.
var describes = lazy.Pattern(`^\\(?:d[tvmisnfTpxcbgu]?\+?|l\+?|conninfo)(?: [A-Za-z0-9_.*]+)?$`)

// judgePsql judges what psql reads line by line.
func judgePsql(x *command.Call, w workspace.Word) {
	var sql strings.Builder
	for line := range strings.Lines(w.Text) {
		command := strings.TrimSpace(line)
		switch {
		case psqlLine.MatchString(command):
		case strings.HasPrefix(command, "\\"):
			judgeSQL(x, postgresRole, workspace.Word{Text: command})
		case strings.HasPrefix(command, "--") && !strings.ContainsAny(command, "'\"\\$"): // a comment
		default:
			sql.WriteString(line)
		}
	}
	if strings.TrimSpace(sql.String()) != "" {
		judgeSQL(x, postgresRole, workspace.Word{Text: sql.String()})
	}
}

// psqlLine are commands of psql that say how it prints.
var psqlLine = lazy.Pattern(`^\\(?:timing(?: on| off)?|x(?: on| off| auto)?|q|pset (?:pager|footer) off|echo [A-Za-z0-9 .:=_-]+)$`)

// dots are such commands of sqlite3.
var dots = lazy.Pattern(`^\.(?:(?:schema|fullschema|tables|indexes|indices)(?: [A-Za-z0-9_%]+)?|databases|dbinfo|version|stats)$`)

// statements reads SQL in so far as all dialects read it the same way: no comments, no
// backslashes, no dollar quotes, no brackets.
type statements struct {
	dialect role
	words   []string // of one statement: names in small letters, quoted text as ', anything else by itself
	secret  bool     // a name says that it holds secrets
	other   bool     // a name means files, the raw database or a server's own tables
}

func (r *statements) read(text string) bool {
	if strings.ContainsAny(text, "\\#$[]{}\x00\r") || strings.Contains(text, "--") || strings.Contains(text, "/*") {
		return false
	}
	if spelledOut.MatchString(text) {
		return false
	}
	if strings.Contains(text, "`") && strings.ContainsFunc(text, func(c rune) bool { return c >= 0x80 }) {
		return false // to some encodings it is the end of a character
	}
	if r.dialect == mysqlRole && strings.Contains(text, "\n") || strings.Contains(text, "\n.") {
		return false // at the beginning of a line the client takes commands of its own
	}
	any := false
	for text != "" {
		c := text[0]
		n := 1
		switch {
		case c == '\'' || c == '"' || c == '`':
			end := strings.IndexByte(text[1:], c)
			if end < 0 {
				return false
			}
			n = end + 2
			r.quoted(c, text[1:n-1])
		case words.WordByte(c):
			for n < len(text) && words.WordByte(text[n]) {
				n++
			}
			r.name(strings.ToLower(text[:n]))
		case c == ';':
			if !r.statement() {
				return false
			}
			any, r.words = true, nil
		case c >= 0x80:
			return false
		case c > ' ':
			r.words = append(r.words, text[:1])
		}
		text = text[n:]
	}
	if len(r.words) == 0 {
		return any
	}
	return r.statement()
}

// quoted notes text in quotes: a name, or a string.
func (r *statements) quoted(quote byte, text string) {
	r.words = append(r.words, "'")
	r.named(strings.ToLower(text))
	if quote != '\'' {
		r.secret = r.secret || holdsSecrets(strings.ToLower(text))
	}
}

func (r *statements) name(name string) {
	r.words = append(r.words, name)
	r.named(name)
	r.secret = r.secret || holdsSecrets(name)
}

// named notes a name that means more than a table, quoted or not.
func (r *statements) named(name string) {
	switch r.dialect {
	case sqliteRole:
		r.other = r.other || virtual.Has(name)
	case mysqlRole:
		r.other = r.other || name == "mysql"
	}
}

// virtual are tables of sqlite3 that read files or the raw database, also without
// parentheses.
var virtual = lazy.Words("fsdir zipfile completion sqlite_dbpage sqlite_dbdata sqlite_dbptr")

// spelledOut are names and strings of which the letters are written as numbers.
var spelledOut = lazy.Pattern(`(?i)\buescape\b|\bu&\s*['"]`)

// secretParts are in the names of columns and tables that hold secrets.
var secretParts = [...]string{"passw", "passwd", "pwd", "secret", "token", "api_key", "apikey", "private_key",
	"credential", "pg_shadow", "pg_authid", "pg_user_mapping",
	"pg_subscription", "pg_hba_file", "pg_file_settings", "user_mapping", "pg_settings", "authentication_string", "conninfo", "passphrase"}

func holdsSecrets(name string) bool {
	for _, part := range secretParts {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// statement reports a statement that only reads.
func (r *statements) statement() bool {
	all := r.words
	if len(all) == 0 {
		return true
	}
	switch all[0] {
	case "explain":
		return selects(explained(all[1:]))
	case "show":
		return r.shows(all[1:])
	case "describe", "desc":
		return r.dialect == mysqlRole && len(all) == 2 && identifies(all[1])
	case "pragma":
		return r.dialect == sqliteRole && pragmas.MatchString(strings.Join(all[1:], " "))
	}
	return selects(all)
}

// explained gives what follows explain and its options.
func explained(all []string) []string {
	if len(all) > 0 && all[0] == "(" {
		for i, w := range all {
			switch {
			case w == ")":
				return all[i+1:]
			case w != "(" && w != "," && !isName(w):
				return nil
			}
		}
		return nil
	}
	for len(all) > 0 && explainWords.Has(all[0]) {
		all = all[1:]
	}
	return all
}

var explainWords = lazy.Words("analyze analyse verbose query plan extended")

// pragmas tell about the database, and do not change it if they have no value.
var pragmas = lazy.Pattern(`^(?:(?:table_info|table_xinfo|index_list|index_info|foreign_key_list|foreign_key_check|integrity_check|quick_check) \( (?:\w+|') \)` +
	`|user_version|schema_version|journal_mode|page_count|page_size|encoding|database_list|compile_options|foreign_keys|foreign_key_check|integrity_check|quick_check|freelist_count)$`)

// shows reports what may follow show.
func (r *statements) shows(all []string) bool {
	if len(all) == 0 {
		return false
	}
	switch r.dialect {
	case postgresRole: // one setting
		if len(all) != 1 || all[0] == "all" {
			return false
		}
		return isName(all[0]) && !strings.HasSuffix(all[0], "_command")
	case mysqlRole:
		return mysqlShows.MatchString(strings.Join(all, " "))
	}
	return false
}

var mysqlShows = lazy.Pattern(`^(?:full |global |session )?(?:tables|databases|schemas|processlist|status|variables|warnings|errors|engines|collation|table status|triggers` +
	`|columns|fields|indexes|index|keys|create table [\w.' ]+)(?: (?:from|in) [\w.' ]+)*(?: like ')?$`)

func isName(w string) bool { return words.WordByte(w[0]) && !words.Digit(w[0]) }

// identifies reports a name, in quotes or not.
func identifies(w string) bool { return w == "'" || isName(w) }

// selects reports a query. No word of it begins a change, and each word before a
// parenthesis is a function that is known to only compute.
func selects(all []string) bool {
	if len(all) == 0 || !queries.Has(all[0]) && all[0] != "(" {
		return false
	}
	for i, w := range all {
		called, qualified := i+1 < len(all) && all[i+1] == "(", i > 0 && all[i-1] == "."
		switch {
		case changes.Has(w) && !(w == "replace" && called):
			return false
		case called && identifies(w) && !functions.Has(w):
			return false
		case called && w == ".",
			called && qualified && isName(w):
			return false // a function by its quoted name, or of another schema
		}
	}
	return true
}

var queries = lazy.Words("select with values table")

// changes are words that are in a query only if it changes something, locks it or hands on
// what it reads.
var changes = lazy.Words(`insert update delete merge into create drop alter truncate grant revoke copy call do
	execute prepare lock vacuum analyze reindex attach detach pragma replace
	load import outfile dumpfile procedure handler share set reset begin commit rollback listen notify refresh install export checkpoint`)

// functions are the words that may come before a parenthesis: words of the language, types,
// and functions without effects.
var functions = lazy.Words(`in exists any all some and or not as on using over filter values select from where when
	then else by having union except intersect lateral limit offset distinct
	within group join between like ilike similar case with is materialized
	varchar char character numeric decimal float bigint int integer timestamp time interval bit
	count sum avg min max total stddev stddev_pop stddev_samp variance var_pop var_samp bool_and bool_or every
	array_agg string_agg group_concat json_agg jsonb_agg json_object_agg
	jsonb_object_agg percentile_cont percentile_disc mode corr
	row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
	coalesce nullif greatest least ifnull isnull iif if cast convert try_cast typeof pg_typeof
	abs ceil ceiling floor round trunc sign mod power pow sqrt exp ln log log10 log2 random rand
	length char_length character_length octet_length upper lower initcap trim ltrim rtrim btrim lpad rpad left right
	substr substring position strpos instr locate replace reverse repeat
	concat concat_ws split_part translate ascii chr char unicode hex quote printf format md5 overlay regexp_replace
	regexp_match regexp_matches regexp_like
	now current_timestamp current_date current_time localtime localtimestamp date date_trunc date_part extract age
	to_char to_date to_timestamp to_number make_date make_interval
	strftime julianday unixepoch datetime year month day hour minute second week quarter dayofweek dayofyear
	datediff timestampdiff date_add date_sub date_format from_unixtime unix_timestamp
	curdate curtime utc_timestamp last_day
	json_extract json_array_length json_each json_tree json_type json_object json_array json_group_array
	json_group_object json_valid json_keys json_length json_unquote json_contains
	jsonb_array_length jsonb_array_elements jsonb_array_elements_text jsonb_object_keys jsonb_each jsonb_each_text
	jsonb_typeof jsonb_build_object jsonb_build_array jsonb_pretty
	json_array_elements json_array_elements_text json_object_keys json_build_object json_build_array json_typeof
	to_json to_jsonb row_to_json
	array_length cardinality unnest array array_to_string generate_series row
	version database current_database current_schema current_user user schema pg_size_pretty pg_database_size
	pg_table_size pg_total_relation_size pg_relation_size pg_indexes_size
	pg_get_indexdef pg_get_constraintdef pg_get_viewdef pg_is_in_recovery to_regclass format_type obj_description
	col_description pg_postmaster_start_time
	sqlite_version changes total_changes last_insert_rowid`)
