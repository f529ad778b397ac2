//go:build unix

package home

// places are the directories that the XDG base directory specification names, and the one
// for temporary files.
// See https://specifications.freedesktop.org/basedir-spec/latest/.
func places() []place {
	return []place{
		{"XDG_CONFIG_HOME", ".config"},
		{"XDG_DATA_HOME", ".local/share"},
		{"XDG_STATE_HOME", ".local/state"},
		{"XDG_CACHE_HOME", ".cache"},
		{"XDG_RUNTIME_DIR", ".run"}, // short: paths of sockets have to be
		{"TMPDIR", "tmp"},
	}
}

func homeEnv(dir string) []string { return []string{"HOME=" + dir} }

func sameName(a, b string) bool { return a == b }
