package finding

import (
	"sync"

	"approvalbot/core"
)

// reason is what one code means.
type reason struct {
	Name    string
	Class   core.RiskClass
	effects Effects
	Text    string // one sentence for people
}

// Sentence gives the sentence for people that belongs to a reason code of this
// package, and "" for a code it does not know.
func Sentence(name string) string {
	c, ok := codeByName()[name]
	if !ok {
		return ""
	}
	return Reasons[c].Text
}

// Named gives the code of that name.
func Named(name string) (Code, bool) {
	c, ok := codeByName()[name]
	return c, ok
}

var codeByName = sync.OnceValue(func() map[string]Code {
	m := make(map[string]Code, CodeCount)
	for c := range CodeCount {
		m[Reasons[c].Name] = c
	}
	return m
})

var Reasons = [CodeCount]reason{
	HarmlessTool:    {"harmless-tool", core.R0, 0, "The tool touches nothing outside the agent's own session."},
	ReadOnlyTool:    {"read-only-tool", core.R0, fsRead, "The tool only reads."},
	ReadOnlyCommand: {"read-only-command", core.R0, fsRead, "The command only reads."},

	WorkspaceWrite: {"workspace-write", core.R1, fsWrite, "It changes files inside the agent's workspace."},
	ScratchWrite:   {"scratch-write", core.R1, fsWrite, "It changes or deletes scratch files in /tmp."},
	LocalBuild:     {"local-build", core.R1, fsWrite, "It compiles code inside the agent's workspace without running it."},
	LocalGit:       {"local-git", core.R1, fsWrite, "It adds to the local git repository."},

	RunsProjectCode: {"runs-project-code", core.R1, ProcExec | fsWrite,
		"It builds, tests or checks the project inside the agent's workspace, which runs the project's own code."},

	DatabaseRead:       {"database-read", core.R2, netRead, "It reads from a database."},
	LoopbackRead:       {"loopback-read", core.R1, netRead, "It reads from a server on this machine."},
	RemoteRead:         {"remote-read", core.R2, netRead, "It reads from a remote system with the credentials of the machine."},
	InstallsLocked:     {"installs-locked", core.R2, netRead | fsWrite | ProcExec, "It installs what the project's lock file names."},
	RemovesBuildOutput: {"removes-build-output", core.R2, fsWrite, "It deletes build output that tools make again."},
	NetworkRead:        {"network-read", core.R2, netRead, "It reads from the network."},
	AsksTheDesk:        {"asks-the-desk", core.R2, ProcExec, "It asks this approval desk for something else."},

	DeclaredReadOnly: {"declared-read-only", core.R2, netRead,
		"The desk does not know this tool; its server, whose word the operator trusts, declares that it only reads."},

	UnknownTool:    {"unknown-tool", core.R3, 0, "The desk does not know this tool, so it cannot tell what the tool does."},
	KeywordExecute: {"keyword-execute", core.R3, ProcExec, "The unknown tool's name or description speaks of executing."},
	KeywordCommand: {"keyword-command", core.R3, ProcExec, "The unknown tool's name or description speaks of commands."},
	KeywordDelete:  {"keyword-delete", core.R3, dataLoss, "The unknown tool's name or description speaks of deleting."},
	KeywordRemove:  {"keyword-remove", core.R3, dataLoss, "The unknown tool's name or description speaks of removing."},
	KeywordWrite:   {"keyword-write", core.R3, fsWrite, "The unknown tool's name or description speaks of writing."},
	KeywordShell:   {"keyword-shell", core.R3, ProcExec, "The unknown tool's name or description speaks of a shell."},
	KeywordSend:    {"keyword-send", core.R3, SendsMessage, "The unknown tool's name or description speaks of sending."},
	KeywordPay:     {"keyword-pay", core.R3, pays, "The unknown tool's name or description speaks of payments."},
	KeywordSecret:  {"keyword-secret", core.R3, credentials, "The unknown tool's name speaks of secrets."},
	MalformedCall:  {"malformed-call", core.R3, 0, "The desk cannot read the parameters of this call."},
	UnknownParameters: {"unknown-parameters", core.R3, 0,
		"The call has parameters that the desk does not know, and they may change what it does."},
	MessageSend: {"message-send", core.R3, SendsMessage, "It sends a message to people."},
	RemoteWrite: {"remote-write", core.R3, ExternalWrite, "By its name, the tool changes something in another system."},
	ToolChanged: {"tool-changed", core.R3, 0,
		"What the server says of this tool is not what it said when a call of it was last allowed, or the client " +
			"may have been told something else."},
	BesideArguments: {"beside-arguments", core.R3, 0,
		"Beside the tool's arguments the server gets answers to its questions, the state of a call half done, or a task."},
	BrowserActs: {"browser-acts", core.R3, ExternalWrite,
		"It acts on a web page, with whatever sessions the browser is signed in to."},
	UsesDevice:   {"uses-device", core.R3, credentials, "It uses a person's device: camera, screen, location or notifications."},
	FeedsProcess: {"feeds-process", core.R3, ProcExec, "It types into a program that is already running."},
	TakesTyping: {"takes-typing", core.R3, ProcExec,
		"It starts a program that takes commands from its terminal, and what is typed there later is not shown here."},
	OpensTerminal: {"opens-terminal", core.R3, ProcExec,
		"It runs in a terminal, and what is typed there later may not be shown here."},
	ApprovesPlan: {"approves-plan", core.R3, 0, "It asks a person to approve the agent's plan, which the agent then carries out."},
	ControlsAgent: {"controls-agent", core.R3, ProcExec | securityChange,
		"It changes the agent's own runtime: its settings, version or devices."},

	StartsAgent: {"starts-agent", core.R3, ProcExec,
		"It starts another agent, which may act without asking this desk."},
	DeclaredDestructive: {"declared-destructive", core.R3, ExternalWrite | dataLoss,
		"The tool's server declares that it may delete or overwrite."},

	UnknownCommand:  {"unknown-command", core.R3, ProcExec, "It runs a program that is not on the desk's list of harmless ones."},
	UnknownOption:   {"unknown-option", core.R3, ProcExec, "It gives a program an option that the desk does not know to be harmless."},
	ProgramByPath:   {"program-by-path", core.R3, ProcExec, "It runs a program by a path outside the system's own directories."},
	DynamicCommand:  {"dynamic-command", core.R3, ProcExec, "What it runs is computed while it runs, so it cannot be read beforehand."},
	DynamicArgument: {"dynamic-argument", core.R3, ProcExec, "An argument that matters is computed while it runs."},
	DynamicPath:     {"dynamic-path", core.R3, fsWrite, "Which file it writes is computed while it runs."},
	DefinesFunction: {"defines-function", core.R3, ProcExec, "It defines a shell function, which may change what later words mean."},
	UnusualShell: {"unusual-shell", core.R3, ProcExec,
		"It uses shell syntax that different shells read differently or that can run hidden commands."},
	HiddenInComment:   {"hidden-in-comment", core.R3, ProcExec, "A comment in it contains shell code."},
	ControlCharacters: {"control-characters", core.R3, ProcExec, "It contains control characters or broken text."},
	UnparsableCommand: {"unparsable-command", core.R3, ProcExec, "It cannot be read as a shell command."},
	CommandTooLong:    {"command-too-long", core.R3, ProcExec, "It is too long to be read safely."},
	NestedTooDeep:     {"nested-too-deep", core.R3, ProcExec, "Its commands are nested deeper than the desk reads."},
	TooComplex:        {"too-complex", core.R3, ProcExec, "It contains more commands than the desk reads."},
	WindowsShell:      {"windows-shell", core.R3, ProcExec, "It runs on Windows, whose shells read the line differently."},
	OtherHost:         {"other-host", core.R3, ExternalWrite, "It runs on another machine."},

	InterpreterCode:   {"interpreter-code", core.R3, ProcExec, "It runs a program in an interpreter, which can do anything."},
	InterpreterInput:  {"interpreter-input", core.R3, ProcExec, "It feeds its input to a shell or an interpreter."},
	EvaluatesText:     {"evaluates-text", core.R3, ProcExec, "It runs text as a command."},
	RunsScript:        {"runs-script", core.R3, ProcExec, "It runs a script, whose contents the desk does not see."},
	RunsWorkspaceCode: {"runs-workspace-code", core.R3, ProcExec, "It runs code from the workspace, which the agent may have written."},
	WritesAndRuns: {"writes-and-runs", core.R3, ProcExec | fsWrite,
		"It writes files and then runs the project's own code, which may be what it has just written."},
	OutsideProject:   {"outside-project", core.R3, ProcExec, "It points a build or test tool at something outside the agent's workspace."},
	InstallsPackages: {"installs-packages", core.R3, ProcExec | ExternalWrite, "It installs or changes software packages."},
	PublishesPackage: {"publishes-package", core.R3, ExternalWrite, "It publishes a package for everyone."},
	RunsContainer:    {"runs-container", core.R3, ProcExec | ExternalWrite, "It controls containers."},
	RunsAsRoot:       {"runs-as-root", core.R3, ProcExec | securityChange, "It runs with another user's or the administrator's rights."},
	RemoteCommand:    {"remote-command", core.R3, ExternalWrite, "It runs something on another machine."},
	RemoteSystem:     {"remote-system", core.R3, ExternalWrite, "It talks to a remote system with stored credentials."},
	DatabaseClient:   {"database-client", core.R3, ExternalWrite, "It talks to a database."},

	SetsEnvironment: {"sets-environment", core.R3, ProcExec, "It sets an environment variable that may change what programs do."},
	DangerousEnvironment: {"dangerous-environment", core.R3, ProcExec | securityChange,
		"It sets an environment variable that decides which code programs run."},
	ReadsEnvironment: {"reads-environment", core.R3, credentials, "It reads environment variables, which often hold secrets."},
	ReadsSecret:      {"reads-secret", core.R3, credentials, "It reads a file that usually holds secrets."},
	MayReadSecret: {"may-read-secret", core.R3, credentials,
		"It may read files that hold secrets: which ones is open or out of the workspace."},
	MetadataService: {"metadata-service", core.R3, credentials | netRead,
		"It reads the cloud's metadata service, which hands out credentials."},
	ControlPlane: {"control-plane", core.R3, credentials | netRead,
		"It reads from a service that controls a machine, a cluster or a browser, and often trusts every caller."},
	PrivateAddress: {"private-address", core.R3, netRead,
		"It reads from a private network, whose services often trust whoever asks."},
	OddAddress: {"odd-address", core.R3, netRead, "It uses a network address that the desk cannot read."},

	WritesOutside: {"writes-outside", core.R3, fsWrite, "It changes files outside the agent's workspace."},
	NoWorkspace:   {"no-workspace", core.R3, fsWrite, "It changes files, and no workspace is known for this agent."},
	PathClimbs:    {"path-climbs", core.R3, fsWrite, "A path in it climbs out of a directory with \"..\"."},
	WritesSecret:  {"writes-secret", core.R3, fsWrite | credentials, "It changes a file that usually holds secrets."},
	WritesStartup: {"writes-startup", core.R3, fsWrite | securityChange,
		"It changes a file that other programs run or obey, such as hooks or settings."},
	WritesInstructions: {"writes-instructions", core.R3, fsWrite | securityChange,
		"It changes a file that tells agents what to do, such as AGENTS.md."},
	MisleadingName: {"misleading-name", core.R3, fsWrite,
		"It makes a file whose name other commands can take for an option or for another file."},
	MakesLink:          {"makes-link", core.R3, fsWrite, "It makes a symbolic link or a submodule, which can lead out of the workspace."},
	WritesSystem:       {"writes-system", core.R3, fsWrite | securityChange, "It changes files of the operating system."},
	DeletesFile:        {"deletes-file", core.R3, fsWrite | dataLoss, "It deletes or empties files."},
	ChangesPermissions: {"changes-permissions", core.R3, fsWrite | securityChange, "It changes who may use files."},
	GitElsewhere: {"git-elsewhere", core.R3, ProcExec,
		"It runs git in a directory other than the workspace; git obeys the settings it finds there."},
	GitPush:         {"git-push", core.R3, ExternalWrite, "It sends commits to another repository."},
	GitDiscards:     {"git-discards", core.R3, fsWrite | dataLoss, "It can discard changes that are not committed."},
	SendsData:       {"sends-data", core.R3, ExternalWrite, "It sends data over the network."},
	SavesDownload:   {"saves-download", core.R3, netRead | fsWrite, "It saves something from the network in a file."},
	StopsProcess:    {"stops-process", core.R3, ProcExec | dataLoss, "It stops running programs."},
	ChangesServices: {"changes-services", core.R3, ProcExec | securityChange, "It controls services of the machine."},
	ChangesNetwork:  {"changes-network", core.R3, securityChange, "It changes firewall or network settings."},
	ChangesSchedule: {"changes-schedule", core.R3, ProcExec | securityChange, "It changes what the machine runs on a schedule."},

	RecursiveDelete: {"recursive-delete", core.R4, fsWrite | dataLoss, "It deletes whole directories."},
	ForceDelete: {"force-delete", core.R4, fsWrite | dataLoss,
		"It deletes files by force that are not clearly inside the workspace."},
	WritesDevice:    {"writes-device", core.R4, fsWrite | dataLoss, "It writes to a device or to the kernel."},
	WritesAccess:    {"writes-access", core.R4, fsWrite | securityChange, "It changes who may log in or act as administrator."},
	WipesDisk:       {"wipes-disk", core.R4, dataLoss, "It formats, partitions or wipes storage."},
	StopsMachine:    {"stops-machine", core.R4, securityChange, "It shuts down or restarts a machine or a server."},
	KillsEverything: {"kills-everything", core.R4, dataLoss, "It kills all processes."},
	ForkBomb:        {"fork-bomb", core.R4, ProcExec, "It defines a function that starts itself over and over."},
	ChangesAccounts: {"changes-accounts", core.R4, securityChange, "It changes user accounts or passwords."},
	DropsFirewall:   {"drops-firewall", core.R4, securityChange, "It removes firewall rules."},
	RemovesSchedule: {"removes-schedule", core.R4, dataLoss, "It removes all scheduled jobs."},
	RecursivePermissions: {"recursive-permissions", core.R4, securityChange,
		"It changes owner or permissions of a whole directory tree outside the workspace."},
	GitForcePush: {"git-force-push", core.R4, ExternalWrite | dataLoss,
		"It overwrites or deletes history in another repository."},
	GitDestroys:            {"git-destroys", core.R4, fsWrite | dataLoss, "It throws away changes or history of the repository for good."},
	DestroysInfrastructure: {"destroys-infrastructure", core.R4, ExternalWrite | dataLoss, "It changes or deletes running infrastructure."},
	DestroysContainers:     {"destroys-containers", core.R4, dataLoss, "It removes containers, images or volumes."},
	EscapesContainer:       {"escapes-container", core.R4, securityChange, "It starts a container that can reach the whole machine."},
	DropsData:              {"drops-data", core.R4, ExternalWrite | dataLoss, "It deletes data from a database or a registry."},
	RunsDownload:           {"runs-download", core.R4, ProcExec | netRead, "It runs what it downloads from the network."},
	DestructiveWord: {"destructive-word", core.R4, dataLoss,
		"It cannot be read completely, and words in it belong to destructive commands."},
	Payment: {"payment", core.R4, pays, "It moves money."},
	WritesAgentSettings: {"writes-agent-settings", core.R4, fsWrite | securityChange,
		"It changes settings, hooks or servers of an agent's runtime, by which its calls come to this desk or do not."},
	TouchesDesk: {"touches-the-desk", core.R4, securityChange,
		"It touches this approval desk itself: its program, files or port."},

	ApprovalsDisabled: {"approvals-disabled", core.R0, 0, "Approvals are disabled in the desk's configuration."},
	ToolDenied:        {"tool-denied", core.R0, 0, "The operator has denied this tool."},
	ToolNotAllowed:    {"tool-not-allowed", core.R0, 0, "The operator allows only certain tools, and this is none of them."},
	ExecDenied:        {"exec-denied", core.R0, 0, "Commands are denied altogether."},
	ExecNotAllowed:    {"exec-not-allowed", core.R0, 0, "The command is not on the allowlist: only reading and local changes are."},
	ExecAlwaysAsks:    {"exec-always-asks", core.R0, 0, "Every command is to be asked for."},
	AlwaysAsks:        {"always-asks", core.R0, 0, "The desk is set to ask for every call."},
	ExternalWriteAsks: {"external-write-asks", core.R0, 0, "Whatever changes something outside is to be asked for."},
	MessageSendAsks:   {"message-send-asks", core.R0, 0, "Whatever sends a message is to be asked for."},
	ProjectCodeAsks:   {"project-code-asks", core.R0, 0, "The operator wants people to decide before the project's own code runs."},
	Confined:          {"sandboxed", core.R0, 0, "The operator vouches that this agent's commands are confined, so what is only unknown, and the project's own code, is taken for R2."},
	RiskDenied:        {"risk-denied", core.R0, 0, "Policy refuses calls of this risk."},

	MalformedDenied: {"malformed-denied", core.R0, 0,
		"What the call acts on is missing or of the wrong type, and such calls of this tool are refused."},

	KnownServer: {"known-server", core.R0, 0,
		"The token that asks, whose word the operator trusts, says which well-known server's tool it is."},
	ClassifierSpoke:    {"classifier-opinion", core.R0, 0, "A classifier was asked, since static rules were not sure."},
	ClassifierUnsure:   {"classifier-unsure", core.R0, 0, "The classifier was asked and is not sure either."},
	ClassifierFailed:   {"classifier-failed", core.R0, 0, "The classifier was asked and gave no valid opinion."},
	ClassifierFailOpen: {"classifier-fail-open", core.R0, 0, "The operator lets such calls go on without the classifier's opinion."},
}
