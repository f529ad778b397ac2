package faults

func protocolRows() []row {
	return []row{}
}
