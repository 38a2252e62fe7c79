// Package live tries an agent runtime for real: its own installed client, in a folder
// that is thrown away, with a fake [Model] that asks for one shell command. Whether
// the command runs then proves whether the hook works.
package live
