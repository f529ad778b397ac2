package subagent

import "github.com/errand-acp/errand/internal/worktree"

// WorktreeInfo says of what a run in a work tree of its own had a copy, see Worktree.
type WorktreeInfo struct {
	// Repository is the top of the user's work tree, and Base the commit its HEAD was at.
	Repository string `json:"repository"`
	Base       string `json:"base"`
	// Uncommitted is set where what was not committed was carried over: then the patch is
	// relative to that.
	Uncommitted bool `json:"uncommitted"`
	// Kept is where the work tree still is after Close; null where it is gone.
	Kept *string `json:"kept"`
}

// Change is a file that a run in a work tree of its own has changed.
type Change struct {
	// Path is relative to the top of the work tree, with slashes, as OldPath is: what a
	// renamed file was called, null for others. One that is not UTF-8, or begins with a
	// quotation mark, is as git quotes it.
	Path    string       `json:"path"`
	OldPath *string      `json:"oldPath"`
	Status  ChangeStatus `json:"status"`
	// Added and Deleted are lines; null for a binary file.
	Added   *int `json:"added"`
	Deleted *int `json:"deleted"`
	Binary  bool `json:"binary"`
}

// ChangeStatus says what became of a file.
type ChangeStatus string

// What can become of a file.
const (
	ChangeAdded       ChangeStatus = "added"
	ChangeModified    ChangeStatus = "modified" // its content, its mode, or both
	ChangeDeleted     ChangeStatus = "deleted"
	ChangeRenamed     ChangeStatus = "renamed"      // and maybe modified
	ChangeTypeChanged ChangeStatus = "type_changed" // a file became a symlink, say
)

func changesOf(list []worktree.Change) []Change {
	changes := []Change{}
	for _, c := range list {
		out := Change{Path: c.Path, OldPath: nonEmpty(c.OldPath), Status: ChangeStatus(c.Status), Binary: c.Binary}
		if !c.Binary {
			out.Added, out.Deleted = &c.Added, &c.Deleted
		}
		changes = append(changes, out)
	}
	return changes
}
