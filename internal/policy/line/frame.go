package line

import "approvalbot/internal/policy/workspace"

// frame is what one place of the line is inside of. It is passed by value: what a statement
// changes of its frame holds for what is inside the statement, and ends with it. The zero frame
// is that of the whole call.
type frame struct {
	depth      int  // how many wrappers and shells are around it
	inLoop     bool // inside a loop or a function
	inSubshell bool // inside a subshell that began in the innermost loop
	forEach    bool // it runs once for each of many files
	flat       bool // these are of one folder
	afterPipe  bool // its input is a pipe
	beforePipe bool // its output is a pipe
	searching  bool // only what is R4 counts: see searchNested

	empty      emptiness       // of its input
	readBefore int             // how many files had been read when its pipe began
	oneWord    map[string]bool // loops' variables that are one word each and never an option
	bound      loopValues      // what loops' variables are in this round
}

// emptiness says of the input of a command whether it is empty.
type emptiness uint8

const (
	idle      emptiness = iota // it is the call's own: it is empty unless a person types
	something                  // it may be anything
	nothing                    // it is surely empty
)

// loopValues are the values of loops' variables in one round.
type loopValues map[string]workspace.Word

// loop is the frame inside a loop or a function.
func (f frame) loop() frame {
	f.inLoop, f.inSubshell = true, false
	return f
}

// subshell is the frame inside a shell of its own.
func (f frame) subshell() frame {
	f.inSubshell = true
	return f
}

// repeats reports a place that the same shell comes to again, in a directory that is open by then.
func (f frame) repeats() bool { return f.inLoop && !f.inSubshell }
