// Package home makes home directories that last as long as one run: with what the caller
// names in them and nothing else, for one user, and removed afterwards whatever the run
// made of them.
//
//	h, err := home.Make(ctx, "", []home.Seed{{From: "/home/me/.agent/settings.json", To: ".agent/settings.json"}})
//	...
//	cmd.Env = append(cmd.Env, h.Env()...)
//	...
//	err = h.Remove()
//
// It knows nothing of processes: whoever removes a home has ended those that use it.
package home
