package replay

// signalNumber returns 0: there are no signals.
func signalNumber(string) int { return 0 }

// raise does nothing: there are no signals.
func raise(string) {}
