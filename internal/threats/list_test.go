package threats

// threats are those of docs/security.md, by the door they come through.
var threats = []threat{
	// What an agent may learn.
	{"a credential of the parent's environment reaches the agent", "envscrub holds it back, by name and by value", "envscrub: TestCorpus"},
	{"it is looked up in the parent's `/proc/PID/environ`", "the command line makes itself undumpable; a library user calls `client.Undumpable`", "client: TestUndumpable"},
	{"it comes back in a result, an error, a log", "values are replaced before anything is cut, however JSON escapes them", "subagent: TestCanaryPlaces; subagent: TestCanaryCuts; cmd/errand: TestCanaryEscaped"},
	{"a descriptor of the parent's reaches the agent", "every descriptor above 2 is close-on-exec, but the life-line", "internal/faults: TestFaults/E7 inherited descriptors, a PWD that is not the directory, a relative command with another directory"},
	// What it may do when it asks.
	{"a title or a kind that lies about the call", "rules go by what the raw input says, and an allow rule covers every kind found", "permission: TestAttacks/title lies about the command; permission: TestAttacks/kind lies about the command"},
	{"a label or an order of options that misleads", "options are chosen by kind", "permission: TestPolicies; permission: TestOrderDoesNotMatter"},
	{"a path that leads elsewhere: `..`, a link, a URI, another case", "paths are resolved before a rule sees them, and an odd one is a question", "permission: TestAttacks/dot dot; permission: TestAttacks/a link out of the directory"},
	{"a sensitive name under a key that says nothing, or spelled by a pattern", "any text of the input that names one is a path, and so is a pattern that spells one out", "permission: TestAttacks/a sensitive name as a resource; permission: TestAttacks/braces that spell a sensitive name"},
	{"a question too long to be read", "its end is shown, it says how much is left out, and a yes to it grants no act of ours", "cmd/errand: TestQuestionIsWhole; permission: TestPartialAnswerGrantsNothing"},
	{"the files that rule a run, or tell of it", "what may touch them through us is denied, whoever decides", "cmd/errand: TestOwnFilesAreDenied"},
	{"a file with secrets in a trusted workspace", "sensitive files are asked for or denied unless a rule names the very file", "permission: TestAttacks/an environment file in the workspace; client: TestHostedFiles/so is a read of a sensitive file"},
	{"a shell line that begins with an allowed program", "a line that a shell would read matches no command", "permission: TestAttacks/a shell line that begins with an allowed program"},
	{"an interpreter or a launcher that runs anything", "a wildcard stands for none, nor for a flag by which a known program runs another; the loader warns", "permission: TestAttacks/xargs; permission: TestAttacks/find -exec"},
	{"an answer that is replayed, late, or another question's", "it counts for nothing", "permission: TestAsk; permission: TestAskAnswerAtTheDeadline"},
	{"an act that differs from what was allowed", "a grant is bound to the act, the run and the session, and is used up", "subagent: TestHostedGrants/C9 another text; permission: TestGrants"},
	{"a question that nobody answers", "a deadline, and a reject", "permission: TestAskDeadline; permission: TestAskIsCancelled"},
	{"something done after the cancel", "every pending and later question is answered `cancelled`, and what was allowed and not yet done is not done", "client: TestHostedFiles/a question that is open at cancel comes to nothing; client: TestFileAttacks/write after the cancel; client: TestTerminalAttacks/command after the cancel; internal/faults: TestFaults/P11 asks on after our session/cancel"},
	// What we do for it.
	{"a capability that was not granted is used", "what is not advertised is answered -32601", "client: TestHostedCapabilities"},
	{"a path out of the workspace", "`os.Root`, below a resolution of our own", "client: TestWorkspaceAttacks/dot-dot; client: TestWorkspaceAttacks/symlink to a directory"},
	{"a link put in a directory's place at the right moment", "directories are opened one after the other, no link is followed to them, and names are looked up in them", "client: TestWorkspaceRace/directory; client: TestWorkspaceEnterRace"},
	{"another file, directory or text put in its place while a question is open", "file and directory are held open; what the path leads to and the text that was shown are compared once more, right before the new file takes its place", "client: TestFileAttacks/directory swapped for a link while a write is decided on; client: TestFileAttacks/file swapped for a link while a read is decided on; client: TestFileAttacks/text changed while a write is decided on"},
	{"another directory or program put in a command's place while a question is open", "both are compared once more right before it starts", "client: TestTerminalAttacks/directory swapped for a link while it is decided on; client: TestTerminalAttacks/program swapped while it is decided on"},
	{"a PATH, or another variable, that makes a command another one", "its program is looked for where it will be, and it gets no standing grant", "client: TestTerminalAttacks/PATH of the agent's; permission: TestFactsOfVariables"},
	{"a device, a FIFO, a socket", "regular files only, opened without waiting", "client: TestWorkspaceAttacks/FIFO; client: TestWorkspaceAttacks/device"},
	{"another name of the same file is changed", "a write makes a new file: hard links keep the old text", "client: TestWorkspaceAttacks/hard link"},
	{"a file too large for memory", "bounded sizes, and four at a time", "client: TestWorkspaceAttacks/huge file; client: TestWorkspaceAttacks/huge content; client: TestWorkspaceBoundsMemory"},
	{"a write nobody was asked about", "each is put to the policy", "client: TestHostedFiles/a write is put to the policy"},
	{"a command nobody was asked about", "each is put to the policy before it starts", "client: TestTerminalPolicy"},
	{"a command learns the agent's own keys", "it gets what envscrub leaves of the agent's environment", "client: TestTerminalEnv"},
	{"a command outlives the run", "it has a group of its own that ends with the agent, and the run's mark", "client: TestTerminalsEndWithTheAgent"},
	{"output without end", "the end of it is kept, up to a bound", "client: TestTerminalOutputLimit"},
	{"terminals without end", "32 at a time", "client: TestTerminalsEndWithTheAgent/too many"},
	{"waits without end, so that nothing else is served", "a wait takes nobody's place, and only so many are kept", "client: TestTerminalAttacks/flood of waits; internal/wire: TestPark"},
	{"another session's terminal", "a terminal is one of its session", "client: TestTerminalAttacks/terminal of another session"},
	{"more acts than a result can hold", "they are kept up to a number and a size, and the result says so", "subagent: TestHostedInBytes; subagent: TestHostedInNumber"},
	{"a path of another world is taken for one of ours", "path pairs, and what they do not cover is refused", "client: TestD8PathsInTwoWorlds; client: TestPathMap/up and out"},
	// What it leaves behind, and what it shows.
	{"a process that stays", "group, life-line and sweep", "internal/proc: TestSweepDaemons"},
	{"another's process that is ended", "a pidfd is opened before its environment is read", "client: TestRunIDTellsWhoseItIs"},
	{"control characters on our terminal", "they are made visible", "internal/visible: TestText"},
}
