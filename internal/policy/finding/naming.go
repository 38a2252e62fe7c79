package finding

// Naming is, for codes that come from a word of a call, half a sentence that names it with %s: a path, an address, a
// variable or a program. It tells no less than the code's own sentence.
var Naming = [CodeCount]string{
	UnknownCommand: "runs %s, which is not on the desk's list of harmless programs",
	ProgramByPath:  "runs %s, a program outside the system's own directories",
	RunsDownload:   "runs what it downloads from %s",
	UnknownTool:    "calls %s, a tool that the desk does not know",

	RemoteWrite: "by its name, %s changes something in another system",

	DestroysInfrastructure: "by its name, %s changes or deletes running infrastructure",

	InterpreterCode: "runs code in %s, which can do anything",

	SetsEnvironment:      "sets %s, a variable that may change what programs do",
	DangerousEnvironment: "sets %s, a variable that decides which code programs run",
	ReadsSecret:          "reads %s, which usually holds secrets",
	MayReadSecret:        "may read secrets in %s, which is open or out of the workspace",
	MetadataService:      "reads %s, which hands out the cloud's credentials",
	ControlPlane:         "reads %s, which controls a machine, a cluster or a browser",
	PrivateAddress:       "reads %s in a private network, whose services often trust every caller",
	OddAddress:           "uses the address %s, which the desk cannot read",
	SendsData:            "sends data over the network to %s",

	WritesOutside:       "changes %s, outside the workspace",
	NoWorkspace:         "changes %s, and no workspace is known",
	PathClimbs:          "climbs out of a directory with %s",
	WritesSecret:        "changes %s, which usually holds secrets",
	WritesStartup:       "changes %s, which other programs run or obey",
	WritesInstructions:  "changes %s, which tells agents what to do",
	MisleadingName:      "makes %s, a name that commands can take for an option or another file",
	WritesSystem:        "changes %s, a file of the operating system",
	WritesDevice:        "writes to %s, a device or the kernel",
	WritesAccess:        "changes %s, which says who may log in or act as administrator",
	WritesAgentSettings: "changes %s, by which an agent's calls come to this desk or do not",
	TouchesDesk:         "touches this approval desk itself: %s",
}

// OfProgram are those that name the program which runs.
var OfProgram = Of(UnknownCommand, ProgramByPath, InterpreterCode)
