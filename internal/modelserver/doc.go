// Package modelserver is a language model for tests: an HTTP server on loopback that
// speaks what agents ask models in, and says the same to the same question every time;
// only ids are new in each answer.
//
//	server, err := modelserver.Start(ctx)
//	…
//	// An agent configured with the base URL server.URL()+"/v1" and the key modelserver.Key.
//
// It speaks OpenAI's chat completions and responses, Anthropic's messages and Gemini's
// generateContent, each streamed and not. The answer is [Text], unless words of the last
// prompt ask for something else. They are plain English, so that a real model does much
// the same when it is asked:
//
//	Write a file NAME with the text WORD.   a call of the offered tool that writes files
//	Run the command `LINE`.                 a call of the offered tool that runs commands
//	Count slowly.                           a word every 50 ms for half a minute
//	Fail with 500.                          that status, in the API's own shape; 401 too
//
// The tool is found among those that the request offers, by its name and the names of
// its parameters, so that it works with any agent; with none that fits, the answer is
// Text. After a tool's result the answer quotes the beginning of it. A request without
// the key is answered with 401.
package modelserver
