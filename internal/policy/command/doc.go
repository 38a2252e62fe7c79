// Package command is one simple command as a rule sees it: its words in order, split into
// options and operands, the place where it stands, and what a rule says of it: codes, and
// effects that are applied by who reads the line.
package command
