package acptest

// Unhook makes it as if Hook had not been called, until what it returns is called.
func Unhook() (restore func()) {
	hooked.Store(false)
	return func() { hooked.Store(true) }
}
