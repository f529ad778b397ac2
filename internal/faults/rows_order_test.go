package faults

func orderRows() []row {
	return []row{}
}
