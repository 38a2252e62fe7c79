package finding

import (
	"sync"

	"approvalbot/internal/approval"
)

// reason is what one code means.
type reason struct {
	Name    string
	Class   approval.RiskClass
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
	HarmlessTool:    {"harmless-tool", approval.R0, 0, "The tool stays within the agent's own session."},
	ReadOnlyTool:    {"read-only-tool", approval.R0, fsRead, "The tool only reads."},
	ReadOnlyCommand: {"read-only-command", approval.R0, fsRead, "The command only reads."},

	WorkspaceWrite: {"workspace-write", approval.R1, fsWrite, "It changes files inside the agent's workspace."},
	ScratchWrite:   {"scratch-write", approval.R1, fsWrite, "It changes or deletes scratch files in /tmp."},
	LocalBuild:     {"local-build", approval.R1, fsWrite, "It compiles code inside the agent's workspace without running it."},
	LocalGit:       {"local-git", approval.R1, fsWrite, "It adds to the local git repository."},

	RunsProjectCode: {"runs-project-code", approval.R1, ProcExec | fsWrite,
		"It builds, tests or checks the project inside the agent's workspace, which runs the project's own code."},

	DatabaseRead:       {"database-read", approval.R2, netRead, "It reads from a database."},
	LoopbackRead:       {"loopback-read", approval.R1, netRead, "It reads from a server on this machine."},
	RemoteRead:         {"remote-read", approval.R2, netRead, "It reads from a remote system with the credentials of the machine."},
	InstallsLocked:     {"installs-locked", approval.R2, netRead | fsWrite | ProcExec, "It installs what the project's lock file names."},
	RemovesBuildOutput: {"removes-build-output", approval.R2, fsWrite, "It deletes build output that tools make again."},
	NetworkRead:        {"network-read", approval.R2, netRead, "It reads from the network."},
	AsksTheDesk:        {"asks-the-desk", approval.R2, ProcExec, "It asks this approval desk for something else."},

	DeclaredReadOnly: {"declared-read-only", approval.R2, netRead,
		"The desk does not know this tool; its server, whose word the operator trusts, declares that it only reads."},

	UnknownTool:    {"unknown-tool", approval.R3, 0, "The desk does not know this tool, so it cannot tell what the tool does."},
	KeywordExecute: {"keyword-execute", approval.R3, ProcExec, "The unknown tool's name or description speaks of executing."},
	KeywordCommand: {"keyword-command", approval.R3, ProcExec, "The unknown tool's name or description speaks of commands."},
	KeywordDelete:  {"keyword-delete", approval.R3, dataLoss, "The unknown tool's name or description speaks of deleting."},
	KeywordRemove:  {"keyword-remove", approval.R3, dataLoss, "The unknown tool's name or description speaks of removing."},
	KeywordWrite:   {"keyword-write", approval.R3, fsWrite, "The unknown tool's name or description speaks of writing."},
	KeywordShell:   {"keyword-shell", approval.R3, ProcExec, "The unknown tool's name or description speaks of a shell."},
	KeywordSend:    {"keyword-send", approval.R3, SendsMessage, "The unknown tool's name or description speaks of sending."},
	KeywordPay:     {"keyword-pay", approval.R3, pays, "The unknown tool's name or description speaks of payments."},
	KeywordSecret:  {"keyword-secret", approval.R3, credentials, "The unknown tool's name speaks of secrets."},
	MalformedCall:  {"malformed-call", approval.R3, 0, "The desk cannot read the parameters of this call."},
	UnknownParameters: {"unknown-parameters", approval.R3, 0,
		"The call has parameters that the desk does not know, and they may change what it does."},
	MessageSend: {"message-send", approval.R3, SendsMessage, "It sends a message to people."},
	RemoteWrite: {"remote-write", approval.R3, ExternalWrite, "By its name, the tool changes something in another system."},
	ToolChanged: {"tool-changed", approval.R3, 0,
		"What the server says of this tool is not what it said when a call of it was last allowed, or the client " +
			"may have been told something else."},
	BesideArguments: {"beside-arguments", approval.R3, 0,
		"Beside the tool's arguments the server gets answers to its questions, the state of a call half done, or a task."},
	BrowserActs: {"browser-acts", approval.R3, ExternalWrite,
		"It acts on a web page, with every session that the browser is signed in to."},
	UsesDevice:   {"uses-device", approval.R3, credentials, "It uses a person's device: camera, screen, location or notifications."},
	FeedsProcess: {"feeds-process", approval.R3, ProcExec, "It types into a program that is already running."},
	TakesTyping: {"takes-typing", approval.R3, ProcExec,
		"It starts a program that takes commands from its terminal, and what is typed there later is not shown here."},
	OpensTerminal: {"opens-terminal", approval.R3, ProcExec,
		"It runs in a terminal, and what is typed there later may not be shown here."},
	ApprovesPlan: {"approves-plan", approval.R3, 0, "It asks a person to approve the agent's plan, which the agent then carries out."},
	ControlsAgent: {"controls-agent", approval.R3, ProcExec | securityChange,
		"It changes the agent's own runtime: its settings, version or devices."},

	StartsAgent: {"starts-agent", approval.R3, ProcExec,
		"It starts another agent, which may act without asking this desk."},
	DeclaredDestructive: {"declared-destructive", approval.R3, ExternalWrite | dataLoss,
		"The tool's server declares that it may delete or overwrite."},

	UnknownCommand:  {"unknown-command", approval.R3, ProcExec, "It runs a program that is not on the desk's list of harmless ones."},
	UnknownOption:   {"unknown-option", approval.R3, ProcExec, "It gives a program an option that the desk does not know to be harmless."},
	ProgramByPath:   {"program-by-path", approval.R3, ProcExec, "It runs a program by a path outside the system's own directories."},
	DynamicCommand:  {"dynamic-command", approval.R3, ProcExec, "What it runs is computed while it runs, so it cannot be read beforehand."},
	DynamicArgument: {"dynamic-argument", approval.R3, ProcExec, "An argument that matters is computed while it runs."},
	DynamicPath:     {"dynamic-path", approval.R3, fsWrite, "Which file it writes is computed while it runs."},
	DefinesFunction: {"defines-function", approval.R3, ProcExec, "It defines a shell function, which may change what later words mean."},
	UnusualShell: {"unusual-shell", approval.R3, ProcExec,
		"It uses shell syntax that different shells read differently or that can run hidden commands."},
	HiddenInComment:   {"hidden-in-comment", approval.R3, ProcExec, "A comment in it contains shell code."},
	ControlCharacters: {"control-characters", approval.R3, ProcExec, "It contains control characters or broken text."},
	UnparsableCommand: {"unparsable-command", approval.R3, ProcExec, "It cannot be read as a shell command."},
	CommandTooLong:    {"command-too-long", approval.R3, ProcExec, "It is too long to be read safely."},
	NestedTooDeep:     {"nested-too-deep", approval.R3, ProcExec, "Its commands are nested deeper than the desk reads."},
	TooComplex:        {"too-complex", approval.R3, ProcExec, "It contains more commands than the desk reads."},
	WindowsShell:      {"windows-shell", approval.R3, ProcExec, "It runs on Windows, whose shells read the line differently."},
	OtherHost:         {"other-host", approval.R3, ExternalWrite, "It runs on another machine."},

	InterpreterCode:   {"interpreter-code", approval.R3, ProcExec, "It runs a program in an interpreter, which can do anything."},
	InterpreterInput:  {"interpreter-input", approval.R3, ProcExec, "It feeds its input to a shell or an interpreter."},
	EvaluatesText:     {"evaluates-text", approval.R3, ProcExec, "It runs text as a command."},
	RunsScript:        {"runs-script", approval.R3, ProcExec, "It runs a script, whose contents the desk does not see."},
	RunsWorkspaceCode: {"runs-workspace-code", approval.R3, ProcExec, "It runs code from the workspace, which the agent may have written."},
	WritesAndRuns: {"writes-and-runs", approval.R3, ProcExec | fsWrite,
		"It writes files and then runs the project's own code, which may be what it has just written."},
	OutsideProject:   {"outside-project", approval.R3, ProcExec, "It points a build or test tool at something outside the agent's workspace."},
	InstallsPackages: {"installs-packages", approval.R3, ProcExec | ExternalWrite, "It installs or changes software packages."},
	PublishesPackage: {"publishes-package", approval.R3, ExternalWrite, "It publishes a package for everyone."},
	RunsContainer:    {"runs-container", approval.R3, ProcExec | ExternalWrite, "It controls containers."},
	RunsAsRoot:       {"runs-as-root", approval.R3, ProcExec | securityChange, "It runs with another user's or the administrator's rights."},
	RemoteCommand:    {"remote-command", approval.R3, ExternalWrite, "It runs something on another machine."},
	RemoteSystem:     {"remote-system", approval.R3, ExternalWrite, "It talks to a remote system with stored credentials."},
	DatabaseClient:   {"database-client", approval.R3, ExternalWrite, "It talks to a database."},

	SetsEnvironment: {"sets-environment", approval.R3, ProcExec, "It sets an environment variable that may change what programs do."},
	DangerousEnvironment: {"dangerous-environment", approval.R3, ProcExec | securityChange,
		"It sets an environment variable that decides which code programs run."},
	ReadsEnvironment: {"reads-environment", approval.R3, credentials, "It reads environment variables, which often hold secrets."},
	ReadsSecret:      {"reads-secret", approval.R3, credentials, "It reads a file that usually holds secrets."},
	MayReadSecret: {"may-read-secret", approval.R3, credentials,
		"It may read files that hold secrets: which ones is open or out of the workspace."},
	MetadataService: {"metadata-service", approval.R3, credentials | netRead,
		"It reads the cloud's metadata service, which hands out credentials."},
	ControlPlane: {"control-plane", approval.R3, credentials | netRead,
		"It reads from a service that controls a machine, a cluster or a browser, and often trusts every caller."},
	PrivateAddress: {"private-address", approval.R3, netRead,
		"It reads from a private network, whose services often trust every caller."},
	OddAddress: {"odd-address", approval.R3, netRead, "It uses a network address that the desk cannot read."},

	WritesOutside: {"writes-outside", approval.R3, fsWrite, "It changes files outside the agent's workspace."},
	NoWorkspace:   {"no-workspace", approval.R3, fsWrite, "It changes files, and no workspace is known for this agent."},
	PathClimbs:    {"path-climbs", approval.R3, fsWrite, "A path in it climbs out of a directory with \"..\"."},
	WritesSecret:  {"writes-secret", approval.R3, fsWrite | credentials, "It changes a file that usually holds secrets."},
	WritesStartup: {"writes-startup", approval.R3, fsWrite | securityChange,
		"It changes a file that other programs run or obey, such as hooks or settings."},
	WritesInstructions: {"writes-instructions", approval.R3, fsWrite | securityChange,
		"It changes a file that tells agents what to do, such as AGENTS.md."},
	MisleadingName: {"misleading-name", approval.R3, fsWrite,
		"It makes a file whose name other commands can take for an option or for another file."},
	MakesLink:          {"makes-link", approval.R3, fsWrite, "It makes a symbolic link or a submodule, which can lead out of the workspace."},
	WritesSystem:       {"writes-system", approval.R3, fsWrite | securityChange, "It changes files of the operating system."},
	DeletesFile:        {"deletes-file", approval.R3, fsWrite | dataLoss, "It deletes or empties files."},
	ChangesPermissions: {"changes-permissions", approval.R3, fsWrite | securityChange, "It changes who may use files."},
	GitElsewhere: {"git-elsewhere", approval.R3, ProcExec,
		"It runs git in a directory other than the workspace; git obeys the settings it finds there."},
	GitPush:         {"git-push", approval.R3, ExternalWrite, "It sends commits to another repository."},
	GitDiscards:     {"git-discards", approval.R3, fsWrite | dataLoss, "It can discard changes that are not committed."},
	SendsData:       {"sends-data", approval.R3, ExternalWrite, "It sends data over the network."},
	SavesDownload:   {"saves-download", approval.R3, netRead | fsWrite, "It saves something from the network in a file."},
	StopsProcess:    {"stops-process", approval.R3, ProcExec | dataLoss, "It stops running programs."},
	ChangesServices: {"changes-services", approval.R3, ProcExec | securityChange, "It controls services of the machine."},
	ChangesNetwork:  {"changes-network", approval.R3, securityChange, "It changes firewall or network settings."},
	ChangesSchedule: {"changes-schedule", approval.R3, ProcExec | securityChange, "It changes what the machine runs on a schedule."},

	RecursiveDelete: {"recursive-delete", approval.R4, fsWrite | dataLoss, "It deletes whole directories."},
	ForceDelete: {"force-delete", approval.R4, fsWrite | dataLoss,
		"It deletes files by force that are not clearly inside the workspace."},
	WritesDevice:    {"writes-device", approval.R4, fsWrite | dataLoss, "It writes to a device or to the kernel."},
	WritesAccess:    {"writes-access", approval.R4, fsWrite | securityChange, "It changes who may log in or act as administrator."},
	WipesDisk:       {"wipes-disk", approval.R4, dataLoss, "It formats, partitions or wipes storage."},
	StopsMachine:    {"stops-machine", approval.R4, securityChange, "It shuts down or restarts a machine or a server."},
	KillsEverything: {"kills-everything", approval.R4, dataLoss, "It kills all processes."},
	ForkBomb:        {"fork-bomb", approval.R4, ProcExec, "It defines a function that starts itself over and over."},
	ChangesAccounts: {"changes-accounts", approval.R4, securityChange, "It changes user accounts or passwords."},
	DropsFirewall:   {"drops-firewall", approval.R4, securityChange, "It removes firewall rules."},
	RemovesSchedule: {"removes-schedule", approval.R4, dataLoss, "It removes all scheduled jobs."},
	RecursivePermissions: {"recursive-permissions", approval.R4, securityChange,
		"It changes owner or permissions of a whole directory tree outside the workspace."},
	GitForcePush: {"git-force-push", approval.R4, ExternalWrite | dataLoss,
		"It overwrites or deletes history in another repository."},
	GitDestroys:            {"git-destroys", approval.R4, fsWrite | dataLoss, "It throws away changes or history of the repository for good."},
	DestroysInfrastructure: {"destroys-infrastructure", approval.R4, ExternalWrite | dataLoss, "It changes or deletes running infrastructure."},
	DestroysContainers:     {"destroys-containers", approval.R4, dataLoss, "It removes containers, images or volumes."},
	EscapesContainer:       {"escapes-container", approval.R4, securityChange, "It starts a container that can reach the whole machine."},
	DropsData:              {"drops-data", approval.R4, ExternalWrite | dataLoss, "It deletes data from a database or a registry."},
	RunsDownload:           {"runs-download", approval.R4, ProcExec | netRead, "It runs what it downloads from the network."},
	DestructiveWord: {"destructive-word", approval.R4, dataLoss,
		"It cannot be read completely, and words in it belong to destructive commands."},
	Payment: {"payment", approval.R4, pays, "It moves money."},
	WritesAgentSettings: {"writes-agent-settings", approval.R4, fsWrite | securityChange,
		"It changes settings, hooks or servers of an agent's runtime, by which its calls come to this desk or do not."},
	TouchesDesk: {"touches-the-desk", approval.R4, securityChange,
		"It touches this approval desk itself: its program, files or port."},

	ApprovalsDisabled: {"approvals-disabled", approval.R0, 0, "Approvals are disabled in the desk's configuration."},
	ToolDenied:        {"tool-denied", approval.R0, 0, "The operator has denied this tool."},
	ToolNotAllowed:    {"tool-not-allowed", approval.R0, 0, "The operator allows only certain tools, and this is not one of them."},
	ExecDenied:        {"exec-denied", approval.R0, 0, "Commands are denied altogether."},
	ExecNotAllowed:    {"exec-not-allowed", approval.R0, 0, "The command is not on the allowlist: only reading and local changes are."},
	ExecAlwaysAsks:    {"exec-always-asks", approval.R0, 0, "Every command is to be asked for."},
	AlwaysAsks:        {"always-asks", approval.R0, 0, "The desk is set to ask for every call."},
	ExternalWriteAsks: {"external-write-asks", approval.R0, 0, "Every external change is to be asked for."},
	MessageSendAsks:   {"message-send-asks", approval.R0, 0, "Every message that is sent is to be asked for."},
	ProjectCodeAsks:   {"project-code-asks", approval.R0, 0, "The operator wants people to decide before the project's own code runs."},
	RunsConfined: {"runs-confined", approval.R0, 0,
		"It runs confined: it has no network and can change only its workspace."},
	Sandboxed:  {"sandboxed", approval.R0, 0, "The operator vouches that this agent's commands are confined, so what is only unknown, and the project's own code, is taken for R2."},
	RiskDenied: {"risk-denied", approval.R0, 0, "Policy refuses calls of this risk."},

	MalformedDenied: {"malformed-denied", approval.R0, 0,
		"What the call acts on is missing or of the wrong type, and such calls of this tool are refused."},

	KnownServer: {"known-server", approval.R0, 0,
		"The token that asks, whose word the operator trusts, says which well-known server's tool it is."},
	ClassifierSpoke:    {"classifier-opinion", approval.R0, 0, "A classifier was asked, since static rules were not sure."},
	ClassifierUnsure:   {"classifier-unsure", approval.R0, 0, "The classifier was asked and is not sure either."},
	ClassifierFailed:   {"classifier-failed", approval.R0, 0, "The classifier was asked and gave no valid opinion."},
	ClassifierFailOpen: {"classifier-fail-open", approval.R0, 0, "The operator lets such calls go on without the classifier's opinion."},
}
