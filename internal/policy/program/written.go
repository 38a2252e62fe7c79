package program

// row is a row of the table as it is written. Options are listed by what becomes of their
// value, which says at the same time whether they have one. What is not listed asks. "-abc"
// are three options of one letter, "--name" is one. The keys are the fields' names in small
// letters, in YAML and in the table that is made of it.
type row struct {
	Is          string            // codes of the command, if no worse code is found
	With        string            // sets of options that it has besides
	Flags       string            // options without a value
	Optional    string            // options whose value, text, is behind "=" or absent
	Maybe       string            // options whose value is left out if the next word begins with a dash
	Text        string            // options whose value is text
	Dash        string            // the same, and it may begin with a dash
	Tells       string            // options whose value is a file of which the name or facts are told
	Reads       string            // a file whose contents are told
	Tree        string            // a file whose contents are told, or a directory of such files
	Makes       string            // a file or directory that is made or touched
	Writes      string            // a file that is given contents
	Prefix      string            // the beginning of the names of such files
	Project     string            // a file of the project
	History     string            // a file, or a part of it, of which git tells the history
	Jq          string            // a script of jq
	Slug        string            // OWNER/NAME, with no host before it
	Inside      string            // a directory of the workspace, in which the program works
	Postgres    string            // statements of SQL for psql
	Mysql       string            // statements of SQL for mysql
	Sqlite      string            // statements of SQL for sqlite3
	Shapes      map[string]string // patterns that the options' values must match as a whole
	Begins      string            // what the first word must be; it asks otherwise
	Needs       string            // options of which one must be given
	Lacks       string            // codes of the command without one of them; it asks unless said
	Builds      string            // a file or directory of the project that one of its tools makes
	Empties     string            // such a directory, which is deleted before
	Environment string            // names of test environments, joined by commas
	Profiles    string            // names of what it is run against or built for, joined by commas: production asks
	Everyday    string            // a script or target that builds or checks
	Values      map[string]string // options by what their value, text, must look like: patterns, and the options of each
	Apart       bool              // the value of an option of one letter is a word of its own, or a number; what follows in the same word are other options
	About       string            // the same, if it is only asked for its version or for help
	Named       string            // codes of the program if it has any operands, instead of those
	Word        bool              // the subcommand is the first of its own operands
	Operands    string            // what the other words are: one of these roles, `tree`, `repository`, `context` or `none`; text unless said
	Input       string            // what its input is, which a here-document may give it instead of one of the options that it needs
	Looks       string            // a pattern that every one of them must match as a whole
	First       int               // so many of them are text before the rest
	Leading     string            // what these are, if not text
	Most        int               // so many there may be
	Least       int               // so many there must be
	All         bool              // no option does harm
	Beside      map[string]string // options that need one of some others beside them; "--" is an operand
	Spelled     string            // a pattern for each word with a dash; -name is then --name if that is an option
	Wraps       bool              // behind the first operands is a command, which it runs
	Numbers     bool              // -20 is an option
	Fixed       bool              // no word may be computed
	Equals      bool              // the value behind a letter may begin with "=", as in -o=json
	Here        bool              // it runs code of its directory's project, which must be in the workspace
	Silent      string            // a pattern for all its words, joined by blanks, with which its output is empty
	Filter      string            // what it prints and writes is made of what it reads: "files" that its operands name, or its "input"
	Appends     string            // flags with which it keeps what is in the files that it writes
	Restores    bool              // it puts what was stored among the files, which may be code
	Fetches     bool              // what it prints comes from the network
	Posix       bool              // options end at the first operand
	OneDash     bool              // long options have one dash or two
	Typed       string            // when it takes commands from its terminal: see typing
	Version     bool              // --version alone prints the version before the program does anything else
	Raises      map[string]string // codes, and the words that bring them
	Verbs       map[string]row    // subcommands, by their names or globs
	Bare        string            // codes of the program without a subcommand
	Otherwise   string            // codes of any other subcommand
	Unread      string            // codes of the command besides, if some word is not recognised
	Runs        *projectRow       // it runs the project's own code
	Prelude     string            // what reads the words before the subcommand, by its name in preludes
	Session     string            // options with which a session's yes covers it with other files: see session
	Rule        string            // the language of its own in which it is read, by its name in languages
}

// projectRow describes a program that builds, tests, checks or formats the project of the
// directory that it runs in.
type projectRow struct {
	Targets   string // what the first operand must be, "default" if it may be left out; "*" for any everyday target
	Like      string // or match, a pattern
	Dry       string // options with which it only tells what it would do, so any target is allowed
	Each      bool   // so must every other
	Free      bool   // other operands are no paths
	After     string // what words after "--" must look like
	Settings  string // words that are passed over, such as -Dname=value
	Checks    string // options with which it changes no file that it is pointed at; "*" if it never does
	Silent    string // options without which it prints the files that it is pointed at
	Lists     bool   // a word @x is a file of more words
	Command   string // its operands are a command: any of the project, a tool from npm, a script, a task, one that is measured
	Installed string // how projects install it: "bin", "npm" if npm's registry has it under this name, "python" if it is a module besides
}
