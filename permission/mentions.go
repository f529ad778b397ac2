package permission

import "slices"

// Mentions returns the paths of f and the arguments of its commands that may be some. A
// rule that denies or asks looks at all of them; most of the arguments are no paths. It may
// be called on the facts of a request only, and not on those of a record.
func (f Facts) Mentions() []Path { return slices.Clone(f.everyPath()) }
