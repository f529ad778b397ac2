package home

import (
	"path/filepath"
	"strings"
)

// places are the directories that a user's profile has, and the one for temporary files.
func places() []place {
	return []place{
		{"APPDATA", "AppData/Roaming"},
		{"LOCALAPPDATA", "AppData/Local"},
		{"TEMP", "AppData/Local/Temp"},
		{"TMP", "AppData/Local/Temp"},
	}
}

// homeEnv has HOME too: what comes from Unix looks for it first.
func homeEnv(dir string) []string {
	volume := filepath.VolumeName(dir)
	return []string{"USERPROFILE=" + dir, "HOMEDRIVE=" + volume, "HOMEPATH=" + dir[len(volume):], "HOME=" + dir}
}

func sameName(a, b string) bool { return strings.EqualFold(a, b) }
