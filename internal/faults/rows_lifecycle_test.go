package faults

func lifecycleRows() []row {
	return []row{}
}
