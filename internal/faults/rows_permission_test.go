package faults

func permissionRows() []row {
	return []row{}
}
