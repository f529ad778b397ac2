// Package worktree gives a program a work tree of its own of somebody's git repository,
// and says afterwards what it has changed there. It knows git and nothing else.
//
//	tree, err := worktree.New(ctx, "/home/me/project/parser", worktree.Options{})
//	if err != nil {
//		return err // nothing was left behind
//	}
//	// … something works in tree.Dir, and has ended …
//	diff, err := tree.Diff(ctx)
//	...
//	tree.Remove(ctx)
//
// # What is never touched
//
// The user's work tree, index, HEAD, refs, stash, config and reflogs. A work tree as git
// worktree makes it cannot promise that: it shares refs, stash and config with the
// repository it is of. So the tree is a repository by itself. It borrows the objects of
// the user's (objects/info/alternates), which git only reads there, has copies of its
// branches and tags, and no remotes.
//
// # What is never run
//
// Hooks, filters, textconv, external diffs, fsmonitor: whatever a configuration can make
// git run, written by whomever. The commands of this package work with git directories of
// its own, which it writes itself, elsewhere than beside the tree, and anew after the
// program has ended: of what that could reach they read the tree's files and the objects of
// the user's repository, nothing else. Every file is then compared with the base by what is
// in it, for what an index says of it could be prepared. Of the user's repository they read
// where its parts are, its HEAD, its refs and a few settings. They see no GIT_ variable of the environment, no credential in it
// and neither the user's configuration nor the system's, except for those settings.
//
// Because no filter is run, what is stored by one stays as it is stored: an LFS pointer is
// a pointer. End of line and encoding attributes are heeded.
//
// # Limits
//
// The objects that the tree borrows must stay: after git gc --prune=now in a repository
// whose HEAD has moved on, a tree of the old HEAD may miss some. Where git is to store what
// is there already, it renews the time of the user's file instead, nothing else of it. A
// file whose line ends the program gives other attributes (core.autocrlf=true and a new
// .gitattributes with "* -text") counts as changed with it.
// A program that goes out of its tree can do what its user can; what it puts in the place of
// the tree or of the directory around it is left alone, and an error says so.
package worktree
