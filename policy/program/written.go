package program

import ()

// row is a row of the table as it is written. Options are listed by what becomes of
// their value, which says at the same time whether they have one; whatever is not
// listed asks. "-abc" are three options of one letter, "--name" is one.
type row struct {
	Is          string            `yaml:"is"`          // codes of the command, where nothing worse is found
	With        string            `yaml:"with"`        // sets of options that it has besides
	Flags       string            `yaml:"flags"`       // options without a value
	Optional    string            `yaml:"optional"`    // options whose value, text, stands behind "=" or nowhere
	Maybe       string            `yaml:"maybe"`       // options whose value is left out where the next word begins with a dash
	Text        string            `yaml:"text"`        // options whose value is text
	Dash        string            `yaml:"dash"`        // the same, and it may begin with a dash
	Tells       string            `yaml:"tells"`       // options whose value is a file of which the name or facts are told
	Reads       string            `yaml:"reads"`       // a file whose contents are told
	Tree        string            `yaml:"tree"`        // a file whose contents are told, or a directory of such files
	Makes       string            `yaml:"makes"`       // a file or directory that is made or touched
	Writes      string            `yaml:"writes"`      // a file that is given contents
	Prefix      string            `yaml:"prefix"`      // the beginning of the names of such files
	Project     string            `yaml:"project"`     // a file of the project
	Address     string            `yaml:"address"`     // an address that is read
	History     string            `yaml:"history"`     // a file, or a part of it, of which git tells the history
	Jq          string            `yaml:"jq"`          // a script of jq
	Slug        string            `yaml:"slug"`        // OWNER/NAME, with no host before it
	Inside      string            `yaml:"inside"`      // a directory of the workspace, in which the program works
	Postgres    string            `yaml:"postgres"`    // statements of SQL for psql
	Mysql       string            `yaml:"mysql"`       // statements of SQL for mysql
	Sqlite      string            `yaml:"sqlite"`      // statements of SQL for sqlite3
	Shapes      map[string]string `yaml:"shapes"`      // patterns that the options' values must match as a whole
	Begins      string            `yaml:"begins"`      // what the first word must be; it asks otherwise
	Needs       string            `yaml:"needs"`       // options of which one must be given
	Lacks       string            `yaml:"lacks"`       // codes of the command without one of them; it asks unless said
	Builds      string            `yaml:"builds"`      // a file or directory of the project that one of its tools makes
	Empties     string            `yaml:"empties"`     // such a directory, which is deleted before
	Environment string            `yaml:"environment"` // names of test environments, joined by commas
	Profiles    string            `yaml:"profiles"`    // names of what it is run against or built for, joined by commas: production asks
	Everyday    string            `yaml:"everyday"`    // a script or target that builds or checks
	Values      map[string]string `yaml:"values"`      // options by what their value, text, must look like: patterns, and the options of each
	Apart       bool              `yaml:"apart"`       // the value of an option of one letter is a word of its own, or a number; what follows in the same word are other options
	About       string            `yaml:"about"`       // the same, where it is only asked for its version or for help
	Named       string            `yaml:"named"`       // codes of the program where it has any operands, instead of those
	Word        bool              `yaml:"word"`        // the subcommand is the first of its own operands
	Operands    string            `yaml:"operands"`    // what the other words are: one of these roles, tree, repository, context or none; text unless said
	Input       string            `yaml:"input"`       // what its input is, which a here-document may give it instead of one of the options that it needs
	Looks       string            `yaml:"looks"`       // a pattern that every one of them must match as a whole
	First       int               `yaml:"first"`       // so many of them are text before the rest
	Leading     string            `yaml:"leading"`     // what these are, if not text
	Given       string            `yaml:"given"`       // letters of options that give what is the first of them otherwise
	Most        int               `yaml:"most"`        // so many there may be
	Least       int               `yaml:"least"`       // so many there must be
	All         bool              `yaml:"all"`         // no option does harm
	Beside      map[string]string `yaml:"beside"`      // options that need one of some others beside them; "--" is an operand
	Spelled     string            `yaml:"spelled"`     // a pattern for each word with a dash; -name is then --name where that is an option
	Wraps       bool              `yaml:"wraps"`       // behind the first operands stands a command, which it runs
	Numbers     bool              `yaml:"numbers"`     // -20 is an option
	Fixed       bool              `yaml:"fixed"`       // nothing may be computed
	Globs       bool              `yaml:"globs"`       // a value behind "=" may be a glob
	Equals      bool              `yaml:"equals"`      // what stands behind a letter may begin with "=", as in -o=json
	Here        bool              `yaml:"here"`        // it runs code of the project in which it stands, which must be in the workspace
	Silent      string            `yaml:"silent"`      // a pattern for all its words, joined by blanks, with which it prints nothing
	Filter      string            `yaml:"filter"`      // what it prints and writes is made of what it reads: "files" that its operands name, or its "input"
	Appends     string            `yaml:"appends"`     // flags with which it keeps what is in the files that it writes
	Restores    bool              `yaml:"restores"`    // it puts what was stored among the files, which may be code
	Fetches     bool              `yaml:"fetches"`     // what it prints comes from the network
	Posix       bool              `yaml:"posix"`       // options end at the first operand
	OneDash     bool              `yaml:"onedash"`     // long options have one dash or two
	Typed       string            `yaml:"typed"`       // when it takes commands from its terminal: see typing
	Version     bool              `yaml:"version"`     // --version alone tells the version and does nothing else first
	Raises      map[string]string `yaml:"raises"`      // codes, and the words that bring them
	Verbs       map[string]row    `yaml:"verbs"`       // subcommands, by their names or globs
	Bare        string            `yaml:"bare"`        // codes of the program without a subcommand
	Otherwise   string            `yaml:"otherwise"`   // codes of any other subcommand
	Unread      string            `yaml:"unread"`      // codes of the command besides, where some word is not recognised
	Runs        *projectRow       `yaml:"runs"`        // it runs the project's own code
	Prelude     string            `yaml:"prelude"`     // what reads the words before the subcommand, by its name in preludes
	Rule        string            `yaml:"rule"`        // the language of its own in which it is read, by its name in languages
}

// projectRow describes a program that builds, tests, checks or formats the project in
// which it stands.
type projectRow struct {
	Targets   string `yaml:"targets"`   // what the first operand must be, "default" where there may be none; "*" for any everyday target
	Like      string `yaml:"like"`      // or match, a pattern
	Dry       string `yaml:"dry"`       // options with which it only tells what it would do, and any target may stand
	Each      bool   `yaml:"each"`      // so must every other
	Free      bool   `yaml:"free"`      // other operands are no paths
	After     string `yaml:"after"`     // what words after "--" must look like
	Settings  string `yaml:"settings"`  // words that are passed over, such as -Dname=value
	Checks    string `yaml:"checks"`    // options with which it changes no file that it is pointed at; "*" where it never does
	Silent    string `yaml:"silent"`    // options without which it prints the files that it is pointed at
	Lists     bool   `yaml:"lists"`     // a word @x is a file of more words
	Command   string `yaml:"command"`   // its operands are a command: any of the project, a tool from npm, a script, a task, one that is measured
	Installed string `yaml:"installed"` // where projects install it: "bin", "npm" where npm's registry has it under this name, "python" where it is a module besides
}

// file is one file of the table.
type file struct {
	Options  map[string]row `yaml:"options"`  // sets of options that rows share
	Programs map[string]row `yaml:"programs"` // rows by the names of the programs
}
