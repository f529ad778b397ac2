package conform

// The kinds of prompts.
const (
	// PromptText makes the agent say something, and do nothing else.
	PromptText PromptKind = "text"
	// PromptLong makes it speak for a while, so that there is a turn to interrupt.
	PromptLong PromptKind = "long"
	// PromptTool makes it call a tool that a careful agent asks for permission for.
	PromptTool PromptKind = "tool"
	// PromptCommand makes it run a shell command, where it can in a terminal of the client.
	PromptCommand PromptKind = "command"
)

var defaultPrompts = map[PromptKind]string{
	PromptText:    "Answer with the single word pong. Do not use any tool.",
	PromptLong:    "Count from 1 to 500 in English words, one number a line. Do not use any tool.",
	PromptTool:    "Write a file named conformance.txt in the current directory, with the single line: errand was here",
	PromptCommand: "Run the shell command: echo errand was here",
}
