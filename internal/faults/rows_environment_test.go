package faults

func environmentRows() []row {
	return []row{}
}
