// Package envscrub decides what of the parent's environment a child process may
// see.
//
// A child inherits everything by default, so an agent that runs commands written
// by a model would hold every credential of the person who started it. [Scrub]
// passes the environment on without what looks like a credential, by name and by
// value, and says which names it held back and why:
//
//	environ, report := envscrub.Scrub(os.Environ(), envscrub.Policy{
//		Pass: []string{"GH_TOKEN"},                     // this one may pass
//		Set:  []string{"OPENAI_API_KEY=" + key},        // explicit values always win
//	})
//	cmd.Env = environ
//	log.Println("withheld:", report.Withheld())
//
// A name is judged by its words, not by its letters: GITHUBTOKEN and openaiApiKey
// are held back, KEYBOARD_LAYOUT, MONKEY_SEE and MAX_TOKENS are not. A value is
// judged by shape: a URL with a password, a private key, a vendor's token, a
// connection string. A value that is merely random (a commit, a build id) is no
// reason. [Rules] lists every rule.
//
// What passes on purpose: XAUTHORITY and the desktop's sockets, which belong to
// the display just as DISPLAY does; SSH_ASKPASS and its like, which name a program;
// LD_LIBRARY_PATH and the library paths of interpreters, without which ordinary
// programs do not start; SSH_AGENT_PID, which without the agent's socket is a number.
//
// Scrubbing prevents inheritance and no more: a process of the same user can still
// read its parent's environment from the operating system, and files in HOME.
//
// The package is pure: no I/O, no goroutine, and every function may be called from
// any goroutine.
package envscrub
