// Package live tries an agent runtime for real: its own installed client, in a folder
// that is thrown away, with a fake [Model] that asks for one shell command. What then
// happened to the command proves what the hook is worth.
package live
