// Package workspace says what a path or an address means to policy, by its text alone: policy has
// no file system, so it cannot look at the files.
//
// A [Word] is a word of a command or a param, with how much of it is known before it runs: all
// (Literal), a glob (Pattern), or only how it begins (Computed). A [Place] is the place in which
// the call runs: the agent's workspaces, and the directories that it may be in by now (each cd adds
// one). A [Reader] resolves a word at a place and adds what it finds, with a method for each thing
// that may happen to a file (Read, Write, Remove, Search). At /w, which is the workspace:
//
//	Write  api/x.go               workspace-write   R1
//	Write  .git/hooks/pre-commit  writes-startup    R3, because git runs it
//	Write  api/$X                 dynamic-path      R3, because it may be any file below
//	Read   api/.env               reads-secret      R3
//
// If a word may mean several files, the worst of them counts; if it is not known which, it asks.
// Before a name is compared, [FoldPath] folds what some file systems do not tell apart, such as
// letter case.
//
// What is protected is in tables: secrets, and what programs run or obey (secrets.go); settings of
// agents' runtimes (runtimes.go); services that control a machine (controls.go); the desk's own
// files, programs and port ([Own], desk.go), which are R4 however a call touches them.
package workspace
