package faults

func transportRows() []row {
	return []row{
		burstToSlowConsumer(), elevenMegabytes(), updateOverLimit(), responseOverLimit(), burstThenExit(), exitWithPromptPending(),
		childHoldsStdout(), stderrWithoutNewline(), writesBeforeItReads(), stopsReading(), noise(), logLineWithOurID(), vendor(),
		noFinalNewline(), prettyPrinted(), invalidUTF8(), responseThenExit(), inOrder(), callbacks(), duplicateResponses(),
		closesStdout(), closesStdin(), flattened(), readsAgain(),
	}
}
