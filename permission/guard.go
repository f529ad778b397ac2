package permission

// ReadGuard is what a Policy implements that wants to decide every read of a file
// that we do for the agent (fs/read_text_file). Others are asked only about those of
// sensitive files.
type ReadGuard interface {
	GuardsReads() bool
}

// GuardsReads reports whether p wants to decide every hosted read.
func GuardsReads(p Policy) bool {
	g, ok := p.(ReadGuard)
	return ok && g.GuardsReads()
}
