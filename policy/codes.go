package policy

// code is one thing that policy can say about a call. Each has one row in the
// table reasons: its name, its class, its side effects and its sentence.
type code uint8

// The findings, from harmless to worst.
const (
	harmlessTool code = iota
	readOnlyTool
	readOnlyCommand

	workspaceWrite
	localBuild
	localGit
	runsProjectCode

	networkRead
	loopbackRead
	asksTheDesk

	unknownTool
	keywordExecute
	keywordCommand
	keywordDelete
	keywordRemove
	keywordWrite
	keywordShell
	keywordSend
	keywordPay
	malformedCall
	unknownParameters
	messageSend
	remoteWrite
	browserActs
	usesDevice
	feedsProcess
	controlsAgent

	unknownCommand
	unknownOption
	programByPath
	dynamicCommand
	dynamicArgument
	dynamicPath
	definesFunction
	unusualShell
	hiddenInComment
	controlCharacters
	unparsableCommand
	commandTooLong
	nestedTooDeep
	tooComplex
	windowsShell
	otherHost

	interpreterCode
	interpreterInput
	evaluatesText
	runsScript
	runsWorkspaceCode
	writesAndRuns
	outsideProject
	installsPackages
	publishesPackage
	runsContainer
	runsAsRoot
	remoteCommand
	remoteSystem
	databaseClient

	setsEnvironment
	dangerousEnvironment
	readsEnvironment
	readsSecret
	mayReadSecret
	metadataService
	privateAddress
	oddAddress

	writesOutside
	noWorkspace
	pathClimbs
	writesSecret
	writesStartup
	misleadingName
	makesLink
	writesSystem
	deletesFile
	changesPermissions
	gitElsewhere
	gitPush
	gitDiscards
	sendsData
	savesDownload
	stopsProcess
	changesServices
	changesNetwork
	changesSchedule

	recursiveDelete
	forceDelete
	writesDevice
	writesAccess
	wipesDisk
	stopsMachine
	killsEverything
	forkBomb
	changesAccounts
	dropsFirewall
	removesSchedule
	recursivePermissions
	gitForcePush
	gitDestroys
	destroysInfrastructure
	destroysContainers
	escapesContainer
	dropsData
	runsDownload
	destructiveWord
	payment
	touchesDesk

	// What follows says why the desk asks or refuses; it adds no risk.
	approvalsDisabled
	toolDenied
	toolNotAllowed
	execDenied
	execNotAllowed
	execAlwaysAsks
	alwaysAsks
	externalWriteAsks
	messageSendAsks
	riskDenied
	malformedDenied
	humanStays
	classifierSpoke
	classifierUnsure
	classifierFailed
	classifierFailOpen

	codeCount
)
