package finding

// Code is one thing that policy can say about a call. Each has one row in the
// table reasons: its name, its class, its side effects and its sentence.
type Code uint8

// The findings, from harmless to worst.
const (
	HarmlessTool Code = iota
	ReadOnlyTool
	ReadOnlyCommand

	WorkspaceWrite
	ScratchWrite
	LocalBuild
	LocalGit
	RunsProjectCode

	NetworkRead
	LoopbackRead
	RemoteRead
	DatabaseRead
	InstallsLocked
	RemovesBuildOutput
	AsksTheDesk
	DeclaredReadOnly

	UnknownTool
	KeywordExecute
	KeywordCommand
	KeywordDelete
	KeywordRemove
	KeywordWrite
	KeywordShell
	KeywordSend
	KeywordPay
	KeywordSecret
	MalformedCall
	UnknownParameters
	MessageSend
	RemoteWrite
	DeclaredDestructive
	ToolChanged
	BesideArguments
	BrowserActs
	UsesDevice
	FeedsProcess
	TakesTyping
	OpensTerminal
	ApprovesPlan
	ControlsAgent
	StartsAgent

	UnknownCommand
	UnknownOption
	ProgramByPath
	DynamicCommand
	DynamicArgument
	DynamicPath
	DefinesFunction
	UnusualShell
	HiddenInComment
	ControlCharacters
	UnparsableCommand
	CommandTooLong
	NestedTooDeep
	TooComplex
	WindowsShell
	OtherHost

	InterpreterCode
	InterpreterInput
	EvaluatesText
	RunsScript
	RunsWorkspaceCode
	WritesAndRuns
	OutsideProject
	InstallsPackages
	PublishesPackage
	RunsContainer
	RunsAsRoot
	RemoteCommand
	RemoteSystem
	DatabaseClient

	SetsEnvironment
	DangerousEnvironment
	ReadsEnvironment
	ReadsSecret
	MayReadSecret
	MetadataService
	ControlPlane
	PrivateAddress
	OddAddress

	WritesOutside
	NoWorkspace
	PathClimbs
	WritesSecret
	WritesStartup
	WritesInstructions
	MisleadingName
	MakesLink
	WritesSystem
	DeletesFile
	ChangesPermissions
	GitElsewhere
	GitPush
	GitDiscards
	SendsData
	SavesDownload
	StopsProcess
	ChangesServices
	ChangesNetwork
	ChangesSchedule

	RecursiveDelete
	ForceDelete
	WritesDevice
	WritesAccess
	WipesDisk
	StopsMachine
	KillsEverything
	ForkBomb
	ChangesAccounts
	DropsFirewall
	RemovesSchedule
	RecursivePermissions
	GitForcePush
	GitDestroys
	DestroysInfrastructure
	DestroysContainers
	EscapesContainer
	DropsData
	RunsDownload
	DestructiveWord
	Payment
	WritesAgentSettings
	TouchesDesk

	// What follows says why the desk asks or refuses; it adds no risk.
	ApprovalsDisabled
	ToolDenied
	ToolNotAllowed
	ExecDenied
	ExecNotAllowed
	ExecAlwaysAsks
	AlwaysAsks
	ExternalWriteAsks
	MessageSendAsks
	ProjectCodeAsks
	Sandboxed
	RunsConfined
	RiskDenied
	MalformedDenied
	KnownServer
	ClassifierSpoke
	ClassifierUnsure
	ClassifierFailed
	ClassifierFailOpen

	CodeCount
)
