package policy

import "approvalbot/core"

// reason is what one code means.
type reason struct {
	name    string
	class   core.RiskClass
	effects effects
	text    string // one sentence for people
}

// Reasons gives the sentence for people that belongs to a reason code of this
// package, and "" for a code it does not know.
func Reasons(name string) string {
	c, ok := codeByName[name]
	if !ok {
		return ""
	}
	return reasons[c].text
}

var codeByName = func() map[string]code {
	m := make(map[string]code, codeCount)
	for c := range codeCount {
		m[reasons[c].name] = c
	}
	return m
}()

var reasons = [codeCount]reason{
	harmlessTool:    {"harmless-tool", core.R0, 0, "The tool touches nothing outside the agent's own session."},
	readOnlyTool:    {"read-only-tool", core.R0, fsRead, "The tool only reads."},
	readOnlyCommand: {"read-only-command", core.R0, fsRead, "The command only reads."},

	workspaceWrite: {"workspace-write", core.R1, fsWrite, "It changes files inside the agent's workspace."},
	localBuild:     {"local-build", core.R1, fsWrite, "It compiles code inside the agent's workspace without running it."},
	localGit:       {"local-git", core.R1, fsWrite, "It adds to the local git repository."},

	runsProjectCode: {"runs-project-code", core.R1, procExec | fsWrite, "It builds, tests or checks the project inside the agent's workspace, which runs the project's own code."},

	loopbackRead: {"loopback-read", core.R1, netRead, "It reads from a server on this machine."},
	networkRead:  {"network-read", core.R2, netRead, "It reads from the network."},
	asksTheDesk:  {"asks-the-desk", core.R2, procExec, "It asks this approval desk for something else."},

	unknownTool:       {"unknown-tool", core.R3, 0, "The desk does not know this tool, so it cannot tell what the tool does."},
	keywordExecute:    {"keyword-execute", core.R3, procExec, "The unknown tool's name or description speaks of executing."},
	keywordCommand:    {"keyword-command", core.R3, procExec, "The unknown tool's name or description speaks of commands."},
	keywordDelete:     {"keyword-delete", core.R3, dataLoss, "The unknown tool's name or description speaks of deleting."},
	keywordRemove:     {"keyword-remove", core.R3, dataLoss, "The unknown tool's name or description speaks of removing."},
	keywordWrite:      {"keyword-write", core.R3, fsWrite, "The unknown tool's name or description speaks of writing."},
	keywordShell:      {"keyword-shell", core.R3, procExec, "The unknown tool's name or description speaks of a shell."},
	keywordSend:       {"keyword-send", core.R3, sendsMessage, "The unknown tool's name or description speaks of sending."},
	keywordPay:        {"keyword-pay", core.R3, pays, "The unknown tool's name or description speaks of payments."},
	malformedCall:     {"malformed-call", core.R3, 0, "The desk cannot read the parameters of this call."},
	unknownParameters: {"unknown-parameters", core.R3, 0, "The call has parameters that the desk does not know, and they may change what it does."},
	messageSend:       {"message-send", core.R3, sendsMessage, "It sends a message to people."},
	remoteWrite:       {"remote-write", core.R3, externalWrite, "By its name, the tool changes something in another system."},
	browserActs:       {"browser-acts", core.R3, externalWrite, "It acts on a web page, with whatever sessions the browser is signed in to."},
	usesDevice:        {"uses-device", core.R3, credentials, "It uses a person's device: camera, screen, location or notifications."},
	feedsProcess:      {"feeds-process", core.R3, procExec, "It types into a program that is already running."},
	controlsAgent:     {"controls-agent", core.R3, procExec | securityChange, "It changes the agent's own runtime: its settings, version or devices."},

	unknownCommand:    {"unknown-command", core.R3, procExec, "It runs a program that is not on the desk's list of harmless ones."},
	unknownOption:     {"unknown-option", core.R3, procExec, "It gives a program an option that the desk does not know to be harmless."},
	programByPath:     {"program-by-path", core.R3, procExec, "It runs a program by a path outside the system's own directories."},
	dynamicCommand:    {"dynamic-command", core.R3, procExec, "What it runs is computed while it runs, so it cannot be read beforehand."},
	dynamicArgument:   {"dynamic-argument", core.R3, procExec, "An argument that matters is computed while it runs."},
	dynamicPath:       {"dynamic-path", core.R3, fsWrite, "Which file it writes is computed while it runs."},
	definesFunction:   {"defines-function", core.R3, procExec, "It defines a shell function, which may change what later words mean."},
	unusualShell:      {"unusual-shell", core.R3, procExec, "It uses shell syntax that different shells read differently or that can run hidden commands."},
	hiddenInComment:   {"hidden-in-comment", core.R3, procExec, "A comment in it contains shell code."},
	controlCharacters: {"control-characters", core.R3, procExec, "It contains control characters or broken text."},
	unparsableCommand: {"unparsable-command", core.R3, procExec, "It cannot be read as a shell command."},
	commandTooLong:    {"command-too-long", core.R3, procExec, "It is too long to be read safely."},
	nestedTooDeep:     {"nested-too-deep", core.R3, procExec, "Its commands are nested deeper than the desk reads."},
	tooComplex:        {"too-complex", core.R3, procExec, "It contains more commands than the desk reads."},
	windowsShell:      {"windows-shell", core.R3, procExec, "It runs on Windows, whose shells read the line differently."},
	otherHost:         {"other-host", core.R3, externalWrite, "It runs on another machine."},

	interpreterCode:   {"interpreter-code", core.R3, procExec, "It runs a program in an interpreter, which can do anything."},
	interpreterInput:  {"interpreter-input", core.R3, procExec, "It feeds its input to a shell or an interpreter."},
	evaluatesText:     {"evaluates-text", core.R3, procExec, "It runs text as a command."},
	runsScript:        {"runs-script", core.R3, procExec, "It runs a script, whose contents the desk does not see."},
	runsWorkspaceCode: {"runs-workspace-code", core.R3, procExec, "It runs code from the workspace, which the agent may have written."},
	writesAndRuns:     {"writes-and-runs", core.R3, procExec | fsWrite, "It writes files and then runs the project's own code, which may be what it has just written."},
	outsideProject:    {"outside-project", core.R3, procExec, "It points a build or test tool at something outside the agent's workspace."},
	installsPackages:  {"installs-packages", core.R3, procExec | externalWrite, "It installs or changes software packages."},
	publishesPackage:  {"publishes-package", core.R3, externalWrite, "It publishes a package for everyone."},
	runsContainer:     {"runs-container", core.R3, procExec | externalWrite, "It controls containers."},
	runsAsRoot:        {"runs-as-root", core.R3, procExec | securityChange, "It runs with another user's or the administrator's rights."},
	remoteCommand:     {"remote-command", core.R3, externalWrite, "It runs something on another machine."},
	remoteSystem:      {"remote-system", core.R3, externalWrite, "It talks to a remote system with stored credentials."},
	databaseClient:    {"database-client", core.R3, externalWrite, "It talks to a database."},

	setsEnvironment:      {"sets-environment", core.R3, procExec, "It sets an environment variable that may change what programs do."},
	dangerousEnvironment: {"dangerous-environment", core.R3, procExec | securityChange, "It sets an environment variable that decides which code programs run."},
	readsEnvironment:     {"reads-environment", core.R3, credentials, "It reads environment variables, which often hold secrets."},
	readsSecret:          {"reads-secret", core.R3, credentials, "It reads a file that usually holds secrets."},
	mayReadSecret:        {"may-read-secret", core.R3, credentials, "It may read files that hold secrets: which ones is open or out of the workspace."},
	metadataService:      {"metadata-service", core.R3, credentials | netRead, "It reads the cloud's metadata service, which hands out credentials."},
	privateAddress:       {"private-address", core.R3, netRead, "It reads from a private network, whose services often trust whoever asks."},
	oddAddress:           {"odd-address", core.R3, netRead, "It uses a network address that the desk cannot read."},

	writesOutside:      {"writes-outside", core.R3, fsWrite, "It changes files outside the agent's workspace."},
	noWorkspace:        {"no-workspace", core.R3, fsWrite, "It changes files, and no workspace is known for this agent."},
	pathClimbs:         {"path-climbs", core.R3, fsWrite, "A path in it climbs out of a directory with \"..\"."},
	writesSecret:       {"writes-secret", core.R3, fsWrite | credentials, "It changes a file that usually holds secrets."},
	writesStartup:      {"writes-startup", core.R3, fsWrite | securityChange, "It changes a file that other programs run or obey, such as hooks or settings."},
	misleadingName:     {"misleading-name", core.R3, fsWrite, "It makes a file whose name other commands can take for an option or for another file."},
	makesLink:          {"makes-link", core.R3, fsWrite, "It makes a symbolic link or a submodule, which can lead out of the workspace."},
	writesSystem:       {"writes-system", core.R3, fsWrite | securityChange, "It changes files of the operating system."},
	deletesFile:        {"deletes-file", core.R3, fsWrite | dataLoss, "It deletes or empties files."},
	changesPermissions: {"changes-permissions", core.R3, fsWrite | securityChange, "It changes who may use files."},
	gitElsewhere:       {"git-elsewhere", core.R3, procExec, "It runs git in a directory other than the workspace; git obeys the settings it finds there."},
	gitPush:            {"git-push", core.R3, externalWrite, "It sends commits to another repository."},
	gitDiscards:        {"git-discards", core.R3, fsWrite | dataLoss, "It can discard changes that are not committed."},
	sendsData:          {"sends-data", core.R3, externalWrite, "It sends data over the network."},
	savesDownload:      {"saves-download", core.R3, netRead | fsWrite, "It saves something from the network in a file."},
	stopsProcess:       {"stops-process", core.R3, procExec | dataLoss, "It stops running programs."},
	changesServices:    {"changes-services", core.R3, procExec | securityChange, "It controls services of the machine."},
	changesNetwork:     {"changes-network", core.R3, securityChange, "It changes firewall or network settings."},
	changesSchedule:    {"changes-schedule", core.R3, procExec | securityChange, "It changes what the machine runs on a schedule."},

	recursiveDelete:        {"recursive-delete", core.R4, fsWrite | dataLoss, "It deletes whole directories."},
	forceDelete:            {"force-delete", core.R4, fsWrite | dataLoss, "It deletes files by force that are not clearly inside the workspace."},
	writesDevice:           {"writes-device", core.R4, fsWrite | dataLoss, "It writes to a device or to the kernel."},
	writesAccess:           {"writes-access", core.R4, fsWrite | securityChange, "It changes who may log in or act as administrator."},
	wipesDisk:              {"wipes-disk", core.R4, dataLoss, "It formats, partitions or wipes storage."},
	stopsMachine:           {"stops-machine", core.R4, securityChange, "It shuts down or restarts a machine or a server."},
	killsEverything:        {"kills-everything", core.R4, dataLoss, "It kills all processes."},
	forkBomb:               {"fork-bomb", core.R4, procExec, "It defines a function that starts itself over and over."},
	changesAccounts:        {"changes-accounts", core.R4, securityChange, "It changes user accounts or passwords."},
	dropsFirewall:          {"drops-firewall", core.R4, securityChange, "It removes firewall rules."},
	removesSchedule:        {"removes-schedule", core.R4, dataLoss, "It removes all scheduled jobs."},
	recursivePermissions:   {"recursive-permissions", core.R4, securityChange, "It changes owner or permissions of a whole directory tree outside the workspace."},
	gitForcePush:           {"git-force-push", core.R4, externalWrite | dataLoss, "It overwrites or deletes history in another repository."},
	gitDestroys:            {"git-destroys", core.R4, fsWrite | dataLoss, "It throws away changes or history of the repository for good."},
	destroysInfrastructure: {"destroys-infrastructure", core.R4, externalWrite | dataLoss, "It changes or deletes running infrastructure."},
	destroysContainers:     {"destroys-containers", core.R4, dataLoss, "It removes containers, images or volumes."},
	escapesContainer:       {"escapes-container", core.R4, securityChange, "It starts a container that can reach the whole machine."},
	dropsData:              {"drops-data", core.R4, externalWrite | dataLoss, "It deletes data from a database or a registry."},
	runsDownload:           {"runs-download", core.R4, procExec | netRead, "It runs what it downloads from the network."},
	destructiveWord:        {"destructive-word", core.R4, dataLoss, "It cannot be read completely, and words in it belong to destructive commands."},
	payment:                {"payment", core.R4, pays, "It moves money."},
	touchesDesk:            {"touches-the-desk", core.R4, securityChange, "It touches this approval desk itself: its program, files or port."},

	approvalsDisabled: {"approvals-disabled", core.R0, 0, "Approvals are disabled in the desk's configuration."},
	toolDenied:        {"tool-denied", core.R0, 0, "The operator has denied this tool."},
	toolNotAllowed:    {"tool-not-allowed", core.R0, 0, "The operator allows only certain tools, and this is none of them."},
	execDenied:        {"exec-denied", core.R0, 0, "Commands are denied altogether."},
	execNotAllowed:    {"exec-not-allowed", core.R0, 0, "The command is not on the allowlist: only reading and local changes are."},
	execAlwaysAsks:    {"exec-always-asks", core.R0, 0, "Every command is to be asked for."},
	alwaysAsks:        {"always-asks", core.R0, 0, "The desk is set to ask for every call."},
	externalWriteAsks: {"external-write-asks", core.R0, 0, "Whatever changes something outside is to be asked for."},
	messageSendAsks:   {"message-send-asks", core.R0, 0, "Whatever sends a message is to be asked for."},
	riskDenied:        {"risk-denied", core.R0, 0, "Policy refuses calls of this risk."},

	malformedDenied: {"malformed-denied", core.R0, 0, "What the call acts on is missing or of the wrong type, and such calls of this tool are refused."},

	humanStays:         {"human-stays", core.R0, 0, "Static rules ask for a person here, and no other opinion takes people away."},
	classifierSpoke:    {"classifier-opinion", core.R0, 0, "A classifier was asked, since static rules were not sure."},
	classifierUnsure:   {"classifier-unsure", core.R0, 0, "The classifier was asked and is not sure either."},
	classifierFailed:   {"classifier-failed", core.R0, 0, "The classifier was asked and gave no valid opinion."},
	classifierFailOpen: {"classifier-fail-open", core.R0, 0, "The operator lets such calls go on without the classifier's opinion."},
}
